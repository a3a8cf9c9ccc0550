"""Compute certified scores of arms from bought rows.

A score is a mean per row, so that arms with different numbers of rows can be compared. It is an object with

- `PENALISED`: whether it is of the penalised problem (Eq. 3) and needs a penalty, or over a ball and needs a radius;
- `TOLERANCES`: accuracies of the solver, loosest first; most comparisons between arms are decided by the first;
- `score(terms, gram, y, counts, tol)`: values with the ends of their certificates, one for every line of counts.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from exml_sim._internal.arrays import CountArray, FloatArray
from exml_sim._internal.validation import check_choice
from exml_sim.plugins import Plugin, guard_calls

if TYPE_CHECKING:
    from exml_sim.rejection.solve import BatchSolution, BatchSolver

#: Values with the lower and upper ends of their certificates.
Certified = tuple[FloatArray, FloatArray, FloatArray]
LOSSES: Sequence[str] = ("sum", "mean")

# Values this close are equal when no certificate separates them; it is wider than the last accuracy.
RESOLUTION = 1e-8


@dataclass(slots=True)
class Terms:
    """What a score may read: rejection cost, radius, penalty (C_h, C_g), and whether the penalty is added to a sum."""

    theta: float
    ball: float | None
    penalty: tuple[float, float] | None
    loss: str
    _solver: tuple[FloatArray, BatchSolver] | None = field(default=None, init=False, repr=False, compare=False)

    def solve(self, gram: FloatArray, y: NDArray[np.int64], weights: FloatArray, tol: float) -> BatchSolution:
        """Solve one rejection problem per line of weights; the rows are checked once for as long as they are used."""
        if self._solver is None or self._solver[0] is not gram:
            # Names of scores are read by many, the solver's compiled modules are wanted by few.
            from exml_sim.rejection.solve import BatchSolver

            self._solver = gram, BatchSolver(gram, y, self.theta, penalty=self.penalty, ball=self.ball)
        return self._solver[1].solve(weights, tol)


class BallScore:
    """The least mean surrogate loss over |h|, |g| <= Lambda, the empirical risk minimiser of the theory."""

    PENALISED: ClassVar[bool] = False
    TOLERANCES: ClassVar[Sequence[float]] = (1e-2, 1e-4, 1e-7, 1e-9)

    @staticmethod
    def score(terms: Terms, gram: FloatArray, y: NDArray[np.int64], counts: CountArray, tol: float) -> Certified:
        """Compute the minimum, with the dual value below it."""
        solution = terms.solve(gram, y, counts.astype(np.float64), tol)
        return solution.risk, solution.lower_bound, solution.objective


class ObjectiveScore:
    """The penalised minimum itself, divided by the number of rows if the loss is a sum.

    Its minimum over models, unlike that of "risk", is also the minimum that the deviation arguments of the theory need.
    """

    PENALISED: ClassVar[bool] = True
    TOLERANCES: ClassVar[Sequence[float]] = (5e-3, 5e-4, 1e-5, 1e-9)

    @staticmethod
    def score(terms: Terms, gram: FloatArray, y: NDArray[np.int64], counts: CountArray, tol: float) -> Certified:
        """Compute the objective, with the dual value below it."""
        solution, total = _solve_penalised(terms, gram, y, counts, tol)
        return solution.objective / total, solution.lower_bound / total, solution.objective / total


class RiskScore:
    """The mean surrogate loss (Eq. 5) at the minimiser of the penalised problem (Eq. 3)."""

    PENALISED: ClassVar[bool] = True
    # The certificate shrinks with the root of the gap only, so it starts tighter than the others.
    TOLERANCES: ClassVar[Sequence[float]] = (1e-7, 1e-9)

    @staticmethod
    def score(terms: Terms, gram: FloatArray, y: NDArray[np.int64], counts: CountArray, tol: float) -> Certified:
        """Compute the loss of the solver's model, with an interval for that of the exact minimiser."""
        solution, total = _solve_penalised(terms, gram, y, counts, tol)
        lower, upper = risk_interval(solution.risk, solution.objective, solution.lower_bound, total)
        return solution.risk, lower, upper


#: The scores by name.
SCORES: dict[str, Any] = {"ball": BallScore, "objective": ObjectiveScore, "risk": RiskScore}


def _solve_penalised(
    terms: Terms, gram: FloatArray, y: NDArray[np.int64], counts: CountArray, tol: float
) -> tuple[BatchSolution, FloatArray]:
    """Solve Eq. 3 on counts of rows; return the solutions and what their objectives are divided by."""
    total = counts.sum(axis=1, dtype=np.int64).astype(np.float64)
    if terms.loss == "mean":
        # Mean loss plus penalty is the weighted sum of losses with weights count / rows, plus penalty.
        weights, total = counts / total[:, None], np.ones_like(total)
    else:
        weights = counts.astype(np.float64)
    return terms.solve(gram, y, weights, tol), total


