"""Near-tight instances at every depth: exact probabilities that refute a moderately wrong bound.

On the registry's pools the rate of failures is a small part of what the lemmas allow, so trials there only detect a
bound that is wrong by orders of magnitude. The instances of `theory.claims._near_tight` have probabilities in closed
form, close to the bounds or far out in their tails. In some cells the right bound guarantees nothing (below a launch
budget, or with many arms); they are there because a wrong bound that does guarantee something is refuted.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from functools import lru_cache

from simulations.verification._cells import CellEvidence, must_hold
from simulations.verification._guarantees import Reading
from simulations.verification._plans import EVENTS
from theory import corrected, tighter, verdicts
from theory.claims import get
from theory.claims._near_tight import NearTight, crowd, duplicates, one_rival, opposed, overfit
from theory.paper import Strategy
from theory.verdicts import Verdict, judge_exact

#: Rounding of the closed forms, relative, that is granted to the bound.
ROUNDING = 1e-9
ONE_GAP, ALL_GAPS = "the smallest gap", "the gaps of all arms"


@lru_cache(maxsize=4)
def instances(claim: str) -> tuple[NearTight, ...]:
    """Return the near-tight instances of a claim; none for most.

    The opposed pair comes with few rows, where failures are most frequent for the bound, and with many, where the
    exponent shows; the overfitted arm shows the optimism, the crowd the factor K - 1, the close rival per-arm gaps.
    """
    if claim in ("lemma-1-i", "lemma-4"):
        pairs = (opposed(1_600, 0.02), opposed(10_000, 0.02), opposed(160_000, 0.03), overfit(25, 250_000))
        return pairs if claim == "lemma-4" else (*pairs, crowd(64, 36, 1 / 3), one_rival(8, 10_000, 0.02, "uniform"))
    if claim != "lemma-2-i":
        return ()
    cases: list[NearTight] = []
    for strategy in ("median-fresh", "median-accumulated"):
        cases += [
            opposed(1_600, 0.02, strategy),
            duplicates(4, 22_500, 0.02, strategy),
            duplicates(4, 160_000, 0.03, strategy),
            one_rival(8, 22_500, 0.02, strategy),
            overfit(25, 250_000, strategy),
        ]
    return tuple(cases)


def list_guarantees(claim: str, instance: NearTight) -> Iterator[tuple[Reading, str, float]]:
    """Yield (version, gaps of the bound, guaranteed probability) of the statements that must hold."""
    if claim == "lemma-4":
        n = instance.budget // instance.K
        yield "corrected", ONE_GAP, float(corrected.lemma_4(n, instance.gap, instance.theta, instance.r, strict=False))
        yield "tighter", ONE_GAP, float(tighter.lemma_4(n, instance.gap, instance.theta, instance.r, strict=False))
        return
    kind: Strategy = "uniform" if instance.strategy == "uniform" else "median"
    # The repaired proof bounds every arm's deviation by itself, so it does not matter whether arms share their rows.
    yield "corrected", ONE_GAP, float(instance.point.bound("corrected", kind, instance.budget))
    yield "tighter", ONE_GAP, float(instance.point.one_gap.bound("tighter", kind, instance.budget))
    if instance.K > 2:
        yield "tighter", ALL_GAPS, float(instance.point.bound("tighter", kind, instance.budget))


def collect_evidence(claim: str) -> list[CellEvidence]:
    """Test the versions of a claim that must hold on its near-tight instances."""
    return [
        CellEvidence(
            claim,
            reading,
            instance.name,
            instance.strategy,
            instance.budget,
            EVENTS["missed"],
            bound,
            judge_between(instance, bound),
            method="exact",
            must_hold=must_hold(get(claim), reading),
            extra={"bound_from": gaps, "pairing": instance.pairing, "least": instance.least, "most": instance.most},
        )
        for instance in instances(claim)
        for reading, gaps, bound in list_guarantees(claim, instance)
    ]


def judge_between(instance: NearTight, bound: float) -> Verdict:
    """Compare a probability that lies between two numbers with a bound."""
    if not bound < 1:
        shown = "is not defined" if math.isnan(bound) else f"is {bound:.3g}"
        return verdicts.vacuous(f"The guaranteed probability {shown} here and excludes nothing.", bound=bound)
    if instance.least * (1 - ROUNDING) > bound:
        return judge_exact(instance.least, bound)
    if instance.most * (1 - ROUNDING) <= bound:
        return judge_exact(min(instance.most, bound), bound)
    return verdicts.undecided(
        f"The bound {bound:.3g} and the probability both lie between {instance.least:.3g} and {instance.most:.3g}.",
        least=instance.least,
        most=instance.most,
        bound=bound,
    )
