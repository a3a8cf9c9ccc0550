"""Run cells: as studies of the engine, or two strategies on the same trials.

Near-tight instances are tested at every depth. On the registry's pools failures are a small part of what the lemmas
allow, so trials there only detect a bound that is wrong by orders of magnitude. The instances of
`theory.claims._near_tight` have probabilities in closed form, close to the bounds or far out in their tails. In some
cells the right bound guarantees nothing; they are there because a wrong bound that does guarantee something is refuted.
"""

from __future__ import annotations

import hashlib
import math
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import lru_cache, partial
from pathlib import Path
from typing import Any

import exml_sim
import simulations
import theory
from exml_sim import engine
from exml_sim._internal.files import refuse_link
from exml_sim.bandit.rows import FeaturePool
from exml_sim.engine._statistics import Paired
from exml_sim.engine.result import StudyResult
from exml_sim.engine.study import Cell, Study
from exml_sim.money import exact
from exml_sim.seeds import Seeds
from simulations._cache import Cache
from simulations.verification._cells import (
    ALPHA,
    COMPARED,
    FACTOR,
    STORED,
    CellEvidence,
    ClaimCell,
    Depth,
    count_needed_trials,
    must_hold,
)
from simulations.verification._guarantees import MEASURED, Bought, Reading, get_pool
from theory import corrected, tighter, verdicts
from theory.claims import get
from theory.claims._near_tight import NearTight, crowd, duplicates, one_rival, opposed, overfit
from theory.paper import Strategy
from theory.verdicts import Verdict, judge, judge_exact, undecided


@lru_cache(maxsize=1)
def source_digest() -> str:
    """Return the SHA-256 of the Python files that results depend on."""
    digest = hashlib.sha256()
    for package in (exml_sim, theory, simulations):
        home = Path(package.__path__[0])
        for file in sorted(home.rglob("*.py")):
            part = file.relative_to(home).as_posix()
            if package is simulations and not part.startswith(("verification/", "_cache", "_pool_bounds")):
                continue
            if not part.startswith(("cli/", "verification/_report")):
                digest.update(part.encode() + b"\0" + file.read_bytes() + b"\0")
    return digest.hexdigest()


@dataclass(frozen=True, slots=True)
class RunContext:
    """Seed, workers, finished work, the folder of the engine's stores, and a function that reports progress.

    A task of a measured statistic has `chunk` trials.
    """

    seed: int
    n_jobs: int
    cache: Cache
    folder: Path | None = None
    notify: Callable[[str], None] = lambda _: None
    chunk: int = 4096

    def run(self, study: Study) -> StudyResult:
        """Run a study, or what is missing of it."""
        store = None if self.folder is None else self.folder / _file(study.name, study.hash)
        return engine.run(study, store=store, n_jobs=self.n_jobs, progress=False)

    def blocks(self, name: str, trials: int, size: int, job: Callable[[int, int], Any], doing: str = "") -> list[Any]:
        """Return job(first, stop) of all blocks of trials; finished blocks of this name are not run again."""
        parts = [(first, min(first + size, trials)) for first in range(0, trials, size)]
        return self.cache.map(
            lambda part: job(*part),
            {f"{name} trials {first}-{stop}": (first, stop) for first, stop in parts},
            n_jobs=self.n_jobs,
            done=lambda: self.notify(doing) if doing else None,
        )


def make_context(
    seed: int, n_jobs: int, folder: Path | None = None, notify: Callable[[str], None] = lambda _: None
) -> RunContext:
    """Make a context with finished work in a folder, or in memory without one."""
    if folder is None:
        return RunContext(seed, n_jobs, Cache(), folder, notify)
    refuse_link(folder)
    folder.mkdir(parents=True, exist_ok=True)
    return RunContext(seed, n_jobs, Cache(folder / _file("finished"), {"source": source_digest()}), folder, notify)


def _file(name: str, identity: str = "") -> str:
    """Return a name that no other study, seed or source has: after a change of the code all work is repeated."""
    digest = hashlib.sha256(f"{identity} {source_digest()}".encode()).hexdigest()[:16]
    return f"{name}-{digest}.sqlite"


def run_claim(cells: Sequence[ClaimCell], depth: Depth, context: RunContext) -> list[CellEvidence]:
    """Run all cells of one claim and judge them; alpha is split over its cells."""
    alpha = ALPHA / max(1, len(cells))
    verdicts_of = {cell: judge_vacuous(cell.bound) for cell in cells if cell.is_vacuous}
    groups: dict[tuple[str, str, Callable[..., dict[ClaimCell, Verdict]]], list[ClaimCell]] = {}
    for cell in cells:
        if not cell.is_vacuous:
            runner = _count_stored if cell.event in STORED else _count_measured
            groups.setdefault((cell.pool, cell.strategy, runner), []).append(cell)
    for (pool, strategy, runner), group in groups.items():
        context.notify(f"{group[0].claim}: {strategy} on {pool}")
        verdicts_of |= runner(group, alpha, depth, context)
    return [CellEvidence.of(cell, verdicts_of[cell]) for cell in cells]


