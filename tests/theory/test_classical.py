"""Classical bounds of parametric arms against exact probabilities, against each other, and with planted errors."""

from __future__ import annotations

import math
from dataclasses import replace
from itertools import pairwise, product

import numpy as np
import pytest
from scipy.special import ndtr

from exml_sim.bandit.parametric import GaussianArm, ParametricPool
from exml_sim.strategies import MedianElimination, SuccessiveRejects, UniformAllocation
from exml_sim.strategies.median_elimination import halving_rounds
from exml_sim.strategies.successive_rejects import phase_totals
from simulations._pool_bounds import match_classical
from tests.bandit.losses import LossPool
from theory.classical import CLASSICAL, SubGaussianArms, exchange_exponent, find_bounds
from theory.versions import kind_of

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
    arms = replace(make_arms([0.0, 0.1, 0.2, 0.3, 0.3]), divergences=((0.1, 0.2),) * 4)
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
        "UniformAllocation": ["hoeffding", "exchange_uniform"],
        "SuccessiveRejects": ["audibert", "exchange"],
        "MedianEliminationTrue": ["accumulated_sum", "exchange"],
        "MedianEliminationFalse": ["karnin", "halving_sum", "exchange"],
    }
    assert match_classical(LossPool.bernoulli([0.3, 0.5], [1, 2]), UniformAllocation()) == ()
    assert match_classical(pool, UniformAllocation(top=2)) == ()


def test_required_budgets_are_the_smallest_from_which_on_the_bound_holds() -> None:
    pool = LossPool([GaussianArm(0.0, 2.0), GaussianArm(1.0, 1.0), GaussianArm(1.5, 1.0)])
    bound = match_classical(pool, UniformAllocation())[0]
    budget = bound.required(0.05)
    assert budget is not None
    assert bound.at(budget) <= 0.05 < bound.at(budget - 1)


def divergence(p: float, q: float) -> float:
    """KL of two Bernoulli distributions."""
    parts = ((p, q), (1 - p, 1 - q))
    return math.fsum(x * math.log(x / y) if y > 0 else math.inf for x, y in parts if x > 0)


def fail_with_random_ties(means: tuple[float, ...], pulls: int) -> float:
    """P(uniform allocation misses arm 0, the lowest mean), Bernoulli arms, random ties, by enumeration."""
    tables = [count_probabilities(pulls, mean) for mean in means]
    total = []
    for counts in product(range(pulls + 1), repeat=len(means)):
        share = 1 / counts.count(min(counts)) if counts[0] == min(counts) else 0.0
        total.append(math.prod(table[k] for table, k in zip(tables, counts, strict=True)) * (1 - share))
    return math.fsum(total)


@pytest.mark.parametrize("means", [(0.3, 0.5), (0.01, 0.02), (0.1, 0.9), (0.4, 0.5, 0.6), (0.2, 0.25, 0.9), (0.0, 0.5)])
def test_no_exact_probability_is_below_the_lower_bounds(means: tuple[float, ...]) -> None:
    pairs = tuple((divergence(means[0], mean), divergence(mean, means[0])) for mean in means[1:])
    arms = SubGaussianArms(tuple(mean - means[0] for mean in means), (BERNOULLI,) * len(means), pairs)
    for pulls in (1, 3, 10, 18):
        failure = fail_with_random_ties(means, pulls)
        for name in ("exchange", "exchange_uniform"):
            assert CLASSICAL[name].function(pulls * len(means), arms) <= failure
    # Planted error: no factor 1/4, for two arms that nearly always differ.
    assert math.exp(-2 * divergence(0.4, 0.5)) > fail_with_random_ties((0.4, 0.5), 1)


def test_two_normal_arms_with_one_deviation_attain_the_bound() -> None:
    """Any split of the budget has its probability in closed form, and equal pulls reach the bound exactly."""
    for gap, deviation in ((0.1, 1.0), (0.5, 1.0), (2.0, 1.5)):
        arms = SubGaussianArms((0.0, gap), (deviation**2,) * 2, deviation=deviation)
        for first, second in ((1, 1), (5, 21), (30, 30), (59, 1)):
            failure = float(ndtr(-gap / deviation / math.sqrt(1 / first + 1 / second)))
            value = CLASSICAL["exchange"].function(first + second, arms)
            assert value <= failure * (1 + 1e-12)
            assert first != second or value == pytest.approx(failure, rel=1e-12)
            assert value == pytest.approx(CLASSICAL["exchange_uniform"].function(first + second, arms))
            # Planted error: the rate of the middle problem, which is a quarter, without the prefactor.
            assert first != second or math.exp(-(first + second) * (gap / deviation) ** 2 / 8) > failure


def test_the_exponent_is_the_best_allocation_s() -> None:
    """The maximum over 20,000 random allocations is never above it, and near it."""
    rng = np.random.default_rng(0)
    for _ in range(60):
        pairs = [tuple(rng.exponential(size=2).tolist()) for _ in range(rng.integers(1, 4))]
        weights = rng.dirichlet(np.ones(len(pairs) + 1), 20_000)
        values = [weights[:, 0] * f + weights[:, i] * b for i, (f, b) in enumerate(pairs, 1)]
        best = float(np.min(values, axis=0).max())
        assert best <= exchange_exponent(pairs) <= best / 0.85
        uniform = min(f + b for f, b in pairs) / (len(pairs) + 1)
        assert exchange_exponent(pairs, uniform=True) == pytest.approx(uniform)
    assert exchange_exponent([(math.inf, 1.0), (0.3, 0.3)]) == pytest.approx(0.3)
    assert exchange_exponent([(math.inf, 1.0)]) == math.inf
    with pytest.raises(ValueError, match="two nonnegative divergences"):
        exchange_exponent([(-1.0, 1.0)])


def test_lower_bounds_need_random_ties_and_known_divergences() -> None:
    normal = ParametricPool(tuple(GaussianArm(mean, 1.0) for mean in (0.8, 0.5, 0.2)))
    for strategy, name in ((UniformAllocation, "exchange_uniform"), (SuccessiveRejects, "exchange")):
        (lower,) = (bound for bound in match_classical(normal, strategy()) if bound.bound.kind == "lower")
        assert lower.name == name
        assert 0.0 < lower.at(30) < 0.5
        assert all(bound.bound.kind == "upper" for bound in match_classical(normal, strategy(ties="lowest")))
    assert kind_of("exchange") == "lower"
    assert kind_of("hoeffding") == kind_of("a plug-in's") == "upper"
