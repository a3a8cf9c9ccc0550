"""Exact distributions: enumerate every outcome of a cell with its probability, with the strategies that trials run.

A trial reads rows from orders (one for all arms, or one per arm), and only the counts of rows between the positions
where arms start and stop reading matter. So the orders are cut at those positions, all count vectors of the pieces are
enumerated, and the strategy runs over all of them as if each were a trial. Where a strategy stops reading
is not known before it runs: it starts with no cuts, says which one it misses, and runs again.

Rows that are alike (same label, same features) are one atom with a multiplicity. Random ties split outcomes
(`exml_sim.engine.modes._outcomes`).
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from fractions import Fraction
from itertools import combinations
from math import comb
from typing import Any, NoReturn

import numpy as np
from scipy.special import gammaln

from exml_sim._internal.arrays import BoolArray, CountArray, FloatArray, IntArray
from exml_sim.bandit._ranking import Scores, TieBreaker
from exml_sim.bandit.parametric import BernoulliArm, BoundedArm, ParametricPool
from exml_sim.bandit.pool import Pool
from exml_sim.bandit.rows import FeaturePool
from exml_sim.bandit.scoring import RESOLUTION, Certified
from exml_sim.bandit.trial_batch import BASELINE_RISK, ArmState, Payment, Strategy
from exml_sim.engine._trials import OutcomeDistribution, outcomes
from exml_sim.engine.modes._outcomes import EnumeratedTies
from exml_sim.engine.study import Cell, Study
from exml_sim.money import exact
from exml_sim.seeds import Seeds

#: Outcomes that are enumerated at most; beyond this, trials are the better tool.
MAX_OUTCOMES = 2_000_000

#: Branches of ties per outcome, on average, that are followed at most; each costs as much as an outcome.
MAX_BRANCHES_PER_OUTCOME = 8
#: Branches that few outcomes may have in any case: about two seconds of processor time.
MIN_BRANCHES = 100_000

#: An order of rows: (substream, round); the round is 0 unless every round has orders of its own.
Order = tuple[int, int]


class MissingCut(Exception):
    """The strategy reads up to a position at which an order has not been cut yet."""

    def __init__(self, order: Order, positions: set[int]) -> None:
        super().__init__(order, positions)
        self.order = order
        self.positions = positions


class RowBench:
    """A feature pool seen through its atoms."""

    baseline = BASELINE_RISK
    has_exact_scores = False
    resolution = RESOLUTION

    def __init__(self, pool: FeaturePool) -> None:
        population = pool.population
        whole = np.column_stack([population.y, population.X, *(c.values for c in population.candidates)])
        _, first, sizes = np.unique(whole, axis=0, return_index=True, return_counts=True)
        self._pool = pool
        self._first, self._sizes = first, sizes.astype(np.int64)
        self.substreams = [0] * pool.n_arms if pool.options.rows == "same" else list(range(pool.n_arms))
        self.replacement = pool.options.replacement
        self.levels = max(arm.levels for arm in pool.feature_arms)

    def probabilities(self, substream: int) -> FloatArray:
        """Atoms by the number of their rows."""
        return np.asarray(self._sizes / self._sizes.sum(), dtype=np.float64)

    def sizes(self, substream: int) -> IntArray:
        """Return the numbers of rows."""
        return self._sizes

    def score(self, arm: int, counts: IntArray, level: int) -> Certified:
        """Score with all copies of an atom counted on one of its rows."""
        spread: CountArray = np.zeros((counts.shape[0], self._pool.n_rows), dtype=np.int32)
        spread[:, self._first] = counts
        return self._pool.feature_arms[arm].refined(spread, level)


class KnownBench:
    """Arms with finitely many values; each has a substream."""

    has_exact_scores = True
    levels = 1
    replacement = "always"
    resolution = 0.0

    def __init__(self, pool: ParametricPool) -> None:
        self._probabilities, self._values = [], []
        self.baseline = pool.baseline
        sign = -1 if pool.direction == "maximise" else 1
        self._grids = [sign * arm.grid for arm in pool.arms]
        for arm in pool.arms:
            if isinstance(arm, BernoulliArm):
                self._values.append(np.array([0.0, 1.0]))
                self._probabilities.append(np.array([1.0 - arm.mean, arm.mean]))
            elif isinstance(arm, BoundedArm):
                # In whole steps of the arm's grid, as its trials add them up: equal means are equal scores.
                self._values.append(np.array([float(exact(value) * arm.grid) for value in arm.values]))
                self._probabilities.append(np.array(arm.probabilities))
            else:
                raise ValueError(f"mode 'exact' needs arms with finitely many values, got {arm!r}")
        self.substreams = list(range(pool.n_arms))

    def probabilities(self, substream: int) -> FloatArray:
        """Return the probabilities of the arm's values."""
        return self._probabilities[substream]

    def sizes(self, substream: int) -> IntArray:
        """Distributions do not run out."""
        raise NotImplementedError

    def score(self, arm: int, counts: IntArray, level: int) -> Certified:
        """Means."""
        mean = counts @ self._values[arm] / (counts.sum(axis=1) * self._grids[arm])
        return mean, mean, mean


