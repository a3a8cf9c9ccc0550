"""What rules with a confidence cost, and whether statements keep their word.

`python -m benchmarks.confidence [--quick] [--only PART]`

Every line has what is promised next to it. Peers are the textbook rules in `benchmarks/textbook.py`.
"""

from __future__ import annotations

import argparse
import sys
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass

import numpy as np

from benchmarks.held_out_tables import SOURCES, measure_coverage
from benchmarks.textbook import kl_lucb, top_two_thompson
from exml_sim.bandit._evidence import Pairs, log_wealth, paired_log_wealth
from exml_sim.bandit._jackknife import half_widths
from exml_sim.bandit.parametric import ParametricPool
from exml_sim.bandit.rows import FeaturePool
from exml_sim.bandit.selection_report import Pair, proven_limit, report_selection
from exml_sim.classifier._consensus import later_row_losses
from exml_sim.classifier._probability_models import brier, normalise, one_hot
from exml_sim.classifier._regression import KernelFitter
from exml_sim.datasets import make_synthetic
from exml_sim.strategies import by_name
from theory.verdicts import judge

DELTA = 0.05
LEVEL = 1.0 - DELTA
MEANS = [0.3] + [0.5] * 7
FIXED_CONFIDENCE = ("kl_lucb", "successive_elimination", "top_two_stopping", "ugap_ec")
#: Angles of the candidates and the seed: the default pool and five generated ones, near-ties among them.
POOLS = {
    "default": ((0, 2, 4, 6, 8, 10, 12, 90), 0),
    "near tie 70/90": ((70, 90), 0),
    "near tie 80/90": ((80, 90), 0),
    "four close 1": ((70, 75, 80, 90), 1),
    "four close 2": ((70, 75, 80, 90), 2),
    "spread": ((10, 30, 50, 70, 90), 3),
}


@dataclass(frozen=True, slots=True)
class Line:
    """A number, and the promise it is held against."""

    what: str
    value: float
    promised: float | None = None
    at_least: bool = False
    note: str = ""

    def text(self) -> str:
        """One line of the table."""
        shown = f"{self.value:>12,.4g}"
        if self.promised is None:
            return f"{self.what:<84}{shown}  {self.note}"
        kept = self.value >= self.promised if self.at_least else self.value <= self.promised
        sign = ">=" if self.at_least else "<="
        return f"{self.what:<84}{shown}  promised {sign} {self.promised:g}  {'ok' if kept else 'MISSED'}  {self.note}"


def feature_pool(angles: tuple[int, ...], seed: int) -> FeaturePool:
    """A pool of Section 5.1 in the affine regime."""
    return FeaturePool(make_synthetic(100, angles=angles, rng=seed), theta=0.1, ball=0.8)


def count_failures_at_stop(trials: int) -> Iterator[Line]:
    """Failures at the stop on near-ties, where they are most likely: held against delta by verdicts."""
    for means in ([0.45, 0.5, 0.5], [0.02, 0.05, 0.1], MEANS):
        pool = ParametricPool.bernoulli(means, direction="minimise")
        for name in FIXED_CONFIDENCE:
            batch = pool.explore_many(by_name(name), 100_000, trials, n_jobs=2)
            assert batch.confident is not None
            wrong = int((batch.failures([0]) & batch.confident).sum())
            note = f"confident in {batch.confident.mean():.1%}, mean money {batch.spent_units.mean():,.0f}; "
            note += judge(wrong, trials, DELTA).outcome
            yield Line(
                f"confident and wrong, {name}, means {means[0]:g}, {means[1]:g} … (K = {len(means)})",
                wrong / trials,
                DELTA,
                note=note,
            )


def compare_with_textbook(trials: int, peers: int) -> Iterator[Line]:
    """Mean money over that of the textbook rule on the same means."""
    pool = ParametricPool.bernoulli(MEANS, direction="minimise")
    rng = np.random.default_rng(0)
    rules: tuple[tuple[str, str, Callable[..., tuple[int, int]], float | None], ...] = (
        ("kl_lucb", "KL-LUCB", kl_lucb, 1.2),
        ("top_two_stopping", "TTTS, proven threshold", top_two_thompson, 1.2),
        ("top_two_stopping", "TTTS, threshold without proof", lambda *a: top_two_thompson(*a, proven=False), None),
    )
    for name, peer, run, promised in rules:
        ours = float(pool.explore_many(by_name(name), 10**6, trials, n_jobs=2).spent_units.mean())
        theirs = float(np.mean([run(MEANS, DELTA, rng)[1] for _ in range(peers)]))
        yield Line(
            f"money of {name} over {peer} (K = 8, gap 0.2)",
            ours / theirs,
            promised,
            note=f"{ours:,.0f} / {theirs:,.0f}",
        )


