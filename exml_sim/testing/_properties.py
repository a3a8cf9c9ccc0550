"""What every strategy must do: pay for pulls, repeat results, select arms that exist, agree with enumeration."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, fields, is_dataclass, replace
from fractions import Fraction
from typing import Any

import numpy as np
from scipy.special import bdtr, bdtrc

from exml_sim._internal.arrays import IntArray
from exml_sim._internal.binomial import clopper_pearson
from exml_sim.bandit.parametric import BernoulliArm, BoundedArm, GaussianArm, ParametricPool
from exml_sim.bandit.pool import Pool
from exml_sim.bandit.rows import FeaturePool
from exml_sim.bandit.trial import Explorations
from exml_sim.bandit.trial_batch import Strategy, smallest_budget
from exml_sim.bandit.trial_batch import check_strategy as check_protocol
from exml_sim.money import ALIGNMENTS, show
from exml_sim.population import Candidate, Population
from exml_sim.seeds import Seeds
from exml_sim.strategies.plain_loop import PlainLoop

#: Trials that are compared bit by bit, and trials that are counted.
FEW, MANY = 24, 6_000
#: Outcomes that are enumerated at most; beyond, trials are cheaper.
OUTCOMES = 40_000
#: Two enumerations of one probabilities agree to this.
CLOSE = 1e-9
#: A plain loop: ``loop(means, budget, rng)`` or ``loop(pull, budget, rng)`` returns the selected arm of one trial on
#: Bernoulli arms at unit cost; the best arm has the highest mean.
Loop = Callable[[Any, Any, np.random.Generator], int]


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
    alpha
        The probability that a right rule is called wrong, at most.
    skipped
        Names of the checks that do not apply to the strategy.
    """

    name: str
    findings: tuple[str, ...]
    checks: tuple[str, ...]
    alpha: float = 0.0
    skipped: tuple[str, ...] = ()

    @property
    def passed(self) -> bool:
        """Whether nothing is wrong."""
        return not self.findings

    def __str__(self) -> str:
        skipped = f"; skipped, since outcomes cannot be enumerated: {', '.join(self.skipped)}" if self.skipped else ""
        if self.passed:
            return f"{self.name}: {len(self.checks)} checks passed (false-alarm probability {self.alpha:.0e}){skipped}"
        return f"{self.name}{skipped}:\n" + "\n".join(f"- {finding}" for finding in self.findings)


@dataclass
class PoolBench:
    """A rule under examination."""

    rule: Strategy
    like: Strategy | Loop | None = None
    seed: int = 0
    alpha: float = 1e-6
    unit_costs_only: bool = False
    counted: int = 0
    is_enumerable: bool = True

    def budget(self, pool: Pool, times: int) -> Fraction:
        """Return a multiple of the smallest budget on a pool."""
        return times * smallest_budget(self.rule, pool.prices)


def selected_by(bench: PoolBench, pool: Pool, budget: Fraction, trials: Sequence[int]) -> IntArray:
    """Return the first selected arm of every trial."""
    return np.asarray(pool.explore_many(bench.rule, budget, trials, seed=bench.seed).selected[:, 0])


def differs(first: Explorations, other: Explorations, back: slice) -> int | None:
    """Return the first trial in which two runs differ, `back` ordering the other's; None if there is none."""
    same = (first.selected == other.selected[back]).all(axis=1) & (first.pulls == other.pulls[back]).all(axis=1)
    same &= first.spent_units == other.spent_units[back]
    return None if same.all() else int(np.flatnonzero(~same)[0])


def distribution_by(
    bench: PoolBench, pool: Pool, budget: Fraction, other: Strategy | None = None
) -> tuple[float, ...] | None:
    """Return the probabilities of the selected arms by enumeration; None where that is impossible or too much."""
    from exml_sim.engine.modes._exact import NotEnumerableError, enumerate_distribution

    try:
        return enumerate_distribution(pool, other or bench.rule, budget, OUTCOMES).selected
    except NotEnumerableError:
        bench.is_enumerable &= other is not None
        return None
    except ValueError as error:
        if "outcomes to enumerate" not in str(error):
            raise
        return None


