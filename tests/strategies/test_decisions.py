"""Decisions at their boundaries: uncertain scores, one arm, hopeless arms, and what the first decisions draw."""

from __future__ import annotations

from fractions import Fraction
from math import sqrt
from typing import Any

import numpy as np
import pytest

from exml_sim.bandit._ranking import Scores, TieBreaker
from exml_sim.bandit.ledger import Ledger
from exml_sim.bandit.parametric import GaussianArm
from exml_sim.bandit.trial_batch import ArmState, TrialBatch
from exml_sim.money import Prices
from exml_sim.seeds import Seeds, philox
from exml_sim.strategies import (
    BaseStrategy,
    MedianElimination,
    SuccessiveAcceptsRejects,
    TopTwo,
    UniformAllocation,
    ValueOfInformationCommit,
    accept_reject,
    by_name,
    ocba,
    top_two,
    ugap,
)
from tests.bandit.losses import LossPool
from tests.strategies.reference import coins

GRID = 0.0625


def make_scores(values: np.ndarray, half_widths: np.ndarray) -> Scores:
    return Scores(values, values - half_widths, values + half_widths)


def is_pair_open(values: list[float], pulls: list[int], width: float) -> bool:
    """Whether scores that are off by a certificate width each could give another leader or another challenger."""
    arms = [arm for arm in range(len(values)) if np.isfinite(values[arm])]
    leader = min(arms, key=lambda arm: (values[arm], arm))
    others = [arm for arm in arms if arm != leader]
    spread = {arm: sqrt(1 / pulls[leader] + 1 / pulls[arm]) for arm in others}
    distance = {arm: (values[arm] - values[leader]) / spread[arm] for arm in others}
    challenger = min(others, key=lambda arm: (distance[arm], arm))
    farthest = min(distance[arm] + 2 * width / spread[arm] for arm in others)
    rivals = [distance[arm] - 2 * width / spread[arm] for arm in others if arm != challenger]
    may_lead = any(values[arm] - values[leader] <= 2 * width for arm in others)
    return may_lead or any(rival <= farthest for rival in rivals)


def test_a_pair_is_open_where_certificates_could_change_it() -> None:
    """Widths around the border, on a grid on which a touch is exact, against one trial at a time."""
    rng = np.random.default_rng(4)
    open_cases = []
    for n_arms in (2, 3, 5):
        values = rng.integers(0, 24, (300, n_arms)) * GRID
        pulls = rng.choice([1, 4], (300, n_arms))
        half_widths = np.zeros((300, n_arms))
        half_widths[:, 1] = rng.integers(0, 6, 300) * GRID / 4
        marked = top_two._unclear(make_scores(values, half_widths), pulls)
        assert (marked == marked[:, :1]).all()
        expected = [
            is_pair_open(v, n, w)
            for v, n, w in zip(values.tolist(), pulls.tolist(), 2 * half_widths[:, 1], strict=True)
        ]
        assert marked[:, 0].tolist() == expected
        open_cases += expected
    assert 200 < sum(open_cases) < 800


def is_decision_open(values: list[float], slots: int, width: float) -> bool:
    """Whether scores that are off by a certificate width each could change which arm is decided, and how."""
    ordered = sorted(value for value in values if np.isfinite(value))
    n_arms, blur = len(ordered), 2 * width
    above = np.inf if slots == n_arms else ordered[slots] - ordered[0]
    below = np.inf if slots == 0 else ordered[-1] - ordered[slots - 1]
    is_accepted = slots > 0 and above > below
    neighbour = ordered[1] - ordered[0] if is_accepted else ordered[-1] - ordered[-2]
    is_contested = 0 < slots < n_arms and n_arms > 2
    return neighbour <= blur or (is_contested and abs(above - below) <= 2 * blur)


