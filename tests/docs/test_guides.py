"""docs/command_line.md and docs/report.md: the commands work as printed, and the output is the output."""

from __future__ import annotations

import os
import re
import shlex
import subprocess
import sys
from pathlib import Path

import pytest

from exml_sim.cli import cli
from exml_sim.engine import run
from tests.cli.test_main import call
from tests.engine.studies import known
from tests.simulations.report.test_bounds_in_page import MUTANTS

DOCS = Path(__file__).parents[2] / "docs"


@pytest.mark.parametrize(("name", "number"), [("command_line.md", 2), ("report.md", 1)])
def test_every_command(capsys, monkeypatch, tmp_path, name, number) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "out").mkdir()
    run(known(trials=20), store=tmp_path / "out" / "study.sqlite", n_jobs=1, progress=False).close()
    printed, commands = "", 0
    for kind, block in re.findall(r"```(sh|text)\n(.*?)```", (DOCS / name).read_text(encoding="utf-8"), re.DOTALL):
        if kind == "text":
            assert all(line in printed.splitlines() for line in block.splitlines())
            continue
        for line in block.splitlines():
            program, *arguments = shlex.split(line)
            assert program == "exml"
            code, printed, err = call(capsys, *arguments)
            assert code == 0, err
            commands += 1
    assert commands == number
    if name == "report.md":
        assert (tmp_path / "report.html").stat().st_size < 500_000


def test_the_number_of_planted_errors() -> None:
    assert f"{len(MUTANTS)} planted errors" in (DOCS / "report.md").read_text(encoding="utf-8").replace("\n", " ")


def test_the_table_of_shared_options_is_the_code() -> None:
    """A group is named where all its subcommands have the option, otherwise the subcommands are."""
    text = (DOCS / "command_line.md").read_text(encoding="utf-8")
    table = re.findall(r"^\| `(--[a-z-]+)[^|]*\|[^|]*\| ([a-z, ]+) \|$", text, re.MULTILINE)
    assert len(table) == 6
    for option, names in table:
        found = []
        for name in cli.list_commands(None):  # type: ignore[arg-type]
            command = cli.get_command(None, name)  # type: ignore[arg-type]
            parts = getattr(command, "commands", {name: command})
            have = [part for part, one in parts.items() if any(option in given.opts for given in one.params)]
            found += [name] if len(have) == len(parts) else [f"{name} {part}" for part in have]
        assert names.split(", ") == found, option
    silent = re.search(r"^(`.*`) print nothing but their result, so they have no `--quiet`", text, re.MULTILINE)
    assert silent is not None
    quiet = dict(table)["--quiet"].split(", ")
    assert re.findall("`([a-z]+)`", silent[1]) == [name for name in cli.list_commands(None) if name not in quiet]  # type: ignore[arg-type]


@pytest.mark.parametrize("shell", ["bash", "zsh", "fish"])
def test_shells_complete_commands_and_options(shell) -> None:
    program = [sys.executable, "-c", "from exml_sim.cli import main; main()"]
    words = {"bash": ("exml pl", "1"), "zsh": ("exml pl", "1"), "fish": ("exml pl", "pl")}[shell]
    asked = {"_EXML_COMPLETE": f"{shell}_complete", "COMP_WORDS": words[0], "COMP_CWORD": words[1]}
    code = "import sys; sys.argv[0] = 'exml'; from exml_sim.cli import main; main()"
    done = subprocess.run([program[0], "-c", code], env={**os.environ, **asked}, capture_output=True, text=True)
    assert "plan" in done.stdout
    assert "plot" in done.stdout
    assert "study" not in done.stdout


def test_the_same_word_means_the_same_everywhere() -> None:
    """Options that commands share have one type and one meaning; every help text has an example."""
    kinds: dict[str, set[str]] = {}
    for name in cli.list_commands(None):
        command = cli.get_command(None, name)
        for one in getattr(command, "params", []):
            for option in one.opts:
                if option in ("--seed", "--n-jobs", "--quiet", "--json"):
                    kinds.setdefault(option, set()).add(f"{type(one.type).__name__} {one.is_flag}")
    assert set(kinds) == {"--seed", "--n-jobs", "--quiet", "--json"}
    assert all(len(found) == 1 for found in kinds.values()), kinds


@pytest.mark.parametrize(
    "name", ["bound", "claims", "data", "explore", "merge", "plan", "plot", "predict", "report", "study"]
)
def test_help_has_an_example(capsys, name) -> None:
    code, out, _ = call(capsys, name, "--help")
    assert code == 0
    assert f"exml {name} " in out.split("Example")[1]
