"""The command ``exml falsify``."""

import dataclasses
import json
from pathlib import Path

import pytest
from click.testing import CliRunner

from exml_sim.cli.falsify import command
from simulations.falsify import targets
from simulations.falsify.targets import all_targets
from theory import verdicts

COUNTEREXAMPLES = Path(__file__).parents[1] / "counterexamples"


def invoke(*arguments):
    return CliRunner().invoke(command, [str(argument) for argument in arguments])


def test_a_counterexample_is_printed_saved_and_replayed(tmp_path):
    result = invoke("eq-2", "--evaluations", 100, "--out", tmp_path, "--quiet")
    assert result.exit_code == 0, result.output
    assert result.output.startswith("eq-2: VIOLATED")
    again = invoke("--replay", tmp_path / "eq-2.toml")
    assert again.exit_code == 0
    assert again.output.startswith("eq-2: still violated")


def test_a_true_claim_is_printed_with_its_largest_ratio(tmp_path):
    result = invoke("tighter.lemma_4", "--evaluations", 50, "--out", tmp_path, "--quiet")
    assert result.exit_code == 0
    assert result.output.startswith("tighter.lemma_4: no violation")
    assert not list(tmp_path.iterdir())


def test_a_violation_of_what_should_hold_is_exit_code_1(tmp_path, monkeypatch):
    planted = dataclasses.replace(targets.get("eq-2"), holds=True)
    monkeypatch.setattr(targets, "all_targets", lambda: (planted,))
    result = invoke("eq-2", "--evaluations", 100, "--out", tmp_path, "--quiet")
    assert result.exit_code == 1


def test_violations_that_are_not_confirmed_are_undecided_and_exit_code_1(tmp_path, monkeypatch):
    """The confirmation is planted: it never refutes."""
    never = verdicts.undecided("Too few trials.")
    planted = dataclasses.replace(targets.get("a5-count-3"), holds=True, confirm=lambda instance, seed: never)
    monkeypatch.setattr(targets, "all_targets", lambda: (planted,))
    given = ("a5-count-3", "--evaluations", 30, "--out", tmp_path)
    result = invoke(*given, "--quiet")
    assert result.exit_code == 1
    assert "a5-count-3: UNDECIDED" in result.output
    assert "Confirmation: Too few trials." in result.output
    answer = json.loads(invoke(*given, "--json").output)
    assert (answer["violated"], answer["undecided"]) == (False, True)
    assert answer["ratio"] == pytest.approx(2)
    assert answer["instance"] is not None
    assert not list(tmp_path.iterdir())


def test_a_replay_that_no_longer_reproduces_is_exit_code_1(tmp_path):
    text = (COUNTEREXAMPLES / "eq-2.toml").read_text(encoding="utf-8")
    file = tmp_path / "eq-2.toml"
    head = text.split("[instance]")[0]
    file.write_text(head + '[instance]\nh = 3\ng = 1\nlabel = 1\ntheta = "3/5"\n', encoding="utf-8")
    result = invoke("--replay", file)
    assert result.exit_code == 1
    assert "no longer violated" in result.output


def test_json(tmp_path):
    result = invoke("a5-count-3", "--evaluations", 20, "--out", tmp_path, "--json")
    answer = json.loads(result.output)
    assert answer["violated"] is True
    assert answer["ratio"] == pytest.approx(2)
    assert answer["instance"] == {"power": 1, "first": 1}
    assert Path(answer["file"]).exists()
    listed = json.loads(invoke("--list", "--json").output)
    assert [row["id"] for row in listed] == [target.id for target in all_targets()]
    lines = invoke("--list").output.splitlines()
    assert len(lines) == len(listed)
    assert lines[0].split()[:2] == ["eq-1", "false"]
