r"""Rare failures: rows are drawn from a mixture of tilted distributions, trials weighted by exact likelihood ratios.

A trial draws one component c of the mixture, then its order of rows: position j from the tilt q_cj of its segment and
substream, or from the population p where there is none. Whatever the component was, the trial's weight is the
likelihood ratio of the population to the whole mixture,

.. math:: w = \Big( \sum_c \alpha_c \prod_j q_{cj}(x_j) / p(x_j) \Big)^{-1},

over the positions that were read. So the mean of w over failures is the failure probability, without bias, and w is at
most one over the share of the plain component. `exml_sim.engine.modes._tilting` says why it is far smaller on failures.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Iterable
from fractions import Fraction
from functools import lru_cache

import numpy as np
from scipy.special import logsumexp

from exml_sim._internal.arrays import BoolArray, CountArray, FloatArray, IntArray, WordArray
from exml_sim._internal.compiled import kernel
from exml_sim.bandit._sampling import RowOptions, RowSampler
from exml_sim.bandit.rows import FeaturePool, RowState
from exml_sim.bandit.trial import Exploration, Explorations, read_trial
from exml_sim.bandit.trial_batch import TrialBatch, break_ties
from exml_sim.engine._trials import Block, CellMetadata, block_of, plain_metadata
from exml_sim.engine.modes._tilting import Mixture, mixture, read_schedule
from exml_sim.engine.study import Cell, Study
from exml_sim.money import exact
from exml_sim.seeds import Seeds, mulhi, philox

#: The round in whose words the component is drawn: no order of rows uses it.
_COMPONENT_TURN = np.uint64(1 << 62)


def tilted_trials(study: Study, cell: Cell, trials: Iterable[int]) -> tuple[Explorations, FloatArray]:
    """Run trials of a cell with tilted rows; returns them and their weights."""
    pool = _feature_pool(study, cell)
    numbers = list(trials)
    seeds = Seeds.of(study.seed, numbers, cell.stream)
    parts, weights = [], []
    for start in range(0, len(numbers), pool.block):
        part = seeds.part(slice(start, start + pool.block))
        run, sampler, selected = _explore(study, cell, pool, part, record=False)
        parts.append(Explorations(selected, run.pulls, run.ledger.spent_units, pool.prices.unit, part))
        weights.append(sampler.weights())
    return Explorations.join(parts, seeds), np.concatenate(weights)


def block(study: Study, cell: Cell, trials: range) -> Block:
    """Run trials of a cell with tilted rows, each with its likelihood ratio as weight."""
    start = time.perf_counter()
    explored, weight = tilted_trials(study, cell, trials)
    return block_of(study, cell, trials, explored, weight, start)


def metadata(study: Study, cell: Cell) -> CellMetadata:
    """Return the metadata of the pool, and what is known of the weights."""
    known, plain = tilts(study, cell), plain_metadata(study, cell)
    weights = (bool(known.complete), float(known.weight_bound), float(known.left_out))
    return CellMetadata(plain.largest_regret, plain.costs, *weights)


def replay(study: Study, cell: Cell, trial: int) -> Exploration:
    """Run one trial with tilted rows again and keep everything about it."""
    pool = _feature_pool(study, cell)
    run, _, selected = _explore(study, cell, pool, Seeds.of(study.seed, trial, cell.stream), record=True)
    return read_trial(run, selected)


def tilts(study: Study, cell: Cell) -> Mixture:
    """Return the mixture that a cell's trials are drawn from."""
    return _tables(study, cell).mixture


def _feature_pool(study: Study, cell: Cell) -> FeaturePool:
    pool = study.pool(cell)
    if not isinstance(pool, FeaturePool):
        raise ValueError(
            "mode 'importance_sampling' tilts the rows of a feature pool; "
            "for parametric arms use mode 'exact' or 'monte_carlo'"
        )
    if pool.options.replacement != "always":
        raise ValueError(
            f"mode 'importance_sampling' needs independent draws (replacement='always'), "
            f"got {pool.options.replacement!r}"
        )
    return pool