def risk_interval(
    risk: FloatArray, objective: FloatArray, lower_bound: FloatArray, total: FloatArray
) -> tuple[FloatArray, FloatArray]:
    """Bound the mean loss at the exact minimiser, given an approximate one.

    Let P = C_h |h|^2 + C_g |g|^2. The objective grows at least as P(f - f*) away from the minimiser f*, so
    the duality gap d bounds |sqrt P(f) - sqrt P(f*)| by sqrt d. The loss at f* is the optimum less P(f*),
    with the optimum between `lower_bound` and `objective`.
    """
    root = np.sqrt(np.maximum(objective - total * risk, 0.0))
    reach = np.sqrt(np.maximum(objective - lower_bound, 0.0))
    lower = (lower_bound - (root + reach) ** 2) / total
    upper = (objective - np.maximum(root - reach, 0.0) ** 2) / total
    return lower, upper


def penalised_scores() -> tuple[str, ...]:
    """List the scores that need a penalty."""
    return tuple(name for name, score in SCORES.items() if score.PENALISED)


@dataclass(frozen=True, slots=True)
class Scoring:
    """A score with its terms: the loss's theta, the hypothesis set, and which number of the solution is taken.

    Parameters
    ----------
    theta
        Rejection cost, in (0, 1/2).
    score
        "ball", "risk", "objective", or a loaded plug-in.
    ball
        Radius Lambda, for the score "ball" and others over a ball.
    penalty
        (C_h, C_g), for the scores "risk" and "objective" and others of the penalised problem.
    loss
        Whether the penalty is added to the sum or to the mean of the losses. As printed, Eq. 3 has the
        mean, and then rejects every row at C = 1; the sum is what gives the paper's numbers.
    """

    theta: float
    score: str | Plugin = "ball"
    ball: float | None = None
    penalty: tuple[float, float] | None = None
    loss: str = "sum"
    _plugin: Plugin | None = field(default=None, init=False, repr=False, compare=False)

    def __post_init__(self) -> None:
        if not _is_positive(self.theta) or not self.theta < 0.5:
            raise ValueError(f"theta must be in (0, 1/2), got {self.theta!r}")
        if isinstance(self.score, Plugin):
            object.__setattr__(self, "_plugin", self.score)
            object.__setattr__(self, "score", self.score.name)
        else:
            check_choice(self.score, "score", SCORES)
        check_choice(self.loss, "loss", LOSSES)
        if not self._score.PENALISED:
            if not _is_positive(self.ball) or self.penalty is not None:
                raise ValueError(
                    f"score {self.score!r} needs ball=Lambda > 0 and no penalty, "
                    f"got ball={self.ball}, penalty={self.penalty}"
                )
        elif self.ball is not None or not _is_pair(self.penalty):
            raise ValueError(
                f"score {self.score!r} needs penalty=(C_h, C_g), both > 0, and no ball, "
                f"got penalty={self.penalty}, ball={self.ball}"
            )

    @property
    def _score(self) -> Any:
        return SCORES[str(self.score)] if self._plugin is None else self._plugin.load()

    @property
    def tolerances(self) -> tuple[float, ...]:
        """Accuracies of the solver, loosest first."""
        return tuple(self._score.TOLERANCES)

    def levels(self, diagonal: FloatArray) -> int:
        """Count the accuracies: one where the surrogate is affine on the ball, kappa Lambda <= 1 - 2 theta.

        There V = 1 - (Lambda / 2) (|mean y Phi| + |mean Phi|), and the certificate covers rounding only.
        """
        kappa = float(np.sqrt(diagonal.max()))
        is_affine = self.ball is not None and kappa * self.ball <= 1.0 - 2.0 * self.theta
        return 1 if is_affine else len(self.tolerances)

    def terms(self) -> Terms:
        """Return what the score may read, for one matrix after another."""
        return Terms(self.theta, self.ball, self.penalty, self.loss)

    def of(
        self, gram: FloatArray, y: NDArray[np.int64], counts: CountArray, level: int, terms: Terms | None = None
    ) -> Certified:
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
            Accuracy, below `levels` of the matrix's diagonal.
        terms
            Those of an earlier call with the same rows, which are then not checked again.

        Returns
        -------
        Values, lower and upper ends of their certificates, each of shape (trials,).
        """
        terms = self.terms() if terms is None else terms
        if self._plugin is None:
            certified: Certified = self._score.score(terms, gram, y, counts, self.tolerances[level])
            return certified
        with guard_calls(self._plugin):
            return _check_certified(self._score.score(terms, gram, y, counts, self.tolerances[level]), len(counts))


def _check_certified(result: Any, lines: int) -> Certified:
    """Check that a plug-in returned three numbers per line with the value between the others."""
    value, lower, upper = (np.asarray(part, dtype=np.float64) for part in result)
    if not value.shape == lower.shape == upper.shape == (lines,):
        raise ValueError(f"a score must return value, lower and upper of shape ({lines},), got {value.shape}")
    if not ((lower <= value) & (value <= upper)).all():
        raise ValueError("a score must return lower <= value <= upper, all numbers")
    return value, lower, upper


def _is_positive(number: object) -> bool:
    return isinstance(number, int | float | np.number) and 0.0 < float(number) < np.inf


def _is_pair(penalty: object) -> bool:
    return isinstance(penalty, tuple | list) and len(penalty) == 2 and all(map(_is_positive, penalty))
