"""From bought rows to a certified score: the value of the rejection problem on counts of rows.

Three scores, all per-row means so that arms with different numbers of rows can be compared:

- "ball": min of the mean surrogate loss over |h|, |g| <= Lambda, the empirical risk minimisation of the
theory; - "risk": the mean surrogate loss (Eq. 5) at the minimiser of the penalised problem (Eq. 3); -
"objective": the penalised minimum itself, divided by the number of rows if the loss is a sum (THEORY T8).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from exml_sim._jit import kernel
from exml_sim.money import unknown
from exml_sim.ranking import FloatArray
from exml_sim.rejection import solve_batch
from exml_sim.sampling import CountArray

SCORES: Sequence[str] = ("ball", "risk", "objective")
LOSSES: Sequence[str] = ("sum", "mean")

# Accuracies of the solver, loosest first: most comparisons between arms are decided by the first.
TOLERANCES = (1e-5, 1e-8, 1e-10)

# Values this close are equal when no certificate tells them apart; it is wider than the last accuracy.
RESOLUTION = 1e-9

Certified = tuple[FloatArray, FloatArray, FloatArray]


@dataclass(frozen=True, slots=True)
class Scoring:
    """What a score is: the loss's theta, the hypothesis set, and which number of the solution is taken.

    Parameters
    ----------
    theta
        Rejection cost, in (0, 1/2).
    score
        "ball", "risk" or "objective".
    ball
        Radius Lambda, for the score "ball" only.
    penalty
        (C_h, C_g), for the scores "risk" and "objective" only.
    loss
        Whether the penalty is added to the sum or to the mean of the losses. As printed, Eq. 3 has the
        mean, and then rejects every row at C = 1; the sum is what gives the paper's numbers.
    """

    theta: float
    score: str = "ball"
    ball: float | None = None
    penalty: tuple[float, float] | None = None
    loss: str = "sum"

    def __post_init__(self) -> None:
        if not 0.0 < self.theta < 0.5:
            raise ValueError(f"theta must be in (0, 1/2), got {self.theta}")
        if self.score not in SCORES:
            raise ValueError(unknown("score", self.score, SCORES))
        if self.loss not in LOSSES:
            raise ValueError(unknown("loss", self.loss, LOSSES))
        if self.score == "ball":
            if self.ball is None or self.penalty is not None or not 0.0 < self.ball < np.inf:
                raise ValueError(
                    "score 'ball' needs ball=Lambda > 0 and no penalty, "
                    f"got ball={self.ball}, penalty={self.penalty}"
                )
        elif self.penalty is None or self.ball is not None or not all(0.0 < c < np.inf for c in self.penalty):
            raise ValueError(
                f"score {self.score!r} needs penalty=(C_h, C_g), both > 0, and no ball, "
                f"got penalty={self.penalty}, ball={self.ball}"
            )

    def is_affine(self, gram: FloatArray) -> bool:
        """Whether the surrogate is affine on the whole ball: kappa * Lambda <= 1 - 2 theta."""
        kappa = float(np.sqrt(np.diagonal(gram).max()))
        return self.ball is not None and kappa * self.ball <= 1.0 - 2.0 * self.theta


def score_counts(
    scoring: Scoring, gram: FloatArray, y: NDArray[np.int64], counts: CountArray, level: int
) -> Certified:
    """Score every line of counts: values and certificates, each of shape (trials,).

    Parameters
    ----------
    scoring
        What to compute.
    gram
        Kernel matrix of the augmented rows, shape (m, m).
    y
        Labels, shape (m,).
    counts
        How often each row was bought, shape (trials, m), each line with at least one row.
    level
        Accuracy, a position in `TOLERANCES`.
    """
    if scoring.is_affine(gram):
        assert scoring.ball is not None
        return affine_values(gram, y, counts, scoring.ball)
    return _solved(scoring, gram, y, counts, TOLERANCES[level])


def affine_values(gram: FloatArray, y: NDArray[np.int64], counts: CountArray, ball: float) -> Certified:
    """Closed form of the score "ball" in the affine regime (THEORY F2).

    V = 1 - (Lambda / 2) (|mean y Phi| + |mean Phi|). The certificate covers the rounding of the sums.

    The sums run over the bought rows only, always in the same sequence: the value of a trial does not
    depend, to the last bit, on the trials it is computed with, which a matrix product would not promise.
    """
    lines = np.ascontiguousarray(counts)
    value, lower, upper = (np.empty(lines.shape[0]) for _ in range(3))
    _affine(np.ascontiguousarray(gram), y > 0, lines, 0.5 * ball, value, lower, upper)
    return value, lower, upper


@kernel
def _sparse_dot(row: FloatArray, places: NDArray[np.int64], weights: FloatArray, stop: int) -> float:
    """Sum of row[places[j]] * weights[j] for j < stop, in four strands that do not wait for each other."""
    a = b = c = d = 0.0
    whole = stop - stop % 4
    for j in range(0, whole, 4):
        a += row[places[j]] * weights[j]
        b += row[places[j + 1]] * weights[j + 1]
        c += row[places[j + 2]] * weights[j + 2]
        d += row[places[j + 3]] * weights[j + 3]
    for j in range(whole, stop):
        a += row[places[j]] * weights[j]
    return (a + b) + (c + d)


@kernel
def _affine(
    gram: FloatArray,
    positive: NDArray[np.bool_],
    counts: CountArray,
    half_ball: float,
    value: FloatArray,
    lower: FloatArray,
    upper: FloatArray,
) -> None:
    """|sum Phi|^2 and |sum y Phi|^2 are p'Kp + q'Kq +- 2 p'Kq, p and q the counts of rows of either label."""
    size = counts.shape[1]
    places = np.empty((2, size), dtype=np.int64)
    weights = np.empty((2, size), dtype=np.float64)
    largest = 0.0
    for i in range(size):
        largest = max(largest, gram[i, i])
    for t in range(counts.shape[0]):
        plus = minus = total = 0
        for i in range(size):
            if counts[t, i] > 0:
                total += counts[t, i]
                if positive[i]:
                    places[0, plus], weights[0, plus] = i, counts[t, i]
                    plus += 1
                else:
                    places[1, minus], weights[1, minus] = i, counts[t, i]
                    minus += 1
        alike = 0.0
        across = 0.0
        for side in range(2):
            for i in range(plus if side == 0 else minus):
                row = gram[places[side, i]]
                weight = weights[side, i]
                alike += weight * (2.0 * _sparse_dot(row, places[side], weights[side], i))
                alike += weight * weight * row[places[side, i]]
                if side == 0:
                    across += weight * (2.0 * _sparse_dot(row, places[1], weights[1], minus))
        # At most 2 (rows + 4) rounded operations deep; no entry of K exceeds its largest diagonal entry.
        error = 2.0**-52 * (2 * (plus + minus) + 8) * largest * total * total
        plain, signed = alike + across, alike - across
        scale = half_ball / total
        value[t] = 1.0 - scale * (np.sqrt(max(plain, 0.0)) + np.sqrt(max(signed, 0.0)))
        lower[t] = 1.0 - scale * (np.sqrt(max(plain, 0.0) + error) + np.sqrt(max(signed, 0.0) + error))
        upper[t] = 1.0 - scale * (np.sqrt(max(plain - error, 0.0)) + np.sqrt(max(signed - error, 0.0)))


