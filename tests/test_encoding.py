"""Columns of any type become numbers: what is learned is frozen, unseen cells are harmless, wrong ones are one line."""

import datetime as dt

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from exml_sim._internal.columns import (
    MAX_LEVELS,
    CellError,
    ColumnEncoding,
    RawTable,
    describe_encodings,
    encode,
    fill_missing,
    fit_column,
    fit_encodings,
    fit_fills,
    read_cells,
    read_raw,
)


def slow_encode(encoding: ColumnEncoding, cells: list[str | None]) -> list[list[float]]:
    """Encode texts of a category cell by cell, as the documentation says it."""
    rows = []
    for cell in cells:
        row = [1.0 if cell == level else 0.0 for level in encoding.levels]
        if encoding.counts:
            row.append(1.0 if cell in encoding.counts and cell not in encoding.levels else 0.0)
            row.append(float(np.log1p(encoding.counts.get(cell, 0) if cell is not None else 0)))
        rows.append(row + ([1.0 if cell is None else 0.0] if encoding.has_missing else []))
    return rows


@settings(derandomize=True, max_examples=60, deadline=None)
@given(st.lists(st.one_of(st.none(), st.sampled_from("abcdefghijklmnopqrstuvw")), min_size=40, max_size=120))
def test_categories_agree_with_a_plain_loop(cells):
    levels = {cell for cell in cells if cell is not None}
    if len(levels) < 3:
        return
    encoding = fit_column("c", pd.Categorical(cells))
    assert encoding.column_type == "category"
    assert len(encoding.levels) <= MAX_LEVELS
    new = [*cells, "unseen", None]
    np.testing.assert_allclose(encoding.encode(np.array(new, dtype=object)), slow_encode(encoding, new))
    assert encoding.encode(cells).shape[1] == len(encoding.feature_names)
    assert encoding.find_unknown(np.array(new, dtype=object)).sum() == 1


def test_numbers_stay_as_they_are_and_missing_ones_have_a_column():
    column = np.array([0.1 + 0.2, -0.0, 1e-300])
    encoding = fit_column("x", column)
    assert encoding.is_number
    assert encoding.encode(column).tobytes() == column.tobytes()
    encoding = fit_column("x", [1.0, np.nan, 3.0, 100.0])
    assert encoding.feature_names == ("x", "x is missing")
    assert encoding.encode([np.nan, 5.0]).tolist() == [[3.0, 1.0], [5.0, 0.0]]
    whole = fit_column("x", [1.0, 2.0, 9.0])
    assert whole.encode([np.nan]).tolist() == [[2.0]]


@pytest.mark.parametrize(
    ("column", "kind", "first"),
    [
        ([True, False, True], "boolean", [1.0]),
        (np.array([True, False]), "boolean", [1.0]),
        (["yes", "NO", "Yes"], "boolean", [1.0]),
        (["1.5", "2", "-3e1"], "number", [1.5]),
        (["red", "blue", "red"], "pair", [1.0]),
        (["b", "a", "c"] * 5, "category", [0.0, 1.0, 0.0]),
        (pd.Categorical([7, 8, 9] * 5), "category", [1.0, 0.0, 0.0]),
        (pd.Categorical(["low", "high", "low"], ["low", "middle", "high"], ordered=True), "order", [0.0]),
        (pd.Series([1, None, 3], dtype="Int64"), "number", [1.0, 0.0]),
        (pd.Series(["x", None, "y", "z"]), "category", [1.0, 0.0, 0.0, 0.0]),
        (pd.to_datetime(["1970-01-02", "1970-01-03"]), "date", [1.0, 2.0, 4.0]),
        ([dt.date(1970, 1, 2), dt.date(1970, 1, 3)], "date", [1.0, 2.0, 4.0]),
        (["1970-01-02", "1970-01-03T12:00"], "date", [1.0, 2.0, 4.0, 0.0]),
        (["02.01.1970", "13.01.1970"], "date", [1.0, 2.0, 4.0]),
        (["1/2/1970", "1/13/1970"], "date", [1.0, 2.0, 4.0]),
        (["2/1/1970", "13/1/1970"], "date", [1.0, 2.0, 4.0]),
    ],
)
def test_types(column, kind, first):
    encoding = fit_column("c", column)
    assert encoding.column_type == kind
    assert encoding.encode(column)[0].tolist() == first
    assert len(encoding.feature_names) == len(first)