def easy_pools(trials: int) -> Iterator[Line]:
    """The budget that a gap of 0.1 needs, when the gap turns out to be 0.5."""
    hard, easy = ParametricPool.bernoulli([0.7] + [0.6] * 7), ParametricPool.bernoulli([0.7] + [0.2] * 7)
    budget = 400
    while hard.explore_many("uniform_allocation", budget, trials, n_jobs=2).failures([0]).mean() > DELTA:
        budget = int(budget * 1.1)
    for name in FIXED_CONFIDENCE:
        batch = easy.explore_many(by_name(name), 10**6, trials, n_jobs=2)
        note = f"fixed budget {budget}, failures {batch.failures([0]).mean():.4f}"
        yield Line(
            f"fixed budget for gap 0.1 over money of {name} at gap 0.5",
            budget / batch.spent_units.mean(),
            4.0,
            True,
            note,
        )


def speed(trials: int) -> Iterator[Line]:
    """Trials per second of two cores: per second of processor time, times two, so that other work does not count."""
    pool = ParametricPool.bernoulli(MEANS, direction="minimise")
    for name in FIXED_CONFIDENCE:
        rule = by_name(name)
        pool.explore_many(rule, 20_000, 64)
        rates = []
        for _ in range(3):
            start = time.process_time()
            pool.explore_many(rule, 20_000, trials)
            rates.append(2.0 * trials / (time.process_time() - start))
        promised = 5_000.0 if name in ("successive_elimination", "top_two_stopping") else None
        yield Line(f"trials per second of two cores, {name} (K = 8, delta 0.05, gap 0.2)", max(rates), promised, True)


def approximate(trials: int) -> Iterator[Line]:
    """Coverage of all limits together, of the excess risk, and how often the statement is confident and wrong."""
    for label, (angles, seed) in POOLS.items():
        pool = feature_pool(angles, seed)
        for rows in (16, 32, 64):
            covered, wrong = _count_covered(pool, rows, trials, np.random.default_rng(rows))
            yield Line(f"coverage of the approximate limits, {label}, {rows} rows", covered, 0.94, at_least=True)
            yield Line(f"  confident and wrong, {label}, {rows} rows", wrong, DELTA)


