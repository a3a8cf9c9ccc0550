"""Wrong bounds: each with the right one it was made from and the instance that tells them apart."""

from __future__ import annotations

from dataclasses import dataclass, replace
from math import exp, sqrt

import numpy as np

from tests.statistical import instances
from tests.statistical.bounds import BOUNDS, Bound
from tests.statistical.instances import Instance
from theory import BoundProblem, formulas, tighter


@dataclass(frozen=True)
class Planted:
    """A planted error: what is wrong, the right bound, the wrong one, and the instance that refutes the wrong one."""

    error: str
    right: Bound
    wrong: Bound
    instance: Instance


uniform = BOUNDS["uniform"]["tighter"]
per_arm = BOUNDS["uniform"]["tighter, per-arm gaps"]
median = BOUNDS["accumulate"]["tighter"]
median_per_arm = BOUNDS["accumulate"]["tighter, per-arm gaps"]
fresh_per_arm = BOUNDS["fresh"]["tighter, per-arm gaps"]


def pairwise(
    point: BoundProblem, budget: int, *, spread: float | None = None, rate: float = 0.5, optimism: float = 1.0
) -> float:
    """Theorem 2 written out, exp(-rate n (gap - optimism c_d r / sqrt n)^2 / M^2), with parts that can be replaced."""
    n = budget // point.K
    spread = float(formulas.loss_range(point.theta, point.kappa_lambda)) if spread is None else spread
    margin = point.gap - optimism * float(formulas.dual_constant(point.theta)) * point.kappa_lambda / sqrt(n)
    return exp(-rate * n * (margin / spread) ** 2) if margin > 0 else float("nan")


def changed(bound: Bound, **changes: object) -> Bound:
    """A bound that is told something else."""
    return lambda point, budget: bound(replace(point, **changes), budget)


def median_with_rows(point: BoundProblem, rows: list[int]) -> float:
    """Theorem 4 on accumulated rows with other numbers of rows: sum_t (K - 1) / k_t p(N_t)."""
    kept = [point.K >> (t + 1) for t in range(len(rows))]
    tails = [float(tighter.lemma_4(n, point.gap, point.theta, point.kappa_lambda, strict=False)) for n in rows]
    return float(np.sum([(point.K - 1) / k * tail for k, tail in zip(kept, tails, strict=True)]))


def accumulated(point: BoundProblem, budget: int) -> float:
    """The same with the right numbers."""
    return median_with_rows(point, list(np.cumsum(instances.pulls(budget, point.K))))


def only_last_round(point: BoundProblem, budget: int) -> float:
    """One round in place of all."""
    rows = np.cumsum(instances.pulls(budget, point.K))
    return float(tighter.lemma_4(rows[-1], point.gap, point.theta, point.kappa_lambda, strict=False)) * (point.K - 1)


def printed_sum(point: BoundProblem, budget: int) -> float:
    """Every round is given (2^(T+1) - 1) n_1 rows, the printed sum of the n_t."""
    rows = instances.pulls(budget, point.K)
    return median_with_rows(point, [(2 ** (len(rows) + 1) - 1) * rows[0]] * len(rows))


def rounds_forgotten(point: BoundProblem, budget: int) -> float:
    """n_t = B / a_t in place of B / (T a_t)."""
    rounds = len(instances.pulls(budget, point.K))
    return accumulated(point, rounds * budget)


def without_replacement(point: BoundProblem, budget: int) -> float:
    """The gain of distinct rows from a population of 1.2 n, claimed for rows that repeat."""
    return uniform(replace(point, population=int(1.2 * budget / point.K)), budget)


def kappa_squared(point: BoundProblem, budget: int) -> float:
    """kappa = sup K(x, x) without the root, as Lemma 4 prints it; kappa is that of the instance below."""
    return uniform(replace(point, kappa_lambda=point.kappa_lambda * SMALL_KAPPA.kappa), budget)


def largest_gap(point: BoundProblem, budget: int) -> float:
    """All rivals are given the largest gap."""
    return per_arm(replace(point, gap=None, gaps=(max(point.gaps),) * len(point.gaps)), budget)