def test_other_makers_give_the_same_columns():
    polars, pyarrow = pytest.importorskip("polars"), pytest.importorskip("pyarrow")
    frame = pd.DataFrame(
        {
            "n": [1.5, None, 2.0, 4.0],
            "t": ["a", "b", None, "c"],
            "b": [True, False, True, True],
            "d": pd.to_datetime(["2024-02-29", "2025-01-01", "2024-12-31", None]),
        }
    )
    encodings = fit_encodings(read_raw(frame))
    wanted = encode(encodings, read_raw(frame))
    assert wanted.shape == (4, 2 + 4 + 1 + 4)
    for other in (
        polars.from_pandas(frame),
        pyarrow.Table.from_pandas(frame),
        polars.from_pandas(frame).cast({"t": polars.Categorical}),
    ):
        np.testing.assert_array_equal(encode(encodings, read_raw(other)), wanted)
        np.testing.assert_array_equal(encode(fit_encodings(read_raw(other)), read_raw(other)), wanted)


def test_unseen_cells_are_harmless():
    assert fit_column("c", ["a", "b", "a"]).encode(["c"]).tolist() == [[0.5]]
    order = pd.Categorical(["low", "high", "high"], ["low", "high"], ordered=True)
    assert fit_column("c", order).encode(["other"]).tolist() == [[1.0]]
    assert fit_column("c", ["a", "b", "c"]).encode(np.array(["d", None], dtype=object)).tolist() == [[0.0] * 3] * 2
    assert fit_column("c", pd.Categorical([1, 2, 3])).encode([2.0, 9.0]).tolist() == [[0, 1, 0], [0, 0, 0]]


def test_many_levels_share_columns():
    rng = np.random.default_rng(0)
    cells = [f"town {i}" for i in rng.zipf(1.3, 2000) % 300]
    encoding = fit_column("town", cells)
    assert len(encoding.feature_names) <= MAX_LEVELS + 2
    table = encoding.encode(cells)
    own, other = table[:, : len(encoding.levels)], table[:, -2]
    np.testing.assert_array_equal(own.sum(axis=1) + other, np.ones(2000))
    # No column is nearly constant: its standardised values would dwarf those of numbers.
    assert own.mean(axis=0).min() >= 0.02


@pytest.mark.parametrize(
    ("column", "message"),
    [
        ([f"note {i}" for i in range(30)], "30 different texts in 30 rows: free text has no levels"),
        (["3/4/2025", "5/6/2025"], "day/month or month/day: either is possible; write 2025-12-31"),
        (["13/4/2025", "5/16/2025"], "day/month or month/day: both occur"),
        (["13/04/24 10:30", "14/04/24 9:05"], "unknown or ambiguous format, like '13/04/24 10:30': write 2025-12-31"),
        (["2024-04-13", "13-04-2024", "13.04.24"], "unknown or ambiguous format, like '13-04-2024'"),
        (["1", "2", "three"], "row 2: column 'c' must be a number, got 'three'"),
        (["1,5", "2", "3"], "row 0: .*write a decimal point, not a comma"),
        (["2024-01-01", "2024-02-30"], "row 1: column 'c' must be a date, got '2024-02-30'"),
        ([1.0, 1e39], r"row 1: .* at most 1e\+38"),
        ([1, "a"], "row 0: column 'c' must hold all texts or all numbers, got 1 among texts"),
        ([None, None], "has no value in any row: leave it out"),
        ([[1], [2, 3]], "must"),
    ],
)
def test_what_no_column_can_hold(column, message):
    with pytest.raises(ValueError, match=message):
        fit_column("c", np.array(column, dtype=object) if isinstance(column[0], list | int) else column)


