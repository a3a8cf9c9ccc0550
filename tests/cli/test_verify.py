"""Command `exml verify`: outputs, exit codes, resume, bad input."""

from __future__ import annotations

import dataclasses
import json

import pytest
from click.testing import CliRunner

from exml_sim.cli import cli, main
from simulations.verification import _cells as cells
from simulations.verification import run
from tests.cli.test_claims import registry_of
from tests.simulations.verification.test_run import SMALL
from theory.claims import get


@pytest.fixture(autouse=True)
def small(monkeypatch):
    """The quick depth with the fewest trials that decide."""
    monkeypatch.setitem(cells.DEPTHS, "quick", SMALL)


def call(out, *arguments):
    return CliRunner().invoke(cli, ["verify", "--out", str(out), "--n-jobs", "1", *arguments])


def timeless(out):
    document = json.loads((out / "verify.json").read_text(encoding="utf-8"))
    assert document.pop("started")
    seconds = document.pop("seconds")
    assert 0 <= seconds["claims"] <= seconds["total"] + 0.11  # rounded to tenths
    return document


def test_files_table_and_exit_code(tmp_path):
    done = call(tmp_path, "a5-count-1", "lemma-3", "--quiet")
    assert done.exit_code == 0, done.output
    names = {file.name for file in tmp_path.iterdir()}
    assert names >= {"verify.json", "verify.txt", "store"}
    assert "Nothing that should hold is refuted." in done.output
    lines = done.output.splitlines()
    assert lines[0] == "Nothing that should hold is refuted."
    header = next(i for i, line in enumerate(lines) if line.split() == ["claim", "verdict", "evidence", "slack"])
    assert lines[header + 1].startswith("lemma-3 ")
    assert "4 of 4 cells decided" in lines[header + 1]
    document = timeless(tmp_path)
    assert document["schema"] == 5
    assert document["summary"]["claims"] == 2
    assert document["alpha"] == {"per_claim": 1e-6, "claims": 1, "total": 1e-6}
    assert {"exml_sim", "python", "numpy"} <= set(document["software"])


def test_json_on_standard_output_is_the_document(tmp_path):
    done = call(tmp_path, "a5-count-1", "--json")
    assert json.loads(done.output) == json.loads((tmp_path / "verify.json").read_text(encoding="utf-8"))


def test_a_planted_wrong_claim_exits_with_1(tmp_path, monkeypatch):
    right = get("a5-series-3")
    monkeypatch.setattr(run, "read_own", lambda: registry_of(dataclasses.replace(right, reading=right.mutant)))
    done = call(tmp_path)
    assert done.exit_code == 1
    assert "a5-series-3: " in done.output
    assert "1 problem." in done.output
    assert timeless(tmp_path)["summary"]["as_recorded"] == 0


def test_an_interrupted_run_exits_with_130_and_continues(tmp_path, monkeypatch, capsys):
    claims = ("a5-count-1", "a5-series-3", "lemma-3")
    assert call(tmp_path / "whole", *claims).exit_code == 0
    right = run.run_checks

    def pressed(claim):
        if claim.id == "lemma-3":
            return right(claim)
        raise KeyboardInterrupt

    monkeypatch.setattr(run, "run_checks", pressed)
    with pytest.raises(SystemExit) as stop:
        main(["verify", *claims, "--out", str(tmp_path / "part"), "--n-jobs", "1"])
    assert stop.value.code == 130
    assert "continues where it stopped" in capsys.readouterr().err
    assert not (tmp_path / "part" / "verify.json").exists()
    monkeypatch.setattr(run, "run_checks", right)
    assert call(tmp_path / "part", *claims).exit_code == 0
    assert timeless(tmp_path / "part") == timeless(tmp_path / "whole")
