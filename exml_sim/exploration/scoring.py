"""From bought rows to a certified score: the value of the rejection problem on counts of rows.

Three scores, all per-row means so that arms with different numbers of rows can be compared:

- "ball": min of the mean surrogate loss over |h|, |g| <= Lambda, the empirical risk minimisation of the theory;
- "risk": the mean surrogate loss (Eq. 5) at the minimiser of the penalised problem (Eq. 3);
- "objective": the penalised minimum itself, divided by the number of rows if the loss is a sum. Its minimum over
  models, unlike "risk", is also the minimum that the deviation arguments of the theory need.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from exml_sim.arrays import CountArray, FloatArray
from exml_sim.rejection import solve_batch
from exml_sim.validation import check_choice

SCORES: Sequence[str] = ("ball", "risk", "objective")
LOSSES: Sequence[str] = ("sum", "mean")

# Accuracies of the solver, loosest first: most comparisons between arms are decided by the first. The
# certificate of the score "risk" shrinks with the root of the gap only, so it starts tighter.
TOLERANCES = {"ball": (1e-2, 1e-4, 1e-7, 1e-9), "objective": (1e-2, 1e-4, 1e-7, 1e-9), "risk": (1e-7, 1e-9)}

# Values this close are equal when no certificate tells them apart; it is wider than the last accuracy.
RESOLUTION = 1e-8

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
        if not _is_positive(self.theta) or not self.theta < 0.5:
            raise ValueError(f"theta must be in (0, 1/2), got {self.theta!r}")
        check_choice(self.score, "score", SCORES)
        check_choice(self.loss, "loss", LOSSES)
        if self.score == "ball":
            if not _is_positive(self.ball) or self.penalty is not None:
                raise ValueError(
                    f"score 'ball' needs ball=Lambda > 0 and no penalty, got ball={self.ball}, penalty={self.penalty}"
                )
        elif self.ball is not None or not _is_pair(self.penalty):
            raise ValueError(
                f"score {self.score!r} needs penalty=(C_h, C_g), both > 0, and no ball, "
                f"got penalty={self.penalty}, ball={self.ball}"
            )

    def levels(self, gram: FloatArray) -> int:
        """Number of accuracies: one where the surrogate is affine on the ball, kappa Lambda <= 1 - 2 theta.

        There V = 1 - (Lambda / 2) (|mean y Phi| + |mean Phi|), and the certificate covers rounding only.
        """
        kappa = float(np.sqrt(np.diagonal(gram).max()))
        affine = self.ball is not None and kappa * self.ball <= 1.0 - 2.0 * self.theta
        return 1 if affine else len(TOLERANCES[self.score])

    def of(self, gram: FloatArray, y: NDArray[np.int64], counts: CountArray, level: int) -> Certified:
        """Score every line of counts.

        Parameters
        ----------
        gram
            Kernel matrix of the augmented rows, shape (m, m).
        y
            Labels, shape (m,).
        counts
            How often each row was bought, shape (trials, m), each line with at least one row.
        level
            Accuracy, below `levels(gram)`.

        Returns
        -------
        Values, lower and upper ends of their certificates, each of shape (trials,).
        """
        tol = TOLERANCES[self.score][level]
        if self.score == "ball":
            found = solve_batch(gram, y, self.theta, counts, ball=self.ball, tol=tol)
            return found.risk, found.lower_bound, found.objective
        return self._penalised(gram, y, counts, tol)

    def _penalised(self, gram: FloatArray, y: NDArray[np.int64], counts: CountArray, tol: float) -> Certified:
        total = counts.sum(axis=1, dtype=np.int64).astype(np.float64)
        if self.loss == "mean":
            # Mean loss plus penalty is the weighted sum of losses with weights count / rows, plus penalty.
            weights, total = counts / total[:, None], np.ones_like(total)
        else:
            weights = counts.astype(np.float64)
        found = solve_batch(gram, y, self.theta, weights, penalty=self.penalty, tol=tol)
        if self.score == "objective":
            return found.objective / total, found.lower_bound / total, found.objective / total
        lower, upper = risk_interval(found.risk, found.objective, found.lower_bound, total)
        return found.risk, lower, upper


def _is_positive(number: object) -> bool:
    return isinstance(number, int | float | np.number) and 0.0 < float(number) < np.inf


def _is_pair(penalty: object) -> bool:
    return isinstance(penalty, tuple | list) and len(penalty) == 2 and all(map(_is_positive, penalty))


def risk_interval(
    risk: FloatArray, objective: FloatArray, lower_bound: FloatArray, total: FloatArray
) -> tuple[FloatArray, FloatArray]:
    """Interval for the mean loss at the exact minimiser, from an approximate one.

    Let P = C_h |h|^2 + C_g |g|^2. The objective grows at least as P(f - f*) away from the minimiser f*, so
    the duality gap d bounds |sqrt P(f) - sqrt P(f*)| by sqrt d. The loss at f* is the optimum less P(f*),
    with the optimum between `lower_bound` and `objective`.
    """
    root = np.sqrt(np.maximum(objective - total * risk, 0.0))
    reach = np.sqrt(np.maximum(objective - lower_bound, 0.0))
    lower = (lower_bound - (root + reach) ** 2) / total
    upper = (objective - np.maximum(root - reach, 0.0) ** 2) / total
    return lower, upper