def agrees(times: int, number: int, p: float, alpha: float) -> bool:
    """Whether a count is no rarer than `alpha` under its probability, exactly, both tails together."""
    p = min(max(p, 0.0), 1.0)
    tails = float(bdtr(times, number, p)), float(bdtrc(times - 1, number, p))
    # Rounding of an enumerated probability that should be 0 or 1.
    if p < 1e-12 or p > 1 - 1e-12:
        return times == round(number * p)
    return 2.0 * min(tails) > alpha


def are_apart(counts: Sequence[int], alpha: float) -> bool:
    """Check whether no single probability explains counts of `MANY` trials each."""
    least, most = (clopper_pearson(times, MANY, 1.0 - alpha) for times in (min(counts), max(counts)))
    return least[1] < most[0]


#: Values of two opposed features and of others at three atoms, as in `theory.claims._near_tight`.
_OPPOSED = ((-1.0, 1.0, 1.0), (1.0, -1.0, 1.0), (0.0, 0.0, 0.0))


def affine(copies: Sequence[int], arms: int = 3) -> FeaturePool:
    """Feature arms over three atoms, where the surrogate is affine on the ball."""
    rows = np.repeat(np.arange(3), copies)
    values = [_OPPOSED[min(i, 2)] for i in range(arms)]
    candidates = [Candidate(f"arm {i}", np.array(feature)[rows]) for i, feature in enumerate(values)]
    return FeaturePool(
        Population(np.zeros((rows.size, 1)), np.ones(rows.size), candidates), theta=0.01, ball=0.98, kernel="linear"
    )


def aligned(rule: Any) -> Iterator[Strategy]:
    """Yield the rule with both alignments, if it has that option."""
    if is_dataclass(rule) and any(entry.name == "alignment" for entry in fields(rule)):
        change: Any = replace
        yield from (change(rule, alignment=alignment) for alignment in ALIGNMENTS)
    else:
        yield rule


def contract(bench: PoolBench) -> Iterator[str]:
    """Check the protocol: existing arms are selected, and a single trial selects the same arm as a batch."""
    check_protocol(bench.rule)
    for K in (1, 2, 3):
        pool = ParametricPool.bernoulli([0.4, 0.6, 0.5][:K])
        selected = pool.explore_many(bench.rule, bench.budget(pool, 8), FEW, seed=bench.seed).selected
        if selected.shape[1] < 1 or selected.min() < 0 or selected.max() >= K:
            yield f"selects arms that do not exist with K = {K} (seed {bench.seed})"
    single = pool.explore(bench.rule, bench.budget(pool, 8), Seeds.of(bench.seed, 3)).selected
    if single != selected_by(bench, pool, bench.budget(pool, 8), [3])[0]:
        yield f"selects arm {single} in a readable trial and another one among many (seed {bench.seed}, trial 3)"


def money(bench: PoolBench) -> Iterator[str]:
    """Small budgets, unequal costs, both alignments: never more than the budget, and all pulls are paid for."""
    lists: tuple[tuple[int | Fraction, ...], ...] = (
        (1, 1),
        (1, 1, 1, 1, 1),
        (1, 3, 2),
        (Fraction(1, 3), Fraction(5, 2), 1, Fraction(7, 5)),
    )
    for rule in aligned(bench.rule):
        for costs in lists[:2] if bench.unit_costs_only else lists:
            pool = ParametricPool([BernoulliArm(0.3 + 0.1 * i, cost) for i, cost in enumerate(costs)])
            need = smallest_budget(rule, pool.prices)
            if len(set(costs)) == 1:
                yield from left_over(rule, pool, 40 * need, bench.seed)
            for budget in (need, need + pool.prices.unit, need * Fraction(13, 7), 40 * need):
                yield from spent(rule, pool, budget, bench.seed)
                yield from first_round(rule, pool, budget, bench.seed)
            try:
                pool.explore_many(rule, need - pool.prices.unit / pool.n_arms, 1, seed=bench.seed)
            except ValueError:
                continue
            where = f"at costs {_words(costs)}, {rule.alignment} alignment"
            yield f"accepts a budget below its smallest, {show(need)}, {where}"