#: What enumeration must know of a pool.
Bench = RowBench | KnownBench


@dataclass(frozen=True, slots=True, eq=False)
class Outcomes:
    """All outcomes of the orders at some cuts.

    Attributes
    ----------
    prefix
        For every order, counts of its atoms up to each cut, shape (outcomes, cuts, atoms).
    cuts
        Positions of the cuts of every order, the first one 0.
    probability
        Probability of each outcome.
    """

    prefix: dict[Order, IntArray]
    cuts: dict[Order, list[int]]
    probability: FloatArray

    def part(self, which: slice | IntArray) -> Outcomes:
        """Some of the outcomes."""
        return Outcomes({key: value[which] for key, value in self.prefix.items()}, self.cuts, self.probability[which])


def enumerate_outcomes(bench: Bench, cuts: dict[Order, list[int]]) -> Outcomes:
    """Return all count vectors of the pieces of all orders."""
    prefix: dict[Order, IntArray] = {}
    probability = np.ones(1)
    for order, positions in cuts.items():
        atoms = len(bench.probabilities(order[0]))
        lines = np.zeros((1, 1, atoms), dtype=np.int64)
        mass = np.ones(1)
        for length in np.diff(positions).tolist():
            lines, mass = _extended(bench, order[0], lines, mass, length)
        size = probability.size * mass.size
        _check_size(size)
        prefix = {key: np.repeat(value, mass.size, axis=0) for key, value in prefix.items()}
        prefix[order] = np.tile(lines, (probability.size, 1, 1))
        probability = np.multiply.outer(probability, mass).ravel()
    return Outcomes(prefix, cuts, probability)


def _extended(
    bench: Bench, substream: int, lines: IntArray, mass: FloatArray, length: int
) -> tuple[IntArray, FloatArray]:
    """Append one piece to every line."""
    atoms = lines.shape[2]
    _check_size(lines.shape[0] * comb(length + atoms - 1, atoms - 1))
    pieces = compositions(length, atoms)
    last = np.repeat(lines[:, -1], len(pieces), axis=0)
    piece = np.tile(pieces, (lines.shape[0], 1))
    if bench.replacement == "always":
        with np.errstate(divide="ignore", invalid="ignore"):
            terms = np.where(piece > 0, piece * np.log(bench.probabilities(substream)), 0.0)
        log = gammaln(length + 1) - gammaln(piece + 1).sum(axis=1) + terms.sum(axis=1)
    else:
        left = bench.sizes(substream) - last
        possible = (piece <= left).all(axis=1)
        last, piece, left = last[possible], piece[possible], left[possible]
        log = _log_comb(left, piece).sum(axis=1) - _log_comb(left.sum(axis=1), piece.sum(axis=1))
        keep = np.flatnonzero(possible)
        mass = np.repeat(mass, len(pieces))[keep]
        lines = np.repeat(lines, len(pieces), axis=0)[keep]
        return np.concatenate([lines, (last + piece)[:, None]], axis=1), mass * np.exp(log)
    lines = np.repeat(lines, len(pieces), axis=0)
    kept = np.isfinite(log)
    following = np.concatenate([lines, (last + piece)[:, None]], axis=1)
    return following[kept], (np.repeat(mass, len(pieces)) * np.exp(log))[kept]


def compositions(total: int, parts: int) -> IntArray:
    """Return all vectors of `parts` non-negative whole numbers with the given sum, one per line."""
    size = comb(total + parts - 1, parts - 1)
    _check_size(size)
    bars = np.array(list(combinations(range(total + parts - 1), parts - 1)), dtype=np.int64).reshape(size, parts - 1)
    edges = np.hstack([np.full((size, 1), -1), bars, np.full((size, 1), total + parts - 1)])
    return np.asarray(np.diff(edges, axis=1) - 1, dtype=np.int64)


def _log_comb(n: IntArray, k: IntArray) -> FloatArray:
    return np.asarray(gammaln(n + 1) - gammaln(k + 1) - gammaln(n - k + 1), dtype=np.float64)


