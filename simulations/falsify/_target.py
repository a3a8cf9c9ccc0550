"""A claim as "observed <= bound" over a space of instances, and verdicts on its violations.

Both sides are natural logarithms: probabilities may be far below what a float holds.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

from simulations.falsify._spaces import Box, Numbers, PoolInstance, PoolSpace
from theory import verdicts
from theory.verdicts import Verdict

#: Tolerance for rounding of logarithms in a violation.
ROUNDING = 1e-9
#: Log of a side that is zero.
LOG_ZERO = -math.inf
#: Largest delta at which claims "with probability 1 - delta" are tested.
LARGEST_DELTA = 0.05
#: A point of a space, and the spaces that a search may visit; nothing in a space depends on a known counterexample.
Instance = Numbers | PoolInstance
Space = Box | PoolSpace
_UNMET = -1e9
_NOTHING = -1e6
_MOST = 1e6


@dataclass(frozen=True, slots=True)
class Measured:
    """Both sides of the claim "observed <= bound" at one instance.

    Attributes
    ----------
    log_observed, log_bound
        Natural logarithms of both sides; probabilities may be far below what a float holds.
    shortfall
        By how much a premise of the claim is missed; 0 if all hold. Such an instance is no evidence.
    hint
        Guides the search while nothing is observed: larger is closer.
    """

    log_observed: float
    log_bound: float
    shortfall: float = 0.0
    hint: float = 0.0

    @property
    def excess(self) -> float:
        """log(observed / bound); nothing observed is below every bound."""
        return self.log_observed - self.log_bound if self.log_observed > LOG_ZERO else LOG_ZERO

    @property
    def ratio(self) -> float:
        """observed / bound."""
        return math.exp(self.excess) if self.excess < 700 else math.inf

    @property
    def admissible(self) -> bool:
        """Whether the premises hold."""
        return self.shortfall <= 0

    @property
    def violates(self) -> bool:
        """Whether the instance contradicts the claim."""
        return self.admissible and self.excess > ROUNDING

    def fitness(self, relative: bool = False) -> float:
        """Return what the search climbs: towards the premises, then something observed, then the excess.

        ``relative`` divides the excess by 1 + |log bound|: it compares exponents instead of probabilities, and leads
        to violations that lie far out in the tails, where the excess alone gets worse before it gets better.
        """
        if not self.admissible:
            return _UNMET - min(self.shortfall, 1e6)
        if self.log_observed == LOG_ZERO:
            return _NOTHING + max(min(self.hint, 1e5), -1e5)
        scale = 1 + abs(self.log_bound) if relative and math.isfinite(self.log_bound) else 1.0
        return max(min(self.excess / scale, _MOST), _NOTHING / 2)


def unmet(shortfall: float) -> Measured:
    """Return the measurement of an instance that misses a premise."""
    return Measured(LOG_ZERO, 0.0, shortfall=max(shortfall, 1e-12))


def log(value: float) -> float:
    """Return the logarithm, `LOG_ZERO` for zero."""
    return math.log(value) if value > 0 else LOG_ZERO


@dataclass(frozen=True, slots=True)
class Target:
    """A claim whose violations can be searched.

    Attributes
    ----------
    id
        Id of the claim in the registry, or the dotted name of a bound, with ``/space`` after it if a claim has more
        than one space.
    says
        Meaning of "observed <= bound".
    space
        Instances to search.
    measure
        (instance, seed) -> `Measured`; fast, and deterministic given the seed. Exact measures ignore the seed.
    confirm
        (instance, seed) -> `Verdict`; by other means than `measure`: exact fractions, another code path, or fresh
        random numbers.
    holds
        What the registry or a proof says about the claim over this space; None where nothing is proved.
    sampled
        Whether `measure` is a Monte Carlo estimate.
    probability
        Whether the bound is one on a probability, so that tightness is reported at informative bounds only.
    """

    id: str
    says: str
    space: Space
    measure: Callable[[Any, int], Measured]
    confirm: Callable[[Any, int], Verdict]
    holds: bool | None
    sampled: bool = False
    probability: bool = True


def exact_log(value: Fraction | float | int) -> float:
    """Return the natural logarithm of a fraction of any size."""
    number = Fraction(value)
    if number <= 0:
        return LOG_ZERO
    return math.log(number.numerator) - math.log(number.denominator)


def format_log(log_value: float) -> str:
    """Format exp of a logarithm, also when it underflows."""
    if not math.isfinite(log_value):
        return "0" if log_value < 0 else str(log_value)
    power = log_value / math.log(10)
    if -5 < power < 6:
        return f"{math.exp(log_value):.6g}"
    exponent = math.floor(power)
    return f"{10 ** (power - exponent):.3f}e{exponent:+03d}"


def judge_measured(measured: Measured, *, how: str, probability: bool = True) -> Verdict:
    """Compare the observed side with the bound; ``how`` names the independent method that observed it."""
    log_observed, log_bound = measured.log_observed, measured.log_bound
    if not measured.admissible or math.isnan(log_bound):
        return verdicts.vacuous(f"A premise of the claim does not hold ({how}).", log_bound=math.nan)
    values = f"the observed side is {format_log(log_observed)} and the bound {format_log(log_bound)} ({how})"
    numbers = {"log_observed": log_observed, "log_bound": log_bound}
    if probability and log_bound >= 0:
        return verdicts.vacuous(f"The bound excludes nothing: {values}.", **numbers)
    if log_observed > log_bound + ROUNDING:
        return verdicts.refuted(f"The claim fails: {values}.", **numbers)
    return verdicts.consistent(f"The claim holds: {values}.", **numbers)


def build_exact_target(
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
    """Build a target without random numbers: searched by a fast path, confirmed by a slow one that ``how`` names."""
    return Target(
        id,
        says,
        space,
        lambda instance, seed: fast(instance),
        lambda instance, seed: judge_measured(slow(instance), how=how, probability=probability),
        holds,
        probability=probability,
    )


def compare_sides(left: Fraction | float, right: Fraction | float) -> Measured:
    """Measure the claim "left <= right" on exact numbers."""
    return Measured(exact_log(left), exact_log(right))
