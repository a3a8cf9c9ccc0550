"""Run cells: as studies of the engine, by enumeration or by tilted sampling; and judge what came out."""

from __future__ import annotations

import hashlib
import math
from collections.abc import Iterable, Mapping, Sequence
from functools import partial

from exml_sim.engine.study import Cell, Study
from exml_sim.exploration.rows import FeaturePool
from exml_sim.money import exact
from exml_sim.seeds import Seeds
from simulations.verification.depths import ALARM, FACTOR, Depth, enough_trials
from simulations.verification.measures import MEASURED, Bought
from simulations.verification.plans import STORED, WORDS, Statistic
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


def run_claim(cells: Sequence[Probe], depth: Depth, bench: Workbench) -> list[Evidence]:
    """Run all cells of one claim and judge them; the false-alarm rate is split over its cells."""
    alarm = ALARM / max(1, len(cells))
    counted: dict[Probe, tuple[int, int]] = {}
    laws: dict[Probe, float] = {}
    tilted: dict[Probe, tuple[float, float, float]] = {}
    for (pool, strategy), group in _grouped(cells).items():
        stored = [probe for probe in group if probe.method == "count" and probe.event in STORED]
        measured = [probe for probe in group if probe.method == "count" and probe.event not in STORED]
        exactly = [probe for probe in group if probe.method == "exact"]
        bench.tick(f"{group[0].claim}: {strategy} on {pool}")
        if stored:
            counted |= _count_stored(stored, _trials(stored, alarm, depth), bench)
        if measured:
            counted |= _count_measured(measured, _trials(measured, alarm, depth), bench)
        rarely = [probe for probe in group if probe.method == "rare"]
        if exactly:
            laws |= _enumerate(exactly, bench)
        if rarely:
            tilted |= _tilt(rarely, bench)
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
    first, budgets = group[0], sorted({probe.budget for probe in group})
    return world(first.pool).study(first.claim, [first.strategy], budgets, trials, seed, mode)


def _count_stored(group: Sequence[Probe], trials: int, bench: Workbench) -> dict[Probe, tuple[int, int]]:
    """Events that the engine keeps for every trial."""
    study = make_study(group, trials, bench.seed)
    with bench.run(study) as result:
        where = {int(cell["budget"]): cell["cell"] for cell in result.cells}
        return {probe: result.count(where[probe.budget], probe.event) for probe in group}


def _enumerate(group: Sequence[Probe], bench: Workbench) -> dict[Probe, float]:
    """Exact probabilities by the engine's enumeration."""
    study = make_study(group, 1, bench.seed, mode="exact")
    with bench.run(study) as result:
        where = {int(cell["budget"]): cell["cell"] for cell in result.cells}
        return {probe: result.probability(where[probe.budget], probe.event) for probe in group}


def _tilt(group: Sequence[Probe], bench: Workbench) -> dict[Probe, tuple[float, float, float]]:
    """Failure probabilities that counting cannot see, with an interval, by tilted sampling."""
    study = make_study(group, TILTED, bench.seed, mode="rare")
    with bench.run(study) as result:
        found = {int(one.budget): one for one in result.summary(level=1.0 - TILTED_ALARM)}
    kept = {probe: found[probe.budget] for probe in group}
    return {probe: (one.failure_rate, one.lower, one.upper) for probe, one in kept.items()}


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


def _count_measured(group: Sequence[Probe], trials: int, bench: Workbench) -> dict[Probe, tuple[int, int]]:
    """Events that need the bought rows: blocks of trials, each kept when it is done."""
    study = make_study(group, trials, bench.seed)
    counted: dict[Probe, tuple[int, int]] = {}
    for cell in study.check():
        here = [probe for probe in group if probe.budget == int(cell.budget)]
        asked = [(probe.event, probe.promise.limit) for probe in here]
        name = hashlib.sha256(repr((study.hash, cell.index, asked)).encode()).hexdigest()[:24]
        job = partial(count_block, study, cell, asked)
        blocks = bench.blocks(f"cell {name}", trials, CHUNK, job)
        counted |= {probe: (sum(one), trials) for probe, one in zip(here, zip(*blocks, strict=True), strict=True)}
    return counted


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
) -> Evidence:
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
    return Evidence(
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
