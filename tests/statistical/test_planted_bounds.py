"""Wrong bounds are refuted by the instances on which the right ones pass."""

from __future__ import annotations

from fractions import Fraction
from math import sqrt

import pytest

from exml_sim.engine import run
from tests.statistical import instances
from tests.statistical.alpha_budget import agrees
from tests.statistical.bounds import ACCUMULATE, FRESH_ROWS, UNIFORM
from tests.statistical.instances import BEST, EMPTY, RADIUS, RIVAL
from tests.statistical.planted_table import printed_regret, ties
from tests.statistical.worlds import World
from tests.statistical.wrong_bounds import PLANTED, accumulated, median, pairwise, uniform
from theory import tighter
from theory.verdicts import judge, judge_exact

BY_ERROR = {planted.error: planted for planted in PLANTED}
TENTH = Fraction(1, 10)
#: False-alarm probability of one verdict.
ALPHA = 1e-7


@pytest.mark.parametrize("error", BY_ERROR)
def test_a_wrong_bound_is_refuted_exactly(error):
    planted = BY_ERROR[error]
    where, budget = planted.instance, planted.instance.budget
    right, wrong = planted.right(where.point, budget), planted.wrong(where.point, budget)
    # The right bound is held against the largest possible probability, the wrong one against the smallest.
    assert judge_exact(where.most, right).outcome in ("consistent", "vacuous")
    assert judge_exact(where.least, wrong).outcome == "refuted"


def test_the_right_bounds_speak_where_the_wrong_ones_are_refuted():
    """They say something in all but three cases: two below the launch budget, and one with K = 64 at few rows."""
    silent = [bad.error for bad in PLANTED if not bad.right(bad.instance.point, bad.instance.budget) < 1]
    assert sorted(silent) == ["K - 1 dropped", "kappa without the square root", "optimism dropped"]


def test_every_right_bound_passes_on_every_instance_of_its_strategy():
    for planted in PLANTED:
        for other in PLANTED:
            if planted.instance.strategy == other.instance.strategy:
                bound = planted.right(other.instance.point, other.instance.budget)
                assert judge_exact(other.instance.most, bound).outcome != "refuted", (planted.error, other.error)