def spent(rule: Strategy, pool: Pool, budget: Fraction, seed: int) -> Iterator[str]:
    """Check that no trial spends more than the budget and that the pulls cost what was paid."""
    explored = pool.explore_many(rule, budget, FEW, seed=seed)
    # The pool's costs as they are declared; a price list that says something else is part of what is checked.
    costs = [Fraction(cost) for cost in pool.costs]
    worth = [sum((int(n) * c for n, c in zip(line, costs, strict=True)), Fraction(0)) for line in explored.pulls]
    for trial, (value, units) in enumerate(zip(worth, explored.spent_units, strict=True)):
        if value > budget or int(units) * explored.unit > budget:
            yield f"spends {show(value)} of {show(budget)} at costs {_words(costs)} (seed {seed}, trial {trial})"
            return
        if value != int(units) * explored.unit:
            paid = show(int(units) * explored.unit)
            place = f"at costs {_words(costs)} (seed {seed}, trial {trial})"
            yield f"takes pulls worth {show(value)} and pays {paid} {place}"
            return


def first_round(rule: Strategy, pool: Pool, budget: Fraction, seed: int) -> Iterator[str]:
    """Check that the first round costs no more than `first_round_cost` and pulls every arm."""
    ledger = pool.explore(rule, budget, seed).ledger
    if ledger.rounds == 0 or pool.n_arms == 1:
        return
    pulls = ledger.round_pulls(1)[0]
    paid = sum((int(n) * Fraction(cost) for n, cost in zip(pulls, pool.costs, strict=True)), Fraction(0))
    declared = rule.first_round_cost(budget, pool.prices)
    where = (
        f"at budget {show(budget)}, costs {_words([*pool.costs])}, {rule.alignment} alignment (seed {seed}, trial 0)"
    )
    if paid > declared:
        yield f"spends {show(paid)} in the first round, but first_round_cost declares {show(declared)} {where}"
    elif pulls.min() == 0 and not getattr(rule, "skips_arms", False):
        yield f"does not pull arm {int(pulls.argmin())} in the first round {where}"


def left_over(rule: Strategy, pool: Pool, budget: Fraction, seed: int) -> Iterator[str]:
    """Check at unit costs that rounding explains what is left over: less than one pull of every arm per round."""
    ledger = pool.explore(rule, budget, seed).ledger
    explained = max(ledger.rounds, 1) * pool.n_arms
    if pool.n_arms > 1 and ledger.left > explained and getattr(rule, "spends_all", True):
        number = "1 round" if ledger.rounds == 1 else f"{ledger.rounds} rounds"
        rounds = f"{number} of {pool.n_arms} arms can leave at most {explained} by rounding"
        yield (
            f"leaves {show(ledger.left)} of a budget of {show(budget)} over at costs {_words([*pool.costs])}, "
            f"{rule.alignment} alignment, and {rounds}: a round is missing or too small "
            f"(declare spends_all = False if the strategy may stop early; seed {seed}, trial 0)"
        )


def _words(costs: Sequence[Any]) -> str:
    return ", ".join(show(Fraction(cost)) for cost in costs)


def bits(bench: PoolBench) -> Iterator[str]:
    """Check that results are the same bits again, in any block and order, and after other work."""
    for pool in (ParametricPool.bernoulli([0.5, 0.4, 0.55, 0.45, 0.5]), affine((1, 2, 2))):
        budget = bench.budget(pool, 6)
        first = pool.explore_many(bench.rule, budget, FEW, seed=bench.seed, block=FEW)
        other = ParametricPool.bernoulli([0.1, 0.9])
        other.explore_many(bench.rule, bench.budget(other, 9), 3)
        backwards = list(reversed(range(FEW)))
        runs = {
            "the second time": pool.explore_many(bench.rule, budget, FEW, seed=bench.seed, block=FEW),
            "in blocks of 1": pool.explore_many(bench.rule, budget, FEW, seed=bench.seed, block=1),
            "in blocks of 7": pool.explore_many(bench.rule, budget, FEW, seed=bench.seed, block=7),
            "in another order": pool.explore_many(bench.rule, budget, backwards, seed=bench.seed, block=FEW),
        }
        for how, run in runs.items():
            back = slice(None, None, -1) if how == "in another order" else slice(None)
            wrong = differs(first, run, back)
            if wrong is not None:
                yield f"does something else {how} (seed {bench.seed}, trial {wrong})"


