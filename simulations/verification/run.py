"""The whole verification: checks, trials, comparison, excess risk; claim by claim, stored as it goes."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass, field
from fractions import Fraction
from pathlib import Path
from typing import Any

from simulations._cache import Cache
from simulations.verification import _coverage as coverage
from simulations.verification import _excess_risk as excess_risk
from simulations.verification import _near_tight as near_tight
from simulations.verification._cells import CellEvidence, make_cells
from simulations.verification._claim_trials import RunContext, compare, open_context, run_claim
from simulations.verification._excess_risk import RandomInstanceTrials
from simulations.verification._plans import COMPARED, EXCESS, PLANS, Depth, list_tested_claims
from theory.claims import Claim, Reading, all_claims, get
from theory.verdicts import Verdict


@dataclass(frozen=True, slots=True)
class ClaimCheck:
    """Outcome of one version of a claim on its instances.

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

    printed: ClaimCheck
    corrected: ClaimCheck | None
    mutant: ClaimCheck | None

    @classmethod
    def of(cls, table: Mapping[str, Any]) -> Checks:
        """Build from the dictionary of `asdict`."""
        parts = {name: None if check is None else ClaimCheck(**check) for name, check in table.items()}
        return cls(**parts)  # type: ignore[arg-type]

    def problems(self, claim: Claim) -> list[str]:
        """Return what differs from the registry, in words; empty if nothing does."""
        problems = []
        if self.printed.outcome != claim.expected:
            problems.append(f"its check says {self.printed.outcome}, where {claim.expected} is recorded")
        if self.corrected is not None and self.corrected.outcome != "consistent":
            problems.append(f"the check of the corrected statement says {self.corrected.outcome}")
        if self.mutant is not None and self.mutant.outcome != "refuted":
            problems.append(f"the check lets its planted error pass ({self.mutant.outcome})")
        return problems


def run_checks(claim: Claim, cache: Cache) -> Checks:
    """Run the checks of a claim, or read them if the same source has run them before."""
    return Checks.of(cache.run(f"check {claim.id}", _check_claim, claim))


def _check_claim(claim: Claim) -> dict[str, Any]:
    checks = Checks(
        _check(claim.reading, claim.check()),
        None if claim.repaired is None else _check(claim.repaired, claim.check_corrected()),
        None if claim.mutant is None else _check(claim.mutant, claim.check_mutant()),
    )
    return asdict(checks)


def _check(reading: Reading, verdict: Verdict) -> ClaimCheck:
    return ClaimCheck(verdict.outcome, verdict.sentence, margin(reading, verdict))


def margin(reading: Reading, verdict: Verdict) -> float | None:
    """Return log10(right / left) of the instance that the verdict quotes, with the sides swapped for ">" and ">="."""
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


@dataclass(frozen=True, slots=True)
class Result:
    """One claim, checked and, if it is about trials, tested.

    Attributes
    ----------
    claim : Claim
    checks : Checks
    evidence : tuple of CellEvidence
        One per cell; empty for claims that are not about trials.
    """

    claim: Claim
    checks: Checks
    evidence: tuple[CellEvidence, ...] = ()

    @property
    def problems(self) -> list[str]:
        """Everything that is wrong, in words; empty if the claim came out as the registry records it."""
        problems = self.checks.problems(self.claim)
        for cell in self.evidence:
            if cell.must_hold and cell.verdict.outcome == "refuted":
                problems.append(f"the {cell.reading} statement is refuted on {cell.pool} with budget {cell.budget}")
        refuted = any(cell.reading == "paper" and cell.verdict.outcome == "refuted" for cell in self.evidence)
        if self.must_refute and not refuted:
            problems.append("no trial contradicts the printed statement, which is recorded as wrong on these pools")
        return problems

    @property
    def must_refute(self) -> bool:
        """Whether the trials are on instances that were built against the printed statement."""
        if not self.evidence:
            return False
        return self.claim.id == COMPARED or any(plan.refutes for plan in PLANS if plan.claim == self.claim.id)

    @property
    def decided(self) -> bool:
        """Whether trials decided every cell with a guarantee (and there is one)."""
        informative = [cell for cell in self.evidence if cell.informative]
        return bool(informative) and all(cell.decided for cell in informative)

    @property
    def has_guarantee(self) -> bool:
        """Whether the claim guarantees anything about the trials, decided or not."""
        return any(cell.informative for cell in self.evidence)

    @property
    def is_undecided(self) -> bool:
        """Whether the claim was tested and no cell that must hold (or, without such cells, no cell) is decided."""
        cells = [cell for cell in self.evidence if cell.must_hold] or list(self.evidence)
        return bool(cells) and not any(cell.informative and cell.decided for cell in cells)