def _explore(
    study: Study, cell: Cell, pool: FeaturePool, seeds: Seeds, *, record: bool
) -> tuple[TrialBatch, TiltedSampler, IntArray]:
    rule = study.strategy(cell)
    sampler = TiltedSampler(seeds, pool.n_arms, pool.n_rows, pool.options, _tables(study, cell))
    session = RowState(pool.arms, sampler)
    ties = break_ties(rule, seeds)
    run, selected = pool.drive(rule, exact(cell.budget), session, len(seeds), record=record, ties=ties)
    return run, sampler, selected


class Tables:
    """A mixture in the form that kernels read.

    The probabilities of a tilt are rounded to multiples of 2**-64 first, and the likelihood ratios are those of the
    rounded numbers, so that they are exact for what is drawn.
    """

    def __init__(self, tilts: Mixture) -> None:
        self.mixture = tilts
        rows = tilts.log_ratio.shape[-1]
        self.bounds, self.tilted = tilts.bounds, tilts.tilted
        self.edges = np.zeros(tilts.log_ratio.shape, dtype=np.uint64)
        self.log_ratio = np.zeros(tilts.log_ratio.shape)
        for place in np.argwhere(tilts.tilted):
            at = tuple(place)
            self.edges[at], self.log_ratio[at] = _rounded(np.exp(tilts.log_ratio[at]) / rows)
        self.chosen = _edges(tilts.share)
        # The shares that are drawn, exactly.
        ends = [0, *(int(edge) for edge in self.chosen[:-1]), 2**64]
        self.log_share = np.array(
            [float(np.log(float(wide) / 2**64)) for wide in np.diff(np.array(ends, dtype=object))]
        )


def _edges(probabilities: FloatArray) -> WordArray:
    """Return the upper ends of the ranges of words that stand for each entry; the last one is open."""
    reached = np.cumsum([Fraction(float(p)) for p in probabilities])
    ends = [min(int(edge / reached[-1] * 2**64), 2**64 - 1) for edge in reached]
    ends[-1] = 2**64 - 1
    return np.array(ends, dtype=np.uint64)


def _rounded(probabilities: FloatArray) -> tuple[WordArray, FloatArray]:
    """Return the edges of probabilities over rows, and log of (their rounded probability / uniform probability)."""
    edges = _edges(probabilities)
    ends = [int(edge) for edge in edges]
    ends[-1] = 2**64
    widths = np.diff([0, *ends])
    with np.errstate(divide="ignore"):
        return edges, np.array([float(np.log(float(width) / 2**64 * probabilities.size)) for width in widths])


class TiltedSampler(RowSampler):
    """Rows of N trials, each from one component of a mixture.

    Parameters
    ----------
    tables
        The mixture.
    """

    def __init__(self, seeds: Seeds, n_arms: int, n_rows: int, options: RowOptions, tables: Tables) -> None:
        super().__init__(seeds, n_arms, n_rows, options)
        self._tables = tables
        self._component = np.empty(len(seeds), dtype=np.int64)
        _choose(self._component, seeds.key, seeds.trials, tables.chosen)
        self._tables_of = np.arange(n_arms) if options.rows == "independent" else np.zeros(n_arms, dtype=np.int64)
        self._read = np.zeros((len(seeds), n_arms), dtype=np.int64)

    def draw(self, pulls: IntArray, fresh: bool) -> None:
        """Add granted pulls to the counts."""
        start = np.ascontiguousarray(self._start(fresh))
        target = self.counts
        if fresh:
            target = self._fresh = np.zeros_like(self.counts)
        tables = self._tables
        _add_tilted(
            target, self.seeds.key, self.seeds.trials, self._substreams, start, pulls,
            self._component, tables.bounds, tables.tilted, tables.edges, self._tables_of,
        )  # fmt: skip
        if fresh:
            self.counts += target
        self._next = start + pulls if not fresh else np.where(pulls > 0, start + pulls, self._next)
        self._read = np.maximum(self._read, np.where(pulls > 0, start + pulls, 0))
        self._round += 1

    def weights(self) -> FloatArray:
        """Likelihood ratio of the population to the mixture, on all positions that were read."""
        tables = self._tables
        substreams = int(tables.tilted.shape[2])
        read = self._read if substreams > 1 else self._read.max(axis=1, keepdims=True)
        logs = np.zeros((len(self.seeds), tables.log_share.size))
        _add_log_ratios(
            logs, self.seeds.key, self.seeds.trials, self._substreams[:substreams], np.ascontiguousarray(read),
            self._component, tables.bounds, tables.tilted, tables.edges, tables.log_ratio,
        )  # fmt: skip
        return np.asarray(np.exp(-logsumexp(logs + tables.log_share, axis=1)), dtype=np.float64)


