"""Exact enumeration against our theorems: options, beyond the affine regime, oracle, variance and regularised forms.

``tests/properties/test_bounds_hold.py`` has the same for the bounds of the two strategies.
"""

from __future__ import annotations

import cvxpy as cp
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.theory.affine_world import (
    World,
    compositions,
    exact_median,
    exact_uniform,
    multinomial,
    random_world,
)
from theory import formulas, tighter


class BallRisk:
    """min over both balls of the weighted mean of Eq. 2, by a conic solver; features carry Lambda."""

    def __init__(self, atoms: int, dimension: int) -> None:
        self.plain, self.signed, self.sloped = (cp.Parameter((atoms, dimension)) for _ in range(3))
        self.weights, self.theta = cp.Parameter(atoms, nonneg=True), cp.Parameter(nonneg=True)
        w_h, w_g, losses = cp.Variable(dimension), cp.Variable(dimension), cp.Variable(atoms)
        constraints = [
            losses >= 1 + (self.plain @ w_g - self.signed @ w_h) / 2,
            losses >= self.theta - self.sloped @ w_g,
            losses >= 0,
            cp.norm(w_h) <= 1,
            cp.norm(w_g) <= 1,
        ]
        self.problem = cp.Problem(cp.Minimize(self.weights @ losses), constraints)
        self.variables, self.models = (w_h, w_g), np.zeros((0, 2, dimension))

    def of(self, features: np.ndarray, labels: np.ndarray, theta: float, r: float, weights: np.ndarray) -> np.ndarray:
        self.plain.value = r * features
        self.signed.value = r * features * labels[:, None]
        self.sloped.value = r * features * theta / (1 - 2 * theta)
        self.theta.value = theta
        values, models = [], []
        for row in weights:
            self.weights.value = row
            values.append(self.problem.solve(solver=cp.CLARABEL))
            models.append([np.array(variable.value) for variable in self.variables])
        self.models = np.array(models)
        return np.array(values)


def test_the_two_oracles_agree_in_the_affine_regime() -> None:
    world = random_world(np.random.default_rng(50), arms=2, atoms=3, dimension=2)
    counts = compositions(4, 3) / 4
    conic = BallRisk(3, 2).of(world.features[0], world.labels, world.theta, world.r, counts)
    assert np.allclose(conic, world.scores(counts)[:, 0], atol=1e-6)


def test_optimism_beyond_the_affine_regime() -> None:
    """Theorem 1 on 40 random populations with r up to 6 and theta up to 0.45."""
    rng = np.random.default_rng(51)
    solver = BallRisk(4, 4)
    largest = 0.0
    for trial in range(40):
        theta, r = float(rng.choice([0.1, 0.25, 0.3, 0.4, 0.45])), float(np.exp(rng.uniform(-1, 1.8)))
        features = np.eye(4) if trial % 2 else rng.normal(size=(4, 4))
        features = features / np.linalg.norm(features, axis=1, keepdims=True)
        labels, p = rng.choice([-1, 1], size=4), rng.dirichlet(np.full(4, 5.0))
        n = int(rng.integers(1, 4))
        counts = compositions(n, 4)
        mean = multinomial(counts, p) @ solver.of(features, labels, theta, r, counts / n)
        optimism = solver.of(features, labels, theta, r, p[None])[0] - mean
        limit = formulas.dual_constant(theta) * r / np.sqrt(n)
        assert optimism <= limit + 1e-6
        largest = max(largest, optimism / limit)
    assert largest > 0.3


def test_oracle_inequalities_exactly() -> None:
    """Theorem 6 (i), (ii), (iv): exact violation probabilities on 150 worlds, at four levels."""
    rng = np.random.default_rng(53)
    for _ in range(150):
        world = random_world(rng, arms=int(rng.integers(2, 5)), atoms=3, dimension=2)
        n = int(rng.integers(1, 40))
        counts = compositions(n, 3)
        mass = multinomial(counts, world.probabilities)
        chosen = np.argmin(np.round(world.scores(counts / n), 11), axis=1)
        surrogate, zero_one = world.learned_risks(counts / n, chosen)
        risks = world.risks()
        for delta in (0.5, 0.2, 0.05, 0.001):
            point = (n * world.arms, world.arms, world.theta, world.r, delta)
            regret = tighter.exploratory_regret_uniform(*point)
            assert mass[surrogate - risks[0] > regret + 1e-12].sum() <= delta
            risk = tighter.excess_risk_uniform(*point)
            assert mass[zero_one - risks[0] > risk + 1e-12].sum() <= delta
            assert risk <= regret
            selection = tighter.selection_regret_uniform(*point)
            assert mass[risks[chosen] - risks[0] > selection + 1e-12].sum() <= delta


