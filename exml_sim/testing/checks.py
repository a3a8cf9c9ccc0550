"""`check_strategy`: what every rule with a fixed budget must do, whatever it is clever about.

Checks are exact where they can be: money, arms and bits are compared, laws are enumerated. What is counted shares one
false-alarm probability. Every failure is a sentence with the seed that replays it.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field, fields, is_dataclass, replace
from fractions import Fraction
from typing import Any

import numpy as np
from scipy.stats import binom

from exml_sim.arrays import IntArray
from exml_sim.engine.modes.exact import law_of
from exml_sim.exploration.known import BernoulliArm, BoundedArm, GaussianArm, KnownPool
from exml_sim.exploration.pool import Pool
from exml_sim.exploration.rows import FeaturePool
from exml_sim.exploration.strategy import Strategy, smallest_budget
from exml_sim.exploration.strategy import check_strategy as check_protocol
from exml_sim.exploration.trial import Explorations
from exml_sim.money import ALIGNMENTS, show
from exml_sim.population import Candidate, Population
from exml_sim.seeds import Seeds

#: Trials that are compared bit by bit, and trials that are counted.
FEW, MANY = 24, 6_000
#: Outcomes that are enumerated at most; beyond, trials are cheaper.
OUTCOMES = 40_000
#: Two enumerations of one law agree to this.
CLOSE = 1e-9
#: A plain loop: ``loop(means, budget, rng)`` returns the selected arm of one trial on Bernoulli arms at unit cost.
Loop = Callable[[Sequence[float], int, np.random.Generator], int]


class CheckError(AssertionError):
    """What is wrong with a strategy or a bound, one sentence each."""


@dataclass(frozen=True)
class Report:
    """What the checks found.

    Attributes
    ----------
    name
        Whom they are about.
    findings
        One sentence for everything that is wrong.
    checks
        Names of the checks that ran.
    skipped
        Checks that could not say anything, and why.
    alarm
        The probability that a right rule is called wrong, at most.
    """

    name: str
    findings: tuple[str, ...]
    checks: tuple[str, ...]
    skipped: tuple[str, ...] = ()
    alarm: float = 0.0

    @property
    def passed(self) -> bool:
        """Whether nothing is wrong."""
        return not self.findings

    def __str__(self) -> str:
        if self.passed:
            return f"{self.name}: {len(self.checks)} checks passed (false-alarm probability {self.alarm:.0e})"
        return f"{self.name}:\n" + "\n".join(f"- {one}" for one in self.findings)


@dataclass
class _Bench:
    """A rule under examination."""

    rule: Strategy
    like: Strategy | Loop | None
    seed: int
    alarm: float
    counted: int = 0
    skipped: list[str] = field(default_factory=list)


def check_strategy(rule: Strategy, **options: Any) -> Report:
    """Examine a rule, and raise `CheckError` if anything is wrong; see `examine` for the options.

    Examples
    --------
    >>> from exml_sim.strategies import MedianElimination
    >>> check_strategy(MedianElimination()).passed
    True
    """
    report = examine(rule, **options)
    if not report.passed:
        raise CheckError(str(report))
    return report


def examine(
    rule: Strategy,
    *,
    like: Strategy | Loop | None = None,
    pools: Sequence[Pool] = (),
    seed: int = 0,
    alarm: float = 1e-6,
) -> Report:
    """Run all checks.

    Parameters
    ----------
    rule
        The strategy, an object.
    like
        What the rule must agree with: another strategy (laws are compared, by enumeration where that is possible), or a
        plain loop ``loop(means, budget, rng)`` over Bernoulli arms (failures are counted).
    pools
        Pools of the user's own, on which trials are held against the enumerated law, too.
    seed
        Root seed of all trials.
    alarm
        The probability that a right rule is called wrong, at most.
    """
    bench = _Bench(rule, like, seed, alarm)
    findings: list[str] = []
    ran: list[str] = []
    for name, check in _CHECKS.items():
        ran.append(name)
        try:
            findings += [f"{name}: {found}" for found in check(bench)]
        except Exception as error:
            findings.append(f"{name}: raised {type(error).__name__}: {' '.join(str(error).split())} (seed {seed})")
    for pool in pools:
        ran.append(f"pool {pool!r}")
        try:
            findings += [f"pool {pool!r}: {found}" for found in _on_pool(bench, pool)]
        except Exception as error:
            findings.append(f"pool {pool!r}: raised {type(error).__name__}: {' '.join(str(error).split())}")
    return Report(
        type(rule).__name__, tuple(findings), tuple(ran), tuple(bench.skipped), alarm if bench.counted else 0.0
    )


def aligned(rule: Any) -> Iterator[Strategy]:
    """The rule with both alignments, if it has that option."""
    if hasattr(rule, "with_alignment"):
        yield from (rule.with_alignment(one) for one in ALIGNMENTS)
    elif is_dataclass(rule) and any(one.name == "alignment" for one in fields(rule)):
        change: Any = replace
        yield from (change(rule, alignment=one) for one in ALIGNMENTS)
    else:
        yield rule


def _contract(bench: _Bench) -> Iterator[str]:
    check_protocol(bench.rule)
    pool = KnownPool.bernoulli([0.4, 0.6, 0.5])
    for position, K in ((0, 1), (1, 2), (2, 3)):
        one = KnownPool.bernoulli([0.4, 0.6, 0.5][:K])
        need = smallest_budget(bench.rule, one.prices)
        found = one.explore_many(bench.rule, 8 * need, FEW, seed=bench.seed)
        if found.selected.shape[1] < 1 or found.selected.min() < 0 or found.selected.max() >= K:
            yield f"selects arms that do not exist with K = {K} (seed {bench.seed}, trial {position})"
    need = smallest_budget(bench.rule, pool.prices)
    if (single := pool.explore(bench.rule, 8 * need, Seeds.of(bench.seed, 3)).selected) != _selected(
        bench, pool, 8 * need, [3]
    )[0]:
        yield f"selects arm {single} in a readable trial and another one among many (seed {bench.seed}, trial 3)"


def _selected(bench: _Bench, pool: Pool, budget: Fraction, trials: Sequence[int], block: int | None = None) -> IntArray:
    return np.asarray(pool.explore_many(bench.rule, budget, trials, seed=bench.seed, block=block).selected[:, 0])


def _money(bench: _Bench) -> Iterator[str]:
    """Small budgets, unequal costs, both alignments: never more than the budget, and all pulls are paid for."""
    lists: tuple[tuple[int | Fraction, ...], ...] = (
        (1, 1),
        (1, 1, 1, 1, 1),
        (1, 3, 2),
        (Fraction(1, 3), Fraction(5, 2), 1, Fraction(7, 5)),
    )
    for rule in aligned(bench.rule):
        for costs in lists:
            pool = KnownPool([BernoulliArm(0.3 + 0.1 * i, cost) for i, cost in enumerate(costs)])
            need = smallest_budget(rule, pool.prices)
            for budget in (need, need + pool.prices.unit, need * Fraction(13, 7), 40 * need):
                yield from _spent(rule, pool, budget, bench.seed)
            try:
                pool.explore_many(rule, need - pool.prices.unit / pool.n_arms, 1, seed=bench.seed)
            except ValueError:
                continue
            yield f"accepts a budget below its smallest, {show(need)}, at costs {_words(costs)}"


def _spent(rule: Strategy, pool: Pool, budget: Fraction, seed: int) -> Iterator[str]:
    found = pool.explore_many(rule, budget, FEW, seed=seed)
    # The pool's costs as they are declared; a price list that says something else is part of what is checked.
    costs = [Fraction(cost) for cost in pool.costs]
    worth = [sum((int(n) * c for n, c in zip(line, costs, strict=True)), Fraction(0)) for line in found.pulls]
    for trial, (value, units) in enumerate(zip(worth, found.spent_units, strict=True)):
        if value > budget or int(units) * found.unit > budget:
            yield f"spends {show(value)} of {show(budget)} at costs {_words(costs)} (seed {seed}, trial {trial})"
            return
        if value != int(units) * found.unit:
            paid = show(int(units) * found.unit)
            place = f"at costs {_words(costs)} (seed {seed}, trial {trial})"
            yield f"takes pulls worth {show(value)} and pays {paid} {place}"
            return


def _words(costs: Sequence[Any]) -> str:
    return ", ".join(show(Fraction(cost)) for cost in costs)


def _bits(bench: _Bench) -> Iterator[str]:
    """The same bits again, in any block, in any order, and after the rule has done something else."""
    for pool in (KnownPool.bernoulli([0.5, 0.4, 0.55, 0.45, 0.5]), _affine((1, 2, 2))):
        budget = 6 * smallest_budget(bench.rule, pool.prices)
        first = pool.explore_many(bench.rule, budget, FEW, seed=bench.seed, block=FEW)
        KnownPool.bernoulli([0.1, 0.9]).explore_many(
            bench.rule, 9 * smallest_budget(bench.rule, KnownPool.bernoulli([0.1, 0.9]).prices), 3
        )
        backwards = list(reversed(range(FEW)))
        others = {
            "the second time": pool.explore_many(bench.rule, budget, FEW, seed=bench.seed, block=FEW),
            "in blocks of 1": pool.explore_many(bench.rule, budget, FEW, seed=bench.seed, block=1),
            "in blocks of 7": pool.explore_many(bench.rule, budget, FEW, seed=bench.seed, block=7),
            "in another order": pool.explore_many(bench.rule, budget, backwards, seed=bench.seed, block=FEW),
        }
        for how, other in others.items():
            back = slice(None, None, -1) if how == "in another order" else slice(None)
            wrong = _differs(first, other, back)
            if wrong is not None:
                yield f"does something else {how} (seed {bench.seed}, trial {wrong})"


def _differs(first: Explorations, other: Explorations, back: slice) -> int | None:
    same = (first.selected == other.selected[back]).all(axis=1) & (first.pulls == other.pulls[back]).all(axis=1)
    same &= first.spent_units == other.spent_units[back]
    return None if same.all() else int(np.flatnonzero(~same)[0])


def _clear(bench: _Bench) -> Iterator[str]:
    """Arms without noise: the best one is always selected, wherever it is and whatever the others cost."""
    for K in (2, 3, 5, 8):
        for place in {0, K // 2, K - 1}:
            means = [0.9] * K
            means[place] = 0.1
            pool = KnownPool([GaussianArm(mean, 0.0) for mean in means])
            budget = 8 * smallest_budget(bench.rule, pool.prices)
            missed = np.flatnonzero(_selected(bench, pool, budget, range(3)) != place)
            if missed.size:
                where = f"(seed {bench.seed}, trial {missed[0]})"
                yield f"misses arm {place} of {K}, whose pulls are all 0.1 among 0.9 {where}"
                return


def _ties(bench: _Bench) -> Iterator[str]:
    """Arms that are equal in every pull: the rule ends and selects one of them."""
    for K in (2, 5):
        pool = KnownPool([GaussianArm(0.5, 0.0) for _ in range(K)])
        found = _selected(bench, pool, 8 * smallest_budget(bench.rule, pool.prices), range(3))
        if found.min() < 0 or found.max() >= K:
            yield f"selects no arm among {K} equal ones (seed {bench.seed})"


def _untied(order: Sequence[int]) -> KnownPool:
    """Three arms with two values each that can never tie, in any order."""
    made = [(0.3, 0.0), (0.45, 1e-5), (0.6, 3e-5)]
    return KnownPool([BoundedArm((shift, 1 + shift), (1 - p, p)) for p, shift in (made[i] for i in order)])


def _relabelling(bench: _Bench) -> Iterator[str]:
    """The law does not depend on the names of the arms."""
    orders = ((0, 1, 2), (2, 0, 1), (1, 2, 0), (2, 1, 0))
    budget = 4 * smallest_budget(bench.rule, _untied(orders[0]).prices)
    laws = [_law(bench, bench.rule, _untied(order), budget) for order in orders]
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
        selected = _selected(bench, _untied(order), budget, range(MANY))
        counts.append(int((np.array(order)[selected] == 0).sum()))
    bench.counted += 1
    low, high = _ends(min(counts), MANY, bench.alarm / 10), _ends(max(counts), MANY, bench.alarm / 10)
    if low[1] < high[0]:
        times = f"{min(counts)} to {max(counts)} times of {MANY}"
        yield f"selects the best arm {times}, by where it stands (seed {bench.seed})"


def _law(bench: _Bench, rule: Strategy, pool: Pool, budget: Fraction) -> tuple[float, ...] | None:
    """Probabilities of the selected arms by enumeration; None where there is too much to enumerate."""
    try:
        return law_of(pool, rule, budget, OUTCOMES).selected
    except ValueError as error:
        if "outcomes to enumerate" not in str(error):
            raise
        bench.skipped.append(f"no law of {type(rule).__name__} at budget {show(budget)}: {error}")
        return None


#: Values of two opposed features and of others at three atoms, as in `theory.claims.near_tight`.
_OPPOSED = ((-1.0, 1.0, 1.0), (1.0, -1.0, 1.0), (0.0, 0.0, 0.0))


def _affine(copies: Sequence[int], arms: int = 3) -> FeaturePool:
    """Feature arms over three atoms, where the surrogate is affine on the ball."""
    rows = np.repeat(np.arange(3), copies)
    values = [_OPPOSED[min(i, 2)] for i in range(arms)]
    candidates = [Candidate(f"arm {i}", np.array(one)[rows]) for i, one in enumerate(values)]
    return FeaturePool(
        Population(np.zeros((rows.size, 1)), np.ones(rows.size), candidates), theta=0.01, ball=0.98, kernel="linear"
    )


def _battery(rule: Strategy) -> Iterator[tuple[Pool, Fraction]]:
    """Small pools and budgets on which laws are enumerated."""
    for means in ((0.4, 0.6), (0.3, 0.5, 0.6), (0.5, 0.45, 0.6, 0.4)):
        pool = KnownPool.bernoulli(means)
        yield pool, (5 if len(means) < 4 else 2) * smallest_budget(rule, pool.prices)
    for arms, times in ((2, 8), (3, 3), (4, 2)):
        feature = _affine((11, 7, 2), arms)
        yield feature, times * smallest_budget(rule, feature.prices)


def _exact_law(bench: _Bench) -> Iterator[str]:
    """Trials agree with the rule's own law, and neighbouring trials are independent."""
    for pool, budget in _battery(bench.rule):
        yield from _agreement(bench, pool, budget, 24)


