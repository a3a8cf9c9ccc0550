"""Feature pools: scores against independent paths, exact gaps, ties, row options, lock-step."""

import pickle
from fractions import Fraction

import numpy as np
import pytest

from exml_sim.bandit._sampling import Shortfall
from exml_sim.bandit.rows import FeaturePool, RowPool
from exml_sim.bandit.scoring import RESOLUTION, Scoring, risk_interval
from exml_sim.kernels import gram
from exml_sim.population import Population
from exml_sim.rejection import solve
from exml_sim.seeds import Seeds
from exml_sim.strategies import MedianElimination, SuccessiveAcceptsRejects, TopTwo, UniformAllocation
from tests.strategies.test_trial_batch import all_rules, assert_same_bits

# The certificates of all levels must be reached, not only asked for.
pytestmark = pytest.mark.filterwarnings("error::exml_sim.rejection.ConvergenceWarning")

M = 40


def population(m=M, strengths=(0.0, 0.5, 1.0, 1.5), seed=0, costs=None):
    rng = np.random.default_rng(seed)
    y = np.repeat([-1, 1], m // 2)
    names = [f"x{i}" for i in range(len(strengths))]
    values = {name: s * y + rng.normal(size=m) for name, s in zip(names, strengths, strict=True)}
    return Population(rng.normal(size=(m, 2)), y, values, costs=costs)


def counts_of(lines, m=M, seed=1):
    return np.random.default_rng(seed).integers(0, 3, size=(lines, m)).astype(np.int32)


AFFINE = {"theta": 0.3, "ball": 0.4}
SCORES = {
    "affine": AFFINE,
    "ball": {"theta": 0.2, "ball": 3.0},
    "risk": {"theta": 0.3, "score": "risk"},
    "objective": {"theta": 0.3, "score": "objective"},
    "mean objective": {"theta": 0.1, "score": "objective", "loss": "mean", "penalty": (0.05, 0.1)},
}


def test_affine_scores_match_explicit_means():
    """With the linear kernel Phi is the row itself: both means can be taken directly."""
    people = population()
    x, y, counts = people.augmented(2), people.y, counts_of(20)
    ball = 0.05
    value, lower, upper = Scoring(0.3, ball=ball).of(gram(x, kernel="linear"), y, counts, 0)
    for line, weights in enumerate(counts):
        plain = weights @ x / weights.sum()
        signed = (weights * y) @ x / weights.sum()
        expected = 1 - ball / 2 * (np.linalg.norm(plain) + np.linalg.norm(signed))
        assert value[line] == pytest.approx(expected, abs=1e-13)
        assert lower[line] <= expected <= upper[line]
        assert upper[line] - lower[line] < 1e-10


def test_a_line_is_scored_alike_alone_and_in_company():
    """One row is long enough to leave the affine regime; lines without it must not notice."""
    x = np.array([[0.1, 0.2], [0.2, -0.1], [-0.3, 0.1], [3.0, 1.0]])
    y = np.array([1, -1, 1, -1])
    counts = np.array([[1, 2, 1, 0], [0, 1, 2, 1], [2, 1, 0, 0]], dtype=np.int32)
    scoring = Scoring(0.3, ball=0.5)
    together = scoring.of(x @ x.T, y, counts, 3)
    for line in range(3):
        alone = scoring.of(x @ x.T, y, counts[line : line + 1], 3)
        assert [part[0] for part in alone] == [part[line] for part in together]
    assert scoring.levels(np.diagonal(x @ x.T)) == 4
    assert scoring.levels(np.diagonal(x[:3] @ x[:3].T)) == 1


def test_risk_intervals_are_true_and_get_tight():
    """Loose solutions' intervals contain the risk of a much tighter one."""
    people = population()
    matrix = gram(people.augmented(1))
    weights = counts_of(1)[0].astype(float)
    exact = solve(matrix, people.y, 0.3, weights=weights, penalty=(1.0, 0.5), tol=1e-10).risk
    widths = []
    for tol in (1e-2, 1e-4, 1e-6, 1e-8, 1e-10):
        result = solve(matrix, people.y, 0.3, weights=weights, penalty=(1.0, 0.5), tol=tol)
        lower, upper = risk_interval(
            *(np.array([part]) for part in (result.risk, result.objective, result.lower_bound, weights.sum()))
        )
        assert lower[0] - 1e-12 <= exact <= upper[0] + 1e-12
        widths.append(upper[0] - lower[0])
    assert widths[-1] < 1e-4
    assert widths == sorted(widths, reverse=True)


def one_by_one(scoring, matrix, y, weights):
    """The score by the single-problem solver at a tight tolerance."""
    total = weights.sum()
    if scoring.ball is not None:
        return solve(matrix, y, scoring.theta, weights=weights / total, ball=scoring.ball, tol=1e-10).objective
    mean = scoring.loss == "mean"
    weights = weights / total if mean else weights
    result = solve(matrix, y, scoring.theta, weights=weights, penalty=scoring.penalty, tol=1e-10)
    if scoring.score == "objective":
        return result.objective if mean else result.objective / total
    return result.risk


@pytest.mark.parametrize("name", SCORES)
def test_scores_match_the_single_problem_solver(name):
    pool = FeaturePool(population(), **SCORES[name])
    counts = counts_of(5)
    for arm in (pool.arms[0], pool.arms[3]):
        value, lower, upper = arm.score(counts)
        for line, weights in enumerate(counts):
            expected = one_by_one(pool.scoring, arm.gram, pool.population.y, weights.astype(float))
            assert value[line] == pytest.approx(expected, abs=1e-5 if name == "risk" else 2e-8)
            assert lower[line] - 1e-8 <= expected <= upper[line] + 1e-8


@pytest.mark.parametrize("name", SCORES)
def test_looser_levels_contain_tighter_ones(name):
    arm = FeaturePool(population(), **SCORES[name]).arms[1]
    counts = counts_of(6)
    levels = [arm.refined(counts, level) for level in range(arm.levels)]
    assert arm.levels == {"affine": 1, "risk": 2}.get(name, 4)
    finest = levels[-1][0]
    for _, lower, upper in levels:
        assert np.all(lower <= finest + 1e-12)
        assert np.all(finest <= upper + 1e-12)
    widths = [(upper - lower).max() for _, lower, upper in levels]
    assert widths == sorted(widths, reverse=True)


def test_the_regime_decides_the_path():
    assert FeaturePool(population(), theta=0.3, ball=0.4).arms[0].levels == 1
    assert FeaturePool(population(), theta=0.3, ball=0.41).arms[0].levels == 4


@pytest.mark.parametrize("name", SCORES)
def test_risks_gaps_and_best_arms_are_those_of_the_population(name):
    pool = FeaturePool(population(), **SCORES[name])
    risks = [one_by_one(pool.scoring, arm.gram, pool.population.y, np.ones(M)) for arm in pool.feature_arms]
    assert pool.risks == pytest.approx(risks, abs=1e-5 if name == "risk" else 2e-8)
    best = int(np.argmin(risks))
    assert pool.best_arms() == (best,)
    assert pool.gaps[best] == 0.0
    assert pool.gap == pytest.approx(np.sort(np.array(risks) - min(risks))[1], abs=4e-5)
    assert pool.kappa == pytest.approx(1.0)


def twins(**options):
    """Candidates 1, 3 and 4 are copies of each other and the best."""
    people = population()
    copy = people.candidates[3].values
    values = {
        "a": people.candidates[0].values,
        "b": copy,
        "c": people.candidates[1].values,
        "d": copy,
        "e": copy,
    }
    return FeaturePool(Population(people.X, people.y, values), **options)


@pytest.mark.parametrize("name", SCORES)
def test_duplicated_candidates_go_to_the_lowest_index(name):
    pool = twins(**SCORES[name])
    assert pool.best_arms() == (1, 3, 4)
    assert pool.gaps[[1, 3, 4]].tolist() == [0.0, 0.0, 0.0]
    for rule in (UniformAllocation(ties="lowest"), MedianElimination(ties="lowest"), TopTwo(rounds=3, ties="lowest")):
        result = pool.explore(rule, 400, 3)
        assert result.selected == 1
        assert not result.rounds[-1].certified
    assert sorted(pool.explore(SuccessiveAcceptsRejects(k=2, ties="lowest"), 400, 3).accepted) == [1, 3]
    selected = pool.explore_many(UniformAllocation(), 60, 60).selected[:, 0]
    assert set(selected.tolist()) >= {1, 3, 4}


@pytest.mark.parametrize("name", SCORES)
@pytest.mark.parametrize("position", range(6))
def test_trial_batch_is_bit_identical_on_feature_arms(name, position):
    pool = FeaturePool(population(costs={"x0": "0.95", "x2": "1.2"}), **SCORES[name])
    rule = all_rules("budget" if position % 2 else "sample")[position]
    assert_same_bits(pool, rule, 150, trials=3)


@pytest.mark.parametrize(
    "options",
    [
        {"rows": "independent"},
        {"replacement": "never", "shortfall": "cap"},
        {"replacement": "across", "rows": "independent", "shortfall": "cap"},
    ],
)
@pytest.mark.parametrize("position", range(6))
def test_trial_batch_is_bit_identical_for_all_row_options(options, position):
    assert_same_bits(FeaturePool(population(), **AFFINE, **options), all_rules("budget")[position], 100, trials=4)


def test_buying_everything_finds_the_best_arms_with_confidence():
    pool = FeaturePool(population(), **AFFINE, replacement="never")
    batch = pool.explore_many(UniformAllocation(), 4 * M, 20)
    assert not batch.failures(pool.best_arms()).any()
    result = pool.explore(UniformAllocation(), 4 * M)
    assert result.rounds[0].scores == pytest.approx(pool.risks, abs=1e-12)


def test_more_rows_than_exist_is_never_silent():
    with pytest.raises(Shortfall, match=r"round 1 asks for 41 rows of arm 0, but only 40 of the 40 rows are left"):
        FeaturePool(population(), **AFFINE, replacement="never").explore(UniformAllocation(), 164)
    capped = FeaturePool(population(), **AFFINE, replacement="never", shortfall="cap")
    result = capped.explore(UniformAllocation(), 164)
    assert [(entry.pulls, entry.short, entry.left_over) for entry in result.ledger.entries()] == [(40, 1, 1)] * 4
    assert result.ledger.left == 4
    with pytest.raises(ValueError, match="has no fresh rows to score"):
        capped.explore(MedianElimination(accumulate=False), 400)


def test_quality_per_cost():
    pool = FeaturePool(population(costs={"x3": 10}), **AFFINE)
    assert pool.best_arms() == (3,)
    quality = (1 - pool.risks) / [1, 1, 1, 10]
    assert pool.best_arms("risk_per_cost") == (int(quality.argmax()),)
    result = pool.explore(UniformAllocation(objective="risk_per_cost"), 13 * 30, 2)
    assert result.selected != 3
    scores = result.rounds[0].scores
    plain = pool.explore(UniformAllocation(), 13 * 30, 2).rounds[0].scores
    assert scores == pytest.approx((plain - 1) / [1, 1, 1, 10])
    with pytest.raises(ValueError, match="unknown objective"):
        pool.best_arms("cheap")


class Loose:
    """A plug-in arm whose first answer is vague and whose second is exact."""

    levels = 2
    cost = 1

    def __init__(self, name, value, bias):
        self.name, self.value, self.bias = name, value, bias
        self.asked = []

    def score(self, counts):
        return self.refined(counts, 1)

    def refined(self, counts, level):
        self.asked.append((level, counts.shape[0]))
        exact = np.full(counts.shape[0], self.value)
        if level == 1:
            return exact, exact, exact
        return exact + self.bias, exact - 0.1, exact + 0.1


def test_undecided_comparisons_are_refined_before_they_are_believed():
    arms = [Loose("a", 0.50, -0.05), Loose("b", 0.48, 0.05), Loose("c", 0.9, 0.0)]
    result = RowPool(arms, 3).explore(UniformAllocation(), 9)
    # By the vague values a (0.45) would have won over b (0.53).
    assert result.selected == 1
    assert result.rounds[0].certified
    assert [arm.asked for arm in arms] == [[(0, 1), (1, 1)], [(0, 1), (1, 1)], [(0, 1)]]


class Vague:
    """A plug-in arm with a fixed value whose certificate is wider than the resolution."""

    def __init__(self, name, value, cost=1):
        self.name, self.value, self.cost = name, value, cost

    def score(self, counts):
        value = np.full(counts.shape[0], self.value)
        return value, value - 1e-7, value + 1e-7


def test_near_ties_of_plug_in_arms_go_by_index():
    near = [Vague("a", 0.5 + RESOLUTION / 2), Vague("b", 0.5), Vague("c", 0.5 + 3 * RESOLUTION)]
    assert RowPool(near, 2).explore(UniformAllocation(ties="lowest"), 3).selected == 0
    assert set(RowPool(near, 2).explore_many(UniformAllocation(), 3, 60).selected[:, 0].tolist()) == {0, 1}
    assert RowPool(near[1:], 2).best_arms() == (0,)
    assert RowPool(near, 2).best_arms() == (0, 1)
    assert RowPool(near, 2).gaps[:2].tolist() == [0.0, 0.0]


@pytest.mark.parametrize("cost", [1, 10**7, "1e-7"])
def test_quality_per_cost_has_the_resolution_of_the_score_at_any_price(cost):
    """Near ties within the resolution stay ties, clear differences stay differences, whatever money is worth."""
    values = [0.15, 0.1 + RESOLUTION / 2, 0.1]
    pool = RowPool([Vague(f"a{i}", value, cost) for i, value in enumerate(values)], 4)
    assert pool.best_arms() == (1, 2)
    assert pool.best_arms("risk_per_cost") == (1, 2)
    for rule in (UniformAllocation, MedianElimination, TopTwo):
        result = pool.explore(rule(objective="risk_per_cost"), 40 * Fraction(cost))
        assert result.selected == 1


def test_the_challenger_follows_the_tie_rule():
    """Arms 1 and 2 challenge the leader 0 equally well up to half the resolution: the lower index fights."""
    values = [0.1, 0.2 + RESOLUTION / 2, 0.2]
    result = RowPool([Vague(f"a{i}", value) for i, value in enumerate(values)], 4).explore(TopTwo(rounds=1), 40)
    assert [entry.arm for entry in result.ledger.entries() if entry.round == 2] == ["a0", "a1"]


@pytest.mark.parametrize(
    ("options", "message"),
    [
        *[({"theta": value, "ball": 1.0}, r"theta must be in \(0, 1/2\), got") for value in (0.5, "0.3")],
        ({"score": "accuracy", "ball": 1.0}, "unknown score 'accuracy'"),
        *[(ball, "needs ball=Lambda > 0 and no penalty") for ball in ({}, {"ball": "1"}, {"ball": -1.0})],
        ({"ball": 1.0, "penalty": (1.0, 1.0)}, "no penalty"),
        *[({"score": "risk", "penalty": value}, "both > 0") for value in (1.0, (1.0,), (1.0, 0.0))],
        ({"score": "risk", "ball": 1.0}, "no ball"),
        ({"score": "risk", "loss": "median"}, "unknown loss 'median'"),
        ({"ball": 1.0, "kernel": "foo"}, "unknown kernel 'foo'"),
        ({"ball": 1.0, "rows": "all"}, "unknown rows option 'all'"),
        ({"ball": 1.0, "replacement": True}, "unknown replacement option True"),
    ],
)
def test_bad_pools(options, message):
    with pytest.raises(ValueError, match=message):
        FeaturePool(population(), **options)


class Plain:
    def __init__(self, name="p", cost=1, result=None):
        self.name, self.cost, self.result = name, cost, result

    def score(self, counts):
        return self.result if self.result is not None else counts.mean(axis=1)


def explored(arm):
    return RowPool([arm], 3).explore(UniformAllocation(), 3)


CROSSED = [([1.0], [np.nan], [1.0]), ([1.0], [2.0], [1.0]), ([1.0], [1.0, 2.0], [1.0])]


@pytest.mark.parametrize(
    ("build", "message"),
    [
        (lambda: RowPool([], 3), r"got none \(K = 0\)"),
        *[(lambda n=n: RowPool([Plain()], n), "n_rows must be a whole number of at least 1") for n in (0, 2.5)],
        (lambda: FeaturePool(np.ones((3, 2))), "needs a Population, got ndarray"),
        *[(lambda c=c: explored(Plain(result=c)), "arm 'p' must be numbers lower <= upper") for c in CROSSED],
        (lambda: RowPool([Plain("p"), Plain("p")], 3), "must differ, got 'p' more than once"),
        (lambda: RowPool([object()], 3), r"an arm needs name, cost and score\(counts\)"),
        (lambda: explored(Plain(cost=-1)), "must be greater than 0, got -1"),
        *[(lambda r=r: explored(Plain(result=r)), "must be 1 finite numbers") for r in ([1.0, 2.0], [np.nan])],
    ],
)
def test_bad_arms(build, message):
    with pytest.raises(ValueError, match=message):
        build()


def test_repr_and_laziness():
    pool = FeaturePool(population(costs={"x1": "0.95"}), **AFFINE)
    assert "x1 at 0.95" in repr(pool)
    assert "gram" not in vars(pool.arms[0])
    assert pool.arms[0].gram is pool.arms[0].gram
    assert pool.explore(UniformAllocation(), 100, Seeds.of(3, 5)).counts.shape == (4, M)


def test_pools_travel_to_other_processes():
    pool = FeaturePool(population(costs={"x1": "0.95"}), **AFFINE)
    other = pickle.loads(pickle.dumps(pool))
    rule = pickle.loads(pickle.dumps(MedianElimination(alignment="budget")))
    here, there = (p.explore_many(rule, 100, 20, seed=1) for p in (pool, other))
    assert np.array_equal(here.selected, there.selected)
    assert np.array_equal(here.pulls, there.pulls)
    assert repr(other) == repr(pool)
