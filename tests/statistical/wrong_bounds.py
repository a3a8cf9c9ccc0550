"""Wrong bounds: each with the right one it was made from and the instance that tells them apart."""

from __future__ import annotations

from dataclasses import dataclass, replace
from math import exp, sqrt

import numpy as np

from tests.statistical import instances
from tests.statistical.bounds import BOUNDS, Bound, design
from tests.statistical.instances import Instance
from tests.statistical.worlds import Facts
from theory import constants, tighter


@dataclass(frozen=True)
class Planted:
    """A planted error: what is wrong, the right bound, the wrong one, and the instance that refutes the wrong one."""

    error: str
    right: Bound
    wrong: Bound
    instance: Instance


uniform = BOUNDS["uniform"]["tighter"]
per_arm = BOUNDS["uniform"]["tighter, per-arm gaps"]
reuse = BOUNDS["reuse"]["tighter"]
reuse_per_arm = BOUNDS["reuse"]["tighter, per-arm gaps"]
fresh_per_arm = BOUNDS["fresh"]["tighter, per-arm gaps"]


def pairwise(
    facts: Facts, budget: int, *, spread: float | None = None, rate: float = 0.5, optimism: float = 1.0
) -> float:
    """Theorem 2 written out, exp(-rate n (gap - optimism c_d r / sqrt n)^2 / M^2), with parts that can be replaced."""
    n = budget // facts.arms
    spread = float(constants.loss_range(facts.theta, facts.radius)) if spread is None else spread
    margin = facts.gap - optimism * float(constants.dual_constant(facts.theta)) * facts.radius / sqrt(n)
    return exp(-rate * n * (margin / spread) ** 2) if margin > 0 else float("nan")


def changed(bound: Bound, **changes: object) -> Bound:
    """A bound that is told other facts."""
    return lambda facts, budget: bound(replace(facts, **changes), budget)


def median_with_rows(facts: Facts, rows: list[int]) -> float:
    """Theorem 4 on accumulated rows with other numbers of rows: sum_t (K - 1) / k_t p(N_t)."""
    kept = [facts.arms >> (t + 1) for t in range(len(rows))]
    tails = [float(tighter.lemma_4(n, facts.gap, facts.theta, facts.radius, strict=False)) for n in rows]
    return float(np.sum([(facts.arms - 1) / k * tail for k, tail in zip(kept, tails, strict=True)]))


def accumulated(facts: Facts, budget: int) -> float:
    """The same with the right numbers."""
    return median_with_rows(facts, list(np.cumsum(instances.halving_rows(facts.arms, budget))))


def only_last_round(facts: Facts, budget: int) -> float:
    """One round in place of all."""
    rows = np.cumsum(instances.halving_rows(facts.arms, budget))
    return float(tighter.lemma_4(rows[-1], facts.gap, facts.theta, facts.radius, strict=False)) * (facts.arms - 1)


def printed_sum(facts: Facts, budget: int) -> float:
    """Every round is given (2^(T+1) - 1) n_1 rows, the printed sum of the n_t."""
    rows = instances.halving_rows(facts.arms, budget)
    return median_with_rows(facts, [(2 ** (len(rows) + 1) - 1) * rows[0]] * len(rows))


def rounds_forgotten(facts: Facts, budget: int) -> float:
    """n_t = B / a_t in place of B / (T a_t)."""
    rounds = len(instances.halving_rows(facts.arms, budget))
    return accumulated(facts, rounds * budget)


def without_replacement(facts: Facts, budget: int) -> float:
    """The gain of distinct rows from a population of 1.2 n, claimed for rows that repeat."""
    return uniform(replace(facts, population=int(1.2 * budget / facts.arms)), budget)


def kappa_squared(facts: Facts, budget: int) -> float:
    """kappa = sup K(x, x) without the root, as Lemma 4 prints it."""
    return uniform(replace(facts, kappa=facts.kappa**2), budget)


def largest_gap(facts: Facts, budget: int) -> float:
    """All rivals are given the largest gap."""
    return per_arm(replace(facts, gaps=(max(facts.gaps),) * len(facts.gaps)), budget)


