"""Attacks on our theorems by exact enumeration in the affine regime, where all probabilities are sums.

``test_tighter_exact.py`` goes on beyond the affine regime.
"""

from __future__ import annotations

import numpy as np
import pytest

from tests.theory.affine_world import (
    World,
    compositions,
    exact_independent_pair,
    exact_median,
    exact_uniform,
    multinomial,
    random_world,
)
from theory import formulas, tighter


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


def test_optimism_is_attained_in_the_limit() -> None:
    """m orthogonal rows and n = 1: R - E V = r - r / sqrt m, so that no constant below 1 is possible."""
    r, m = 0.5, 10**6
    assert (r - r / np.sqrt(m)) / r > 0.998 * formulas.dual_constant(0.1)


def test_uniform_allocation_exactly() -> None:
    """Theorems 2 and 3 on 400 worlds: same rows, per-arm gaps and one gap, all optimism forms."""
    rng = np.random.default_rng(32)
    informative = 0
    for world in worlds(33, 400):
        n = int(rng.integers(2, 800 if len(world.probabilities) == 2 else 90))
        truth = exact_uniform(world, n)
        gaps = world.gaps()
        for optimism in ("dual", "rademacher"):
            budget = n * world.arms
            per_arm = tighter.delta_fail_uniform(
                budget, world.arms, None, world.theta, world.r, gaps=gaps, optimism=optimism
            )
            assert truth <= per_arm
            delta_fail_uniform = tighter.delta_fail_uniform(
                budget, world.arms, gaps[0], world.theta, world.r, optimism=optimism, strict=False
            )
            assert np.isnan(delta_fail_uniform) or truth <= delta_fail_uniform
            arbitrary = tighter.delta_fail_uniform(
                budget, world.arms, None, world.theta, world.r, gaps=gaps, pairing="arbitrary"
            )
            assert truth <= arbitrary
        informative += per_arm < 1
    assert informative > 80


def test_independent_rows_exactly() -> None:
    rng = np.random.default_rng(34)
    for world in worlds(35, 300, arms=(2, 3)):
        n = int(rng.integers(2, 600 if len(world.probabilities) == 2 else 60))
        bound = tighter.lemma_4(n, world.gaps()[0], world.theta, world.r, pairing="independent", strict=False)
        assert np.isnan(bound) or exact_independent_pair(world, n) <= bound


def test_without_replacement_exactly() -> None:
    """Theorem 5 on 200 finite populations, hypergeometric enumeration."""
    rng = np.random.default_rng(36)
    informative = 0
    for world in worlds(37, 200):
        m = int(rng.integers(10, 60))
        sizes = rng.multinomial(m - len(world.probabilities), world.probabilities) + 1
        finite = World(sizes / m, world.labels, world.features, world.theta, world.r).sorted()
        gaps = finite.gaps()
        if gaps[0] < 1e-6:
            continue
        n = int(rng.integers(2, m + 1))
        truth = exact_uniform(finite, n, sizes)
        bound = tighter.delta_fail_uniform(
            n * finite.arms, finite.arms, None, finite.theta, finite.r, gaps=gaps, population=m
        )
        assert truth <= bound + 1e-12
        informative += bound < 1
    assert informative > 40


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


@pytest.mark.parametrize("fresh", [True, False])
def test_median_elimination_exactly(fresh: bool) -> None:
    """Theorem 4 on worlds with 3 to 6 arms, full enumeration over all rounds."""
    rng = np.random.default_rng(40 + fresh)
    informative = 0
    for world in worlds(42 + fresh, 60, atoms=(2, 3), arms=(3, 7 if fresh else 5)):
        rounds = int(np.ceil(np.log2(world.arms)))
        n_1 = int(rng.integers(20, 90))
        budget = n_1 * world.arms * rounds
        truth = exact_median(world, budget, fresh=fresh)
        bound = tighter.delta_fail_median(
            budget,
            world.arms,
            None,
            world.theta,
            world.r,
            gaps=world.gaps(),
            rows="fresh" if fresh else "accumulated",
        )
        assert truth <= bound
        informative += bound < 1
    assert informative > 3


