"""Symmetric rows are merged: the same distributions from fewer outcomes, and larger cells."""

from __future__ import annotations

from collections.abc import Sequence
from math import prod

import numpy as np
import pytest

from exml_sim.engine import Study
from exml_sim.engine.modes import _exact as exact
from exml_sim.engine.modes._exact import bench_of, enumerate_cell, enumerate_outcomes
from exml_sim.engine.modes._outcomes import drawn, least_states, symmetric_classes

#: Rows 0 and 1 are opposite for the first arm and alike for the second; row 2 is orthogonal to both for the first.
VALUES = [[1, -1, 0], [0.5, 0.5, 0.2]]


def study(**sampling: str) -> Study:
    return Study(
        pools=[{"kind": "finite_support", "values": VALUES, "y": [1, 1, 1], "copies": [10, 10, 5]}],
        scores=[{"ball": 0.3}],
        strategies=["uniform_allocation", "median_elimination", "successive_rejects"],
        budgets={"absolute": [12]},
        sampling=sampling,
        mode="exact",
    )


def list_distributions(entry: Study) -> list[np.ndarray]:
    return [np.array(enumerate_cell(entry, cell).selected) for cell in entry.cells()]


@pytest.mark.parametrize(
    "sampling", [{}, {"replacement": "never"}, {"rows": "independent"}, {"rows": "independent", "replacement": "never"}]
)
def test_merging_changes_no_distribution(sampling: dict[str, str], monkeypatch: pytest.MonkeyPatch) -> None:
    result = study(**sampling)
    merged = list_distributions(result)
    monkeypatch.setattr(exact, "symmetric_classes", lambda grams, labels, sizes: np.arange(len(labels)))
    for distribution, plain in zip(merged, list_distributions(result), strict=True):
        np.testing.assert_allclose(distribution, plain, rtol=1e-10)
        assert distribution.sum() == pytest.approx(1.0)


def test_merging_rows_that_are_not_symmetric_is_caught(monkeypatch: pytest.MonkeyPatch) -> None:
    result = study()
    right = list_distributions(result)[0]
    monkeypatch.setattr(exact, "symmetric_classes", lambda grams, labels, sizes: np.zeros(len(labels), dtype=np.int64))
    assert np.abs(list_distributions(result)[0] - right).max() > 1e-3


def test_fewer_outcomes_with_the_same_total() -> None:
    entry = study()
    bench = bench_of(entry.pool(entry.cells()[0]))
    assert bench.classes(0).tolist() in ([0, 0, 1], [0, 1, 1])
    result = enumerate_outcomes(bench, {(0, 0): [0, 6]})
    assert result.probability.size == least_states(bench.classes(0), 6) == 16
    assert result.probability.sum() == pytest.approx(1.0)


def test_classes_are_those_of_exchanges() -> None:
    labels, sizes = np.ones(4, dtype=np.int64), np.ones(4, dtype=np.int64)
    assert symmetric_classes([np.eye(4)], labels, sizes).tolist() == [0, 0, 0, 0]
    assert symmetric_classes([np.eye(4)], np.array([1, -1, 1, -1]), sizes).tolist() == [0, 1, 0, 1]
    assert symmetric_classes([np.eye(4)], labels, np.array([1, 1, 2, 1])).tolist() == [0, 0, 1, 0]
    assert symmetric_classes([np.eye(4), np.diag([1.0, 1.0, 1.0, 2.0])], labels, sizes).tolist() == [0, 0, 0, 1]
    # Equal sums of lines are not enough.
    path = np.eye(4) + 0.3 * (np.eye(4, k=1) + np.eye(4, k=-1) + np.eye(4, k=3) + np.eye(4, k=-3))
    assert len(set(symmetric_classes([path], labels, sizes).tolist())) > 1


def test_many_symmetric_rows_have_few_outcomes() -> None:
    m, n = 40, 12
    states, mass = drawn(
        np.zeros((1, 1, m), dtype=np.int64),
        np.ones(1),
        n,
        np.zeros(m, dtype=np.int64),
        lambda counts: np.full(counts.shape, 1.0 / m),
        lambda size: None,
    )
    # Partitions of 12, among them that into ones: all rows different.
    assert len(mass) == least_states(np.zeros(m, dtype=np.int64), n) == 77
    assert mass.sum() == pytest.approx(1.0)
    distinct = mass[states[:, -1].max(axis=1) == 1]
    assert distinct == pytest.approx(prod(1.0 - i / m for i in range(n)))


@pytest.mark.parametrize(("classes", "rows"), [(range(4), 226), (range(8), 22), (range(80), 4), ([0] * 300, 64)])
def test_the_border_that_the_guide_states(classes: Sequence[int], rows: int) -> None:
    given = np.array(classes, dtype=np.int64)
    assert least_states(given, rows) <= exact.MAX_OUTCOMES < least_states(given, rows + 1)
