"""What a bound is about, and a place where it is asked."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

from exml_sim.engine.bound_context import BoundContext
from exml_sim.strategies import Strategy, by_name

#: A bound; with the event "regret" it returns (level, probability).
Bound = Callable[[int, BoundContext], Any]

#: What can go wrong: a best arm is missed, the first arm is missed (as statements that ignore ties have it), or the
#: regret of the selected arm is beyond a level.
EVENTS = ("miss", "first", "regret")


@dataclass(frozen=True)
class Assumes:
    """What a bound is about.

    Attributes
    ----------
    strategy, options
        Name of the strategy and its options.
    distribution
        "features" (scored over the ball: the instances of this project), "bernoulli" or "gaussian".
    event
        "miss", "first" or "regret".
    rule
        The strategy itself, if it is none of `exml_sim.strategies`.
    costs
        "unit" (one pull of every arm costs 1), or "any" if the bound reads ``context.costs``: Bernoulli arms with
        unequal costs are asked, too.
    """

    strategy: str = "uniform_allocation"
    options: Mapping[str, Any] = field(default_factory=dict)
    distribution: str = "features"
    event: str = "miss"
    rule: Strategy | None = None
    costs: str = "unit"

    def __post_init__(self) -> None:
        if self.event not in EVENTS:
            raise ValueError(f"event must be one of {', '.join(EVENTS)}, got {self.event!r}")
        if self.distribution not in ("features", "bernoulli", "gaussian"):
            raise ValueError(f"distribution must be features, bernoulli or gaussian, got {self.distribution!r}")
        if self.costs not in ("unit", "any"):
            raise ValueError(f"costs must be unit or any, got {self.costs!r}")
        if self.costs == "any" and (self.distribution, self.event) != ("bernoulli", "miss"):
            raise ValueError(
                "instances with unequal costs are there for distribution bernoulli and event miss, "
                f"got {self.distribution} and {self.event}"
            )

    def build(self) -> Strategy:
        """The rule."""
        return self.rule if self.rule is not None else by_name(self.strategy, **dict(self.options))


@dataclass(frozen=True)
class Instance:
    """A place where a bound is asked, and what is known of the probability there: it lies between two numbers."""

    name: str
    context: BoundContext
    budget: int
    least: float
    most: float
    kind: str
    case: Mapping[str, Any] = field(default_factory=dict)
