"""N trials in lock-step are N trials alone, bit for bit; and bad input before anything runs."""

from fractions import Fraction
from typing import Any

import numpy as np
import pytest

from exml_sim.bandit.ledger import Overspend
from exml_sim.bandit.parametric import BernoulliArm, BoundedArm, GaussianArm
from exml_sim.bandit.trial import read_trial
from exml_sim.seeds import Seeds
from exml_sim.strategies import (
    STRATEGIES,
    MedianElimination,
    SuccessiveAcceptsRejects,
    SuccessiveRejects,
    TopTwo,
    UniformAllocation,
    by_name,
)
from tests.bandit.losses import LossPool


def all_rules(alignment="sample", objective="risk"):
    options = {"alignment": alignment, "objective": objective}
    return [
        UniformAllocation(**options),
        MedianElimination(**options),
        MedianElimination(accumulate=False, **options),
        SuccessiveRejects(**options),
        SuccessiveAcceptsRejects(k=2, **options),
        TopTwo(rounds=5, **options),
    ]


def assert_same_bits(pool, rule, budget, trials=9):
    """Compare every number of a lock-step run with the same trials run alone."""
    together, selected = pool.run(rule, budget, Seeds.of(5, range(trials), stream=2), record=True)
    for i in range(trials):
        trial = read_trial(together, selected, i)
        alone = pool.explore(rule, budget, Seeds.of(5, i, stream=2))
        assert alone.accepted == trial.accepted
        assert alone.ledger.entries() == trial.ledger.entries()
        assert len(alone.rounds) == len(trial.rounds)
        for a, b in zip(alone.rounds, trial.rounds, strict=True):
            assert (a.active, a.survivors, a.certified) == (b.active, b.survivors, b.certified)
            for field in ("pulls", "scores", "lower", "upper"):
                assert getattr(a, field).tobytes() == getattr(b, field).tobytes()
        assert (alone.counts is None) == (trial.counts is None)
        if alone.counts is not None:
            assert np.array_equal(alone.counts, trial.counts)


POOL = LossPool(
    [
        BernoulliArm(0.4, "0.95"),
        GaussianArm(0.5, 0.3, "1.2"),
        BoundedArm((0.1, 0.9), (0.5, 0.5), 1),
        BernoulliArm(0.45, Fraction(1, 3)),
        BernoulliArm(0.4, 2),
    ]
)


# What 12 buys under sample alignment: two pulls of every arm.
UNITS_OF_TWELVE = 2 * sum(POOL.costs)


@pytest.mark.parametrize("objective", ["risk", "risk_per_cost"])
@pytest.mark.parametrize("alignment", ["sample", "budget"])
@pytest.mark.parametrize("position", range(6))
def test_trial_batch_is_bit_identical_on_known_arms(alignment, objective, position):
    assert_same_bits(POOL, all_rules(alignment, objective)[position], 200)


#: Options of the strategies that cannot do without.
OPTIONS = {
    "successive_accepts_rejects": {"k": 2},
    "ucb_e": {"hardness": 100.0},
    "shvar": {"variances": [0.2] * 5},
    "bayes_elimination": {"prior_risks": [0.5, 0.4, 0.5, 0.6, 0.5]},
    "random_subset": {"arms": 3},
}
NEED_EQUAL_COSTS = ("shvar", "shadavar", "oracle_allocation")


@pytest.mark.parametrize("name", STRATEGIES)
def test_results_do_not_depend_on_blocks_threads_or_company(name):
    """With random ties and, where a strategy can have them, unequal costs; no trial spends more than it has."""
    costs = None if name in NEED_EQUAL_COSTS else [1, 2, "0.5", 1, 3]
    pool = LossPool.bernoulli([0.5, 0.5, 0.4, 0.5, 0.6], costs)
    rule = by_name(name, **OPTIONS.get(name, {}))
    whole = pool.explore_many(rule, 150, 40, seed=3)
    cut = pool.explore_many(rule, 150, 40, seed=3, block=7, n_jobs=2)
    for field in ("selected", "pulls", "spent_units", "confident"):
        assert np.array_equal(getattr(whole, field), getattr(cut, field))
    assert (whole.spent_units * whole.unit <= 150).all()
    assert np.array_equal(whole.selected[[31, 4]], pool.explore_many(rule, 150, [31, 4], seed=3).selected)
    for trial in (0, 17, 39):
        alone = pool.explore(rule, 150, Seeds.of(3, trial))
        assert alone.accepted == tuple(whole.selected[trial])
        assert alone.ledger.pulls.tolist() == [whole.pulls[trial].tolist()]
        assert alone.confident == (None if whole.confident is None else whole.confident[trial])
    assert not np.array_equal(whole.selected, pool.explore_many(rule, 150, 40, seed=4).selected)


