r"""Excess risk: redraw the population in every trial, and measure the five terms of the decomposition (Eq. 8).

.. math::
    R_{i_s}(\hat f_{i_s}) - R_1^* = \underbrace{R_{i_s}(\hat f_{i_s}) - \hat R^{surr}_{tr,i_s}(\hat f_{i_s})}_{(a)}
    + \underbrace{\hat R^{surr}_{tr,i_s}(\hat f_{i_s}) - \hat R^{surr}_{tr,1}(\hat f_1^*)}_{(b)}
    + \underbrace{\hat R^{surr}_{tr,1}(\hat f_1^*) - \hat R^{surr}_{tr,1}(f_1^*)}_{(c)}
    + \underbrace{\hat R^{surr}_{tr,1}(f_1^*) - R^{surr}_1(f_1^*)}_{(d)}
    + \underbrace{R^{surr}_1(f_1^*) - R_1^*}_{(e)}

The returned model is the empirical risk minimiser on the rows bought for the selected arm. The distribution is that of
Section 5.1, so the probability of the label +1 at a point is known, and expected risks are means over a fresh sample of
points of the loss averaged over the label: no label noise is left in them. Two things stand in for what cannot be had:
the minimiser f_1* of the expected surrogate risk is the one on a reference sample (the terms add up to the excess risk
whatever f_1* is), and arm 1 is the arm whose minimal surrogate risk there is lowest. By Bayes risk alone all candidates
at an angle above zero are equally good, because each of them reveals the third coordinate.

All trials of a study share the fresh sample, so its error does not shrink with the number of trials. Given the M points
the trials are independent; so the variance of a mean over N trials is at most s^2 / N plus the mean over trials of
(variance over the points of what was averaged over them) / M, since the variance of a mean is at most the mean of the
variances. The second part is the *noise* of a term. Terms (b) and (c) are on the trial's own rows and have none.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from functools import lru_cache
from typing import Any

import numpy as np
from scipy.special import logsumexp

from exml_sim._internal.arrays import FloatArray
from exml_sim.bandit.rows import FeaturePool
from exml_sim.bandit.trial import Exploration
from exml_sim.datasets.synthetic import HIDDEN, candidate_values, draw_rows
from exml_sim.engine._fields import to_plain
from exml_sim.engine._specs import Score
from exml_sim.engine._trials import NOISY, TERMS, Block, CellMetadata, outcomes
from exml_sim.engine.pools import SyntheticPool
from exml_sim.engine.study import Cell, Study
from exml_sim.kernels import gaussian, linear
from exml_sim.losses import rejection_loss, surrogate_loss
from exml_sim.money import exact
from exml_sim.population import Candidate, Population
from exml_sim.rejection import solve
from exml_sim.seeds import Seeds

#: Points on which expected risks are measured, and rows on which f_1* is found.
FRESH = 20_000
REFERENCE = 900


@dataclass(frozen=True, slots=True, eq=False)
class Sample:
    """Rows of the distribution: points in space, labels, and the probability of the label +1 at each point."""

    points: FloatArray
    y: FloatArray
    eta: FloatArray


@dataclass(frozen=True, slots=True, eq=False)
class Model:
    """Functions h and g as kernel expansions over some rows of one arm's augmented features."""

    rows: FloatArray
    u: FloatArray
    w: FloatArray

    def at(self, spec: SyntheticPool, features: FloatArray) -> tuple[FloatArray, FloatArray]:
        """Return the values of h and g at other rows."""
        if spec.kernel == "linear":
            cross = linear(features, self.rows)
        else:
            assert isinstance(spec.gamma, float)
            cross = gaussian(features, self.rows, gamma=spec.gamma)
        return cross @ self.u, cross @ self.w


@dataclass(frozen=True, slots=True, eq=False)
class Truth:
    """What is known of the distribution: arm 1, its model f_1* and Bayes risk, and the fresh sample.

    `surrogate_at` and `bayes_at` are the expected surrogate loss of f_1* and the Bayes loss at every fresh point;
    `surrogate` and `bayes` are their means.
    """

    fresh: Sample
    best: int
    model: Model
    surrogate: float
    bayes: float
    surrogate_at: FloatArray
    bayes_at: FloatArray


@dataclass(frozen=True, slots=True, eq=False)
class ExcessTrial:
    """One trial on a population of its own: its record, its pool, the terms and their noise (see `NOISY`)."""

    trial: Exploration
    pool: FeaturePool
    terms: tuple[float, ...]
    noise: tuple[float, ...]


def draw(spec: SyntheticPool, rows: int, rng: np.random.Generator) -> Sample:
    """Independent rows of Section 5.1's distribution: each of the three classes with probability 1/3."""
    plenty = draw_rows(rows, a=spec.a, sigma=spec.sigma, z=spec.z, rng=rng)
    kind = rng.integers(0, 3, size=rows)
    taken = kind * rows + np.arange(rows)
    points = plenty.points[taken]
    return Sample(points, plenty.y[taken], label_probability(spec, points))


