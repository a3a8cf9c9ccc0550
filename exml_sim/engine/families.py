"""Families of arms from the literature, by the number of arms and the smallest gap, and arms drawn anew per trial."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from fractions import Fraction
from typing import Any, ClassVar

import numpy as np

from exml_sim.bandit.parametric import BernoulliArm, GaussianArm, ParametricPool, RandomInstancePool, RandomMeanArm
from exml_sim.engine import limits
from exml_sim.engine.fields import Fields, amount, entry, number, one_of, text, whole
from exml_sim.money import exact, show

LAWS = ("bernoulli", "gaussian")


def _spread(rivals: int) -> list[float]:
    """From 0 to 1 in equal steps, one per rival."""
    return [i / max(rivals - 1, 1) for i in range(rivals)]


def _groups(rivals: int, sizes: tuple[float, ...]) -> list[float]:
    """Rivals in groups of about equal number, each with its multiple of the smallest gap."""
    return [sizes[i * len(sizes) // rivals] for i in range(rivals)]


#: Gaps of the K - 1 rivals in units of the smallest gap (after Audibert, Bubeck and Munos, 2010, Section 6).
FAMILIES: Mapping[str, Callable[[int], list[float]]] = {
    "one group": lambda rivals: [1.0] * rivals,
    "two groups": lambda rivals: _groups(rivals, (1.0, 1.5, 1.5)),
    "arithmetic": lambda rivals: [1.0 + 7.0 * x for x in _spread(rivals)],
    "geometric": lambda rivals: [8.0**x for x in _spread(rivals)],
    "three groups": lambda rivals: _groups(rivals, (1.0, 2.0, 4.0)),
    "sparse": lambda rivals: [1.0] + [8.0] * (rivals - 1),
}


def ramp(K: int, ratio: Fraction) -> tuple[str, ...]:
    """Costs from 1 to `ratio` in equal steps, exactly."""
    return tuple(show(1 + (ratio - 1) * Fraction(i, max(K - 1, 1))) for i in range(K))


@dataclass(frozen=True, slots=True)
class FamilyPool(Fields):
    """K arms of a family; the best one, with mean `best`, is the last, which wins no ties.

    The rival with the smallest gap comes first. Costs rise in equal steps from 1 to `cost_ratio`, the best arm's.
    """

    what: ClassVar[str] = "family pool"
    kind: ClassVar[str] = "family"
    scored: ClassVar[bool] = False
    family: str = entry(one_of(tuple(FAMILIES)))
    K: int = entry(whole(1, limits.LIST), default=8)
    gap: float = entry(number, default=0.05)
    law: str = entry(one_of(LAWS), default="bernoulli")
    best: float = entry(number, default=0.3)
    sd: float = entry(number, default=0.5)
    cost_ratio: str = entry(amount, default="1")
    label: str = entry(text, default="")

    def __post_init__(self) -> None:
        Fields.__post_init__(self)
        if self.gap <= 0:
            raise ValueError(f"gap of a family pool must be greater than 0, got {self.gap:g}")
        if not self.label:
            object.__setattr__(self, "label", f"{self.family}, {self.law}")

    @property
    def means(self) -> tuple[float, ...]:
        """Lower is better."""
        rivals = FAMILIES[self.family](self.K - 1) if self.K > 1 else []
        return (*(round(self.best + self.gap * size, 12) for size in rivals), self.best)

    def pool(self) -> ParametricPool:
        """Build the arms."""
        costs = ramp(self.K, exact(self.cost_ratio))
        if self.law == "bernoulli":
            if not 0.0 <= min(self.means) <= max(self.means) <= 1.0:
                raise ValueError(
                    f"pool {self.label!r} needs means in [0, 1], and best {self.best:g} with gap {self.gap:g} goes to "
                    f"{max(self.means):g}: take a smaller gap"
                )
            return ParametricPool([BernoulliArm(mean, cost) for mean, cost in zip(self.means, costs, strict=True)])
        return ParametricPool([GaussianArm(mean, self.sd, cost) for mean, cost in zip(self.means, costs, strict=True)])


def _law_arm(law: str, low: float, high: float, sd: float) -> Callable[[Any], RandomMeanArm]:
    return lambda cost: RandomMeanArm(low, high, None if law == "bernoulli" else sd, cost)


@dataclass(frozen=True, slots=True)
class RedrawnArms(Fields):
    """K arms whose means are drawn anew in every trial, uniformly between `low` and `high`."""

    what: ClassVar[str] = "redrawn pool"
    kind: ClassVar[str] = "random_instance"
    scored: ClassVar[bool] = False
    K: int = entry(whole(1, limits.LIST), default=8)
    low: float = entry(number, default=0.0)
    high: float = entry(number, default=1.0)
    law: str = entry(one_of(LAWS), default="bernoulli")
    sd: float = entry(number, default=0.5)
    cost_ratio: str = entry(amount, default="1")
    label: str = entry(text, default="redrawn")

    def pool(self) -> RandomInstancePool:
        """Build the arms."""
        make = _law_arm(self.law, self.low, self.high, self.sd)
        return RandomInstancePool([make(cost) for cost in ramp(self.K, exact(self.cost_ratio))])


def hardness(gaps: Any) -> float:
    """H_2 = max_i i / gap_(i)^2 over the arms in order of their gaps, i from 2 (Audibert, Bubeck and Munos, 2010)."""
    ordered = np.sort(np.asarray(gaps, dtype=np.float64))[1:]
    with np.errstate(divide="ignore"):
        return float(np.max(np.arange(2, ordered.size + 2) / ordered**2))