def _agreement(bench: _Bench, pool: Pool, budget: Fraction, share: int) -> Iterator[str]:
    law = _law(bench, bench.rule, pool, budget)
    if law is None:
        return
    selected = _selected(bench, pool, budget, range(MANY))
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


def agrees(times: int, number: int, p: float, alarm: float) -> bool:
    """Whether a count is no rarer than `alarm` under its probability, exactly, both tails together."""
    p = min(max(p, 0.0), 1.0)
    tails = float(binom.cdf(times, number, p)), float(binom.sf(times - 1, number, p))
    # Rounding of an enumerated probability that should be 0 or 1.
    if p < 1e-12 or p > 1 - 1e-12:
        return times == round(number * p)
    return 2.0 * min(tails) > alarm


def _ends(times: int, number: int, alarm: float) -> tuple[float, float]:
    from exml_sim.engine.intervals import clopper_pearson

    return clopper_pearson(times, number, 1.0 - alarm)


def _likeness(bench: _Bench) -> Iterator[str]:
    """The rule does what it was written after."""
    if bench.like is None:
        return
    if not isinstance(bench.like, Strategy):
        yield from _against_loop(bench, bench.like)
        return
    for pool, budget in _battery(bench.like):
        _check_opening(bench, pool, budget)
        found = [_law(bench, rule, pool, budget) for rule in (bench.rule, bench.like)]
        where = f"on {pool!r} at budget {show(budget)}"
        if found[0] is not None and found[1] is not None:
            gap = max(abs(a - b) for a, b in zip(found[0], found[1], strict=True))
            if gap > CLOSE:
                other = type(bench.like).__name__
                yield f"has another law than {other} {where}: a probability differs by {gap:.2g}, exactly"
                return
        else:
            yield from _same_pulls(bench, pool, budget, where)
    costly = KnownPool([BernoulliArm(0.4, 1), BernoulliArm(0.5, 3), BernoulliArm(0.6, 2)])
    budget = 6 * smallest_budget(bench.like, costly.prices)
    yield from _same_pulls(bench, costly, budget, f"at costs 1, 3, 2 and budget {show(budget)}")