def label_probability(spec: SyntheticPool, points: FloatArray) -> FloatArray:
    """P(y = +1 | x) = (p_2 + p_3 / 2) / (p_1 + p_2 + p_3), with the densities of the three classes at x."""
    sigma = 3.0 * spec.a if spec.sigma is None else spec.sigma
    z = 5.0 * spec.a if spec.z is None else spec.z
    means = np.array([[-spec.a, 0.0, -z], [spec.a, 0.0, z], [0.0, 0.0, 0.0]])
    variances = np.array([sigma, sigma, sigma / 2.0])
    squares = ((points[:, None, :] - means) ** 2).sum(axis=2)
    logs = -0.5 * squares / variances - 1.5 * np.log(variances)
    share = np.exp(logs - logsumexp(logs, axis=1, keepdims=True))
    return np.asarray(share[:, 1] + 0.5 * share[:, HIDDEN - 1], dtype=np.float64)


def features(spec: SyntheticPool, arm: int, points: FloatArray) -> FloatArray:
    """Observed features with the candidate's values appended."""
    return np.hstack([points[:, :2], candidate_values(points, np.array([spec.angles[arm]]))])


def expected(loss: Any, values: tuple[FloatArray, FloatArray], eta: FloatArray, theta: float) -> float:
    """Return the mean loss over points, averaged over the label at each."""
    return float(np.mean(expected_at(loss, values, eta, theta)))


def expected_at(loss: Any, values: tuple[FloatArray, FloatArray], eta: FloatArray, theta: float) -> FloatArray:
    """Return the loss at every point, averaged over its label."""
    ones = np.ones_like(eta)
    losses = eta * loss(*values, ones, theta) + (1.0 - eta) * loss(*values, -ones, theta)
    return np.asarray(losses, dtype=np.float64)


def noise(values: FloatArray) -> float:
    """Return the variance of the mean of independent values."""
    return float(np.var(values, ddof=1) / values.size)


def check(study: Study, cell: Cell) -> tuple[SyntheticPool, Score]:
    """Return the spec and the score of a cell, or why excess risk cannot be measured there."""
    spec = study.pools[cell.pool]
    if not isinstance(spec, SyntheticPool):
        raise ValueError(f"mode 'excess_risk' needs a known distribution, a synthetic pool; got {spec.kind!r}")
    if spec.kernel == "gaussian" and isinstance(spec.gamma, str):
        raise ValueError("mode 'excess_risk' needs a fixed gamma: with 'median' every population has other functions")
    if min(abs(np.sin(np.deg2rad(angle))) for angle in spec.angles) < 1e-9:
        raise ValueError("mode 'excess_risk' needs candidates at angles that are no multiple of 180 degrees")
    score = study.scores[cell.score]
    if score.score != "ball":
        raise ValueError(
            f"mode 'excess_risk' needs the score 'ball', whose functions Eq. 8 compares; got {score.score!r}"
        )
    return spec, score


_LOCK = threading.Lock()


def truth(spec: SyntheticPool, score: Score, seed: int, points: int = FRESH, rows: int = REFERENCE) -> Truth:
    """Find arm 1, f_1* and the risks that do not depend on a trial; once for a pool, a score and a root seed."""
    # Threads that ask at the same time wait for the first one.
    with _LOCK:
        return _find_truth(spec, score, seed, points, rows)


@lru_cache(maxsize=64)
def _find_truth(spec: SyntheticPool, score: Score, seed: int, points: int, rows: int) -> Truth:
    rng = np.random.default_rng(np.random.SeedSequence(seed, spawn_key=(1,)))
    fresh, reference = draw(spec, points, rng), draw(spec, rows, rng)
    models = [fitted(spec, score, arm, reference.points, reference.y) for arm in range(len(spec.angles))]
    best = int(np.argmin([risk for _, risk in models]))
    model = models[best][0]
    values = model.at(spec, features(spec, best, fresh.points))
    surrogate = expected_at(surrogate_loss, values, fresh.eta, score.theta)
    bayes = np.minimum(np.minimum(fresh.eta, 1.0 - fresh.eta), score.theta)
    return Truth(fresh, best, model, float(np.mean(surrogate)), float(np.mean(bayes)), surrogate, bayes)


def fitted(
    spec: SyntheticPool, score: Score, arm: int, points: FloatArray, y: FloatArray, counts: Any = None
) -> tuple[Model, float]:
    """Return the empirical risk minimiser over the ball on (counted) rows, and its risk there."""
    kept = np.arange(len(y)) if counts is None else np.flatnonzero(counts)
    rows = features(spec, arm, points[kept])
    weights = None if counts is None else counts[kept]
    gram = linear(rows) if spec.kernel == "linear" else gaussian(rows, gamma=float(spec.gamma))
    solution = solve(gram, y[kept], score.theta, weights=weights, ball=score.ball)
    return Model(rows, solution.u, solution.w), float(solution.risk)


