"""The bound ladder: the failure probability by the paper, by its correction and by our theorems."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from theory import corrected, paper, tighter
from theory._inputs import Bound, from_log
from theory._repairs import Rows
from theory._tails import Kernel, Pairing
from theory.constants import loss_range
from theory.errors import AssumptionError
from theory.paper import Strategy

__all__ = ["Rung", "ladder"]


@dataclass(frozen=True, slots=True)
class Rung:
    """One bound of the ladder.

    Attributes
    ----------
    name : str
        "paper", "corrected", "tighter, ...".
    log_value : float or array
        Natural logarithm of the bound; nan where its assumptions do not hold.
    note : str
        Why it is nan or not to be trusted, or the empty string.
    """

    name: str
    log_value: Bound
    note: str = ""

    @property
    def value(self) -> Bound:
        """The bound itself; it may exceed 1."""
        return from_log(np.asarray(self.log_value), log=False)

    @property
    def vacuous(self) -> bool | np.ndarray[tuple[int, ...], np.dtype[np.bool_]]:
        """Whether the bound says nothing: it is at least 1 or its assumptions do not hold."""
        says_nothing = ~(np.asarray(self.log_value) < 0)
        return bool(says_nothing) if says_nothing.ndim == 0 else says_nothing


def ladder(
    B: ArrayLike,
    K: ArrayLike,
    gap: ArrayLike | None,
    theta: ArrayLike,
    kappa_lambda: ArrayLike,
    *,
    strategy: Strategy = "uniform",
    gaps: ArrayLike | None = None,
    rows: Rows = "accumulated",
    pairing: Pairing = "same",
    kernel: Kernel = "any",
    population: ArrayLike | None = None,
) -> tuple[Rung, ...]:
    """Evaluate all bounds on the failure probability side by side, each below the one before.

    The rungs are: paper; corrected; tighter with the symmetrised optimism; tighter (Theorem 1); then,
    as far as they are given, tighter with per-arm gaps, with a nonnegative kernel, and without
    replacement. From "corrected" on they never rise. The paper's own rung is above "corrected" where
    its proof covers it: M <= 3, one best arm, and K a power of two for median elimination; its note
    says where it does not.

    Parameters
    ----------
    B, K, gap, theta, kappa_lambda, gaps
        As in :func:`theory.tighter.delta_fail_uniform`; with ``gaps`` the first rungs use the smallest
        positive one, and an arm with gap 0 counts as one more best arm.
    strategy : {"uniform", "median"}
        Which allocation rule.
    rows, pairing, kernel, population
        As in :mod:`theory.tighter`; ``rows`` concerns median elimination only.
    """
    if strategy not in ("uniform", "median"):
        raise ValueError(f'strategy must be "uniform" or "median", got {strategy!r}')
    uniform = strategy == "uniform"
    smallest, ties = _one_gap(gap, gaps)
    point: dict[str, Any] = {
        "B": B, "K": K, "gap": smallest, "theta": theta, "kappa_lambda": kappa_lambda
    }  # fmt: skip
    schedule: dict[str, Any] = {} if uniform else {"rows": rows}
    counted = {**point, **schedule, "best_count": ties}
    ours = {**counted, "pairing": pairing}
    best = tighter.delta_fail_uniform if uniform else tighter.delta_fail_median
    rungs = [
        _paper(paper.delta_fail_uniform if uniform else paper.delta_fail_median, point, strategy, ties),
        _rung("corrected", corrected.delta_fail_uniform if uniform else corrected.delta_fail_median, counted),
        _rung("tighter, symmetrised", best, {**ours, "optimism": "rademacher"}),
        _rung("tighter", best, ours),
    ]
    if gaps is not None:
        # The gaps themselves say which arms tie.
        ours = {**ours, "gap": None, "gaps": gaps, "best_count": 1}
        rungs.append(_rung("tighter, per-arm gaps", best, ours))
    if kernel == "nonnegative":
        ours = {**ours, "kernel": kernel}
        rungs.append(_rung("tighter, nonnegative kernel", best, ours))
    if population is not None:
        ours = {**ours, "population": population}
        rungs.append(_rung("tighter, without replacement", best, ours))
    return tuple(rungs)


def _one_gap(gap: ArrayLike | None, gaps: ArrayLike | None) -> tuple[ArrayLike, ArrayLike]:
    """The smallest positive gap and the number of best arms, for the bounds that know one gap only."""
    if gap is not None and gaps is None:
        return gap, 1
    if gaps is not None and gap is None:
        values = np.asarray(gaps, dtype=np.float64)
        if values.ndim and values.size and np.all(np.any(values > 0, axis=-1)):
            smallest = np.min(np.where(values > 0, values, np.inf), axis=-1)
            return np.asarray(smallest), np.asarray(1 + np.sum(values == 0, axis=-1))
        raise ValueError("gaps must hold K - 1 numbers, at least one of them positive")
    raise ValueError("give either gap (one number for all other arms) or gaps (one per other arm)")


def _paper(bound: Callable[..., Bound], point: dict[str, Any], strategy: Strategy, ties: ArrayLike) -> Rung:
    rung = _rung("paper", bound, point)
    theta = np.asarray(point["theta"], dtype=np.float64)
    if np.any((theta <= 0) | (theta >= 0.5)):
        return rung
    notes = [rung.note]
    widest = float(np.max(loss_range(theta, point["kappa_lambda"])))
    if widest > 3:
        notes.append(f"the paper's proof does not cover M > 3, and M = {widest:.4g} here")
    arms = np.asarray(point["K"]).astype(np.int64)
    uneven = (arms & (arms - 1)) != 0
    if strategy == "median" and np.any(uneven):
        notes.append(f"the paper's proof does not cover K = {arms[uneven].flat[0]}, which is not a power of two")
    if np.any(np.asarray(ties) > 1):
        notes.append(f"the paper's proof does not cover ties, and {np.max(ties)} arms are best here")
    return Rung(rung.name, rung.log_value, "; ".join(filter(None, notes)))


def _rung(name: str, bound: Callable[..., Bound], parameters: dict[str, Any]) -> Rung:
    value = bound(**parameters, strict=False, log=True)
    if not np.any(np.isnan(value)):
        return Rung(name, value)
    try:
        bound(**parameters)
    except AssumptionError as error:
        return Rung(name, value, str(error))
    return Rung(name, value)
