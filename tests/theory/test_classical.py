"""Classical bounds of parametric arms against exact probabilities, against each other, and with planted errors."""

from __future__ import annotations

import math
from itertools import pairwise, product

import numpy as np
import pytest

from exml_sim.bandit.parametric import GaussianArm
from exml_sim.strategies import MedianElimination, SuccessiveRejects, UniformAllocation
from exml_sim.strategies.median_elimination import halving_rounds
from exml_sim.strategies.successive_rejects import phase_totals
from simulations._pool_bounds import match_classical
from tests.bandit.losses import LossPool
from theory.classical import CLASSICAL, SubGaussianArms, find_bounds

BERNOULLI = 0.25


def make_arms(gaps: list[float], variance: float = BERNOULLI) -> SubGaussianArms:
    return SubGaussianArms(tuple(gaps), (variance,) * len(gaps))


def count_probabilities(pulls: int, mean: float) -> np.ndarray:
    k = np.arange(pulls + 1)
    return np.array([math.comb(pulls, int(i)) * mean**i * (1 - mean) ** (pulls - i) for i in k])


def fail_uniform(means: list[float], budget: int) -> float:
    """P(an arm other than the first scores at least as well), by summing over all counts; lower means are better."""
    n = budget // len(means)
    tables = [count_probabilities(n, mean) for mean in means]
    above = [1.0 - np.concatenate([[0.0], np.cumsum(table)]) for table in tables]  # P(count >= k)
    return 1.0 - float(sum(tables[0][k] * math.prod(a[k + 1] for a in above[1:]) for k in range(n + 1)))


def fail_halving(means: list[float], budget: int, accumulate: bool) -> float:
    """P(the first arm is lost) of halving with four arms; ties are broken against it."""
    rounds = halving_rounds(len(means))
    first, second = budget // (rounds * 4), budget // (rounds * 2)
    lost = 0.0
    tables = [count_probabilities(first, mean) for mean in means]
    for counts in product(range(first + 1), repeat=4):
        weight = math.prod(table[k] for table, k in zip(tables, counts, strict=True))
        order = sorted(range(4), key=lambda arm: (counts[arm], -arm))
        kept = order[:2]
        if 0 not in kept:
            lost += weight
            continue
        (rival,) = (arm for arm in kept if arm != 0)
        start = (counts[0], counts[rival]) if accumulate else (0, 0)
        mine, other = count_probabilities(second, means[0]), count_probabilities(second, means[rival])
        reach = np.add.outer(np.arange(second + 1) + start[0], -np.arange(second + 1) - start[1])
        lost += weight * float((np.outer(mine, other) * (reach >= 0)).sum())
    return lost


def test_hoeffding_covers_the_exact_probability_and_half_of_its_exponent_is_needed() -> None:
    bound = CLASSICAL["hoeffding"].function
    tightest = 0.0
    for means in ([0.3, 0.5], [0.45, 0.5, 0.55], [0.1, 0.9, 0.9, 0.9]):
        gaps = [mean - means[0] for mean in means]
        for budget in (len(means), 20, 60, 200):
            exact = fail_uniform(means, budget)
            assert exact <= bound(budget, make_arms(gaps))
            tightest = max(tightest, exact / bound(budget, make_arms(gaps, BERNOULLI / 4)))
    # The planted error, a variance proxy of a quarter, is caught.
    assert tightest > 1


@pytest.mark.parametrize("accumulate", [False, True])
def test_halving_covers_the_exact_probability(accumulate: bool) -> None:
    name = "accumulated_sum" if accumulate else "halving_sum"
    caught = False
    for means in ([0.2, 0.5, 0.6, 0.7], [0.4, 0.45, 0.9, 0.9], [0.1, 0.8, 0.8, 0.8]):
        arms = make_arms([mean - means[0] for mean in means])
        for budget in (8, 24, 40):
            exact = fail_halving(means, budget, accumulate)
            assert exact <= CLASSICAL[name].function(budget, arms)
            if not accumulate:
                assert exact <= CLASSICAL["karnin"].function(budget, arms)
            planted = make_arms(list(arms.gaps), BERNOULLI / 4)
            caught = caught or exact > CLASSICAL[name].function(budget, planted)
    assert caught


