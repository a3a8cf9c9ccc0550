"""The fuzzers in small: every kind runs, finds planted errors, and its findings can be replayed."""

from __future__ import annotations

import importlib
import json
import logging
import sys
from collections import Counter
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from hypothesis import strategies as st

from exml_sim.engine import StoreError
from fuzz import __main__ as command
from fuzz import calls, case, grammar, matrices, stores
from fuzz.case import Finding, expect, run, try_case


@pytest.fixture(scope="module", autouse=True)
def restore_logging():
    """Fuzzers silence warnings in their own process, which here is that of other tests."""
    yield
    logging.disable(logging.NOTSET)


@pytest.fixture(scope="module")
def damage(tmp_path_factory) -> stores.Damage:
    return stores.Damage(tmp_path_factory.mktemp("damage"))


def fuzz(fuzzer: case.Fuzzer, number: int, tmp_path) -> case.Summary:
    return run(fuzzer, 7, 1e9, tmp_path / "findings", number)


def test_damaged_files_are_refused_or_unchanged(damage, tmp_path) -> None:
    summary = fuzz(damage, 200, tmp_path)
    assert not summary.findings, [path.read_text() for path in summary.findings]
    assert all(summary.outcomes[f"{kind} refused"] > 0 for kind in stores.KINDS), summary.describe()


@pytest.mark.parametrize(
    "finding", sorted((Path(__file__).parent / "findings").glob("*.json")), ids=lambda file: file.stem
)
def test_fixed_findings_stay_fixed(damage, finding) -> None:
    saved = json.loads(finding.read_text(encoding="utf-8"))
    assert try_case({"damage": damage, "matrices": matrices.Matrices()}[saved["fuzzer"]], saved["case"])


def test_a_store_without_checksums_is_found(damage, monkeypatch, tmp_path) -> None:
    """Planted: nothing is compared. Then a flip of a stored number gives another answer."""
    monkeypatch.setattr("exml_sim.engine.store.find_damage", lambda connection: None)
    monkeypatch.setattr(stores, "KINDS", {"monte_carlo": stores.KINDS["monte_carlo"]})
    monkeypatch.setattr(case, "MAX_SHRINK_SECONDS", 0.0)
    monkeypatch.setattr(case, "MAX_FINDINGS", 1)
    assert fuzz(damage, 1500, tmp_path).findings


@pytest.mark.long
def test_study_files_of_the_grammar(tmp_path) -> None:
    summary = fuzz(grammar.StudyFiles(), 200, tmp_path)
    assert not summary.findings, [path.read_text() for path in summary.findings]
    assert all(summary.outcomes[outcome] > 0 for outcome in ("refused", "run")), summary.describe()


def test_hostile_names_are_refused_and_an_import_is_found(monkeypatch, tmp_path) -> None:
    """Planted: a name that is imported."""
    summary = fuzz(grammar.Names(), 100, tmp_path)
    assert not summary.findings, [path.read_text() for path in summary.findings]

    def import_name(table: dict) -> None:
        importlib.import_module(table["strategies"][0].split(":")[0])
        raise ValueError("refused")

    monkeypatch.setattr(grammar.Study, "from_table", import_name)
    monkeypatch.delitem(sys.modules, "this", raising=False)
    with pytest.raises(Finding, match="imported or called"):
        grammar.Names().judge({"place": "strategy", "module": "this", "separator": ":", "attribute": "main"})


def test_command_lines_of_the_grammar(tmp_path) -> None:
    summary = fuzz(grammar.CommandLines(), 12, tmp_path)
    assert not summary.findings, [path.read_text() for path in summary.findings]
    assert summary.outcomes["exit code 2"] > 0, summary.describe()


def test_a_raw_exception_is_found(monkeypatch) -> None:
    def raise_key_error(words: list[str]) -> None:
        raise KeyError("column")

    monkeypatch.setattr(grammar, "main", raise_key_error)
    with pytest.raises(Finding, match="raw KeyError"):
        try_case(grammar.CommandLines(), ["bound", "--K=8"])


def test_odd_arguments_are_refused_in_our_words(tmp_path) -> None:
    summary = fuzz(calls.Calls(), 30, tmp_path)
    assert not summary.findings, [path.read_text() for path in summary.findings]
    assert min(summary.outcomes[outcome] for outcome in ("refused", "answered")) > 5, summary.describe()


