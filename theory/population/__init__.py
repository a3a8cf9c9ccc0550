"""Bounds that use the population: upper bounds on failure probabilities from Gram matrices and labels.

The other versions use K, theta, kappa Lambda and the gaps, and must hold for the worst population that has them. Here
the distribution of the rows is known, and failure is covered by a few quadratic statistics with exact moments.
"""

from theory.population.failure import (
    Effort,
    Rows,
    Strategy,
    delta_fail_median,
    delta_fail_rows,
    delta_fail_uniform,
    median_at,
    required_budget,
    uniform_at,
)
from theory.population.model import Alignment, Pairing, PopulationModel
from theory.population.planning import (
    BudgetStep,
    chernoff,
    decompose_budget,
    large_deviation_rate,
)

__all__ = [
    "Alignment",
    "BudgetStep",
    "Effort",
    "Pairing",
    "PopulationModel",
    "Rows",
    "Strategy",
    "chernoff",
    "decompose_budget",
    "delta_fail_median",
    "delta_fail_rows",
    "delta_fail_uniform",
    "large_deviation_rate",
    "median_at",
    "required_budget",
    "uniform_at",
]
