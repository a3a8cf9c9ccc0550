"""Near-tight instances at every depth: exact probabilities that a moderately wrong bound does not survive.

On the ledger's pools the rate of failures is a small part of what the lemmas allow, so trials there see a bound that is
wrong by orders of magnitude and none that is wrong by a factor. The instances of `theory.claims.near_tight` have
probabilities in closed form, close to the bounds or far out in their tails, and cost next to nothing. In some cells the
right bound promises nothing (below a launch budget, or with many arms); they are there because a wrong bound that does
promise something is refuted.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from functools import lru_cache

from simulations.verification.plans import WORDS
from simulations.verification.probes import Evidence, must_hold
from simulations.verification.promises import Reading
from theory import corrected, tighter, verdicts
from theory.claims import get
from theory.claims.near_tight import NearTight, crowd, duplicates, one_rival, opposed, overfit
from theory.paper import Strategy
from theory.verdicts import Verdict, judge_exact

#: Rounding of the closed forms, relative, that is granted to the bound.
ROUNDING = 1e-9
ONE_GAP, ALL_GAPS = "the smallest gap", "the gaps of all arms"


@lru_cache(maxsize=4)
def instances(claim: str) -> tuple[NearTight, ...]:
    """The near-tight instances of a claim; none for most.

    The opposed pair comes with few rows, where failures are most frequent for the bound, and with many, where the
    exponent shows; the overfitted arm shows the optimism, the crowd the factor K - 1, the close rival per-arm gaps.
    """
    if claim in ("lemma-1-i", "lemma-4"):
        pairs = (opposed(1_600, 0.02), opposed(10_000, 0.02), opposed(160_000, 0.03), overfit(25, 250_000))
        return pairs if claim == "lemma-4" else (*pairs, crowd(64, 36, 1 / 3), one_rival(8, 10_000, 0.02, "uniform"))
    if claim != "lemma-2-i":
        return ()
    found: list[NearTight] = []
    for strategy in ("median-fresh", "median-accumulated"):
        found += [
            opposed(1_600, 0.02, strategy),
            duplicates(4, 22_500, 0.02, strategy),
            duplicates(4, 160_000, 0.03, strategy),
            one_rival(8, 22_500, 0.02, strategy),
            overfit(25, 250_000, strategy),
        ]
    return tuple(found)


def promised(claim: str, one: NearTight) -> Iterator[tuple[Reading, str, float]]:
    """(reading, which gaps it is told, promised probability) of the statements that must hold."""
    if claim == "lemma-4":
        n = one.budget // one.K
        yield "corrected", ONE_GAP, float(corrected.lemma_4(n, one.gap, one.theta, one.r, strict=False))
        yield "tighter", ONE_GAP, float(tighter.lemma_4(n, one.gap, one.theta, one.r, strict=False))
        return
    kind: Strategy = "uniform" if one.strategy == "uniform" else "median"
    # The repaired proof bounds every arm's deviation by itself, so it does not matter whether arms share their rows.
    yield "corrected", ONE_GAP, float(one.point.bound("corrected", kind, one.budget))
    yield "tighter", ONE_GAP, float(one.point.one_gap.bound("tighter", kind, one.budget))
    if one.K > 2:
        yield "tighter", ALL_GAPS, float(one.point.bound("tighter", kind, one.budget))


def hold(claim: str) -> list[Evidence]:
    """Hold the readings of a claim that must hold against its near-tight instances."""
    return [
        Evidence(
            claim,
            reading,
            one.name,
            one.strategy,
            one.budget,
            WORDS["missed"],
            bound,
            judged(one, bound),
            method="exact",
            must_hold=must_hold(get(claim), reading),
            extra={"bound_from": told, "pairing": one.pairing, "least": one.least, "most": one.most},
        )
        for one in instances(claim)
        for reading, told, bound in promised(claim, one)
    ]


def judged(one: NearTight, bound: float) -> Verdict:
    """Hold a probability that lies between two numbers against a bound."""
    if not bound < 1:
        shown = "is not defined" if math.isnan(bound) else f"is {bound:.3g}"
        return verdicts.vacuous(f"The promised probability {shown} here and excludes nothing.", bound=bound)
    if one.least * (1 - ROUNDING) > bound:
        return judge_exact(one.least, bound)
    if one.most * (1 - ROUNDING) <= bound:
        return judge_exact(min(one.most, bound), bound)
    return verdicts.undecided(
        f"The probability lies between {one.least:.3g} and {one.most:.3g}, and so does the bound {bound:.3g}.",
        least=one.least,
        most=one.most,
        bound=bound,
    )
