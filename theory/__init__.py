"""The paper as code: bounds, corrections, tighter theorems and a registry of claims.

``theory.BoundProblem(...)`` holds what is known of a pool and evaluates every bound there;
``theory.compare_bounds(...)`` evaluates the paper's bound, its correction and our theorems side by side.
"""

from theory.bound_problem import BoundProblem, BoundValue, compare_bounds
from theory.errors import AssumptionError

__all__ = ["AssumptionError", "BoundProblem", "BoundValue", "compare_bounds"]
