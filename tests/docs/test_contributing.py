"""The recipes of CONTRIBUTING.md work: their files go into a copy of the project, and their commands run there."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from tests.docs.pages import ROOT, find_blocks

TEXT = (ROOT / "CONTRIBUTING.md").read_text(encoding="utf-8")
#: What the command of a recipe prints.
SAYS = {
    "Add a strategy": ",two halves,40",
    "Add a bound": "cautious",
    "Add a claim": "leaves less than one row per candidate",
    "Add a data set": "0,twins,",
    "Add a score": "Careful C 1:1",
    "Add a figure": "spending.png",
    "Add a command": "good 0",
}
#: Recipes that change theory: there all claims would be graded again for every report.
THEORY = ("Add a bound", "Add a claim")


def section(title: str) -> str:
    return TEXT[TEXT.index(f"\n## {title}\n") :].split("\n## ")[1]


def overlay(target: Path) -> None:
    """The three packages as links, compiled code included, so that nothing is compiled again."""
    for package in ("exml_sim", "theory", "simulations"):
        for folder, names, files in os.walk(ROOT / package):
            here = target / Path(folder).relative_to(ROOT)
            here.mkdir(parents=True)
            if "__pycache__" in names:
                (here / "__pycache__").symlink_to(Path(folder) / "__pycache__")
                names.remove("__pycache__")
            for file in files:
                (here / file).symlink_to(Path(folder) / file)


def write(target: Path, text: str) -> None:
    """A block whose first line names its file, or the file that it is appended to."""
    first, _, text = text.removeprefix("# ").partition("\n")
    place = target / first.removesuffix(", at the end")
    if first.endswith(", at the end"):
        before = place.read_text(encoding="utf-8")
        place.unlink()
        text = f"{before}\n\n{text}"
    else:
        assert not place.exists(), "a recipe must not overwrite anything"
    place.write_text(text, encoding="utf-8")


def copy_with(target: Path, *titles: str) -> Path:
    """A copy of the project with the files of these recipes."""
    overlay(target)
    for title in titles:
        for _, text in find_blocks(section(title), "python|toml"):
            write(target, text)
    return target


@pytest.fixture(scope="module")
def project(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return copy_with(tmp_path_factory.mktemp("project"), *(title for title in SAYS if title not in THEORY))


@pytest.fixture(scope="module")
def theory_project(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return copy_with(tmp_path_factory.mktemp("theory"), *THEORY)


def run(project: Path, *arguments: str) -> str:
    command = [sys.executable, "-m", "exml_sim", *arguments]
    done = subprocess.run(command, cwd=project, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    return done.stdout


def follow(project: Path, title: str) -> str:
    """Run the command of a recipe and return what it prints, or the table that a study writes."""
    ((_, command),) = find_blocks(section(title), "sh")
    arguments = command.split()[1:]
    if arguments[0] != "study":
        return run(project, *arguments)
    run(project, *arguments, "--no-report")
    return (project / arguments[arguments.index("--out") + 1] / "summary.csv").read_text(encoding="utf-8")


@pytest.mark.parametrize("title", SAYS)
def test_a_recipe_does_what_it_says(project: Path, theory_project: Path, title: str) -> None:
    if title in THEORY:
        project = theory_project
    # Pictures are drawn of the study that the first recipe ran.
    if title == "Add a figure" and not (project / "two_halves").exists():
        run(project, "study", "study.toml", "--out", "two_halves", "--quiet")
    assert SAYS[title] in follow(project, title)


@pytest.mark.long
def test_all_recipes_go_together(tmp_path: Path) -> None:
    """In one copy, with a page that grades the new claim."""
    everything = copy_with(tmp_path, *SAYS)
    for title in SAYS:
        assert SAYS[title] in follow(everything, title)
    assert "ua-left-over" in run(everything, "claims", "--html")
