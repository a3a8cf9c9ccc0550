"""What a bound of a plug-in may know of a cell: the arms, their distributions and costs, the strategy and its options.

A bound is a function ``function(budget, context)`` that returns a probability, or NaN where it does not apply. The
decorator `bound` announces it, and names the strategies and the distributions of arms that it covers.
"""

from __future__ import annotations

import inspect
import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, ClassVar, TypeVar

from exml_sim.bandit.parametric import BernoulliArm, CorrelatedArm, GaussianArm, ParametricPool
from exml_sim.bandit.pool import Pool
from exml_sim.engine._fields import Text, read_spec, spec, without_module
from exml_sim.plugins import BOUNDS, Plugin, PluginError, announce, guard_calls, of_object

if TYPE_CHECKING:
    from exml_sim.engine.study import Cell, Study

#: The kinds of arms: the pulls are 0 or 1, normal, in a range, features with a score, or something else.
DISTRIBUTIONS = ("bernoulli", "gaussian", "bounded", "features", "other")
F = TypeVar("F", bound=Callable[..., Any])


@dataclass(frozen=True, slots=True)
class BoundContext:
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
        Means of known arms, or risks of feature arms; None for arms that are not known in advance.
    direction
        "maximise" if higher means are better, else "minimise".
    costs
        Price of one pull of every arm.
    distribution
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
    distribution: str = "other"
    low: float = -math.inf
    high: float = math.inf
    sd: float = math.nan
    theta: float = math.nan
    kappa_lambda: float = math.nan
    rows: int | None = None
    kappa: float = math.nan
    direction: str = "minimise"
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


def bound(*strategies: str, distributions: tuple[str, ...] = ()) -> Callable[[F], F]:
    """Announce a function as a bound, for these strategies and distributions of arms; without any, for all.

    Examples
    --------
    >>> @bound("uniform_allocation", distributions=("bernoulli", "bounded"))
    ... def hoeffding(budget, context):
    ...     n = budget // context.K
    ...     return sum(math.exp(-n * gap**2 / (context.high - context.low) ** 2) for gap in context.ordered)
    """
    for name in distributions:
        if name not in DISTRIBUTIONS:
            raise ValueError(f"unknown distribution {name!r}: allowed are {', '.join(DISTRIBUTIONS)}")

    def mark(function: F) -> F:
        function.strategies, function.distributions = strategies, distributions  # type: ignore[attr-defined]
        return announce(BOUNDS)(function)

    return mark


@spec
class BoundSpec:
    """A bound of a plug-in by name; `strategies` narrows down of which strategies it is taken to speak."""

    what: ClassVar[str] = "bound"
    name: Text
    strategies: tuple[Text, ...] = ()
    plugin: Plugin | None = field(default=None, compare=False, repr=False, kw_only=True)

    @classmethod
    def read(cls, given: Any) -> BoundSpec:
        """Read a name, a table with a name and strategies, or a function."""
        if isinstance(given, BoundSpec):
            return given
        if inspect.isfunction(given):
            plugin = of_object(given, BOUNDS)
            return cls(plugin.name, plugin=plugin)
        if isinstance(given, str):
            return cls(given)
        return read_spec(cls, given, "a bound")

    @property
    def loaded(self) -> bool:
        """Whether its function is here; not when results are only read."""
        return self.plugin is not None and self.plugin.loaded

    @property
    def label(self) -> str:
        """The name without its module."""
        return without_module(self.name)


def context_of(study: Study, cell: Cell) -> BoundContext | str:
    """Collect what a bound may know of a cell, or say why there is nothing to know."""
    missing = study.missing_plugin(cell)
    if missing:
        return missing
    pool, spec = study.pool(cell), study.strategies[cell.strategy]
    try:
        gaps = tuple(float(gap) for gap in pool.gaps)
    except ValueError as error:
        return str(error)
    known = _describe_known(pool) if isinstance(pool, ParametricPool) else _describe_features(pool)
    if not known:
        return "the arms have no fixed gaps"
    costs = tuple(float(cost) for cost in pool.prices.exact_costs)
    means = tuple(float(mean) for mean in (pool.means if isinstance(pool, ParametricPool) else pool.risks))
    known["direction"] = pool.direction
    known["rule"] = type(study.strategy(cell)).__name__
    return BoundContext(spec.name, pool.n_arms, gaps, dict(spec.options), means, costs, **known)