def _check_branches(branches: int, outcomes: int) -> None:
    most = max(MAX_BRANCHES_PER_OUTCOME * outcomes, MIN_BRANCHES)
    if branches > most:
        raise ValueError(
            f"too many outcomes to enumerate: random ties split {outcomes} of them into more than {most} branches; "
            "lower the budget or the number of rounds, set ties = 'lowest', or use mode 'monte_carlo'"
        )


def _check_size(size: int, most: int = MAX_OUTCOMES) -> None:
    if size > most:
        raise ValueError(
            f"{size} outcomes to enumerate, at most {most} are allowed: lower the budget, use a pool "
            "with fewer different rows, or mode 'monte_carlo' or 'importance_sampling'"
        )


class NotEnumerableError(ValueError):
    """A strategy that needs more than the scores of the arms has no outcomes to enumerate."""


class EnumeratedSession(ArmState):
    """A session whose lines are all outcomes instead of trials."""

    def __init__(self, bench: Bench, outcomes_: Outcomes) -> None:
        self._bench = bench
        self._outcomes = outcomes_
        self.levels = bench.levels
        self.has_exact_scores = bench.has_exact_scores
        self.baseline = bench.baseline
        lines = outcomes_.probability.size
        self._next = np.zeros((lines, len(bench.substreams)), dtype=np.int64)
        self._bought: list[IntArray] = [
            np.zeros((lines, len(bench.probabilities(substream))), np.int64) for substream in bench.substreams
        ]
        self._fresh = self._bought
        self._round = 0

    def _check_rows(self, pulls: IntArray, fresh: bool) -> None:
        """Raise an error if rows run out: a shortage of rows is not enumerated."""
        if self._bench.replacement != "always":
            room = int(self._bench.sizes(0).sum())
            if int((self._start(fresh) + pulls).max()) > room:
                raise ValueError(f"the budget asks for more than the {room} rows there are without replacement")

    def _start(self, fresh: bool) -> IntArray:
        """Where arms read next; the same rule as `RowSampler` has."""
        if self._bench.replacement == "across":
            return np.zeros_like(self._next)
        independent = isinstance(self._bench, KnownBench)
        if fresh and not independent:
            return np.broadcast_to(self._next.max(axis=1, keepdims=True), self._next.shape).copy()
        return self._next

    def evidence(self, *arguments: Any, **options: Any) -> NoReturn:
        """Refuse a stopping rule by evidence."""
        raise NotEnumerableError(
            "a strategy that stops by evidence cannot be enumerated: choose mode 'fixed_confidence' or 'monte_carlo'"
        )

    def pull(self, pulls: IntArray, fresh: bool, pay: Payment) -> IntArray:
        """Take the counts between two cuts of every arm's order."""
        self._check_rows(pulls, fresh)
        pay(pulls, pulls)
        start = self._start(fresh)
        stop = start + pulls
        turn = self._round + 1 if self._bench.replacement == "across" else 0
        gained = []
        for arm, substream in enumerate(self._bench.substreams):
            wanted = pulls[:, arm] > 0
            piece = np.zeros_like(self._bought[arm])
            if wanted.any():
                piece[wanted] = self._between((substream, turn), start[wanted, arm], stop[wanted, arm], wanted)
            gained.append(piece)
        self._bought = [old + new for old, new in zip(self._bought, gained, strict=True)]
        self._fresh = gained
        self._next = stop if not fresh else np.where(pulls > 0, stop, self._next)
        self._round += 1
        return pulls

    def _between(self, order: Order, start: IntArray, stop: IntArray, lines: BoolArray) -> IntArray:
        positions = np.array(self._outcomes.cuts.get(order, [0]))
        first, last = np.searchsorted(positions, start), np.searchsorted(positions, stop)
        top = len(positions) - 1
        if (positions[np.minimum(first, top)] != start).any() or (positions[np.minimum(last, top)] != stop).any():
            raise MissingCut(order, set(np.unique(start).tolist()) | set(np.unique(stop).tolist()))
        prefix = self._outcomes.prefix[order][lines]
        at = np.arange(prefix.shape[0])
        return np.asarray(prefix[at, last] - prefix[at, first], dtype=np.int64)

    def score(self, wanted: BoolArray, fresh: bool, level: int) -> Scores:
        """Score the wanted arms on their counts."""
        bought = self._fresh if fresh else self._bought
        value, lower, upper = (np.full(wanted.shape, np.inf) for _ in range(3))
        for arm in range(wanted.shape[1]):
            lines = np.flatnonzero(wanted[:, arm])
            if lines.size:
                scores = self._bench.score(arm, bought[arm][lines], level)
                value[lines, arm], lower[lines, arm], upper[lines, arm] = scores
        return Scores(value, lower, upper, self._bench.resolution)

    def counts(self) -> None:
        """Counts are of atoms, not of rows."""
        return


