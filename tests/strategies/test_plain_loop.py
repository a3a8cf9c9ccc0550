"""A plain function over one trial as a strategy: in a pool, in a comparison and in a study."""

import pytest

from exml_sim import ParametricPool
from exml_sim.bandit.ledger import Overspend
from exml_sim.engine import Study, run
from exml_sim.seeds import Seeds
from exml_sim.strategies import PlainLoop
from tests.bandit.losses import LossPool
from tests.testing.foreign import two_stage

MEANS = [0.7, 0.5, 0.4]


def uniform(pull, budget, rng):
    """Pull every arm equally often; equal means at random."""
    scores = [(pull(arm, int(budget) // 3), rng.random(), arm) for arm in range(3)]
    return max(scores)[2]


def lowest(pull, budget, rng):
    return min((pull(arm, int(budget) // 3), rng.random(), arm) for arm in range(3))[2]


def simulated(means, budget, rng):
    """The same without the pool's pulls."""
    return two_stage(means, int(budget), rng)


@pytest.mark.parametrize(
    ("pool", "loop"), [(ParametricPool.bernoulli(MEANS), uniform), (LossPool.bernoulli(MEANS), lowest)]
)
def test_a_loop_sees_the_pulls_that_a_strategy_sees(pool, loop):
    """Trials without a tie select the same arm, and money is paid for."""
    ours = pool.explore_many("uniform_allocation", 60, 200, seed=3)
    theirs = pool.explore_many(loop, 60, 200, seed=3)
    again = pool.explore_many(PlainLoop(loop), 60, [7, 3], seed=3, block=5)
    assert (ours.pulls == theirs.pulls).all()
    assert (theirs.spent_units == 60).all()
    together, selected = pool.run(loop, 60, Seeds.of(3, range(4)), record=True)
    assert selected[:, 0].tolist() == theirs.selected[:4, 0].tolist()
    assert together.ledger.spent_units.tolist() == [60] * 4
    assert again.selected[:, 0].tolist() == theirs.selected[[7, 3], 0].tolist()
    tied = pool.explore_many("uniform_allocation", 60, 200, seed=4).selected != ours.selected
    same = (ours.selected == theirs.selected).mean()
    assert same > 0.85
    assert tied.mean() > 1.0 - same


def test_loops_in_a_comparison_and_in_a_study():
    pool = ParametricPool.bernoulli(MEANS)
    frame = pool.compare({"mine": uniform, "theirs": "uniform_allocation"}, [30, 60], 60, n_jobs=1, progress=False)
    assert set(frame.to_frame()["strategy"]) == {"mine", "theirs"}
    study = Study(
        pools=[{"kind": "parametric", "means": MEANS}],
        strategies=[uniform, PlainLoop(simulated), "uniform_allocation"],
        budgets={"absolute": ["60"]},
        trials=300,
    )
    with run(study) as result:
        loop, of_means, ours = result.summary()
    assert loop.mean_spend == ours.mean_spend == 60.0
    assert of_means.mean_spend == 0.0
    # Each difference of two rates of 300 trials is within 0.3, beyond 7 deviations.
    assert abs(loop.failure_rate - ours.failure_rate) < 0.3
    assert abs(of_means.failure_rate - ours.failure_rate) < 0.3


def _return(arm):
    """Make a loop that buys nothing and returns this arm."""
    return lambda pull, budget, rng: arm


def test_bad_loops():
    pool = ParametricPool.bernoulli(MEANS)

    def greedy(pull, budget, rng):
        return int(pull(0, 2 * int(budget)))

    def other(arms, money):
        return 0

    def divide(pull, budget, rng):
        return 1 // 0

    with pytest.raises(Overspend, match="the loop 'greedy', trial 0, budget 60: round 1 would cost 120"):
        pool.explore(greedy, 60)
    with pytest.raises(ValueError, match=r"the loop 'divide', trial 0, budget 60: ZeroDivisionError: .*zero"):
        pool.compare({"mine": divide}, [60], 2, n_jobs=1, progress=False)
    with pytest.raises(ValueError, match=r"a loop must be a function \(pull, budget, rng\)"):
        pool.explore(other, 60)
    for wrong in (9, -1, None, 1.0, True):
        with pytest.raises(ValueError, match=f"trial 7, budget 60: .* whole number from 0 to 2, got {wrong}$"):
            pool.explore_many(_return(wrong), 60, [7], n_jobs=1)
