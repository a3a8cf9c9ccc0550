"""Read the documents, and run their commands."""

from __future__ import annotations

import re
import shlex
from pathlib import Path

import pytest

from exml_sim.cli import main

ROOT = Path(__file__).parents[2]
DOCS = ROOT / "docs"
README = ROOT / "README.md"
#: Every document with prose: the generated ones included.
DOCUMENTS = [README, ROOT / "CONTRIBUTING.md", ROOT / "CHANGELOG.md", *sorted(DOCS.rglob("*.md"))]


def read(page: str) -> str:
    """Read a page of docs."""
    return (DOCS / page).read_text(encoding="utf-8")


def find_blocks(text: str, kinds: str) -> list[tuple[str, str]]:
    """Find the code blocks of some kinds, such as "sh|text", with their kind."""
    return re.findall(rf"```({kinds})\n(.*?)```", text, re.DOTALL)


def find_files(text: str) -> dict[str, str]:
    """Find the blocks whose first line names a file; pyproject.toml belongs to somebody else's package."""
    files = re.findall(r"```(?:python|toml)\n# (\S+)\n(.*?)```", text, re.DOTALL)
    return {name: content for name, content in files if name != "pyproject.toml"}


def run_command(command: str, capsys: pytest.CaptureFixture[str]) -> str:
    """Run one line of a shell block and return what it prints."""
    program, *arguments = shlex.split(command, comments=True)
    assert program == "exml"
    with pytest.raises(SystemExit) as stop:
        main(arguments)
    output = capsys.readouterr()
    assert stop.value.code == 0, f"{command}: {output.err}"
    return output.out
