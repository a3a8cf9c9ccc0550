"""The known errors of the paper, found by the search on its own; every space is generic and every start is random."""

import math
from fractions import Fraction

import pytest

from simulations.falsify.search import Limits, search
from simulations.falsify.targets import all_targets, get
from simulations.falsify.targets._definitions import rows_of_selected
from simulations.falsify.targets._selection import in_fractions, parameters
from theory import exact, paper


def rediscover(claim, evaluations, seed=0):
    outcome = search(get(claim), seed=seed, limits=Limits(evaluations=evaluations))
    assert outcome.violated, outcome.describe()
    assert outcome.verdict.outcome == "refuted"
    assert outcome.raw is not None
    return outcome.best, outcome


@pytest.mark.parametrize(
    ("claim", "evaluations"),
    [
        *((claim, 1500) for claim in ("eq-2", "lemma-2-first-round", "sample-alignment", "remark-5-launch-budget")),
        *((claim, 1500) for claim in ("lemma-4", "lemma-1-ii", "lemma-2-ii/corner", "term-d")),
    ],
)
def test_an_error_is_found_and_confirmed(claim, evaluations):
    """By trials that the search has not seen the confirmation has a false-alarm rate of 1e-6."""
    _, outcome = rediscover(claim, evaluations)
    assert outcome.verdict.alpha is None or outcome.verdict.alpha <= 1e-6


@pytest.mark.parametrize(("claim", "evaluations", "seed"), [("lemma-1-i", 1500, 3), ("lemma-2-i", 600, 0)])
def test_the_tie_counterexample(claim, evaluations, seed):
    """Two equally good arms that see different rows; the other one is selected half of the time."""
    pool, _ = rediscover(claim, evaluations, seed)
    assert len(pool.best) >= 2
    if claim == "lemma-1-i":
        assert in_fractions(pool)
        gap, theta, r = parameters(pool)
        bound = paper.delta_fail_uniform(pool.budget, pool.arms, gap, theta, r)
        assert 1 - exact.uniform_selection(pool.pool, pool.budget)[0] > Fraction(bound)
        assert bound < 1


def test_the_sample_count_is_wrong_and_most_so_for_two_arms():
    point, outcome = rediscover("a5-count-3", 50)
    # Shrinking leads to K = 2: one row where two are claimed.
    assert (point["power"], point["first"]) == (1, 1)
    worst = search(get("a5-count-3"), limits=Limits(evaluations=400, maximise=True))
    assert worst.best["power"] == 1
    assert outcome.measured.ratio == pytest.approx(2) == worst.measured.ratio


def test_half_of_the_claimed_rows_needs_rounding_down():
    """Half of floor(B / log2 K) is too much for two arms and an odd budget; rounded down it holds for all K."""
    point, _ = rediscover("a5-count-4/half", 200)
    power, budget = point["power"], point["B"]
    assert rows_of_selected(budget, 2**power) < Fraction(budget // power, 2)
    for arms in range(2, 70):
        rounds = (arms - 1).bit_length()
        assert all(rows_of_selected(budget, arms) >= budget // rounds // 2 for budget in range(1, 400))


@pytest.mark.parametrize(
    ("claim", "evaluations", "seed", "repaired", "is_the_error"),
    [
        # The regret bound counts B rows where each of two arms has B / 2.
        ("lemma-2-ii", 1500, 3, "lemma-1-ii/affine", lambda pool: pool.arms == 2),
        # The square of kappa is smaller than its root where kappa < 1.
        ("lemma-4-kappa", 3000, 0, "lemma-4-kappa/repaired", lambda p: max(p["kappa1"], p["kappa2"]) < 1),
        ("eq-1", 400, 0, "eq-1/repaired", lambda point: point["h"] == 0),
        ("eq-4-value", 400, 0, "eq-4-value/repaired", lambda point: 0 in (point["h1"], point["h2"])),
    ],
)
def test_the_repaired_statement_holds_where_the_printed_one_fails(claim, evaluations, seed, repaired, is_the_error):
    instance, _ = rediscover(claim, evaluations, seed)
    assert is_the_error(instance)
    assert not get(repaired).measure(instance, 0).violates


def test_uniform_allocation_fails_more_often_than_median_elimination():
    pool, _ = rediscover("me-fails-more", 200)
    uniform = exact.failure(pool.pool, exact.uniform_selection(pool.pool, pool.budget))
    assert uniform > exact.failure(pool.pool, exact.median_selection(pool.pool, pool.budget))


@pytest.mark.long
@pytest.mark.parametrize("seed", range(3))
@pytest.mark.parametrize("claim", [target.id for target in all_targets() if target.holds is False])
def test_every_error_is_found_from_any_seed_within_five_minutes(claim, seed):
    outcome = search(get(claim), seed=seed, limits=Limits(evaluations=None, seconds=300))
    assert outcome.violated, outcome.describe()
    assert outcome.seconds < 300 + 60


@pytest.mark.long
@pytest.mark.parametrize("claim", [target.id for target in all_targets() if target.holds])
def test_what_is_proved_withstands_a_long_search(claim):
    outcome = search(get(claim), seed=1, limits=Limits(evaluations=5000, seconds=120))
    assert not outcome.violated, outcome.describe()
    assert outcome.measured.excess <= 1e-9 or math.isnan(outcome.measured.excess)
