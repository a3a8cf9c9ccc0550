"""Targets about regrets: P(regret > bound at delta) <= delta (+ delta_fail), for the delta that serves the bound worst.

The regret of a pool takes few values v. A bound that falls with delta is broken with probability P(regret >= v) for
every delta that puts it below v, and the smallest such delta is the one at which the claim is weakest. So delta is not
searched but solved for.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Sequence
from fractions import Fraction
from typing import Any

import numpy as np
from scipy.stats import binom

from exml_sim._internal.arrays import FloatArray
from simulations.falsify._target import (
    LOG_ZERO,
    Measured,
    Numbers,
    PoolInstance,
    PoolSpace,
    Target,
    axis,
    box,
    build_exact_target,
    exact_log,
    log,
    unmet,
)
from simulations.falsify.targets._selection import (
    compute_strengths,
    in_fractions,
    log_regret_tail,
    log_sum,
    parameters,
    premises,
    sample_distribution,
)
from theory import corrected, exact, paper, tighter
from theory.claims._instances import CORNER_R, CORNER_THETA, corner_flip, corner_gap, corner_regret

F = Fraction
#: (pool, delta) -> bound on the regret.
RegretBound = Callable[[PoolInstance, FloatArray], FloatArray]
#: pool -> log of what is added to delta.
Allowance = Callable[[PoolInstance], float]
#: pool -> values of the regret with the log-probabilities of reaching them.
Tail = Callable[[PoolInstance], list[tuple[float, float]]]

#: Two arms: uniform allocation and median elimination are then the same, one round on B // 2 rows each.
TWO_ARMS = PoolSpace(arms=(2, 2), atoms=(2, 3), budget=(50, 100_000), states=50_000)
SMALL = PoolSpace(arms=(2, 4), atoms=(2, 3), budget=(4, 2_000), states=20_000)
_SMALLEST = -690.0


def smallest_delta(bound: Callable[[FloatArray], FloatArray], level: float) -> float:
    """log of the smallest delta in (1e-300, 1) that puts the bound below a level; nan if none does.

    The bound falls with delta. Three grids, each a thousand times finer than the one before; the answer is on the safe
    side, where the bound is below the level.
    """
    low, high = _SMALLEST, -1e-9
    for _ in range(3):
        grid = np.linspace(low, high, 1001)
        below = np.flatnonzero(bound(np.exp(grid)) < level)
        if not below.size:
            return math.nan
        first = int(below[0])
        low, high = float(grid[max(first - 1, 0)]), float(grid[first])
    return high


def measure_regret(instance: PoolInstance, tail: Tail, bound: RegretBound, allowance: Allowance) -> Measured:
    """The value of the regret at which the claim comes closest to failing."""
    log_allowance, missed = premises(instance, allowance)
    if missed:
        return unmet(missed)
    best: Measured | None = None
    reach = 0.0
    for level, log_probability in tail(instance):
        log_delta = smallest_delta(lambda delta: bound(instance, delta), level)
        if math.isnan(log_delta):
            reach = max(reach, level / float(bound(instance, np.array([0.5]))[0]))
            continue
        measured = Measured(log_probability, float(np.logaddexp(log_delta, log_allowance)))
        if best is None or measured.excess > best.excess:
            best = measured
    # No value of the regret is above the bound at any delta: go where it is largest, relative to the bound.
    return best if best is not None else Measured(LOG_ZERO, 0.0, hint=reach)


def _exact_tail(instance: PoolInstance) -> list[tuple[float, float]]:
    """The tail of the regret in whole numbers, sample by sample."""
    whole = _sums(instance, instance.weights)
    total = sum(instance.weights)
    best = max(abs(value) for arm in whole for value in arm)
    weights: dict[Fraction, int | Fraction] = {}
    for counts, ways in _weighed_samples(instance):
        drawn = _sums(instance, counts)
        strength = [max(abs(positive), abs(negative)) for positive, negative in drawn]
        arm = strength.index(max(strength))
        regret = instance.radius * (best - _gain(drawn[arm], whole[arm])) / total
        weights[regret] = weights.get(regret, 0) + ways
    levels = sorted(level for level in weights if level > 0)
    log_total = exact_log(sum(weights.values()))
    tails = (sum(ways for value, ways in weights.items() if value >= level) for level in levels)
    return [(float(level), exact_log(tail) - log_total) for level, tail in zip(levels, tails, strict=True)]


def _gain(drawn: tuple[int, int], whole: tuple[int, int]) -> int:
    """What the model that fits the drawn sums P and N gains on those of the population."""
    if drawn == (0, 0):
        return max(map(abs, whole))
    gains = [(value > 0) * mean - (value < 0) * mean for value, mean in zip(drawn, whole, strict=True)]
    positive, negative = map(abs, drawn)
    if positive == negative:
        return max(gains)
    return gains[0] if positive > negative else gains[1]


def _sums(instance: PoolInstance, counts: Sequence[int]) -> list[tuple[int, int]]:
    """P and N of every arm over some counts."""
    return [
        (
            sum(k * x for k, x, y in zip(counts, arm, instance.labels, strict=True) if y > 0),
            sum(k * x for k, x, y in zip(counts, arm, instance.labels, strict=True) if y < 0),
        )
        for arm in instance.features
    ]


def _weighed_samples(instance: PoolInstance) -> Iterator[tuple[tuple[int, ...], int | Fraction]]:
    """All samples with a number in proportion to their probability, exactly.

    With two kinds of rows, C(n, k) a^k b^(n-k) are whole numbers that follow from each other; that is quick for tens of
    thousands of rows.
    """
    if len(instance.weights) != 2:
        yield from exact.sample_distribution(instance.pool, instance.rows)
        return
    (a, b), n = instance.weights, instance.rows
    ways = b**n
    for k in range(n + 1):
        yield (k, n - k), ways
        ways = ways * (n - k) * a // ((k + 1) * b)


def _selection_tail(instance: PoolInstance) -> list[tuple[float, float]]:
    """Values of the selected arm's gap and the log-probabilities of reaching them."""
    counts, logs = sample_distribution(instance, instance.rows)
    selected = compute_strengths(instance, counts).argmax(axis=1)
    gaps = np.array([float(gap) for gap in instance.gaps])[selected]
    return [(float(level), log_sum(logs[gaps >= level])) for level in np.unique(gaps[gaps > 0])]


