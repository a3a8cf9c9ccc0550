"""What a bound of somebody else's may know of a cell: the arms, their laws and prices, the strategy and its options.

A bound is any function ``bound(budget, setting)`` that returns a probability, or NaN where it says nothing. Which
strategies and which arms it speaks of it says by two attributes, ``strategies`` and ``laws`` (see `about`); without
them it speaks of all.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, ClassVar, TypeVar

import numpy as np

from exml_sim.bandit.parametric import BernoulliArm, CorrelatedArm, GaussianArm, ParametricPool
from exml_sim.bandit.rows import FeaturePool
from exml_sim.engine.fields import Fields, entry, several, text
from exml_sim.plugins import PluginError, explained, find
from exml_sim.validation import shown

if TYPE_CHECKING:
    from exml_sim.engine.study import Cell, Study

#: The kinds of arms: the pulls are 0 or 1, normal, in a range, features with a score, or something else.
LAWS = ("bernoulli", "gaussian", "bounded", "features", "other")
F = TypeVar("F", bound=Callable[..., Any])


@dataclass(frozen=True, slots=True)
class Setting:
    """A cell as a bound sees it.

    Attributes
    ----------
    strategy, options
        Name of the strategy, and its options.
    K
        Number of arms.
    gaps
        Gap of every arm to the best, in the order of the arms, 0 for the best.
    means
        What every arm is worth, lower is better; None for arms that are not known beforehand.
    costs
        Price of one pull of every arm.
    law
        "bernoulli", "gaussian", "bounded", "features" or "other".
    low, high
        Range of the pulls, if they have one.
    sd
        Standard deviations of Gaussian arms, the largest.
    theta, kappa_lambda
        Of feature arms scored over the ball.
    rows
        Number of rows of feature arms.
    kappa, pairing
        The root of the largest K(x, x), and whether arms read the same rows, for feature arms.
    rule
        Name of the strategy's class: a package may announce it by another name.
    """

    strategy: str
    K: int
    gaps: tuple[float, ...]
    options: Mapping[str, Any]
    means: tuple[float, ...] | None = None
    costs: tuple[float, ...] = ()
    law: str = "other"
    low: float = -math.inf
    high: float = math.inf
    sd: float = math.nan
    theta: float = math.nan
    kappa_lambda: float = math.nan
    rows: int | None = None
    kappa: float = math.nan
    pairing: str = "same"
    rule: str = ""

    @property
    def ordered(self) -> tuple[float, ...]:
        """The K - 1 gaps of the other arms, smallest first."""
        return tuple(sorted(self.gaps)[1:])

    @property
    def gap(self) -> float:
        """The smallest gap that is not 0; NaN if all arms are equally good."""
        return min((gap for gap in self.gaps if gap > 0), default=math.nan)


def about(*strategies: str, laws: tuple[str, ...] = ()) -> Callable[[F], F]:
    """Say which strategies and which laws of arms a bound speaks of.

    Examples
    --------
    >>> @about("uniform_allocation", laws=("bernoulli", "bounded"))
    ... def hoeffding(budget, setting):
    ...     n = budget // setting.K
    ...     return sum(math.exp(-n * gap**2 / (setting.high - setting.low) ** 2) for gap in setting.ordered)
    """
    for law in laws:
        if law not in LAWS:
            raise ValueError(f"unknown law {law!r}: allowed are {', '.join(LAWS)}")

    def mark(function: F) -> F:
        function.strategies, function.laws = strategies, laws  # type: ignore[attr-defined]
        return function

    return mark


@dataclass(frozen=True, slots=True)
class BoundSpec(Fields):
    """A bound of a plug-in by name; `strategies` narrows down of which strategies it is taken to speak."""

    what: ClassVar[str] = "bound"
    name: str = entry(text)
    strategies: tuple[str, ...] = entry(several(text, empty=True), default=())

    def __post_init__(self) -> None:
        Fields.__post_init__(self)
        if not callable(find("theory.bounds", self.name).load()):
            raise PluginError(f"plug-in {self.name!r} must be a function bound(budget, setting)")

    @classmethod
    def of(cls, given: Any) -> BoundSpec:
        """Read a name, or a table with a name and strategies."""
        if isinstance(given, BoundSpec):
            return given
        if isinstance(given, str):
            return cls(given)
        if not isinstance(given, Mapping):
            raise ValueError(f"a bound must be a name, or a table with a name and strategies; got {shown(given)}")
        return super(BoundSpec, cls).of(given)

    @property
    def label(self) -> str:
        """The name without its module."""
        return self.name.partition(":")[2] or self.name


def setting_of(study: Study, cell: Cell) -> Setting | str:
    """What a bound may know of a cell, or why there is nothing to know."""
    pool, spec = study.pool(cell), study.strategies[cell.strategy]
    try:
        gaps = tuple(float(gap) for gap in pool.gaps)
    except ValueError as error:
        return str(error)
    known: dict[str, Any] = {"law": "other"}
    if isinstance(pool, ParametricPool):
        known |= _known(pool)
    elif isinstance(pool, FeaturePool):
        known |= {"law": "features", "theta": float(pool.scoring.theta), "rows": pool.n_rows}
        known |= {"kappa": float(pool.kappa), "pairing": "same" if pool.options.rows == "same" else "independent"}
        if pool.scoring.ball is not None:
            known["kappa_lambda"] = pool.kappa * float(pool.scoring.ball)
    else:
        return "the arms have no fixed gaps"
    costs = tuple(float(cost) for cost in pool.prices.exact_costs)
    means = tuple(float(risk) for risk in pool.risks)
    known["rule"] = type(study.strategy(cell)).__name__
    return Setting(spec.name, pool.n_arms, gaps, dict(spec.options), means, costs, **known)


def _known(pool: ParametricPool) -> dict[str, Any]:
    """The law of known arms."""
    if all(isinstance(arm, BernoulliArm) for arm in pool.arms):
        return {"law": "bernoulli", "low": 0.0, "high": 1.0}
    if all(isinstance(arm, GaussianArm | CorrelatedArm) for arm in pool.arms):
        return {"law": "gaussian", "sd": max(float(getattr(arm, "sd", 0.0)) for arm in pool.arms)}
    ranges: list[Any] = [
        (0.0, 1.0) if isinstance(arm, BernoulliArm) else getattr(arm, "values", None) for arm in pool.arms
    ]
    if all(one is not None for one in ranges):
        return {
            "law": "bounded",
            "low": min(float(np.min(one)) for one in ranges),
            "high": max(float(np.max(one)) for one in ranges),
        }
    return {"law": "other"}


def declined(function: Any, spec: BoundSpec, setting: Setting) -> str:
    """Why a bound says nothing of a cell at any budget; empty if it may speak."""
    short = setting.strategy.partition(":")[2] or setting.strategy
    named = spec.strategies or getattr(function, "strategies", ())
    if named and not {setting.strategy, short, setting.rule} & {*named, *(one.partition(":")[2] for one in named)}:
        return f"{spec.label} is about {', '.join(named)}"
    laws = getattr(function, "laws", ())
    if laws and setting.law not in laws:
        return f"{spec.label} is about {' or '.join(laws)} arms"
    return ""


def value_of(name: str, function: Any, budget: float, setting: Setting) -> float:
    """A bound at a budget; NaN where it says nothing.

    Raises
    ------
    PluginError
        If it raises, or returns no probability.
    """
    whole = int(budget) if float(budget).is_integer() else float(budget)
    try:
        found = float(function(whole, setting))
    except Exception as error:
        raise explained(name, error) from None
    if found < 0.0:
        raise PluginError(f"plug-in {name!r} returned {found:g} at budget {whole}: a probability is not negative")
    return found
