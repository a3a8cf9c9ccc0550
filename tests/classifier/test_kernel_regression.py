"""Kernel regression: held-out values against fitting without the row, the mean over regressions against its parts."""

import numpy as np
import pytest

from exml_sim.classifier._regression import KernelFitter, additive, expand_basis, weigh_regressions
from exml_sim.classifier.constants import (
    BASIS_NORM,
    BLOCK_COLUMNS,
    CENTRES,
    KERNEL_PRIOR,
    PENALTIES,
    REGRESSION_TEMPERATURE,
)
from tests.classifier.tasks import soft_rows


def slow_additive(points):
    """The additive kernel, pair by pair."""
    near = np.clip(points, -3.0, 3.0)
    out = np.zeros((len(near), len(near)))
    for a in range(len(near)):
        for b in range(len(near)):
            for s, t in zip(near[a], near[b], strict=True):
                out[a, b] += sum(np.exp(-2 * (s - c) ** 2 - 2 * (t - c) ** 2) for c in CENTRES)
    return out / (BASIS_NORM * near.shape[1])


def slow_matrices(model):
    """All kernels on a model's rows."""
    distances = ((model.anchors[:, None] - model.anchors[None]) ** 2).sum(axis=2)
    return np.exp(-model.gamma * distances), np.exp(-model.gamma * distances / 16), slow_additive(model.anchors)


def left_out(K, penalty, rest):
    """Every row by the regression of the others."""
    out = np.empty_like(rest)
    for i in range(len(rest)):
        others = np.arange(len(rest)) != i
        fitted = np.linalg.solve(K[np.ix_(others, others)] + penalty * np.eye(others.sum()), rest[others])
        out[i] = K[i, others] @ fitted
    return out


def sum_of_curves(n, seed):
    """Rows with eight columns, and a target that is a sum of curves of three of them."""
    X = np.random.default_rng(seed).normal(size=(n, 8))
    t = np.tanh(X[:, 0]) + np.abs(X[:, 1]) - 0.5 * X[:, 2]
    return X, np.column_stack([t, -t])


def nearly_equal(n, seed):
    """Two columns that are nearly equal, and a target that is their difference."""
    rng = np.random.default_rng(seed)
    t, level = rng.normal(size=n), 20.0 * rng.normal(size=n)
    return np.column_stack([level, level + t, rng.normal(size=(n, 2))]), np.column_stack([t, -t])


def test_additive_kernel_is_the_sum_over_columns_and_bumps():
    points = np.random.default_rng(0).normal(size=(7, 3)) * 2.0
    assert np.abs(points).max() > 3.0
    np.testing.assert_allclose(additive(points), slow_additive(points), atol=1e-12)


def test_additive_kernel_is_near_the_mean_of_gaussian_kernels_of_the_columns():
    """Dense bumps exp(-2 (t-c)^2) add up to a multiple of exp(-(s-t)^2): within three deviations to 3 %."""
    points = np.random.default_rng(1).uniform(-2.5, 2.5, size=(30, 2))
    plain = np.mean([np.exp(-((points[:, None, j] - points[None, :, j]) ** 2)) for j in range(2)], axis=0)
    np.testing.assert_allclose(additive(points), plain, atol=0.03)


def test_many_columns_are_added_block_by_block():
    points = np.random.default_rng(2).normal(size=(9, BLOCK_COLUMNS + 5))
    whole = expand_basis(points)
    np.testing.assert_allclose(additive(points), whole @ whole.T / (BASIS_NORM * points.shape[1]), atol=1e-12)
    X, T = points, np.eye(2)[np.arange(9) % 2]
    model, _ = KernelFitter()(X, T)
    gaussian, wide, _ = slow_matrices(model)
    direct = model.base + gaussian @ model.coefficients + wide @ model.wide + expand_basis(model.anchors) @ model.curves
    np.testing.assert_allclose(model.predict(X), direct, atol=1e-10)


@pytest.mark.parametrize("kernel", [0, 1, 2])
def test_every_row_is_left_out_exactly(kernel):
    """With one kernel and one penalty the closed form is what refitting without the row gives."""
    X, T = soft_rows()
    fitter = KernelFitter(penalties=PENALTIES[8:9], weigh=lambda errors, rows: np.eye(3)[:, [kernel]])
    model, out_of_fold = fitter(X, T)
    rest = T - model.base
    np.testing.assert_allclose(
        out_of_fold, left_out(slow_matrices(model)[kernel], PENALTIES[8], rest) + model.base, atol=1e-8
    )


