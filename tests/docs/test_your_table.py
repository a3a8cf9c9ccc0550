"""docs/your_table.md does what it says: its commands run, its output is the output, its Python runs."""

import csv
import doctest
import re
import shlex
from importlib import import_module
from pathlib import Path

import numpy as np
import pytest

from exml_sim.cli import main
from tests.method.tasks import synthetic

GUIDE = (Path(__file__).parents[2] / "docs" / "your_table.md").read_text(encoding="utf-8")


def blocks(kind):
    return re.findall(rf"```{kind}\n(.*?)```", GUIDE, re.DOTALL)


def test_commands_and_their_output(tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    outputs = []
    for line in blocks("sh")[0].splitlines():
        with pytest.raises(SystemExit) as stop:
            main(shlex.split(line)[1:])
        assert stop.value.code == 0
        outputs.append(capsys.readouterr().out)
    for excerpt, output in zip(blocks("text"), outputs[1:3], strict=True):
        for line in excerpt.splitlines():
            assert line in output.splitlines()
    with open("predictions.csv") as predicted, open("new.csv") as truth:
        pairs = zip(csv.DictReader(predicted), csv.DictReader(truth), strict=True)
        assert np.mean([one["prediction"] == other["class"] for one, other in pairs]) > 0.8


def test_python(capsys):
    rows, oracle, test, _, values = synthetic(per_class=60, angles=[30, 90])
    names = {"X": rows.X, "y": rows.y, "X_new": test.X, "ct_new": values["90°"], "blood_new": values["30°"]}
    names |= {
        "measure_ct": lambda rows: oracle.query("90°", rows),
        "measure_blood": lambda rows: oracle.query("30°", rows),
    }
    exec(blocks("python")[0], names)
    assert "of the budget of 500" in capsys.readouterr().out


@pytest.mark.parametrize("module", ["exml_sim.oracle", "exml_sim.method.estimator", "exml_sim.datasets.graded"])
def test_docstrings(module):
    found = doctest.testmod(import_module(module))
    assert found.attempted > 0
    assert found.failed == 0