def test_the_calibrated_inequality_exactly() -> None:
    """Theorem 6 (iii) where labels are random: every feature vector has two atoms, one of each label.

    All arms see different vectors at different pairs, so they share one Bayes risk.
    """
    rng, closest = np.random.default_rng(57), 0.0
    for _ in range(150):
        pairs = random_world(rng, arms=int(rng.integers(2, 4)), atoms=2, dimension=2)
        eta = rng.uniform(0.0, 0.5, size=2)
        probabilities = np.concatenate([pairs.probabilities * eta, pairs.probabilities * (1 - eta)])
        labels, features = np.array([-1, -1, 1, 1]), np.concatenate([pairs.features, pairs.features], axis=1)
        world = World(probabilities, labels, features, pairs.theta, pairs.r).sorted()
        bayes = float(pairs.probabilities @ np.minimum(eta, world.theta))
        surplus = world.risks()[0] - (3 - 2 * world.theta) * bayes
        n = int(rng.integers(1, 13))
        counts = compositions(n, 4)
        mass = multinomial(counts, world.probabilities)
        chosen = np.argmin(np.round(world.scores(counts / n), 11), axis=1)
        _, zero_one = world.learned_risks(counts / n, chosen)
        for delta in (0.5, 0.2, 0.01):
            point = (n * world.arms, world.arms, world.theta, world.r, delta)
            limit = tighter.excess_risk_calibrated(*point, approximation_error=max(surplus, 1e-12))
            assert mass[zero_one - bayes > limit + 1e-12].sum() <= delta
            closest = max(closest, float((zero_one - bayes).max() / limit))
    # A limit that is too small by the inverse factor would be found.
    assert closest > 0.4


@pytest.mark.parametrize(("pairs", "n", "least"), [(1, 250, 0.05), (2, 5, 0.15)])
def test_the_calibrated_inequality_beyond_the_affine_regime(pairs: int, n: int, least: float) -> None:
    """Theorem 6 (iii) where models accept rows: all samples of rows with both labels each, by a conic solver."""
    rng, closest, accepted = np.random.default_rng(59), 0.0, 0
    solver = BallRisk(2 * pairs, 2)
    labels, counts = np.repeat([-1, 1], pairs), compositions(n, 2 * pairs)
    for _ in range(4):
        theta, r = float(rng.uniform(0.05, 0.4)), float(rng.uniform(1.5, 5.0))
        eta, share = rng.uniform(0.0, 0.3, size=pairs), rng.dirichlet(np.full(pairs, 5.0))
        probabilities = np.concatenate([share * eta, share * (1 - eta)])
        arms = [np.tile(rng.normal(size=(pairs, 2)), (2, 1)) for _ in range(2)]
        arms = [
            features / np.linalg.norm(features, axis=1, keepdims=True) * size
            for features, size in zip(arms, (1, 0.6), strict=True)
        ]
        bayes = float(share @ np.minimum(np.minimum(eta, 1 - eta), theta))
        risks = [solver.of(features, labels, theta, r, probabilities[None])[0] for features in arms]
        scores, zero_one = [], []
        for features in arms:
            scores.append(solver.of(features, labels, theta, r, counts / n))
            h, g = np.einsum("ad,spd->psa", r * features, solver.models)
            # A rejection value that is zero up to the solver's accuracy counts as the worse of the two.
            wrong, rejected = (labels * h <= 1e-6) * 1.0, g <= 1e-6
            zero_one.append(
                np.where(g < -1e-6, theta, np.where(rejected, np.maximum(wrong, theta), wrong)) @ probabilities
            )
            accepted += int((~rejected).sum())
        chosen = np.argmin(np.round(scores, 5), axis=0)
        excess = np.take_along_axis(np.array(zero_one), chosen[None], axis=0)[0] - bayes
        surplus, mass = min(risks) - (3 - 2 * theta) * bayes, multinomial(counts, probabilities)
        for delta in (0.5, 0.05):
            point = (2 * n, 2, theta, r, delta)
            limit = tighter.excess_risk_calibrated(*point, approximation_error=max(surplus, 0.0) + 1e-6)
            assert mass[excess > limit].sum() <= delta
            closest = max(closest, float(excess.max() / limit))
    assert closest > least
    assert accepted > 0


