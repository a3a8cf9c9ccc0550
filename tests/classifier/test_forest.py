"""The compiled forest against scikit-learn's trees, and against a search for the best cut of every node."""

import itertools

import numpy as np
import pytest
from sklearn.ensemble import RandomForestRegressor
from sklearn.tree import DecisionTreeRegressor

from exml_sim.classifier._regression import grow_forest, sum_trees
from exml_sim.classifier.constants import EQUAL_VALUE_TOLERANCE


def table(n, d, k, seed, levels=None):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, d)) if levels is None else rng.integers(0, levels, size=(n, d)).astype(float)
    return X, rng.dirichlet(np.ones(k), size=n)


def members(X, nodes, root, rows):
    """Rows of every node below a root, by the thresholds alone."""
    feature, threshold, left, right, _ = nodes
    points = X.astype(np.float32)
    inside, waiting = {}, [(root, rows)]
    while waiting:
        node, sample = waiting.pop()
        inside[node] = sample
        if feature[node] >= 0:
            below = points[sample, feature[node]] <= threshold[node]
            waiting += [(left[node], sample[below]), (right[node], sample[~below])]
    return inside


def gain_of(T, w, below):
    """Squared sums per weight on both sides: how good a cut is."""
    sides = [(w[side, None] * T[side]).sum(axis=0) for side in (below, ~below)]
    return sum((entry**2).sum() / w[side].sum() for entry, side in zip(sides, (below, ~below), strict=True))


def best_gain(points, T, w, columns):
    """The largest gain over all cuts of the columns, one by one."""
    seen = [-np.inf]
    for f in columns:
        values = np.unique(points[:, f])
        for low, high in itertools.pairwise(values):
            if high > low + EQUAL_VALUE_TOLERANCE:
                seen.append(gain_of(T, w, points[:, f] <= low))
    return max(seen)


def drawn_rows(n, trees, seed, drawn=None):
    """How often every tree drew every row: a forest of the same seed whose targets name the rows."""
    nodes, roots, _ = grow_forest(np.arange(n)[:, None].astype(float), np.eye(n), trees, seed, drawn)
    # The targets of a root are the shares of the rows.
    return np.rint(nodes[4][roots] * (drawn or n)).astype(int)


@pytest.mark.parametrize(("n", "k", "drawn"), [(12, 2, None), (90, 3, None), (90, 3, 30), (400, 5, 60)])
def test_with_one_column_the_trees_are_those_of_scikit_learn(n, k, drawn):
    X, T = table(n, 1, k, seed=n)
    nodes, roots, out_of_bag = grow_forest(X, T, 6, 11, drawn)
    counts = drawn_rows(len(X), 6, 11, drawn)
    assert (counts.sum(axis=1) == (drawn or n)).all()
    ends, total, voters = [*roots[1:], len(nodes[0])], np.zeros_like(T), np.zeros(n)
    for root, end, weight in zip(roots, ends, counts, strict=True):
        tree = DecisionTreeRegressor(random_state=0).fit(X, T, sample_weight=weight.astype(float)).tree_
        assert end - root == tree.node_count
        inner = tree.feature >= 0
        assert sorted(nodes[1][root:end][nodes[0][root:end] >= 0]) == sorted(tree.threshold[inner])
        outside = weight == 0
        said = tree.predict(X.astype(np.float32)).reshape(-1, k)
        # Sums of the same numbers in another order.
        np.testing.assert_allclose(sum_trees(X, nodes, np.array([root])), said, atol=1e-12)
        total[outside] += said[outside]
        voters += outside
    np.testing.assert_allclose(out_of_bag, total / np.maximum(voters, 1)[:, None], atol=1e-12)


@pytest.mark.parametrize("levels", [None, 3])
def test_every_node_has_the_best_cut_of_all_columns_if_it_searches_all(levels):
    X, T = table(60, 4, 3, seed=1, levels=levels)
    nodes, roots, _ = grow_forest(X, T, 4, 5, tried=4)
    points = X.astype(np.float32)
    for root, weight in zip(roots, drawn_rows(len(X), 4, 5), strict=True):
        for node, rows in members(X, nodes, root, np.flatnonzero(weight)).items():
            w, t = weight[rows].astype(float), T[rows]
            np.testing.assert_allclose(nodes[4][node], (w[:, None] * t).sum(axis=0) / w.sum(), atol=1e-12)
            best = best_gain(points[rows], t, w, range(4))
            f = nodes[0][node]
            if f < 0:
                # A leaf has one row, equal targets, or no column that differs.
                assert len(rows) == 1 or np.ptp(t, axis=0).max() < 1e-7 or best == -np.inf
            else:
                assert gain_of(t, w, points[rows, f] <= nodes[1][node]) == pytest.approx(best, abs=1e-10)