def clear(bench: PoolBench) -> Iterator[str]:
    """Arms without noise: the best one is always selected, wherever it is and whatever the others cost."""
    for K in (2, 3, 5, 8):
        for place in {0, K // 2, K - 1}:
            means = [0.1] * K
            means[place] = 0.9
            pool = ParametricPool([GaussianArm(mean, 0.0) for mean in means])
            missed = np.flatnonzero(selected_by(bench, pool, bench.budget(pool, 8), range(3)) != place)
            if missed.size:
                where = f"(seed {bench.seed}, trial {missed[0]})"
                yield f"misses arm {place} of {K}, whose pulls are all 0.9 among 0.1 {where}"
                return


def ties(bench: PoolBench) -> Iterator[str]:
    """Arms that are equal in every pull: the rule ends and selects one of them."""
    for K in (2, 5):
        pool = ParametricPool([GaussianArm(0.5, 0.0) for _ in range(K)])
        selected = selected_by(bench, pool, bench.budget(pool, 8), range(3))
        if selected.min() < 0 or selected.max() >= K:
            yield f"selects no arm among {K} equal ones (seed {bench.seed})"


def _untied(order: Sequence[int]) -> ParametricPool:
    """Three arms with two values each that can never tie, in any order."""
    made = [(0.7, 0.0), (0.55, 1e-5), (0.4, 3e-5)]
    return ParametricPool([BoundedArm((shift, 1 + shift), (1 - p, p)) for p, shift in (made[i] for i in order)])


def relabelling(bench: PoolBench) -> Iterator[str]:
    """Check that the distribution does not depend on the names of the arms."""
    orders = ((0, 1, 2), (2, 0, 1), (1, 2, 0), (2, 1, 0))
    budget = bench.budget(_untied(orders[0]), 4)
    distributions = [distribution_by(bench, _untied(order), budget) for order in orders]
    known = [probabilities for probabilities in distributions if probabilities is not None]
    if len(known) == len(orders):
        named = [[p[order.index(arm)] for arm in range(3)] for order, p in zip(orders, known, strict=True)]
        for order, other in zip(orders[1:], named[1:], strict=True):
            gap = max(abs(a - b) for a, b in zip(named[0], other, strict=True))
            if gap > CLOSE:
                yield f"selects arms with other probabilities when they are in the order {order}: by {gap:.2g}, exactly"
                return
        return
    counts = []
    for order in orders:
        selected = selected_by(bench, _untied(order), budget, range(MANY))
        counts.append(int((np.array(order)[selected] == 0).sum()))
    bench.counted += 1
    if are_apart(counts, bench.alpha / 10):
        times = f"{min(counts)} to {max(counts)} times of {MANY}"
        yield f"selects the best arm {times}, by where it stands (seed {bench.seed})"


def _battery(rule: Strategy) -> Iterator[tuple[Pool, Fraction]]:
    """Small pools and budgets on which distributions are enumerated."""
    for means in ((0.4, 0.6), (0.3, 0.5, 0.6), (0.5, 0.45, 0.6, 0.4)):
        pool = ParametricPool.bernoulli(means)
        yield pool, (5 if len(means) < 4 else 2) * smallest_budget(rule, pool.prices)
    for arms, times in ((2, 8), (3, 3), (4, 2)):
        feature = affine((11, 7, 2), arms)
        yield feature, times * smallest_budget(rule, feature.prices)


def check_enumeration(bench: PoolBench) -> Iterator[str]:
    """Trials agree with the rule's own probabilities, and neighbouring trials are independent."""
    for pool, budget in _battery(bench.rule):
        yield from agreement(bench, pool, budget, 24)


def agreement(bench: PoolBench, pool: Pool, budget: Fraction, share: int) -> Iterator[str]:
    """Compare the frequencies of selected arms with the probabilities of the strategy."""
    probabilities = distribution_by(bench, pool, budget)
    if probabilities is None:
        return
    selected = selected_by(bench, pool, budget, range(MANY))
    bench.counted += 1
    # One alpha for all arms and the pairs of all pools of this check.
    alpha = bench.alpha / (share * (len(probabilities) + 1) * 4)
    where = f"on {pool!r} at budget {show(budget)}"
    for arm, p in enumerate(probabilities):
        times = int((selected == arm).sum())
        if not agrees(times, MANY, p, alpha):
            yield f"selects arm {arm} {times} times of {MANY} {where}, and enumeration says {p:.4g} (seed {bench.seed})"
            return
    arm = int(np.argmin([abs(p - 0.4) for p in probabilities]))
    both = int(((selected[::2] == arm) & (selected[1::2] == arm)).sum())
    if not agrees(both, MANY // 2, probabilities[arm] ** 2, alpha):
        yield f"trials 2 i and 2 i + 1 go together {where}: {both} pairs of {MANY // 2} (seed {bench.seed})"


#: Pools whose distribution is too large to enumerate.
_WIDE = ((0.5, 0.45, 0.6, 0.4, 0.55), (0.5, 0.45, 0.6, 0.4, 0.55, 0.5, 0.65, 0.42))


def likeness(bench: PoolBench) -> Iterator[str]:
    """Check that the strategy agrees with its reference."""
    if bench.like is None:
        return
    if not isinstance(bench.like, Strategy):
        yield from _against_loop(bench, bench.like)
        return
    for pool, budget in _battery(bench.like):
        _check_opening(bench, pool, budget)
        pair = [distribution_by(bench, pool, budget, other) for other in (None, bench.like)]
        where = f"on {pool!r} at budget {show(budget)}"
        if pair[0] is not None and pair[1] is not None:
            gap = max(abs(a - b) for a, b in zip(pair[0], pair[1], strict=True))
            if gap > CLOSE:
                other = type(bench.like).__name__
                yield f"has another distribution than {other} {where}: a probability differs by {gap:.2g}, exactly"
                return
        else:
            yield from _same_pulls(bench, pool, budget, where)
    # More rounds than the small pools have: an error in a third one shows at K = 5 and 8 only.
    others = {f"with K = {len(means)}": ParametricPool.bernoulli(means) for means in _WIDE}
    if not bench.unit_costs_only:
        others["at costs 1, 3, 2"] = ParametricPool([BernoulliArm(0.4, 1), BernoulliArm(0.5, 3), BernoulliArm(0.6, 2)])
    for where, pool in others.items():
        budget = 6 * smallest_budget(bench.like, pool.prices)
        _check_opening(bench, pool, budget)
        yield from _same_pulls(bench, pool, budget, f"{where} and budget {show(budget)}")


def _check_opening(bench: PoolBench, pool: Pool, budget: Fraction) -> None:
    need = smallest_budget(bench.rule, pool.prices)
    if need > budget:
        raise ValueError(f"needs {show(need)} to open where {type(bench.like).__name__} runs with {show(budget)}")


def _same_pulls(bench: PoolBench, pool: Pool, budget: Fraction, where: str) -> Iterator[str]:
    """On the same random numbers two rules that are one select the same arms."""
    assert isinstance(bench.like, Strategy)
    first = pool.explore_many(bench.rule, budget, 400, seed=bench.seed)
    other = pool.explore_many(bench.like, budget, 400, seed=bench.seed)
    wrong = differs(first, other, slice(None))
    if wrong is not None:
        yield f"does something else than {type(bench.like).__name__} {where} (seed {bench.seed}, trial {wrong})"


def _against_loop(bench: PoolBench, loop: Loop) -> Iterator[str]:
    for means in ((0.4, 0.5, 0.6), (0.5, 0.45, 0.6, 0.4, 0.55)):
        pool = ParametricPool.bernoulli(means)
        budget = int(bench.budget(pool, 20))
        ours = np.bincount(selected_by(bench, pool, Fraction(budget), range(MANY)), minlength=len(means))
        rng = np.random.default_rng([bench.seed, len(means)])
        if next(iter(inspect.signature(loop).parameters)) == "pull":
            looped = pool.explore_many(PlainLoop(loop), budget, range(MANY), seed=bench.seed + 1).selected[:, 0]
        else:
            looped = np.array([loop(means, budget, rng) for _ in range(MANY)])
        looped = np.bincount(looped, minlength=len(means))
        bench.counted += 1
        for arm, counts in enumerate(zip(ours.tolist(), looped.tolist(), strict=True)):
            if are_apart(counts, bench.alpha / (8 * len(means))):
                yield (
                    f"selects arm {arm} of means {means} {counts[0]} times of {MANY} at budget {budget}, "
                    f"the loop {counts[1]} times (seed {bench.seed})"
                )
                return
