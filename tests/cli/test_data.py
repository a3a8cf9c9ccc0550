"""``exml data``: a table to try things on."""

import json

import numpy as np

from exml_sim.cli._tables import read_table
from exml_sim.datasets import make_synthetic
from tests.cli.test_main import call as run


def test_synthetic_is_the_generator(tmp_path, capsys):
    path = tmp_path / "s.csv"
    code, out, _ = run(capsys, "data", "--per-class", "20", "--seed", "3", "--out", str(path))
    assert code == 0
    assert "60 rows" in out
    table, rows = read_table(path), make_synthetic(20, rng=3)
    columns = [table.cells_of(name).values for name in ("x1", "x2", "a90")]
    np.testing.assert_array_equal(np.column_stack(columns), np.hstack([rows.X, rows.candidates[-1].values]))
    np.testing.assert_array_equal(table.text("y") == "two", rows.y > 0)
    np.testing.assert_array_equal(table.text("class") == "hidden", rows.classes == 3)
    other = str(tmp_path / "t.csv")
    data = json.loads(run(capsys, "data", "--per-class", "20", "--out", other, "--json")[1])
    assert data == {"file": other, "rows": 60, "candidates": [f"a{angle}" for angle in range(10, 91, 10)]}
    code, _, err = run(capsys, "data", "--out", str(path))
    assert code == 2
    assert "exists already" in err
    assert run(capsys, "data", "--per-class", "20", "--out", str(path), "--force")[0] == 0
    assert path.read_bytes() == (tmp_path / "t.csv").read_bytes()
