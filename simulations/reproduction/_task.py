r"""One learning task of Section 5, ready for many runs: squared distances per group of features.

All features are normalised before training (Section 5.2), so squared distances of groups of features add up,

.. math:: |(x, z) - (x', z')|^2 = |x - x'|^2 + |z - z'|^2,

and every Gram matrix of every pair of groups, on any rows, is one sum, one median and one exponential.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from fractions import Fraction

import numpy as np

from exml_sim._internal.arrays import FloatArray, IntArray
from exml_sim.kernels import squared_distances

#: Number of the hidden class among the true classes; the known ones are 0 and 1.
HIDDEN = 2


@dataclass(frozen=True, slots=True, eq=False)
class Task:
    """Training and testing rows of one configuration.

    Attributes
    ----------
    train
        Group of features -> squared distances between training rows, shape (m, m).
    test
        Group of features -> squared distances from testing to training rows, shape (t, m).
    y
        Observed labels of the training rows, 0 or 1.
    truth
        True classes of the testing rows: 0, 1 or `HIDDEN`.
    costs
        Cost of one value of each group.
    """

    train: dict[str, FloatArray]
    test: dict[str, FloatArray]
    y: IntArray
    truth: IntArray
    costs: dict[str, Fraction]

    @classmethod
    def of(
        cls,
        train: Mapping[str, FloatArray],
        test: Mapping[str, FloatArray],
        y: IntArray,
        truth: IntArray,
        costs: Mapping[str, Fraction] | None = None,
    ) -> Task:
        """Compute all distances."""
        prices = {name: Fraction(1) for name in train} if costs is None else dict(costs)
        return cls(
            {name: squared_distances(values) for name, values in train.items()},
            {name: squared_distances(test[name], values) for name, values in train.items()},
            y,
            truth,
            prices,
        )

    def gram(self, groups: tuple[str, ...], rows: IntArray) -> tuple[FloatArray, float]:
        """Compute the Gaussian Gram matrix of training rows and its bandwidth, the median squared distance."""
        at = np.ix_(rows, rows)
        squares = np.sum([self.train[name][at] for name in groups], axis=0)
        gamma = _median(squares)
        return np.exp(squares / -gamma), gamma

    def cross(self, groups: tuple[str, ...], rows: IntArray, gamma: float) -> FloatArray:
        """Compute kernel values between all testing rows and some training rows."""
        squares: FloatArray = np.sum([self.test[name][:, rows] for name in groups], axis=0)
        values: FloatArray = np.exp(squares / -gamma)
        return values


def stream(seed: int, *address: int) -> np.random.Generator:
    """Return the random numbers at one address below the root seed."""
    return np.random.default_rng(np.random.SeedSequence(seed, spawn_key=address))


def _median(squares: FloatArray) -> float:
    """Return the paper's bandwidth; 1 for one row, or if most rows are equal, as in `Frame` of the classifier."""
    if len(squares) < 2:
        return 1.0
    gamma = float(np.median(squares[np.triu_indices(len(squares), 1)]))
    return gamma if gamma > 1e-14 * float(squares.max()) else 1.0