def _solved(
    scoring: Scoring, gram: FloatArray, y: NDArray[np.int64], counts: CountArray, tol: float
) -> Certified:
    """Scores by the rejection solver."""
    rows = counts.sum(axis=1, dtype=np.int64).astype(np.float64)
    if scoring.ball is not None:
        solution = solve_batch(gram, y, scoring.theta, counts, ball=scoring.ball, tol=tol)
        return solution.objective, solution.lower_bound, solution.objective
    assert scoring.penalty is not None
    # Mean loss plus penalty is the sum of losses with weights count / rows plus penalty.
    per_row = rows if scoring.loss == "sum" else np.ones_like(rows)
    weights = counts if scoring.loss == "sum" else counts / rows[:, None]
    solution = solve_batch(gram, y, scoring.theta, weights, penalty=scoring.penalty, tol=tol)
    if scoring.score == "objective":
        return solution.objective / per_row, solution.lower_bound / per_row, solution.objective / per_row
    reach = _risk_reach(scoring, gram, np.maximum(solution.gap, 0.0))
    return solution.risk, solution.risk - reach, solution.risk + reach


def _risk_reach(scoring: Scoring, gram: FloatArray, gap: FloatArray) -> FloatArray:
    """How far the mean loss at the approximate minimiser can be from that at the exact one.

    The objective grows at least as C_h |h - h*|^2 + C_g |g - g*|^2 away from the minimiser, so a duality
    gap bounds that distance; the loss changes by at most |dh| / 2 + max(1/2, b) |dg|, b = theta / (1 - 2
    theta), and values of h change by at most kappa times its norm. Cauchy-Schwarz joins the two.
    """
    assert scoring.penalty is not None
    c_h, c_g = scoring.penalty
    steep = max(0.5, scoring.theta / (1.0 - 2.0 * scoring.theta))
    kappa_squared = float(np.diagonal(gram).max())
    return np.asarray(np.sqrt(kappa_squared * gap * (0.25 / c_h + steep**2 / c_g)), dtype=np.float64)
