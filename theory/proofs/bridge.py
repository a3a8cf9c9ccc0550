"""Is it the claim that was proved? The relation, sides and region of a part held against the ledger's own functions.

A part that ``reads`` both sides IS the statement if its relation implies the ledger's, its sides are those of the
ledger at its cases, and every case lies in the region of such a part: its coordinates have the right signs, and the
point at these coordinates is the case again. Every other proof has a loose end (`loose_end`), which is tied on paper.
A proof that says something else than the ledger does not match at all (`mismatch`).
"""

from __future__ import annotations

import math
from typing import Any

from theory.claims import Claim, Reading
from theory.proofs.balls import Balls, ball, digits
from theory.proofs.kernel.language import Refused
from theory.proofs.statement import Cell, Orthant, Part, Proof, Side
from theory.proofs.translation import translated

__all__ = ["bridged", "loose_end", "mismatch", "within"]

RELATIVE, ABSOLUTE = 1e-9, 1e-12
_BITS = 160
#: Which relations of a part give the ledger's.
IMPLIED_BY = {"==": ("==",), "<=": ("<=", "<", "=="), "<": ("<",), ">=": (">=", ">", "=="), ">": (">",)}


def bridged(proof: Proof) -> bool:
    """Whether some part is the statement itself, or the proof writes its sides down."""
    return proof.sides is not None or any(part.reads for part in proof.parts)


def loose_end(claim: Claim, proof: Proof) -> str:
    """What joins the parts to the statement on paper, in words; empty if a part is the statement itself."""
    reading = claim.repaired if proof.corrected else claim.reading
    whole = [part for part in proof.parts if part.reads == "both"]
    if proof.takes:
        return proof.takes
    if proof.says == "vacuous":
        return "that the parts leave the bound empty"
    if reading is None or not whole:
        return "the argument from the parts to the statement"
    other = [part.relation for part in whole if part.relation not in IMPLIED_BY[reading.relation]]
    if other:
        return f"a part proves {other[0]} where the statement says {reading.relation}"
    with digits(_BITS):
        for case in claim.cases:
            try:
                parameters = _exact(translated(reading, proof.adapt, case))
            except Refused as refusal:
                return str(refusal)
            reasons = [_outside(part, parameters) for part in whole]
            if all(reasons):
                return f"at {case} {reasons[0]}"
    return ""


def _outside(part: Part, parameters: dict[str, Any]) -> str:
    """Why the region is not seen to hold the point; empty if it is."""
    region = part.region
    if not within(part, parameters):
        return "the case is outside the region"
    if isinstance(region, Cell):
        return "a box holds its case, and nothing says that boxes hold what lies between the cases"
    found = _coordinates(region, parameters)
    if found is None:
        return "the region has no coordinates"
    m = Balls()
    again = region.point(m, **{name: ball(found[name]) for name in region.variables})
    for name, value in again.items():
        if name not in parameters or not _same(value, parameters[name]):
            return f"point and coordinates are not inverse in {name}"
    return ""


def _coordinates(region: Orthant, parameters: dict[str, Any]) -> dict[str, Any] | None:
    """The variables at the point, or None if the region does not say."""
    if region.coordinates is not None:
        return dict(region.coordinates(Balls(), **parameters))
    if region.plain and all(name in parameters for name in region.variables):
        return {name: parameters[name] for name in region.variables}
    return None


def _same(value: Any, other: Any) -> bool:
    mine, theirs = float(ball(value).mid()), float(ball(other).mid())
    return math.isclose(mine, theirs, rel_tol=RELATIVE, abs_tol=ABSOLUTE)


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
            try:
                parameters = _exact(translated(reading, proof.adapt, case))
            except Refused as refusal:
                return str(refusal)
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
    """Whether the signs of the coordinates put the point into the region; without any, nothing speaks against it."""
    region = part.region
    if isinstance(region, Cell):
        return all(ball(low) <= parameters[name] <= ball(high) for name, low, high in region.sides)
    found = _coordinates(region, parameters)
    if found is None:
        return True
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
