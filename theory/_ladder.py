"""One rung of the ladder of bounds: a value, and why it is nan or not to be trusted."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from theory._inputs import Bound, Flags, from_log
from theory.errors import AssumptionError

__all__ = ["Rung", "rung"]


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
    def vacuous(self) -> bool | Flags:
        """Whether the bound says nothing: it is at least 1 or its assumptions do not hold."""
        says_nothing = ~(np.asarray(self.log_value) < 0)
        return bool(says_nothing) if says_nothing.ndim == 0 else says_nothing


def rung(name: str, bound: Callable[..., Bound], B: ArrayLike, arguments: dict[str, Any], note: str = "") -> Rung:
    """Evaluate a bound; where it says nothing, the note says which assumption it misses."""
    value, missed = bound(B, **arguments, strict=False, log=True), ""
    if np.any(np.isnan(value)):
        try:
            bound(B, **arguments)
        except AssumptionError as error:
            missed = str(error)
    return Rung(name, value, "; ".join(filter(None, (missed, note))))