def test_a_message_of_numpy_is_found(monkeypatch) -> None:
    """Planted: a function that passes its argument on unchecked."""
    usual = {"size": 3}
    monkeypatch.setattr(calls, "CALLS", {"planted": (lambda size: np.zeros(3) + np.zeros(size), usual)})
    fuzzer = calls.Calls()
    assert try_case(fuzzer, [{"call": "planted", "odd": {}}])["answered"] == 1
    with pytest.raises(Finding, match="raw ValueError: operands could not be broadcast"):
        try_case(fuzzer, [{"call": "planted", "odd": {"size": "tuple"}}])


@pytest.fixture
def small_processes(monkeypatch) -> stores.Processes:
    monkeypatch.setattr(stores.Processes, "modes", ("monte_carlo",))
    monkeypatch.setattr(stores.Processes, "trials", 40)
    return stores.Processes()


def test_interrupted_runs_are_continued(small_processes) -> None:
    steps = [["kill", 0.5], ["second", 0.2], ["full", 3000]]
    outcomes = try_case(small_processes, {"mode": "monte_carlo", "steps": steps})
    assert outcomes.total() == 4


def test_a_store_that_loses_trials_is_found(small_processes) -> None:
    """Planted: another truth."""
    small_processes._truth["monte_carlo"] = "another"
    with pytest.raises(Finding, match="differs from one that was never interrupted"):
        small_processes.judge({"mode": "monte_carlo", "steps": [["kill", 0.5]]})


def test_matrices_and_a_certificate_that_is_wrong(monkeypatch, tmp_path) -> None:
    summary = fuzz(matrices.Matrices(), 60, tmp_path)
    assert not summary.findings, [path.read_text() for path in summary.findings]
    right = matrices.solve

    def optimistic(*arguments: object, **options: object) -> object:
        solution = right(*arguments, **options)
        return replace(solution, lower_bound=solution.lower_bound + 1e-6, objective=solution.objective - 1e-6)

    monkeypatch.setattr(matrices, "solve", optimistic)
    assert fuzz(matrices.Matrices(), 20, tmp_path).findings


def test_findings_are_shrunk_files_that_can_be_replayed(tmp_path, monkeypatch, capsys) -> None:
    class Wrong:
        name, share, timeout, is_interruptible = "wrong", 1.0, 5.0, False
        cases = st.fixed_dictionaries({"number": st.integers(0, 100)})

        def judge(self, one: dict) -> Counter[str]:
            if one["number"] >= 3:
                raise ValueError("three")
            return Counter(fine=1)

    monkeypatch.setattr(command, "FUZZERS", {"wrong": Wrong})
    assert command.main(["--seconds", "60", "--cases", "30", "--seed", "1", "--findings", str(tmp_path)]) == 1
    (finding,) = tmp_path.iterdir()
    assert json.loads(finding.read_text())["case"] == {"number": 3}
    assert command.main(["--replay", str(finding)]) == 1
    out = capsys.readouterr().out
    assert out.startswith("seed 1\nwrong: ")
    assert "raw ValueError: three" in out
    monkeypatch.setattr(Wrong, "judge", lambda self, one: Counter(fine=1))
    assert command.main(["--replay", str(finding)]) == 0


def test_a_hang_and_a_long_message_are_findings(monkeypatch) -> None:
    def spin() -> None:
        while True:
            pass

    def swallow() -> None:
        with case.limit_time(0.05):
            try:
                spin()
            except Exception:
                return

    with pytest.raises(case.Slow, match=r"no answer within 0.05 s of processor time"):
        swallow()
    monkeypatch.setattr(case, "MAX_INTERRUPT_SECONDS", 0.0)

    def spin_without_the_interpreter() -> None:
        with case.limit_time(0.05):
            sum(range(10**7))

    with pytest.raises(Finding, match=r"no answer within .* and Ctrl-C took"):
        spin_without_the_interpreter()

    def refuse() -> None:
        raise StoreError("two\nlines")

    with pytest.raises(Finding, match="not one short line"):
        expect(StoreError, refuse, None)
    with pytest.raises(Finding, match="another answer"):
        expect(StoreError, lambda: 1, 2)
