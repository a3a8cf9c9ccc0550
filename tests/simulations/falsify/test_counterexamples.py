"""Saved counterexamples are regression tests: every one must reproduce as recorded."""

import dataclasses
from pathlib import Path

import pytest

from simulations.falsify.counterexamples import Counterexample, read, replay
from simulations.falsify.search import Limits, search
from simulations.falsify.targets import all_targets, get

FOLDER = Path(__file__).parents[2] / "counterexamples"
FILES = sorted(FOLDER.glob("*.toml"))


@pytest.mark.parametrize("file", FILES, ids=lambda file: file.stem)
def test_a_counterexample_reproduces_as_recorded(file):
    counterexample = read(file)
    assert file.name == counterexample.file_name
    again = replay(counterexample)
    assert again.same, again.describe()
    assert again.reproduced, again.describe()


def test_every_known_error_has_a_counterexample():
    assert {file.name for file in FILES} == {
        f"{target.id.replace('/', '--')}.toml" for target in all_targets() if target.holds is False
    }


def test_a_counterexample_is_written_and_read(tmp_path):
    outcome = search(get("eq-2"), limits=Limits(evaluations=50))
    counterexample = Counterexample.of(outcome)
    file = tmp_path / counterexample.file_name
    file.write_text(counterexample.to_toml(), encoding="utf-8")
    assert read(file) == counterexample


def test_without_a_violation_nothing_is_saved():
    outcome = search(get("eq-2-upper-bound"), limits=Limits(evaluations=20))
    with pytest.raises(ValueError, match="has no violation to save"):
        Counterexample.of(outcome)


def test_a_counterexample_that_no_longer_reproduces_is_reported(tmp_path):
    recorded = read(FOLDER / "eq-2.toml")
    changed = dataclasses.replace(
        recorded, instance=dataclasses.replace(recorded.instance, values=(3, 1, 1, recorded.instance["theta"]))
    )
    again = replay(changed)
    assert not again.reproduced
    assert "no longer violated" in again.describe()
    assert not again.same


@pytest.mark.parametrize(
    ("text", "word"),
    [
        ("format = 2\n", "not a counterexample of format 1"),
        ("a = " + "[" * 100_000, "not a TOML file"),
        ("#" * (10**6 + 1), "more than 1,000,000 bytes"),
        ("\xff", "TOML"),
    ],
)
def test_files_that_are_no_counterexamples(tmp_path, text, word):
    file = tmp_path / "x.toml"
    file.write_text(text, encoding="latin-1")
    with pytest.raises(ValueError, match=word):
        read(file)