def _count_covered(pool: FeaturePool, rows: int, trials: int, rng: np.random.Generator) -> tuple[float, float]:
    risks = pool.risks
    drawn = rng.integers(0, pool.n_rows, (trials, rows))
    covered = wrong = 0
    for part in np.array_split(drawn, max(1, trials // 1000)):
        once = np.array([np.bincount(line, minlength=pool.n_rows) for line in part], dtype=np.int32)
        leader = np.column_stack([arm.refined(once, 0)[0] for arm in pool.feature_arms]).argmin(axis=1)
        assert pool.judge is not None
        result = pool.judge.differences(np.repeat(once[:, None], pool.n_arms, axis=1), leader)
        lower = result.value - half_widths(result, LEVEL)
        truth = risks[None] - risks[leader][:, None]
        other = np.arange(pool.n_arms) != leader[:, None]
        covered += int(np.all((lower <= truth + 1e-12) | ~other, axis=1).sum())
        wrong += int((np.all((lower > 0.0) | ~other, axis=1) & (truth.min(axis=1) < -1e-12)).sum())
    return covered / trials, wrong / trials


def proven(trials: int, rows: int) -> Iterator[Line]:
    """How often the best arm is ever excluded by a proof, at any of that many rows: held against delta."""
    for label, (angles, seed) in POOLS.items():
        pool = feature_pool(angles, seed)
        wrong = _count_excluded(pool, trials, rows, np.random.default_rng(1))
        note = judge(wrong, trials, DELTA).outcome
        yield Line(f"best arm excluded by a proof at any of {rows} rows, {label}", wrong / trials, DELTA, note=note)


def _count_excluded(pool: FeaturePool, trials: int, rows: int, rng: np.random.Generator) -> int:
    grams, y = [arm.gram for arm in pool.feature_arms], pool.population.y.astype(np.float64)
    best = pool.best_arms()[0]
    bar = np.log((pool.n_arms - 1) / DELTA)
    wrong = 0
    for _ in range(max(1, trials // 1000)):
        drawn = rng.integers(0, pool.n_rows, (min(trials, 1000), rows))
        crossed = np.zeros(drawn.shape[0], dtype=np.bool_)
        for u in range(pool.n_arms):
            if u != best:
                wealth = log_wealth(Pairs.of(grams[u], grams[best], y, drawn), running=True)
                crossed |= wealth.max(axis=1) >= bar
        wrong += int(crossed.sum())
    return wrong


def rows_for_a_proof(trials: int) -> Iterator[Line]:
    """Rows per arm until all rivals of the default pool are excluded by a proof: anytime, and at a fixed number."""
    pool = feature_pool(*POOLS["default"])
    grams, y = [arm.gram for arm in pool.feature_arms], pool.population.y.astype(np.float64)
    best = pool.best_arms()[0]
    rivals = [v for v in range(pool.n_arms) if v != best]
    bar = np.log(len(rivals) / DELTA)
    rng = np.random.default_rng(0)
    drawn = rng.integers(0, pool.n_rows, (trials, 2000))
    reached = np.zeros(trials)
    for v in rivals:
        hit = log_wealth(Pairs.of(grams[best], grams[v], y, drawn), running=True) >= bar
        reached = np.maximum(reached, np.where(hit.any(axis=1), 2.0 * (hit.argmax(axis=1) + 1), np.inf))
    yield Line("rows per arm until a proof, anytime (median, default pool)", float(np.median(reached)), 650.0)
    for rows in range(250, 650, 20):
        pairings = np.array([rng.permutation(rows) for _ in range(64)])
        alls = [
            all(paired_log_wealth(grams[best], grams[v], y, line[:rows], pairings) >= bar for v in rivals)
            for line in drawn[: max(20, trials // 5)]
        ]
        if np.mean(alls) >= 0.5:
            yield Line("rows per arm for a proof, fixed number (median, default pool)", rows, 450.0)
            return


def measure_held_out(trials: int) -> Iterator[Line]:
    """Coverage of the paired limits of held-out losses, the chosen candidate being the one that scores best.

    The truth is the mean difference of the losses of models of as many rows on rows of their own.
    """
    for angles in ((10, 90), (70, 90), (30, 50)):
        for rows in (40, 80):
            covered, wrong = _count_held_out_covered(angles, rows, trials)
            label = f"held-out losses, {angles[0]}/{angles[1]} degrees, {rows} rows"
            yield Line(f"coverage of the approximate limit, {label}", covered, 0.94, at_least=True)
            yield Line(f"  confident and wrong, {label}", wrong, DELTA)


def _count_held_out_covered(angles: tuple[int, ...], rows: int, trials: int) -> tuple[float, float]:
    source, new = (make_synthetic(size, angles=angles, rng=seed) for size, seed in ((4000, 5), (700, 99)))
    y, y_new = (source.y > 0).astype(np.int64), (new.y > 0).astype(np.int64)
    rng, fit = np.random.default_rng(rows), KernelFitter()
    losses, risks = np.empty((trials, 2, rows)), np.empty((trials, 2))
    for trial in range(trials):
        drawn = rng.choice(len(y), rows, replace=False)
        for k in range(2):
            points, others = (np.hstack([table.X, table.candidates[k].values]) for table in (source, new))
            model, out_of_fold = fit(points[drawn], one_hot(y[drawn], 2))
            losses[trial, k] = brier(normalise(out_of_fold), y[drawn])
            risks[trial, k] = brier(normalise(model.predict(others)), y_new).mean()
    truth = risks.mean(axis=0)
    held_up = wrong = 0
    for loss in losses:
        chosen = int(loss.mean(axis=1).argmin())
        said = report_selection("a", [Pair("b", loss[chosen], loss[1 - chosen])], LEVEL).comparisons[0]
        apart = truth[1 - chosen] - truth[chosen]
        held_up += said.at_least <= apart
        wrong += said.excluded and apart < 0.0
    return held_up / trials, wrong / trials


def tables(trials: int) -> Iterator[Line]:
    """The same on tables; wine and exclusive were not looked at when the error was chosen."""
    for name in SOURCES:
        for rows in (40, 60):
            result = measure_coverage(name, rows, trials, LEVEL)
            label = f"held-out losses, table {name}, {rows} rows"
            yield Line(f"coverage of the approximate limits, {label}", result.covered, 0.94, at_least=True)
            yield Line(
                f"  confident and wrong, {label}", result.wrong, DELTA, note=f"confident in {result.confident:.1%}"
            )


def later_rows(trials: int) -> Iterator[Line]:
    """Rows until bets on later rows prove the best candidate against all others, and how often they exclude it."""
    for label in ("default", "spread"):
        angles = POOLS[label][0]
        values = [_proof_by_later_rows(angles, trial) for trial in range(trials)]
        rows = float(np.median([entry for entry, _ in values]))
        promised = 225.0 if label == "default" else None
        yield Line(f"rows per arm until a proof by later rows ({label}, median of {trials})", rows, promised)
        yield Line(
            f"  the best one is excluded by a proof, {label}", float(np.mean([wrong for _, wrong in values])), DELTA
        )


def _proof_by_later_rows(angles: tuple[int, ...], seed: int) -> tuple[float, bool]:
    """Rows at the interim analysis that proves the last candidate best, and whether it was excluded before."""
    population = make_synthetic(300, angles=angles, rng=1000 + seed)
    order = np.random.default_rng(seed).permutation(len(population.y))
    y, bar = (population.y > 0).astype(np.int64), float(np.log((len(angles) - 1) / DELTA))
    points = [np.hstack([population.X, candidate.values]) for candidate in population.candidates]
    for rows in (80, 120, 160, 240, 320, 480):
        sample = order[:rows]
        *others, best = (later_row_losses(KernelFitter(), candidate[sample], y[sample], 2) for candidate in points)
        if any(proven_limit(best - other, bar) is not None for other in others):
            return float(rows), True
        if all(proven_limit(other - best, bar) is not None for other in others):
            return float(rows), False
    return np.inf, False


def race(trials: int) -> Iterator[Line]:
    """The subset selection on the default pool against the smallest certified budget of uniform allocation at 5 %."""
    from simulations import budget_vs_failure
    from simulations.certificates import search_budget

    pool, study = feature_pool(*POOLS["default"]), budget_vs_failure.make_study(1)
    budget = search_budget(study, study.cells()[0], DELTA).budget
    assert budget is not None
    practice = int(budget)
    for name in FIXED_CONFIDENCE:
        batch = pool.explore_many(by_name(name), 2048, trials)
        wrong = (batch.failures(pool.best_arms()) & batch.confident).mean()
        note = f"practice {practice}, mean {batch.spent_units.mean():.0f}, "
        note += f"sure {batch.confident.mean():.1%}, wrongly {wrong:.2%}"
        promised = 4.0 if name == "successive_elimination" else None
        ratio = batch.spent_units.mean() / practice
        yield Line(f"money of {name} over practice, default pool", ratio, promised, note=note)
    for label in ("near tie 70/90", "near tie 80/90"):
        tie = feature_pool(*POOLS[label])
        batch = tie.explore_many(by_name("successive_elimination"), 2048, trials)
        yield Line(
            f"confident and wrong, racing, {label}",
            float((batch.failures(tie.best_arms()) & batch.confident).mean()),
            DELTA,
        )


def main() -> None:
    """Print the table."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--quick", action="store_true", help="a tenth of the trials")
    parser.add_argument("--only", metavar="PART", help="one part of the table")
    given = parser.parse_args()
    share = 10 if given.quick else 1
    parts = {
        "speed": lambda: speed(40_960 // share),
        "at_the_stop": lambda: count_failures_at_stop(20_000 // share),
        "against_textbook": lambda: compare_with_textbook(4_096, 200 // share),
        "easy_pools": lambda: easy_pools(10_000 // share),
        "race": lambda: race(2_000 // share),
        "rows_for_a_proof": lambda: rows_for_a_proof(200 // share),
        "approximate": lambda: approximate(20_000 // share),
        "proven": lambda: proven(20_000 // share, 256),
        "held_out": lambda: measure_held_out(1_000 // share),
        "tables": lambda: tables(2_000 // share),
        "later_rows": lambda: later_rows(30 // share),
    }
    if given.only is not None and given.only not in parts:
        parser.error(f"--only is one of {', '.join(parts)}; got {given.only}")
    for name, part in parts.items():
        if given.only in (None, name):
            for line in part():
                print(line.text(), flush=True)


if __name__ == "__main__":
    sys.exit(main())
