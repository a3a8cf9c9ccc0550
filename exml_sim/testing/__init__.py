"""Checks for your own strategies and bounds, as `numpy.testing` is for arrays.

- `check_strategy(rule)` raises `CheckError` with a sentence for everything that is wrong, each with the seed that
  replays it; `examine(rule)` returns the same as a `Report`.
- `check_bound(bound, assumes=...)` holds a bound against near-tight instances, exact laws and counted trials.
- `planted(rule_or_bound)` makes mutants of your own object and says which of them the checks would catch.
- `exml_sim.testing.generators` has hypothesis strategies for pools, budgets, costs and gaps;
  `exml_sim.testing.pytest_plugin` has the false-alarm book of a test suite, `Book` and `Purse`.
"""

from typing import Any

from exml_sim.plugins import above
from exml_sim.testing.alarms import Book, Item, Purse
from exml_sim.testing.checks import check_strategy, examine
from exml_sim.testing.examined import CheckError, Report
from exml_sim.testing.mutants import Plant, mutants

__all__ = [
    "Assumes",
    "Book",
    "CheckError",
    "Item",
    "Plant",
    "Purse",
    "Report",
    "check_bound",
    "check_strategy",
    "examine",
    "examine_bound",
    "mutants",
    "planted",
]

#: Checks of bounds need the theory, which is above this room: they are found by name when they are asked for.
_ABOVE = ("Assumes", "check_bound", "examine_bound")


def __getattr__(name: str) -> Any:
    if name in _ABOVE:
        return above(f"simulations.testing:{name}")
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")


def planted(thing: Any, **options: Any) -> tuple[Plant, ...]:
    """Mutants of a rule or of a bound, and what the checks say of each.

    Parameters
    ----------
    thing
        A strategy, or a function ``bound(budget, setting)``.
    options
        Those of `check_strategy`, or `assumes` of `check_bound`.
    """
    if hasattr(thing, "explore"):
        from exml_sim.testing.mutants import planted_rule

        return planted_rule(thing, **options)
    found: tuple[Plant, ...] = above("simulations.testing:planted_bound")(thing, **options)
    return found
