r"""Score arms on more rows than a kernel matrix can hold: kernel values are computed where they are needed.

A trial buys a few of the m rows, and its score needs the kernel matrix of these alone. The whole population is needed
once, for the true risks. In the affine regime they are norms of means,

.. math:: R = 1 - \frac{\Lambda}{2} \Big( \Big|\frac1m \sum_i y_i \Phi_i\Big| + \Big|\frac1m \sum_i \Phi_i\Big| \Big),

whose squares are summed over blocks of rows; the penalised minimum comes from a factor, with bounds for the full
kernel.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from exml_sim import kernels
from exml_sim._internal.arrays import CountArray, FloatArray
from exml_sim._internal.memory import free_memory, in_bytes
from exml_sim.bandit._sampling import HeldRows
from exml_sim.bandit.scoring import Scoring, risk_interval

#: Rows up to which every arm keeps its kernel matrix.
MATRIX_ROWS = 6000
#: Scores that a factor bounds.
LOW_RANK_SCORES = ("objective", "risk")
#: Accuracy of the minimum on a factor at best: beyond it the bounds of many rows are rounding.
LOW_RANK_TOL = 1e-7
#: Rows of a block of kernel values.
CHUNK = 128
#: Matrices of m x m numbers that are there while one is computed.
COPIES = 4


@dataclass(frozen=True)
class Points:
    """Rows under a kernel.

    Attributes
    ----------
    X
        The rows, shape (m, d).
    kernel, gamma
        As for `exml_sim.kernels.gram`.
    """

    X: FloatArray
    kernel: Any
    gamma: Any

    @cached_property
    def bandwidth(self) -> float | None:
        """The bandwidth of all rows; None for kernels without one."""
        return kernels.resolve_gamma(self.X, self.gamma) if self.kernel == "gaussian" else None

    @cached_property
    def diagonal(self) -> FloatArray:
        """K(x, x) at the rows."""
        if self.kernel == "gaussian":
            return np.ones(len(self.X))
        if self.kernel == "linear":
            return np.asarray(np.einsum("ij,ij->i", self.X, self.X), dtype=np.float64)
        parts = [self.X[i : i + CHUNK] for i in range(0, len(self.X), CHUNK)]
        return np.concatenate([np.diagonal(self.between(part, part)) for part in parts])

    def between(self, left: FloatArray, right: FloatArray) -> FloatArray:
        """Compute kernel values between points."""
        if self.kernel == "gaussian":
            assert self.bandwidth is not None
            return kernels.gaussian(left, right, gamma=self.bandwidth)
        values = kernels.linear(left, right) if self.kernel == "linear" else self.kernel(left, right)
        return np.asarray(values, dtype=np.float64)

    def gram(self, rows: NDArray[np.intp]) -> FloatArray:
        """Compute the kernel matrix of the listed rows."""
        gamma = 1.0 if self.bandwidth is None else self.bandwidth
        return np.ascontiguousarray(kernels.gram(self.X[rows], self.kernel, gamma), dtype=np.float64)

    def squared_norms(self, weights: FloatArray, chunk: int = CHUNK) -> FloatArray:
        """Compute |sum_i w_i Phi_i|^2 for every line of weights, shape (lines, m), in blocks of `chunk` rows."""
        if self.kernel == "linear":
            sums = weights @ self.X
            return np.asarray(np.einsum("kj,kj->k", sums, sums), dtype=np.float64)
        total = np.zeros(len(weights))
        for start in range(0, len(self.X), chunk):
            stop = min(start + chunk, len(self.X))
            # Pairs with earlier rows were counted twice there.
            values = self.between(self.X[start:stop], self.X[start:])
            seen = weights[:, start:].copy()
            seen[:, stop - start :] *= 2.0
            total += np.einsum("ki,ki->k", weights[:, start:stop], seen @ values.T)
        return total


def score(
    points: Points,
    scoring: Scoring,
    y: NDArray[np.int64],
    lines: Iterable[HeldRows],
    level: int,
    matrix_rows: int = MATRIX_ROWS,
) -> tuple[FloatArray, FloatArray, FloatArray]:
    """Score every line of bought rows, each from the rows that it holds; up to `matrix_rows` from their matrix."""
    certified = [_score_line(points, scoring, y, line, level, matrix_rows) for line in lines]
    value, lower, upper = np.array(certified).reshape(-1, 3).T
    return value, lower, upper


def _score_line(
    points: Points, scoring: Scoring, y: NDArray[np.int64], sample: HeldRows, level: int, matrix_rows: int
) -> tuple[float, float, float]:
    rows = sample.rows
    if len(rows) > matrix_rows:
        counts = sample.dense(len(y))
        if scoring.levels(points.diagonal) == 1:
            return _affine(points, scoring, y, counts)
        if scoring.score in LOW_RANK_SCORES and not callable(points.kernel):
            return _penalised(points, scoring, y, counts, level)
        check_memory(len(rows), f"score {scoring.score!r} of the population")
    value, lower, upper = scoring.of(points.gram(rows), y[rows], sample.times[None], level)
    return float(value[0]), float(lower[0]), float(upper[0])


def _affine(points: Points, scoring: Scoring, y: NDArray[np.int64], counts: CountArray) -> tuple[float, float, float]:
    """Evaluate the closed form; Cauchy-Schwarz bounds the terms of the sums, and their rounding, by the diagonal."""
    assert scoring.ball is not None
    weights = np.stack([counts * y, counts]).astype(np.float64)
    squares = np.maximum(points.squared_norms(weights), 0.0)
    spread = float(counts @ np.sqrt(points.diagonal))
    error = 2.0 * (counts.size + 4) * float(np.finfo(np.float64).eps) * spread**2
    scale = 0.5 * scoring.ball / float(counts.sum())
    reach, wide = (float(np.sqrt(squares + more).sum()) for more in (0.0, error))
    return 1.0 - scale * reach, 1.0 - scale * wide, 1.0 - scale * reach + scale * (wide - reach)


def _penalised(
    points: Points, scoring: Scoring, y: NDArray[np.int64], counts: CountArray, level: int
) -> tuple[float, float, float]:
    """Minimise over the span of a factor, with bounds for the full kernel."""
    # Few pools are so large: the others do not wait for the compiled modules.
    from exml_sim.rejection import DEFAULT_RANK, factorise, solve_low_rank

    assert scoring.penalty is not None
    gamma = 1.0 if points.bandwidth is None else points.bandwidth
    factor = factorise(points.X, kernel=points.kernel, gamma=gamma, rank=min(DEFAULT_RANK, len(points.X)))
    rows = int(counts.sum())
    total = 1.0 if scoring.loss == "mean" else float(rows)
    tol = max(scoring.tolerances[level], LOW_RANK_TOL)
    weights = counts * (total / rows)
    solution = solve_low_rank(factor, y, scoring.theta, penalty=scoring.penalty, weights=weights, tol=tol)
    if scoring.score == "objective":
        return solution.objective / total, solution.lower_bound / total, solution.objective / total
    parts = (np.array([number]) for number in (solution.risk, solution.objective, solution.lower_bound, total))
    lower, upper = risk_interval(*parts)
    return float(solution.risk), float(lower[0]), float(upper[0])


def check_memory(rows: int, what: str) -> None:
    """Refuse a kernel matrix that does not fit, before anything is allocated.

    Raises
    ------
    ValueError
        With the memory that would be needed.
    """
    needed, free = 8 * COPIES * rows**2, free_memory()
    if free is not None and needed > free:
        raise ValueError(
            f"{what} needs the kernel matrix of all {rows:,} rows, {in_bytes(needed)} while it is computed, "
            f"and {in_bytes(free)} are free"
        )