def _exact_selection_tail(instance: PoolInstance) -> list[tuple[float, float]]:
    selection = exact.uniform_selection(instance.pool, instance.budget, exact=in_fractions(instance))
    pairs = list(zip(instance.gaps, selection, strict=True))
    levels = sorted({gap for gap in instance.gaps if gap > 0})
    return [(float(level), exact_log(sum((p for gap, p in pairs if gap >= level), F(0)))) for level in levels]


def _learned_tail(instance: PoolInstance) -> list[tuple[float, float]]:
    return log_regret_tail(instance, instance.rows)


def _target(
    id: str,
    space: PoolSpace,
    bound: RegretBound,
    allowance: Allowance,
    holds: bool | None,
    tails: tuple[Tail, Tail] = (_learned_tail, _exact_tail),
) -> Target:
    fast, slow = (lambda instance, tail=tail: measure_regret(instance, tail, bound, allowance) for tail in tails)
    says = "P(the regret is above its bound at delta) <= delta, plus delta_fail where the bound has one"
    return build_exact_target(id, says, space, fast, slow, "sums of exact fractions", holds)


def _by(function: Any, *, gap: bool = True, count: bool = False, **options: Any) -> Callable[..., Any]:
    """A bound of `theory` on a pool, at delta where it has one; with or without the gap and the number of best arms."""

    def bound(instance: PoolInstance, *delta: FloatArray) -> Any:
        extra = {"best_count": len(instance.best)} if count else {}
        point = parameters(instance) if gap else parameters(instance)[1:]
        return np.asarray(function(instance.budget, instance.arms, *point, *delta, strict=False, **options, **extra))

    return bound


def _nothing(instance: PoolInstance) -> float:
    return -math.inf