def test_a_decision_is_open_where_certificates_could_change_it() -> None:
    rng = np.random.default_rng(5)
    open_cases = []
    for n_arms in (2, 3, 4, 6):
        for slots in range(n_arms + 1):
            values = np.full((120, n_arms + 1), np.inf)
            values[:, :n_arms] = rng.integers(0, 48, (120, n_arms)) * GRID
            half_widths = np.zeros(values.shape)
            half_widths[:, 0] = rng.integers(0, 5, 120) * GRID / 4
            marked = accept_reject._unclear(make_scores(values, half_widths), np.full(120, slots), n_arms)
            assert not marked[:, n_arms].any()
            assert (marked[:, :n_arms] == marked[:, :1]).all()
            expected = [
                is_decision_open(v, slots, w) for v, w in zip(values.tolist(), 2 * half_widths[:, 0], strict=True)
            ]
            assert marked[:, 0].tolist() == expected, (n_arms, slots)
            open_cases += expected
    assert 0.2 < np.mean(open_cases) < 0.8


@pytest.mark.parametrize(
    ("name", "pulls"),
    [
        ("uniform_allocation", 40),
        ("median_elimination", 0),
        ("successive_rejects", 0),
        ("ocba", 10),
        ("top_two", 10),
        ("ugap_eb", 10),
        ("value_of_information_commit", 40),
    ],
)
def test_purchases_of_a_single_arm(name: str, pulls: int) -> None:
    """Strategies without rounds for one arm buy their first round only."""
    exploration = LossPool([GaussianArm(0.5, 1.0)]).explore_many(by_name(name), 40, 3)
    assert exploration.pulls.tolist() == [[pulls]] * 3
    assert exploration.selected.tolist() == [[0]] * 3


def test_every_arm_may_be_selected_but_no_more() -> None:
    pool = LossPool([GaussianArm(mean, 0.0) for mean in (0.3, 0.1, 0.2)])
    for strategy in (UniformAllocation(top=3), SuccessiveAcceptsRejects(k=3)):
        assert strategy.selects == 3
        assert sorted(pool.explore_many(strategy, 30, 1).selected[0].tolist()) == [0, 1, 2]
    assert UniformAllocation().selects == MedianElimination().selects == 1
    for strategy in (UniformAllocation(top=4), SuccessiveAcceptsRejects(k=4)):
        with pytest.raises(ValueError, match="cannot select the top 4 of 3 arms"):
            pool.explore_many(strategy, 40, 1)


def test_hopeless_arms_are_dropped_also_where_rows_cost_nothing() -> None:
    """A leader that explains nothing makes rows free; a gain of zero is still not above a price of zero."""
    pool = LossPool([GaussianArm(1.0, 0.0), GaussianArm(100.0, 0.0), GaussianArm(1.0, 0.0)])
    pulls = pool.explore_many(ValueOfInformationCommit(ties="lowest"), 300, 1).pulls[0]
    # 20 pulls each, then 40 and 80 more pairs of the equal arms, until half of the money that is left is less.
    assert pulls[1] == 20
    assert pulls[0] > pulls[2] > 60


class BuyPulls(BaseStrategy):
    """Buy pulls of two of three arms, then of one more."""

    def first_round_cost(self, budget: Fraction, prices: Prices) -> Fraction:
        return budget

    def explore(self, batch: TrialBatch) -> Any:
        for bad in (np.ones((2, 3)), np.ones((1, 3), dtype=np.int64), np.array([[0, -1, 0]] * 2)):
            with pytest.raises(ValueError, match=r"whole numbers of shape \(2, 3\) that are not negative"):
                batch.buy_pulls(bad)
        for money in (np.ones(3, dtype=np.int64), np.ones(2)):
            with pytest.raises(ValueError, match=r"whole units of shape \(2,\)"):
                batch.buy(money)
        assert batch.total_pulls == 7 * 3 / 4
        batch.buy_pulls(np.array([[2, 0, 1]] * 2))
        assert batch.pulls.tolist() == [[2, 0, 1]] * 2
        with pytest.raises(ValueError, match="no fresh rows to score"):
            batch.score(lambda scores: np.zeros((2, 3), dtype=np.bool_), fresh=True)
        commit = ValueOfInformationCommit()
        assert commit._affordable_rows(batch, np.array([0, 1])).tolist() == [1, 2]
        batch.buy(np.array([1, 2]), among=np.array([[False, True, False]] * 2))
        with pytest.raises(ValueError, match="no fresh rows to score"):
            batch.score(lambda scores: np.zeros((2, 3), dtype=np.bool_), fresh=True)
        for number in (0, 4):
            with pytest.raises(ValueError, match="number of arms to keep"):
                batch.keep_best(number)
        return batch.keep_best(3)


