"""Is it the claim that was proved? The sides and regions of a proof held against the ledger's own functions.

A part that ``reads`` the claim must have the ledger's sides at the ledger's cases, and every case must lie in the
region of such a part. Where a proof is a chain of parts, none of which is the statement itself, the proof writes the
sides of the statement down once more. A few have neither (they are about pools, or about all laws): see `bridged`.
"""

from __future__ import annotations

import math
from typing import Any

from theory.claims import Claim, Reading
from theory.proofs.balls import Balls, ball, digits
from theory.proofs.statement import Cell, Orthant, Part, Proof, Side

__all__ = ["bridged", "mismatch", "within"]

RELATIVE, ABSOLUTE = 1e-9, 1e-12
_BITS = 160


def bridged(proof: Proof) -> bool:
    """Whether some part is the statement itself, or the proof writes its sides down."""
    return proof.sides is not None or any(part.reads for part in proof.parts)


def mismatch(claim: Claim, proof: Proof) -> str:
    """The first case at which the proof is not about the claim, in words; empty if there is none."""
    reading = claim.repaired if proof.corrected else claim.reading
    if reading is None:
        return f"{claim.id} has no corrected statement"
    reads = [part for part in proof.parts if part.reads]
    if not bridged(proof):
        return ""
    with digits(_BITS):
        for case in claim.cases:
            parameters = _exact(proof.adapt(**case))
            parts = [part for part in reads if within(part, parameters)]
            if reads and not parts:
                return f"the case {case} lies in no region of the proof"
            ledger = reading.left(**case), reading.right(**case)
            pairs = [(part.reads, part.left, part.right) for part in parts]
            if proof.sides is not None:
                pairs.append(("both", *proof.sides))
            for which, left, right in pairs:
                if _both_silent(reading, right, parameters, ledger[1]):
                    continue
                words = _difference(which, (left, right), parameters, ledger)
                if words:
                    return f"at {case} {words}"
    return ""


def _both_silent(reading: Reading, right: Side, parameters: dict[str, Any], other: Any) -> bool:
    """Both say that the bound excludes nothing; how far above 1 it is, floats cannot tell at the launch budget."""
    return reading.says_nothing(other) and reading.says_nothing(ball(right(Balls(), **parameters)))


def _exact(parameters: dict[str, Any]) -> dict[str, Any]:
    return {name: value if name == "y" else ball(value) for name, value in parameters.items() if _number(value)}


def _number(value: Any) -> bool:
    return not isinstance(value, str | tuple)


def within(part: Part, parameters: dict[str, Any]) -> bool:
    """Whether the region of the part holds the point; a region without coordinates is the whole space."""
    region = part.region
    if isinstance(region, Cell):
        return all(ball(low) <= parameters[name] <= ball(high) for name, low, high in region.sides)
    if not isinstance(region, Orthant) or region.coordinates is None:
        return True
    found = region.coordinates(Balls(), **parameters)
    free, closed = region.free, region.closed
    return all(
        name in free or not (ball(value) < 0 if name in closed or name not in region.variables else ball(value) <= 0)
        for name, value in found.items()
    )


def _difference(which: str, sides: tuple[Side, Side], parameters: dict[str, Any], ledger: tuple[Any, Any]) -> str:
    m = Balls()
    for name, side, other in zip(("left", "right"), sides, ledger, strict=True):
        if which not in (name, "both"):
            continue
        value = side(m, **parameters)
        mine = float(ball(m.max(*value) if isinstance(value, tuple) else value).mid())
        if not math.isclose(mine, float(other), rel_tol=RELATIVE, abs_tol=ABSOLUTE):
            return f"the {name} side is {mine:.12g}, in the ledger {float(other):.12g}"
    return ""
