"""Bounds that know the population: upper bounds on failure probabilities from Gram matrices and labels.

The other versions use K, theta, kappa Lambda and the gaps, and must hold for the worst population that has them. Here
the law of the rows is known, and failure is covered by a few quadratic statistics whose exact moments are computed.
"""

from theory.pool.failure import delta_fail_median, delta_fail_uniform, required_budget
from theory.pool.known import KnownPool

__all__ = ["KnownPool", "delta_fail_median", "delta_fail_uniform", "required_budget"]
