"""Tilts: the closed form of losses against the solver, and the iteration against its own fixed point."""

import numpy as np
import pytest
from scipy.special import logsumexp

from exml_sim.engine import Study
from exml_sim.engine.modes import _tilting as tilting
from exml_sim.engine.modes._tilting import Passing, Schedule
from exml_sim.losses import surrogate_loss
from exml_sim.rejection import solve


def pool(score):
    study = Study.from_table(
        {
            "pools": [{"kind": "synthetic", "per_class": 15, "angles": [20, 50, 80]}],
            "scores": [score],
            "strategies": ["uniform_allocation"],
            "budgets": {"per_arm": [10]},
            "trials": 2,
            "mode": "importance_sampling",
        }
    )
    return study.pool(study.cells()[0])


BALL = {"score": "ball", "theta": 0.3, "ball": 0.4}
PENALISED = {"score": "objective", "theta": 0.3, "penalty": [1.0, 1.0]}
ONE_ROUND = Schedule((0, 10), ((0, 1),), (1,), 1, True)


def test_affine_losses_are_the_solver_s():
    known = pool(BALL)
    rng = np.random.default_rng(0)
    for arm in range(known.n_arms):
        weights = rng.exponential(size=known.n_rows) * (rng.random(known.n_rows) < 0.7)
        gram, y = known.feature_arms[arm].gram, known.population.y
        slow = solve(gram, y, 0.3, weights=weights, ball=0.4)
        assert slow.method == "affine"
        np.testing.assert_allclose(
            tilting._losses(known, arm, weights, 10), surrogate_loss(slow.h, slow.g, y, 0.3), atol=1e-12
        )


def test_means_that_vanish_have_no_direction():
    """Opposite labels at the same place: the mean of y Phi is 0, and h with it."""
    gram = np.ones((2, 2))
    affine_losses = tilting._affine_losses(gram, np.array([1.0, -1.0]), np.ones(2), 0.4)
    np.testing.assert_allclose(affine_losses, [0.8, 0.8], atol=1e-15)


def test_log_means():
    exponent = np.random.default_rng(0).normal(size=(3, 2, 50)) * 300.0
    np.testing.assert_allclose(tilting._log_mean(exponent), logsumexp(exponent, axis=2) - np.log(50), atol=1e-10)


@pytest.mark.parametrize("score", [BALL, PENALISED])
def test_half_steps_end_near_a_fixed_point(score):
    """What the quick iteration finds is nearly what many more turns find; full steps may never settle."""
    known, path = pool(score), (Passing(0, 0, 2),)
    quick = tilting.find_tilt(known, ONE_ROUND, path)
    slow = tilting.find_tilt(known, ONE_ROUND, path, iterations=100, settled=1e-6, tol=1e-9)
    assert quick.cost == pytest.approx(slow.cost, rel=0.1)
    assert np.abs(quick.log_ratio - slow.log_ratio).max() < 0.3
    assert np.abs(slow.log_ratio).max() > 0.3
    # The tilt is a distribution.
    np.testing.assert_allclose(np.exp(quick.log_ratio).mean(axis=2), 1.0, atol=1e-12)
