"""N trials in lock-step are N trials alone, bit for bit; and bad input at the door."""

from fractions import Fraction

import numpy as np
import pytest

from exml_sim.arms import BernoulliArm, BoundedArm, GaussianArm, KnownPool
from exml_sim.engine.seeds import Seeds
from exml_sim.exploration import read_trial
from exml_sim.ledger import Overspend
from exml_sim.strategies import (
    MedianElimination,
    SuccessiveAcceptsRejects,
    SuccessiveRejects,
    TopTwo,
    UniformAllocation,
    by_name,
)


def all_rules(alignment="sample", objective="risk"):
    options = {"alignment": alignment, "objective": objective}
    return [
        UniformAllocation(**options),
        MedianElimination(**options),
        MedianElimination(reuse=False, **options),
        SuccessiveRejects(**options),
        SuccessiveAcceptsRejects(k=2, **options),
        TopTwo(rounds=5, **options),
    ]


def assert_same_bits(pool, rule, budget, trials=9):
    """Compare every number of a lock-step run with the same trials run alone."""
    together, selected = pool.run(rule, budget, Seeds.of(5, range(trials), stream=2), record=True)
    for i in range(trials):
        one = read_trial(together, selected, i)
        alone = pool.explore(rule, budget, Seeds.of(5, i, stream=2))
        assert alone.accepted == one.accepted
        assert alone.ledger.entries() == one.ledger.entries()
        assert len(alone.rounds) == len(one.rounds)
        for a, b in zip(alone.rounds, one.rounds, strict=True):
            assert (a.active, a.survivors, a.certified) == (b.active, b.survivors, b.certified)
            for field in ("pulls", "scores", "lower", "upper"):
                assert getattr(a, field).tobytes() == getattr(b, field).tobytes()
        assert (alone.counts is None) == (one.counts is None)
        if alone.counts is not None:
            assert np.array_equal(alone.counts, one.counts)


POOL = KnownPool(
    [
        BernoulliArm(0.4, "0.95"),
        GaussianArm(0.5, 0.3, "1.2"),
        BoundedArm((0.1, 0.9), (0.5, 0.5), 1),
        BernoulliArm(0.45, Fraction(1, 3)),
        BernoulliArm(0.4, 2),
    ]
)


@pytest.mark.parametrize("objective", ["risk", "risk_per_cost"])
@pytest.mark.parametrize("alignment", ["sample", "budget"])
@pytest.mark.parametrize("position", range(6))
def test_lockstep_is_bit_identical_on_known_arms(alignment, objective, position):
    assert_same_bits(POOL, all_rules(alignment, objective)[position], 200)


@pytest.mark.parametrize("rule", all_rules(), ids=lambda rule: type(rule).__name__)
def test_results_do_not_depend_on_blocks_threads_or_company(rule):
    whole = POOL.explore_many(rule, 150, 40, seed=3)
    cut = POOL.explore_many(rule, 150, 40, seed=3, block=7, n_jobs=2)
    some = POOL.explore_many(rule, 150, [31, 4], seed=3)
    assert np.array_equal(whole.selected, cut.selected)
    assert np.array_equal(whole.pulls, cut.pulls)
    assert np.array_equal(whole.spent_units, cut.spent_units)
    assert np.array_equal(whole.selected[[31, 4]], some.selected)
    assert not np.array_equal(whole.selected, POOL.explore_many(rule, 150, 40, seed=4).selected)


def test_strategies_see_the_same_pulls():
    """Paired comparison: an arm's first n pulls are the same whoever buys them."""
    uniform = POOL.explore(UniformAllocation(), 240, Seeds.of(1, 8))
    halving = POOL.explore(MedianElimination(), 2000, Seeds.of(1, 8))
    pulls = int(uniform.rounds[0].pulls[0])
    again = POOL.explore(UniformAllocation(), pulls * sum(POOL.costs), Seeds.of(1, 8))
    assert again.rounds[0].scores.tobytes() == uniform.rounds[0].scores.tobytes()
    n = int(halving.rounds[0].pulls[0])
    opening = POOL.explore(UniformAllocation(), n * sum(POOL.costs), Seeds.of(1, 8))
    assert opening.rounds[0].scores.tobytes() == halving.rounds[0].scores.tobytes()


def test_spent_is_exact_for_many_trials():
    found = POOL.explore_many(MedianElimination(alignment="budget"), 200, 10)
    for i in range(10):
        exact = sum(int(n) * c for n, c in zip(found.pulls[i], POOL.costs, strict=True))
        assert int(found.spent_units[i]) * found.unit == exact <= 200


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
    with pytest.raises(ValueError, match="the smallest budget that works is") as error:
        POOL.explore(rule, budget)
    number = Fraction(str(error.value).rsplit(" ", 1)[1])
    assert float(number) == pytest.approx(float(need), abs=1e-2)
    assert POOL.explore(rule, number).ledger.spent <= number


@pytest.mark.parametrize(
    ("build", "message"),
    [
        (
            lambda: by_name("thompson"),
            "unknown strategy 'thompson': allowed are 'uniform_allocation', 'median_elim",
        ),
        (lambda: POOL.explore("ucb", 100), "unknown strategy 'ucb'"),
        (
            lambda: UniformAllocation(alignment="cost"),
            "unknown alignment 'cost': allowed are 'sample', 'budget'",
        ),
        (lambda: TopTwo(alignment=""), "unknown alignment ''"),
        (
            lambda: SuccessiveRejects(objective="price"),
            "unknown objective 'price': allowed are 'risk', 'risk_per_cost'",
        ),
        (lambda: UniformAllocation(top=0), "top must be at least 1, got 0"),
        (lambda: POOL.explore(UniformAllocation(top=6), 100), "cannot select the top 6 of 5 arms"),
        (lambda: SuccessiveAcceptsRejects(k=0), "k must be at least 1, got 0"),
        (lambda: POOL.explore(SuccessiveAcceptsRejects(k=9), 100), "cannot select the top 9 of 5 arms"),
        (lambda: TopTwo(opening_share=0), r"opening_share must be in \(0, 1\], got 0"),
        (lambda: TopTwo(opening_share="1.01"), "opening_share must be in"),
        (lambda: TopTwo(rounds=0), "rounds must be at least 1, got 0"),
        (lambda: POOL.explore(UniformAllocation(), "lots"), "budget must be a finite number"),
        (lambda: POOL.explore(UniformAllocation(), float("nan")), "budget must be a finite number"),
        (lambda: POOL.explore(object(), 100), "a strategy needs alignment, objective, opening and explore"),
        (
            lambda: POOL.explore(UniformAllocation(), 100, Seeds.of(0, range(2))),
            "explore runs one trial, got .* 2",
        ),
        (lambda: POOL.explore_many(UniformAllocation(), 100, 0), "at least one trial"),
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

        def opening(self, budget, prices):
            return budget

        def explore(self, trials):
            trials.buy(trials.budget)
            return trials.keep(2)[:, 1:]

    best_two = POOL.explore_many(UniformAllocation(top=2), 500, 20)
    assert np.array_equal(POOL.explore_many(Second(), 500, 20).selected[:, 0], best_two.selected[:, 1])


def test_a_strategy_cannot_overspend():
    class Greedy:
        alignment = "sample"
        objective = "risk"

        def opening(self, budget, prices):
            return budget

        def explore(self, trials):
            trials.buy(trials.budget)
            trials.buy(trials.budget)
            return trials.keep(1)

    with pytest.raises(Overspend, match="round 2 would cost"):
        POOL.explore(Greedy(), 100)
