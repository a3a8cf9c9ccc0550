"""Trees grown one by one: scikit-learn's own forest is the slow way to the same bits."""

import warnings

import numpy as np
import pytest
from sklearn.ensemble import RandomForestRegressor

from exml_sim.method.forest import grown


def table(n, d, k, seed):
    rng = np.random.default_rng(seed)
    return rng.normal(size=(n, d)), rng.dirichlet(np.ones(k), size=n)


@pytest.mark.parametrize(
    ("n", "d", "k", "drawn"), [(12, 1, 2, None), (90, 7, 3, None), (90, 7, 3, 30), (400, 3, 5, 60)]
)
def test_the_same_trees_and_the_same_votes_on_rows_not_drawn(n, d, k, drawn):
    X, T = table(n, d, k, seed=n)
    trees, held = grown(X, T, 6, 11, drawn)
    with warnings.catch_warnings():
        # With six trees some rows are drawn by all.
        warnings.simplefilter("ignore", UserWarning)
        forest = RandomForestRegressor(6, max_features="sqrt", oob_score=True, random_state=11, max_samples=drawn)
        forest.fit(X, T)
    for mine, theirs in zip(trees, forest.estimators_, strict=True):
        np.testing.assert_array_equal(mine.feature, theirs.tree_.feature)
        np.testing.assert_array_equal(mine.threshold, theirs.tree_.threshold)
        np.testing.assert_array_equal(mine.value, theirs.tree_.value)
    np.testing.assert_array_equal(held, forest.oob_prediction_)


def test_another_seed_is_another_forest():
    X, T = table(60, 4, 2, seed=0)
    assert not np.array_equal(grown(X, T, 6, 1)[1], grown(X, T, 6, 2)[1])


def test_numbers_beyond_single_precision_are_refused():
    X, T = table(20, 2, 2, seed=0)
    X[3, 1] = 1e300
    with pytest.raises(ValueError, match="single precision"):
        grown(X, T, 2, 0)