@pytest.mark.parametrize("fresh", [True, False])
def test_median_elimination_with_ties_exactly(fresh: bool) -> None:
    """Two equally good best arms on different features: either may be returned."""
    rng = np.random.default_rng(44)
    checked = 0
    for world in worlds(45, 200, atoms=(2, 3), arms=(3, 4)):
        twin = -world.features[:1]  # The same norms, hence the same score, but another arm.
        tied = World(world.probabilities, world.labels, np.concatenate([twin, world.features]), world.theta, world.r)
        gaps = np.where(np.abs(tied.gaps()) < 1e-9, 0.0, tied.gaps())
        n_1 = int(rng.integers(40, 90))
        if gaps[-2] < 0.5 * tied.r:
            continue
        budget = n_1 * tied.arms * 2
        bound = tighter.delta_fail_median(
            budget, tied.arms, None, tied.theta, tied.r, gaps=gaps, rows="fresh" if fresh else "accumulated"
        )
        assert exact_median(tied, budget, fresh=fresh) <= bound + 1e-12
        checked += bound < 1
        if checked >= 6:
            break
    assert checked


def test_adversarial_search() -> None:
    """Hill climbing towards a violation of Theorem 2: the exact probability never reaches the bound."""
    rng = np.random.default_rng(46)
    worst = -np.inf

    def score(parameters: np.ndarray, n: int) -> float:
        theta = 0.1
        p = np.exp(parameters[:3]) / np.exp(parameters[:3]).sum()
        features = np.tanh(parameters[3:9]).reshape(2, 3, 1)
        world = World(p, np.array([1, 1, -1]), features, theta, 0.8).sorted()
        gap = world.gaps()[0]
        bound = tighter.lemma_4(n, gap, theta, 0.8, strict=False, log=True) if gap > 1e-6 else np.nan
        if np.isnan(bound):
            return -np.inf
        return float(np.log(max(exact_uniform(world, n), 1e-300)) - bound)

    for _ in range(6):
        n = int(rng.integers(10, 60))
        here = rng.normal(size=9) * 2
        value = score(here, n)
        for _ in range(60):
            step = here + rng.normal(size=9) * 0.4
            trial = score(step, n)
            if trial >= value:
                here, value = step, trial
        worst = max(worst, value)
    assert np.isfinite(worst)
    assert worst <= 0


def orthogonal_rival(n: int, m: int, a: float, r: float) -> tuple[float, float]:
    """V of (constant arm with feature a, arm of m orthogonal rows) at n distinct rows, labels +1."""
    del m
    return 1 - r * a, 1 - r / np.sqrt(n)


def test_planted_errors_are_caught() -> None:
    """Smaller constants than proved are refuted by exact instances, so the tests above can fail."""
    theta, r, m = 0.1, 0.8, 10**6
    # (i) An optimism of 0.9 c_d r / sqrt n: just above that launch budget the rival wins surely.
    gap = 0.2
    a = (gap + r / np.sqrt(m)) / r
    n = int(0.9 * (r / gap) ** 2)
    best, rival = orthogonal_rival(n, m, a, r)
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
    launch = tighter.launch_rows(gap, theta, r)
    assert limit < launch
    assert tighter.impossible_rows(gap, theta, r, 10**14) == pytest.approx((r / gap) ** 2, rel=1e-4)
    a = (gap + r / np.sqrt(m)) / r
    assert 1 - r * a == pytest.approx(1 - r / np.sqrt(m) - gap)
    rng = np.random.default_rng(47)
    for n in range(1, int(np.ceil(limit))):
        for _ in range(20):
            counts = np.bincount(rng.integers(0, m, n), minlength=m)
            rival = 1 - r * np.linalg.norm(counts / n)
            assert rival < 1 - r * a
