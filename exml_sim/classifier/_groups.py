"""Rows that belong together: duplicated rows, and groups of a user such as persons with several rows.

Out-of-fold predictions, folds and candidate scores keep such rows together, so that no row confirms its own copy.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike

from exml_sim._internal.arrays import FloatArray, IntArray
from exml_sim.classifier import constants
from exml_sim.classifier._probability_models import Fitter, ProbabilityModel, stratified_folds


def group_duplicates(X: FloatArray, y: IntArray) -> IntArray | None:
    """Return a group number per row, the same for duplicates; None if there are none beyond chance.

    The expectation is computed from the distinct rows, as if columns were independent: the product over columns of the
    fraction of pairs that agree.
    """
    distinct, group = np.unique(np.column_stack([X, y]), axis=0, return_inverse=True)
    if not 2 <= len(distinct) < len(y):
        return None
    counts = [np.unique(column, return_counts=True)[1] for column in distinct.T]
    pairs = len(distinct) * (len(distinct) - 1)
    by_chance = (len(y) - 1) * float(np.prod([(count * (count - 1)).sum() / pairs for count in counts]))
    return np.asarray(group.ravel(), dtype=np.int64) if by_chance < constants.MIN_DUPLICATED_FRACTION else None


def encode_groups(groups: ArrayLike, rows: int) -> IntArray:
    """Return group numbers from names of groups, one per row."""
    names = np.asarray(groups)
    if names.shape != (rows,):
        raise ValueError(f"groups must have shape ({rows},), one group per row, got {names.shape}")
    distinct, codes = np.unique(names, return_inverse=True)
    if len(distinct) < 2:
        raise ValueError(f"groups must have at least 2 groups, got only {distinct[0]!r}: leave groups out")
    return np.asarray(codes, dtype=np.int64)


def join_groups(first: IntArray | None, second: IntArray | None) -> IntArray | None:
    """Return groups that contain whole groups of both kinds; None stands for rows that are all apart."""
    if first is None or second is None:
        return second if first is None else first
    from scipy.sparse import coo_matrix
    from scipy.sparse.csgraph import connected_components

    n = len(first)
    places = np.concatenate([first, int(first.max()) + 1 + second])
    edges = coo_matrix(
        (np.ones(2 * n), (np.tile(np.arange(n), 2), n + places)), shape=(2 * n + int(places.max()) + 1,) * 2
    )
    return np.asarray(connected_components(edges, directed=False)[1][:n], dtype=np.int64)


def draw_folds(y: IntArray, groups: IntArray | None, folds: int, rng: np.random.Generator) -> IntArray:
    """Return the fold of every row; groups are whole, and classes spread over the folds."""
    if groups is None:
        return stratified_folds(y, min(folds, len(y)), rng)
    _, first, group = np.unique(groups, return_index=True, return_inverse=True)
    return stratified_folds(y[first], min(folds, len(first)), rng)[group.ravel()]


def keep_together(fit: Fitter, groups: IntArray | None) -> Fitter:
    """Return a fitter whose out-of-fold predictions come from models that saw no row of the same group."""
    if groups is None or len(np.unique(groups)) < 2:
        return fit

    def fit_by_groups(X: FloatArray, T: FloatArray) -> tuple[ProbabilityModel, FloatArray]:
        out_of_fold = np.zeros_like(T)
        fold = draw_folds(T.argmax(axis=1), groups, constants.NESTED_FOLDS, np.random.default_rng(0))
        for k in range(int(fold.max()) + 1):
            outside = fold == k
            out_of_fold[outside] = fit(X[~outside], T[~outside])[0].predict(X[outside])
        return fit(X, T)[0], out_of_fold

    return fit_by_groups
