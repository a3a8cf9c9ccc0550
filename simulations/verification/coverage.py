"""Statements about selections: are they wrong as rarely as they say?

The theorems C2 to C5 of docs/theorems.md promise that something wrong is said with probability delta at most. Trials
are placed where it is most likely: near-ties, and laws at the edge of the null. The jackknife promises nothing; its
rate is held against 1 - 94 %, the coverage that is asked of it.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from functools import cache, partial

import numpy as np

from exml_sim.bandit.evidence import Pairs, log_wealth
from exml_sim.bandit.jackknife import half_widths
from exml_sim.bandit.parametric import ParametricPool
from exml_sim.bandit.rows import FeaturePool
from exml_sim.bandit.selection_report import LARGEST_LOSS
from exml_sim.bandit.selection_report import log_row_wealth as later_wealth
from exml_sim.datasets import make_synthetic
from exml_sim.strategies import by_name
from simulations.verification.depths import ALARM, FACTOR, Depth, enough_trials
from simulations.verification.probes import Evidence
from simulations.verification.workbench import Workbench
from theory.verdicts import judge

#: Name by which the command asks for these entries alone.
NAME = "coverage"
#: Near-ties: Bernoulli means, and angles of the synthetic candidates.
MEANS = (0.45, 0.5, 0.5)
PAIRS = ((70, 90), (0, 12, 90))
RULES = ("successive_elimination", "kl_lucb")
#: Rows of the bets on pairs, of the bets on later rows, and of the jackknife; money of a rule with a confidence.
ROWS, LATER, FEW, MONEY = 256, 64, 16, 20_000
#: Coverage that is asked of the approximate statement at a nominal 95 %.
ASKED, NOMINAL = 0.94, 0.95
#: Trials of the slower statements at most.
MOST = 20_000


def hold(depth: Depth, bench: Workbench) -> list[Evidence]:
    """All entries; those of theorems must hold."""
    cells = [*_theorems(depth.levels), *_approximate()]
    alarm = ALARM / len(cells)
    found = []
    for claim, pool, strategy, size, event, bound, wrong in cells:
        bench.tick(f"{NAME}: {claim} on {pool}")
        trials = max(depth.least, enough_trials(bound, alarm, min(depth.most, MOST)))
        trials = min(trials, MOST)
        verdict = judge(wrong(trials, bench.seed), trials, bound, alpha=alarm, factor=FACTOR)
        proven = claim != "jackknife"
        delta = bound if proven else 1.0 - NOMINAL
        reading = "ours" if proven else "approximate"
        found.append(Evidence(claim, reading, pool, strategy, size, event, bound, verdict, delta, must_hold=proven))
    return found


Cell = tuple[str, str, str, int, str, float, Callable[[int, int], int]]


def _theorems(levels: tuple[float, ...]) -> Iterator[Cell]:
    for delta in levels:
        for rule in RULES:
            event = "the rule is sure of an arm that is not the best one"
            yield "C2", f"bernoulli {MEANS}", rule, MONEY, event, delta, partial(sure_and_wrong, rule, delta)
        for angles in PAIRS:
            event = "bets on pairs exclude the best arm at some number of rows"
            yield "C4", f"synthetic {angles}", "same rows", ROWS, event, delta, partial(excluded, angles, delta)
        event = "bets on later rows exclude a difference that there is"
        yield "C5", "two values, mean 0", "later rows", LATER, event, delta, partial(bet, delta)


def _approximate() -> Iterator[Cell]:
    for angles in PAIRS:
        event = f"some limit at {NOMINAL:.0%} lies above the difference"
        yield "jackknife", f"synthetic {angles}", "same rows", FEW, event, 1.0 - ASKED, partial(uncovered, angles)


@cache
def _pool(angles: tuple[int, ...]) -> FeaturePool:
    return FeaturePool(make_synthetic(100, angles=angles, rng=0), theta=0.1, ball=0.8)


def sure_and_wrong(rule: str, delta: float, trials: int, seed: int) -> int:
    """Trials in which a rule is sure of a wrong Bernoulli arm."""
    pool = ParametricPool.bernoulli(list(MEANS))
    found = pool.explore_many(by_name(rule, confidence=1.0 - delta), MONEY, trials, seed=seed)
    assert found.confident is not None
    return int((found.failures(pool.best_arms()) & found.confident).sum())


def excluded(angles: tuple[int, ...], delta: float, trials: int, seed: int) -> int:
    """Trials in which bets on pairs exclude the best arm at any of so many rows."""
    pool = _pool(angles)
    grams, y = [arm.gram for arm in pool.feature_arms], pool.population.y.astype(np.float64)
    best, bar = pool.best_arms()[0], math.log((pool.n_arms - 1) / delta)
    rng, wrong = np.random.default_rng(seed), 0
    for part in np.array_split(np.arange(trials), max(1, trials // 1000)):
        drawn = rng.integers(0, pool.n_rows, (len(part), ROWS))
        wealth = [
            log_wealth(Pairs.of(grams[u], grams[best], y, drawn), running=True).max(axis=1)
            for u in range(pool.n_arms)
            if u != best
        ]
        wrong += int((np.max(wealth, axis=0) >= bar).sum())
    return wrong


def bet(delta: float, trials: int, seed: int, up: float = 0.5, edge: float = 0.0) -> int:
    """Trials in which bets on later rows exclude the shift `edge`, though the mean of the differences is 0."""
    rng = np.random.default_rng(seed)
    low = -up * LARGEST_LOSS / (1.0 - up)
    drawn = np.where(rng.random((trials, LATER)) < up, LARGEST_LOSS, low)
    return sum(later_wealth(line, edge) >= math.log(1.0 / delta) for line in drawn)


def uncovered(angles: tuple[int, ...], trials: int, seed: int) -> int:
    """Trials in which some approximate limit is above the difference that there is."""
    pool = _pool(angles)
    assert pool.judge is not None
    rng = np.random.default_rng(seed)
    drawn = rng.integers(0, pool.n_rows, (trials, FEW))
    once = np.array([np.bincount(line, minlength=pool.n_rows) for line in drawn], dtype=np.int32)
    leader = np.column_stack([arm.refined(once, 0)[0] for arm in pool.feature_arms]).argmin(axis=1)
    found = pool.judge.differences(np.repeat(once[:, None], pool.n_arms, axis=1), leader)
    truth = pool.risks[None] - pool.risks[leader][:, None]
    above = found.value - half_widths(found, NOMINAL) > truth + 1e-12
    above[np.arange(trials), leader] = False
    return int(above.any(axis=1).sum())
