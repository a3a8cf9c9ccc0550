"""Grades are kept for the sources that they follow from, and for no others."""

from __future__ import annotations

import dataclasses
import json
import shutil
from pathlib import Path

import pytest

from theory.claims import all_claims
from theory.proofs import kept_grades
from theory.proofs.grades import Graded
from theory.proofs.kept_grades import grades_of, keep, sealed

FIRST = all_claims()[0].id


def all_grades() -> dict[str, Graded]:
    return grades_of(all_claims())


@pytest.fixture
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A copy of the sources, which nobody has graded yet."""
    copy = tmp_path / "theory"
    shutil.copytree(kept_grades.HOME, copy, ignore=shutil.ignore_patterns("__pycache__"))
    monkeypatch.setattr(kept_grades, "HOME", copy)
    # A copy that a test changes stands for a process that has imported it.
    monkeypatch.setattr(kept_grades, "_as_imported", lambda file: True)
    return copy


@pytest.fixture
def asked(home: Path, monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """The claims that were graded, by a grading that takes no time."""
    ids: list[str] = []

    def quick(claim) -> Graded:
        ids.append(claim.id)
        return Graded("held against evidence", f"number {len(ids)}", "proved by machine" if claim.repaired else None)

    monkeypatch.setattr(kept_grades, "grade", quick)
    return ids


def kept(home: Path) -> list[Path]:
    return sorted((home / "__pycache__").glob("*"))


def test_sources_that_changed_since_they_were_imported_keep_nothing(asked: list[str], monkeypatch) -> None:
    """A file that was saved, or pulled, after the import: what was graded is the old code."""
    monkeypatch.setattr(kept_grades, "_as_imported", lambda file: file == kept_grades._IMPORTED)
    all_grades()
    all_grades()
    assert len(asked) == 2 * len(all_claims())


def test_sources_that_change_while_they_are_graded_keep_nothing(home: Path, asked: list[str], monkeypatch) -> None:
    quick = kept_grades.grade

    def changing(claim) -> Graded:
        (home / "late.py").write_text("")
        return quick(claim)

    monkeypatch.setattr(kept_grades, "grade", changing)
    all_grades()
    all_grades()
    assert len(asked) == 2 * len(all_claims())


def test_grades_are_found_once_and_then_read(asked: list[str]) -> None:
    found = all_grades()
    assert list(found) == asked == [claim.id for claim in all_claims()]
    assert all_grades() == found
    assert len(asked) == len(found)


@pytest.mark.parametrize("change", ["a line more", "a file more", "a file less", "another name", "another version"])
def test_other_sources_are_graded_again(home: Path, asked: list[str], monkeypatch, change: str) -> None:
    all_grades()
    if change == "a line more":
        file = home / "claims" / "claim.py"
        file.write_text(file.read_text(encoding="utf-8") + "\n", encoding="utf-8")
    elif change == "a file more":
        (home / "proofs" / "new.py").touch()
    elif change == "a file less":
        (home / "versions.py").unlink()
    elif change == "another name":
        (home / "versions.py").rename(home / "verses.py")
    else:
        monkeypatch.setattr(kept_grades.numpy, "__version__", "0.1")
    all_grades()
    assert len(asked) == 2 * len(all_claims())
    assert len(kept(home)) == 2


def damaged(change, seal=sealed):
    """The text of a file of grades after a change of its table, with the right digest unless another seal is given."""

    def write(text: str) -> str:
        table = json.loads(text.partition("\n")[2])
        change(table)
        return seal(json.dumps(table))

    return write


def another_grade(table) -> None:
    assert table[FIRST]["grade"] == "held against evidence"
    table[FIRST]["grade"] = "proved by machine"


BAD = {
    "half a file": lambda text: text[: len(text) // 2],
    "far too deep": lambda text: sealed("[" * 100_000),
    "nothing": lambda text: "",
    "a list": lambda text: sealed("[]"),
    "no digest": lambda text: text.partition("\n")[2],
    "another grade": lambda text: text[:65] + damaged(another_grade, str)(text),
    "a claim less": damaged(lambda table: table.pop(FIRST)),
    "a claim more": damaged(lambda table: table.update(other=table[FIRST])),
    "no such grade": damaged(lambda table: table[FIRST].update(grade="certain")),
    "no such corrected grade": damaged(lambda table: table[FIRST].update(corrected="certain")),
    "no such field": damaged(lambda table: table[FIRST].update(colour="red")),
}


@pytest.mark.parametrize("name", BAD)
def test_a_damaged_file_is_found_again(home: Path, asked: list[str], name: str) -> None:
    found = all_grades()
    (file,) = kept(home)
    whole = file.read_text(encoding="utf-8")
    file.write_text(BAD[name](whole), encoding="utf-8")
    assert list(all_grades()) == list(found)
    assert len(asked) == 2 * len(found)
    assert all_grades().keys() == found.keys()
    assert len(asked) == 2 * len(found)


def test_a_place_that_cannot_be_written_to_keeps_nothing(home: Path, asked: list[str]) -> None:
    (home / "__pycache__").write_text("in the way", encoding="utf-8")
    assert list(all_grades()) == asked
    assert (home / "__pycache__").read_text(encoding="utf-8") == "in the way"


def test_few_files_stay(home: Path, asked: list[str]) -> None:
    for number in range(8):
        (home / "new.py").write_text(f"x = {number}", encoding="utf-8")
        all_grades()
    assert len(kept(home)) == 4
    before = len(asked)
    all_grades()
    assert len(asked) == before


def test_what_was_found_elsewhere_can_be_kept(home: Path, asked: list[str]) -> None:
    given = {claim.id: Graded("held against evidence", "because") for claim in all_claims()}
    keep(given)
    assert all_grades() == given
    assert asked == []


def test_a_part_of_the_ledger_is_read_but_never_kept(home: Path, asked: list[str]) -> None:
    grades_of(all_claims()[:2])
    assert len(asked) == 2
    assert not (home / "__pycache__").exists()
    found = all_grades()
    del asked[:]
    assert list(grades_of(all_claims()[5:7]).values()) == list(found.values())[5:7]
    assert asked == []


def test_a_claim_of_the_same_name_is_another_claim(asked: list[str]) -> None:
    all_grades()
    del asked[:]
    other = dataclasses.replace(all_claims()[0])
    grades_of([other, *all_claims()[1:]])
    assert asked == [FIRST]