def test_a_cut_that_is_not_the_best_would_be_seen():
    X, T = table(60, 4, 3, seed=1)
    nodes, roots, _ = grow_forest(X, T, 1, 5, tried=4)
    weight = drawn_rows(len(X), 1, 5)[0]
    rows = np.flatnonzero(weight)
    nodes[1][roots[0]] += 0.3
    below = X[rows, nodes[0][roots[0]]] <= nodes[1][roots[0]]
    w = weight[rows].astype(float)
    assert gain_of(T[rows], w, below) < best_gain(X.astype(np.float32)[rows], T[rows], w, range(4)) - 1e-6


def test_a_node_searches_the_square_root_of_the_columns_each_as_likely_as_the_others():
    # One column explains everything; a root takes it whenever it sees it: 4 of 16 columns are looked at.
    rng = np.random.default_rng(0)
    X = rng.normal(size=(40, 16))
    T = np.eye(2)[(X[:, 5] > 0).astype(int)]
    nodes, roots, _ = grow_forest(X, T, 4000, 1)
    took = int((nodes[0][roots] == 5).sum())
    # Binomial(4000, 1/4) has a deviation of 27.4; six of them are passed with a probability below 2e-9.
    assert abs(took - 1000) < 6 * 27.4
    others = np.bincount(nodes[0][roots], minlength=16)
    assert (np.delete(others, 5) > 0).all()


def test_constant_columns_are_passed_over():
    X, T = table(30, 25, 2, seed=3)
    X[:, :24] = 1.0
    nodes, _, _ = grow_forest(X, T, 5, 0)
    assert set(nodes[0].tolist()) == {-1, 24}
    nothing, _, out_of_bag = grow_forest(np.ones((30, 4)), T, 5, 0)
    assert set(nothing[0].tolist()) == {-1}
    assert np.isfinite(out_of_bag).all()


def test_errors_on_rows_not_drawn_are_those_of_scikit_learn_on_average():
    apart = []
    for seed in range(40):
        X, _ = table(50, 9, 2, seed)
        T = np.eye(2)[(X[:, 0] + X[:, 1] > 0).astype(int)]
        theirs = RandomForestRegressor(40, max_features="sqrt", oob_score=True, random_state=seed).fit(X, T)
        apart.append(((grow_forest(X, T, 40, seed)[2] - T) ** 2).mean() - ((theirs.oob_prediction_ - T) ** 2).mean())
    # Six standard deviations of the mean of 40 differences: t with 39 degrees of freedom passes them with 5e-7.
    assert abs(np.mean(apart)) < 6 * np.std(apart, ddof=1) / np.sqrt(40)
    assert np.std(apart, ddof=1) < 0.04


def test_children_stand_behind_their_parents():
    X, T = table(80, 5, 3, seed=2)
    (feature, _, left, right, value), roots, _ = grow_forest(X, T, 7, 3)
    inner = np.flatnonzero(feature >= 0)
    assert (left[inner] > inner).all()
    assert (right[inner] > inner).all()
    assert sorted([*left[inner], *right[inner], *roots]) == list(range(len(feature)))
    np.testing.assert_allclose(value.sum(axis=1), 1.0)


def test_another_seed_is_another_forest_and_the_same_seed_the_same():
    X, T = table(60, 4, 2, seed=0)
    assert not np.array_equal(grow_forest(X, T, 6, 1)[2], grow_forest(X, T, 6, 2)[2])
    np.testing.assert_array_equal(grow_forest(X, T, 6, 1)[2], grow_forest(X, T, 6, 1)[2])


def test_numbers_beyond_single_precision_are_refused():
    X, T = table(20, 2, 2, seed=0)
    X[3, 1] = 1e300
    with pytest.raises(ValueError, match="single precision"):
        grow_forest(X, T, 2, 0)


@pytest.mark.parametrize("shape", [(0, 3), (3, 0)])
def test_no_rows_or_columns_are_refused(shape):
    with pytest.raises(ValueError, match=rf"at least one row and one column; got shape \({shape[0]}, {shape[1]}\)"):
        grow_forest(np.zeros(shape), np.zeros((shape[0], 2)), 2, 0)


@pytest.mark.parametrize(("low", "steps", "apart"), [(0.5, 1, False), (0.5, 2, True), (1.0, 1, True), (2.0, 1, True)])
def test_neighbours_are_told_apart_by_their_distance_alone(low, steps, apart):
    """In double precision, from 1e-7 on; scikit-learn rounds the 1e-7 and keeps the second and third pair together."""
    high = np.float32(low)
    for _ in range(steps):
        high = np.nextafter(high, np.float32(9))
    assert (float(high) - low > EQUAL_VALUE_TOLERANCE) == apart
    nodes, _, _ = grow_forest(np.array([[low], [high]] * 10), np.eye(2)[[0, 1] * 10], 1, 0)
    assert (len(nodes[0]) == 3) == apart
