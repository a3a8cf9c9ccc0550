r"""Rare failures of uniform allocation: trials from a mixture of tilted distributions, with weights that are bounded.

Component 0 of the mixture, with the share `PLAIN`, is the population itself. Whatever was drawn, the likelihood ratio w
of the population to the mixture is therefore at most 1 / `PLAIN`. The other components are the tilts of
`exml_sim.engine.modes._tilting`. They make the weights of nearly all failures small, which the certificate does not
assume. The mean of w over failures is the failure probability, and bets on it are evidence (Theorem C7 of
docs/theorems.md).

Nearly all trials are plain, and in nearly all of them no rival is near the best arm. A screening in single precision
proves that. A positive semidefinite majorant M of the rivals' kernels gives one upper bound for all of them. Of M and
of the best arm's kernel only the leading eigenvectors are summed. What is left of M has at most the squared mean of the
roots of its diagonal. Trials that are not cleared, and those of tilted components, are scored in double precision.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from fractions import Fraction
from functools import partial

import numpy as np
from numpy.typing import NDArray
from scipy.special import logsumexp

from exml_sim._internal.arrays import BoolArray, FloatArray, IntArray
from exml_sim._internal.compiled import compiled_sums, kernel
from exml_sim.bandit.rows import FeaturePool
from exml_sim.engine.modes._importance_sampling import tilts
from exml_sim.engine.study import Study
from exml_sim.strategies import UniformAllocation
from simulations._pool_bounds import known_pool
from theory.population._certificates import psd_majorant

__all__ = ["BLOCK", "RareFailures", "find_obstacle", "log_evidence", "run_trials"]

#: Share of the trials that are drawn from the population: weights are at most its inverse.
PLAIN = 0.998
#: Trials that are drawn at once; every such block has a substream of its own.
BLOCK = 1024
#: Eigenvectors of the majorant and of the best arm's kernel that the screening sums.
RIVAL_RANK, BEST_RANK = 32, 8
#: Rows per arm at which the tilts are found; they hardly depend on it, and no statement does.
TILT_ROWS = 64
#: Tilts are rounded to this, so that another machine draws the same rows.
TILT_STEP = 1 / 64
#: More than the relative rounding of a weight.
ROUNDING = 1e-9
#: A log of the evidence from which no run recovers in time.
LOST = -20.0
#: Stakes of the bets, as parts of the largest possible one, and how much is bet by each.
STAKES, SHARES = np.array([0.95, 0.5, 0.1]), np.array([0.8, 0.1, 0.1])

Words = NDArray[np.uint32]


def find_obstacle(only: Study) -> str:
    """Return why rare failures of a study's only cell cannot be sampled here; empty if they can."""
    cell = only.cells()[0]
    pool, strategy = only.pool(cell), only.strategy(cell)
    if not isinstance(pool, FeaturePool) or pool.scoring.ball is None or not known_pool(pool).affine:
        return "arms scored over a ball with kappa Lambda at most 1 - 2 theta"
    if type(strategy) is not UniformAllocation or strategy.top != 1:
        return "uniform allocation"
    if pool.options.replacement != "always" or pool.options.rows != "same":
        return "the same rows for all arms, drawn with replacement"
    if strategy.alignment != "sample" and len(set(pool.costs)) > 1:
        return "the same number of rows for all arms"
    return ""


def log_evidence(weights: Sequence[float] | FloatArray, trials: int, bound: float, largest: float) -> float:
    """Return the log of the evidence that a failure probability is below a bound, valid at every stop.

    A trial multiplies a bet by 1 + stake (bound - x), x its weight if it fails and 0 otherwise. The largest stake
    leaves nothing after a failure with the largest weight.

    Parameters
    ----------
    weights : sequence of float
        Weights of the failures.
    trials : int
        All trials.
    bound : float
        The bound, in (0, 1).
    largest : float
        A number that no weight exceeds.
    """
    failures = np.asarray(weights, dtype=np.float64)
    if failures.size and not 0.0 <= float(failures.min()) <= float(failures.max()) <= largest:
        raise ValueError(f"weights must be between 0 and {largest:g}, got {failures.min():g} to {failures.max():g}")
    stakes = STAKES / (largest - bound)
    logs = (trials - failures.size) * np.log1p(stakes * bound)
    logs += np.log1p(stakes[:, None] * (bound - failures)).sum(axis=1)
    return float(logsumexp(logs, b=SHARES))