def test_strategies_see_the_same_pulls():
    """Paired comparison: an arm's first n pulls are the same a caller that buys them."""
    uniform = POOL.explore(UniformAllocation(), 240, Seeds.of(1, 8))
    halving = POOL.explore(MedianElimination(), 2000, Seeds.of(1, 8))
    pulls = int(uniform.rounds[0].pulls[0])
    again = POOL.explore(UniformAllocation(), pulls * sum(POOL.costs), Seeds.of(1, 8))
    assert again.rounds[0].scores.tobytes() == uniform.rounds[0].scores.tobytes()
    n = int(halving.rounds[0].pulls[0])
    first_round = POOL.explore(UniformAllocation(), n * sum(POOL.costs), Seeds.of(1, 8))
    assert first_round.rounds[0].scores.tobytes() == halving.rounds[0].scores.tobytes()


def test_spent_is_exact_for_many_trials():
    many = POOL.explore_many(MedianElimination(alignment="budget"), 200, 10)
    for i in range(10):
        exact = sum(int(n) * c for n, c in zip(many.pulls[i], POOL.costs, strict=True))
        assert int(many.spent_units[i]) * many.unit == exact <= 200


@pytest.mark.parametrize(
    ("rule", "budget", "need"),
    [
        (UniformAllocation(), 5, "5.4833"),
        (UniformAllocation(alignment="budget"), "9.99", "10"),
        (MedianElimination(), 16, "16.45"),
        (SuccessiveRejects(), 0, "6.58"),
        (TopTwo(), 1, "21.93"),
        (UniformAllocation(), -3, "5.4833"),
    ],
)
def test_too_small_a_budget_says_what_would_do(rule, budget, need):
    with pytest.raises(ValueError, match="the smallest budget that works, in steps of") as error:
        POOL.explore(rule, budget)
    number = Fraction(str(error.value).rsplit(" ", 1)[1])
    assert float(number) == pytest.approx(float(need), abs=1e-2)
    assert POOL.explore(rule, number).ledger.spent <= number


class Own:
    """A strategy that a user might write."""

    def __init__(self, explore=lambda trials: np.zeros((1, 1), int), alignment="sample", objective="risk", opens=50):
        self.explore, self.alignment, self.objective, self.opens = explore, alignment, objective, opens

    def first_round_cost(self, budget, prices):
        return self.opens


def twice_then_fresh(trials):
    trials.buy(30)
    trials.buy(30)
    return trials.keep_best(1, fresh=True)


def test_a_round_paid_in_plain_numbers_is_money_for_one_trial_and_for_many():
    def buy_twelve(trials):
        trials.buy(12)
        return trials.keep_best(1)

    rule = Own(buy_twelve, opens=12)
    alone = POOL.explore(rule, 100)
    assert alone.ledger.spent == UNITS_OF_TWELVE
    many = POOL.explore_many(rule, 100, 3)
    assert (many.spent_units * many.unit).tolist() == [UNITS_OF_TWELVE] * 3


def test_whole_floats_are_whole_numbers():
    whole = POOL.explore(SuccessiveAcceptsRejects(k=2.0), 200)
    assert whole.accepted == POOL.explore(SuccessiveAcceptsRejects(k=2), 200).accepted


@pytest.mark.parametrize("count", [30, np.int64(30), 30.0, range(30), np.arange(30)])
def test_trials_are_counted_however_the_number_is_typed(count):
    many = POOL.explore_many(UniformAllocation(), 100, count)
    assert many.seeds.trials.tolist() == list(range(30))


def test_the_smallest_budget_by_mean_cost_is_a_fraction_of_a_unit():
    pool = LossPool.bernoulli([0.1, 0.2], [1, 2])
    for rule in (SuccessiveRejects(), SuccessiveAcceptsRejects(k=1)):
        with pytest.raises(ValueError, match=r"in steps of 0\.5, is 4\.5$"):
            pool.explore(rule, 4)
        assert pool.explore(rule, "4.5").ledger.spent == 3


