"""What is measured in a trial, against the certified solver and against brute force."""

from __future__ import annotations

import numpy as np
import pytest

from exml_sim.bandit.rows import FeaturePool
from exml_sim.datasets import make_synthetic
from exml_sim.losses import rejection_loss, surrogate_loss
from exml_sim.rejection import solve
from exml_sim.seeds import Seeds
from exml_sim.strategies import MedianElimination, UniformAllocation
from simulations import _pool_bounds as atoms
from simulations.verification._guarantees import MEASURED, AffineArm, Bought, get_pool, supremum


def bought(pool, rule=None, budget=40, trials=6):
    run, selected = pool.run(rule or UniformAllocation(), budget, Seeds.of(3, range(trials)), record=False)
    return Bought(pool, selected[:, 0], run.arms.counts())


def gaussian_pool():
    """Three arms in the affine regime with a Gaussian kernel: Gram matrices of full rank."""
    return FeaturePool(make_synthetic(6, angles=(5, 45, 90), rng=1), theta=0.1, ball=0.7)


def atom_pool(name):
    from exml_sim.engine import Sampling, build_pool

    place = get_pool(name)
    return build_pool(atoms.atom_pool(place.pool, place.name), atoms.ball_score(place.pool), Sampling())


def learned(pool, arm, counts):
    """The certified solver's model on the counted rows, and its values on all rows."""
    feature_arm = pool.feature_arms[arm]
    kept = np.flatnonzero(counts)
    y = np.asarray(pool.population.y, dtype=float)
    fit = solve(feature_arm.gram[np.ix_(kept, kept)], y[kept], 0.1, weights=counts[kept].astype(float), ball=0.7)
    cross = feature_arm.gram[:, kept]
    return cross @ fit.u, cross @ fit.w, y


@pytest.mark.parametrize("rule", [UniformAllocation(), MedianElimination()])
def test_regret_agrees_with_the_certified_solver(rule):
    pool = gaussian_pool()
    seen = bought(pool, rule, 60)
    regret = MEASURED["regret"](seen)
    for trial, arm in enumerate(seen.selected):
        h, g, y = learned(pool, int(arm), seen.counts[trial, arm])
        assert regret[trial] == pytest.approx(np.mean(surrogate_loss(h, g, y, 0.1)) - pool.risks.min(), abs=1e-6)


def test_the_best_model_on_the_bought_rows():
    pool = gaussian_pool()
    seen = bought(pool)
    h, g, y = learned(pool, 0, np.ones(pool.n_rows, dtype=int))
    losses = surrogate_loss(h, g, y, 0.1)
    counts = seen.counts[:, 0]
    expected = counts @ losses / counts.sum(axis=1) - losses.mean()
    assert MEASURED["fixed deviation"](seen) == pytest.approx(expected, abs=1e-6)


@pytest.mark.parametrize("name", ["opposed", "star-3"])
def test_supremum_over_the_ball_by_brute_force(name):
    pool = atom_pool(name)
    seen = bought(pool, budget=30, trials=20)
    context = AffineArm.of(pool, 0)
    feature = np.asarray(pool.population.candidates[0].values, dtype=float).ravel()
    exact = supremum(context, feature, seen.arm(0))
    # Next to zero as well as at the ends: the supremum may only be approached.
    slopes = context.radius * np.array([-1.0, -0.5, -1e-9, 0.0, 1e-9, 0.5, 1.0])
    brute = np.full(20, -np.inf)
    for a in slopes:
        for b in slopes:
            risk = np.mean(rejection_loss(a * feature, b * feature, context.y, context.theta))
            losses = surrogate_loss(a * feature, b * feature, context.y, context.theta)
            brute = np.maximum(brute, risk - seen.arm(0) @ losses / seen.arm(0).sum(axis=1))
    assert exact == pytest.approx(brute, abs=1e-7)


def test_selection_regret_is_the_gap_of_the_selected_arm():
    pool = atom_pool("star-3")
    seen = bought(pool, budget=9, trials=200)
    regret = MEASURED["selection regret"](seen)
    assert set(np.round(regret, 9)) == {0.0, 0.32}
    assert np.array_equal(regret > 0, ~np.isin(seen.selected, pool.best_arms()))


def test_outside_the_affine_regime_nothing_is_measured():
    pool = FeaturePool(make_synthetic(4, angles=(5, 90), rng=1), theta=0.3, ball=2.0)
    with pytest.raises(ValueError, match="affine regime"):
        AffineArm.of(pool, 0)
