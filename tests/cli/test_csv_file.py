"""Reading a user's CSV file: numbers, blanks, and one line for everything that is wrong."""

import numpy as np
import pytest

from exml_sim.cli.csv_file import read_table


def table(tmp_path, text, encoding="utf-8"):
    path = tmp_path / "data.csv"
    path.write_bytes(text.encode(encoding))
    return read_table(path)


@pytest.mark.parametrize("separator", [",", ";", "\t"])
def test_columns(tmp_path, separator):
    text = "a,b,y\n1,2.5,yes\n\n-3e2,NA,no\n".replace(",", separator)
    found = table(tmp_path, text)
    assert found.header == ("a", "b", "y")
    assert found.lines == (2, 4)
    np.testing.assert_array_equal(found.numbers(["a"]), [[1], [-300]])
    np.testing.assert_array_equal(found.numbers(["b", "a"], blanks=True), [[2.5, 1], [np.nan, -300]])
    assert found.text("y").tolist() == ["yes", "no"]


def test_byte_order_mark_and_quotes(tmp_path):
    found = table(tmp_path, '\ufeff"a, the first",y\n"1",x\n')
    assert found.header == ("a, the first", "y")


@pytest.mark.parametrize(
    ("text", "read", "message"),
    [
        ("a,y\n1,x\n", lambda t: t.numbers(["b"]), "has no column 'b': it has 'a', 'y'"),
        ("a,y\n1,x\ntwo,x\n", lambda t: t.numbers(["a"]), "line 3: column 'a' must be a number, got 'two'"),
        ("a,y\ninf,x\n", lambda t: t.numbers(["a"]), "must be a number, got 'inf'"),
        ("a,y\n,x\n", lambda t: t.numbers(["a"]), "line 2: column 'a' is blank"),
        ("a,y\n1,\n", lambda t: t.text("y"), "line 2: column 'y' is blank"),
        ("a,y\n1\n", None, "line 2: 1 cells, but the header has 2"),
        ("a,a\n1,2\n", None, "more than one column 'a'"),
        ("a,y\n", None, "has no rows"),
        ("", None, "has no rows"),
        ('a,y\n"1,x\n', None, "cannot read"),
    ],
)
def test_bad_files(tmp_path, text, read, message):
    def attempt():
        found = table(tmp_path, text)
        return read(found) if read else found

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