def test_excess_risk_of_accumulated_median_elimination_exactly() -> None:
    """Theorem 6 (vi): exact violation probabilities of regret and risk with four arms and two rounds."""
    rng, closest = np.random.default_rng(58), 0.0
    for _ in range(60):
        world = random_world(rng, arms=4, atoms=2, dimension=2)
        budget = 8 * int(rng.integers(1, 12))
        first, second = budget // 8, budget // 4
        early, late = compositions(first, 2), compositions(second, 2)
        mass = np.outer(multinomial(early, world.probabilities), multinomial(late, world.probabilities)).reshape(-1)
        kept = np.argsort(np.round(world.scores(early / first), 11), axis=1, kind="stable")[:, :2]
        total = (early[:, None, :] + late[None, :, :]).reshape(-1, 2) / (first + second)
        kept = np.repeat(kept, len(late), axis=0)
        scores = np.take_along_axis(np.round(world.scores(total), 11), kept, axis=1)
        chosen = kept[np.arange(len(kept)), np.argmin(scores, axis=1)]
        surrogate, zero_one = (risk - world.risks()[0] for risk in world.learned_risks(total, chosen))
        for delta in (0.5, 0.05):
            limit = tighter.excess_risk_median(budget, 4, world.theta, world.r, delta)
            assert mass[surrogate > limit + 1e-12].sum() <= delta
            assert mass[zero_one > limit + 1e-12].sum() <= delta
            closest = max(closest, float(surrogate.max() / limit))
    # Regrets of a fifth of the limit occur, so a limit that is too small by this factor would be found.
    assert closest > 0.15


def test_selection_regret_of_median_elimination_exactly() -> None:
    """Theorem 6 (v) with the gap in the role of the bound: failing by more is rarer than delta."""
    rng = np.random.default_rng(54)
    seen = 0
    for _ in range(400):
        world = random_world(rng, arms=4, atoms=2, dimension=2)
        budget = int(rng.integers(300, 1500)) * 8
        limit = tighter.selection_regret_median(budget, 4, world.theta, world.r, 0.3)
        # Arms within the limit count as good: make them ties of the best arm.
        gaps = world.gaps()
        if not np.any(gaps > limit):
            continue
        good = np.concatenate([[True], gaps <= limit])
        truth = exact_worse_than(world, budget, good)
        assert truth <= 0.3
        seen += 1
        if seen == 8:
            break
    assert seen >= 3


def exact_worse_than(world: World, budget: int, good: np.ndarray) -> float:
    """P[median elimination on fresh rows returns an arm that is not ``good``]."""
    order = np.argsort(~good, kind="stable")
    moved = World(world.probabilities, world.labels, world.features[order], world.theta, world.r)

    class Judged(World):
        def gaps(self) -> np.ndarray:
            return np.where(good[order], 0.0, 1.0)[1:]

    judged = Judged(moved.probabilities, moved.labels, moved.features, moved.theta, moved.r)
    return exact_median(judged, budget, fresh_rows=True)


THETAS = st.floats(0.01, 0.49)


def conditional_risks(h: np.ndarray, g: np.ndarray, eta: float, theta: float) -> tuple[np.ndarray, np.ndarray]:
    """Conditional surrogate risk and 0/1 risk (sign(0) = +1) at P(y = 1 | x) = eta."""

    def surrogate(y: int) -> np.ndarray:
        return np.maximum(np.maximum(1 + (g - y * h) / 2, theta * (1 - g / (1 - 2 * theta))), 0)

    error = np.where(h >= 0, 1 - eta, eta)
    return eta * surrogate(1) + (1 - eta) * surrogate(-1), np.where(g <= 0, theta, error)


@given(THETAS, st.floats(0, 1))
def test_calibration(theta: float, eta: float) -> None:
    """The surrogate Bayes risk is (3 - 2 theta) min(eta, 1 - eta, theta); 1 / (1 - theta) calibrates."""
    axis = np.concatenate([np.linspace(-4, 4, 161), [0.0, 1e-9, -1e-9, 3 - 2 * theta, 2 * theta - 3]])
    rejector_axis = np.concatenate([axis, [1 - 2 * theta, -2 * (1 - theta) * (1 - 2 * theta)]])
    h, g = np.meshgrid(axis, rejector_axis)
    surrogate, zero_one = conditional_risks(h, g, eta, theta)
    bayes = min(eta, 1 - eta, theta)
    assert surrogate.min() == pytest.approx((3 - 2 * theta) * bayes, abs=1e-9)
    assert np.all(zero_one - bayes <= (surrogate - (3 - 2 * theta) * bayes) / (1 - theta) + 1e-9)


