"""The documents as a whole: links, titles, navigation, sizes, commands, formulas, and the files that they name."""

from __future__ import annotations

import os
import re
import shlex
import subprocess
import sys
from collections.abc import Callable
from contextlib import suppress
from functools import cache
from pathlib import Path
from typing import Any

import click
import pytest

from exml_sim.cli import SUBCOMMANDS, cli
from tests.docs.pages import DOCS, DOCUMENTS, ROOT, read
from tools.command_pages import FOLDER, make_page
from tools.mkdocs_math import extract_formulas, insert_formulas

#: Files that a reader has made by an earlier command of the page, or brings along.
BROUGHT = re.compile(r"\.(toml|sqlite|csv|npz)$")
ARCHITECTURE = read("explanation/architecture.md")


def without_code(text: str) -> str:
    """Remove code blocks and inline code."""
    return re.sub(r"`[^`\n]+`", "", re.sub(r"```.*?```", "", text, flags=re.DOTALL))


def list_anchors(path: Path) -> set[str]:
    """List the anchors of the headings of a page, as mkdocs makes them."""
    headings = re.findall(r"^#+ (.+)$", path.read_text(encoding="utf-8"), re.MULTILINE)
    plain = (re.sub(r"[^\w\s-]", "", heading).strip().lower() for heading in headings)
    return {re.sub(r"[-\s]+", "-", heading) for heading in plain}


@pytest.mark.parametrize("document", DOCUMENTS, ids=lambda path: path.relative_to(ROOT).as_posix())
def test_links_lead_to_files_and_headings(document: Path) -> None:
    links = re.findall(r"\]\(([^)\s]+)\)", without_code(document.read_text(encoding="utf-8")))
    for link in links:
        if link.startswith(("http://", "https://")):
            continue
        name, _, anchor = link.partition("#")
        target = (document.parent / name).resolve() if name else document
        assert target.exists(), link
        if anchor and target.suffix == ".md":
            assert anchor in list_anchors(target), link


def test_every_page_is_in_the_navigation_and_has_its_own_title() -> None:
    navigation = (ROOT / "mkdocs.yml").read_text(encoding="utf-8")
    pages = [path for path in DOCS.rglob("*") if path.suffix in (".md", ".ipynb")]
    assert [path.name for path in pages if path.relative_to(DOCS).as_posix() not in navigation] == []
    titles = [re.search(r"^# .+$", read(str(path)), re.MULTILINE)[0] for path in DOCS.rglob("*.md")]  # type: ignore[index]
    assert len(set(titles)) == len(titles)


def test_formulas_are_rendered_and_code_is_not() -> None:
    text, elements = extract_formulas("`$a$` and $S^*_i\\le|A|$, costs 5 $\n```sh\necho $HOME $PATH\n```\n$$x*y*z$$\n")
    assert len(elements) == 2
    assert "`$a$`" in text
    assert "echo $HOME $PATH" in text
    assert "*" not in text
    assert insert_formulas(text, elements).count("</math>") == 2


@pytest.mark.parametrize("document", DOCUMENTS, ids=lambda path: path.relative_to(ROOT).as_posix())
def test_every_formula_is_understood(document: Path) -> None:
    if document.name == "CLAIMS.md":
        return
    text, elements = extract_formulas(document.read_text(encoding="utf-8"))
    assert [element for element in elements if "\\" in element] == []
    assert "$" not in without_code(text)


@cache
def list_python_files() -> set[str]:
    """List the names of the project's files, without environments beside them."""
    folders = [folder for folder in ROOT.iterdir() if folder.is_dir() and not folder.name.startswith(".")]
    return {path.name for folder in folders for path in folder.rglob("*.py")}


@pytest.mark.parametrize("document", DOCUMENTS, ids=lambda path: path.relative_to(ROOT).as_posix())
def test_python_files_that_a_document_names_exist(document: Path) -> None:
    named = set(re.findall(r"`(?:[\w.]+/)*(\w+\.py)`", document.read_text(encoding="utf-8")))
    assert not {name for name in named - list_python_files() if not name.startswith(("my_", "NAME"))}