def mean_gap(point: BoundProblem, budget: int) -> float:
    """All rivals are given the mean of the gaps."""
    return per_arm(replace(point, gap=None, gaps=(float(np.mean(point.gaps)),) * len(point.gaps)), budget)


def arms_dropped(point: BoundProblem, budget: int) -> float:
    """The factor K - 1 is missing: the bound of one pair."""
    n = budget // point.K
    return float(tighter.lemma_4(n, point.gap, point.theta, point.kappa_lambda, pairing=point.pairing, strict=False))


def doubled(point: BoundProblem, budget: int) -> float:
    """Twice the gap."""
    return uniform(replace(point, gap=None, gaps=tuple(2 * gap for gap in point.gaps)), budget)


def linear_gap(point: BoundProblem, budget: int) -> float:
    """The margin is not squared."""
    n = budget // point.K
    margin = point.gap - point.kappa_lambda / sqrt(n)
    return exp(-n * margin / (2 * float(formulas.loss_range(point.theta, point.kappa_lambda)) ** 2))


PAIR, CLEAR_PAIR, FAR_PAIR = (instances.opposed(n, 0.02) for n in (10_000, 40_000, 160_000))
FALSE_FRIENDS = instances.duplicates(8, 22_500, 0.02, "accumulate")
CLOSE_RIVAL = instances.one_rival(8, 10_000, 0.02, "uniform")
LATE_RIVAL = instances.one_rival(8, 22_500, 0.02, "fresh")
OVERFIT = instances.overfit(25, 900)
SMALL_KAPPA = instances.overfit(25, 900, scale=0.25)
CROWD = instances.crowd(64, 36, 1 / 3)

PLANTED: tuple[Planted, ...] = (
    Planted("n replaced by 4 n", uniform, lambda point, budget: uniform(point, 4 * budget), PAIR),
    Planted("gap replaced by 2 gap", uniform, doubled, PAIR),
    Planted("B in place of n = B / K", uniform, lambda point, budget: uniform(point, budget * point.K), CLEAR_PAIR),
    Planted("M forgotten", uniform, lambda point, budget: pairwise(point, budget, spread=1.0), PAIR),
    Planted(
        "M = r in place of 2 r", uniform, lambda point, budget: pairwise(point, budget, spread=point.kappa_lambda), PAIR
    ),
    Planted("the 2 of 2 M^2 dropped", uniform, lambda point, budget: pairwise(point, budget, rate=1.0), CLEAR_PAIR),
    Planted("gap not squared", uniform, linear_gap, PAIR),
    Planted("exp(-n), as printed", uniform, lambda point, budget: exp(-budget / point.K), PAIR),
    Planted("optimism added", uniform, lambda point, budget: pairwise(point, budget, optimism=-1.0), FAR_PAIR),
    Planted("optimism dropped", uniform, lambda point, budget: pairwise(point, budget, optimism=0.0), OVERFIT),
    Planted("kappa without the square root", uniform, kappa_squared, SMALL_KAPPA),
    Planted("independent rows assumed", uniform, changed(uniform, pairing="independent"), CLEAR_PAIR),
    Planted("nonnegative kernel assumed", uniform, changed(uniform, kernel="nonnegative"), CLEAR_PAIR),
    Planted("bound without replacement for draws with", uniform, without_replacement, PAIR),
    Planted("K - 1 dropped", uniform, arms_dropped, CROWD),
    Planted("largest gap for all arms", per_arm, largest_gap, CLOSE_RIVAL),
    Planted("mean gap for all arms", per_arm, mean_gap, CLOSE_RIVAL),
    Planted("number of rounds forgotten", median, rounds_forgotten, FALSE_FRIENDS),
    Planted("sum of n_t as printed, in every round", median, printed_sum, FALSE_FRIENDS),
    Planted("only the last round counted", median, only_last_round, FALSE_FRIENDS),
    Planted("accumulated rows assumed for fresh scores", fresh_per_arm, median_per_arm, LATE_RIVAL),
)
