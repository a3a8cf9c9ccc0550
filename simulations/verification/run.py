"""The whole verification: checks, trials, comparison, excess risk; claim by claim, kept as it goes."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from simulations.verification import comparison, coverage, excess_risk, near_tight
from simulations.verification.checks import Checks, run_checks
from simulations.verification.depths import Depth
from simulations.verification.excess_risk import RedrawnTrials
from simulations.verification.plans import COMPARED, EXCESS, PLANS, tried
from simulations.verification.probes import Evidence, probes
from simulations.verification.trials import run_claim
from simulations.verification.workbench import Workbench, workbench
from theory.claims import Claim, all_claims, get


@dataclass(frozen=True, slots=True)
class Result:
    """One claim, checked and, if it is about trials, tried.

    Attributes
    ----------
    claim : Claim
    checks : Checks
    findings : tuple of Evidence
        One per cell; empty for claims that are not about trials.
    """

    claim: Claim
    checks: Checks
    findings: tuple[Evidence, ...] = ()

    @property
    def problems(self) -> list[str]:
        """Everything that is wrong, in words; empty if the claim came out as the ledger records it."""
        found = self.checks.problems(self.claim)
        for one in self.findings:
            if one.must_hold and one.verdict.outcome == "refuted":
                found.append(f"the {one.reading} statement is refuted on {one.pool} with budget {one.budget}")
        if self.must_refute and not any(_refutes(one) for one in self.findings):
            found.append("no trial contradicts the printed statement, which is recorded as wrong on these pools")
        return found

    @property
    def must_refute(self) -> bool:
        """Whether the trials are on instances that were built against the printed statement."""
        if not self.findings:
            return False
        return self.claim.id == COMPARED or any(plan.refutes for plan in PLANS if plan.claim == self.claim.id)

    @property
    def decided(self) -> bool:
        """Whether trials decided every cell in which the claim says something (and there is one)."""
        informative = [one for one in self.findings if one.informative]
        return bool(informative) and all(one.decided for one in informative)

    @property
    def held(self) -> bool:
        """Whether there is evidence for or against anything the claim says about trials, decided or not."""
        return any(one.informative for one in self.findings)

    @property
    def silent(self) -> bool:
        """Whether the claim was tried and no cell that must hold (or, without such cells, no cell) is decided."""
        asked = [one for one in self.findings if one.must_hold] or list(self.findings)
        return bool(asked) and not any(one.informative and one.decided for one in asked)


def _refutes(one: Evidence) -> bool:
    return one.reading == "paper" and one.verdict.outcome == "refuted"


@dataclass(frozen=True, slots=True)
class Verification:
    """Everything that one run of the verification found.

    Attributes
    ----------
    depth : Depth
    seed : int
    results : tuple of Result
        In the order of the paper.
    excess : dict
        Trials with redrawn populations by claim, for the picture.
    coverage : tuple of Evidence
        How often statements about selections were wrong.
    """

    depth: Depth
    seed: int
    results: tuple[Result, ...]
    excess: dict[str, tuple[RedrawnTrials, ...]] = field(default_factory=dict)
    coverage: tuple[Evidence, ...] = ()

    @property
    def problems(self) -> list[tuple[str, str]]:
        """(claim, what is wrong) of every problem."""
        wrong = [one for one in self.coverage if one.must_hold and one.verdict.outcome == "refuted"]
        said = [(one.claim, f"its statement is wrong too often on {one.pool}") for one in wrong]
        return [(one.claim.id, text) for one in self.results for text in one.problems] + said

    @property
    def monte_carlo(self) -> tuple[Result, ...]:
        """The claims about trials; what was promised in their cells may be nothing (see `Result.held`)."""
        return tuple(one for one in self.results if one.findings)

    @property
    def decided_share(self) -> float:
        """Share of those that trials decided at the violation factor 2; 1 if there are none."""
        return sum(one.decided for one in self.monte_carlo) / max(1, len(self.monte_carlo)) if self.monte_carlo else 1.0


def chosen(ids: Sequence[str]) -> list[Claim]:
    """The claims of some ids in the order of the paper; all claims without any; "coverage" is none of them."""
    wanted = {get(one).id for one in ids if one != coverage.NAME}
    return [claim for claim in all_claims() if not ids or claim.id in wanted]


def verify(
    claims: Iterable[Claim],
    depth: Depth,
    *,
    seed: int = 0,
    n_jobs: int = -1,
    store: Path | None = None,
    statements: bool = False,
    tick: Callable[[str], None] = lambda _: None,
) -> Verification:
    """Check and try claims; what a run with the same store has finished is not done again.

    Parameters
    ----------
    claims
        Which.
    depth
        How much evidence.
    seed, n_jobs
        Root seed of all trials, and workers; the results do not depend on the workers.
    store
        Folder for finished work; in memory without one.
    statements
        Whether statements about selections are tried, too.
    tick
        Told in words what is being done.
    """
    claims = list(claims)
    results, excess = [], {}
    with workbench(seed, n_jobs, store, tick) as bench:
        for number, claim in enumerate(claims, 1):
            tick(f"claim {number} of {len(claims)}: {claim.id}")
            checks = run_checks(claim, bench.cache)
            findings, trials = _try(claim.id, depth, bench)
            results.append(Result(claim, checks, tuple(findings)))
            if trials:
                excess[claim.id] = trials
        said = tuple(coverage.hold(depth, bench)) if statements else ()
    return Verification(depth, seed, tuple(results), excess, said)


def _try(claim: str, depth: Depth, bench: Workbench) -> tuple[list[Evidence], tuple[RedrawnTrials, ...]]:
    if claim not in tried():
        return [], ()
    if claim == COMPARED:
        return comparison.compare(depth, bench), ()
    if claim in EXCESS:
        trials = tuple(excess_risk.sweep(claim, depth, bench))
        return excess_risk.hold(claim, trials, depth), trials
    cells = [probe for plan in PLANS if plan.claim == claim for probe in probes(plan, depth)]
    return [*run_claim(cells, depth, bench), *near_tight.hold(claim)], ()
