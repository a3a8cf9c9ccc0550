"""The synthetic data of Section 5.1: a class hidden in the overlap of two known ones."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from exml_sim.validation import check_positive

Array = NDArray[np.float64]

#: Label of the hidden class among the true classes 1, 2, 3.
HIDDEN = 3


@dataclass(frozen=True, slots=True)
class SyntheticRows:
    """Rows of Section 5.1: the points in space, what they truly are, and what they were taken for."""

    points: Array
    classes: NDArray[np.int64]
    y: Array


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
    if isinstance(per_class, bool) or int(per_class) != per_class or per_class < 1:
        raise ValueError(f"per_class must be a whole number of at least 1; got {per_class!r}")
    per_class = int(per_class)
    a = check_positive(a, "a")
    sigma = 3.0 * a if sigma is None else check_positive(sigma, "sigma")
    z = 5.0 * a if z is None else check_positive(z, "z")
    rng = np.random.default_rng(rng)
    means = np.array([[-a, 0.0, -z], [a, 0.0, z], [0.0, 0.0, 0.0]])
    variances = np.array([sigma, sigma, sigma / 2.0])
    classes = np.repeat(np.array([1, 2, HIDDEN]), per_class)
    noise = rng.standard_normal((3 * per_class, 3))
    points = means[classes - 1] + np.sqrt(variances)[classes - 1, None] * noise
    coin = rng.choice(np.array([-1.0, 1.0]), size=3 * per_class)
    y = np.where(classes == 1, -1.0, np.where(classes == 2, 1.0, coin))
    return SyntheticRows(points, classes, y)


def candidate_values(points: Array, angles: Array) -> Array:
    """Candidate features of Section 5.1, one column per angle to the horizon, in degrees.

    The feature at angle phi is the coordinate along (cos phi, sin phi) in the plane of the first and the third axis: at
    0 degrees it repeats the observed first coordinate, at 90 it is the missing third one, and the larger the better.
    """
    radians = np.deg2rad(np.asarray(angles, dtype=np.float64))
    values: Array = np.outer(points[:, 0], np.cos(radians)) + np.outer(points[:, 2], np.sin(radians))
    return values
