"""What every rule must do, whatever it is clever about: money, bits, one arm, ties, a clear best arm."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import fields, is_dataclass, replace
from fractions import Fraction
from typing import Any

import numpy as np

from exml_sim.bandit.parametric import BernoulliArm, GaussianArm, ParametricPool
from exml_sim.bandit.pool import Pool
from exml_sim.bandit.strategy import Strategy, smallest_budget
from exml_sim.bandit.strategy import check_strategy as check_protocol
from exml_sim.money import ALIGNMENTS, show
from exml_sim.seeds import Seeds
from exml_sim.testing.examined import FEW, Bench, affine, differs, selected_by


def aligned(rule: Any) -> Iterator[Strategy]:
    """The rule with both alignments, if it has that option."""
    if hasattr(rule, "with_alignment"):
        yield from (rule.with_alignment(one) for one in ALIGNMENTS)
    elif is_dataclass(rule) and any(one.name == "alignment" for one in fields(rule)):
        change: Any = replace
        yield from (change(rule, alignment=one) for one in ALIGNMENTS)
    else:
        yield rule


def contract(bench: Bench) -> Iterator[str]:
    check_protocol(bench.rule)
    pool = ParametricPool.bernoulli([0.4, 0.6, 0.5])
    for position, K in ((0, 1), (1, 2), (2, 3)):
        one = ParametricPool.bernoulli([0.4, 0.6, 0.5][:K])
        need = smallest_budget(bench.rule, one.prices)
        found = one.explore_many(bench.rule, 8 * need, FEW, seed=bench.seed)
        if found.selected.shape[1] < 1 or found.selected.min() < 0 or found.selected.max() >= K:
            yield f"selects arms that do not exist with K = {K} (seed {bench.seed}, trial {position})"
    need = smallest_budget(bench.rule, pool.prices)
    if (single := pool.explore(bench.rule, 8 * need, Seeds.of(bench.seed, 3)).selected) != selected_by(
        bench, pool, 8 * need, [3]
    )[0]:
        yield f"selects arm {single} in a readable trial and another one among many (seed {bench.seed}, trial 3)"


def money(bench: Bench) -> Iterator[str]:
    """Small budgets, unequal costs, both alignments: never more than the budget, and all pulls are paid for."""
    lists: tuple[tuple[int | Fraction, ...], ...] = (
        (1, 1),
        (1, 1, 1, 1, 1),
        (1, 3, 2),
        (Fraction(1, 3), Fraction(5, 2), 1, Fraction(7, 5)),
    )
    for rule in aligned(bench.rule):
        for costs in lists:
            pool = ParametricPool([BernoulliArm(0.3 + 0.1 * i, cost) for i, cost in enumerate(costs)])
            need = smallest_budget(rule, pool.prices)
            for budget in (need, need + pool.prices.unit, need * Fraction(13, 7), 40 * need):
                yield from spent(rule, pool, budget, bench.seed)
            try:
                pool.explore_many(rule, need - pool.prices.unit / pool.n_arms, 1, seed=bench.seed)
            except ValueError:
                continue
            yield f"accepts a budget below its smallest, {show(need)}, at costs {_words(costs)}"


def spent(rule: Strategy, pool: Pool, budget: Fraction, seed: int) -> Iterator[str]:
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


def bits(bench: Bench) -> Iterator[str]:
    """The same bits again, in any block, in any order, and after the rule has done something else."""
    for pool in (ParametricPool.bernoulli([0.5, 0.4, 0.55, 0.45, 0.5]), affine((1, 2, 2))):
        budget = 6 * smallest_budget(bench.rule, pool.prices)
        first = pool.explore_many(bench.rule, budget, FEW, seed=bench.seed, block=FEW)
        ParametricPool.bernoulli([0.1, 0.9]).explore_many(
            bench.rule, 9 * smallest_budget(bench.rule, ParametricPool.bernoulli([0.1, 0.9]).prices), 3
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
            wrong = differs(first, other, back)
            if wrong is not None:
                yield f"does something else {how} (seed {bench.seed}, trial {wrong})"


def clear(bench: Bench) -> Iterator[str]:
    """Arms without noise: the best one is always selected, wherever it is and whatever the others cost."""
    for K in (2, 3, 5, 8):
        for place in {0, K // 2, K - 1}:
            means = [0.9] * K
            means[place] = 0.1
            pool = ParametricPool([GaussianArm(mean, 0.0) for mean in means])
            budget = 8 * smallest_budget(bench.rule, pool.prices)
            missed = np.flatnonzero(selected_by(bench, pool, budget, range(3)) != place)
            if missed.size:
                where = f"(seed {bench.seed}, trial {missed[0]})"
                yield f"misses arm {place} of {K}, whose pulls are all 0.1 among 0.9 {where}"
                return


def ties(bench: Bench) -> Iterator[str]:
    """Arms that are equal in every pull: the rule ends and selects one of them."""
    for K in (2, 5):
        pool = ParametricPool([GaussianArm(0.5, 0.0) for _ in range(K)])
        found = selected_by(bench, pool, 8 * smallest_budget(bench.rule, pool.prices), range(3))
        if found.min() < 0 or found.max() >= K:
            yield f"selects no arm among {K} equal ones (seed {bench.seed})"
