"""docs/your_table.md does what it says: its commands run, its output is the output, its Python runs."""

import csv
import doctest
import re
import shlex
from importlib import import_module
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from exml_sim.cli import main
from tests.classifier.tasks import synthetic

GUIDE = (Path(__file__).parents[2] / "docs" / "your_table.md").read_text(encoding="utf-8")


def blocks(kind):
    return re.findall(rf"```{kind}\n(.*?)```", GUIDE, re.DOTALL)


def test_commands_and_their_output(tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    output = []
    for kind, text in re.findall(r"```(sh|text)\n(.*?)```", GUIDE, re.DOTALL):
        if kind == "text":
            assert [line for line in text.splitlines() if line not in output] == []
            continue
        output = []
        for line in text.splitlines():
            with pytest.raises(SystemExit) as stop:
                main(shlex.split(line)[1:])
            assert stop.value.code == 0
            output += capsys.readouterr().out.splitlines()
        for sheet in tmp_path.glob("*/to_measure.csv"):
            output += sheet.read_text(encoding="utf-8").splitlines()
    with open("predictions.csv") as predicted, open("new.csv") as truth:
        pairs = zip(csv.DictReader(predicted), csv.DictReader(truth), strict=True)
        assert np.mean([one["prediction"] == other["class"] for one, other in pairs]) > 0.8


def test_python(tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    rows, oracle, test, _, values = synthetic(per_class=60, angles=[30, 80, 90])
    names = {"X": rows.X, "y": rows.y, "X_new": test.X, "ct_new": values["90°"], "blood_new": values["30°"]}
    names["measure"] = lambda name, places: oracle.query("90°" if name == "ct" else "30°", places)
    names |= {
        "measure_ct": lambda places: oracle.query("90°", places),
        "measure_blood": lambda places: oracle.query("30°", places),
    }
    blood, one, two = (c.values[:, 0] for c in rows.candidates)
    names["table"] = pd.DataFrame({"x": rows.X[:, 0], "ct1": one, "ct2": two, "b": blood, "z": rows.X[:, 1]})
    for block in blocks("python"):
        exec(block, names)
    out = capsys.readouterr().out
    assert "of the budget of 300" in out
    assert "of the budget of 500" in out
    assert names["run"].model.ledger_.pulls.sum() == len(names["run"].journal.values)
    assert len(names["scores"]) == 3
    assert np.isfinite(names["scores"]).all()


@pytest.mark.parametrize(
    "module",
    ["exml_sim.oracle", "exml_sim.classifier.estimator", "exml_sim.classifier.acquisition", "exml_sim.datasets.graded"],
)
def test_docstrings(module):
    found = doctest.testmod(import_module(module))
    assert found.attempted > 0
    assert found.failed == 0
