"""Verdicts on finds, in logarithms: probabilities may be far below what a float holds. And targets with two paths."""

from __future__ import annotations

import math
from collections.abc import Callable
from fractions import Fraction
from typing import Any

from simulations.falsify.target import LOG_ZERO, ROUNDING, Measured, Space, Target
from theory import verdicts
from theory.verdicts import Verdict


def exact_log(value: Fraction | float | int) -> float:
    """Natural logarithm of a fraction of any size."""
    number = Fraction(value)
    if number <= 0:
        return LOG_ZERO
    return math.log(number.numerator) - math.log(number.denominator)


def in_digits(log_value: float) -> str:
    """exp of a logarithm, also when it underflows."""
    if not math.isfinite(log_value):
        return "0" if log_value < 0 else str(log_value)
    power = log_value / math.log(10)
    if -5 < power < 6:
        return f"{math.exp(log_value):.6g}"
    exponent = math.floor(power)
    return f"{10 ** (power - exponent):.3f}e{exponent:+03d}"


def judge_measured(measured: Measured, *, how: str, probability: bool = True) -> Verdict:
    """Hold the observed side against the bound; ``how`` says by what other means than the search's it was observed."""
    log_observed, log_bound = measured.log_observed, measured.log_bound
    if not measured.admissible or math.isnan(log_bound):
        return verdicts.vacuous(f"A premise of the claim does not hold ({how}).", log_bound=math.nan)
    sides = f"the observed side is {in_digits(log_observed)} and the bound {in_digits(log_bound)} ({how})"
    numbers = {"log_observed": log_observed, "log_bound": log_bound}
    if probability and log_bound >= 0:
        return verdicts.vacuous(f"The bound excludes nothing: {sides}.", **numbers)
    if log_observed > log_bound + ROUNDING:
        return verdicts.refuted(f"The claim fails: {sides}.", **numbers)
    return verdicts.consistent(f"The claim holds: {sides}.", **numbers)


def two_paths(
    id: str,
    says: str,
    space: Space,
    fast: Callable[[Any], Measured],
    slow: Callable[[Any], Measured],
    how: str,
    holds: bool | None,
    *,
    probability: bool = True,
) -> Target:
    """A target without random numbers: searched by a fast path, confirmed by a slow one; ``how`` names the slow one."""
    return Target(
        id,
        says,
        space,
        lambda one, seed: fast(one),
        lambda one, seed: judge_measured(slow(one), how=how, probability=probability),
        holds,
        probability=probability,
    )


def sides(left: Fraction | float, right: Fraction | float) -> Measured:
    """The claim "left <= right" on exact numbers."""
    return Measured(exact_log(left), exact_log(right))