@kernel
def _find(edges: WordArray, word: np.uint64) -> np.int64:
    """Return the entry whose range holds a word: the first whose upper end is above it."""
    low, high = np.int64(0), np.int64(edges.size - 1)
    while low < high:
        middle = (low + high) // 2
        if word < edges[middle]:
            high = middle
        else:
            low = middle + 1
    return low


@kernel
def _choose(component: IntArray, key: WordArray, trials: WordArray, edges: WordArray) -> None:
    for t in range(trials.size):
        words = philox(key[0], key[1], np.uint64(0), np.uint64(0), trials[t], _COMPONENT_TURN)
        component[t] = _find(edges, words[0])


@kernel
def _segment(position: int, bounds: IntArray) -> int:
    """Return the segment of a position; as many as there are segments for one beyond the last."""
    s = 0
    while s < bounds.size - 1 and position >= bounds[s + 1]:
        s += 1
    return s


@kernel
def _row(word: np.uint64, segment: int, tilted: BoolArray, edges: WordArray) -> np.int64:
    """Return the row at a position: by the tilt of its segment, or plain where there is none."""
    if segment < tilted.size and tilted[segment]:
        return _find(edges[segment], word)
    return np.int64(mulhi(word, np.uint64(edges.shape[1])))


@kernel
def _add_tilted(
    counts: CountArray, key: WordArray, trials: WordArray, substreams: WordArray, start: IntArray, pulls: IntArray,
    component: IntArray, bounds: IntArray, tilted: BoolArray, edges: WordArray, table: IntArray,
) -> None:  # fmt: skip
    """Buy positions start … start + pulls of every arm's order."""
    for t in range(counts.shape[0]):
        c = component[t]
        for k in range(counts.shape[1]):
            substream = table[k]
            for j in range(start[t, k], start[t, k] + pulls[t, k]):
                words = philox(key[0], key[1], np.uint64(j // 4), substreams[k], trials[t], np.uint64(0))
                counts[
                    t, k, _row(words[j % 4], _segment(j, bounds), tilted[c, :, substream], edges[c, :, substream])
                ] += 1


@kernel
def _add_log_ratios(
    logs: FloatArray, key: WordArray, trials: WordArray, substreams: WordArray, read: IntArray,
    component: IntArray, bounds: IntArray, tilted: BoolArray, edges: WordArray, log_ratio: FloatArray,
) -> None:  # fmt: skip
    """Add up log q / p of every component over the positions that were read."""
    for t in range(logs.shape[0]):
        own = component[t]
        for substream in range(substreams.size):
            for j in range(min(read[t, substream], bounds[-1])):
                s = _segment(j, bounds)
                words = philox(key[0], key[1], np.uint64(j // 4), substreams[substream], trials[t], np.uint64(0))
                row = _row(words[j % 4], s, tilted[own, :, substream], edges[own, :, substream])
                for c in range(logs.shape[1]):
                    if tilted[c, s, substream]:
                        logs[t, c] += log_ratio[c, s, substream, row]


_LOCK = threading.Lock()


def _tables(study: Study, cell: Cell) -> Tables:
    """Return the mixture of a cell, found once."""
    # Threads that ask at the same time wait for the first one.
    with _LOCK:
        return find_tables(study, cell)


@lru_cache(maxsize=64)
def find_tables(study: Study, cell: Cell) -> Tables:
    """Find the mixture of a cell, whose rounds are those of one plain trial."""
    pool, rule = _feature_pool(study, cell), study.strategy(cell)
    if rule.objective != "risk":
        raise ValueError(f"mode 'importance_sampling' is for strategies that select by risk, got {rule.objective!r}")
    trial = pool.explore(rule, exact(cell.budget), Seeds.of(study.seed, 0, cell.stream))
    return Tables(mixture(pool, read_schedule(rule, pool.prices, trial)))