def _check_opening(bench: _Bench, pool: Pool, budget: Fraction) -> None:
    need = smallest_budget(bench.rule, pool.prices)
    if need > budget:
        raise ValueError(f"needs {show(need)} to open where {type(bench.like).__name__} runs with {show(budget)}")


def _same_pulls(bench: _Bench, pool: Pool, budget: Fraction, where: str) -> Iterator[str]:
    """On the same random numbers two rules that are one select the same arms."""
    assert isinstance(bench.like, Strategy)
    first = pool.explore_many(bench.rule, budget, 400, seed=bench.seed)
    other = pool.explore_many(bench.like, budget, 400, seed=bench.seed)
    wrong = _differs(first, other, slice(None))
    if wrong is not None:
        yield f"does something else than {type(bench.like).__name__} {where} (seed {bench.seed}, trial {wrong})"


def _against_loop(bench: _Bench, loop: Loop) -> Iterator[str]:
    for means in ((0.4, 0.5, 0.6), (0.5, 0.45, 0.6, 0.4, 0.55)):
        pool = KnownPool.bernoulli(means)
        budget = int(20 * smallest_budget(bench.rule, pool.prices))
        ours = np.bincount(_selected(bench, pool, Fraction(budget), range(MANY)), minlength=len(means))
        rng = np.random.default_rng([bench.seed, len(means)])
        theirs = np.bincount([loop(means, budget, rng) for _ in range(MANY)], minlength=len(means))
        bench.counted += 1
        alarm = bench.alarm / (8 * len(means))
        for arm, (one, two) in enumerate(zip(ours.tolist(), theirs.tolist(), strict=True)):
            low, high = _ends(min(one, two), MANY, alarm), _ends(max(one, two), MANY, alarm)
            if low[1] < high[0]:
                yield (
                    f"selects arm {arm} of means {means} {one} times of {MANY} at budget {budget}, "
                    f"the loop {two} times (seed {bench.seed})"
                )
                return


def _on_pool(bench: _Bench, pool: Pool) -> Iterator[str]:
    """Money, bits, law and independence on a pool of the user's own."""
    budget = 10 * smallest_budget(bench.rule, pool.prices)
    yield from _spent(bench.rule, pool, budget, bench.seed)
    yield from _agreement(bench, pool, budget, 24)


_CHECKS: dict[str, Callable[[_Bench], Iterator[str]]] = {
    "contract": _contract,
    "money": _money,
    "bits": _bits,
    "clear best": _clear,
    "ties": _ties,
    "relabelling": _relabelling,
    "exact law": _exact_law,
    "likeness": _likeness,
}