@dataclass(frozen=True, slots=True)
class Verification:
    """Results of one verification.

    Attributes
    ----------
    depth : Depth
    seed : int
    results : tuple of Result
        In the order of the paper.
    excess : dict
        Trials with random instances by claim, for the figure.
    coverage : tuple of CellEvidence
        How often statements about selections were wrong.
    """

    depth: Depth
    seed: int
    results: tuple[Result, ...]
    excess: dict[str, tuple[RandomInstanceTrials, ...]] = field(default_factory=dict)
    coverage: tuple[CellEvidence, ...] = ()

    @property
    def problems(self) -> list[tuple[str, str]]:
        """(claim, what is wrong) of every problem."""
        wrong = [cell for cell in self.coverage if cell.must_hold and cell.verdict.outcome == "refuted"]
        statements = [(cell.claim, f"its statement is wrong too often on {cell.pool}") for cell in wrong]
        return [(result.claim.id, text) for result in self.results for text in result.problems] + statements

    @property
    def monte_carlo(self) -> tuple[Result, ...]:
        """Results of the claims about trials."""
        return tuple(result for result in self.results if result.evidence)

    @property
    def decided_share(self) -> float:
        """Share of those that trials decided at the violation factor 2; 1 if there are none."""
        decided = [result.decided for result in self.monte_carlo]
        return sum(decided) / len(decided) if decided else 1.0


def select_claims(ids: Sequence[str]) -> list[Claim]:
    """Return the claims of some ids in the order of the paper; all claims without ids. "coverage" is no claim."""
    wanted = {get(id).id for id in ids if id != coverage.NAME}
    return [claim for claim in all_claims() if not ids or claim.id in wanted]


def verify(
    claims: Iterable[Claim],
    depth: Depth,
    *,
    seed: int = 0,
    n_jobs: int = -1,
    store: Path | None = None,
    statements: bool = False,
    notify: Callable[[str], None] = lambda _: None,
) -> Verification:
    """Check and test claims; work that a run with the same store has finished is not repeated.

    Parameters
    ----------
    claims
        Claims to verify.
    depth
        Amount of evidence.
    seed, n_jobs
        Root seed of all trials, and workers; the results do not depend on the workers.
    store
        Folder for finished work; in memory without one.
    statements
        Whether statements about selections are tested, too.
    notify
        Called with a line about the current work.
    """
    claims = list(claims)
    results, excess = [], {}
    with open_context(seed, n_jobs, store, notify) as context:
        for number, claim in enumerate(claims, 1):
            notify(f"claim {number} of {len(claims)}: {claim.id}")
            checks = run_checks(claim, context.cache)
            evidence, instances = _test(claim.id, depth, context)
            results.append(Result(claim, checks, tuple(evidence)))
            if instances:
                excess[claim.id] = instances
        covered = tuple(coverage.collect_evidence(depth, context)) if statements else ()
    return Verification(depth, seed, tuple(results), excess, covered)


def _test(claim: str, depth: Depth, context: RunContext) -> tuple[list[CellEvidence], tuple[RandomInstanceTrials, ...]]:
    if claim not in list_tested_claims():
        return [], ()
    if claim == COMPARED:
        return compare(depth, context), ()
    if claim in EXCESS:
        instances = tuple(excess_risk.run_all(claim, depth, context))
        counted = excess_risk.collect_limits(claim, depth, context)
        return [*excess_risk.collect_evidence(claim, instances, depth), *counted], instances
    cells = [cell for plan in PLANS if plan.claim == claim for cell in make_cells(plan, depth)]
    return [*run_claim(cells, depth, context), *near_tight.collect_evidence(claim)], ()
