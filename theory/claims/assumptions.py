"""The premises of the paper's statements as named predicates over the parameters of a case."""

from __future__ import annotations

from typing import Any

from theory.claims.claim import Assumption
from theory.claims.instances import pool
from theory.claims.losses import c


def _theta(theta: Any, **_: Any) -> bool:
    return bool(0 < theta < 0.5)


def _unit_theta(theta: Any, **_: Any) -> bool:
    return bool(0 < theta < 1)


def _arms(K: int, **_: Any) -> bool:
    return K >= 2


def _power_of_two(K: int, **_: Any) -> bool:
    return K >= 2 and K & (K - 1) == 0


def _launch_16(n: int, gap: float, theta: float, r: float, **_: Any) -> bool:
    return bool(n > 16 * (c(theta) * r / gap) ** 2)


def _launch_64(n: int, gap: float, theta: float, r: float, **_: Any) -> bool:
    return bool(n > 64 * (c(theta) * r / gap) ** 2)


def _feasible(gap: float, r: float, **_: Any) -> bool:
    return bool(0 < gap <= r)


def _first_arm_best(name: str, **_: Any) -> bool:
    return 0 in pool(name).best()


def _budget_per_arm(B: int, K: int, **_: Any) -> bool:
    return B >= K


THETA = Assumption("theta lies in (0, 1/2)", _theta)
UNIT_THETA = Assumption("theta lies in (0, 1), as printed", _unit_theta)
ARMS = Assumption("there are at least two arms", _arms)
POWER_OF_TWO = Assumption("K is a power of two", _power_of_two)
LAUNCH_16 = Assumption("identification condition with the factor 16", _launch_16)
LAUNCH_64 = Assumption("identification condition with the factor 64", _launch_64)
FEASIBLE_GAP = Assumption("the gap does not exceed kappa*Lambda", _feasible)
FIRST_ARM_BEST = Assumption("the first arm has the smallest risk on the training set", _first_arm_best)
BUDGET_PER_ARM = Assumption("the budget buys a row for every arm", _budget_per_arm)
