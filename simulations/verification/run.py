"""The whole verification: checks, trials, comparison, limits of the risk; claim by claim, stored as it goes."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from simulations.verification._cells import (
    COMPARED,
    EXCESS,
    PLANS,
    CellEvidence,
    ClaimPlan,
    Depth,
    list_tested_claims,
    make_cells,
)
from simulations.verification._claim_trials import RunContext, compare, judge_near_tight, make_context, run_claim
from simulations.verification._limit_trials import collect_limits
from theory.claims import Claim, Registry, read_own
from theory.claims.document import Checked
from theory.claims.document import run as run_checks

#: (claim, seed) -> evidence about a claim of another paper.
Test = Callable[[Claim, int], list[CellEvidence]]


@dataclass(frozen=True, slots=True)
class Result:
    """One claim, checked and, if it is about trials, tested: evidence of every cell.

    Attributes
    ----------
    checked : Checked
    evidence : tuple of CellEvidence
    must_refute : bool
        Whether the trials are on instances that were built against the printed statement.
    """

    checked: Checked
    evidence: tuple[CellEvidence, ...] = ()
    must_refute: bool = False

    @property
    def claim(self) -> Claim:
        """The claim."""
        return self.checked.claim

    @property
    def problems(self) -> list[str]:
        """Everything that is wrong, in words; empty if the claim came out as the registry records it."""
        problems = list(self.checked.problems)
        for cell in self.evidence:
            if cell.must_hold and cell.verdict.outcome == "refuted":
                problems.append(f"the {cell.reading} statement is refuted on {cell.pool} with budget {cell.budget}")
        refuted = any(cell.reading == "paper" and cell.verdict.outcome == "refuted" for cell in self.evidence)
        if self.must_refute and not refuted:
            problems.append("no trial contradicts the printed statement, which is recorded as wrong on these pools")
        return problems

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
    registry : Registry
        The claims of the paper.
    """

    depth: Depth
    seed: int
    results: tuple[Result, ...]
    registry: Registry = field(default_factory=read_own)

    @property
    def problems(self) -> list[tuple[str, str]]:
        """(claim, what is wrong) of every problem."""
        return [(result.claim.id, text) for result in self.results for text in result.problems]

    @property
    def monte_carlo(self) -> tuple[Result, ...]:
        """Results of the claims about trials."""
        return tuple(result for result in self.results if result.evidence)


def verify(
    ids: Sequence[str],
    depth: Depth,
    *,
    seed: int = 0,
    n_jobs: int = -1,
    store: Path | None = None,
    notify: Callable[[str], None] = lambda _: None,
    registry: Registry | None = None,
    test: Test | None = None,
    plans: Sequence[ClaimPlan] = PLANS,
) -> Verification:
    """Check and test claims; trials that a run with the same store has finished are not repeated.

    Parameters
    ----------
    ids : sequence of str
        Claims to verify, all without any.
    depth : Depth
        Amount of evidence.
    seed, n_jobs : int
        Root seed of all trials, and workers; the results do not depend on the workers.
    store : Path, optional
        Folder for finished work; in memory without one.
    notify : callable
        Called with a line about the current work.
    registry, test : optional
        The claims of another paper, and how they are tested beyond their checks.
    plans : sequence of ClaimPlan
        Trials of the claims of the project's paper.
    """
    registry = registry or read_own()
    wanted = {registry.get(id).id for id in ids}
    claims = [claim for claim in registry.claims.values() if not ids or claim.id in wanted]
    results, context = [], make_context(seed, n_jobs, store, notify)
    for number, claim in enumerate(claims, 1):
        notify(f"claim {number} of {len(claims)}: {claim.id}")
        checked = run_checks(claim)
        if test is not None:
            results.append(Result(checked, tuple(test(claim, seed))))
            continue
        evidence = collect_evidence(claim.id, depth, context, plans)
        refutes = claim.id == COMPARED or any(plan.refutes for plan in plans if plan.claim == claim.id)
        results.append(Result(checked, tuple(evidence), refutes and bool(evidence)))
    return Verification(depth, seed, tuple(results), registry)


def collect_evidence(claim: str, depth: Depth, context: RunContext, plans: Sequence[ClaimPlan]) -> list[CellEvidence]:
    """Run the trials of a claim of the project's paper; none for most claims."""
    if claim not in list_tested_claims():
        return []
    if claim == COMPARED:
        return compare(depth, context)
    if claim in EXCESS:
        return collect_limits(claim, depth, context)
    cells = [cell for plan in plans if plan.claim == claim for cell in make_cells(plan, depth)]
    return [*run_claim(cells, depth, context), *judge_near_tight(claim)]
