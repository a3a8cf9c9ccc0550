r"""Which distributions of rows make a failure likely: exponential tilts, one per failure path.

A rule with rounds of fixed lengths fails iff the last of the best arms leaves. Look at the rounds in which best arms
leave. If the best arms L leave in round t while the best arms H stay, then the arms that survive the round are H and
s_t - |H| rivals P, and every rival in P has passed every arm in L on the rows of that round. What the best arms do
among each other needs nothing unlikely. So the failure is contained in the union, over the partitions of the best arms
into rounds and the nested choices of P, of paths C. A path is a set of steps (t, j, i): on the rows of round t rival j
scores no worse than best arm i. Uniform allocation that selects k arms is one round: it fails iff some rival j passes
|G| - k + 1 of the arms G that are worth selecting.

For losses l_i of fixed models let :math:`S_{tji}` be the sum of :math:`\ell_i - \ell_j` over
those rows. The tilt of the path multiplies the density of the order of rows by

.. math:: \exp\Big(\sum_{(t,j,i) \in C} \lambda_{tji} S_{tji} - \Lambda(\lambda)\Big), \qquad \lambda \ge 0,

with :math:`\Lambda` the log of the mean of the exponential, so that rows stay independent, with one distribution
per segment of the order. On C all S are at least 0, so the likelihood ratio of the population to the tilt is at most
:math:`e^{\Lambda(\lambda)}` there. The multipliers that minimise the convex :math:`\Lambda` make this bound smallest:
it is Chernoff's, :math:`e^{-I_C} \ge P(C)`, with I_C the relative entropy of the nearest distribution, the *cost* of C.

The mixture gives path C a share near :math:`\alpha_C \propto e^{-I_C}`. A failure lies in some path, so its weight is
at most :math:`\max_C e^{-I_C} / \alpha_C \le \sum_C e^{-I_C} / (1 - \alpha_0)` (up to the floor of the shares), which
is of the size of the failure probability p itself, up to a power of the number of rows: the relative variance of the
estimate is at most this bound over p.

The score of arm i is :math:`V_i = \min_f E \ell_i(f) \le E \ell_i(f_i)` whatever f_i is, so for the best arms the
argument holds as it stands. For a rival j it needs :math:`E \ell_j(f_j) \le V_j` on the failure, which is exact where
the minimiser is the same for all samples (`is_linear`); elsewhere f_j is the minimiser under the tilt itself, whose
loss is the derivative of V_j there (the envelope theorem), and what is neglected is the amount by which V_j fits its
sample better: a factor that does not grow with the number of rows, but is not bounded either. The losses therefore
belong to the tilt, and are found together with it by iteration: with the new losses alone tilt and minimiser may chase
each other around the solution, so every turn goes half of the path. All this decides about the variance only, never
about bias.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from itertools import combinations, islice
from typing import Any

import numpy as np

from exml_sim._internal.arrays import BoolArray, FloatArray, IntArray
from exml_sim.bandit.rows import FeaturePool
from exml_sim.bandit.scoring import RESOLUTION
from exml_sim.bandit.trial import Exploration
from exml_sim.losses import surrogate_loss
from exml_sim.money import Prices
from exml_sim.rejection import solve
from exml_sim.strategies import MedianElimination, Strategy, SuccessiveRejects, UniformAllocation

#: Turns of losses and multipliers at most, and the change of log q / p that ends them: only the variance depends on it.
ITERATIONS = 8
SETTLED = 0.05
#: Accuracy of the minimisers, for the same reason.
TOL = 1e-4
#: Share of trials that are drawn as they are: it bounds every weight by its inverse.
PLAIN = 0.05
#: A component gets at least this share of the most likely one's.
FLOOR = 0.02
#: Paths that are less likely than the likeliest by this factor (as a logarithm) need no component of their own.
MARGIN = 30.0
#: Components at most, and paths that are looked at at most.
MAX_COMPONENTS = 160
MAX_PATHS = 20_000
#: The mixture is complete if the paths without a component have this part of the likeliest one's bound at most.
NEGLIGIBLE = 1e-6


@dataclass(frozen=True, slots=True, eq=False)
class Mixture:
    """Distributions of orders, of which every trial draws one.

    Attributes
    ----------
    share
        Probability of each component; component 0 is the population itself.
    bounds
        Positions at which segments of the order begin and end; beyond the last one rows are drawn from the population.
    log_ratio
        log q(row) / p(row), shape (components, segments, substreams, rows).
    tilted
        Where log_ratio is not 0 throughout, shape (components, segments, substreams).
    complete
        Whether every path to fail has a component, but for some that are negligible.
    weight_bound
        No failure outside of the paths left out has a larger weight than this.
    left_out
        Bound on the probability of the paths left out, where `weight_bound` is not simply 1 / share[0].
    """

    share: FloatArray
    bounds: IntArray
    log_ratio: FloatArray
    tilted: BoolArray
    complete: bool
    weight_bound: float
    left_out: float


@dataclass(frozen=True, slots=True, eq=False)
class Tilt:
    """Tilt one failure path: log q / p per segment, substream, row; its cost I_C; summed multipliers."""

    log_ratio: FloatArray
    cost: float
    reach: float


def mixture(pool: FeaturePool, schedule: Schedule) -> Mixture:
    """Return one component for every failure path that is likely enough to matter."""
    good, bad = arms_of(pool, schedule.top)
    if not bad:
        raise ValueError("all arms are equally good: there is no failure to sample")
    components, left_out = _list_likely_paths(pool, schedule, good, bad)
    costs = np.array([tilt.cost for _, tilt in components])
    share = np.maximum(np.exp(costs.min() - costs), FLOOR)
    share = np.append(PLAIN, (1.0 - PLAIN) * share / share.sum())
    log_ratio = np.array([np.zeros_like(components[0][1].log_ratio), *(tilt.log_ratio for _, tilt in components)])
    complete = schedule.fixed and left_out <= NEGLIGIBLE * math.exp(-costs.min())
    bound = 1.0 / PLAIN
    if schedule.fixed and all(is_linear(pool, arm) for arm in bad):
        # Scores within the resolution count as equal, along chains of arms: a step may fall short by that much.
        short = np.array([tilt.reach for _, tilt in components]) * 2.0 * pool.n_arms * RESOLUTION
        bound = min(bound, float(np.exp(short - costs - np.log(share[1:])).max()))
    else:
        left_out = 0.0
    tilted = np.any(log_ratio != 0.0, axis=3)
    return Mixture(share, np.array(schedule.bounds, dtype=np.int64), log_ratio, tilted, complete, bound, left_out)


def arms_of(pool: FeaturePool, top: int) -> tuple[list[int], list[int]]:
    """Arms that are right to select when `top` arms are, and the others, the nearest first."""
    risks = np.array(pool.risks)
    risks[list(pool.best_arms())] = risks.min()
    good = [arm for arm in range(pool.n_arms) if risks[arm] <= np.sort(risks)[top - 1]]
    return good, [int(arm) for arm in np.argsort(risks, kind="stable") if arm not in good]


def _list_likely_paths(
    pool: FeaturePool, schedule: Schedule, good: Sequence[int], bad: Sequence[int]
) -> tuple[list[tuple[Path, Tilt]], float]:
    """Paths with their tilts, and a bound on the probability of those left out.

    A path costs at least what each of its steps costs alone, so expensive steps rule out all paths with them.
    """
    alone: dict[Passing, float] = {}

    def cost(step: Passing) -> float:
        if step not in alone:
            alone[step] = find_tilt(pool, schedule, (step,)).cost
        return alone[step]

    def least(path: Path) -> float:
        return max(cost(step) for step in path)

    first = min(islice(list_paths(schedule, good, bad), MAX_PATHS), key=least, default=None)
    if first is None:
        raise ValueError("the best arms cannot lose: there is no failure to sample")
    tilts = {first: find_tilt(pool, schedule, first)}
    cheapest = tilts[first].cost
    listed = list(islice(list_paths(schedule, good, bad, lambda s: cost(s) <= cheapest + MARGIN), MAX_PATHS + 1))
    # Without a list of all paths there is no bound on the others.
    missing = math.inf if len(listed) > MAX_PATHS else 0.0
    for path in sorted(set(listed), key=lambda path: (least(path), [(s.round, s.rival, s.best) for s in path])):
        if path in tilts:
            continue
        if len(tilts) >= MAX_COMPONENTS or least(path) > cheapest + MARGIN:
            missing += math.exp(-least(path))
            continue
        tilts[path] = find_tilt(pool, schedule, path)
        cheapest = min(cheapest, tilts[path].cost)
    kept = {path: tilt for path, tilt in tilts.items() if tilt.cost <= cheapest + MARGIN}
    total = missing + sum(math.exp(-tilt.cost) for path, tilt in tilts.items() if path not in kept)
    # Paths with an expensive step were not even listed: each is contained in that step.
    total += sum(math.exp(-price) for price in alone.values() if price > cheapest + MARGIN)
    return list(kept.items()), total


def find_tilt(
    pool: FeaturePool,
    schedule: Schedule,
    path: Path,
    *,
    iterations: int = ITERATIONS,
    settled: float = SETTLED,
    tol: float = TOL,
) -> Tilt:
    """Find the tilt of a path: alternate losses under the tilt and multipliers for these losses until they agree."""
    same = pool.options.rows == "same"
    segments, rows = len(schedule.bounds) - 1, pool.n_rows
    log_ratio = np.zeros((segments, 1 if same else pool.n_arms, rows))
    multipliers = np.zeros(len(path))
    pairs = sorted({(s.round, s.rival) for s in path} | {(s.round, s.best) for s in path})
    value, losses = 0.0, dict[tuple[int, int], FloatArray]()
    for _ in range(iterations):
        for turn, arm in pairs:
            probabilities = _mix_segments(schedule, turn, log_ratio[:, 0 if same else arm])
            loss = _losses(pool, arm, probabilities, schedule.rows(turn), tol)
            losses[turn, arm] = (losses.get((turn, arm), loss) + loss) / 2.0
        slopes = _slopes(schedule, path, losses, log_ratio.shape, same)
        multipliers, value = _multipliers(schedule, slopes, multipliers)
        following = np.tensordot(multipliers, slopes, 1)
        following -= _log_mean(following)[:, :, None]
        following[np.ptp(following, axis=2) == 0.0] = 0.0
        change = float(np.abs(following - log_ratio).max())
        log_ratio = following
        if change < settled:
            break
    reach = sum(weight * schedule.rows(step.round) for weight, step in zip(multipliers, path, strict=True))
    return Tilt(log_ratio, max(-value, 0.0), float(reach))


def _mix_segments(schedule: Schedule, turn: int, log_ratio: FloatArray) -> FloatArray:
    """Return the mean probabilities of the rows that a round scores on, from log q / p per segment."""
    first, stop = schedule.windows[turn]
    lengths = np.diff(schedule.bounds[first : stop + 1]).astype(np.float64)
    return np.asarray(lengths @ np.exp(log_ratio[first:stop]) / lengths.sum() / log_ratio.shape[1], dtype=np.float64)


def _slopes(
    schedule: Schedule, path: Path, losses: dict[tuple[int, int], FloatArray], shape: tuple[int, ...], same: bool
) -> FloatArray:
    """Derivative of the exponents by every multiplier, shape (steps, segments, substreams, rows)."""
    slopes = np.zeros((len(path), *shape))
    for number, step in enumerate(path):
        window = slice(*schedule.windows[step.round])
        slopes[number, window, 0 if same else step.best] += losses[step.round, step.best]
        slopes[number, window, 0 if same else step.rival] -= losses[step.round, step.rival]
    return slopes


def _multipliers(schedule: Schedule, slopes: FloatArray, start: FloatArray) -> tuple[FloatArray, float]:
    """Return the multipliers that minimise the log of the mean of the exponential, and its minimum."""
    lengths = np.diff(schedule.bounds).astype(np.float64)
    total = float(lengths.sum())
    touched = np.any(slopes != 0.0, axis=(0, 3))
    slopes, weights = slopes[:, touched], np.broadcast_to(lengths[:, None], touched.shape)[touched] / total
    rows = slopes.shape[2]
    flat = np.ascontiguousarray(slopes.reshape(len(slopes), -1))

    def value(multipliers: FloatArray) -> tuple[float, FloatArray]:
        exponent = (multipliers @ flat).reshape(slopes.shape[1:])
        mean = _log_mean(exponent)
        probabilities = np.exp(exponent - mean[:, None]) * (weights / rows)[:, None]
        return float(weights @ mean), flat @ probabilities.ravel()

    # scipy.optimize takes a quarter of a second to import: every process would wait for it.
    from scipy.optimize import minimize

    scale = max(float(np.abs(slopes).max()), 1e-12)
    bounds = [(0.0, 300.0 / scale)] * len(start)
    optimum: Any = minimize(value, start, jac=True, method="L-BFGS-B", bounds=bounds, options={"ftol": 1e-14})
    return np.asarray(optimum.x, dtype=np.float64), float(optimum.fun) * total


def _log_mean(exponent: FloatArray) -> FloatArray:
    """Logarithm of the mean of exponentials over the last axis."""
    top = exponent.max(axis=-1)
    return np.asarray(top + np.log(np.exp(exponent - top[..., None]).mean(axis=-1)), dtype=np.float64)


def is_linear(pool: FeaturePool, arm: int) -> bool:
    """Whether the minimiser of an arm's score is the same on all samples, so that the score is a mean over rows.

    In the affine regime the score is 1 - (Lambda / 2) (|mean y Phi| + |mean Phi|). If all labels are equal and all Phi
    are multiples of one vector by numbers that are not negative, both norms are means.
    """
    gram, y = pool.feature_arms[arm].gram, pool.population.y
    if pool.scoring.ball is None or pool.feature_arms[arm].levels != 1 or np.ptp(y) != 0.0:
        return False
    diagonal = np.diagonal(gram)
    apart = np.abs(gram**2 - np.outer(diagonal, diagonal)).max()
    return bool(gram.min() >= 0.0 and apart <= 1e-12 * max(float(diagonal.max()) ** 2, 1e-300))


def _losses(pool: FeaturePool, arm: int, weights: FloatArray, rows: int, tol: float = TOL) -> FloatArray:
    """Return the loss at every row of the minimiser for weighted rows."""
    scoring, y, gram = pool.scoring, pool.population.y, pool.feature_arms[arm].gram
    if is_linear(pool, arm):
        assert scoring.ball is not None
        return np.asarray(1.0 - scoring.ball * np.sqrt(np.diagonal(gram)), dtype=np.float64)
    if scoring.ball is not None and pool.feature_arms[arm].levels == 1:
        return _affine_losses(gram, y, weights, scoring.ball)
    if scoring.ball is not None:
        solution = solve(gram, y, scoring.theta, weights=weights, ball=scoring.ball, tol=tol)
    else:
        # The sum of `rows` losses, or their mean.
        scaled = weights * (rows if scoring.loss == "sum" else 1)
        solution = solve(gram, y, scoring.theta, weights=scaled, penalty=scoring.penalty, tol=tol)
    return np.asarray(surrogate_loss(solution.h, solution.g, y, scoring.theta), dtype=np.float64)


def _affine_losses(gram: FloatArray, y: FloatArray | IntArray, weights: FloatArray, ball: float) -> FloatArray:
    """Return the losses in the affine regime: h along the mean of y Phi, g against that of Phi, on the sphere."""
    share = weights / weights.sum()
    means = np.stack([share * y, share])
    at_rows = means @ gram
    lengths = np.sqrt(np.maximum(np.einsum("ki,ki->k", means, at_rows), 0.0))
    # A mean that vanishes has no direction.
    vanishes = lengths <= 1e-12 * np.sqrt(np.diagonal(gram).max())
    along = np.where(vanishes, 0.0, ball / np.where(vanishes, 1.0, lengths))
    return np.asarray(1.0 - (along[1] * at_rows[1] + y * along[0] * at_rows[0]) / 2.0, dtype=np.float64)


@dataclass(frozen=True, slots=True)
class Passing:
    """In a round (counted from 0) a rival scores no worse than a best arm."""

    round: int
    rival: int
    best: int


Path = tuple[Passing, ...]


@dataclass(frozen=True, slots=True)
class Schedule:
    """The rounds of a rule as one trial shows them.

    Attributes
    ----------
    bounds
        Positions of the orders at which rounds begin and end: 0, N_1, N_2, …; round t buys segment t, N_t … N_{t+1} -
        1.
    windows
        For every round the segments that it scores on, first … stop - 1: all so far, or its own.
    keeps
        How many arms survive every round.
    top
        How many arms are selected.
    fixed
        Whether all of this is the same in all trials, and all active arms read equally many rows.
    """

    bounds: tuple[int, ...]
    windows: tuple[tuple[int, int], ...]
    keeps: tuple[int, ...]
    top: int
    fixed: bool

    def rows(self, turn: int) -> int:
        """Return the number of rows that a round scores on."""
        first, stop = self.windows[turn]
        return self.bounds[stop] - self.bounds[first]


def read_schedule(rule: Strategy, prices: Prices, trial: Exploration) -> Schedule:
    """Return the schedule of a rule, from one recorded trial."""
    bounds = [0]
    for turn in trial.rounds:
        bounds.append(bounds[-1] + int(turn.pulls.max()))
    fresh = not getattr(rule, "accumulate", True)
    windows = tuple((turn if fresh else 0, turn + 1) for turn in range(len(trial.rounds)))
    keeps = tuple(len(turn.survivors) for turn in trial.rounds)
    level = all(len({int(turn.pulls[arm]) for arm in turn.active}) == 1 for turn in trial.rounds)
    lasting = len(keeps) == 1 or len(set(prices.exact_costs)) == 1
    known = isinstance(rule, UniformAllocation | MedianElimination | SuccessiveRejects)
    return Schedule(tuple(bounds), windows, keeps, len(trial.accepted), known and level and lasting)


def list_paths(
    schedule: Schedule, good: Sequence[int], bad: Sequence[int], likely: Callable[[Passing], bool] = lambda _: True
) -> Iterator[Path]:
    """Yield the failure paths that are made of likely steps alone.

    Parameters
    ----------
    good, bad
        Arms that are right to select, and the others, the nearest first.
    likely
        Steps that are worth looking at; paths with another step are left out.
    """
    if not schedule.fixed:
        # Where rounds differ from trial to trial, every single step is the start of some failure.
        steps = (Passing(t, j, i) for t in range(len(schedule.keeps)) for j in bad for i in good)
        yield from ((step,) for step in steps if likely(step))
    elif schedule.top > 1:
        for j in bad:
            for passed in combinations(good, len(good) - schedule.top + 1):
                path = tuple(Passing(0, j, i) for i in passed)
                if all(map(likely, path)):
                    yield path
    else:
        yield from _list_paths(schedule, 0, tuple(good), tuple(bad), (), likely)


def _list_paths(
    schedule: Schedule,
    turn: int,
    good: tuple[int, ...],
    bad: tuple[int, ...],
    so_far: Path,
    likely: Callable[[Passing], bool],
) -> Iterator[Path]:
    if not good:
        yield so_far
        return
    if turn == len(schedule.keeps):
        return
    for number in range(len(good) + 1):
        rivals = schedule.keeps[turn] - (len(good) - number)
        if not 0 <= rivals <= len(bad):
            continue
        if number == 0:
            # Nobody of the best leaves: nothing is asked of the rivals, and any of them may stay, if there is room.
            yield from _list_paths(schedule, turn + 1, good, bad if rivals else (), so_far, likely)
            continue
        for leaving in combinations(good, number):
            staying = tuple(arm for arm in good if arm not in leaving)
            able = [j for j in bad if all(likely(Passing(turn, j, i)) for i in leaving)]
            for passing in combinations(able, rivals):
                steps = tuple(Passing(turn, j, i) for j in passing for i in leaving)
                yield from _list_paths(schedule, turn + 1, staying, passing, so_far + steps, likely)
