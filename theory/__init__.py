"""The paper as code: bounds, corrections, tighter theorems and a ledger of claims.

``theory.ladder(...)`` evaluates the paper's bound, its correction and our theorems side by side;
``theory.slack(...)`` says where the distance between the paper's bound and the truth comes from.
"""

from theory._ladder import Rung, ladder
from theory._slack import Factor, Slack, slack
from theory.errors import AssumptionError

__all__ = ["AssumptionError", "Factor", "Rung", "Slack", "ladder", "slack"]