def _describe_known(pool: ParametricPool) -> dict[str, Any]:
    """Describe the distribution of known arms."""
    if all(isinstance(arm, BernoulliArm) for arm in pool.arms):
        return {"distribution": "bernoulli", "low": 0.0, "high": 1.0}
    if all(isinstance(arm, GaussianArm | CorrelatedArm) for arm in pool.arms):
        return {"distribution": "gaussian", "sd": max(float(getattr(arm, "sd", 0.0)) for arm in pool.arms)}
    low, high = min(arm.support[0] for arm in pool.arms), max(arm.support[1] for arm in pool.arms)
    return {"distribution": "bounded" if math.isfinite(high - low) else "other", "low": low, "high": high}


def _describe_features(pool: Pool) -> dict[str, Any]:
    """Describe feature arms; empty for others."""
    from exml_sim.bandit.rows import FeaturePool

    if not isinstance(pool, FeaturePool):
        return {}
    known = {"distribution": "features", "theta": float(pool.scoring.theta), "rows": pool.n_rows}
    known |= {"kappa": float(pool.kappa), "pairing": "same" if pool.options.rows == "same" else "independent"}
    if pool.scoring.ball is not None:
        known["kappa_lambda"] = pool.kappa * float(pool.scoring.ball)
    return known


def find_reason(spec: BoundSpec, context: BoundContext) -> str:
    """Say why a bound does not cover a cell at any budget; empty if it does."""
    assert spec.plugin is not None
    function = spec.plugin.load()
    covered = spec.strategies or getattr(function, "strategies", ())
    names = {context.strategy, without_module(context.strategy), context.rule}
    if covered and not names & {*covered, *map(without_module, covered)}:
        return f"{spec.label} is about {', '.join(covered)}"
    distributions = getattr(function, "distributions", ())
    if distributions and context.distribution not in distributions:
        return f"{spec.label} is about {' or '.join(distributions)} arms"
    return ""


def evaluate(spec: BoundSpec, budget: float, context: BoundContext) -> float:
    """Evaluate a bound at a budget; NaN where it does not apply.

    Raises
    ------
    PluginError
        If it raises, or returns no probability.
    """
    assert spec.plugin is not None
    whole = int(budget) if float(budget).is_integer() else float(budget)
    with guard_calls(spec.plugin):
        value = float(spec.plugin.load()(whole, context))
    if value < 0.0:
        raise PluginError(f"plug-in {spec.name!r} returned {value:g} at budget {whole}: a probability is not negative")
    return value


#: Budgets beyond which a bound counts as vacuous: no study has a larger one.
MAX_BUDGET = 2**40


@dataclass(frozen=True, slots=True)
class PluginBound:
    """A bound of a plug-in on one pool and strategy.

    Attributes
    ----------
    spec
        The bound; it must not rise with the budget.
    context
        What it may know.
    """

    spec: BoundSpec
    context: BoundContext

    @property
    def name(self) -> str:
        """Its name in figure, report and plan."""
        return self.spec.label

    def at(self, budget: float) -> float:
        """Evaluate the bound at a budget, NaN where it does not apply."""
        return evaluate(self.spec, budget, self.context)

    def required(self, delta: float) -> int | None:
        """Smallest whole budget whose bound is at most delta; None if there is none."""
        return search_budget(self.at, delta)


def search_budget(evaluate_at: Callable[[float], float], delta: float) -> int | None:
    """Find the smallest whole budget from which on a bound is at most delta; None if there is none.

    The bound is evaluated at all powers of two up to `MAX_BUDGET` and bisected behind the last one that exceeds delta,
    so that a bound that rises again is not trusted too early.

    Parameters
    ----------
    evaluate_at
        The bound at a budget; NaN where it does not apply.
    delta
        The largest probability that is allowed.
    """
    powers = [2**power for power in range(MAX_BUDGET.bit_length())]
    values = [evaluate_at(budget) for budget in powers]
    last = max((i for i, value in enumerate(values) if value > delta), default=-1)
    high = next(
        (budget for budget, value in zip(powers[last + 1 :], values[last + 1 :], strict=True) if value <= delta), 0
    )
    if not high:
        return None
    low = high // 2
    while high - low > 1:
        middle = (low + high) // 2
        low, high = (low, middle) if evaluate_at(middle) <= delta else (middle, high)
    return high


def plugin_bounds(study: Study, cell: Cell) -> tuple[PluginBound, ...]:
    """List the loaded bounds of plug-ins that cover a cell's strategy and arms."""
    specs = [spec for spec in study.bounds if spec.loaded]
    context = context_of(study, cell) if specs else ""
    if isinstance(context, str):
        return ()
    return tuple(PluginBound(spec, context) for spec in specs if not find_reason(spec, context))


def describe_missing(study: Study) -> str:
    """Say which bounds of plug-ins are not drawn because only the store was read; empty if all are."""
    names = [spec.label for spec in study.bounds if not spec.loaded]
    return f"Not drawn: bounds of plug-ins ({', '.join(names)}); --plugins FILE draws them." if names else ""
