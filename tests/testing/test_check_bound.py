"""check_bound passes the right bounds and refutes the wrong ones."""

from __future__ import annotations

from dataclasses import replace
from math import exp
from typing import Any

import numpy as np
import pytest
from scipy.stats import binom

from exml_sim.testing import CheckError
from simulations.falsify.search import Limits, search
from simulations.papers import _build_bound_target
from simulations.testing import Assumes, check_bound, examine_bound, point_of
from tests.quality.bound_mutants import planted_bound
from tests.statistical.wrong_bounds import PLANTED, uniform

ABOUT = {
    "uniform": Assumes(),
    "accumulate": Assumes("median_elimination"),
    "fresh": Assumes("median_elimination", {"accumulate": False}),
}
BY_ERROR = {planted.error: planted for planted in PLANTED}


@pytest.mark.parametrize("error", BY_ERROR)
def test_a_wrong_bound_is_refuted_and_the_right_one_is_not(error: str) -> None:
    planted = BY_ERROR[error]

    def wrong(budget: int, context: Any) -> float:
        if error == "kappa without the square root":
            return uniform(replace(point_of(context), kappa_lambda=context.kappa_lambda * context.kappa), budget)
        return planted.wrong(point_of(context), budget)

    about = ABOUT[planted.instance.strategy]
    report = check_bound(lambda budget, context: planted.right(point_of(context), budget), about)
    assert 1.0 <= report.unseen < 10.0
    with pytest.raises(CheckError, match="and the bound is"):
        check_bound(wrong, about)


def hoeffding(budget: int, context: Any) -> float:
    """Uniform allocation of Bernoulli arms: every rival beats the best with probability exp(-n gap^2) at most."""
    return sum(exp(-(budget // context.K) * gap**2) for gap in context.ordered)


ALPHA = 1e-7
BERNOULLI = Assumes(distribution="bernoulli")


def test_a_bound_for_bernoulli_arms() -> None:
    report = check_bound(hoeffding, BERNOULLI, alpha=ALPHA)
    assert report.spoke >= 40
    assert "would go unseen" in str(report)
    assert report.alpha == ALPHA
    plants = planted_bound(hoeffding, assumes=BERNOULLI)
    caught = {plant.error for plant in plants if plant.caught}
    assert caught >= {"four times the budget", "twice the gaps", "to the fourth power", "a hundredth of it"}


def union_of_pairs(n: int, context: Any) -> float:
    """With n pulls of every Bernoulli arm: the exact probabilities that one rival is at least as good, summed."""
    best, *others = sorted(context.means)
    at = np.arange(n + 1)
    mine = binom.pmf(at, n, best)
    return float(sum(mine @ binom.cdf(at, n, other) for other in others))


def exact_pairs(budget: int, context: Any) -> float:
    return union_of_pairs(budget // context.K, context)


def rounded_up(budget: int, context: Any) -> float:
    """Wrong by at most one pull per arm, and only where K does not divide the budget."""
    return union_of_pairs(-(-budget // context.K), context)


def wrong_from_five_to_seven(budget: int, context: Any) -> float:
    return exact_pairs(budget, context) ** (1.25 if context.K in (5, 6, 7) else 1.0)


def without_costs(budget: int, context: Any) -> float:
    """Right at unit costs; with others the money buys fewer rows."""
    return exact_pairs(budget, context)


def with_costs(budget: int, context: Any) -> float:
    return union_of_pairs(budget // int(sum(context.costs)), context)


def test_errors_that_show_at_some_budgets_numbers_of_arms_or_costs_only() -> None:
    report = check_bound(exact_pairs, BERNOULLI, alpha=ALPHA)
    assert "tested at K = 2, 3, 4, 5, 6, 8, budgets 4 to 800" in str(report)
    assert "unit costs;" in str(report)
    for wrong in (rounded_up, wrong_from_five_to_seven):
        with pytest.raises(CheckError, match="exactly, and the bound is"):
            check_bound(wrong, BERNOULLI, alpha=ALPHA)
    costly = replace(BERNOULLI, costs="any")
    assert "costs 1, 3" in str(check_bound(with_costs, costly, alpha=ALPHA))
    with pytest.raises(CheckError, match="at costs"):
        check_bound(without_costs, costly, alpha=ALPHA)


def test_a_search_comes_closer_than_the_instances() -> None:
    near = examine_bound(hoeffding, BERNOULLI).unseen
    target = _build_bound_target("hoeffding", hoeffding, BERNOULLI, True)
    outcome = search(target, limits=Limits(evaluations=300, maximise=True))
    assert 1.0 <= 1.0 / outcome.measured.ratio < near
