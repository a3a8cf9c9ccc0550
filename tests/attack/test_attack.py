"""The standing attack in small: every kind runs, finds what is planted, and its findings can be judged again."""

from __future__ import annotations

import json
from collections import Counter
from pathlib import Path

import numpy as np
import pytest

from attack import __main__ as command
from attack import bounds, case, damage, files, grams, processes
from attack.case import Finding, expect, run, try_case
from exml_sim.engine import StoreError
from theory import tighter


@pytest.fixture(scope="module")
def broken(tmp_path_factory) -> damage.Damage:
    return damage.Damage(tmp_path_factory.mktemp("damage"))


def tried(attack: case.Attack, number: int, tmp_path) -> case.Tally:
    return run(attack, 7, 1e9, tmp_path / "findings", number)


def test_damaged_files_are_refused_or_unchanged(broken, tmp_path) -> None:
    tally = tried(broken, 150, tmp_path)
    assert not tally.findings, tally.line()
    assert all(tally.outcomes[f"{kind} refused"] > 0 for kind in ("count", "exact", "cache", "model", "find"))


@pytest.mark.parametrize(
    "finding", sorted((Path(__file__).parent / "findings").glob("*.json")), ids=lambda file: file.stem
)
def test_what_was_found_stays_mended(broken, finding) -> None:
    saved = json.loads(finding.read_text(encoding="utf-8"))
    assert try_case(broken, saved["case"])


def test_a_store_without_seals_is_found_out(broken, monkeypatch) -> None:
    """Planted: nothing is compared. Then some flip of a stored number gives another answer."""
    monkeypatch.setattr("exml_sim.engine.store.verify", lambda connection: None)
    rng, found = np.random.default_rng(0), Counter()
    for _ in range(400):
        one = broken.draw(rng)
        if one["kind"] == "count":
            try:
                try_case(broken, one)
            except Finding as error:
                found[str(error).partition(":")[0]] += 1
                break
    assert found


@pytest.mark.long
def test_study_files_of_the_grammar(tmp_path) -> None:
    tally = tried(files.StudyFiles(), 200, tmp_path)
    assert not tally.findings, [path.read_text() for path in tally.findings]
    assert all(tally.outcomes[word] > 0 for word in ("refused", "run")), tally.line()


def test_command_lines_of_the_grammar(tmp_path, monkeypatch) -> None:
    monkeypatch.setattr(files, "BATCH", 12)
    tally = tried(files.CommandLines(), 12, tmp_path)
    assert not tally.findings, [path.read_text() for path in tally.findings]
    assert tally.outcomes["exit code 2"] > 0, tally.line()


def test_a_raw_exception_is_found(monkeypatch) -> None:
    attack = files.CommandLines()

    def raw(words: list[str]) -> None:
        raise KeyError("column")

    monkeypatch.setattr(files, "main", raw)
    with pytest.raises(Finding, match="raw KeyError"):
        try_case(attack, {"example": ["bound", "--K=8"]})


def test_killed_runs_are_continued(tmp_path, monkeypatch) -> None:
    monkeypatch.setattr(processes, "MODES", ("count",))
    monkeypatch.setattr(processes, "TRIALS", 40)
    for kind in (processes.Kills, processes.Writers, processes.FullDisk):
        tally = tried(kind(), 2, tmp_path)
        assert not tally.findings, [path.read_text() for path in tally.findings]


def test_a_store_that_loses_trials_is_found(monkeypatch) -> None:
    """Planted: another truth."""
    monkeypatch.setattr(processes, "MODES", ("count",))
    monkeypatch.setattr(processes, "TRIALS", 20)
    attack = processes.Kills()
    attack._truth["count"] = "another"
    with pytest.raises(Finding, match="differs from one that was never interrupted"):
        attack.judge({"mode": "count", "moments": [0.5]})


def test_bounds_by_enumeration(tmp_path) -> None:
    tally = tried(bounds.Bounds(), 4, tmp_path)
    assert not tally.findings, [path.read_text() for path in tally.findings]
    assert tally.outcomes["comparisons"] > 1000
    assert tally.outcomes["informative"] > 500


def test_a_bound_that_is_too_small_is_refuted(monkeypatch, tmp_path) -> None:
    """Planted: the bounds on a pair of arms are a millionth of what they should be."""
    right = tighter.lemma_4
    monkeypatch.setattr(tighter, "lemma_4", lambda *given, **more: np.asarray(right(*given, **more)) / 1e6)
    tally = tried(bounds.Bounds(), 3, tmp_path)
    assert tally.findings


def test_the_enumeration_agrees_with_the_packages_own() -> None:
    counts = bounds.compositions(7, 3)
    sizes = np.array([4, 3, 5])
    assert bounds.multinomial(counts, sizes / 12).sum() == pytest.approx(1.0)
    assert bounds.hypergeometric(counts, sizes).sum() == pytest.approx(1.0)


def test_gram_matrices_and_a_certificate_that_is_wrong(monkeypatch, tmp_path) -> None:
    tally = tried(grams.Grams(), 60, tmp_path)
    assert not tally.findings, [path.read_text() for path in tally.findings]
    attack, right = grams.Grams(), grams.solve

    def optimistic(*given: object, **more: object) -> object:
        from dataclasses import replace

        found = right(*given, **more)
        return replace(found, lower_bound=found.lower_bound + 1e-6, objective=found.objective - 1e-6)

    monkeypatch.setattr(grams, "solve", optimistic)
    assert tried(attack, 20, tmp_path).findings


def test_findings_are_files_that_can_be_judged_again(tmp_path, monkeypatch, capsys) -> None:
    class Wrong:
        name, share, patience = "wrong", 1.0, 5.0

        def draw(self, rng: np.random.Generator) -> case.Case:
            return {"number": int(rng.integers(5))}

        def judge(self, one: case.Case) -> Counter[str]:
            if one["number"] == 3:
                raise ValueError("three")
            return Counter(fine=1)

    monkeypatch.setattr(command, "ATTACKS", {"wrong": Wrong})
    assert command.main(["--seconds", "60", "--cases", "30", "--seed", "1", "--findings", str(tmp_path)]) == 1
    (finding,) = tmp_path.iterdir()
    assert json.loads(finding.read_text())["case"] == {"number": 3}
    assert command.main(["--replay", str(finding)]) == 1
    out = capsys.readouterr().out
    assert out.startswith("seed 1\nwrong: 30 cases")
    assert "raw ValueError: three" in out
    monkeypatch.setattr(Wrong, "judge", lambda self, one: Counter(fine=1))
    assert command.main(["--replay", str(finding)]) == 0


def test_a_hang_and_a_long_message_are_findings() -> None:
    def spins() -> None:
        with case.limited(0.05):
            while True:
                pass

    with pytest.raises(Finding, match="no answer within"):
        spins()

    def refuses() -> None:
        raise StoreError("two\nlines")

    with pytest.raises(Finding, match="not one short line"):
        expect(StoreError, refuses, None)
    with pytest.raises(Finding, match="another answer"):
        expect(StoreError, lambda: 1, 2)