def test_later_cells_of_another_type():
    with pytest.raises(CellError, match="row 0: column 'c' must be a number, got 'x'"):
        fit_column("c", [1.0, 2.0]).encode(["x"])
    # A cell that is no boolean or date is encoded as a missing cell of its column, whether training had some or not.
    days = ["2024-01-01", "2024-01-03", "2024-01-08"]
    for column, later in ((["yes", "no", "yes"], "maybe"), (days, "soon"), (days, "2024-02-30")):
        for extra in ([], [None]):
            encoding = fit_column("c", np.array(column + extra, dtype=object))
            cells = np.array([column[0], later, None], dtype=object)
            encoded = encoding.encode(cells)
            np.testing.assert_array_equal(encoded[1], encoded[2])
            assert encoding.find_unknown(cells).tolist() == [False, True, False]
            with pytest.raises(CellError, match=f"row 1: column 'c' must be .*, got {later!r}; leave it blank"):
                encoding.check_known(cells)


def test_the_description_is_one_line():
    frame = pd.DataFrame({"n": [1.0, 2, 3], "t": ["a", "b", "c"], "d": ["2024-01-01", "2024-01-02", None]})
    said = describe_encodings(fit_encodings(read_raw(frame)))
    assert said == "t: 3 levels in 3 columns; d: date as day, day of year, weekday, missing cells have a column"


def test_raw_tables():
    table = read_raw(np.array([[1, 2], [3, 4]]))
    assert (table.columns, len(table), table.is_named) == (("column 0", "column 1"), 2, False)
    cleared = RawTable(("a",), (read_cells(["x", "y"], "a"),)).clear_rows(np.array([True, False]))
    assert cleared["a"].values.tolist() == [None, "y"]
    for bad in (np.zeros((0, 2)), np.zeros((2, 0)), np.zeros((1, 1, 1)), 5.0, np.array([1j])):
        with pytest.raises(ValueError, match="X must be"):
            read_raw(bad)


def test_fills_of_encoded_rows_are_those_of_an_encoding_of_raw_cells():
    """Training fills encoded rows of a purchase later, prediction encodes raw cells: both must agree."""
    days = pd.to_datetime(["2024-03-01 06:00", None, "2024-07-09 00:00", "2025-01-31 18:30", None])
    frame = pd.DataFrame(
        {
            "number": [3.0, np.nan, 8.0, 5.0, np.nan],
            "truth": pd.array([True, None, False, True, True], dtype="boolean"),
            "date": days,
            "size": pd.Categorical(["S", "L", None, "M", "L"], ["S", "M", "L"], ordered=True),
            "pair": ["u", "v", None, "u", "v"],
            "category": ["u", "v", "w", None, "u"],
            "full": [1.0, 9.0, 4.0, 2.0, 3.0],
        }
    )
    raw, bought = read_raw(frame), np.array([0, 1, 2, 3])
    before = fit_encodings(raw)
    blank = fit_fills(before, np.empty((0, encode(before, raw).shape[1])))
    assert [encoding.fill for encoding in blank] == [0.0, 0.0, 0.0, 0.0, 0.5, 0.0, 0.0]
    table = encode(blank, raw)
    after = fit_fills(blank, table[bought])
    middle = np.median([(days[row] - pd.Timestamp(0)) / pd.Timedelta(days=1) for row in (0, 2, 3)])
    assert [encoding.fill for encoding in after] == [5.0, 1.0, middle, 1.0, 0.5, 0.0, 3.0]
    np.testing.assert_array_equal(fill_missing(after, table), encode(after, raw))
    assert not np.array_equal(fill_missing(after, table), table)
