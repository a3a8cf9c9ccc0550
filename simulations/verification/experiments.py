"""Turn a plan into cells, cells into studies of the engine, and counts into verdicts."""

from __future__ import annotations

import hashlib
import math
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import Any, Literal

from joblib import Parallel, delayed

from exml_sim import engine
from exml_sim.engine.result import StudyResult
from exml_sim.engine.seeds import Seeds
from exml_sim.engine.specs import Budgets, StrategySpec
from exml_sim.engine.study import Cell, Study
from exml_sim.money import exact
from exml_sim.pool import FeaturePool
from simulations.verification.depths import ALARM, FACTOR, Depth, enough_trials
from simulations.verification.plans import STORED, WORDS, Plan, Statistic
from simulations.verification.promises import Promise, Reading, StrategyName, launch_of
from simulations.verification.records import Records, source_digest
from simulations.verification.statistics import MEASURED, Bought
from simulations.verification.worlds import World, world
from theory import verdicts
from theory.budgets import required_budget
from theory.claims import Claim, get
from theory.verdicts import Verdict, judge, judge_exact

Method = Literal["count", "exact", "rare", "paired", "redrawn"]

STRATEGIES: Mapping[StrategyName, StrategySpec] = {
    "uniform": StrategySpec("uniform_allocation"),
    "median-fresh": StrategySpec("median_elimination", (("reuse", False),)),
    "median-accumulated": StrategySpec("median_elimination", (("reuse", True),)),
}
#: Trials of one task of a measured statistic, rows per arm at least for statements with a limit, and outcomes that are
#: enumerated at most.
CHUNK = 4096
LEAST_ROWS = 50
MOST_OUTCOMES = 400_000
#: Tilted sampling: trials, the largest budget it is used for (its time grows with the rows), and the error probability
#: of its interval.
TILTED, MOST_TILTED, TILTED_ALARM = 2_000, 4_000, 1e-6


@dataclass(frozen=True, slots=True)
class Probe:
    """One cell of one claim: what a reading promises about trials of a strategy on a pool at a budget.

    Attributes
    ----------
    claim, reading, pool, strategy, budget
    event : Statistic
        What is measured.
    promise : Promise
        P(event above the limit) <= probability.
    delta : float, optional
        Level of the statement, for statements with one.
    method : Method
        "count": trials of the engine; "exact": its enumeration of all outcomes; "rare": tilted sampling.
    must_hold : bool
        A refutation is a defect (of the theory or of the software); otherwise it may be what the ledger records.
    """

    claim: str
    reading: Reading
    pool: str
    strategy: StrategyName
    budget: int
    event: Statistic
    promise: Promise
    delta: float | None = None
    method: Method = "count"
    must_hold: bool = True

    @property
    def silent(self) -> bool:
        """Whether the promise excludes nothing."""
        return not self.promise.probability < 1


@dataclass(frozen=True, slots=True)
class Finding:
    """What evidence said about one cell.

    Attributes
    ----------
    claim, reading, pool, strategy, budget, delta, method, must_hold
        The cell.
    event : str
        What makes a trial fail, in words.
    limit : float, optional
    bound : float
        The promised probability.
    verdict : Verdict
    """

    claim: str
    reading: str
    pool: str
    strategy: str
    budget: int
    event: str
    bound: float
    verdict: Verdict
    delta: float | None = None
    limit: float | None = None
    method: Method = "count"
    must_hold: bool = True
    extra: Mapping[str, Any] = field(default_factory=dict)

    @property
    def decided(self) -> bool:
        """Whether the evidence speaks for or against the bound."""
        return self.verdict.decided

    @property
    def informative(self) -> bool:
        """Whether the bound excludes anything."""
        return self.verdict.outcome != "vacuous"


def must_hold(claim: Claim, reading: Reading) -> bool:
    """Repaired statements and our theorems must hold, and printed ones where the ledger says that they do."""
    return reading != "printed" or claim.printed in ("holds", "definition", "vacuous")


def probes(plan: Plan, depth: Depth) -> list[Probe]:
    """The cells of a plan at a depth, each once."""
    found: dict[tuple[Any, ...], Probe] = {}
    for pool in plan.pools:
        for strategy in plan.strategies:
            for reading in plan.readings:
                for probe in _of_reading(plan, depth, world(pool), strategy, reading):
                    found.setdefault((pool, strategy, reading, probe.budget, probe.delta), probe)
    return list(found.values())


