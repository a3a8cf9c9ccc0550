"""Reading a user's CSV file: numbers, blanks, and one line for everything that is wrong."""

import gzip

import numpy as np
import pandas as pd
import pytest

from exml_sim.cli._tables import parse_na_values, read_table


def table(tmp_path, text, written="utf-8", **how):
    path = tmp_path / "data.csv"
    path.write_bytes(text.encode(written))
    return read_table(path, **how)


def numbers(table, *columns):
    """Return columns as the program reads them, and check that they are numbers."""
    cells = [table.cells_of(column) for column in columns]
    assert all(column.kind == "number" for column in cells)
    return np.column_stack([column.values for column in cells])


@pytest.mark.parametrize("separator", [",", ";", "\t", "|"])
def test_columns(tmp_path, separator):
    text = "a,b,y\n1,2.5,yes\n\n-3e2,NA,no\n".replace(",", separator)
    result = table(tmp_path, text)
    assert result.header == ("a", "b", "y")
    assert result.lines == (2, 4)
    np.testing.assert_array_equal(numbers(result, "a"), [[1], [-300]])
    np.testing.assert_array_equal(numbers(result, "b", "a"), [[2.5, 1], [np.nan, -300]])
    assert result.text("y").tolist() == ["yes", "no"]


def test_numbers_at_once_are_numbers_one_by_one(tmp_path):
    """A column of plain numbers is read at once, unless a number is a word for a blank."""
    text = "a,b\n" + "".join(f" {i / 7} ,{-i}e-3\n" for i in range(50))
    result = table(tmp_path, text)
    cells = [[float(cell) for cell in row] for row in result.cells]
    np.testing.assert_array_equal(numbers(result, "a", "b"), cells)
    marked = table(tmp_path, "a\n1\n-9\n", na_values=parse_na_values("-9"))
    np.testing.assert_array_equal(numbers(marked, "a"), [[1], [np.nan]])


def test_byte_order_mark_and_quotes(tmp_path):
    result = table(tmp_path, '\ufeff"a, the first",y\n"1",x\n')
    assert result.header == ("a, the first", "y")


@pytest.mark.parametrize(
    ("text", "read", "message"),
    [
        ("a,y\n1,x\n", lambda t: t.raw("b"), "has no column 'b': it has 'a', 'y'"),
        ("a,y\n1,\n", lambda t: t.text("y"), "line 2: column 'y' is blank"),
        ("a,y\n1\n", None, "line 2: 1 cell, but the header has 2"),
        ("a,a\n1,2\n", None, "more than one column 'a'"),
        ("a,y\n", None, "has no rows"),
        ("", None, "has no rows"),
        ('a,y\n"1,x\n', None, "cannot read"),
    ],
)
def test_bad_files(tmp_path, text, read, message):
    def attempt():
        result = table(tmp_path, text)
        return read(result) if read else result

    with pytest.raises(ValueError, match=message):
        attempt()


def test_files_that_are_not_text(tmp_path):
    (tmp_path / "x").write_bytes(b"\x00\xff\xfe\x81a,b\n")
    with pytest.raises(ValueError, match="it is not text"):
        read_table(tmp_path / "x")
    with pytest.raises(ValueError, match=r"cannot read .*none: No such file"):
        read_table(tmp_path / "none")
    with pytest.raises(ValueError, match=r"cannot read .*directory"):
        read_table(tmp_path)


def test_compressed_files(tmp_path):
    (tmp_path / "t.csv.gz").write_bytes(gzip.compress(b"a,y\n1,x\n"))
    result = read_table(tmp_path / "t.csv.gz")
    assert (result.header, result.cells) == (("a", "y"), (("1", "x"),))
    whole = (tmp_path / "t.csv.gz").read_bytes()
    for bad in (whole[:-9], b"a,y\n1,x\n"):
        (tmp_path / "bad.gz").write_bytes(bad)
        with pytest.raises(ValueError, match=r"cannot read .*bad.gz: it is no complete .gz file"):
            read_table(tmp_path / "bad.gz")


def test_encodings(tmp_path):
    text = "größe,y\n1,ö\n"
    with pytest.raises(ValueError, match=r"line 1 is not in UTF-8; .* try --encoding latin-1"):
        table(tmp_path, text, "latin-1")
    assert table(tmp_path, text, "latin-1", encoding="latin-1").header == ("größe", "y")
    assert table(tmp_path, text).header == ("größe", "y")
    with pytest.raises(ValueError, match="there is no encoding 'klingon'; try utf-8"):
        table(tmp_path, text, encoding="klingon")
    with pytest.raises(ValueError, match="it is not in ascii"):
        table(tmp_path, text, encoding="ascii")


def test_delimiters(tmp_path):
    assert table(tmp_path, "a:y\n1:x\n", delimiter=":").header == ("a", "y")
    assert table(tmp_path, "a\ty,z\n1\tx,2\n", delimiter="\\t").header == ("a", "y,z")
    with pytest.raises(ValueError, match="a delimiter is one character"):
        table(tmp_path, "a,y\n1,x\n", delimiter="::")
    with pytest.raises(ValueError, match="is another character between the columns"):
        table(tmp_path, "a:y\n1:x\n").text("y")


def test_what_is_blank_can_be_said(tmp_path):
    text = "a,y\n-999,none\n2,NA\n"
    with pytest.raises(ValueError, match="if 'none' is a value, say with --na-values which cells are blank"):
        table(tmp_path, text).text("y")
    result = table(tmp_path, text, na_values=parse_na_values("-999, x"))
    assert result.text("y").tolist() == ["none", "NA"]
    np.testing.assert_array_equal(numbers(result, "a"), [[np.nan], [2]])
    assert "" in parse_na_values("x")


def test_parquet(tmp_path):
    frame = pd.DataFrame({"a": [0.1 + 0.2, np.nan], "n": [3, 4], "y": ["x", None]})
    frame.to_parquet(tmp_path / "t.parquet")
    result = read_table(tmp_path / "t.parquet")
    assert (result.header, result.lines, result.unit) == (("a", "n", "y"), (1, 2), "row")
    np.testing.assert_array_equal(numbers(result, "a", "n"), [[0.1 + 0.2, 3], [np.nan, 4]])
    with pytest.raises(ValueError, match="row 2: column 'y' is blank"):
        result.text("y")
    (tmp_path / "bad.parquet").write_bytes(b"hello")
    with pytest.raises(ValueError, match=r"cannot read .*bad.parquet"):
        read_table(tmp_path / "bad.parquet")
    with pytest.raises(ValueError, match=r"cannot read .*none.parquet: .*"):
        read_table(tmp_path / "none.parquet")
    frame.iloc[:0].to_parquet(tmp_path / "empty.parquet")
    with pytest.raises(ValueError, match="has no rows"):
        read_table(tmp_path / "empty.parquet")
