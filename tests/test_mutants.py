"""Behaviour that random changes of the code (tools/mutate.py) showed to be untested."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
import pytest

from exml_sim import ParametricPool
from exml_sim.bandit._ranking import Scores
from exml_sim.money import Prices
from exml_sim.seeds import Seeds
from exml_sim.strategies import MedianElimination, by_name
from exml_sim.strategies.accept_reject import _unclear
from theory import paper


def scores(values: list[float], half_width: float = 0.0) -> Scores:
    value = np.array([values])
    return Scores(value, value - half_width, value + half_width)


def test_scores_are_shifted_and_then_scaled() -> None:
    """An arm that saves 0.4 at price 2 is worse than one that saves 0.3 at price 1; without the shift it is better."""
    scaled = scores([0.6, 0.7], 0.01).scaled(1.0, np.array([0.5, 1.0]))
    assert scaled.value.tolist() == [[pytest.approx(-0.2), pytest.approx(-0.3)]]
    assert scaled.lower.tolist() == [[pytest.approx(-0.205), pytest.approx(-0.31)]]
    assert scaled.upper.tolist() == [[pytest.approx(-0.195), pytest.approx(-0.29)]]


@pytest.mark.parametrize(
    ("slots", "half_width", "is_open"), [(4, 0.03, True), (4, 0.02, False), (0, 0.015, True), (0, 0.01, False)]
)
def test_close_arms_are_scored_more_accurately_before_one_is_decided(
    slots: int, half_width: float, is_open: bool
) -> None:
    """The best arm is 0.1 ahead and the worst 0.05 behind; certificates leave twice their width open."""
    asked = _unclear(scores([0.1, 0.2, 0.9, 0.95], half_width), np.array([slots]), 4)
    assert bool(asked.all()) == is_open


@pytest.mark.parametrize("alignment", ["sample", "budget"])
def test_reach_counts_the_rows_before_the_last_round(alignment: str) -> None:
    """Four arms in two rounds and eight in three, by hand: half and a third of the money per round."""
    strategy = MedianElimination(alignment=alignment)
    assert strategy.reach(Fraction(80), Prices.of([1] * 4)) == 10
    assert strategy.reach(Fraction(240), Prices.of([1] * 8)) == 10 + 20
    cheapest = {"sample": 40 // (1 + 2 + 3 + 4), "budget": 40 // 4}[alignment]
    assert strategy.reach(Fraction(80), Prices.of([1, 2, 3, 4])) == cheapest


def test_no_more_arms_are_kept_than_every_trial_has() -> None:
    class KeepTooMany:
        alignment, objective = "sample", "risk"

        def first_round_cost(self, budget: Fraction, prices: Prices) -> Fraction:
            return budget

        def explore(self, batch):
            batch.buy(batch.budget)
            batch.active = np.array([[True, True, True], [True, False, False]])
            return batch.keep_best(2)

    pool = ParametricPool.bernoulli([0.5, 0.4, 0.3])
    with pytest.raises(ValueError, match="at most 1, the active ones; got 2"):
        pool.run(KeepTooMany(), 30, Seeds.of(0, range(2)), record=False)


def test_the_approximation_error_is_added_to_the_supervised_bound() -> None:
    arguments = (10_000, 0.1, 0.5, 0.05)
    plain = paper.excess_risk_supervised(*arguments, approximation_error=0.0)
    assert paper.excess_risk_supervised(*arguments, approximation_error=0.25) == pytest.approx(plain + 0.25)


@pytest.mark.parametrize(
    ("name", "options"),
    [
        ("median_elimination", {"accumulate": True}),
        ("value_of_information_commit", {"first_round_share": Fraction(1, 5), "rounds": 4, "deviation": 0.5}),
        ("top_two", {"alignment": "sample", "objective": "risk", "ties": "random"}),
    ],
)
def test_defaults_of_strategies(name: str, options: dict) -> None:
    """A changed default would change every study that does not name the option."""
    strategy = by_name(name)
    assert {option: getattr(strategy, option) for option in options} == options