def block(study: Study, cell: Cell, trials: range) -> Block:
    """Trials with a population each; success and regret are on the trial's own population."""
    start, number = time.perf_counter(), len(trials)
    rule, unit = study.strategy(cell), study.pool(cell).prices.unit
    selected, spent = np.empty(number, dtype=np.int64), np.empty(number, dtype=np.int64)
    success, regret = np.empty(number, dtype=np.bool_), np.empty(number)
    terms, noises = np.empty((number, len(TERMS))), np.empty((number, len(NOISY)))
    pulls = np.zeros(study.pool(cell).n_arms, dtype=np.int64)
    for line, measured in enumerate(measured_trials(study, cell, trials)):
        judged = outcomes(measured.pool, np.array([measured.trial.accepted]), rule.objective)
        success[line], regret[line] = judged[0][0], judged[1][0]
        selected[line], spent[line] = measured.trial.selected, int(measured.trial.ledger.spent / unit)
        terms[line], noises[line] = measured.terms, measured.noise
        pulls += measured.trial.ledger.pulls.reshape(-1)
    ones = np.ones(number)
    seconds = time.perf_counter() - start
    return Block(cell.index, trials.start, selected, success, regret, spent, ones, pulls, seconds, terms, noises)


def replay(study: Study, cell: Cell, trial: int) -> Exploration:
    """Run one trial again."""
    return next(measured_trials(study, cell, [trial])).trial


def metadata(study: Study, cell: Cell) -> CellMetadata:
    """Return the costs, and a bound of the regret: the minimal surrogate risk of any population lies in [0, 1]."""
    costs = tuple(float(cost) for cost in study.pool(cell).prices.exact_costs)
    return CellMetadata(1.0 if study.strategy(cell).objective == "risk" else 1.0 / min(costs), costs)


def measured_trials(study: Study, cell: Cell, trials: Iterable[int]) -> Iterator[ExcessTrial]:
    """Run trials one by one, each on a population of its own; only the latest is kept in memory."""
    spec, score = check(study, cell)
    known = truth(spec, score, study.seed)
    for trial in trials:
        rng = np.random.default_rng(np.random.SeedSequence(study.seed, spawn_key=(cell.stream, trial)))
        sample = draw(spec, 3 * spec.per_class, rng)
        pool = _pool(study, spec, score, sample)
        done = pool.explore(study.strategy(cell), exact(cell.budget), Seeds.of(study.seed, trial, cell.stream))
        yield ExcessTrial(done, pool, *_terms(spec, score, known, sample, done))


def _pool(study: Study, spec: SyntheticPool, score: Score, sample: Sample) -> FeaturePool:
    values = candidate_values(sample.points, np.array(spec.angles))
    prices = spec.costs or ("1",) * len(spec.angles)
    candidates = [
        Candidate(f"{angle:g}°", values[:, [k]], price)
        for k, (angle, price) in enumerate(zip(spec.angles, prices, strict=True))
    ]
    return FeaturePool(
        Population(sample.points[:, :2], sample.y, candidates),
        theta=score.theta,
        ball=score.ball,
        kernel=spec.kernel,
        gamma=spec.gamma,
        **to_plain(study.sampling),
    )


def _terms(
    spec: SyntheticPool, score: Score, known: Truth, sample: Sample, done: Exploration
) -> tuple[tuple[float, ...], tuple[float, ...]]:
    """Return the excess risk and its five terms in the order of `TERMS`, and the noise of those in `NOISY`."""
    theta, arm = score.theta, done.selected
    assert done.counts is not None
    model, _ = fitted(spec, score, arm, sample.points, sample.y, done.counts[arm])

    def on_rows(fitted_model: Model, which: int) -> float:
        values = fitted_model.at(spec, features(spec, which, sample.points))
        return float(np.mean(surrogate_loss(*values, sample.y, theta)))

    fresh = known.fresh
    at = expected_at(rejection_loss, model.at(spec, features(spec, arm, fresh.points)), fresh.eta, theta)
    risk = float(np.mean(at))
    returned = on_rows(model, arm)
    best_empirical = fitted(spec, score, known.best, sample.points, sample.y)[1]
    best_expected = on_rows(known.model, known.best)
    terms = (
        risk - known.bayes,
        risk - returned,
        returned - best_empirical,
        best_empirical - best_expected,
        best_expected - known.surrogate,
        known.surrogate - known.bayes,
    )
    shared = (at - known.bayes_at, at, known.surrogate_at, known.surrogate_at - known.bayes_at)
    return terms, tuple(noise(values) for values in shared)