def bench_of(pool: Pool) -> Bench:
    """Return what enumeration must know of a pool."""
    if isinstance(pool, FeaturePool):
        return RowBench(pool)
    if isinstance(pool, ParametricPool):
        return KnownBench(pool)
    raise ValueError(f"mode 'exact' needs a feature pool or known arms, got {pool!r}")


def enumerate_cell(study: Study, cell: Cell) -> OutcomeDistribution:
    """Enumerate the exact distribution of a cell's outcome.

    Raises
    ------
    ValueError
        If there are too many outcomes, or the pool is not of a kind that can be enumerated.
    """
    try:
        return enumerate_distribution(study.pool(cell), study.strategy(cell), exact(cell.budget))
    except ValueError as error:
        raise ValueError(f"cell {cell.index} ({cell}): {error}") from None


def enumerate_distribution(
    pool: Pool, rule: Strategy, budget: Fraction, most: int = MAX_OUTCOMES
) -> OutcomeDistribution:
    """Enumerate the outcomes of a strategy on a pool, at most `most` of them.

    Raises
    ------
    ValueError
        If there are too many outcomes, or the pool is not of a kind that can be enumerated.
    """
    bench = bench_of(pool)
    cuts: dict[Order, list[int]] = {}
    while True:
        _check_size(_foreseen(bench, cuts), most)
        try:
            return _sum_outcomes(pool, rule, budget, bench, enumerate_outcomes(bench, cuts))
        except MissingCut as missing:
            known = cuts.get(missing.order, [0])
            cuts[missing.order] = sorted({*known, *missing.positions})


def _foreseen(bench: Bench, cuts: dict[Order, list[int]]) -> int:
    """Return how many outcomes there are at some cuts, rows with replacement; without it there are fewer."""
    total = 1
    for (substream, _), positions in cuts.items():
        atoms = len(bench.probabilities(substream))
        for length in np.diff(positions).tolist() if bench.replacement == "always" else ():
            total *= comb(length + atoms - 1, atoms - 1)
    return total


def least_outcomes(study: Study, cell: Cell) -> int:
    """Return how many outcomes a cell has at least, by the cuts that one trial needs, before any work is done.

    Raises
    ------
    ValueError
        If that is already too many, or the pool is not of a kind that can be enumerated.
    """
    pool = study.pool(cell)
    bench = bench_of(pool)
    trial = pool.explore(study.strategy(cell), exact(cell.budget), Seeds.of(study.seed, 0, cell.stream))
    total = 1
    for turn in trial.rounds:
        for substream in set(bench.substreams):
            length = max(int(turn.pulls[arm]) for arm, at in enumerate(bench.substreams) if at == substream)
            if bench.replacement == "always":
                atoms = len(bench.probabilities(substream))
                total *= comb(length + atoms - 1, atoms - 1)
    _check_size(total)
    return total


def _sum_outcomes(pool: Pool, rule: Strategy, budget: Fraction, bench: Bench, all_of: Outcomes) -> OutcomeDistribution:
    sums = np.zeros((5, pool.n_arms))
    waiting: list[tuple[Outcomes, dict[int, IntArray]]] = [
        (all_of.part(slice(start, start + pool.block)), {}) for start in range(0, all_of.probability.size, pool.block)
    ]
    branches = all_of.probability.size
    while waiting:
        part, orders = waiting.pop()
        lines = part.probability.size
        ties = EnumeratedTies(lines, orders) if getattr(rule, "ties", "random") == "random" else TieBreaker()
        trials, selected = pool.drive(rule, budget, EnumeratedSession(bench, part), lines, ties=ties)
        success, regret = outcomes(pool, selected, rule.objective)
        mass = part.probability
        if isinstance(ties, EnumeratedTies) and ties.is_open.any():
            mass = np.where(ties.is_open, 0.0, mass)
            branches += ties.count_branches()
            _check_branches(branches, all_of.probability.size)
            outcome, share, split = ties.split()
            for start in range(0, outcome.size, pool.block):
                piece = slice(start, start + pool.block)
                shared = replace(part.part(outcome[piece]), probability=part.probability[outcome[piece]] * share[piece])
                waiting.append((shared, {decision: given[piece] for decision, given in split.items()}))
        # Probability, its parts with success and with failure, and its part of the mean regret.
        for row, weight in enumerate((mass, mass * success, mass * ~success, mass * regret)):
            sums[row] += np.bincount(selected[:, 0], weight, minlength=pool.n_arms)
        sums[4] += mass @ trials.pulls
    return OutcomeDistribution(*(tuple(line.tolist()) for line in sums))
