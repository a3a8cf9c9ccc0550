"""The statements that the kernel derives, room by room."""

from __future__ import annotations

from theory.proofs.derivation import Derivation
from theory.proofs.derived import (
    allocations,
    exponents,
    failures,
    launch_budget,
    lists,
    minimisers,
    objective,
    rademacher,
    series,
)

__all__ = ["DERIVATIONS"]

_ROOMS = (objective, lists, allocations, launch_budget, exponents, failures, series, minimisers, rademacher)
DERIVATIONS: tuple[Derivation, ...] = tuple(one for room in _ROOMS for one in room.DERIVATIONS)
