"""Draw the synthetic data of Section 5.1: a class hidden in the overlap of two known ones."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike, NDArray

from exml_sim._internal.arrays import FloatArray
from exml_sim._internal.validation import check_count, check_finite, check_positive, check_random_state, shown
from exml_sim.money import Money
from exml_sim.population import Candidate, Population

#: Label of the hidden class among the true classes 1, 2, 3.
HIDDEN = 3


#: Rows of a class; more would not fit into the memory of most machines.
MAX_PER_CLASS = 10**7


@dataclass(frozen=True, slots=True)
class SyntheticRows:
    """Rows of Section 5.1: the points in space, their true classes, and their observed labels."""

    points: FloatArray
    classes: NDArray[np.int64]
    y: FloatArray


def draw_rows(
    per_class: int = 100,
    *,
    a: float = 1.0,
    sigma: float | None = None,
    z: float | None = None,
    rng: np.random.Generator | int | None = None,
) -> SyntheticRows:
    """Draw rows from the three Gaussians of Section 5.1.

    Class 1 has mean (-a, 0, -z), class 2 (a, 0, z), both with variance sigma in each direction; the hidden class 3 has
    mean 0 and variance sigma/2. Rows of class 3 are mislabelled -1 or +1 by a fair coin.

    Parameters
    ----------
    per_class : int
        Rows of each class.
    a : float
        Half the distance of the known classes along the first axis.
    sigma, z : float, optional
        Variance and offset along the third axis; 3a and 5a in the paper.
    rng : Generator or seed

    Returns
    -------
    SyntheticRows
        Points (3 * per_class, 3), classes in {1, 2, 3}, labels in {-1, +1}; class by class.
    """
    per_class = check_count(per_class, "per_class")
    if per_class > MAX_PER_CLASS:
        raise ValueError(f"per_class must be at most {MAX_PER_CLASS:,}; got {shown(per_class)}")
    a = check_positive(a, "a")
    sigma = 3.0 * a if sigma is None else check_positive(sigma, "sigma")
    z = 5.0 * a if z is None else check_positive(z, "z")
    rng = check_random_state(rng, "rng")
    means = np.array([[-a, 0.0, -z], [a, 0.0, z], [0.0, 0.0, 0.0]])
    variances = np.array([sigma, sigma, sigma / 2.0])
    classes = np.repeat(np.array([1, 2, HIDDEN]), per_class)
    noise = rng.standard_normal((3 * per_class, 3))
    points = means[classes - 1] + np.sqrt(variances)[classes - 1, None] * noise
    coin = rng.choice(np.array([-1.0, 1.0]), size=3 * per_class)
    y = np.where(classes == 1, -1.0, np.where(classes == 2, 1.0, coin))
    return SyntheticRows(points, classes, y)


def candidate_values(points: FloatArray, angles: FloatArray) -> FloatArray:
    """Compute the candidate features of Section 5.1, one column per angle to the horizon, in degrees.

    The feature at angle phi is the coordinate along (cos phi, sin phi) in the plane of the first and the third axis: at
    0 degrees it repeats the observed first coordinate, at 90 it is the missing third one, and the larger the better.
    """
    radians = np.deg2rad(np.asarray(angles, dtype=np.float64))
    values: FloatArray = np.outer(points[:, 0], np.cos(radians)) + np.outer(points[:, 2], np.sin(radians))
    return values


def make_synthetic(
    per_class: int = 100,
    *,
    angles: ArrayLike = (10, 20, 30, 40, 50, 60, 70, 80, 90),
    costs: Sequence[Money] | None = None,
    a: float = 1.0,
    sigma: float | None = None,
    z: float | None = None,
    rng: np.random.Generator | int | None = None,
) -> Population:
    """Build the population of Section 5.1: two coordinates observed, one candidate per angle.

    Parameters
    ----------
    per_class, a, sigma, z, rng
        See :func:`draw_rows`.
    angles : array_like
        Angles of the candidates to the horizon in degrees; the larger, the better.
    costs : sequence of money, optional
        Cost of one pull of each candidate; 1 by default.

    Examples
    --------
    >>> make_synthetic(10, angles=[30, 90], rng=0).names
    ('30°', '90°')
    """
    rows = draw_rows(per_class, a=a, sigma=sigma, z=z, rng=rng)
    degrees = np.atleast_1d(check_finite(angles, "angles"))
    if degrees.ndim != 1:
        raise ValueError(f"angles must be a list of numbers; got shape {degrees.shape}")
    prices = [1] * len(degrees) if costs is None else list(costs)
    if len(prices) != len(degrees):
        raise ValueError(f"costs must be one for each of the {len(degrees)} angles; got {len(prices)}")
    values = candidate_values(rows.points, degrees)
    candidates = [
        Candidate(f"{degree:g}°", values[:, [k]], price)
        for k, (degree, price) in enumerate(zip(degrees, prices, strict=True))
    ]
    return Population(rows.points[:, :2], rows.y, candidates, classes=rows.classes, hidden=HIDDEN)
