"""Known arms: pulls against slow paths, and uniform allocation against its exact failure probability."""

from fractions import Fraction
from itertools import pairwise, product
from math import comb

import numpy as np
import pytest
from scipy import stats

from exml_sim.bandit._arms import Pulls, add_bernoulli
from exml_sim.bandit.parametric import (
    BernoulliArm,
    BetaArm,
    BoundedArm,
    ExponentialArm,
    GaussianArm,
    ParametricPool,
    StudentArm,
    find_thresholds,
)
from exml_sim.engine.modes._exact import enumerate_distribution
from exml_sim.money import exact
from exml_sim.seeds import Seeds
from exml_sim.strategies import UniformAllocation, by_name
from tests.bandit.exact_distributions import uniform_selection_probabilities
from tests.bandit.losses import LossPool
from tests.words import words

ALPHA = 1e-6
#: For assertions that are not counted: together below one of the others.
SMALL_ALPHA = 1e-9


def sums(arm, seeds, start, pulls):
    """Sum of pulls after earlier ones, in steps of the arm's grid, by the state of a pool of this arm."""
    state = ParametricPool([arm]).open(seeds)
    for number in (start, pulls):
        before = state._sums.copy()
        state.pull(np.full((len(seeds), 1), number), False, lambda pulled, due: None)
    return (state._sums - before)[:, 0]


