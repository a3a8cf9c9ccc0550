r"""Build populations with given optimality gaps.

The observed feature is a constant; it carries no information. With labels y that are half -1, half +1, candidate i is

.. math:: v_i = \rho_i\,y + \sqrt{1-\rho_i^2}\,z_i,

where z_i is -1 for half of the rows of each label and +1 for the others, shuffled on its own. On the population the
mean of y v_i is exactly rho_i and the mean of v_i is 0. With the linear kernel and a ball of radius Lambda in the
affine regime (kappa Lambda <= 1 - 2 theta) the risk of Eq. 7 is then in closed form

.. math:: R_i = 1 - \frac{\Lambda}{2}\,(\rho_i + 1), \qquad \Delta_i = \frac{\Lambda}{2}\,(\rho_1 - \rho_i).
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import ArrayLike

from exml_sim._internal.arrays import FloatArray
from exml_sim._internal.validation import check_finite, check_positive, check_random_state, check_theta, shown
from exml_sim.money import Money
from exml_sim.population import Candidate, Population

#: sup |x|^2 = 1 + (rho + sqrt(1 - rho^2))^2 <= 3.
KAPPA = float(np.sqrt(3.0))


def largest_ball(theta: float) -> float:
    """Compute the largest radius for which the closed form holds whatever the gaps: kappa Lambda = 1 - 2 theta."""
    return (1.0 - 2.0 * float(check_theta(theta))) / KAPPA


def correlations(gaps: FloatArray, ball: float, best: float) -> FloatArray:
    """Compute the rho_i that give the gaps."""
    rho: FloatArray = best - 2.0 * gaps / ball
    return rho


def make_graded(
    gaps: ArrayLike,
    *,
    ball: float,
    rows: int = 400,
    best: float = 1.0,
    costs: Sequence[Money] | None = None,
    rng: np.random.Generator | int | None = None,
) -> Population:
    r"""Build a population with the given gaps.

    The gaps are those of ``FeaturePool(population, score="ball", ball=ball, kernel="linear")``.

    Parameters
    ----------
    gaps
        Delta_i of every candidate, not negative, at least one of them 0.
    ball
        Radius Lambda; keep it at or below ``largest_ball(theta)``.
    rows
        Number of rows m, a multiple of 4.
    best
        Correlation rho_1 of the best candidate with the label, in (0, 1]. Gaps can be as large as ``ball * best / 2``.
    costs
        Cost of one pull of each candidate; 1 by default.

    Examples
    --------
    >>> from exml_sim.bandit.rows import FeaturePool
    >>> population = make_graded([0.0, 0.01, 0.05], ball=0.2, rows=40, rng=0)
    >>> pool = FeaturePool(population, theta=0.3, ball=0.2, kernel="linear")
    >>> [round(float(gap), 9) for gap in pool.gaps]
    [0.0, 0.01, 0.05]
    """
    wanted = np.atleast_1d(check_finite(gaps, "gaps"))
    radius = check_positive(ball, "ball")
    if isinstance(rows, bool) or int(rows) != rows or rows < 4 or rows % 4:
        raise ValueError(f"rows must be a positive multiple of 4; got {shown(rows)}")
    if not 0.0 < best <= 1.0:
        raise ValueError(f"best must be in (0, 1]; got {best}")
    if wanted.ndim != 1 or wanted.min() != 0.0:
        raise ValueError(f"gaps must be a list of numbers, the smallest of them 0; got {shown(gaps)}")
    if wanted.max() > radius * best / 2.0 * (1.0 + 1e-12):
        raise ValueError(f"gaps can be at most ball * best / 2 = {radius * best / 2.0:g}; got {wanted.max():g}")
    prices = [1] * len(wanted) if costs is None else list(costs)
    if len(prices) != len(wanted):
        raise ValueError(f"costs must be one for each of the {len(wanted)} candidates; got {len(prices)}")
    generator = check_random_state(rng, "rng")
    y = np.repeat(np.array([-1, 1]), rows // 2)
    rho = np.clip(correlations(wanted, radius, best), 0.0, 1.0)
    candidates = [
        Candidate(f"g{k}", r * y + np.sqrt(1.0 - r**2) * _balanced_noise(rows // 2, generator), price)
        for k, (r, price) in enumerate(zip(rho, prices, strict=True))
    ]
    return Population(np.ones((rows, 1)), y, candidates)


def _balanced_noise(per_label: int, rng: np.random.Generator) -> FloatArray:
    half = np.repeat(np.array([-1.0, 1.0]), per_label // 2)
    return np.concatenate([rng.permutation(half), rng.permutation(half)])
