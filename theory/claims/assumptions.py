"""The premises of the paper's statements as named predicates over the parameters of a case."""

from __future__ import annotations

from typing import Any

from theory.claims.claim import Assumption
from theory.claims.exact_losses import c
from theory.claims.instances import pool
from theory.constants import gap_ceiling


def _theta(theta: Any, **_: Any) -> bool:
    return bool(0 < theta < 0.5)


def _unit_theta(theta: Any, **_: Any) -> bool:
    return bool(0 < theta < 1)


def _arms(K: int, **_: Any) -> bool:
    return K >= 2


def _power_of_two(K: int, **_: Any) -> bool:
    return K >= 2 and K & (K - 1) == 0


def _launch_16(n: int, gap: float, theta: float, r: float, **_: Any) -> bool:
    return bool(gap > 0 and n > 16 * (c(theta) * r / gap) ** 2)


def _launch_64(n: int, gap: float, theta: float, r: float, **_: Any) -> bool:
    return bool(gap > 0 and n > 64 * (c(theta) * r / gap) ** 2)


def _feasible(gap: float, theta: float, r: float, **_: Any) -> bool:
    # The ceiling is kappa*Lambda in the affine regime, up to rounding.
    return bool(0 < gap <= float(gap_ceiling(theta, r)) * (1 + 1e-12))


def _defined(theta: Any, **_: Any) -> bool:
    return bool(theta != 0.5)


def _first_arm_best(name: str, **_: Any) -> bool:
    return 0 in pool(name).best()


def _budget_per_arm(B: int, K: int, **_: Any) -> bool:
    return B >= K


def _first_episode(B: int, K: int, **_: Any) -> bool:
    return K * (K - 1).bit_length() <= B


def _divisible(B: int, K: int, **_: Any) -> bool:
    return B % (K * (K - 1).bit_length()) == 0


def _smallest_gap(gap: float, gap_i: float, **_: Any) -> bool:
    return gap_i >= gap


def _later_round(n: int, rows: int, **_: Any) -> bool:
    return rows >= n


def _ratio(q: Any, **_: Any) -> bool:
    return bool(0 < q < 1)


def _one_row_or_affine(m: int, theta: float, r: float, **_: Any) -> bool:
    return m == 1 or r <= 1 - 2 * theta


def _walk(n: int, p: Any, delta: Any, **_: Any) -> bool:
    return n >= 1 and bool(0.5 < p < 1 and 0 < delta < 1)


def _largest_gap(n: int, theta: float, r: float, **_: Any) -> bool:
    return 0 < r <= 1 - 2 * theta and n > 64 * c(theta) ** 2


THETA = Assumption("theta lies in (0, 1/2)", _theta)
UNIT_THETA = Assumption("theta lies in (0, 1), as printed", _unit_theta)
ARMS = Assumption("there are at least two arms", _arms)
POWER_OF_TWO = Assumption("K is a power of two", _power_of_two)
LAUNCH_16 = Assumption("identification condition with the factor 16", _launch_16)
LAUNCH_64 = Assumption("identification condition with the factor 64", _launch_64)
DEFINED = Assumption("theta is not 1/2, where the surrogate is undefined", _defined)
FEASIBLE_GAP = Assumption("the gap is feasible: at most 1 - inf loss, which is at most kappa*Lambda", _feasible)
FIRST_ARM_BEST = Assumption("the first arm has the smallest risk on the training set", _first_arm_best)
BUDGET_PER_ARM = Assumption("the budget buys a row for every arm", _budget_per_arm)
FIRST_EPISODE = Assumption("the first episode buys a row: B >= K ceil(log2 K)", _first_episode)
DIVISIBLE = Assumption("K ceil(log2 K) divides B", _divisible)
SMALLEST_GAP = Assumption("Delta is the smallest gap: Delta_i >= Delta", _smallest_gap)
LATER_ROUND = Assumption("round t has at least the rows of the first: n_t >= n_1", _later_round)
RATIO = Assumption("q lies in (0, 1)", _ratio)
ONE_ROW_OR_AFFINE = Assumption(
    "one row, or kappa*Lambda <= 1 - 2 theta, where the complexity is known", _one_row_or_affine
)
WALK = Assumption("the walk goes up: P(+1) lies in (1/2, 1), and delta in (0, 1)", _walk)
LARGEST_GAP = Assumption(
    "Delta = kappa*Lambda <= 1 - 2 theta, and the identification condition with the factor 64", _largest_gap
)
