"""docs/architecture.md names files that exist, and the ways through them are the ways that the program takes."""

from __future__ import annotations

import re
import sys
from functools import cache
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
TEXT = (ROOT / "docs" / "architecture.md").read_text(encoding="utf-8")
HOMES = ("", "exml_sim", "theory", "simulations", "docs")


def way(title: str) -> list[str]:
    """The files of one of the two tables."""
    part = TEXT[TEXT.index(f"## {title}") :].split("\n## ")[1 if title in TEXT[:3] else 0]
    return re.findall(r"^\| \d+ \| `([\w/.…]+)`", part, re.MULTILINE)


def test_every_file_exists():
    named = set(re.findall(r"`([\w/]+\.(?:py|md|js))`", TEXT))
    known = {str(path.relative_to(ROOT)) for home in HOMES[1:] for path in (ROOT / home).rglob("*") if path.is_file()}
    lost = [name for name in named if not (ROOT / name).exists() and not any(k.endswith(f"/{name}") for k in known)]
    assert not lost
    assert len(named) > 60


@cache
def python_files():
    """Names of the project's files; an environment beside them has tens of thousands."""
    folders = [one for one in ROOT.iterdir() if one.is_dir() and not one.name.startswith(".")]
    return {path.name for folder in folders for path in folder.rglob("*.py")} | {
        path.name for path in ROOT.glob("*.py")
    }


@pytest.mark.parametrize("page", sorted((ROOT / "docs").glob("*.md")), ids=lambda path: path.name)
def test_files_that_a_page_names_exist(page):
    known = python_files()
    named = set(re.findall(r"`(?:[\w.]+/)*(\w+\.py)`", page.read_text(encoding="utf-8")))
    assert not {name for name in named - known if not name.startswith(("my_", "NAME"))}


@pytest.mark.parametrize(("title", "most"), [("The way of one trial", 20), ("The way of one purchase", 15)])
def test_the_ways_are_short_and_their_files_exist(title, most):
    files = way(title)
    assert 10 <= len(files) <= most
    assert not [file for file in files if "…" not in file and not (ROOT / "exml_sim" / file).is_file()]


def test_a_trial_takes_the_way_that_is_drawn():
    """Files above the base layer that run while a block of trials runs; the solver counts by its door."""
    from exml_sim.engine import Study
    from exml_sim.engine.modes import run_block

    study = Study(
        pools=[{"kind": "synthetic", "per_class": 10, "angles": [10, 90]}],
        scores=[{"score": "objective"}],
        strategies=["median_elimination"],
        budgets={"per_arm": [8]},
        trials=2,
    )
    (cell,) = study.cells()
    run_block(study, cell, 0, 1)
    seen = set()

    def look(frame, event, _):
        file = Path(frame.f_code.co_filename)
        if event == "call" and file.is_relative_to(ROOT / "exml_sim"):
            seen.add(str(file.relative_to(ROOT / "exml_sim")))

    sys.setprofile(look)
    try:
        run_block(study, cell, 0, 2)
    finally:
        sys.setprofile(None)
    base = {file.name for file in (ROOT / "exml_sim").glob("*.py")}
    doors = {"strategies/__init__.py", "strategies/base.py"}
    taken = {file for file in seen if file not in base | doors and not file.startswith("rejection/")}
    assert taken <= set(way("The way of one trial"))
    assert "rejection/solve.py" in seen


def test_a_purchase_takes_the_way_that_is_drawn():
    """Every file of the way but the command and the door runs while a default model is fitted."""
    from exml_sim import ExMLClassifier
    from exml_sim.datasets import make_synthetic
    from exml_sim.oracle import ArrayOracle

    rows = make_synthetic(20, angles=[10, 90], rng=0)
    oracle = ArrayOracle({one.name: one.values for one in rows.candidates})
    model = ExMLClassifier(budget=60, explore="always", model="kernel")
    seen = set()

    def look(frame, event, _):
        file = Path(frame.f_code.co_filename)
        if event == "call" and file.is_relative_to(ROOT / "exml_sim"):
            seen.add(str(file.relative_to(ROOT / "exml_sim")))

    sys.setprofile(look)
    try:
        model.fit(rows.X, rows.y, oracle)
    finally:
        sys.setprofile(None)
    assert set(way("The way of one purchase")) - {"cli/explore.py"} <= seen
