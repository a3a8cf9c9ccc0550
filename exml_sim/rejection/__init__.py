"""The rejection model of Section 3.1: problem in, certified solution out."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from exml_sim.rejection.problem import ConvergenceWarning, Solution
from exml_sim.rejection.solve import BatchSolution, solve, solve_batch

if TYPE_CHECKING:
    from exml_sim.rejection.classifier import RejectionClassifier

__all__ = ["BatchSolution", "ConvergenceWarning", "RejectionClassifier", "Solution", "solve", "solve_batch"]


def __getattr__(name: str) -> Any:
    # scikit-learn takes most of a second to import: only those who use the estimator wait for it.
    if name == "RejectionClassifier":
        from exml_sim.rejection.classifier import RejectionClassifier

        return RejectionClassifier
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
