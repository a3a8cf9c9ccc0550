"""The paper as code: bounds, corrections, tighter theorems and a ledger of claims.

``theory.ladder(...)`` evaluates the paper's bound, its correction and our theorems side by side;
``theory.slack(...)`` says where the distance between the paper's bound and the truth comes from.
"""

from theory.bound_ladder import Rung, ladder
from theory.errors import AssumptionError
from theory.slack_anatomy import Factor, Slack, slack

__all__ = ["AssumptionError", "Factor", "Rung", "Slack", "ladder", "slack"]