def test_numbers_of_pulls_are_bought_and_only_their_arms_share_the_money() -> None:
    pool = LossPool([GaussianArm(0.3, 0.0, cost=2), GaussianArm(0.2, 0.0), GaussianArm(0.1, 0.0)])
    batch, selected = pool.run(BuyPulls(), 7, Seeds.of(0, range(2)), record=True)
    assert batch.pulls.tolist() == [[2, 1, 1], [2, 2, 1]]
    assert selected.tolist() == [[2, 1, 0]] * 2
    entries = [(entry.round, entry.arm, entry.pulls, entry.left_over) for entry in batch.ledger.trial(1).entries()]
    assert entries == [
        (1, pool.names[0], 2, Fraction(-2, 3)),
        (1, pool.names[2], 1, Fraction(2, 3)),
        (2, pool.names[1], 2, 0),
    ]


def test_quality_per_cost_is_what_a_trial_records() -> None:
    pool = LossPool([GaussianArm(0.5, 0.0, cost=2), GaussianArm(0.75, 0.0, cost=4)])
    trial = pool.explore(UniformAllocation(objective="risk_per_cost"), 60, rng=0)
    # (score - 1) / cost: lower is better.
    assert trial.rounds[0].scores == pytest.approx([-0.25, -0.0625])
    assert trial.selected == 0


def words_of_arms(seeds: Seeds, decision: int, n_arms: int) -> np.ndarray:
    return np.array(
        [
            [
                philox(seeds.key[0], seeds.key[1], np.uint64(arm), np.uint64(0), trial, np.uint64(decision))[0]
                for arm in range(n_arms)
            ]
            for trial in seeds.trials
        ]
    )


def test_ties_go_by_the_words_at_the_numbers_of_their_decisions() -> None:
    """The numbers are part of what a seed means: another numbering would change every stored study."""
    seeds, values = Seeds.of(6, range(30)), np.zeros((30, 3))
    ties = TieBreaker(seeds)
    for decision in (2**61 + 1, 2**61 + 2, 2**61 + 3):
        assert (ties.pick_lowest(values) == words_of_arms(seeds, decision, 3).argmin(axis=1)).all()
    assert (ties.pick_highest(values) == words_of_arms(seeds, 2**61 + 4, 3).argmax(axis=1)).all()
    several = ties.pick_several(values, 2)
    assert (several == words_of_arms(seeds, 2**61 + 5, 3).argsort(axis=1)[:, :2]).all()
    whole = ties.order(np.tile(np.arange(3), (30, 1)), np.zeros((30, 3), dtype=np.int64), 3)
    assert (whole == words_of_arms(seeds, 2**61 + 6, 3).argsort(axis=1)).all()
    ties.finish()
    assert (ties.pick_lowest(values) == words_of_arms(seeds, 3 * 2**60 + 1, 3).argmin(axis=1)).all()


def test_pulls_of_top_two_are_shared_with_the_leader() -> None:
    """Arms without noise: leader and challenger get all further pulls, equally many."""
    pool = LossPool([GaussianArm(mean, 0.0) for mean in (0.1, 0.2, 5.0)])
    pulls = pool.explore_many(TopTwo(ties="lowest"), 120, 1).pulls[0]
    assert pulls.tolist() == [55, 55, 10]


