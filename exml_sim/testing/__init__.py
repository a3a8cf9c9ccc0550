"""Checks for your own strategies, as `numpy.testing` is for arrays; `simulations.testing` has those for bounds.

- `check_strategy(rule)` raises `CheckError` with a sentence for everything that is wrong, each with the seed that
  replays it; `examine(rule)` returns the same as a `Report`.
- `planted_rule(rule)` makes mutants of your own strategy and says which of them the checks would catch.
- `exml_sim.testing.generators` has hypothesis strategies for pools, budgets, costs and gaps;
  `exml_sim.testing.pytest_plugin` has the false-alarm book of a test suite, `Book` and `Purse`.
"""

from exml_sim.testing.alarms import Book, Item, Purse
from exml_sim.testing.checks import check_strategy, examine
from exml_sim.testing.examined import CheckError, Report
from exml_sim.testing.mutants import Plant, mutants, planted_rule

__all__ = [
    "Book",
    "CheckError",
    "Item",
    "Plant",
    "Purse",
    "Report",
    "check_strategy",
    "examine",
    "mutants",
    "planted_rule",
]
