"""Checks of user-written strategies; `simulations.testing` has those of bounds.

- `check_strategy(strategy)` raises `CheckError` with one sentence per error, each with the seed that replays it.
  `examine(strategy)` returns the same as a `Report`.
"""

from exml_sim.testing._properties import CheckError, Report
from exml_sim.testing.checks import check_strategy, examine

__all__ = ["CheckError", "Report", "check_strategy", "examine"]