def test_the_resolution_of_a_challenger_is_that_of_scores_over_its_spread() -> None:
    """With 4 pulls each the spread is sqrt(1/2): costs 0.3 and 0.2 differ by less than 0.1 / spread."""
    values = np.array([[0.0, 0.3, 0.2]]) * np.sqrt(0.5)
    scores = Scores(values, values, values, 0.1, np.ones((1, 3)))
    pair, costs, spread = top_two._find_pair(scores, np.full((1, 3), 4), np.array([True]))
    assert pair.tolist() == [[0, 1]]
    np.testing.assert_allclose(spread, np.sqrt(0.5))
    np.testing.assert_allclose(costs, [[np.inf, 0.3, 0.2]])
    assert top_two._find_pair(scores, np.full((1, 3), 4), np.array([False]))[0].tolist() == [[0, 2]]


def test_shares_of_ocba() -> None:
    """Minus the wanted share over the pulls, for gaps so large and so small that every term counts."""
    values = np.array([[0.0, 10.0, 40.0], [30.0, 0.0, 0.0], [5.0, 5.0, 5.0]])
    pulls, leader = np.array([[2, 3, 5], [1, 1, 4], [1, 2, 3]]), np.array([0, 2, 1])
    out = np.empty_like(values)
    ocba._compare_shares(values, pulls, leader, out)
    for v, n, b, row in zip(values, pulls, leader, out, strict=True):
        gaps = v - v[b]
        weights = 1 / np.maximum(gaps, max(gaps.max(), 1e-12) * 1e-4) ** 2
        weights[b] = np.sqrt(sum(weights[j] ** 2 for j in range(3) if j != b))
        np.testing.assert_allclose(row, -weights / n, rtol=1e-12)


@pytest.mark.parametrize("total", [2.0, 3.5, 50.0])
def test_limits_of_ugap(total: float) -> None:
    """Limits and indices of the docstring, also where the pulls are hardly more than the arms."""
    for values in ([0.5, 0.0, 3.0], [1.0, 1.0, 4.0], [0.0, 20.0, 40.0], [0.5, 2.0]):
        for e in (0.01, 2.0):
            v, pulls, n_arms = np.array([values]), np.array([[1, 4, 2][: len(values)]]), len(values)
            lower, index = np.empty_like(v), np.empty_like(v)
            ugap._find_limits(v, pulls, total, e, lower, index)
            ordered = sorted(values)
            gaps = [value - ordered[0] if value > ordered[0] else ordered[1] - ordered[0] for value in values]
            hardness = sum(1 / max((gap + e) / 2, e) ** 2 for gap in gaps)
            widths = np.sqrt(max(total - n_arms, 1.0) / 4 / hardness / pulls)
            np.testing.assert_allclose(lower, v - widths, rtol=1e-12)
            expected = [
                v[0, k] + widths[0, k] - min(lower[0, i] for i in range(n_arms) if i != k) for k in range(n_arms)
            ]
            np.testing.assert_allclose(index[0], expected, rtol=1e-12)
    alone = np.empty((1, 1)), np.empty((1, 1))
    ugap._find_limits(np.array([[0.5]]), np.array([[4]]), 5.0, 0.1, *alone)
    assert np.isfinite(alone[0]).all()


class RefinableArms(ArmState):
    """Arms whose scores are known up to half widths that shrink from level to level; calls are noted."""

    levels, has_exact_scores = 3, False

    def __init__(self, values: np.ndarray, half_widths: tuple[float, ...]) -> None:
        self.values, self.half_widths = values, half_widths
        self.calls: list[tuple[int, list[list[bool]]]] = []

    def pull(self, pulls: Any, fresh_rows: bool, pay: Any) -> Any:
        pay(pulls, pulls)
        return pulls

    def score(self, wanted: Any, fresh_rows: bool, level: int) -> Scores:
        self.calls.append((level, wanted.tolist()))
        value = np.where(wanted, self.values, np.inf)
        return Scores(value, value - self.half_widths[level], value + self.half_widths[level], 0.0)


