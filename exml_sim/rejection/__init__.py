"""Solve the rejection model of Section 3.1 with certificates.

Two paths, one problem. Up to a few thousand rows there is the Gram matrix::

    solution = solve(gram, y, theta, penalty=(1.0, 1.0))            # or ball=Lambda
    scores = solve_batch(gram, y, theta, counts, penalty=(1.0, 1.0))

Beyond, a factor of it that is made from the points, row by row, and costs rows times rank numbers::

    needed = memory_needed(len(X), 400, d=X.shape[1])               # bytes, before anything is allocated
    factor = factorise(X, kernel="gaussian", gamma="median", rank=400)
    whole = solve_low_rank(factor, y, 0.3, penalty=(1.0, 1.0))
    fold = factor.take(rows)                                        # the same landmarks on some of the rows
    part = solve_low_rank(fold, y[rows], 0.3, penalty=(1.0, 1.0), certificate="trace")
    h = factor.cross(X_new) @ part.u                                # landmarks only; g with part.w

`lower_bound <= optimum <= objective` holds for the full kernel on both paths; `solution.method`, `solution.rank` and
`solution.rank_gap` say which path it was and what the rank costs. Where only the model counts, as in cross-validation,
``certificate="trace"`` skips the pass over all pairs of rows. :class:`RejectionClassifier` chooses by size.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from exml_sim.rejection._factor import DEFAULT_RANK, EXACT_ROWS, LowRankFactor, factorise, memory_needed
from exml_sim.rejection._large import solve_low_rank
from exml_sim.rejection.problem import ConvergenceWarning, Solution
from exml_sim.rejection.solve import BatchSolution, solve, solve_batch

if TYPE_CHECKING:
    from exml_sim.rejection.classifier import RejectionClassifier

__all__ = [
    "DEFAULT_RANK",
    "EXACT_ROWS",
    "BatchSolution",
    "ConvergenceWarning",
    "LowRankFactor",
    "RejectionClassifier",
    "Solution",
    "factorise",
    "memory_needed",
    "solve",
    "solve_batch",
    "solve_low_rank",
]


def __getattr__(name: str) -> Any:
    # scikit-learn takes most of a second to import: only those who use the estimator wait for it.
    if name == "RejectionClassifier":
        from exml_sim.rejection.classifier import RejectionClassifier

        return RejectionClassifier
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