def judge_vacuous(bound: float) -> Verdict:
    """Return the verdict on a bound that excludes nothing."""
    shown = "is not defined" if math.isnan(bound) else f"is {bound:.3g}"
    return verdicts.vacuous(f"The guaranteed probability {shown} here and excludes nothing.", bound=bound)


def make_study(group: Sequence[ClaimCell], trials: int, seed: int) -> Study:
    """Build the study of cells of one claim that share pool and strategy."""
    first, budgets = group[0], sorted({cell.budget for cell in group})
    return get_pool(first.pool).study(first.claim, [first.strategy], budgets, trials, seed)


def _trials(group: Iterable[ClaimCell], alpha: float, depth: Depth) -> int:
    enough = max(count_needed_trials(cell.bound, alpha, depth.most) for cell in group)
    return max(enough, depth.least)


def _count_stored(
    group: Sequence[ClaimCell], alpha: float, depth: Depth, context: RunContext
) -> dict[ClaimCell, Verdict]:
    """Count events that the engine stores for every trial."""
    with context.run(make_study(group, _trials(group, alpha, depth), context.seed)) as result:
        where = {int(study_cell["budget"]): study_cell["cell"] for study_cell in result.cells}
        counts = {cell: result.count(where[cell.budget], cell.event) for cell in group}
    return {cell: _judge_count(cell, *count, alpha) for cell, count in counts.items()}


def _judge_count(cell: ClaimCell, failures: int, trials: int, alpha: float) -> Verdict:
    return judge(failures, trials, cell.bound, alpha=alpha, factor=FACTOR)


def _count_measured(
    group: Sequence[ClaimCell], alpha: float, depth: Depth, context: RunContext
) -> dict[ClaimCell, Verdict]:
    """Count events that need the bought rows, in blocks of trials that are stored when finished."""
    trials = _trials(group, alpha, depth)
    study = make_study(group, trials, context.seed)
    verdicts_of: dict[ClaimCell, Verdict] = {}
    for study_cell in study.check():
        here = [cell for cell in group if cell.budget == int(study_cell.budget)]
        asked = [(cell.event, cell.limit) for cell in here]
        name = hashlib.sha256(repr((study.hash, study_cell.index, asked)).encode()).hexdigest()[:24]
        blocks = context.blocks(f"cell {name}", trials, context.chunk, partial(count_block, study, study_cell, asked))
        failures = (sum(counts) for counts in zip(*blocks, strict=True))
        verdicts_of |= {cell: _judge_count(cell, k, trials, alpha) for cell, k in zip(here, failures, strict=True)}
    return verdicts_of


def count_block(
    study: Study, study_cell: Cell, asked: Sequence[tuple[str, float | None]], first: int, stop: int
) -> list[int]:
    """Run trials first … stop - 1 of a cell and count those in which each statistic exceeds its limit."""
    pool, strategy = study.pool(study_cell), study.strategy(study_cell)
    assert isinstance(pool, FeaturePool)
    totals = [0] * len(asked)
    for start in range(first, stop, pool.block):
        seeds = Seeds.of(study.seed, range(start, min(start + pool.block, stop)), study_cell.stream)
        trials, selected = pool.run(strategy, exact(study_cell.budget), seeds, record=False)
        counts = trials.arms.counts()
        assert counts is not None
        bought = Bought(pool, selected[:, 0], counts)
        values = {statistic: MEASURED[statistic](bought) for statistic, _ in asked}
        for i, (statistic, limit) in enumerate(asked):
            # Rounding must not make a failure of a value that equals its limit.
            totals[i] += int((values[statistic] > (limit or 0.0) + 1e-12).sum())
    return totals


#: Smallest number of trials with exactly one failure for a verdict.
MIN_PAIRS = 30


def compare(depth: Depth, context: RunContext) -> list[CellEvidence]:
    """Test whether median elimination fails at least as often as uniform allocation, on paired trials.

    Both strategies see the same rows, so trials in which both fail, or neither, say nothing about their order. Of the
    others, the remark of Section 3.2 claims that at most half are failures of uniform allocation alone. Their number is
    binomial given how many there are, so the test is exact.
    """
    plan = get(COMPARED).experiment
    assert plan is not None
    alpha = ALPHA / (len(plan.pools) * len(plan.budgets))
    evidence = []
    for pool in plan.pools:
        context.notify(f"{COMPARED}: both strategies on {pool}")
        study = get_pool(pool).study(
            COMPARED, ("uniform", "median-accumulated"), plan.budgets, depth.pairs, context.seed
        )
        with context.run(study) as result:
            for first, second in zip(result.cells[::2], result.cells[1::2], strict=True):
                pair = result.compare(first["cell"], second["cell"])
                evidence.append(_judge_pair(pool, int(first["budget"]), pair, alpha))
    return evidence


