"""With which probabilities a rule selects: under any names, as enumerated, and as what it was written after."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from fractions import Fraction

import numpy as np

from exml_sim.bandit.parametric import BernoulliArm, BoundedArm, ParametricPool
from exml_sim.bandit.pool import Pool
from exml_sim.bandit.strategy import Strategy, smallest_budget
from exml_sim.money import show
from exml_sim.testing.examined import CLOSE, MANY, Bench, Loop, affine, agrees, differs, ends, law_by, selected_by


def _untied(order: Sequence[int]) -> ParametricPool:
    """Three arms with two values each that can never tie, in any order."""
    made = [(0.3, 0.0), (0.45, 1e-5), (0.6, 3e-5)]
    return ParametricPool([BoundedArm((shift, 1 + shift), (1 - p, p)) for p, shift in (made[i] for i in order)])


def relabelling(bench: Bench) -> Iterator[str]:
    """The law does not depend on the names of the arms."""
    orders = ((0, 1, 2), (2, 0, 1), (1, 2, 0), (2, 1, 0))
    budget = 4 * smallest_budget(bench.rule, _untied(orders[0]).prices)
    laws = [law_by(bench, bench.rule, _untied(order), budget) for order in orders]
    named: list[list[float]] = []
    for order, law in zip(orders, laws, strict=True):
        if law is None:
            named = []
            break
        named.append([law[order.index(arm)] for arm in range(3)])
    if named:
        for order, one in zip(orders[1:], named[1:], strict=True):
            gap = max(abs(a - b) for a, b in zip(named[0], one, strict=True))
            if gap > CLOSE:
                yield f"selects arms with other probabilities when they are in the order {order}: by {gap:.2g}, exactly"
                return
        return
    counts = []
    for order in orders:
        selected = selected_by(bench, _untied(order), budget, range(MANY))
        counts.append(int((np.array(order)[selected] == 0).sum()))
    bench.counted += 1
    low, high = ends(min(counts), MANY, bench.alarm / 10), ends(max(counts), MANY, bench.alarm / 10)
    if low[1] < high[0]:
        times = f"{min(counts)} to {max(counts)} times of {MANY}"
        yield f"selects the best arm {times}, by where it stands (seed {bench.seed})"


def _battery(rule: Strategy) -> Iterator[tuple[Pool, Fraction]]:
    """Small pools and budgets on which laws are enumerated."""
    for means in ((0.4, 0.6), (0.3, 0.5, 0.6), (0.5, 0.45, 0.6, 0.4)):
        pool = ParametricPool.bernoulli(means)
        yield pool, (5 if len(means) < 4 else 2) * smallest_budget(rule, pool.prices)
    for arms, times in ((2, 8), (3, 3), (4, 2)):
        feature = affine((11, 7, 2), arms)
        yield feature, times * smallest_budget(rule, feature.prices)


def exact_law(bench: Bench) -> Iterator[str]:
    """Trials agree with the rule's own law, and neighbouring trials are independent."""
    for pool, budget in _battery(bench.rule):
        yield from agreement(bench, pool, budget, 24)


