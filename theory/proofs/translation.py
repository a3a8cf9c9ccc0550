"""Translations of the ledger's cases, watched: none may compute what it is to prove.

`reads` of a derivation and `adapt` of a proof turn a case into the variables of a theorem. One that evaluates a side of
the statement could hand it over as a variable, and l <= l + d with d >= 0 would prove every inequality. So the ledger's
own functions must not run while a case is translated. A side that somebody writes down again is not seen by this.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Mapping
from types import FrameType
from typing import Any, TypeVar

from theory.claims import Reading
from theory.proofs.kernel.language import Refused

__all__ = ["translated"]

T = TypeVar("T")


def translated(reading: Reading, translate: Callable[..., T], case: Mapping[str, Any]) -> T:
    """The case as variables; refused if a side of the statement was evaluated on the way."""
    sides = {code for side in (reading.left, reading.right) if (code := getattr(side, "__code__", None))}
    seen = False

    def watch(frame: FrameType, event: str, argument: object) -> None:
        nonlocal seen
        seen = seen or (event == "call" and frame.f_code in sides)

    before = sys.getprofile()
    sys.setprofile(watch)
    try:
        found = translate(**case)
    finally:
        sys.setprofile(before)
    if seen:
        raise Refused("the translation of a case evaluates a side of the statement")
    return found
