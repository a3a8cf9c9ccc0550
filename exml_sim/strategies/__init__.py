"""Strategies decide how often each arm is pulled and which one is selected; a file holds one or a family."""

from collections.abc import Mapping
from dataclasses import MISSING, fields, is_dataclass
from typing import TYPE_CHECKING, Any

from exml_sim._internal.validation import check_choice
from exml_sim.bandit.trial_batch import Strategy, check_strategy
from exml_sim.plugins import Plugin, classes, guard_calls
from exml_sim.strategies.base import BaseStrategy

if TYPE_CHECKING:
    from exml_sim.strategies.accept_reject import SuccessiveAcceptsRejects
    from exml_sim.strategies.median_elimination import MedianElimination
    from exml_sim.strategies.plain_loop import PlainLoop
    from exml_sim.strategies.successive_rejects import SuccessiveRejects
    from exml_sim.strategies.top_two import TopTwo
    from exml_sim.strategies.uniform import UniformAllocation
    from exml_sim.strategies.value_of_information import ValueOfInformationCommit

    #: Every strategy in this folder, by the snake-case name of its class.
    STRATEGIES: Mapping[str, type[BaseStrategy]]

__all__ = [
    "STRATEGIES",
    "BaseStrategy",
    "MedianElimination",
    "PlainLoop",
    "Strategy",
    "SuccessiveAcceptsRejects",
    "SuccessiveRejects",
    "TopTwo",
    "UniformAllocation",
    "ValueOfInformationCommit",
    "build_plugin",
    "by_name",
]


def __getattr__(name: str) -> Any:
    # All strategies are imported when one of them is first asked for here: an exploration of a table needs one.
    if name not in __all__:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    from exml_sim.strategies.plain_loop import PlainLoop

    strategies = classes(__name__, BaseStrategy)
    members = {strategy.__name__: strategy for strategy in (*strategies.values(), PlainLoop)}
    globals().update(members, STRATEGIES=strategies)
    return globals()[name]


def by_name(name: str, **options: Any) -> Strategy:
    """Build a strategy of this package from its name, e.g. `by_name("median_elimination", accumulate=False)`.

    Raises
    ------
    ValueError
        If the name is not one of `STRATEGIES`, or the options are not those of the strategy.

    Examples
    --------
    >>> by_name("median_elimination", accumulate=False).accumulate
    False
    """
    from exml_sim.strategies import STRATEGIES as strategies

    check_choice(name, "strategy", strategies)
    _check_options(name, strategies[name], options)
    strategy = strategies[name](**options)
    assert isinstance(strategy, Strategy)
    return strategy


def build_plugin(plugin: Plugin, options: Mapping[str, Any]) -> Strategy:
    """Build the strategy of a plug-in: a class, a function that makes one, or a plain loop."""
    from exml_sim.strategies.plain_loop import PlainLoop, is_plain_loop

    make = plugin.load()
    if is_plain_loop(make):
        if options:
            raise ValueError(f"strategy {plugin.name!r} is a plain loop and takes no options, got {', '.join(options)}")
        return PlainLoop(make)
    with guard_calls(plugin):
        try:
            return check_strategy(make(**options))
        except TypeError:
            if is_dataclass(make):
                _check_options(plugin.name, make, options)
            raise


def _check_options(name: str, kind: Any, options: Mapping[str, Any]) -> None:
    """Refuse options that a strategy does not have, and the lack of one that it needs."""
    required = {entry.name: entry.default is MISSING and entry.default_factory is MISSING for entry in fields(kind)}
    known = ", ".join(f"{option} (required)" if required[option] else option for option in required)
    if unknown := [option for option in options if option not in required]:
        raise ValueError(f"strategy {name!r} does not take the options [{', '.join(unknown)}]: it has {known}")
    if missing := [option for option in required if required[option] and option not in options]:
        raise ValueError(f"strategy {name!r} needs a value of {', '.join(missing)}: it has {known}")
