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

from exml_sim.arrays import FloatArray
from simulations.falsify.judging import exact_log, two_paths
from simulations.falsify.laws import log_regret_tail, log_sum, sample_law, strengths
from simulations.falsify.pools import PoolInstance, PoolSpace
from simulations.falsify.target import LOG_ZERO, Measured, Target, unmet
from simulations.falsify.targets.selection import in_fractions, parameters, premises
from theory import corrected, exact, paper, tighter

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


def measured(one: PoolInstance, tail: Tail, bound: RegretBound, allowance: Allowance) -> Measured:
    """The value of the regret at which the claim comes closest to failing."""
    log_allowance, missed = premises(one, allowance)
    if missed:
        return unmet(missed)
    best: Measured | None = None
    reach = 0.0
    for level, log_probability in tail(one):
        log_delta = smallest_delta(lambda delta: bound(one, delta), level)
        if math.isnan(log_delta):
            reach = max(reach, level / float(bound(one, np.array([0.5]))[0]))
            continue
        found = Measured(log_probability, float(np.logaddexp(log_delta, log_allowance)))
        if best is None or found.excess > best.excess:
            best = found
    # No value of the regret is above the bound at any delta: go where it is largest, relative to the bound.
    return best if best is not None else Measured(LOG_ZERO, 0.0, hint=reach)


def _exact_tail(one: PoolInstance) -> list[tuple[float, float]]:
    """The tail of the regret in whole numbers, sample by sample."""
    whole = _sums(one, one.weights)
    total = sum(one.weights)
    best = max(abs(value) for arm in whole for value in arm)
    law: dict[Fraction, int | Fraction] = {}
    for counts, ways in _weighed_samples(one):
        drawn = _sums(one, counts)
        strength = [max(abs(positive), abs(negative)) for positive, negative in drawn]
        arm = strength.index(max(strength))
        regret = one.radius * (best - _gain(drawn[arm], whole[arm])) / total
        law[regret] = law.get(regret, 0) + ways
    levels = sorted(level for level in law if level > 0)
    log_total = exact_log(sum(law.values()))
    tails = (sum(ways for value, ways in law.items() if value >= level) for level in levels)
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


def _sums(one: PoolInstance, counts: Sequence[int]) -> list[tuple[int, int]]:
    """P and N of every arm over some counts."""
    return [
        (
            sum(k * x for k, x, y in zip(counts, arm, one.labels, strict=True) if y > 0),
            sum(k * x for k, x, y in zip(counts, arm, one.labels, strict=True) if y < 0),
        )
        for arm in one.features
    ]


def _weighed_samples(one: PoolInstance) -> Iterator[tuple[tuple[int, ...], int | Fraction]]:
    """All samples with a number in proportion to their probability, exactly.

    With two kinds of rows, C(n, k) a^k b^(n-k) are whole numbers that follow from each other; that is quick for tens of
    thousands of rows.
    """
    if len(one.weights) != 2:
        yield from exact.sample_distribution(one.pool, one.rows)
        return
    (a, b), n = one.weights, one.rows
    ways = b**n
    for k in range(n + 1):
        yield (k, n - k), ways
        ways = ways * (n - k) * a // ((k + 1) * b)


def _selection_tail(one: PoolInstance) -> list[tuple[float, float]]:
    """Values of the selected arm's gap and the log-probabilities of reaching them."""
    counts, logs = sample_law(one, one.rows)
    selected = strengths(one, counts).argmax(axis=1)
    gaps = np.array([float(gap) for gap in one.gaps])[selected]
    return [(float(level), log_sum(logs[gaps >= level])) for level in np.unique(gaps[gaps > 0])]


def _exact_selection_tail(one: PoolInstance) -> list[tuple[float, float]]:
    law = exact.uniform_selection(one.pool, one.budget, exact=in_fractions(one))
    pairs = list(zip(one.gaps, law, strict=True))
    levels = sorted({gap for gap in one.gaps if gap > 0})
    return [(float(level), exact_log(sum((p for gap, p in pairs if gap >= level), F(0)))) for level in levels]


def _learned_tail(one: PoolInstance) -> list[tuple[float, float]]:
    return log_regret_tail(one, one.rows)


def _target(
    id: str,
    space: PoolSpace,
    bound: RegretBound,
    allowance: Allowance,
    holds: bool | None,
    tails: tuple[Tail, Tail] = (_learned_tail, _exact_tail),
) -> Target:
    fast, slow = (lambda one, tail=tail: measured(one, tail, bound, allowance) for tail in tails)
    says = "P(the regret is above its bound at delta) <= delta, plus delta_fail where the bound has one"
    return two_paths(id, says, space, fast, slow, "sums of exact fractions", holds)


def _by(function: Any, *, gap: bool = True, count: bool = False, **options: Any) -> Callable[..., Any]:
    """A bound of `theory` on a pool, at delta where it has one; with or without the gap and the number of best arms."""

    def bound(one: PoolInstance, *delta: FloatArray) -> Any:
        extra = {"best_count": len(one.best)} if count else {}
        point = parameters(one) if gap else parameters(one)[1:]
        return np.asarray(function(one.budget, one.arms, *point, *delta, strict=False, **options, **extra))

    return bound


def _nothing(one: PoolInstance) -> float:
    return -math.inf


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
    ]  # fmt: skip