def run_trials(
    only: Study, budget: Fraction, digest: str, bound: float, needed: float, max_trials: int, n_jobs: int
) -> tuple[int, FloatArray, bool]:
    """Run trials until the log of the evidence reaches what is needed, or until the bets have lost.

    Returns the number of trials, the weights of the failures, and whether there is enough evidence.
    """
    rare, done, weights, enough = RareFailures(only), 0, np.zeros(0), False
    rows, step = int(budget // rare.unit), BLOCK * math.ceil(max_trials / BLOCK / 64)
    while not enough and done < max_trials:
        weights = np.append(weights, rare.find_weights(rows, digest, range(done, done + step), n_jobs))
        done += step
        evidence = log_evidence(weights, done, bound, rare.largest_weight(rows))
        enough = evidence >= needed
        if evidence < LOST:
            break
    return done, weights, enough


class RareFailures:
    """Weighted failures of uniform allocation on one pool.

    Parameters
    ----------
    only : Study
        One pool, score and strategy without an obstacle (`find_obstacle`).
    plain : float
        Share of the trials that are drawn from the population.

    Attributes
    ----------
    unit : Fraction
        Cost of one row of every arm.
    """

    def __init__(self, only: Study, plain: float = PLAIN) -> None:
        pool = only.pool(only.cells()[0])
        assert isinstance(pool, FeaturePool)
        self.unit = sum(pool.prices.exact_costs, Fraction(0))
        study = replace(
            only, mode="importance_sampling", budgets=replace(only.budgets, absolute=(str(TILT_ROWS * self.unit),))
        )
        mixture, model = tilts(study, study.cells()[0]), known_pool(pool)
        self.size = model.n_rows
        tilted = np.round(mixture.log_ratio[1:, 0, 0] / TILT_STEP) * TILT_STEP
        self._edges, ratios = _round_probabilities(np.exp(np.vstack([np.zeros(self.size), tilted])))
        self._log_ratio = ratios + math.log(self.size)
        shares = np.append(plain, (1.0 - plain) * mixture.share[1:] / mixture.share[1:].sum())
        self._chosen, self._log_share = _round_probabilities(shares)
        self._grams = np.stack([model.gram(arm) for arm in (model.best_arms[0], *model.rivals)])
        self._signs = model.labels
        # Scores within the resolution count as equal, and equal scores as failures.
        self._tie = 2.0 * model.resolution / model.radius + 1e-12
        self._kappa = model.kappa
        self._screen(model.p)

    def largest_weight(self, rows: int) -> float:
        """Return a number that no weight exceeds, by the plain component alone."""
        return math.exp(-float(self._log_share[0]) - rows * float(self._log_ratio[0].min())) * (1.0 + 2.0 * ROUNDING)

    def find_weights(self, rows: int, digest: str, trials: range, n_jobs: int = 1) -> FloatArray:
        """Return the weights of the failures among some trials; the range begins and ends with blocks."""
        if trials.start % BLOCK or trials.stop % BLOCK:
            raise ValueError(f"trials must be whole blocks of {BLOCK}, got {trials}")
        blocks = range(trials.start // BLOCK, trials.stop // BLOCK)
        run = partial(self._run, rows, int(digest[:32], 16))
        with ThreadPoolExecutor(max(1, n_jobs)) as threads:
            parts = list(threads.map(run, blocks)) if n_jobs > 1 else [run(block) for block in blocks]
        return np.concatenate([np.zeros(0), *parts])

    def _run(self, rows: int, key: int, block: int) -> FloatArray:
        sample, component = self.draw(rows, key, block)
        slack = self._slack + 4.0 * self._scale * (rows + 4) * 2.0**-24
        flagged = _screen_trials(sample, component, self._features, self._signs, RIVAL_RANK, slack)
        return self.weigh(sample[_find_failures(sample, flagged, self._grams, self._signs, self._tie)])

    def draw(self, rows: int, key: int, block: int) -> tuple[IntArray, IntArray]:
        """Return the rows and the component of every trial of a block."""
        count = BLOCK * (rows + 1)
        raw = np.random.Philox(key=key, counter=block << 128).random_raw(-(-count // 2))
        words = np.asarray(raw, dtype="<u8").view("<u4")[:count].astype(np.uint32).reshape(BLOCK, rows + 1)
        component = np.searchsorted(self._chosen, words[:, 0], side="right").astype(np.int64)
        sample = np.empty((BLOCK, rows), dtype=np.int64)
        _draw_rows(sample, words, component, self._edges)
        return sample, component

    def weigh(self, sample: IntArray) -> FloatArray:
        """Return the likelihood ratio of the population to the mixture for the rows of some trials, rounded up."""
        logs = self._log_ratio[:, sample].sum(axis=2) + self._log_share[:, None]
        return np.asarray(np.exp(-logsumexp(logs, axis=0)) * (1.0 + ROUNDING), dtype=np.float64)

    def _screen(self, p: FloatArray) -> None:
        """Make the features of the screening, and a limit of what it neglects.

        A mean of n numbers of size s in single precision is off by (n + 4) 2^-24 s at most, a norm of means with D
        entries by sqrt(D) times as much. Two norms are compared with two.
        """
        rivals = range(1, len(self._grams))
        majorant, error = psd_majorant([partial(self._grams.__getitem__, i) for i in rivals], p)
        above, rest = _factor(majorant, RIVAL_RANK)
        below, _ = _factor(self._grams[0], BEST_RANK)
        features = np.concatenate([above, below, rest[:, None]], axis=1)
        self._scale = float(np.abs(features).max()) * math.sqrt(features.shape[1])
        self._slack = 4.0 * math.sqrt(error + 1e-10 * self._kappa**2) + self._tie
        # A multiple of eight single precision numbers fills the registers.
        self._features = np.zeros((self.size, -(-features.shape[1] // 8) * 8), dtype=np.float32)
        self._features[:, : features.shape[1]] = features


def _round_probabilities(probabilities: FloatArray) -> tuple[Words, FloatArray]:
    """Round probabilities along the last axis to multiples of 2^-32.

    Returns the ends of the ranges of words, without the last one, and the logarithms of the rounded probabilities.
    """
    sums = np.cumsum(probabilities, axis=-1)
    ends = np.rint(sums / sums[..., -1:] * 2.0**32).astype(np.int64)
    widths = np.diff(ends, axis=-1, prepend=0)
    if widths.min() <= 0:
        raise ValueError("a probability below 2^-32 cannot be drawn")
    return ends[..., :-1].astype(np.uint32), np.log(widths / 2.0**32)


def _factor(gram: FloatArray, rank: int) -> tuple[FloatArray, FloatArray]:
    """Return scaled leading eigenvectors of a kernel matrix, and the roots of what they leave of its diagonal."""
    values, vectors = np.linalg.eigh(gram)
    features = np.zeros((len(gram), rank))
    used = vectors[:, -rank:] * np.sqrt(np.maximum(values[-rank:], 0.0))
    features[:, : used.shape[1]] = used
    return features, np.sqrt(np.maximum(np.diagonal(gram) - (features**2).sum(axis=1), 0.0))


@kernel
def _draw_rows(sample: IntArray, words: Words, component: IntArray, edges: Words) -> None:
    """Turn words into rows by the edges of the component; for the plain one a product gives almost the place."""
    last = edges.shape[1]
    for t in range(sample.shape[0]):
        ends = edges[component[t]]
        for j in range(sample.shape[1]):
            word = words[t, j + 1]
            if component[t] == 0:
                row = np.int64((np.uint64(word) * np.uint64(last + 1)) >> np.uint64(32))
                while row > 0 and word < ends[row - 1]:
                    row -= 1
                while row < last and word >= ends[row]:
                    row += 1
            else:
                row = np.int64(np.searchsorted(ends, word, side="right"))
            sample[t, j] = row


@compiled_sums
def _screen_trials(sample, component, features, signs, rank, slack):  # type: ignore[no-untyped-def]
    """Return which trials are tilted, or not proved to be without failure."""
    flagged = np.empty(sample.shape[0], dtype=np.bool_)
    width, n = features.shape[1], sample.shape[1]
    sides = np.where(signs > 0, 0, 1)
    sums = np.empty((2, width), dtype=np.float32)
    for t in range(sample.shape[0]):
        flagged[t] = component[t] != 0
        if flagged[t]:
            continue
        sums[:] = np.float32(0.0)
        for j in range(n):
            x = sample[t, j]
            # No branch: labels cannot be predicted.
            side = sides[x]
            for d in range(width):
                sums[side, d] += features[x, d]
        squares = np.zeros(4)
        for d in range(rank + BEST_RANK):
            plus, minus = np.float64(sums[0, d]), np.float64(sums[1, d])
            at = 0 if d < rank else 2
            squares[at] += (plus - minus) ** 2
            squares[at + 1] += (plus + minus) ** 2
        rest = (np.float64(sums[0, rank + BEST_RANK]) + np.float64(sums[1, rank + BEST_RANK])) ** 2
        high = np.sqrt(squares[0] + rest) + np.sqrt(squares[1] + rest)
        flagged[t] = np.sqrt(squares[2]) + np.sqrt(squares[3]) <= high + n * slack
    return flagged


@kernel
def _find_failures(sample: IntArray, flagged: BoolArray, grams: FloatArray, signs: FloatArray, tie: float) -> BoolArray:
    """Return which of the flagged trials fail: a rival's |mean y Phi| + |mean Phi| reaches that of arm 0."""
    failed = np.zeros(sample.shape[0], dtype=np.bool_)
    n = sample.shape[1]
    for t in range(sample.shape[0]):
        best = np.inf
        for arm in range(grams.shape[0] if flagged[t] else 0):
            gram, signed, plain = grams[arm], 0.0, 0.0
            for i in range(n):
                x, own, whole = sample[t, i], 0.0, 0.0
                for j in range(i):
                    value = gram[x, sample[t, j]]
                    own += value * signs[sample[t, j]]
                    whole += value
                signed += 2.0 * own * signs[x] + gram[x, x]
                plain += 2.0 * whole + gram[x, x]
            size = (np.sqrt(max(signed, 0.0)) + np.sqrt(max(plain, 0.0))) / n
            if arm == 0:
                best = size
            elif size >= best - tie:
                failed[t] = True
                break
    return failed
