"""Errors for points outside a statement's assumptions: which one is broken, and by how much."""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from theory._inputs import Flags, Floats

__all__ = ["AssumptionError", "Assumptions"]


class AssumptionError(ValueError):
    """A bound was evaluated where its statement does not apply.

    Parameters
    ----------
    assumption : str
        The assumption in words, e.g. ``"theta < 1/2"``.
    missed_by : float
        How far the worst of the given points is from satisfying it (never negative; 0 means that
        a strict inequality holds with equality only).
    given : str
        The values at that point, for the message.
    """

    def __init__(self, assumption: str, missed_by: float, given: str = "") -> None:
        self.assumption = assumption
        # Adding zero turns -0.0 into 0.0.
        self.missed_by = float(missed_by) + 0.0
        self.given = given
        where = f" at {given}" if given else ""
        missed = f"; missed by {self.missed_by:.6g}" if self.missed_by > 0.0 else " (equality is not enough)"
        super().__init__(f"assumption not met: {assumption}{missed}{where}")

    def __reduce__(self) -> tuple[type[AssumptionError], tuple[str, float, str]]:
        # The default would rebuild the error from its message alone, which a process pool must not do.
        return (AssumptionError, (self.assumption, self.missed_by, self.given))


def shown(value: float | np.generic) -> str:
    """Format a number in few digits, but never as another one: 0.4999999 is not 0.5."""
    text = f"{value:.6g}"
    return text if float(text) == value else str(np.asarray(value).item())


@dataclass(slots=True)
class Assumptions:
    """Collect, element by element, which assumptions hold.

    With ``strict`` the first broken assumption raises; without it the broken elements are
    remembered and become ``nan`` in :meth:`mask`.
    """

    strict: bool
    point: dict[str, NDArray[np.generic]] = field(default_factory=dict)
    broken: Flags = field(default_factory=lambda: np.zeros((), dtype=bool))

    def require(self, assumption: str, margin: NDArray[np.generic], *, strictly: bool = True) -> None:
        """Require ``margin > 0`` (or ``margin >= 0`` when not ``strictly``) at every element."""
        values = np.asarray(margin, dtype=np.float64)
        # nan compares false, so an undefined margin counts as broken.
        holds = values > 0 if strictly else values >= 0
        if np.all(holds):
            return
        failed = ~holds
        if self.strict:
            shortfall = np.where(failed, np.where(np.isnan(values), np.inf, -values), -np.inf)
            worst = int(np.argmax(shortfall))
            raise AssumptionError(assumption, max(float(shortfall.flat[worst]), 0.0), self._at(worst, values.shape))
        self.broken = self.broken | failed

    def mask(self, values: Floats) -> Floats:
        """Return ``values`` with ``nan`` wherever an assumption was broken."""
        if not np.any(self.broken):
            return values
        masked: Floats = np.where(self.broken, np.nan, values)
        return masked

    def _at(self, index: int, shape: tuple[int, ...]) -> str:
        parts = []
        for name, values in self.point.items():
            try:
                value = np.broadcast_to(values, shape).flat[index]
            except ValueError:
                continue
            parts.append(f"{name}={shown(value)}")
        return ", ".join(parts)