# Commands


def find_commands(text: str) -> list[list[str]]:
    """Find lines of shell blocks, and commands in running text that hold no word in capitals to be filled in."""
    blocks = "".join(re.findall(r"```(?:sh|console)\n(.*?)```", text, re.DOTALL))
    lines = [line.removeprefix("$ ") for line in blocks.splitlines()]
    prose = " ".join(re.sub(r"```.*?```", "", text, flags=re.DOTALL).split())
    inline = re.findall(r"`(exml [^`]+)`", prose)
    lines += [command for command in inline if not re.search(r"\b[A-Z]{3,}\b|i/n|[|…]|\.\.\.", command)]
    # The shell redirects what stands after " > ".
    return [shlex.split(line.split(" > ")[0], comments=True)[1:] for line in lines if line.startswith("exml ")]


def parse_command(arguments: list[str]) -> None:
    """Parse a command without running it; raises what a user would see."""
    context = cli.make_context("exml", list(arguments))
    # click keeps the name of the command apart until version 9.
    words = [*getattr(context, "_protected_args", []), *context.args]
    if words:
        name, command, rest = cli.resolve_command(context, words)
        command.make_context(name, list(rest), parent=context)


@pytest.mark.parametrize("document", DOCUMENTS, ids=lambda path: path.relative_to(ROOT).as_posix())
def test_every_command_is_understood(document: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    # The recipes of CONTRIBUTING.md add what they name; test_contributing.py runs them.
    if document.name in ("CHANGELOG.md", "CONTRIBUTING.md"):
        return
    monkeypatch.chdir(tmp_path)
    for arguments in find_commands(document.read_text(encoding="utf-8")):
        for word in arguments:
            if BROUGHT.search(word):
                Path(word).parent.mkdir(parents=True, exist_ok=True)
                Path(word).touch()
        # Running text names commands without all that they need, and asks for help.
        with suppress(click.MissingParameter, click.exceptions.NoArgsIsHelpError, click.exceptions.Exit):
            parse_command(arguments)


def test_commands_that_are_not_understood_are_detected() -> None:
    assert find_commands("```sh\nexml verify --dept quick  # deep\n```\nand `exml falsify CLAIM`, `exml claims`") == [
        ["verify", "--dept", "quick"],
        ["claims"],
    ]
    with pytest.raises(click.UsageError, match="--dept"):
        parse_command(["verify", "--dept", "quick"])
    with pytest.raises(click.UsageError, match="verfy"):
        parse_command(["verfy"])
    assert sum(len(find_commands(document.read_text(encoding="utf-8"))) for document in DOCUMENTS) >= 40


@pytest.mark.parametrize("name", SUBCOMMANDS)
def test_the_page_of_a_command_is_up_to_date(name: str) -> None:
    """If it is not: python -m tools.command_pages."""
    assert (FOLDER / f"{name}.md").read_text(encoding="utf-8") == make_page(name)


def test_every_command_has_a_page() -> None:
    assert {file.stem for file in FOLDER.glob("*.md")} == set(SUBCOMMANDS)


def list_commands() -> dict[str, Any]:
    """List the commands by name."""
    context = click.Context(cli)
    return {name: cli.get_command(context, name) for name in cli.list_commands(context)}


def test_the_table_of_shared_options_is_the_code() -> None:
    text = read("reference/command-line.md")
    table = dict(re.findall(r"^\| `(--[a-z-]+)[^|]*\|[^|]*\| ([a-z, -]+) \|$", text, re.MULTILINE))
    assert len(table) == 6
    kinds: dict[str, dict[str, str]] = {option: {} for option in table}
    for name, command in list_commands().items():
        for parameter in command.params:
            for option in set(parameter.opts) & set(table):
                kinds[option][name] = f"{type(parameter.type).__name__} {parameter.is_flag}"
    assert {option: names.split(", ") for option, names in table.items()} == {o: list(kinds[o]) for o in kinds}
    for option in ("--seed", "--n-jobs", "--quiet", "--json"):
        assert len(set(kinds[option].values())) == 1, "shared options have one type"
    silent = re.search(r"^(`.*`) print nothing but their result, so they have no `--quiet`", text, re.MULTILINE)
    assert silent is not None
    assert re.findall("`([a-z-]+)`", silent[1]) == [name for name in list_commands() if name not in kinds["--quiet"]]


def test_a_shell_completes_commands() -> None:
    asked = {"_EXML_COMPLETE": "bash_complete", "COMP_WORDS": "exml pl", "COMP_CWORD": "1"}
    code = "import sys; sys.argv[0] = 'exml'; from exml_sim.cli import main; main()"
    command = [sys.executable, "-c", code]
    done = subprocess.run(command, env={**os.environ, **asked}, capture_output=True, text=True, check=False)
    assert [word.rpartition(",")[2] for word in done.stdout.split()] == ["plan", "plot"]


def test_the_api_pages_name_public_modules_only() -> None:
    names = [
        name
        for file in (DOCS / "reference" / "api").glob("*.md")
        for name in re.findall(r"^::: (\S+)", file.read_text(encoding="utf-8"), re.MULTILINE)
    ]
    assert len(names) > 30
    assert [name for name in names if "._" in name] == []


# Architecture


def list_steps(title: str) -> list[str]:
    """List the files of one of the two life cycles."""
    part = ARCHITECTURE.split(f"## {title}\n")[1].split("\n## ")[0]
    return re.findall(r"^\| \d+ \| `([\w/.…]+)`", part, re.MULTILINE)


def record_files(action: Callable[[], object]) -> set[str]:
    """Record the files of exml_sim that run during an action."""
    files = set()

    def observe(frame: Any, event: str, _: object) -> None:
        file = Path(frame.f_code.co_filename)
        if event == "call" and file.is_relative_to(ROOT / "exml_sim"):
            files.add(str(file.relative_to(ROOT / "exml_sim")))

    sys.setprofile(observe)
    try:
        action()
    finally:
        sys.setprofile(None)
    return files


def test_every_file_of_the_architecture_exists() -> None:
    named = set(re.findall(r"`([\w/]+\.(?:py|md|js))`", ARCHITECTURE))
    homes = ("exml_sim", "theory", "simulations", "docs")
    known = {str(path.relative_to(ROOT)) for home in homes for path in (ROOT / home).rglob("*") if path.is_file()}
    missing = [name for name in named if not (ROOT / name).exists() and not any(k.endswith(f"/{name}") for k in known)]
    assert not missing
    assert len(named) > 40


@pytest.mark.parametrize(("title", "most"), [("Life cycle of a trial", 20), ("Life cycle of a purchase", 15)])
def test_life_cycles_are_short_and_their_files_exist(title: str, most: int) -> None:
    files = list_steps(title)
    assert 10 <= len(files) <= most
    assert not [file for file in files if "…" not in file and not (ROOT / "exml_sim" / file).is_file()]


def test_a_trial_runs_through_its_life_cycle() -> None:
    """Files above the base layer that run while a block of trials runs; the solver counts by its entry point."""
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
    files = record_files(lambda: run_block(study, cell, 0, 2))
    base = {file.name for file in (ROOT / "exml_sim").glob("*.py")}
    entries = {"strategies/__init__.py", "strategies/base.py"}
    above_base = {file for file in files - base - entries if not file.startswith(("rejection/", "_internal/"))}
    assert above_base <= set(list_steps("Life cycle of a trial"))
    assert "rejection/solve.py" in files


def test_a_purchase_runs_through_its_life_cycle() -> None:
    """Every file but the command runs while a default model is fitted."""
    from exml_sim import ExMLClassifier
    from exml_sim.datasets import make_synthetic
    from exml_sim.oracle import ArrayOracle

    rows = make_synthetic(20, angles=[10, 90], rng=0)
    oracle = ArrayOracle({candidate.name: candidate.values for candidate in rows.candidates})
    model = ExMLClassifier(budget=60, explore="always", model="kernel")
    files = record_files(lambda: model.fit(rows.X, rows.y, oracle))
    assert set(list_steps("Life cycle of a purchase")) - {"cli/explore.py"} <= files
