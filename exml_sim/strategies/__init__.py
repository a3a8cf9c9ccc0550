"""Strategies: rules that decide which arm is pulled how often, one file per rule."""

from collections.abc import Mapping
from dataclasses import MISSING, fields
from typing import Any

from exml_sim.exploration.strategy import Strategy
from exml_sim.plugins import classes
from exml_sim.strategies.accept_reject import SuccessiveAcceptsRejects
from exml_sim.strategies.base import Rule
from exml_sim.strategies.commit import ExploreThenCommit
from exml_sim.strategies.median_elimination import MedianElimination
from exml_sim.strategies.successive_rejects import SuccessiveRejects
from exml_sim.strategies.top_two import TopTwo
from exml_sim.strategies.uniform import UniformAllocation
from exml_sim.validation import check_choice

__all__ = [
    "STRATEGIES",
    "ExploreThenCommit",
    "MedianElimination",
    "Rule",
    "Strategy",
    "SuccessiveAcceptsRejects",
    "SuccessiveRejects",
    "TopTwo",
    "UniformAllocation",
    "by_name",
]

#: Every rule in this folder, by its name in small letters.
STRATEGIES: Mapping[str, type[Rule]] = classes(__name__, Rule)


def by_name(name: str, **options: Any) -> Strategy:
    """Build a strategy from its name, e.g. `by_name("median_elimination", reuse=False)`.

    Raises
    ------
    ValueError
        If the name is not one of `STRATEGIES`, or the options are not those of the strategy.
    """
    check_choice(name, "strategy", STRATEGIES)
    try:
        strategy = STRATEGIES[name](**options)
    except TypeError:
        known = ", ".join(f"{f.name} (required)" if f.default is MISSING else f.name for f in fields(STRATEGIES[name]))
        raise ValueError(
            f"strategy {name!r} does not take the options [{', '.join(options)}]: it has {known}"
        ) from None
    assert isinstance(strategy, Strategy)
    return strategy