@pytest.mark.parametrize(
    ("name", "options"),
    [
        ("uniform_allocation", {"alignment": "cost"}),
        ("top_two", {"alignment": ""}),
        ("successive_rejects", {"objective": "price"}),
        ("ocba", {"ties": "first"}),
        *[("uniform_allocation", {"top": value}) for value in (0, 1.5, "2", 6)],
        *[("successive_accepts_rejects", {"k": value}) for value in (0, 9)],
        *[("top_two", {"first_round_share": value}) for value in (0, "1.01")],
        *[("top_two", {"rounds": value}) for value in (0, 2.5)],
        *[("value_of_information_commit", {name: 0}) for name in ("first_round_share", "rounds", "deviation", "half")],
        ("median_elimination", {"accumulate": "False"}),
        *[("successive_elimination", {"confidence": value}) for value in (1.0, "high")],
        *[("successive_elimination", {"growth": value}) for value in (2.0, -0.1)],
        ("successive_elimination", {"epsilon": -0.1}),
        ("kl_lucb", {"first_pulls": 0}),
        ("ugap_eb", {"epsilon": 0.0}),
        ("eb_tc_epsilon", {"epsilon": float("inf")}),
        ("sequential_halving", {"accumulate": True}),
        *[("successive_elimination", {"growth": value}) for value in (True, "fast", None)],
        *[("shvar", {"variances": value}) for value in ([0.1, 0.2], [0.1, -0.2, 1, 1, 1])],
        ("shvar", {}),
        *[("ucb_e", {"hardness": value}) for value in (0, None)],
        ("ucb_e", {"hard": 2}),
        ("uniform_allocation", {"k": 2}),
        *[("bayes_elimination", {"prior_risks": value}) for value in ([1.0], [np.nan] * 5)],
        ("bayes_elimination", {"prior_risks": [1.0] * 5, "sd": -1}),
        ("continuous_rejects", {"criterion": "c"}),
        *[("fc2fb", options) for options in ({"sampling": "ocba"}, {"error_rate": 1.0})],
        ("shadavar", {"error_rate": 0.0}),
        *[("random_subset", options) for options in ({"sampling": "ocba"}, {"arms": 0}, {"arms": 6})],
    ],
)
def test_bad_options_are_named(name, options):
    # Where the pool does not fit the option is named in words.
    words = {"prior_risks": "prior.risks", "k": r"\bk\b|the top", "variances": "variance"}
    option = next(reversed(options), "variances")
    with pytest.raises(ValueError, match=words.get(option, option)):
        POOL.explore(by_name(name, **options), 200)


@pytest.mark.parametrize(("name", "option"), [("shvar", "variances"), ("bayes_elimination", "prior_risks")])
@pytest.mark.parametrize("value", [0.25, None, [[1]], ["a"], "12", [], [True] * 5, [np.inf], [10**400], np.array(0.5)])
def test_a_list_of_numbers_is_checked_at_construction(name: str, option: str, value: Any) -> None:
    with pytest.raises(ValueError, match=rf"^{option} must be a list of finite numbers.*, one per arm, got "):
        by_name(name, **{option: value})


def test_numbers_of_any_kind_and_container_are_kept_as_floats() -> None:
    values = [Fraction(1, 4), np.float32(0.5), np.int64(1), 2]
    for given in (values, tuple(values), iter(values), np.array(values, dtype=float)):
        assert by_name("bayes_elimination", prior_risks=given).prior_risks == (0.25, 0.5, 1.0, 2.0)
    with pytest.raises(ValueError, match="variances must be a list of finite numbers above 0"):
        by_name("shvar", variances=[0.1, 0.0])


@pytest.mark.parametrize("name", ["kl_lucb", "ugap_ec", "fc2fb", "bayes_elimination"])
def test_strategies_for_risks_refuse_another_objective_at_construction(name: str) -> None:
    with pytest.raises(ValueError, match=r"unknown objective 'risk_per_cost': allowed are 'risk'$"):
        by_name(name, **({"prior_risks": [0.5, 0.4]} if name == "bayes_elimination" else {}), objective="risk_per_cost")


def test_only_unknown_options_are_listed() -> None:
    with pytest.raises(ValueError, match=r"'ucb_e' does not take the options \[hard\]: it has alignment"):
        by_name("ucb_e", hardness=2, hard=3)


def test_sequential_halving_on_all_pulls_is_named() -> None:
    with pytest.raises(ValueError, match=r"accumulate must be False .* choose 'median_elimination'"):
        by_name("sequential_halving", accumulate=True)
    assert not by_name("sequential_halving", accumulate=False).accumulate