def _judge_pair(pool: str, budget: int, pair: Paired, alpha: float) -> CellEvidence:
    alone, other, trials = pair.only_first, pair.only_second, pair.trials
    if alone + other < MIN_PAIRS:
        verdict = undecided(
            f"Only {alone + other} of {trials} trials failed under exactly one of the strategies.",
            uniform_alone=alone,
            median_alone=other,
            trials=trials,
        )
    else:
        verdict = judge(alone, alone + other, 0.5, alpha=alpha, factor=FACTOR)
    event = "uniform allocation fails and median elimination does not, given that exactly one of them fails"
    where = (COMPARED, "paper", pool, "uniform against median-accumulated", budget, event, 0.5)
    cell = ClaimCell(*where, method="paired", must_hold=False)
    return CellEvidence.of(cell, verdict, uniform_alone=alone, median_alone=other, trials=trials)


#: Rounding of the closed forms, relative, that is granted to the bound.
ROUNDING = 1e-9
ONE_GAP, ALL_GAPS = "the smallest gap", "the gaps of all arms"


@lru_cache(maxsize=4)
def list_near_tight(claim: str) -> tuple[NearTight, ...]:
    """Return the near-tight instances of a claim; none for most.

    The opposed pair comes with few rows, where failures are most frequent for the bound, and with many, where the
    exponent shows; the overfitted arm shows the optimism, the crowd the factor K - 1, the close rival per-arm gaps.
    """
    if claim in ("lemma-1-i", "lemma-4"):
        pairs = (opposed(1_600, 0.02), opposed(10_000, 0.02), opposed(160_000, 0.03), overfit(25, 250_000))
        return pairs if claim == "lemma-4" else (*pairs, crowd(64, 36, 1 / 3), one_rival(8, 10_000, 0.02, "uniform"))
    if claim != "lemma-2-i":
        return ()
    cases: list[NearTight] = []
    for strategy in ("median-fresh", "median-accumulated"):
        cases += [
            opposed(1_600, 0.02, strategy),
            duplicates(4, 22_500, 0.02, strategy),
            duplicates(4, 160_000, 0.03, strategy),
            one_rival(8, 22_500, 0.02, strategy),
            overfit(25, 250_000, strategy),
        ]
    return tuple(cases)


def list_guarantees(claim: str, instance: NearTight) -> Iterator[tuple[Reading, str, float]]:
    """Yield (version, gaps of the bound, guaranteed probability) of the statements that must hold."""
    problem = instance.problem
    if claim == "lemma-4":
        at = instance.budget // problem.K, problem.gap, problem.theta, problem.kappa_lambda
        yield "corrected", ONE_GAP, float(corrected.lemma_4(*at, strict=False))
        yield "tighter", ONE_GAP, float(tighter.lemma_4(*at, strict=False))
        return
    kind: Strategy = "uniform" if instance.strategy == "uniform" else "median"
    # The repaired proof bounds every arm's deviation by itself, so it does not matter whether arms share their rows.
    yield "corrected", ONE_GAP, float(problem.bound("corrected", kind, instance.budget))
    yield "tighter", ONE_GAP, float(problem.one_gap.bound("tighter", kind, instance.budget))
    if problem.K > 2:
        yield "tighter", ALL_GAPS, float(problem.bound("tighter", kind, instance.budget))


def judge_near_tight(claim: str) -> list[CellEvidence]:
    """Test the versions of a claim that must hold on its near-tight instances."""
    evidence = []
    for near in list_near_tight(claim):
        for reading, gaps, bound in list_guarantees(claim, near):
            where = (claim, reading, near.name, near.strategy, near.budget, "missed", bound)
            cell = ClaimCell(*where, method="exact", must_hold=must_hold(get(claim), reading))
            extra = {"bound_from": gaps, "pairing": near.problem.pairing, "least": near.least, "most": near.most}
            evidence.append(CellEvidence.of(cell, judge_between(near.least, near.most, bound), **extra))
    return evidence


def judge_between(least: float, most: float, bound: float) -> Verdict:
    """Compare a probability that lies between two numbers with a bound."""
    if not bound < 1:
        return judge_vacuous(bound)
    if least * (1 - ROUNDING) > bound:
        return judge_exact(least, bound)
    if most * (1 - ROUNDING) <= bound:
        return judge_exact(min(most, bound), bound)
    return undecided(
        f"The bound {bound:.3g} and the probability both lie between {least:.3g} and {most:.3g}.",
        least=least,
        most=most,
        bound=bound,
    )