def test_the_regression_is_the_mean_of_all_by_their_held_out_errors():
    """Refitting, inverses and weights of thirty-nine regressions, the slow way."""
    X, T = soft_rows(30)
    model, out_of_fold = KernelFitter()(X, T)
    rest = T - T.mean(axis=0)
    matrices = slow_matrices(model)
    every = [(K, p, left_out(K, p, rest)) for K in matrices for p in PENALTIES]
    errors = np.array([((entry - rest) ** 2).sum(axis=1).mean() for *_, entry in every])
    weights = np.repeat(KERNEL_PRIOR, len(PENALTIES)) * np.exp(-REGRESSION_TEMPERATURE * 30 * errors)
    weights /= weights.max()
    assert (weights > 0.1).sum() > 2, "the case has nothing to average"
    weights[weights < 1e-3] = 0.0
    weights /= weights.sum()
    wanted = sum(w * entry for w, (*_, entry) in zip(weights, every, strict=True))
    np.testing.assert_allclose(out_of_fold, wanted + model.base, atol=1e-8)
    fitted = sum(w * K @ np.linalg.solve(K + p * np.eye(30), rest) for w, (K, p, _) in zip(weights, every, strict=True))
    np.testing.assert_allclose(model.predict(X), fitted + model.base, atol=1e-8)
    # No best one alone, and no plain mean.
    assert np.abs(out_of_fold - every[int(errors.argmin())][2] - model.base).max() > 1e-3
    assert np.abs(out_of_fold - np.mean([entry for *_, entry in every], axis=0) - model.base).max() > 1e-3


def test_weights_fall_with_error_and_rows():
    errors = np.array([[0.5, 0.6], [0.5, 30.0], [0.5, 0.6]])
    few, many = weigh_regressions(errors, 4), weigh_regressions(errors, 400)
    assert few.sum() == pytest.approx(1.0)
    assert few[0, 1] / few[0, 0] == pytest.approx(np.exp(-REGRESSION_TEMPERATURE * 4 * 0.1))
    assert few[1, 1] == 0.0
    assert few[1, 0] / few[0, 0] == pytest.approx(KERNEL_PRIOR[1])
    np.testing.assert_allclose(many, KERNEL_PRIOR[:, None] / KERNEL_PRIOR.sum() * [1.0, 0.0], atol=1e-8)


def test_rows_above_a_number_are_solved_for_what_some_of_them_choose():
    """One kernel and one penalty are solved for all rows; refitting is the slow way."""
    chosen = set()
    for seed in range(6):
        X, T = (soft_rows, sum_of_curves, nearly_equal)[seed % 3](50, seed)
        model, out_of_fold = KernelFitter(choosing=20)(X, T)
        assert len(model.anchors) == 50
        rest = T - model.base
        result = np.linspace(0, 49, 20).round().astype(int)
        matrices = slow_matrices(model)
        tried = {
            (k, p): np.log(KERNEL_PRIOR[k])
            - REGRESSION_TEMPERATURE
            * ((left_out(K[np.ix_(result, result)], p, rest[result]) - rest[result]) ** 2).sum()
            for k, K in enumerate(matrices)
            for p in PENALTIES
        }
        kernel, penalty = max(tried, key=tried.get)
        chosen.add(kernel)
        np.testing.assert_allclose(out_of_fold, left_out(matrices[kernel], penalty, rest) + model.base, atol=1e-8)
        fitted = matrices[kernel] @ np.linalg.solve(matrices[kernel] + penalty * np.eye(50), rest)
        np.testing.assert_allclose(model.predict(X), fitted + model.base, atol=1e-8)
        # Other targets of the same rows choose anew.
        again = KernelFitter(choosing=20)
        again(X, T[::-1].copy())
        np.testing.assert_array_equal(again(X, T)[1], out_of_fold)
    assert chosen == {0, 1, 2}


def test_decompositions_are_kept_only_for_the_same_rows():
    fit = KernelFitter()
    X, T = soft_rows()
    first = fit(X, T)[1]
    np.testing.assert_array_equal(fit(X, T)[1], first)
    other = soft_rows(seed=1)
    np.testing.assert_array_equal(fit(*other)[1], KernelFitter()(*other)[1])


def test_a_sum_of_curves_is_learned_from_few_rows_and_a_far_value_moves_it_little():
    """Of 60 rows with eight columns: the Gaussian kernel alone leaves nearly twice as much unexplained."""
    X, T = sum_of_curves(60, 4)
    model, out_of_fold = KernelFitter()(X, T)
    explained = 1.0 - ((out_of_fold - T) ** 2).sum() / ((T - T.mean(axis=0)) ** 2).sum()
    K, *_ = slow_matrices(model)
    rest = T - model.base
    gaussian = max(1.0 - ((left_out(K, p, rest) - rest) ** 2).sum() / (rest**2).sum() for p in PENALTIES)
    assert 1.0 - explained < 0.6 * (1.0 - gaussian)
    near, far = np.zeros((1, 8)), np.zeros((1, 8))
    far[0, 7] = 1e6
    assert np.abs(model.predict(far) - model.predict(near)).max() < np.abs(T).max()


def test_the_difference_of_two_columns_that_are_nearly_equal_is_seen():
    """The wide kernel with a small penalty finds it; neither of the others does."""
    X, T = nearly_equal(80, 0)
    model, out_of_fold = KernelFitter()(X, T)
    rest = T - model.base
    gaussian, _, added = slow_matrices(model)
    others = [((left_out(K, p, rest) - rest) ** 2).mean() for K in (gaussian, added) for p in PENALTIES]
    assert ((out_of_fold - T) ** 2).mean() < 0.2 * min(others)
