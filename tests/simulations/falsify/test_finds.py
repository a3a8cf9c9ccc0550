"""Saved finds are regression tests: every one must stand, as recorded."""

import dataclasses
from pathlib import Path

import pytest

from simulations.falsify.finds import Find, read, replay
from simulations.falsify.search import Limits, hunt
from simulations.falsify.targets import all_targets, get

FOLDER = Path(__file__).parents[2] / "hunts"
FILES = sorted(FOLDER.glob("*.toml"))


@pytest.mark.parametrize("file", FILES, ids=lambda file: file.stem)
def test_a_find_stands_as_it_was_recorded(file):
    find = read(file)
    assert file.name == find.file_name
    again = replay(find)
    assert again.same, again.sentence()
    assert again.stands, again.sentence()


def test_every_known_error_has_a_find():
    assert {file.name for file in FILES} == {
        f"{target.id.replace('/', '--')}.toml" for target in all_targets() if target.holds is False
    }


def test_a_find_is_written_and_read(tmp_path):
    outcome = hunt(get("eq-2"), limits=Limits(evaluations=50))
    find = Find.of(outcome)
    file = tmp_path / find.file_name
    file.write_text(find.to_toml(), encoding="utf-8")
    assert read(file) == find


def test_what_was_not_found_is_not_saved():
    outcome = hunt(get("eq-2-upper-bound"), limits=Limits(evaluations=20))
    with pytest.raises(ValueError, match="found nothing that could be saved"):
        Find.of(outcome)


def test_a_find_that_stands_no_more_is_told(tmp_path):
    find = read(FOLDER / "eq-2.toml")
    mended = dataclasses.replace(
        find, instance=dataclasses.replace(find.instance, values=(3, 1, 1, find.instance["theta"]))
    )
    again = replay(mended)
    assert not again.stands
    assert "not violated any more" in again.sentence()
    assert not again.same


@pytest.mark.parametrize(
    ("text", "message"),
    [("not toml", "is not a TOML file"), ("format = 2\n", "is not a find of format 1")],
)
def test_other_files_are_refused(tmp_path, text, message):
    file = tmp_path / "x.toml"
    file.write_text(text, encoding="utf-8")
    with pytest.raises(ValueError, match=message):
        read(file)


def test_a_find_that_was_changed_is_refused_unless_it_has_no_seal(tmp_path):
    text = (FOLDER / "eq-2.toml").read_text(encoding="utf-8")
    changed = text.replace("evaluations = ", "evaluations = 1")
    file = tmp_path / "eq-2.toml"
    file.write_text(changed, encoding="utf-8")
    with pytest.raises(ValueError, match="does not match its seal"):
        read(file)
    file.write_text(changed.partition("\n")[2], encoding="utf-8")
    assert read(file).evaluations != read(FOLDER / "eq-2.toml").evaluations


@pytest.mark.parametrize(
    ("text", "word"),
    [("a = " + "[" * 100_000, "not a TOML file"), ("#" * (10**6 + 1), "more than 1,000,000 bytes"), ("\xff", "TOML")],
)
def test_files_that_are_no_finds(tmp_path, text, word):
    file = tmp_path / "x.toml"
    file.write_text(text, encoding="latin-1")
    with pytest.raises(ValueError, match=word):
        read(file)