def mean_gap(facts: Facts, budget: int) -> float:
    """All rivals are given the mean of the gaps."""
    return per_arm(replace(facts, gaps=(float(np.mean(facts.gaps)),) * len(facts.gaps)), budget)


def arms_dropped(facts: Facts, budget: int) -> float:
    """The factor K - 1 is missing: the bound of one pair."""
    n = budget // facts.arms
    return float(tighter.lemma_4(n, facts.gap, facts.theta, facts.radius, **design(facts)))


def doubled(facts: Facts, budget: int) -> float:
    """Twice the gap."""
    return uniform(replace(facts, gaps=tuple(2 * gap for gap in facts.gaps)), budget)


def linear_gap(facts: Facts, budget: int) -> float:
    """The margin is not squared."""
    n = budget // facts.arms
    margin = facts.gap - facts.radius / sqrt(n)
    return exp(-n * margin / (2 * float(constants.loss_range(facts.theta, facts.radius)) ** 2))


PAIR, CLEAR_PAIR, FAR_PAIR = (instances.opposed(n, 0.02) for n in (10_000, 40_000, 160_000))
FALSE_FRIENDS = instances.duplicates(8, 22_500, 0.02, "reuse")
CLOSE_RIVAL = instances.one_rival(8, 10_000, 0.02, "uniform")
LATE_RIVAL = instances.one_rival(8, 22_500, 0.02, "fresh")
OVERFIT = instances.overfit(25, 900)
SMALL_KAPPA = instances.overfit(25, 900, scale=0.25)
CROWD = instances.crowd(64, 36, 1 / 3)

PLANTED: tuple[Planted, ...] = (
    Planted("n replaced by 4 n", uniform, lambda facts, budget: uniform(facts, 4 * budget), PAIR),
    Planted("gap replaced by 2 gap", uniform, doubled, PAIR),
    Planted("B in place of n = B / K", uniform, lambda facts, budget: uniform(facts, budget * facts.arms), CLEAR_PAIR),
    Planted("M forgotten", uniform, lambda facts, budget: pairwise(facts, budget, spread=1.0), PAIR),
    Planted("M = r in place of 2 r", uniform, lambda facts, budget: pairwise(facts, budget, spread=facts.radius), PAIR),
    Planted("the 2 of 2 M^2 dropped", uniform, lambda facts, budget: pairwise(facts, budget, rate=1.0), CLEAR_PAIR),
    Planted("gap not squared", uniform, linear_gap, PAIR),
    Planted("exp(-n), as printed", uniform, lambda facts, budget: exp(-budget / facts.arms), PAIR),
    Planted("optimism added", uniform, lambda facts, budget: pairwise(facts, budget, optimism=-1.0), FAR_PAIR),
    Planted("optimism dropped", uniform, lambda facts, budget: pairwise(facts, budget, optimism=0.0), OVERFIT),
    Planted("kappa without the square root", uniform, kappa_squared, SMALL_KAPPA),
    Planted("independent rows assumed", uniform, changed(uniform, rows="independent"), CLEAR_PAIR),
    Planted("nonnegative kernel assumed", uniform, changed(uniform, nonnegative=True), CLEAR_PAIR),
    Planted("bound without replacement for draws with", uniform, without_replacement, PAIR),
    Planted("K - 1 dropped", uniform, arms_dropped, CROWD),
    Planted("largest gap for all arms", per_arm, largest_gap, CLOSE_RIVAL),
    Planted("mean gap for all arms", per_arm, mean_gap, CLOSE_RIVAL),
    Planted("number of rounds forgotten", reuse, rounds_forgotten, FALSE_FRIENDS),
    Planted("sum of n_t as printed, in every round", reuse, printed_sum, FALSE_FRIENDS),
    Planted("only the last round counted", reuse, only_last_round, FALSE_FRIENDS),
    Planted("accumulated rows assumed for fresh scores", fresh_per_arm, reuse_per_arm, LATE_RIVAL),
)
