"""The README and the tutorial do what they say: commands, output and Python."""

from __future__ import annotations

import doctest
from pathlib import Path
from typing import Any

import matplotlib

matplotlib.use("Agg")

import pytest

from exml_sim import engine
from simulations.budget_vs_failure import make_study
from simulations.panels import find_needs, make_panels
from tests.docs.pages import DOCS, README, find_blocks, read, run_command


@pytest.mark.parametrize(
    ("page", "number"),
    [
        (README, 6),
        (DOCS / "tutorial" / "first-steps.md", 4),
        (DOCS / "how-to" / "running-studies.md", 6),
        (DOCS / "explanation" / "simulation-modes.md", 4),
        (DOCS / "explanation" / "testing-bounds.md", 4),
    ],
    ids=lambda value: getattr(value, "stem", None),
)
def test_python_session(page: Path, number: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    result = doctest.testfile(str(page), module_relative=False, encoding="utf-8")
    assert result.attempted >= number
    assert result.failed == 0


def test_numbers_of_the_main_study_in_the_readme() -> None:
    """The budgets around those that the README names; every budget has its own random numbers."""
    text = " ".join(README.read_text(encoding="utf-8").split())
    result = engine.run(make_study(10_000, budgets=(96, 128, 256, 384)), progress=False)
    uniform, median = (find_needs(panel) for panel in make_panels(result))
    assert f"at a budget of about {uniform.simulated}, median elimination at about {median.simulated}." in text
    paper, corrected, tighter, population = uniform.bounds.values()
    assert None not in (paper, corrected, tighter, population, uniform.simulated)
    assert f"the paper's bound needs {paper:,}, the corrected bound {corrected:,}" in text
    assert f"our distribution-free bound {tighter:,} ({float(tighter / uniform.simulated):.0f} times practice)" in text
    assert f"needs {population:,} ({float(population / uniform.simulated):.1f} times practice)" in text


def test_first_steps(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    monkeypatch.chdir(tmp_path)
    printed, commands = "", 0
    for kind, block in find_blocks(read("tutorial/first-steps.md"), "sh|text"):
        if kind == "text":
            assert set(block.splitlines()) <= set(printed.splitlines())
            continue
        printed = "".join(run_command(command, capsys) for command in block.splitlines())
        commands += len(block.splitlines())
    assert commands >= 10


def test_coming_from_bandits(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    page = read("tutorial/coming-from-bandits.md")
    code, loop = [block for _, block in find_blocks(page, "python")]
    assert len([row for row in code.splitlines() if row]) <= 8
    names: dict[str, Any] = {}
    exec(code, names)
    exec(loop, names)
    assert (tmp_path / "strategies.pdf").read_bytes().startswith(b"%PDF")
    texts = {
        text.get_text().removesuffix(" (vacuous here)") for text in names["result"].plot().figure.legends[0].get_texts()
    }
    assert {"Hoeffding and union bound", "Audibert et al. (2010)", "OCBA"} <= texts


def test_coming_from_scikit_learn(capsys: pytest.CaptureFixture[str]) -> None:
    names: dict[str, Any] = {}
    for _, code in find_blocks(read("tutorial/coming-from-scikit-learn.md"), "python"):
        exec(code, names)
    assert 0 < float(capsys.readouterr().out.split()[0]) < 1
    assert len(names["scores"]) == 3
    assert names["model"].ledger_.spent <= names["model"].ledger_.budget
