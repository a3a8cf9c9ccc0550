"""The how-to guides and the explanations do what they say: their files, commands and Python run."""

from __future__ import annotations

import csv
import sys
from pathlib import Path
from typing import Any

import matplotlib

matplotlib.use("Agg")

import numpy as np
import pytest

from exml_sim.bandit.rows import FeaturePool
from exml_sim.engine import run
from exml_sim.population import Population
from exml_sim.strategies import STRATEGIES
from tests.classifier.tasks import synthetic
from tests.docs.pages import find_blocks, find_files, read, run_command
from tests.engine.studies import known
from tools.make_gallery import draw_example, read_examples

CLASSIFIER = read("how-to/exml-classifier.md")


def test_commands_of_the_classifier_page(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    output: list[str] = []
    for kind, text in find_blocks(CLASSIFIER, "sh|text"):
        if kind == "text":
            assert [line for line in text.splitlines() if line not in output] == []
            continue
        output = [line for command in text.splitlines() for line in run_command(command, capsys).splitlines()]
        for request in tmp_path.glob("*/to_measure.csv"):
            output += request.read_text(encoding="utf-8").splitlines()
    written = {file.name for file in (tmp_path / "exml-out").iterdir()}
    assert {"report.md", "report.html", "ledger.csv", "purchases.csv", "journal.jsonl", "model.npz"} <= written
    with open("predictions.csv") as predicted, open("new.csv") as truth:
        pairs = zip(csv.DictReader(predicted), csv.DictReader(truth), strict=True)
        assert np.mean([row["prediction"] == other["class"] for row, other in pairs]) > 0.8


def test_python_of_the_classifier_page(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    rows, oracle, test, _, values = synthetic(per_class=60, angles=[30, 80, 90])
    names: dict[str, Any] = {"X": rows.X, "y": rows.y, "X_new": test.X}
    names |= {"ct_new": values["90°"], "blood_new": values["30°"]}
    names["measure"] = lambda name, places: oracle.query("90°" if name == "ct" else "30°", places)
    names["measure_ct"] = lambda places: oracle.query("90°", places)
    names["measure_blood"] = lambda places: oracle.query("30°", places)
    for _, code in find_blocks(CLASSIFIER, "python"):
        exec(code, names)
    output = capsys.readouterr().out
    assert "of the budget of 300" in output
    assert "of the budget of 500" in output
    assert names["run"].model.ledger_.pulls.sum() == len(names["run"].journal.values)


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """An importable folder."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.syspath_prepend(str(tmp_path))
    return tmp_path


def run_page(page: str, folder: Path, capsys: pytest.CaptureFixture[str]) -> tuple[dict[str, str], str]:
    """Write the files of a page and run its commands."""
    files = find_files(page)
    for name, text in files.items():
        (folder / name).write_text(text, encoding="utf-8")
    commands = [command for _, block in find_blocks(page, "sh") for command in block.splitlines()]
    return files, "".join(run_command(command, capsys) for command in commands)


def test_own_strategies(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    files, output = run_page(read("how-to/own-strategies.md"), folder, capsys)
    assert set(files) == {"my_rules.py", "final.toml", "my_loop.py", "ward.toml", "check_it.py"}
    assert sum(bool(line.strip()) for line in files["my_rules.py"].splitlines()) <= 25
    assert "union (plug-in)" in output
    assert "Final(share=0.25) needs" in output
    assert (folder / "loop" / "study.sqlite").exists()
    exec(files["check_it.py"], {})
    output = capsys.readouterr().out
    assert "checks passed" in output
    assert "would go unseen" in output
    sys.modules.pop("my_rules", None)


def test_check_another_theory(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    page = read("how-to/check-another-theory.md")
    program = next(text for _, text in find_blocks(page, "python") if text.startswith("# dominance.py"))
    exec(program, {})
    printed = [line for _, text in find_blocks(page, "text") for line in text.splitlines() if line]
    assert printed == capsys.readouterr().out.splitlines()


@pytest.mark.parametrize(("page", "number"), [("reference/command-line.md", 2), ("how-to/report.md", 2)])
def test_commands_and_their_output(
    page: str, number: int, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.chdir(tmp_path)
    for folder, seed in (("out", 0), ("second", 1)):
        (tmp_path / folder).mkdir()
        store = tmp_path / folder / "study.sqlite"
        run(known(trials=20, seed=seed), store=store, n_jobs=1, progress=False).close()
    output, commands = "", 0
    for kind, block in find_blocks(read(page), "sh|text"):
        if kind == "text":
            assert set(block.splitlines()) <= set(output.splitlines())
            continue
        for command in block.splitlines():
            output = run_command(command, capsys)
            commands += 1
    assert commands == number
    if page == "how-to/report.md":
        assert (tmp_path / "report.html").stat().st_size < 500_000


def test_confidence(capsys: pytest.CaptureFixture[str]) -> None:
    names: dict[str, Any] = {}
    printed = []
    for _, code in find_blocks(read("explanation/confidence.md"), "python"):
        exec(code, names)
        printed.append(capsys.readouterr().out)
    first_line, *more_lines = printed[0].splitlines()
    assert "90°" in first_line
    assert "60°" in first_line
    assert "more rows would settle it" in first_line
    assert any("Approximate" in line for line in more_lines)
    assert printed[1].startswith("True ")


def test_arms_costs_and_sampling(capsys: pytest.CaptureFixture[str]) -> None:
    """The code runs as it stands, except that a reader brings data and more time."""
    ((_, code),) = find_blocks(read("explanation/arms-costs-sampling.md"), "python")
    code = code.replace("from exml_sim import FeaturePool, Population\n", "").replace("10_000", "20")
    rng = np.random.default_rng(0)
    y = np.repeat([-1, 1], 20)
    names: dict[str, Any] = {"Population": Population, "FeaturePool": FeaturePool, "X": rng.normal(size=(40, 2))}
    names |= {"y": y, "pix": y + rng.normal(size=40), "mor": rng.normal(size=40)}
    exec(code, names)
    assert "selected pix" in capsys.readouterr().out
    assert len(names["many"]) == 20


def test_the_example_of_a_study_file(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    files, output = run_page(read("reference/study-file.md"), folder, capsys)
    assert set(files) == {"example.toml"}
    assert "median elimination(accumulate=False)" in output


def test_the_page_of_strategies_has_all_of_them() -> None:
    page = read("reference/strategies.md")
    assert [name for name in STRATEGIES if f"| `{name}` |" not in page] == []


EXAMPLES = read_examples()


def test_the_gallery_has_examples_with_small_figures() -> None:
    assert len(EXAMPLES) >= 8
    assert len(EXAMPLES) == read("how-to/gallery.md").count("```python")
    for title, code, image in EXAMPLES:
        assert sum(bool(line.strip()) for line in code.splitlines()) <= 12, title
        assert image.stat().st_size < 60_000, title


@pytest.mark.parametrize(("title", "code"), [example[:2] for example in EXAMPLES], ids=[e[0] for e in EXAMPLES])
def test_an_example_of_the_gallery_runs(title: str, code: str) -> None:
    from matplotlib import pyplot as plt

    assert draw_example(code).get_axes()
    plt.close("all")