@pytest.mark.parametrize(
    ("build", "message"),
    [
        (
            lambda: by_name("thompson"),
            "unknown strategy 'thompson': allowed are 'bayes_elimination', 'continuous_rejects'",
        ),
        (
            lambda: POOL.explore("successive_accepts_rejects", 100),
            r"needs a value of k: it has alignment, objective, ties, k \(required\)",
        ),
        (lambda: POOL.explore(UniformAllocation(), "lots"), "budget must be a finite number"),
        (lambda: POOL.explore(object(), 100), "a strategy needs alignment, objective, first_round_cost and explore"),
        (
            lambda: POOL.explore(UniformAllocation(), 100, Seeds.of(0, range(2))),
            "explore runs one trial, got .* 2",
        ),
        (lambda: POOL.explore_many(UniformAllocation(), 100, 0), "trials must be a whole number of at least 1"),
        (lambda: POOL.explore_many(UniformAllocation(), 100, []), "trial numbers"),
        (lambda: POOL.explore_many(UniformAllocation(), 100, True), "trials must be a whole number .* got True"),
        (lambda: POOL.explore(UniformAllocation, 100), "got the class UniformAllocation: call it"),
        (lambda: POOL.explore(Own(alignment="cost"), 100), "unknown alignment 'cost'"),
        (lambda: POOL.explore(Own(objective="cost"), 100), "unknown objective 'cost': allowed are 'risk', 'r"),
        (lambda: POOL.explore(Own(opens=0), 100), "no budget up to .* lets the first round pull every arm once"),
        (lambda: POOL.explore(Own(opens=None), 100), "the money of the first round must be a finite number"),
        (lambda: POOL.explore(Own(lambda t: t.buy(None)), 100), "the money of a round must be a finite number"),
        (
            lambda: POOL.explore(Own(lambda t: t.buy(np.ones(7, int))), 100),
            r"whole units of shape \(1,\), got int64 of",
        ),
        (lambda: POOL.explore(Own(lambda t: t.buy(np.ones(1))), 100), "got float64 of shape"),
        (lambda: POOL.explore(Own(twice_then_fresh), 100), "no fresh rows to score: the round before must be bought"),
        (
            lambda: POOL.explore(Own(lambda t: (t.buy(50), t.keep_best(0))), 100),
            "to keep must be a whole number of at l",
        ),
        (
            lambda: POOL.explore(Own(lambda t: (t.buy(50), t.keep_best(9))), 100),
            "must be at most 5, the active ones; got 9",
        ),
        (
            lambda: POOL.explore(Own(lambda t: np.array([1])), 100),
            r"shape \(trials, k\), here \(1, k\), got int64 of sh",
        ),
        (lambda: POOL.explore(Own(lambda t: None), 100), r"whole numbers of shape \(trials, k\)"),
        (lambda: POOL.explore(Own(lambda t: np.array([[0.0]])), 100), "got float64 of shape"),
        (lambda: POOL.explore(Own(lambda t: np.array([[5]])), 100), "arms from 0 to 4, got 5 to 5"),
        (
            lambda: POOL.explore_many(UniformAllocation(), 100, 5, n_jobs=0),
            "n_jobs must be a positive whole number or -1",
        ),
    ],
)
def test_bad_input(build, message):
    with pytest.raises(ValueError, match=message):
        build()


def test_a_user_strategy_needs_no_base_class():
    class Second:
        """Buys once and takes the second best: not clever, but a strategy."""

        alignment = "sample"
        objective = "risk"

        def first_round_cost(self, budget, prices):
            return budget

        def explore(self, batch):
            batch.buy(batch.budget)
            return batch.keep_best(2)[:, 1:]

    best_two = POOL.explore_many(UniformAllocation(top=2), 500, 20)
    assert np.array_equal(POOL.explore_many(Second(), 500, 20).selected[:, 0], best_two.selected[:, 1])


def test_a_strategy_cannot_overspend():
    class Greedy:
        alignment = "sample"
        objective = "risk"

        def first_round_cost(self, budget, prices):
            return budget

        def explore(self, batch):
            batch.buy(batch.budget)
            batch.buy(batch.budget)
            return batch.keep_best(1)

    with pytest.raises(Overspend, match="round 2 would cost"):
        POOL.explore(Greedy(), 100)
