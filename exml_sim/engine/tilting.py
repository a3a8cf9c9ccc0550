r"""Which distributions of rows make a failure likely: exponential tilts, one per way to fail.

The score of arm i on rows drawn from q is near :math:`V_i(q) = \min_f E_q \ell(f)`, whose derivative in q is the loss
of the minimiser at each row (the envelope theorem). The likeliest way for rivals S to pass the best arm is the q
closest to the population p with :math:`V_j(q) \le V_1(q)` for j in S, and it satisfies

.. math:: q(x) \propto p(x) \exp\Big(-\sum_{j \in S} \lambda_j (\ell_j^q(x) - \ell_1^q(x))\Big), \qquad \lambda \ge 0,

with the losses taken at the minimisers under q itself. The fixed point is found by iteration; its quality decides about
the variance only, never about bias.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy.optimize import minimize
from scipy.special import logsumexp

from exml_sim.exploration import Exploration
from exml_sim.losses import surrogate_loss
from exml_sim.money import IntArray
from exml_sim.pool import FeaturePool
from exml_sim.ranking import FloatArray
from exml_sim.rejection import solve

ITERATIONS = 12
#: Share of trials that are drawn as they are: it bounds every weight by its inverse.
PLAIN = 0.05
#: A component gets at least this share of the most likely one's.
FLOOR = 0.02


@dataclass(frozen=True, slots=True, eq=False)
class Mixture:
    """Distributions of orders, of which every trial draws one.

    Attributes
    ----------
    share
        Probability of each component; component 0 is the population itself.
    first, stop
        Positions of the order that are tilted, first … stop - 1; the others are drawn from the population.
    log_ratio
        log q(row) / p(row) of the tilted positions, shape (components, lanes, rows).
    """

    share: FloatArray
    first: IntArray
    stop: IntArray
    log_ratio: FloatArray


@dataclass(frozen=True, slots=True)
class Hurdle:
    """One scored round: it reads positions first … stop - 1, and the best arm leaves if `passes` rivals pass it."""

    first: int
    stop: int
    passes: int


def hurdles(trial: Exploration, fresh: bool) -> list[Hurdle]:
    """The rounds of a recorded trial as hurdles."""
    found = []
    read = 0
    for one in trial.rounds:
        before, read = read, read + int(one.pulls.max())
        found.append(Hurdle(before if fresh else 0, read, len(one.survivors)))
    return found


def mixture(pool: FeaturePool, plan: Sequence[Hurdle]) -> Mixture:
    """One component for every hurdle and every set of rivals that is likely to pass the best arm there."""
    best = pool.best_set()[0]
    rivals = [int(i) for i in np.argsort(pool.gaps, kind="stable") if i not in pool.best_set()]
    lanes = 1 if pool.options.rows == "same" else pool.n_arms
    spans, ratios, costs = [(0, 0)], [np.zeros((lanes, pool.n_rows))], [0.0]
    for hurdle in plan:
        for passing in _sets(rivals, hurdle.passes):
            log_ratio, distance = tilt(pool, best, passing, hurdle.stop - hurdle.first)
            spans.append((hurdle.first, hurdle.stop))
            ratios.append(log_ratio)
            costs.append((hurdle.stop - hurdle.first) * distance)
    if len(costs) == 1:
        raise ValueError("all arms are equally good: there is no failure to sample")
    likely = np.exp(min(costs[1:]) - np.array(costs[1:]))
    share = np.maximum(likely, FLOOR)
    first, stop = (np.array(ends, dtype=np.int64) for ends in zip(*spans, strict=True))
    return Mixture(np.append(PLAIN, (1.0 - PLAIN) * share / share.sum()), first, stop, np.array(ratios))


def _sets(rivals: Sequence[int], passes: int) -> list[tuple[int, ...]]:
    """Sets of rivals that together throw the best arm out: each alone, or the nearest ones with each other one."""
    if passes >= len(rivals):
        return [tuple(rivals)] if rivals else []
    nearest = tuple(rivals[: passes - 1])
    return [(*nearest, rival) for rival in rivals[passes - 1 :]]


def tilt(pool: FeaturePool, best: int, passing: Sequence[int], rows: int) -> tuple[FloatArray, float]:
    """Find the tilt for one set of rivals.

    Returns
    -------
    log q / p, shape (lanes, m), and the relative entropy of q to p, which is the rate at which this way to fail decays
    with the number of rows.
    """
    m = pool.n_rows
    same = pool.options.rows == "same"
    log_ratio = np.zeros((1 if same else pool.n_arms, m))
    multipliers = np.zeros(len(passing))
    for _ in range(ITERATIONS):
        losses = {arm: _losses(pool, arm, np.exp(log_ratio[0 if same else arm]) / m, rows) for arm in (best, *passing)}
        multipliers = _multipliers(losses, best, passing, same, multipliers)
        following = np.zeros_like(log_ratio)
        for weight, arm in zip(multipliers, passing, strict=True):
            following[0 if same else arm] -= weight * losses[arm]
            following[0 if same else best] += weight * losses[best]
        following -= logsumexp(following, axis=1, keepdims=True) - np.log(m)
        change = float(np.abs(following - log_ratio).max())
        log_ratio = following
        if change < 1e-6:
            break
    return log_ratio, float((np.exp(log_ratio) * log_ratio).sum() / m)


def _multipliers(
    losses: dict[int, FloatArray], best: int, passing: Sequence[int], same: bool, start: FloatArray
) -> FloatArray:
    """The multipliers of the constraints, which minimise the (convex) sum of log partition functions over the lanes."""

    def lanes(weights: FloatArray) -> list[tuple[FloatArray, FloatArray]]:
        """Per lane its exponent, and the exponent's derivative by every multiplier."""
        if same:
            slopes = np.array([losses[best] - losses[arm] for arm in passing])
            return [(weights @ slopes, slopes)]
        parts = [(weights.sum() * losses[best], np.tile(losses[best], (len(passing), 1)))]
        for number, arm in enumerate(passing):
            slopes = np.zeros((len(passing), losses[arm].size))
            slopes[number] = -losses[arm]
            parts.append((weights[number] * slopes[number], slopes))
        return parts

    def value(weights: FloatArray) -> tuple[float, FloatArray]:
        total, gradient = 0.0, np.zeros(len(passing))
        for exponent, slopes in lanes(weights):
            top = float(logsumexp(exponent))
            total += top - float(np.log(exponent.size))
            gradient += slopes @ np.exp(exponent - top)
        return total, gradient

    scale = max(float(np.abs(loss).max()) for loss in losses.values())
    bounds = [(0.0, 300.0 / max(scale, 1e-12))] * len(passing)
    found: Any = minimize(value, start, jac=True, method="L-BFGS-B", bounds=bounds, options={"ftol": 1e-14})
    return np.asarray(found.x, dtype=np.float64)


def _losses(pool: FeaturePool, arm: int, weights: FloatArray, rows: int) -> FloatArray:
    """Loss at every row of the minimiser for weighted rows."""
    scoring, y = pool.scoring, pool.population.y
    if scoring.score == "ball":
        found = solve(pool.feature_arms[arm].gram, y, scoring.theta, weights=weights, ball=scoring.ball, tol=1e-6)
    else:
        # The sum of `rows` losses, or their mean.
        scaled = weights * (rows if scoring.loss == "sum" else 1)
        gram = pool.feature_arms[arm].gram
        found = solve(gram, y, scoring.theta, weights=scaled, penalty=scoring.penalty, tol=1e-6)
    return np.asarray(surrogate_loss(found.h, found.g, y, scoring.theta), dtype=np.float64)
