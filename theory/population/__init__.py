"""Bounds that know the population: upper bounds on failure probabilities from Gram matrices and labels.

The other versions use K, theta, kappa Lambda and the gaps, and must hold for the worst population that has them. Here
the law of the rows is known, and failure is covered by a few quadratic statistics whose exact moments are computed.
"""

from theory.population.design import Alignment, Pairing
from theory.population.failure import (
    Effort,
    Rows,
    Strategy,
    delta_fail_median,
    delta_fail_rows,
    delta_fail_uniform,
    required_budget,
)
from theory.population.model import PopulationModel
from theory.population.planner import approximate_failure, planned_budget
from theory.population.rate import large_deviation_rate
from theory.population.waterfall import Step, chernoff, waterfall

__all__ = [
    "Alignment",
    "Effort",
    "Pairing",
    "PopulationModel",
    "Rows",
    "Step",
    "Strategy",
    "approximate_failure",
    "chernoff",
    "delta_fail_median",
    "delta_fail_rows",
    "delta_fail_uniform",
    "large_deviation_rate",
    "planned_budget",
    "required_budget",
    "waterfall",
]
from theory.population.version import median as median_at, uniform as uniform_at