# The corner family of `theory.claims._instances`: rows A = (1, 0), B = (-1, 0) and C = (0, 1), all labelled +1, with
# Lambda = sqrt(2) (1 - 2 theta), against an arm without any feature. C keeps the gap large, while the sign of the first
# coordinate follows the majority of A and B; a wrong majority costs twice the tilt P(B) - P(A).
CORNERS = box(
    n=axis(100, 10**7, grid=None),
    tilt=axis("1/100000", "1/2", grid=None),
    third=axis("1/1000", "1/2", grid=None),
)
#: (n, tilt, third) -> P(A is the majority).
Flip = Callable[[int, float, float], float]


def _summed_flip(n: int, tilt: float, third: float) -> float:
    """P(N_A > N_B) once more, as a sum over the number of C in the sample."""
    share = 1 - third
    width = 10 * math.sqrt(n * share * third) + 2
    c = np.arange(max(0, int(n * third - width)), min(n, int(n * third + width)) + 1)
    wins = binom.sf((n - c) // 2, n - c, (share - tilt) / 2 / share)
    return float(np.sum(binom.pmf(c, n, third) * wins))


def _measure_corner(instance: Numbers, regret: Any, fail: Any, flip: Flip) -> Measured:
    n, tilt, third = instance.integer("n"), float(instance["tilt"]), float(instance["third"])
    if tilt >= 1 - third:
        return unmet(50 + tilt)
    gap = corner_gap(tilt, third)
    point = (2 * n, 2, gap, CORNER_THETA, CORNER_R)
    log_fail = float(fail(*point, strict=False, log=True))
    if math.isnan(log_fail):
        return unmet(math.log1p((CORNER_R / gap) ** 2 / n))

    def bound(delta: FloatArray) -> FloatArray:
        return np.asarray(regret(*point, delta, strict=False))

    level = corner_regret(n, tilt, third)
    log_delta = smallest_delta(bound, level)
    if math.isnan(log_delta):
        return Measured(LOG_ZERO, 0.0, hint=level / float(bound(np.array([0.5]))[0]))
    return Measured(log(flip(n, tilt, third)), float(np.logaddexp(log_delta, log_fail)))


def _corner_target(id: str, regret: Any, fail: Any, holds: bool) -> Target:
    fast, slow = (
        lambda instance, flip=flip: _measure_corner(instance, regret, fail, flip)
        for flip in (corner_flip, _summed_flip)
    )
    says = "P(the regret is above its bound at delta) <= delta + delta_fail, two arms, kappa Lambda = sqrt(2)"
    return build_exact_target(id, says, CORNERS, fast, slow, "sums over the third row", holds)


def targets() -> list[Target]:
    """All targets about regrets."""
    printed, repaired = paper.exploratory_regret_uniform, corrected.exploratory_regret_uniform
    printed_me, repaired_me = paper.exploratory_regret_median, corrected.exploratory_regret_median

    def fail(function: Any, *, count: bool = False) -> Allowance:
        return _by(function, count=count, log=True)

    return [
        _target("lemma-1-ii/affine", TWO_ARMS, _by(printed), fail(paper.delta_fail_uniform), None),
        _target("lemma-2-ii", TWO_ARMS, _by(printed_me), fail(paper.delta_fail_median), False),
        _target(
            "corrected.exploratory_regret_uniform",
            TWO_ARMS, _by(repaired, count=True), fail(corrected.delta_fail_uniform, count=True), True,
        ),
        _target(
            "corrected.exploratory_regret_median",
            TWO_ARMS, _by(repaired_me, count=True), fail(corrected.delta_fail_median, count=True), True,
        ),
        _target(
            "tighter.exploratory_regret_uniform",
            SMALL, _by(tighter.exploratory_regret_uniform, gap=False), _nothing, True,
        ),
        _target(
            "tighter.selection_regret_uniform",
            SMALL, _by(tighter.selection_regret_uniform, gap=False), _nothing, True,
            (_selection_tail, _exact_selection_tail),
        ),
            _corner_target("lemma-1-ii", printed, paper.delta_fail_uniform, False),
        _corner_target("lemma-2-ii/corner", printed_me, paper.delta_fail_median, False),
        _corner_target(
            "corrected.exploratory_regret_uniform/corner", repaired, corrected.delta_fail_uniform, True
        ),
    ]  # fmt: skip
