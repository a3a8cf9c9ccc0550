"""docs/tutorial.md, word by word: its commands and its Python are run in order, its output is the output."""

from __future__ import annotations

import doctest
import re
import shlex
from pathlib import Path

import matplotlib

matplotlib.use("Agg")

import pytest

from exml_sim.cli import main

TUTORIAL = Path(__file__).parents[2] / "docs" / "tutorial.md"


def test_every_command_and_its_output(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    printed = ""
    commands = 0
    for kind, block in re.findall(r"```(sh|text)\n(.*?)```", TUTORIAL.read_text(encoding="utf-8"), re.DOTALL):
        if kind == "text":
            assert all(line in printed.splitlines() for line in block.splitlines())
            continue
        printed = ""
        for line in block.splitlines():
            program, *arguments = shlex.split(line)
            assert program == "exml"
            with pytest.raises(SystemExit) as stop:
                main(arguments)
            found = capsys.readouterr()
            assert stop.value.code == 0, f"{line}: {found.err}"
            printed += found.out
            commands += 1
    assert commands >= 10


def test_every_line_of_python() -> None:
    found = doctest.testfile(str(TUTORIAL), module_relative=False, encoding="utf-8")
    assert found.attempted >= 15
    assert found.failed == 0