def slow_bernoulli(mean, seeds, trial, substream, pull):
    """Pull `pull` as the comparison of one 64-bit number, whose bits lie across 64 words, with the mean."""
    block = words(seeds, 64 * (pull // 64 + 1), trial=trial, substream=substream)[-64:]
    number = 0
    for word in block:
        number = 2 * number + (int(word) >> (pull % 64) & 1)
    return int(Fraction(number, 2**64) < Fraction(mean))


@pytest.mark.parametrize("mean", [0.0, 0.5, 0.3, 0.999, 1e-3])
def test_pulls_of_random_means_match_the_slow_path(mean):
    seeds = Seeds.of(5, range(3))
    slow = [[slow_bernoulli(mean, seeds, trial, 1, j) for j in range(140)] for trial in range(3)]
    for start, pulls in [(0, 140), (0, 1), (63, 2), (10, 54), (64, 64), (100, 37), (5, 0)]:
        out = np.zeros(3)
        span = Pulls(seeds.key, seeds.trials, np.uint64(1), np.full(3, start), np.full(3, pulls))
        add_bernoulli(span, np.full(3, int(Fraction(mean) * 2**64), dtype=np.uint64), out)
        assert out.tolist() == [sum(line[start : start + pulls]) for line in slow]


def exact_cdf(n, p, k):
    return sum(comb(n, i) * p**i * (1 - p) ** (n - i) for i in range(k + 1))


PURCHASES = [[3, 40, 1], [0, 7, 64], [25, 0, 1]]


def test_purchases_of_bernoulli_arms_match_the_quantile_of_their_word():
    """One word per purchase, at the address of the pulls before it; scipy's quantiles, and the exact distribution."""
    means = [0.3, 0.5, 1e-3, 0.999, 0.62, 0.0, 1.0]
    seeds = Seeds.of(5, range(40))
    state = ParametricPool.bernoulli(means).open(seeds)
    had = np.zeros((40, len(means)), dtype=np.int64)
    for turn, sizes in enumerate(PURCHASES):
        pulls = np.array([[sizes[(trial + arm) % 3] for arm in range(len(means))] for trial in range(40)])
        before = state._sums.copy()
        state.pull(pulls, turn == 1, lambda pulled, due: None)
        for trial in range(40):
            for arm, mean in enumerate(means):
                n, successes = int(pulls[trial, arm]), int(state._sums[trial, arm] - before[trial, arm])
                start = int(had[trial, arm])
                word = int(words(seeds, 4 * start + 4, trial=trial, substream=arm // 4, turn=2)[4 * start + arm % 4])
                assert successes == (max(stats.binom.ppf(word / 2**64, n, mean), 0) if n else 0)
                p, u = Fraction(mean), Fraction(word, 2**64)
                assert exact_cdf(n, p, successes - 1) <= u + Fraction(1, 2**64)
                assert u <= exact_cdf(n, p, successes) + Fraction(1, 2**64)
        had += pulls


@pytest.mark.parametrize(("n", "mean"), [(1, 0.3), (2, 0.5), (37, 0.01), (64, 0.999), (100, 0.44), (300, 1e-18)])
def test_probabilities_of_purchases_are_exact(n, mean):
    """Thresholds are those of the exact distribution, in whole numbers, up to 2**-64; a planted error is found."""
    p = Fraction(mean)
    lowest, steps = find_thresholds(n, BernoulliArm(mean).level)
    level = Fraction(BernoulliArm(mean).level, 2**64)
    assert abs(p - level) <= Fraction(1, 2**64)

    def is_exact(steps):
        edges = [0, *steps, 2**64]
        probabilities = {lowest + i: Fraction(b - a, 2**64) for i, (a, b) in enumerate(pairwise(edges))}
        return all(
            abs(probabilities.get(k, 0) - comb(n, k) * level**k * (1 - level) ** (n - k)) <= Fraction(1, 2**64)
            for k in range(n + 1)
        )

    assert is_exact(steps)
    assert not is_exact([steps[0] + 2, *steps[1:]])


def test_thresholds_of_large_purchases():
    """Against scipy, whose distribution function is accurate to some 1e-13."""
    for n, mean in ((5_000, 0.37), (400_000, 0.62)):
        lowest, steps = find_thresholds(n, BernoulliArm(mean).level)
        expected = stats.binom.cdf(lowest + np.arange(len(steps)), n, mean)
        assert np.array([step / 2**64 for step in steps]) == pytest.approx(expected, rel=1e-9, abs=1e-12)


def test_common_random_numbers():
    """Equal purchases are equal pulls in every run; of different ones the larger has no fewer successes."""
    seeds = Seeds.of(7, range(2_000))
    pool = ParametricPool.bernoulli([0.4, 0.4, 0.6, 0.4, 0.4])
    runs = []
    for first, second in ((20, 30), (20, 10), (35, 10)):
        state = pool.open(seeds)
        for number in (first, second):
            state.pull(np.full((2_000, 5), number), False, lambda pulled, due: None)
        runs.append((state._sums, state._pulls))
    assert (runs[0][0] >= runs[1][0]).all()
    # Same address, more pulls: a rank correlation far above that of independent pulls (deviation 1 / sqrt(2000)).
    correlation = stats.spearmanr(runs[1][0][:, 0], runs[2][0][:, 0]).statistic
    assert correlation > 0.5
    independent = stats.spearmanr(runs[1][0][:, 0], runs[1][0][:, 1]).statistic
    assert abs(independent) * np.sqrt(2_000) < stats.norm.isf(ALPHA / 2)


def test_bounded_pulls_match_the_slow_path():
    arm = BoundedArm((0.25, -1.0, 2.0), (0.5, 0.2, 0.3))
    seeds = Seeds.of(5, range(4))
    edges = [Fraction(0.5), Fraction(0.5) + Fraction(0.2)]
    for trial in range(4):
        values = [
            arm.values[sum(Fraction(int(w), 2**64) >= edge for edge in edges)]
            for w in words(seeds, 20, trial=trial, substream=1)
        ]
        # The grid is a quarter.
        assert arm.grid == 4
        assert sums(arm, seeds, 3, 17)[trial] == 4 * sum(values[3:])


TENTHS = BoundedArm((0.1, 0.2, 0.6), (0.3, 0.3, 0.4))


def test_equal_means_of_bounded_arms_are_equal_scores():
    """The score is the exact mean of the decimals, rounded once, in whatever order and rounds they came."""
    pool = LossPool([TENTHS, BoundedArm((0.6, 0.1, 0.2), (0.4, 0.3, 0.3))])
    seeds = Seeds.of(3, range(50))
    session = pool.open(seeds)
    for pulls in (1, 6, 3):
        session.pull(np.full((50, 2), pulls), False, lambda pulled, due: None)
    result = session.score(np.ones((50, 2), bool), False, 0).value
    for substream, arm in enumerate(pool.arms):
        edges = np.cumsum([Fraction(p) for p in arm.probabilities[:-1]])
        for trial in range(50):
            drawn = [
                Fraction(str(arm.values[sum(Fraction(int(w), 2**64) >= edge for edge in edges)]))
                for w in words(seeds, 10, trial=trial, substream=substream + 1)
            ]
            assert result[trial, substream] == float(sum(drawn) / 10)


def test_values_on_no_coarse_grid_are_added_as_they_are():
    assert BoundedArm((1 / 3, 2 / 3), (0.5, 0.5)).grid == 1
    assert BoundedArm((1e9, 0.1), (0.5, 0.5)).grid == 1
    assert BoundedArm((-1e6, 0.001), (0.5, 0.5)).grid == 1000


def test_true_ties_are_found_whatever_floats_say():
    tied = LossPool([TENTHS, BernoulliArm(0.33), BernoulliArm(0.4)])
    assert tied.best_arms() == (0, 1)
    assert tied.gaps.tolist() == [0.0, 0.0, 0.07]
    assert tied.gap == 0.07
    assert TENTHS.mean == 0.33
    assert LossPool.bernoulli([0.7, 0.4, 0.1], ["0.3", "0.6", "0.9"]).best_arms("risk_per_cost") == (0, 1, 2)
    thirds = BoundedArm((0, 1, 2), (1 / 3, 1 / 3, 1 / 3))
    assert LossPool([thirds, BernoulliArm(1.0)]).best_arms() == (0, 1)


def enumerated(means, pulls):
    """Selection probabilities by listing every outcome, in fractions."""
    result = [Fraction(0)] * len(means)
    distributions = [
        [comb(n, s) * Fraction(mu) ** s * (1 - Fraction(mu)) ** (n - s) for s in range(n + 1)]
        for mu, n in zip(means, pulls, strict=True)
    ]
    for outcome in product(*(range(n + 1) for n in pulls)):
        scores = [Fraction(s, n) for s, n in zip(outcome, pulls, strict=True)]
        weight = Fraction(1)
        for distribution, s in zip(distributions, outcome, strict=True):
            weight *= distribution[s]
        result[scores.index(min(scores))] += weight
    return [float(p) for p in result]


@pytest.mark.parametrize(
    ("means", "pulls"),
    [
        ([0.25, 0.5, 0.75], [4, 4, 4]),
        ([0.5, 0.5], [3, 3]),
        ([0.5, 0.375, 0.625, 0.5], [2, 3, 5, 4]),
        ([0.5], [3]),
    ],
)
def test_exact_selection_probabilities_match_enumeration(means, pulls):
    assert uniform_selection_probabilities(means, pulls, "lowest") == pytest.approx(enumerated(means, pulls), abs=1e-14)
    assert uniform_selection_probabilities(means, pulls).sum() == pytest.approx(1.0)


def agrees(failures, trials, probability):
    return stats.binomtest(int(failures), trials, probability).pvalue > ALPHA


MEANS = [0.5, 0.42, 0.55, 0.42, 0.6, 0.5, 0.7, 0.65]


def test_uniform_allocation_fails_as_often_as_it_must():
    pool = LossPool.bernoulli(MEANS)
    trials = 40_000
    result = pool.explore_many(UniformAllocation(), 320, trials, seed=1)
    expected = uniform_selection_probabilities(MEANS, 40)
    for arm in range(8):
        assert agrees((result.selected[:, 0] == arm).sum(), trials, expected[arm])
    assert pool.best_arms() == (1, 3)
    assert agrees(result.failures(pool.best_arms()).sum(), trials, 1 - expected[1] - expected[3])
    # The same test notices ties that go to the highest index.
    wrong = uniform_selection_probabilities(MEANS[::-1], 40, "lowest")[::-1]
    assert not agrees((result.selected[:, 0] == 1).sum(), trials, wrong[1])


@pytest.mark.parametrize(
    ("build", "message"),
    [
        *[(lambda m=m: BernoulliArm(m), f"mean of BernoulliArm .*got {m!r}") for m in (1.5, float("nan"), "0.5")],
        (lambda: BernoulliArm(0.5, cost=0), "cost must be greater than 0"),
        *[
            (lambda a=a: GaussianArm(*a), "of GaussianArm must be a number in")
            for a in ((0.0, -1.0), ("0",), (0.0, np.inf))
        ],
        *[(lambda p=p: BoundedArm((1.0,) * len(p[:-1]), p), "as many") for p in ((0.5, 0.5), ())],
        (lambda: BoundedArm((1.0, 2.0), (0.5, 0.6)), "sum to 1"),
        (lambda: BoundedArm((0, 1), (np.nan, np.nan)), "the probabilities of a bounded arm must be finite numbers"),
        *[(lambda v=v: BoundedArm(v, (1.0,)), "the values of a bounded arm must be") for v in ("ab", (np.inf,))],
        (lambda: LossPool([0.5]), "an arm must be a BernoulliArm, GaussianArm or BoundedArm, got 0.5"),
        (lambda: LossPool.bernoulli([0.1, 0.2], [1]), "2 means need as many costs, got 1"),
        (lambda: LossPool([]), r"at least one arm, got none \(K = 0\)"),
        (lambda: LossPool([BernoulliArm(0.1)] * 2, names=["a", "a"]), "different names"),
        (lambda: LossPool.bernoulli([0.5, 0.5]).gap, "all 2 arms are equally good"),
        (lambda: LossPool.bernoulli([0.5]).best_arms("cost"), "unknown objective 'cost'"),
    ],
)
def test_bad_arms(build, message):
    with pytest.raises(ValueError, match=message):
        build()


def test_directions_mirror_each_other():
    """Bernoulli arms that are maximised are those of the opposite outcomes, minimised, in probability."""
    means = [0.7, 0.5, 0.65]
    pool = ParametricPool.bernoulli(means)
    mirrored = LossPool.bernoulli([1.0 - mean for mean in means])
    assert (pool.direction, mirrored.direction) == ("maximise", "minimise")
    assert pool.best_arms() == mirrored.best_arms() == (0,)
    assert pool.gaps == pytest.approx(mirrored.gaps, abs=1e-12)
    assert pool.hardness == pytest.approx((1 / 0.2**2 + 2 / 0.05**2, 2 / 0.05**2))
    for name in ("uniform_allocation", "successive_rejects"):
        distributions = [enumerate_distribution(arms, by_name(name), exact(15)).selected for arms in (pool, mirrored)]
        assert distributions[0] == pytest.approx(distributions[1], abs=1e-12)


@pytest.mark.parametrize("direction", ["maximise", "minimise"])
@pytest.mark.parametrize("name", ["kl_lucb", "successive_elimination", "top_two_stopping", "ugap_ec"])
def test_fixed_confidence_in_both_directions(name, direction):
    means = [0.2, 0.5, 0.8]
    pools = [
        ParametricPool.bernoulli(means, direction=direction),
        ParametricPool([GaussianArm(mean, 0.4) for mean in means], direction=direction),
        ParametricPool([BetaArm(mean) for mean in means], direction=direction),
    ]
    for pool in pools:
        result = pool.explore_many(by_name(name), 4_000, 40)
        assert result.confident.all()
        # Each selection is wrong with probability 0.05 at most; 17 of 40 have probability below 1e-10.
        assert (result.selected[:, 0] != (2 if direction == "maximise" else 0)).sum() < 17
    with pytest.raises(ValueError, match="needs bounded or Gaussian arms, got ExponentialArm"):
        ParametricPool([ExponentialArm(1.0), ExponentialArm(2.0)]).explore(name, 100)


@pytest.mark.parametrize(
    ("arm", "distribution"),
    [
        (GaussianArm(0.7, 2.0), stats.norm(0.7, 2.0)),
        (BetaArm(0.3, 4.0), stats.beta(1.2, 2.8)),
        (ExponentialArm(2.0), stats.expon(scale=2.0)),
        (StudentArm(0.5, 0.7, 6.0), stats.t(6.0, loc=0.5, scale=0.7)),
    ],
)
def test_pulls_of_continuous_families(arm, distribution):
    """Single pulls have the distribution and are uncorrelated; sums do not depend on how they are cut."""
    seeds = Seeds.of(5, range(4_000))
    single = [sums(arm, seeds, start, 1) for start in (0, 1, 2, 7)]
    for pulls in single:
        assert stats.kstest(pulls, distribution.cdf).pvalue > SMALL_ALPHA
    for first, second in pairwise(single):
        assert stats.spearmanr(first, second).pvalue > SMALL_ALPHA
    assert distribution.mean() == pytest.approx(arm.mean)
    whole = sums(arm, seeds, 0, 5)
    assert whole == pytest.approx(sums(arm, seeds, 0, 2) + sums(arm, seeds, 2, 3), rel=1e-12, abs=1e-12)
