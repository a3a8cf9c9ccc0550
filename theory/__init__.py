"""The paper as code: bounds, corrections, tighter theorems and a ledger of claims.

``theory.BoundProblem(...)`` says what is known of a pool and answers every question about its bounds;
``theory.ladder(...)`` evaluates the paper's bound, its correction and our theorems side by side;
``theory.slack(...)`` says where the distance between the paper's bound and the truth comes from.
"""

from theory._ladder import Rung
from theory._slack import Factor, Slack, slack
from theory.bound_problem import BoundProblem, ladder
from theory.errors import AssumptionError

__all__ = ["AssumptionError", "BoundProblem", "Factor", "Rung", "Slack", "ladder", "slack"]
