"""Premises of the paper's statements as named predicates over the parameters of a case."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from theory.claims._instances import parameters, pool
from theory.claims.claim import Assumption
from theory.formulas import ceil_log2, gap_ceiling, launch_rows, rademacher_constant


def _launches(factor: int) -> Any:
    return lambda n, gap, theta, r, **_: bool(gap > 0 and n > launch_rows(factor, gap, theta, r))


def _pool_launches(rounds: Callable[[int], int]) -> Any:
    def holds(name: str, B: int) -> bool:
        arms, gap, theta, r = parameters(name)
        return bool(B // (arms * rounds(arms)) > launch_rows(16, gap, theta, r))

    return holds


def _feasible(gap: float, theta: float, r: float, **_: Any) -> bool:
    # The ceiling is kappa*Lambda in the affine regime, up to rounding.
    return bool(0 < gap <= float(gap_ceiling(theta, r)) * (1 + 1e-12))


def _largest_gap(n: int, theta: float, r: float, **_: Any) -> bool:
    return 0 < r <= 1 - 2 * theta and n > 64 * rademacher_constant(theta) ** 2


THETA = Assumption("theta lies in (0, 1/2)", lambda theta, **_: bool(0 < theta < 0.5))
UNIT_THETA = Assumption("theta lies in (0, 1), as printed", lambda theta, **_: bool(0 < theta < 1))
ARMS = Assumption("there are at least two arms", lambda K, **_: K >= 2)
POWER_OF_TWO = Assumption("K is a power of two", lambda K, **_: K >= 2 and K & (K - 1) == 0)
LAUNCH_16 = Assumption("identification condition with the factor 16", _launches(16))
LAUNCH_64 = Assumption("identification condition with the factor 64", _launches(64))
DEFINED = Assumption("theta is not 1/2, where the surrogate is undefined", lambda theta, **_: bool(theta != 0.5))
FEASIBLE_GAP = Assumption("the gap is feasible: at most 1 - inf loss, which is at most kappa*Lambda", _feasible)
LAUNCH_16_POOL = Assumption("identification condition with the factor 16", _pool_launches(lambda K: 1))
LAUNCH_16_FIRST_ROUND = Assumption("identification condition with the factor 16", _pool_launches(ceil_log2))
FIRST_ARM_BEST = Assumption(
    "the first arm has the smallest risk on the training set", lambda name, **_: 0 in pool(name).best()
)
BUDGET_PER_ARM = Assumption("the budget buys a row for every arm", lambda B, K, **_: B >= K)
FIRST_EPISODE = Assumption("the first episode buys a row: B >= K ceil(log2 K)", lambda B, K, **_: K * ceil_log2(K) <= B)
DIVISIBLE = Assumption("K ceil(log2 K) divides B", lambda B, K, **_: B % (K * ceil_log2(K)) == 0)
SMALLEST_GAP = Assumption("Delta is the smallest gap: Delta_i >= Delta", lambda gap, gap_i, **_: gap_i >= gap)
LATER_ROUND = Assumption("round t has at least the rows of the first: n_t >= n_1", lambda n, rows, **_: rows >= n)
RATIO = Assumption("q lies in (0, 1)", lambda q, **_: bool(0 < q < 1))
ONE_ROW_OR_AFFINE = Assumption(
    "one row, or kappa*Lambda <= 1 - 2 theta, where the complexity is known",
    lambda m, theta, r, **_: m == 1 or r <= 1 - 2 * theta,
    instance=True,
)
WALK = Assumption(
    "the walk goes up: P(+1) lies in (1/2, 1), and delta in (0, 1)",
    lambda n, p, delta, **_: n >= 1 and bool(0.5 < p < 1 and 0 < delta < 1),
    instance=True,
)
LARGEST_GAP = Assumption(
    "Delta = kappa*Lambda <= 1 - 2 theta, and the identification condition with the factor 64",
    _largest_gap,
    instance=True,
)
