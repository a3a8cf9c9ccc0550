"""Far cells are told of, and do not make a kernel blind."""

import numpy as np
import pytest

from exml_sim.classifier import BaseExMLClassifier
from exml_sim.classifier._preflight import diagnose_far, far_cells
from exml_sim.classifier._regression import KernelFitter, clip_limits
from exml_sim.classifier.constants import CLIP_QUARTILE_DISTANCES, FAR_QUARTILE_DISTANCES, MAX_FAR_COLUMNS


def test_far_cells_are_counted_in_distances_of_the_quartiles():
    column = np.append(
        np.arange(101.0), [50.0 + 1.01 * FAR_QUARTILE_DISTANCES * 51.0, 50.0 - 0.9 * FAR_QUARTILE_DISTANCES * 51.0]
    )
    assert np.flatnonzero(far_cells(column)).tolist() == [101]
    assert "has 1 value far from the others, like 1080.2" in diagnose_far("c", column)[0].message
    assert diagnose_far("c", column[:101]) == []
    # Quartiles that are one value have no distance.
    assert not far_cells(np.append(np.zeros(99), 1e9)).any()


def test_only_columns_with_a_gross_cell_are_cut():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(60, 3))
    assert np.array_equal(np.clip(X, *clip_limits(X)), X)
    X[7, 1] = 1e30
    X[8, 2] = 0.5 * CLIP_QUARTILE_DISTANCES * np.ptp(np.quantile(X[:, 2], [0.25, 0.75]))
    result = np.clip(X, *clip_limits(X))
    low, middle, high = np.quantile(X[:, 1], [0.25, 0.5, 0.75])
    assert result[7, 1] == pytest.approx(middle + FAR_QUARTILE_DISTANCES * (high - low))
    others = np.ones_like(X, dtype=bool)
    others[7, 1] = False
    assert np.array_equal(result[others], X[others])


def test_new_rows_are_cut_as_those_of_the_fit_are():
    """Where a column has the code 9999, rows with it follow another column: the model knows that of new rows, too."""
    rng = np.random.default_rng(1)

    def drawn(n):
        X, coded = rng.normal(size=(n, 3)), rng.random(n) < 0.2
        y = np.where(coded, X[:, 1] > 0, X[:, 2] > 0).astype(int)
        X[coded, 0] = 9999.0
        return X, y, coded

    X, y, coded = drawn(300)
    model, out_of_fold = KernelFitter()(X, np.eye(2)[y])
    new, truth, coded_too = drawn(2000)
    assert np.mean(out_of_fold.argmax(axis=1) == y) > 0.85
    assert np.mean((out_of_fold.argmax(axis=1) == y)[coded]) > 0.85
    assert np.mean((model.predict(new).argmax(axis=1) == truth)[coded_too]) > 0.85


def test_a_far_value_that_was_bought_is_told_of():
    rng = np.random.default_rng(3)
    truth = rng.integers(0, 3, 300)
    x = 2.0 * (truth == 1) + (truth == 2) + 0.5 * rng.normal(size=300)
    good, noise = 4.0 * (truth == 2) + rng.normal(size=300), rng.normal(size=300)
    y = np.where(truth == 2, rng.integers(0, 2, 300), truth)
    notes = {}
    for name, cell in (("clean", good[9]), ("damaged", 9999.0)):
        table = np.column_stack([x, np.where(np.arange(300) == 9, cell, good), noise])
        model = BaseExMLClassifier(budget_ratio=1.0, candidates={"a": 1, "b": 2}, hidden_label=-1).fit(table, y)
        assert "a" in model.selected_
        notes[name] = " ".join(note.message for note in model.notes_)
    assert "candidate a has 1 value far from the others, like 9999" in notes["damaged"]
    assert "far from" not in notes["clean"]


def test_of_many_columns_with_far_values_a_few_are_told_of():
    rng = np.random.default_rng(4)
    table = rng.normal(size=(60, 9))
    table[3, 1:] = 1e6
    columns = {f"c{k}": k for k in range(1, 9)}
    model = BaseExMLClassifier(budget_ratio=1.0, candidates=columns, explore="always").fit(
        table, rng.integers(0, 2, 60)
    )
    told_of = [note for note in model.notes_ if note.code == "far_values" and note.subject]
    assert len(told_of) == MAX_FAR_COLUMNS
    assert f"{8 - MAX_FAR_COLUMNS} further columns have such values" in [note.message for note in model.notes_]
