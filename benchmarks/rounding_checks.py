"""The floating-point bounds of `theory` against their exact values, enclosed by balls, at random points.

A bound that rounding has pushed below its exact value would claim more than its theorem. Each formula is evaluated
on balls; the difference (exact value minus float) may not exceed 2^-44 times the sizes of the
numbers that the formula adds up.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

from theory import corrected, formulas, paper, tighter
from theory._inputs import Floats
from theory.evidence._balls import BALLS, ball, digits
from theory.formulas import (
    hoeffding_deviation,
    log_tail_paper,
    rademacher_constant,
    regret_paper,
    rejection_slope,
)

__all__ = ["ALLOWED", "CHECKS", "Check", "Deficit", "compare", "random_points"]

BoundProblem = dict[str, Any]
UNIT = 2.0**-48
ALLOWED = 16
BITS = 128


def random_points(count: int, rng: np.random.Generator) -> dict[str, np.ndarray[Any, Any]]:
    """theta near both ends too, r over five decades, gaps up to the ceiling, rows from the launch budget on."""
    near = np.exp(rng.uniform(np.log(1e-9), np.log(0.25), count))
    theta = np.where(rng.random(count) < 0.5, near, 0.5 - near)
    r = np.exp(rng.uniform(np.log(1e-3), np.log(50.0), count))
    ceiling = np.asarray(formulas.gap_ceiling(theta, r))
    gap = ceiling * np.where(rng.random(count) < 0.2, 1.0, rng.uniform(1e-3, 1.0, count))
    launch_rows = 16 * (np.asarray(formulas.rademacher_constant(theta)) * r / gap) ** 2
    n = np.minimum(np.floor(launch_rows * (1 + 10 ** rng.uniform(-9, 4, count))) + 1, 2.0**50).astype(np.int64)
    return {
        "theta": theta,
        "r": r,
        "gap": gap,
        "n": n,
        "K": rng.integers(2, 1000, count),
        "delta": np.exp(rng.uniform(np.log(1e-12), np.log(0.999), count)),
        "m": rng.integers(1, 10**6, count),
    }


# --- exact values -------------------------------------------------------------------------------------------------


def _rise(p: BoundProblem) -> Any:
    return BALLS.max(p["r"], p["theta"] - 1 + rejection_slope(p["theta"]) * p["r"])


def _fall(p: BoundProblem) -> Any:
    theta, r = p["theta"], p["r"]
    s = BALLS.min(BALLS.max((1 - 2 * theta) * (r - 2 * (1 - theta)), -r), r)
    return BALLS.min((r - s) / 2, 1 - theta + rejection_slope(theta) * s, ball(1))


def _spread(p: BoundProblem) -> Any:
    return _rise(p) + _fall(p)


def _paper_log_q(p: BoundProblem) -> Any:
    return log_tail_paper(p["n"], p["gap"], p["theta"], p["r"], xp=BALLS)


def _corrected_log_q(p: BoundProblem) -> Any:
    margin = p["gap"] / 2 - 2 * rademacher_constant(p["theta"]) * p["r"] / p["n"].sqrt()
    return -2 * p["n"] * (margin / _spread(p)) ** 2


def _dual(p: BoundProblem) -> Any:
    steep = BALLS.max(rejection_slope(p["theta"]) ** 2, ball(0.5))
    return 2 * steep / (4 * steep - 1).sqrt()


def _theorem_2(p: BoundProblem) -> Any:
    """The smaller of one McDiarmid step and the split at half the margin, as `tighter.lemma_4` for shared rows."""
    spread, n = _spread(p), p["n"]
    x = BALLS.max(p["gap"] - _dual(p) * p["r"] / n.sqrt(), ball(0))
    stiffness = n / spread**2
    step = -stiffness * x**2 / 2
    shift = x / 2
    entropy = _least_entropy(shift / spread, BALLS.max((_fall(p) - p["gap"]) / spread, ball(0)))
    high = -BALLS.max(2 * stiffness * shift**2, n * entropy)
    split = (high.exp() + (-2 * stiffness * shift**2).exp()).log() if float(high) > -1e6 else ball(0)
    return BALLS.min(step, split)


def _least_entropy(epsilon: Any, ceiling: Any) -> Any:
    if not ceiling <= (1 - epsilon) / 2 or not ceiling > 0:
        return ball(0)
    q = ceiling + epsilon
    return q * (q / ceiling).log() + (1 - q) * ((1 - q) / (1 - ceiling)).log()


def _regret(p: BoundProblem) -> Any:
    return regret_paper(p["n"], p["theta"], p["r"], p["delta"], xp=BALLS)


def _corrected_regret(p: BoundProblem) -> Any:
    complexity = 2 * rademacher_constant(p["theta"]) * p["r"] / p["n"].sqrt()
    return complexity + 2 * _spread(p) * hoeffding_deviation(p["n"], 2 / p["delta"], BALLS)


def _exponent_size(p: dict[str, Floats]) -> Floats:
    return np.asarray(p["n"] * p["gap"] ** 2 / np.asarray(formulas.loss_range(p["theta"], p["r"])) ** 2)


def _row_size(p: dict[str, Floats]) -> Floats:
    return np.asarray(p["n"] * p["gap"] ** 2)


def _no_size(p: dict[str, Floats]) -> Floats:
    return np.zeros_like(p["gap"])


@dataclass(frozen=True, slots=True)
class Check:
    """A float function, its exact value on balls, and the size of what cancels inside."""

    name: str
    floats: Callable[[dict[str, Any]], Any]
    exact: Callable[[BoundProblem], Any]
    size: Callable[[dict[str, Any]], Floats] = _no_size


CHECKS: tuple[Check, ...] = (
    Check("formulas.loss_range", lambda p: formulas.loss_range(p["theta"], p["r"]), _spread),
    Check("formulas.gap_ceiling", lambda p: formulas.gap_ceiling(p["theta"], p["r"]), _fall),
    Check("formulas.dual_constant", lambda p: formulas.dual_constant(p["theta"]), _dual),
    Check(
        "paper.lemma_4",
        lambda p: paper.lemma_4(p["n"], p["gap"], p["theta"], p["r"], strict=False, log=True),
        lambda p: ball(4).log() + _paper_log_q(p),
        _row_size,
    ),
    Check(
        "paper.delta_fail_uniform",
        lambda p: paper.delta_fail_uniform(
            p["n"] * p["K"], p["K"], p["gap"], p["theta"], p["r"], strict=False, log=True
        ),
        lambda p: (4 * (p["K"] - 1)).log() + _paper_log_q(p),
        _row_size,
    ),
    Check(
        "corrected.lemma_4",
        lambda p: corrected.lemma_4(p["n"], p["gap"], p["theta"], p["r"], strict=False, log=True),
        lambda p: ball(2).log() + _corrected_log_q(p),
        _exponent_size,
    ),
    Check(
        "corrected.delta_fail_uniform",
        lambda p: corrected.delta_fail_uniform(
            p["n"] * p["K"], p["K"], p["gap"], p["theta"], p["r"], strict=False, log=True
        ),
        lambda p: (2 * (p["K"] - 1)).log() + _corrected_log_q(p),
        _exponent_size,
    ),
    Check(
        "tighter.lemma_4",
        lambda p: tighter.lemma_4(p["n"], p["gap"], p["theta"], p["r"], strict=False, log=True),
        _theorem_2,
        _exponent_size,
    ),
    Check(
        "paper.exploratory_regret_uniform",
        lambda p: paper.exploratory_regret_uniform(
            2 * p["n"], 2, p["gap"], p["theta"], p["r"], p["delta"], strict=False
        ),
        _regret,
    ),
    Check(
        "corrected.exploratory_regret_uniform",
        lambda p: corrected.exploratory_regret_uniform(
            2 * p["n"], 2, p["gap"], p["theta"], p["r"], p["delta"], strict=False
        ),
        _corrected_regret,
    ),
)


@dataclass(frozen=True, slots=True)
class Deficit:
    """How far floats fall below exact values.

    Attributes
    ----------
    points : int
        Where the float is a number (its premises hold, up to rounding).
    worst : float
        The largest (exact - float) / (2^-48 sizes); at most `ALLOWED` is what is stated.
    where : dict
        The point of the worst.
    below : int
        How many floats are below the exact value at all.
    """

    name: str
    points: int
    worst: float
    where: dict[str, float]
    below: int


def compare(check: Check, count: int, rng: np.random.Generator) -> Deficit:
    """Hold a function against its exact value at ``count`` random points."""
    points = random_points(count, rng)
    floats = np.broadcast_to(np.asarray(check.floats(points)), (count,))
    sizes = check.size(points)
    worst, where, seen, below = -np.inf, {}, 0, 0
    with digits(BITS):
        for index in range(count):
            value = float(floats[index])
            if not np.isfinite(value):
                continue
            by_name = {name: column[index].item() for name, column in points.items()}
            exact = check.exact({name: ball(number) for name, number in by_name.items()})
            # The upper end of the ball: rounding of the balls counts against the float.
            deficit = float((exact - ball(value)).upper())
            share = deficit / (UNIT * (1 + abs(value) + float(sizes[index])))
            seen, below = seen + 1, below + (deficit > 0)
            if share > worst:
                worst, where = share, by_name
    return Deficit(check.name, seen, worst, where, below)