def test_the_bounds_that_are_written_out_are_those_of_the_package():
    for planted in PLANTED:
        point, budget = planted.instance.point, planted.instance.budget
        if point.K == 2 and planted.right(point, budget) < 1:
            ours = float(tighter.lemma_4(budget // 2, point.gap, point.theta, point.kappa_lambda))
            assert 0.5 * pairwise(point, budget) <= ours <= pairwise(point, budget) * (1 + 1e-12)
            assert uniform(point, budget) == pytest.approx(ours)
        if planted.right is median:
            assert median(point, budget) <= accumulated(point, budget) * (1 + 1e-12)
            assert accumulated(point, budget) <= 2 * median(point, budget)


# --- the closed forms against the engine ---------------------------------------------------------------------------


@pytest.mark.parametrize("third", [Fraction(1, 10), Fraction(3, 10)])
@pytest.mark.parametrize("n", [1, 2, 17, 60])
def test_the_opposed_pair_against_enumeration(n, third):
    world = instances.opposed_world(TENTH, third)
    failure = world.exact_failure(UNIFORM, 2 * n)
    assert failure == pytest.approx(instances.passed(n, 0.1, float(third)), rel=1e-9)
    assert world.point.gap == pytest.approx(2 * RADIUS * 0.1)


@pytest.mark.parametrize(("strategy", "options"), [("fresh", FRESH_ROWS), ("accumulate", ACCUMULATE)])
def test_copies_of_the_rival_against_enumeration(strategy, options):
    where = instances.duplicates(4, 6, 0.1, strategy)
    world = instances.opposed_world(TENTH, TENTH, (RIVAL, RIVAL, RIVAL, BEST))
    failure = world.exact_failure(options, where.budget)
    assert where.least * (1 - 1e-9) <= failure <= where.most * (1 + 1e-9)
    assert world.point.gaps == pytest.approx(where.point.gaps)


@pytest.mark.parametrize(
    ("strategy", "options"), [("fresh", FRESH_ROWS), ("accumulate", ACCUMULATE), ("uniform", UNIFORM)]
)
def test_one_rival_against_enumeration(strategy, options):
    # Seven twentieths of the rows are third ones here.
    world = instances.opposed_world(Fraction(1, 20), Fraction(7, 20), (RIVAL, BEST, EMPTY, EMPTY))
    where = instances.one_rival(4, 6, 0.05, strategy)
    assert world.exact_failure(options, where.budget) == pytest.approx(where.least, rel=1e-9)
    assert world.point.gaps == pytest.approx(where.point.gaps)


# --- the same by counting trials -----------------------------------------------------------------------------------


def tried(world: World, strategy, planted, budget, trials):
    """Verdicts on the right and on the wrong bound of a world, from trials of the engine."""
    failures = world.count(strategy, budget, trials, seed=1)
    bounds = [bound(world.point, budget) for bound in (planted.right, planted.wrong)]
    return [judge(failures, trials, bound, alpha=ALPHA).outcome for bound in bounds]


@pytest.mark.parametrize(
    "error", ["n replaced by 4 n", "gap replaced by 2 gap", "gap not squared", "exp(-n), as printed"]
)
def test_a_wrong_bound_is_refuted_by_trials(error):
    world = instances.opposed_world(TENTH, TENTH)
    outcomes = tried(world, UNIFORM, BY_ERROR[error], 2 * 400, 5000)
    assert outcomes == ["consistent", "refuted"]


def test_dropping_the_number_of_arms_is_refuted_by_trials():
    where = BY_ERROR["K - 1 dropped"].instance
    world = instances.crowd_world(64, 1 / 3)
    assert world.point.gaps == pytest.approx(where.point.gaps)
    outcomes = tried(world, UNIFORM, BY_ERROR["K - 1 dropped"], where.budget, 1000)
    assert outcomes == ["vacuous", "refuted"]
    # The trials agree with the closed form.
    few = instances.crowd(8, 36, 1 / 3)
    failures = instances.crowd_world(8, 1 / 3).count(UNIFORM, few.budget, 4000, seed=2)
    assert agrees(failures, 4000, few.least, ALPHA)


@pytest.mark.parametrize("error", ["optimism dropped", "kappa without the square root"])
def test_forgetting_the_optimism_is_refuted_by_trials(error):
    planted = BY_ERROR[error]
    point, budget = planted.instance.point, planted.instance.budget
    pool = instances.overfit_pool(25, 900, planted.instance.kappa)
    assert pool.gap == pytest.approx(point.gap, rel=1e-6)
    assert pool.kappa == pytest.approx(planted.instance.kappa)
    trials = 300
    failures = int(pool.explore_many("uniform_allocation", budget, trials, seed=0).failures(pool.best_arms()).sum())
    assert failures == trials
    assert judge(failures, trials, planted.right(point, budget), alpha=ALPHA).outcome == "vacuous"
    assert judge(failures, trials, planted.wrong(point, budget), alpha=ALPHA).outcome == "refuted"


def test_the_printed_sum_of_rows_is_refuted_by_trials():
    world = instances.opposed_world(TENTH, TENTH, (RIVAL, RIVAL, RIVAL, BEST))
    error = "sum of n_t as printed, in every round"
    outcomes = tried(world, ACCUMULATE, BY_ERROR[error], 8 * 400, 3000)
    assert outcomes == ["consistent", "refuted"]


def test_wrong_bounds_beyond_the_reach_of_counting_are_refuted_by_tilted_trials():
    """The probability is 1.2e-5: counting would need 12 million trials. The interval is Student's, 1e-7 a side."""
    world, budget = instances.opposed_world(TENTH, TENTH), 2 * 1600
    study = world.study(UNIFORM, budget, "importance_sampling", trials=3000)
    (summary,) = run(study, progress=False, n_jobs=1).summary(level=1 - 2 * ALPHA)
    assert summary.lower < instances.passed(1600, 0.1, 0.1) < summary.upper
    for error in ("the 2 of 2 M^2 dropped", "independent rows assumed", "nonnegative kernel assumed"):
        right, wrong = BY_ERROR[error].right(world.point, budget), BY_ERROR[error].wrong(world.point, budget)
        assert wrong < summary.lower < summary.upper < right
        # A count that fits the rate decides nothing about the wrong bound.
        assert judge(round(3000 * summary.failure_rate), 3000, wrong).outcome == "undecided"


# --- statements whose wrong form is not another number -------------------------------------------------------------


def test_ignoring_ties_is_refuted():
    """The bound speaks of the best arms; held against "selects the first arm", as printed, it fails."""
    assert [verdict.outcome for verdict in ties("uniform")] == ["consistent", "refuted"]


def test_ignoring_ties_in_median_elimination_is_refuted():
    assert [verdict.outcome for verdict in ties("median")] == ["consistent", "refuted"]


def test_twice_the_rows_in_the_regret_is_refuted():
    """Lemma 2 (ii) as printed counts floor(B / log2 K) rows; for K = 2 the selected arm has half of them."""
    assert [verdict.outcome for verdict in printed_regret()] == ["consistent", "refuted"]


def test_the_overfit_instance_is_the_impossibility_of_theorem_9():
    """Below (r / (gap + r / sqrt m))^2 rows some population surely fails; this is such a population."""
    where = instances.overfit(25, 900)
    limit = float(tighter.impossible_rows(where.point.gap, where.point.theta, where.point.kappa_lambda, 900))
    assert 25 < limit < 25.1
    assert where.point.gap + RADIUS / sqrt(900) < RADIUS
