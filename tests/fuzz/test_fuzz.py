"""The fuzzers in small: every kind runs, finds planted errors, and remembers its findings."""

from __future__ import annotations

import json
import logging
from collections import Counter
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import strategies as st

from exml_sim.engine import StoreError
from fuzz import __main__ as command
from fuzz import calls, fuzzer, inputs, matrices, stores
from fuzz.fuzzer import Finding, Fuzzer, expect, run

FINDINGS = Path(__file__).parent / "findings"


@pytest.fixture(scope="module", autouse=True)
def restore_logging():
    """Fuzzers silence warnings in their own process, which here is that of other tests."""
    yield
    logging.disable(logging.NOTSET)


@pytest.fixture(scope="module")
def damage() -> stores.Damage:
    return stores.Damage()


def fuzz(tried: Fuzzer, cases: int) -> bool:
    return run(tried, 7, 1e9, cases)


def test_damaged_files_are_refused_or_unchanged(damage) -> None:
    damage.batch = 200
    assert fuzz(damage, 200)
    assert all(damage.outcomes[f"{kind} refused"] > 0 for kind in stores.KINDS), damage.outcomes


@pytest.mark.parametrize("finding", sorted(FINDINGS.glob("*.json")), ids=lambda file: file.stem)
def test_fixed_findings_stay_fixed(damage, finding) -> None:
    saved = json.loads(finding.read_text(encoding="utf-8"))
    assert {"damage": damage, "matrices": matrices.Matrices()}[saved["fuzzer"]].try_case(saved["case"])


def test_a_store_without_checksums_is_found(monkeypatch) -> None:
    """Planted: nothing is compared. Then a flip of a stored number gives another answer."""
    monkeypatch.setattr("exml_sim.engine.store.find_damage", lambda connection: None)
    assert not fuzz(stores.Damage(["monte_carlo"]), 1500)


@pytest.mark.long
def test_study_files_with_odd_parts() -> None:
    studies = inputs.StudyFiles()
    assert fuzz(studies, 200)
    assert all(studies.outcomes[outcome] > 0 for outcome in ("refused", "run")), studies.outcomes


def test_command_lines_and_a_raw_exception(monkeypatch) -> None:
    """Planted: an exception that no command catches."""
    lines = inputs.CommandLines()
    assert fuzz(lines, 20)
    assert lines.outcomes["exit code 2"] > 0, lines.outcomes

    def raise_key_error(words: list[str]) -> None:
        raise KeyError("column")

    monkeypatch.setattr(inputs, "main", raise_key_error)
    with pytest.raises(Finding, match="raw KeyError"):
        lines.try_case(["bound", "--K=8"])


def test_odd_arguments_are_refused_in_our_words() -> None:
    """Planted: a function that passes its argument on unchecked."""
    called = calls.Calls()
    assert fuzz(called, 30)
    assert min(called.outcomes[outcome] for outcome in ("refused", "answered")) > 5, called.outcomes
    # Fixed: a message of 100,000 characters.
    assert called.try_case([("theory.paper uniform", {"B": "n" * 100_000})])["refused"] == 1
    called = calls.Calls({"planted": (lambda size: np.zeros(3) + np.zeros(size), {"size": 3})})
    assert called.try_case([("planted", {})])["answered"] == 1
    with pytest.raises(Finding, match="raw ValueError: operands could not be broadcast"):
        called.try_case([("planted", {"size": (1, 2)})])


def test_interrupted_runs_are_continued_and_lost_trials_are_found() -> None:
    """Planted: another truth."""
    processes = stores.Processes(("monte_carlo",), trials=40)
    assert fuzz(processes, 5)
    assert {outcome.partition(":")[0] for outcome in processes.outcomes} == {"kill", "second", "full"}
    processes.digests["monte_carlo"] = "another"
    assert not fuzz(processes, 1)


def test_matrices_and_a_certificate_that_is_wrong(monkeypatch) -> None:
    tried, right = matrices.Matrices(), matrices.solve
    assert fuzz(tried, 60)

    def optimistic(*arguments: Any, **options: Any) -> Any:
        solution = right(*arguments, **options)
        return replace(solution, lower_bound=solution.lower_bound + 1e-6, objective=solution.objective - 1e-6)

    monkeypatch.setattr(matrices, "solve", optimistic)
    case = json.loads((FINDINGS / "matrices-ball-rounding.json").read_text(encoding="utf-8"))["case"]
    with pytest.raises(Finding, match=r"the objective .* too low"):
        tried.try_case(case)


def test_findings_are_shrunk_and_printed_with_their_seed(monkeypatch, capsys) -> None:
    class Wrong(Fuzzer):
        name, share, batch = "wrong", 1.0, 10
        cases = st.fixed_dictionaries({"number": st.integers(0, 10**9)})

        def judge(self, case: dict) -> Counter[str]:
            if case["number"] >= 3:
                raise ValueError("three")
            return Counter(fine=1)

    wrong = {"wrong": Wrong}
    assert command.main(["--cases", "1000", "--seed", "1"], wrong) == 1
    out = capsys.readouterr().out
    assert out.startswith("seed 1\nwrong: ")
    assert "raw ValueError: three" in out
    assert "case={'number': 3}" in out
    again = out.partition("FINDING with --seed ")[2].partition("\n")[0]
    assert command.main(["--cases", "10", "--seed", again], wrong) == 1
    monkeypatch.setattr(Wrong, "judge", lambda self, case: Counter(fine=1))
    assert command.main(["--cases", "10", "--seed", again], wrong) == 0


def test_a_hang_and_a_long_message_are_findings() -> None:
    def swallow() -> None:
        with fuzzer.limit_time(0.05):
            try:
                while True:
                    pass
            except Exception:
                return

    with pytest.raises(fuzzer.Slow, match=r"no answer within 0.05 s of processor time"):
        swallow()
    with pytest.raises(Finding, match=r"no answer within .* and Ctrl-C took"), fuzzer.limit_time(0.05, 0.0):
        sum(range(10**7))

    def raise_error() -> None:
        raise StoreError("two\nlines")

    with pytest.raises(Finding, match="not one short line"):
        expect(StoreError, raise_error, None)
    with pytest.raises(Finding, match="another answer"):
        expect(StoreError, lambda: 1, 2)