def test_rejects_are_bounded_by_the_sum_over_phases_of_the_proof() -> None:
    """The theorem is above the sum that its proof bounds, and half of its exponent's denominator is not."""
    planted = 0
    for K, gap in product((2, 3, 8, 20), (0.05, 0.2, 0.4)):
        gaps = [0.0, *[gap * (1 + i / K) for i in range(K - 1)]]
        for budget in (4 * K, 40 * K, 400 * K):
            totals = phase_totals(budget, K)
            terms = [math.exp(-n * max(gaps[K + 1 - k - 1], gap) ** 2) * k for k, n in enumerate(totals, 1)]
            assert math.fsum(terms) <= CLASSICAL["audibert"].function(budget, make_arms(gaps)) * (1 + 1e-12)
            planted += math.fsum(terms) > CLASSICAL["audibert"].function(budget, make_arms(gaps, BERNOULLI / 2))
    assert planted


def test_the_finite_sum_is_below_the_closed_form_for_every_number_of_arms() -> None:
    """Budgets just before a round gets another pull are where floors cost most."""
    rng = np.random.default_rng(0)
    informative = 0
    for _ in range(4000):
        K = int(rng.integers(2, 70))
        gaps = [0.0, *sorted(10 ** rng.uniform(-1.5, 0.5, K - 1))]
        unit = K * halving_rounds(K)
        budget = unit * int(10 ** rng.uniform(0, 4)) + unit - 1
        arms = make_arms(gaps, float(rng.choice([0.25, 1.0])))
        closed = CLASSICAL["karnin"].function(budget, arms)
        if 1e-300 < closed < 1:
            informative += 1
            assert CLASSICAL["halving_sum"].function(budget, arms) <= closed
    assert informative > 500


def test_bounds_fall_with_the_budget_and_say_where_they_do_not_apply() -> None:
    arms = make_arms([0.0, 0.1, 0.2, 0.3, 0.3])
    for bound in CLASSICAL.values():
        values = [bound.function(budget, arms) for budget in range(15, 4000, 7)]
        assert all(after <= before for before, after in pairwise(values))
    assert math.isnan(CLASSICAL["karnin"].function(14, arms))
    tied = make_arms([0.0, 0.0, 0.3])
    assert [bound.name for bound in find_bounds("uniform", tied)] == ["hoeffding"]
    assert find_bounds("rejects", tied) == find_bounds("halving", tied) == ()


@pytest.mark.parametrize(
    ("gaps", "variances"), [((0.1, 0.2), (1.0, 1.0)), ((0.0,), (1.0,)), ((0.0, 0.1), (1.0,)), ((0.0, 0.1), (0.0, 1.0))]
)
def test_bad_arms_are_refused(gaps: tuple[float, ...], variances: tuple[float, ...]) -> None:
    with pytest.raises(ValueError, match=r"arms|gap 0"):
        SubGaussianArms(gaps, variances)


def test_pools_get_the_bounds_of_their_strategies() -> None:
    pool = LossPool.bernoulli([0.3, 0.5, 0.5])
    names = {
        type(strategy).__name__ + str(getattr(strategy, "accumulate", "")): [
            bound.name for bound in match_classical(pool, strategy)
        ]
        for strategy in (
            UniformAllocation(),
            SuccessiveRejects(),
            MedianElimination(),
            MedianElimination(accumulate=False),
        )
    }
    assert names == {
        "UniformAllocation": ["hoeffding"],
        "SuccessiveRejects": ["audibert"],
        "MedianEliminationTrue": ["accumulated_sum"],
        "MedianEliminationFalse": ["karnin", "halving_sum"],
    }
    assert match_classical(LossPool.bernoulli([0.3, 0.5], [1, 2]), UniformAllocation()) == ()
    assert match_classical(pool, UniformAllocation(top=2)) == ()


def test_required_budgets_are_the_smallest_from_which_on_the_bound_holds() -> None:
    pool = LossPool([GaussianArm(0.0, 2.0), GaussianArm(1.0, 1.0), GaussianArm(1.5, 1.0)])
    (bound,) = match_classical(pool, UniformAllocation())
    budget = bound.required(0.05)
    assert budget is not None
    assert bound.at(budget) <= 0.05 < bound.at(budget - 1)