def test_calibration_constant_is_the_best() -> None:
    theta = 0.2
    surrogate, zero_one = conditional_risks(np.array(0.0), np.array(1e-12), theta, theta)
    ratio = (zero_one - theta) / (surrogate - (3 - 2 * theta) * theta)
    assert ratio == pytest.approx(1 / (1 - theta), rel=1e-6)


def test_variance_tails_exactly() -> None:
    """Theorem 7 on 150 worlds: exact tails against Bernstein, Bousquet and their combination."""
    rng = np.random.default_rng(55)
    informative = 0
    for _ in range(150):
        world = random_world(rng, arms=2, atoms=2, dimension=1)
        gap = world.gaps()[0]
        if gap < 1e-3:
            continue
        n = int(rng.integers(20, 1500))
        counts = compositions(n, 2)
        mass = multinomial(counts, world.probabilities)
        scores = world.scores(counts / n)
        variance = float(
            formulas.loss_range(world.theta, world.r) ** 2 / 4
            if rng.random() < 0.3
            else tighter.loss_variance(world.theta, *largest_variances(world, 1), world.r)
        )
        bound = tighter.lemma_4_variance(n, gap, world.theta, world.r, variance_rival=variance)
        assert mass[scores[:, 1] <= scores[:, 0] + 1e-12].sum() <= bound
        shift = gap * 0.7
        low = tighter.erm_tail_variance(n, shift, world.theta, world.r, variance=variance)
        assert mass[scores[:, 1] <= world.risks()[1] - shift].sum() <= low
        best_variance = tighter.loss_variance(world.theta, *largest_variances(world, 0), world.r)
        high = tighter.comparator_tail_variance(n, shift, world.theta, world.r, variance=best_variance)
        assert mass[scores[:, 0] >= world.risks()[0] + shift].sum() <= high
        informative += bound < 0.5
    assert informative > 20


def largest_variances(world: World, arm: int) -> tuple[float, float]:
    """Variances of y Phi and Phi of one arm with one-dimensional features."""
    x, p = world.features[arm, :, 0], world.probabilities
    second = p @ x**2
    spreads = second - (p @ (x * world.labels)) ** 2, second - (p @ x) ** 2
    return max(float(spreads[0]), 0.0), max(float(spreads[1]), 0.0)


def test_regularised_score_exactly() -> None:
    """Theorem 8 where Eq. 3 has a closed form: S = 1 - (|mean y Phi|^2 / C_h + |mean Phi|^2 / C_g) / 16."""
    rng = np.random.default_rng(56)
    informative = 0
    for _ in range(200):
        world = random_world(rng, arms=2, atoms=int(rng.integers(2, 4)), dimension=2)
        C_h, C_g = rng.uniform(0.8, 2, 2)
        theta = float(rng.uniform(0.01, 0.2))
        # Piece 1 is active everywhere when |h| / 2 + (b + 1/2)|g| <= 1 - theta.
        b = theta / (1 - 2 * theta)
        assert 1 / (8 * C_h) + (b + 0.5) / (4 * C_g) <= 1 - theta
        n = int(rng.integers(5, 60))
        counts = compositions(n, len(world.probabilities))
        scores = 1 - squares(world, counts / n, C_h, C_g) / 16
        risks = 1 - squares(world, world.probabilities[None], C_h, C_g)[0] / 16
        order = np.argsort(risks)
        gap = risks[order[1]] - risks[order[0]]
        if gap < 1e-4:
            continue
        mass = multinomial(counts, world.probabilities)
        mean = mass @ scores
        square_sum = 1 / (16 * C_h) + 1 / (16 * C_g)
        assert np.all(risks - mean <= max(square_sum, b**2 / (4 * C_g)) / n + 1e-12)
        bound = tighter.lemma_4_regularised(n, gap, theta, 1.0, C_h=C_h, C_g=C_g, strict=False)
        truth = mass[scores[:, order[1]] <= scores[:, order[0]] + 1e-12].sum()
        assert np.isnan(bound) or truth <= bound
        informative += bound < 0.9
    assert informative > 15


def squares(world: World, weights: np.ndarray, C_h: float, C_g: float) -> np.ndarray:
    signed = np.einsum("sa,a,kad->skd", weights, world.labels, world.features)
    plain = np.einsum("sa,kad->skd", weights, world.features)
    return np.sum(signed**2, axis=2) / C_h + np.sum(plain**2, axis=2) / C_g


