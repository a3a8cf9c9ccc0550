"""The deterministic side: run a claim's checks and keep what they said as plain values."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import asdict, dataclass
from fractions import Fraction
from typing import Any

from simulations.cache import Cache
from theory.claims import Claim, Reading
from theory.verdicts import Verdict


@dataclass(frozen=True, slots=True)
class Check:
    """What one reading of a claim came to on its instances.

    Attributes
    ----------
    outcome, sentence
        As in `theory.verdicts.Verdict`.
    margin : float, optional
        log10 of how far the closest instance is from a violation: positive for room to spare, negative for a
        violation, 0 for equality. None where the two sides are not numbers that can be divided.
    """

    outcome: str
    sentence: str
    margin: float | None


@dataclass(frozen=True, slots=True)
class Checks:
    """All checks of one claim: as printed, corrected, and with a planted error."""

    printed: Check
    corrected: Check | None
    mutant: Check | None

    def plain(self) -> dict[str, Any]:
        """As values that JSON has."""
        return asdict(self)

    @classmethod
    def of(cls, table: Mapping[str, Any]) -> Checks:
        """Read `plain` back."""
        parts = {name: None if one is None else Check(**one) for name, one in table.items()}
        return cls(**parts)  # type: ignore[arg-type]

    def problems(self, claim: Claim) -> list[str]:
        """What differs from the ledger's record, in words; empty if nothing does."""
        found = []
        if self.printed.outcome != claim.expected:
            found.append(f"its check says {self.printed.outcome}, where {claim.expected} is recorded")
        if self.corrected is not None and self.corrected.outcome != "consistent":
            found.append(f"the check of the corrected statement says {self.corrected.outcome}")
        if self.mutant is not None and self.mutant.outcome != "refuted":
            found.append(f"the check lets its planted error pass ({self.mutant.outcome})")
        return found


def run_checks(claim: Claim, cache: Cache) -> Checks:
    """Run the checks of a claim, or read them if the same source has run them before."""
    (found,) = cache.map(_checked, {f"check {claim.id}": claim})
    return Checks.of(found)


def _checked(claim: Claim) -> dict[str, Any]:
    return Checks(
        _check(claim.reading, claim.check()),
        None if claim.repaired is None else _check(claim.repaired, claim.check_corrected()),
        None if claim.mutant is None else _check(claim.mutant, claim.check_mutant()),
    ).plain()


def _check(reading: Reading, verdict: Verdict) -> Check:
    return Check(verdict.outcome, verdict.sentence, margin(reading, verdict))


def margin(reading: Reading, verdict: Verdict) -> float | None:
    """log10(right / left) of the instance that the verdict quotes, with the sides swapped for ">" and ">="."""
    numbers = dict(verdict.evidence)
    sides = [numbers.get("left"), numbers.get("right")]
    if reading.relation == "==" or not all(_is_number(side) for side in sides):
        return None
    left, right = (float(side) for side in sides)  # type: ignore[arg-type]
    if reading.relation in (">", ">="):
        left, right = right, left
    if reading.log:
        return (right - left) / math.log(10)
    return math.log10(right / left) if left > 0 and right > 0 else None


def _is_number(value: Any) -> bool:
    return isinstance(value, int | float | Fraction) and not isinstance(value, bool) and math.isfinite(value)
