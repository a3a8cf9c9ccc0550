"""Run the checks of claims, compare them with the record, and count verdicts, errata and grades."""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

from theory.claims.claim import PRINTED, Claim, Matters
from theory.evidence.grades import Grade, Graded, grade
from theory.verdicts import Verdict

SETTING = (
    "Statements proved in Coq are about this setting: 0 < theta < 1/2, kappa*Lambda > 0, 0 < delta < 1, "
    "labels +1 or -1, positive semidefinite kernels with K(x, x) <= kappa^2, distributions with finite support, "
    "and i.i.d. rows of every feature."
)

MATTERS: dict[Matters, str] = {
    "harmless": "harmless",
    "constant": "change a constant",
    "conclusion": "change the conclusion",
}


@dataclass(frozen=True, slots=True)
class Checked:
    """One claim with the outcome of its checks."""

    claim: Claim
    verdict: Verdict
    corrected: Verdict | None
    mutant: Verdict | None
    seconds: float
    graded: Graded

    @property
    def problems(self) -> list[str]:
        """Return what differs from the record, in words; empty if nothing does."""
        problems = []
        if self.verdict.outcome != self.claim.expected:
            problems.append(f"its check says {self.verdict.outcome}, where {self.claim.expected} is recorded")
        if self.corrected is not None and self.corrected.outcome != "consistent":
            problems.append(f"the check of the corrected statement says {self.corrected.outcome}")
        if self.mutant is not None and self.mutant.outcome != "refuted":
            problems.append(f"the check lets its planted error pass ({self.mutant.outcome})")
        return problems

    @property
    def as_recorded(self) -> bool:
        """Return whether every check came out as the record says."""
        return not self.problems


def run(claim: Claim) -> Checked:
    """Run all checks of one claim."""
    start = time.perf_counter()
    verdict = claim.check()
    corrected = claim.check_corrected() if claim.repaired is not None else None
    mutant = claim.check_mutant() if claim.mutant is not None else None
    seconds = time.perf_counter() - start
    return Checked(claim, verdict, corrected, mutant, seconds, grade(claim, verdict, corrected))


def summary(claims: Iterable[Claim]) -> str:
    """Count the verdicts in one line; what the paper states and what we infer apart."""
    claims, parts = list(claims), []
    for inferred, words in ((False, "stated in the paper"), (True, "inferred from it")):
        printed = [claim.printed for claim in claims if claim.inferred == inferred]
        if printed:
            parts.append(f"{len(printed)} {words} ({_count(printed, PRINTED)})")
    return " and ".join(parts)


def count_errata(claims: Iterable[Claim]) -> str:
    """Count the errata behind the statements that do not hold as printed, and what they change, in one line."""
    failing = [claim for claim in claims if claim.matters is not None]
    errata = {erratum for claim in failing for erratum in claim.errata}
    counts = Counter(claim.matters for claim in failing)
    changes = ", ".join(f"{counts[name]} {words}" for name, words in MATTERS.items() if counts[name])
    if not failing:
        return "all statements hold as printed"
    statements = "1 statement that does" if len(failing) == 1 else f"{len(failing)} statements that do"
    shown = f"show{'s' if len(failing) == 1 else ''} {len(errata)} {'erratum' if len(errata) == 1 else 'errata'}"
    return f"{statements} not hold as printed {shown} ({changes})"


def grades(graded: Iterable[Graded]) -> str:
    """Count the grades of the printed and of the corrected statements, in one line."""
    graded = list(graded)
    printed = _count((entry.grade for entry in graded), Grade)
    corrected = _count((entry.corrected for entry in graded), Grade)
    return f"as printed {printed}" + (f"; corrected {corrected}" if corrected else "")


def _count(values: Iterable[Any], order: Iterable[str]) -> str:
    counts = Counter(values)
    return ", ".join(f"{counts[name]} {name}" for name in order if counts[name])


def explain_no_mutant(claim: Claim) -> str:
    """Say why a claim has no planted error: what else shows that its check can fail."""
    if claim.expected == "refuted":
        return "none; the check refutes the printed statement, so it can fail."
    if claim.expected == "vacuous" and claim.repaired is not None:
        return "none; the check finds the printed statement empty and the corrected one not."
    return "none; nothing shows that the check can fail."