def worlds(seed: int, count: int, *, atoms: tuple[int, int] = (2, 4), arms: tuple[int, int] = (2, 5)) -> list[World]:
    rng = np.random.default_rng(seed)
    seen: list[World] = []
    while len(seen) < count:
        world = random_world(
            rng,
            arms=int(rng.integers(*arms)),
            atoms=int(rng.integers(*atoms)),
            dimension=int(rng.integers(1, 4)),
        )
        if world.gaps()[0] > 1e-6:
            seen.append(world)
    return seen


def test_optimism_exactly() -> None:
    """Theorem 1: R_i - E V_i <= c_d r / sqrt n for every arm of 300 worlds."""
    rng = np.random.default_rng(30)
    largest = 0.0
    for world in worlds(31, 300, atoms=(2, 6)):
        n = int(rng.integers(1, 9))
        counts = compositions(n, len(world.probabilities))
        mean = multinomial(counts, world.probabilities) @ world.scores(counts / n)
        ratio = (world.risks() - mean) * np.sqrt(n) / (world.r * formulas.dual_constant(world.theta))
        assert np.all(ratio >= -1e-12)
        largest = max(largest, float(ratio.max()))
    assert 0.3 < largest <= 1


def test_nonnegative_kernel_exactly() -> None:
    """Worlds with nonnegative inner products: the reduced range still bounds the truth."""
    rng = np.random.default_rng(38)
    informative = 0
    for world in worlds(39, 250):
        positive = World(world.probabilities, world.labels, np.abs(world.features), world.theta, world.r).sorted()
        gaps = positive.gaps()
        if gaps[0] < 1e-6:
            continue
        n = int(rng.integers(2, 500 if len(world.probabilities) == 2 else 80))
        bound = tighter.delta_fail_uniform(
            n * world.arms, world.arms, None, world.theta, world.r, gaps=gaps, kernel="nonnegative"
        )
        assert exact_uniform(positive, n) <= bound
        informative += bound < 1
    assert informative > 30


def test_planted_errors_are_caught() -> None:
    """Smaller constants than proved are refuted by exact instances, so the tests above can fail."""
    theta, r, m = 0.1, 0.8, 10**6
    # (i) An optimism of 0.9 c_d r / sqrt n: just above that launch budget the rival wins surely.
    gap = 0.2
    n = int(0.9 * (r / gap) ** 2)
    # V of the constant arm and of an arm with m orthogonal rows, at n distinct rows.
    best, rival = 1 - gap - r / np.sqrt(m), 1 - r / np.sqrt(n)
    assert rival < best
    assert n > (0.9 * formulas.dual_constant(theta) * r / gap) ** 2
    # (ii) An exponent three times as large is refuted by two atoms and anti-correlated arms.
    features = np.array([[[1.0], [-1.0]], [[-0.3], [1.0]]])
    world = World(np.array([0.7, 0.3]), np.array([1, 1]), features, theta, r)
    truth, gap = exact_uniform(world, 3000), world.gaps()[0]
    log_bound = tighter.lemma_4(3000, gap, theta, r, log=True)
    assert 3 * log_bound < np.log(truth) < log_bound < -20


@pytest.mark.parametrize(
    ("gap", "theta", "r", "m"), [(0.2, 0.1, 0.8, 400), (0.1, 0.2, 0.6, 900), (0.15, 0.29, 0.42, 2500)]
)
def test_nothing_starts_before_the_launch_budget(gap: float, theta: float, r: float, m: int) -> None:
    """Theorem 9: below impossible_rows the rival of orthogonal rows wins for every sample."""
    limit = tighter.impossible_rows(gap, theta, r, m)
    launch_rows = tighter.launch_rows(gap, theta, r)
    assert limit < launch_rows
    assert tighter.impossible_rows(gap, theta, r, 10**14) == pytest.approx((r / gap) ** 2, rel=1e-4)
    a = (gap + r / np.sqrt(m)) / r
    assert 1 - r * a == pytest.approx(1 - r / np.sqrt(m) - gap)
    rng = np.random.default_rng(47)
    for n in range(1, int(np.ceil(limit))):
        for _ in range(20):
            counts = np.bincount(rng.integers(0, m, n), minlength=m)
            rival = 1 - r * np.linalg.norm(counts / n)
            assert rival < 1 - r * a