def _of_reading(plan: Plan, depth: Depth, place: World, strategy: StrategyName, reading: Reading) -> Iterator[Probe]:
    make = partial(_probe, plan, place, strategy, reading)
    if plan.search == "given":
        yield from (make(budget, None) for budget in plan.budgets)
    elif plan.search == "launch":
        yield make(launch_of(place, strategy), None)
    elif plan.says(reading, place, strategy, 10**6 * place.K, 0.1) is None:
        return
    elif plan.search == "level":
        for delta in depth.levels:
            first = _smallest(plan, reading, place, strategy, delta, 1.2)
            yield make(first, delta)
            yield make(4 * first, delta)
    else:
        yield from (make(_smallest(plan, reading, place, strategy, t, 1.0), None) for t in depth.targets)
        for target in depth.remote:
            budget = _smallest(plan, reading, place, strategy, target, 1.0)
            if plan.statistic in STORED and outcomes(place, strategy, budget) <= MOST_OUTCOMES:
                yield make(budget, None, method="exact")
            elif plan.statistic == "missed" and budget <= MOST_TILTED and place.best_count == 1:
                yield make(budget, None, method="rare")


def _probe(
    plan: Plan,
    place: World,
    strategy: StrategyName,
    reading: Reading,
    budget: int,
    delta: float | None,
    method: Method = "count",
) -> Probe:
    promise = plan.says(reading, place, strategy, budget, delta or 0.5)
    assert promise is not None
    event = plan.event(reading)
    holds = must_hold(get(plan.claim), reading)
    return Probe(plan.claim, reading, place.name, strategy, budget, event, promise, delta, method, holds)


def _smallest(plan: Plan, reading: Reading, place: World, strategy: StrategyName, target: float, factor: float) -> int:
    """Smallest budget from which the promised probability is at most factor times the target.

    At least so many rows per arm in the first round that a limit on a regret or deviation is not trivially large.
    """
    rows = LEAST_ROWS if plan.search == "level" else 1
    least = rows * place.K * (1 if strategy == "uniform" else math.ceil(math.log2(place.K)))

    def promised(B: int, *, strict: bool = False) -> float:
        promise = plan.says(reading, place, strategy, int(B), target) if least <= B else None
        return math.nan if promise is None else promise.probability

    return required_budget(promised, min(factor * target, 0.999))