def open_batch(values: list[list[float]], half_widths: tuple[float, ...]) -> tuple[TrialBatch, RefinableArms]:
    arms = RefinableArms(np.array(values), half_widths)
    ledger = Ledger(100, [1] * len(values[0]), trials=len(values))
    return TrialBatch(arms, ledger, alignment="sample", objective="risk"), arms


YES, NO = True, False


def test_scores_are_refined_where_they_are_unclear_and_no_further() -> None:
    batch, arms = open_batch([[0.0, 0.3, 0.9], [0.0, 0.5, 0.9]], (0.2, 0.1, 0.0))
    batch.buy(10)
    assert batch.keep_best(1).tolist() == [[0], [0]]
    # Half widths of 0.2 leave 0.0 and 0.3 open; those of 0.1 do not.
    assert arms.calls == [(0, [[YES] * 3] * 2), (1, [[YES, YES, NO], [NO] * 3])]
    assert batch.uncertain.tolist() == [False, False]
    batch, arms = open_batch([[0.0, 0.0, 0.9], [0.0, 0.5, 0.9]], (0.2, 0.1, 0.01))
    batch.buy(10)
    batch.keep_best(1)
    assert [level for level, _ in arms.calls] == [0, 1, 2]
    assert batch.uncertain.tolist() == [True, False]


def test_known_scores_are_not_computed_again() -> None:
    batch, arms = open_batch([[0.0, 0.5, 0.9, 2.0]] * 2, (0.01, 0.01, 0.01))
    batch.buy(10)
    batch.keep_best(3)
    arms.calls.clear()
    # Nothing was bought since: nothing is computed.
    batch.keep_best(3)
    assert arms.calls == []
    batch.buy(np.array([2, 2]), among=np.array([[NO, YES, NO, NO], [NO, NO, YES, NO]]))
    batch.keep_best(2)
    assert arms.calls == [(0, [[NO, YES, NO, NO], [NO, NO, YES, NO]])]
    arms.calls.clear()
    batch.buy(10)
    batch.keep_best(1)
    assert arms.calls == [(0, [[YES, YES, NO, NO]] * 2)]


def test_rows_of_the_leader_end_with_its_money_or_its_rows(monkeypatch: pytest.MonkeyPatch) -> None:
    batch, arms = open_batch([[0.0, 0.5, 0.9]] * 2, (0.01, 0.01, 0.01))
    batch.buy(10)
    assert batch.ledger.left_units.tolist() == [91, 91]
    commit, leader = ValueOfInformationCommit(), np.array([1, 2])
    assert commit._affordable_rows(batch, leader).tolist() == [91, 91]
    monkeypatch.setattr(arms, "pulls_left", lambda: np.array([[1, 40, 1], [1, 1, 200]]))
    assert commit._affordable_rows(batch, leader).tolist() == [40, 91]


def test_fresh_scores_are_computed_and_forgotten() -> None:
    batch, arms = open_batch([[0.0, 0.5]], (0.01, 0.01, 0.01))
    batch.buy(10, fresh=True)
    for _ in range(2):
        batch.keep_best(1, fresh=True)
    assert arms.calls == [(0, [[YES, YES]]), (0, [[YES, NO]])]


def test_coins_are_one_sequence() -> None:
    """What the references of the strategies rely on."""
    pool = coins([0.5, 0.5])
    arms, steps = (pool.open(Seeds.of(1, range(5))) for _ in range(2))
    arms.pull(np.full((5, 2), 7), False, lambda pulled, due: None)
    for _ in range(7):
        steps.pull(np.ones((5, 2), dtype=np.int64), False, lambda pulled, due: None)
    everyone = np.ones((5, 2), dtype=bool)
    assert (arms.score(everyone, False, 0).value == steps.score(everyone, False, 0).value).all()
