"""Run cells: as studies of the engine, by enumeration or by tilted sampling; and judge what came out."""

from __future__ import annotations

import hashlib
import math
from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import partial

from exml_sim.bandit.rows import FeaturePool
from exml_sim.engine.study import Cell, Study
from exml_sim.money import exact
from exml_sim.seeds import Seeds
from simulations.verification.depths import ALARM, FACTOR, Depth, enough_trials
from simulations.verification.measures import MEASURED, Bought
from simulations.verification.plans import STORED, Statistic
from simulations.verification.probes import Evidence, Probe
from simulations.verification.promises import StrategyName
from simulations.verification.workbench import Workbench
from simulations.verification.worlds import world
from theory import verdicts
from theory.verdicts import Outcome, Verdict, judge, judge_exact

#: Trials of one task of a measured statistic.
CHUNK = 4096
#: Tilted sampling: trials, and the error probability of its interval.
TILTED, TILTED_ALARM = 2_000, 1e-6
#: (cells that share pool and strategy, false-alarm rate of each, depth, workbench) -> their verdicts.
Runner = Callable[[Sequence[Probe], float, Depth, Workbench], dict[Probe, Verdict]]


def run_claim(cells: Sequence[Probe], depth: Depth, bench: Workbench) -> list[Evidence]:
    """Run all cells of one claim and judge them; the false-alarm rate is split over its cells."""
    alarm = ALARM / max(1, len(cells))
    found = {probe: _nothing_promised(probe) for probe in cells if probe.silent}
    groups: dict[tuple[str, StrategyName, Runner], list[Probe]] = {}
    for probe in cells:
        if not probe.silent:
            groups.setdefault((probe.pool, probe.strategy, _runner(probe)), []).append(probe)
    for (pool, strategy, runner), group in groups.items():
        bench.tick(f"{group[0].claim}: {strategy} on {pool}")
        found |= runner(group, alarm, depth, bench)
    return [Evidence.of(probe, found[probe]) for probe in cells]


def _runner(probe: Probe) -> Runner:
    if probe.method == "count":
        return _count_stored if probe.event in STORED else _count_measured
    return _enumerate if probe.method == "exact" else _tilt


def _nothing_promised(probe: Probe) -> Verdict:
    bound = probe.promise.probability
    shown = "is not defined" if math.isnan(bound) else f"is {bound:.3g}"
    return verdicts.vacuous(f"The promised probability {shown} here and excludes nothing.", bound=bound)


def make_study(group: Sequence[Probe], trials: int, seed: int, mode: str = "monte_carlo") -> Study:
    """The study of some cells of one claim that share pool and strategy."""
    first, budgets = group[0], sorted({probe.budget for probe in group})
    return world(first.pool).study(first.claim, [first.strategy], budgets, trials, seed, mode)


def _trials(group: Iterable[Probe], alarm: float, depth: Depth) -> int:
    enough = max(enough_trials(probe.promise.probability, alarm, depth.most) for probe in group)
    return max(enough, depth.least)


def _count_stored(group: Sequence[Probe], alarm: float, depth: Depth, bench: Workbench) -> dict[Probe, Verdict]:
    """Events that the engine keeps for every trial."""
    with bench.run(make_study(group, _trials(group, alarm, depth), bench.seed)) as result:
        where = {int(cell["budget"]): cell["cell"] for cell in result.cells}
        counts = {probe: result.count(where[probe.budget], probe.event) for probe in group}
    return {probe: _judge_count(probe, *count, alarm) for probe, count in counts.items()}


def _judge_count(probe: Probe, failures: int, trials: int, alarm: float) -> Verdict:
    return judge(failures, trials, probe.promise.probability, alpha=alarm, factor=FACTOR)


def _enumerate(group: Sequence[Probe], alarm: float, depth: Depth, bench: Workbench) -> dict[Probe, Verdict]:
    """Exact probabilities by the engine's enumeration."""
    with bench.run(make_study(group, 1, bench.seed, mode="exact")) as result:
        where = {int(cell["budget"]): cell["cell"] for cell in result.cells}
        laws = {probe: result.probability(where[probe.budget], probe.event) for probe in group}
    return {probe: judge_exact(law, probe.promise.probability) for probe, law in laws.items()}


def _tilt(group: Sequence[Probe], alarm: float, depth: Depth, bench: Workbench) -> dict[Probe, Verdict]:
    """Failure probabilities that counting cannot see, with an interval, by tilted sampling."""
    with bench.run(make_study(group, TILTED, bench.seed, mode="importance_sampling")) as result:
        found = {int(one.budget): one for one in result.summary(level=1.0 - TILTED_ALARM)}
    pairs = ((probe, found[probe.budget]) for probe in group)
    return {p: judge_tilted(one.failure_rate, one.lower, one.upper, p.promise.probability) for p, one in pairs}


def judge_tilted(rate: float, lower: float, upper: float, bound: float) -> Verdict:
    """Hold an estimate with an interval against a bound: decided where the bound is outside of the interval.

    Where many failures carry the estimate its interval is Student's, and the verdict approximate; elsewhere it rests on
    the bound of the weights, and is rigorous.
    """
    words = f"Tilted sampling puts the probability at {rate:.3g}, in [{lower:.3g}, {upper:.3g}]"
    ends: Mapping[Outcome, str] = {"consistent": "is below", "refuted": "is above", "undecided": "contains"}
    outcome: Outcome = "consistent" if upper <= bound else "refuted" if lower > bound else "undecided"
    sentence = f"{words} at level {TILTED_ALARM:g}, which {ends[outcome]} the bound {bound:.3g}."
    numbers = (("probability", rate), ("lower", lower), ("upper", upper), ("bound", bound))
    return Verdict(outcome, sentence, numbers, bound=bound, rate=rate, lower=lower, upper=upper)


def _count_measured(group: Sequence[Probe], alarm: float, depth: Depth, bench: Workbench) -> dict[Probe, Verdict]:
    """Events that need the bought rows: blocks of trials, each kept when it is done."""
    trials = _trials(group, alarm, depth)
    study = make_study(group, trials, bench.seed)
    found: dict[Probe, Verdict] = {}
    for cell in study.check():
        here = [probe for probe in group if probe.budget == int(cell.budget)]
        asked = [(probe.event, probe.promise.limit) for probe in here]
        name = hashlib.sha256(repr((study.hash, cell.index, asked)).encode()).hexdigest()[:24]
        blocks = bench.blocks(f"cell {name}", trials, CHUNK, partial(count_block, study, cell, asked))
        failures = (sum(counts) for counts in zip(*blocks, strict=True))
        found |= {probe: _judge_count(probe, one, trials, alarm) for probe, one in zip(here, failures, strict=True)}
    return found


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
        counts = trials.arms.counts()
        assert counts is not None
        bought = Bought(pool, selected[:, 0], counts)
        values = {statistic: MEASURED[statistic](bought) for statistic, _ in asked}
        for i, (statistic, limit) in enumerate(asked):
            # Rounding must not make a failure of a value that equals its limit.
            totals[i] += int((values[statistic] > (limit or 0.0) + 1e-12).sum())
    return totals