def outcomes(place: World, strategy: StrategyName, budget: int) -> int:
    """Number of outcomes that enumeration visits: count vectors of all rows that decide."""
    if strategy == "uniform" or place.K == 2:
        return math.comb(budget // place.K + place.atoms - 1, place.atoms - 1)
    return MOST_OUTCOMES + 1


@dataclass(frozen=True, slots=True)
class Setting:
    """What running takes: seed, workers, and where finished work is kept."""

    seed: int
    n_jobs: int
    records: Records
    folder: Path | None = None
    tick: Callable[[str], None] = lambda _: None

    def store(self, study: Study) -> Path | None:
        """The engine's store of a study; another study, seed or source has another file."""
        if self.folder is None:
            return None
        name = hashlib.sha256(f"{study.hash} {source_digest()}".encode()).hexdigest()[:16]
        return self.folder / f"{study.name}-{name}.sqlite"

    def run(self, study: Study) -> StudyResult:
        """Run a study, or what is missing of it."""
        found: StudyResult = engine.run(study, store=self.store(study), n_jobs=self.n_jobs, progress=False)
        return found


def run_claim(cells: Sequence[Probe], depth: Depth, setting: Setting) -> list[Finding]:
    """Run all cells of one claim and judge them; the false-alarm rate is split over its cells."""
    alarm = ALARM / max(1, len(cells))
    counted: dict[Probe, tuple[int, int]] = {}
    laws: dict[Probe, float] = {}
    tilted: dict[Probe, tuple[float, float, float]] = {}
    for (pool, strategy), group in _grouped(cells).items():
        stored = [probe for probe in group if probe.method == "count" and probe.event in STORED]
        measured = [probe for probe in group if probe.method == "count" and probe.event not in STORED]
        exactly = [probe for probe in group if probe.method == "exact"]
        setting.tick(f"{group[0].claim}: {strategy} on {pool}")
        if stored:
            counted |= _count_stored(stored, _trials(stored, alarm, depth), setting)
        if measured:
            counted |= _count_measured(measured, _trials(measured, alarm, depth), setting)
        rarely = [probe for probe in group if probe.method == "rare"]
        if exactly:
            laws |= _enumerate(exactly, setting)
        if rarely:
            tilted |= _tilt(rarely, setting)
    return [_judged(probe, counted.get(probe), laws.get(probe), tilted.get(probe), alarm) for probe in cells]


def _grouped(cells: Iterable[Probe]) -> dict[tuple[str, StrategyName], list[Probe]]:
    groups: dict[tuple[str, StrategyName], list[Probe]] = {}
    for probe in cells:
        if not probe.silent:
            groups.setdefault((probe.pool, probe.strategy), []).append(probe)
    return groups


def _trials(group: Iterable[Probe], alarm: float, depth: Depth) -> int:
    enough = max(enough_trials(probe.promise.probability, alarm, depth.most) for probe in group)
    return max(enough, depth.least)


def make_study(group: Sequence[Probe], trials: int, seed: int, mode: str = "count") -> Study:
    """The study of some cells of one claim that share pool and strategy."""
    first = group[0]
    place = world(first.pool)
    budgets = sorted({probe.budget for probe in group})
    return Study(
        name=first.claim,
        pools=(place.spec(),),
        scores=(place.score(),),
        strategies=(STRATEGIES[first.strategy],),
        budgets=Budgets(absolute=tuple(str(budget) for budget in budgets)),
        trials=trials,
        seed=seed,
        mode=mode,
    )


_QUERIES: Mapping[str, str] = {
    "missed": "SELECT coalesce(sum(NOT success), 0), count(*) FROM trials WHERE cell = ?",
    "found": "SELECT coalesce(sum(success), 0), count(*) FROM trials WHERE cell = ?",
    "not first": "SELECT coalesce(sum(selected != 0), 0), count(*) FROM trials WHERE cell = ?",
}


def _count_stored(group: Sequence[Probe], trials: int, setting: Setting) -> dict[Probe, tuple[int, int]]:
    """Events that the engine keeps for every trial."""
    study = make_study(group, trials, setting.seed)
    with setting.run(study) as result:
        where = {int(cell["budget"]): cell["cell"] for cell in result.cells}
        return {probe: result.store.rows(_QUERIES[probe.event], (where[probe.budget],)).fetchone() for probe in group}


def _enumerate(group: Sequence[Probe], setting: Setting) -> dict[Probe, float]:
    """Exact probabilities by the engine's enumeration."""
    study = make_study(group, 1, setting.seed, mode="exact")
    columns = {"missed": "failure", "found": "success", "not first": "probability * (arm != 0)"}
    with setting.run(study) as result:
        where = {int(cell["budget"]): cell["cell"] for cell in result.cells}
        found = {}
        for probe in group:
            query = f"SELECT {columns[probe.event]} FROM laws WHERE cell = ?"
            lines = result.store.rows(query, (where[probe.budget],)).fetchall()
            found[probe] = max(0.0, math.fsum(line[0] for line in lines))
        return found


def _tilt(group: Sequence[Probe], setting: Setting) -> dict[Probe, tuple[float, float, float]]:
    """Failure probabilities that counting cannot see, with an interval, by tilted sampling."""
    study = make_study(group, TILTED, setting.seed, mode="rare")
    with setting.run(study) as result:
        found = {int(one.budget): one for one in result.summary(level=1.0 - TILTED_ALARM)}
    kept = {probe: found[probe.budget] for probe in group}
    return {probe: (one.failure_rate, one.lower, one.upper) for probe, one in kept.items()}


def judge_tilted(rate: float, lower: float, upper: float, bound: float) -> Verdict:
    """Hold an estimate with an interval against a bound: decided where the bound is outside of the interval.

    Where many failures carry the estimate its interval is Student's, and the verdict approximate; elsewhere it rests on
    the bound of the weights, and is rigorous.
    """
    words = (
        f"Tilted sampling puts the probability at {rate:.3g}, in [{lower:.3g}, {upper:.3g}] at level {TILTED_ALARM:g}"
    )
    numbers: tuple[tuple[str, float], ...] = (
        ("probability", rate),
        ("lower", lower),
        ("upper", upper),
        ("bound", bound),
    )
    if upper <= bound:
        outcome, end = "consistent", f"which is below the bound {bound:.3g}"
    elif lower > bound:
        outcome, end = "refuted", f"which is above the bound {bound:.3g}"
    else:
        outcome, end = "undecided", f"which contains the bound {bound:.3g}"
    found: Any = outcome
    return Verdict(found, f"{words}, {end}.", numbers, bound=bound, rate=rate, lower=lower, upper=upper)


def _count_measured(group: Sequence[Probe], trials: int, setting: Setting) -> dict[Probe, tuple[int, int]]:
    """Events that need the bought rows: blocks of trials, each recorded when it is done."""
    study = make_study(group, trials, setting.seed)
    counted: dict[Probe, tuple[int, int]] = {}
    for cell in study.check():
        here = [probe for probe in group if probe.budget == int(cell.budget)]
        asked = [(probe.event, probe.promise.limit) for probe in here]
        blocks = [(first, min(first + CHUNK, trials)) for first in range(0, trials, CHUNK)]
        failures = measured_blocks(study, cell, asked, blocks, setting)
        counted |= {probe: (total, trials) for probe, total in zip(here, failures, strict=True)}
    return counted


def measured_blocks(
    study: Study,
    cell: Cell,
    asked: Sequence[tuple[Statistic, float | None]],
    blocks: Sequence[tuple[int, int]],
    setting: Setting,
) -> list[int]:
    """Failures of every (statistic, limit) over blocks of trials; blocks that are recorded are not run again."""
    name = hashlib.sha256(repr((study.hash, cell.index, asked)).encode()).hexdigest()[:24]
    keys = {block: f"cell {name} trials {block[0]}-{block[1]}" for block in blocks}
    done = {block: setting.records.get(key) for block, key in keys.items()}
    left = [block for block in blocks if done[block] is None]
    parallel = Parallel(n_jobs=setting.n_jobs, prefer="threads", return_as="generator")
    results = parallel(delayed(count_block)(study, cell, asked, *block) for block in left)
    for block, counts in zip(left, results, strict=True):
        setting.records.put(keys[block], counts)
        done[block] = counts
    return [sum(done[block][i] for block in blocks) for i in range(len(asked))]  # type: ignore[index]


def count_block(
    study: Study, cell: Cell, asked: Sequence[tuple[Statistic, float | None]], first: int, stop: int
) -> list[int]:
    """Run trials first … stop - 1 of a cell and count those in which each statistic exceeds its limit."""
    pool, rule = study.pool(cell), study.strategy(cell)
    assert isinstance(pool, FeaturePool)
    totals = [0] * len(asked)
    for start in range(first, stop, pool.block):
        seeds = Seeds.of(study.seed, range(start, min(start + pool.block, stop)), cell.stream)
        trials, selected = pool.run(rule, exact(cell.budget), seeds, record=False)
        counts = trials.session.counts()
        assert counts is not None
        bought = Bought(pool, selected[:, 0], counts)
        values = {statistic: MEASURED[statistic](bought) for statistic, _ in asked}
        for i, (statistic, limit) in enumerate(asked):
            # Rounding must not make a failure of a value that equals its limit.
            totals[i] += int((values[statistic] > (limit or 0.0) + 1e-12).sum())
    return totals


def _judged(
    probe: Probe,
    counted: tuple[int, int] | None,
    law: float | None,
    tilted: tuple[float, float, float] | None,
    alarm: float,
) -> Finding:
    bound = probe.promise.probability
    if probe.silent:
        shown = "is not defined" if math.isnan(bound) else f"is {bound:.3g}"
        verdict = verdicts.vacuous(f"The promised probability {shown} here and excludes nothing.", bound=bound)
    elif law is not None:
        verdict = judge_exact(law, bound)
    elif tilted is not None:
        verdict = judge_tilted(*tilted, bound)
    else:
        assert counted is not None
        verdict = judge(*counted, bound, alarm=alarm, factor=FACTOR)
    return Finding(
        probe.claim,
        probe.reading,
        probe.pool,
        probe.strategy,
        probe.budget,
        WORDS[probe.event],
        bound,
        verdict,
        probe.delta,
        probe.promise.limit,
        probe.method,
        probe.must_hold,
    )