def agreement(bench: Bench, pool: Pool, budget: Fraction, share: int) -> Iterator[str]:
    law = law_by(bench, bench.rule, pool, budget)
    if law is None:
        return
    selected = selected_by(bench, pool, budget, range(MANY))
    bench.counted += 1
    # One alarm for all arms and the pairs of all pools of this check.
    alarm = bench.alarm / (share * (len(law) + 1) * 4)
    where = f"on {pool!r} at budget {show(budget)}"
    for arm, p in enumerate(law):
        times = int((selected == arm).sum())
        if not agrees(times, MANY, p, alarm):
            yield f"selects arm {arm} {times} times of {MANY} {where}, and the law says {p:.4g} (seed {bench.seed})"
            return
    arm = int(np.argmin([abs(p - 0.4) for p in law]))
    both = int(((selected[::2] == arm) & (selected[1::2] == arm)).sum())
    if not agrees(both, MANY // 2, law[arm] ** 2, alarm):
        yield f"trials 2 i and 2 i + 1 go together {where}: {both} pairs of {MANY // 2} (seed {bench.seed})"


#: Pools whose law is too large to enumerate.
_WIDE = ((0.5, 0.45, 0.6, 0.4, 0.55), (0.5, 0.45, 0.6, 0.4, 0.55, 0.5, 0.65, 0.42))


def likeness(bench: Bench) -> Iterator[str]:
    """The rule does what it was written after."""
    if bench.like is None:
        return
    if not isinstance(bench.like, Strategy):
        yield from _against_loop(bench, bench.like)
        return
    for pool, budget in _battery(bench.like):
        _check_opening(bench, pool, budget)
        found = [law_by(bench, rule, pool, budget) for rule in (bench.rule, bench.like)]
        where = f"on {pool!r} at budget {show(budget)}"
        if found[0] is not None and found[1] is not None:
            gap = max(abs(a - b) for a, b in zip(found[0], found[1], strict=True))
            if gap > CLOSE:
                other = type(bench.like).__name__
                yield f"has another law than {other} {where}: a probability differs by {gap:.2g}, exactly"
                return
        else:
            yield from _same_pulls(bench, pool, budget, where)
    # More rounds than the small pools have: an error in a third one shows at K = 5 and 8 only.
    for means in _WIDE:
        wide = ParametricPool.bernoulli(means)
        budget = 6 * smallest_budget(bench.like, wide.prices)
        _check_opening(bench, wide, budget)
        yield from _same_pulls(bench, wide, budget, f"with K = {len(means)} at budget {show(budget)}")
    costly = ParametricPool([BernoulliArm(0.4, 1), BernoulliArm(0.5, 3), BernoulliArm(0.6, 2)])
    budget = 6 * smallest_budget(bench.like, costly.prices)
    yield from _same_pulls(bench, costly, budget, f"at costs 1, 3, 2 and budget {show(budget)}")


def _check_opening(bench: Bench, pool: Pool, budget: Fraction) -> None:
    need = smallest_budget(bench.rule, pool.prices)
    if need > budget:
        raise ValueError(f"needs {show(need)} to open where {type(bench.like).__name__} runs with {show(budget)}")


def _same_pulls(bench: Bench, pool: Pool, budget: Fraction, where: str) -> Iterator[str]:
    """On the same random numbers two rules that are one select the same arms."""
    assert isinstance(bench.like, Strategy)
    first = pool.explore_many(bench.rule, budget, 400, seed=bench.seed)
    other = pool.explore_many(bench.like, budget, 400, seed=bench.seed)
    wrong = differs(first, other, slice(None))
    if wrong is not None:
        yield f"does something else than {type(bench.like).__name__} {where} (seed {bench.seed}, trial {wrong})"


def _against_loop(bench: Bench, loop: Loop) -> Iterator[str]:
    for means in ((0.4, 0.5, 0.6), (0.5, 0.45, 0.6, 0.4, 0.55)):
        pool = ParametricPool.bernoulli(means)
        budget = int(20 * smallest_budget(bench.rule, pool.prices))
        ours = np.bincount(selected_by(bench, pool, Fraction(budget), range(MANY)), minlength=len(means))
        rng = np.random.default_rng([bench.seed, len(means)])
        theirs = np.bincount([loop(means, budget, rng) for _ in range(MANY)], minlength=len(means))
        bench.counted += 1
        alarm = bench.alarm / (8 * len(means))
        for arm, (one, two) in enumerate(zip(ours.tolist(), theirs.tolist(), strict=True)):
            low, high = ends(min(one, two), MANY, alarm), ends(max(one, two), MANY, alarm)
            if low[1] < high[0]:
                yield (
                    f"selects arm {arm} of means {means} {one} times of {MANY} at budget {budget}, "
                    f"the loop {two} times (seed {bench.seed})"
                )
                return
