"""Populations: what is accepted, what is refused, and how they show themselves."""

from fractions import Fraction

import numpy as np
import pandas as pd
import pytest

from exml_sim.population import Candidate, Population

X = [[0.0, 1.0], [1.0, 0.0], [2.0, 2.0]]
Y = [-1, 1, 1]


def test_from_arrays():
    population = Population(
        X,
        Y,
        {"a": [1, 2, 3], "b": [[1, 2], [3, 4], [5, 6]]},
        costs={"a": 0.95},
        classes=["u", "v", "h"],
        hidden="h",
    )
    assert population.n_rows == 3
    assert population.names == ("a", "b")
    assert population.costs == (Fraction(19, 20), Fraction(1))
    assert population.augmented("b").tolist() == [[0, 1, 1, 2], [1, 0, 3, 4], [2, 2, 5, 6]]
    assert population.augmented(0).shape == (3, 3)
    assert population.is_hidden.tolist() == [False, False, True]
    text = repr(population)
    assert "3 rows" in text
    assert "a (1 column, cost 0.95)" in text
    assert "labels -1: 1 and +1: 2" in text
    assert "1 row hidden" in text


def test_columns_of_a_frame_are_arrays():
    frame = pd.DataFrame({"x": [0.0, 1.0], "z": [5.0, 6.0], "w": [7.0, 8.0], "label": [1, -1], "kind": [1, 2]})
    candidates = {"zw": frame[["z", "w"]]}
    population = Population(frame[["x"]], frame["label"], candidates, classes=frame["kind"], hidden=[2])
    assert population.X.tolist() == [[0.0], [1.0]]
    assert population.candidates[0].values.tolist() == [[5.0, 7.0], [6.0, 8.0]]
    assert population.is_hidden.tolist() == [False, True]


def test_is_a_frozen_copy():
    values, classes = np.zeros(3), np.array([1, 2, 2])
    population = Population(X, Y, {"a": values}, classes=classes, hidden=1)
    values[0], classes[1] = 9.0, 1
    assert population.candidates[0].values[0, 0] == 0.0
    assert population.classes.tolist() == [1, 2, 2]
    with pytest.raises(ValueError, match="read-only"):
        population.classes[0] = 2
    with pytest.raises(ValueError, match="read-only"):
        population.X[0, 0] = 1.0
    with pytest.raises(AttributeError):
        population.X = np.zeros((3, 2))


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"y": [0, 1, 1]}, r"labels must be -1 or \+1; got 0"),
        ({"y": [1, 1]}, r"labels y must have shape \(3,\)"),
        ({"y": ["a", "b", "c"]}, "y must be real numbers"),
        ({"candidates": {}}, r"at least one candidate, got none \(K = 0\)"),
        ({"candidates": {"a": [1, np.nan, 3]}}, "values of candidate 'a' must be finite, got nan in row 1"),
        ({"X": [[1, np.inf]] * 3}, "observed features X must be finite"),
        ({"candidates": {"a": [1, 2]}}, "candidate 'a' must have 3 rows like X, got 2"),
        ({"costs": {"a": 0}}, "cost of candidate 'a' must be greater than 0, got 0"),
        ({"costs": {"a": -2.5}}, "must be greater than 0, got -2.5"),
        ({"costs": {"b": 1}}, "given for 'b', which is no candidate"),
        ({"candidates": [Candidate("a", Y), Candidate("a", Y)]}, "names must differ, got 'a' twice"),
        ({"candidates": [Candidate("a", Y)], "costs": {"a": 1}}, "carries its own cost"),
        ({"candidates": [Y]}, "must be a list of Candidate objects or a mapping .* got list of someth"),
        ({"candidates": np.ones((3, 2))}, "must be a list of Candidate objects .* got ndarray"),
        ({"costs": [1]}, r"costs must be given by name.* got \[1\]"),
        ({"candidates": {"": Y}}, "name must be a text"),
        ({"X": [], "y": [], "candidates": {"a": []}}, "at least one row"),
        ({"X": [["p"]], "y": [1], "candidates": {"a": [1]}}, "must be real numbers"),
        ({"hidden": 3}, "needs the true `classes`"),
        ({"classes": [1, 2, 2], "hidden": 3}, r"hidden class 3 is not among .*\[1, 2\]"),
        ({"classes": [1, 2]}, r"classes must have shape \(3,\)"),
    ],
)
def test_bad_populations(change, message):
    with pytest.raises(ValueError, match=message):
        Population(**{"X": X, "y": Y, "candidates": {"a": Y}} | change)


def test_candidates_are_found_by_name_or_position():
    population = Population(X, Y, {"a": Y, "b": Y})
    assert population.index("b") == 1
    with pytest.raises(ValueError, match="unknown candidate 'c': allowed are a, b"):
        population.augmented("c")
    with pytest.raises(ValueError, match="candidate 2 does not exist"):
        population.augmented(2)
    for wrong in (1.5, True, None):
        with pytest.raises(ValueError, match=f"candidate {wrong} does not exist"):
            population.index(wrong)
    assert population.index(np.int64(1)) == 1
