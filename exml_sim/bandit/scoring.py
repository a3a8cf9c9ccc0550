"""From bought rows to a certified score: which score, with which terms; the scores themselves are in `scores/`."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

from exml_sim.arrays import CountArray, FloatArray
from exml_sim.bandit.scores import Certified, Terms
from exml_sim.plugins import Plugin, guard_calls, modules
from exml_sim.validation import check_choice

#: Every score in the folder, by name.
SCORES: Mapping[str, Any] = {module.__name__.rpartition(".")[2]: module for module in modules("exml_sim.bandit.scores")}
LOSSES: Sequence[str] = ("sum", "mean")

# Values this close are equal when no certificate tells them apart; it is wider than the last accuracy.
RESOLUTION = 1e-8


def penalised_scores() -> tuple[str, ...]:
    """The scores that need a penalty."""
    return tuple(name for name, module in SCORES.items() if module.PENALISED)


@dataclass(frozen=True, slots=True)
class Scoring:
    """What a score is: the loss's theta, the hypothesis set, and which number of the solution is taken.

    Parameters
    ----------
    theta
        Rejection cost, in (0, 1/2).
    score
        The name of a file in `exml_sim.bandit.scores`: "ball", "risk" or "objective"; or a loaded plug-in.
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
        if not self._module.PENALISED:
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
    def _module(self) -> Any:
        return SCORES[str(self.score)] if self._plugin is None else self._plugin.load()

    @property
    def tolerances(self) -> tuple[float, ...]:
        """Accuracies of the solver, loosest first."""
        return tuple(self._module.TOLERANCES)

    def levels(self, diagonal: FloatArray) -> int:
        """Number of accuracies: one where the surrogate is affine on the ball, kappa Lambda <= 1 - 2 theta.

        There V = 1 - (Lambda / 2) (|mean y Phi| + |mean Phi|), and the certificate covers rounding only.
        """
        kappa = float(np.sqrt(diagonal.max()))
        affine = self.ball is not None and kappa * self.ball <= 1.0 - 2.0 * self.theta
        return 1 if affine else len(self.tolerances)

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
            Accuracy, below `levels` of the matrix's diagonal.

        Returns
        -------
        Values, lower and upper ends of their certificates, each of shape (trials,).
        """
        terms = Terms(self.theta, self.ball, self.penalty, self.loss)
        if self._plugin is None:
            certified: Certified = self._module.score(terms, gram, y, counts, self.tolerances[level])
            return certified
        with guard_calls(self._plugin):
            return _certified(self._module.score(terms, gram, y, counts, self.tolerances[level]), len(counts))


def _certified(found: Any, lines: int) -> Certified:
    """What a plug-in returned, if it is three numbers per line with the value between the others."""
    value, lower, upper = (np.asarray(part, dtype=np.float64) for part in found)
    if not value.shape == lower.shape == upper.shape == (lines,):
        raise ValueError(f"a score must return value, lower and upper of shape ({lines},), got {value.shape}")
    if not ((lower <= value) & (value <= upper)).all():
        raise ValueError("a score must return lower <= value <= upper, all numbers")
    return value, lower, upper


def _is_positive(number: object) -> bool:
    return isinstance(number, int | float | np.number) and 0.0 < float(number) < np.inf


def _is_pair(penalty: object) -> bool:
    return isinstance(penalty, tuple | list) and len(penalty) == 2 and all(map(_is_positive, penalty))
