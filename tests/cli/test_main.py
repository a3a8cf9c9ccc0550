"""The command itself: help, unknown names, exit codes, one line for bad input."""

from __future__ import annotations

from pathlib import Path

import pytest

from exml_sim.cli import SUBCOMMANDS, cli, main


def call(capsys: pytest.CaptureFixture[str], *arguments: str) -> tuple[int, str, str]:
    with pytest.raises(SystemExit) as stop:
        main(arguments)
    out, err = capsys.readouterr()
    return int(stop.value.code or 0), out, err


def test_help_names_every_command(capsys) -> None:
    code, out, _ = call(capsys, "--help")
    assert code == 0
    assert all(name in out for name in SUBCOMMANDS)


@pytest.mark.parametrize("name", sorted(SUBCOMMANDS))
def test_every_command_has_help(capsys, name: str) -> None:
    code, out, _ = call(capsys, name, "--help")
    assert code == 0
    assert f"exml {name} " in f"{' '.join(out.split('Example')[1].split())} "


def test_an_unknown_command_suggests_the_nearest(capsys) -> None:
    code, _, err = call(capsys, "clams")
    assert code == 2
    assert err == "exml: no command 'clams'; did you mean claims?\n"


def test_a_file_in_the_way_is_one_line(capsys, tmp_path: Path) -> None:
    blocked = tmp_path / "taken"
    blocked.write_text("mine")
    code, _, err = call(capsys, "study", "--quick", "--out", str(blocked))
    assert code == 2
    assert "taken" in err
    assert blocked.read_text() == "mine"


def test_the_version_has_what_a_bug_report_needs_and_no_names(capsys) -> None:
    code, out, _ = call(capsys, "--version")
    assert code == 0
    assert out.startswith("exml, version ")
    assert {"python", "platform", "numpy", "blas"} <= {line.partition(":")[0] for line in out.splitlines()[1:]}
    assert str(Path.home()) not in out
    assert str(Path.cwd()) not in out


@pytest.mark.parametrize(
    "error",
    [
        RuntimeError("can't start new thread"),
        ImportError("interval.so: failed to map segment from shared object"),
        OSError(12, "Cannot allocate memory"),
    ],
)
def test_lack_of_memory_for_threads_and_modules_is_one_line(capsys, monkeypatch, error: Exception) -> None:
    def fail(*_: object, **__: object) -> None:
        raise error

    monkeypatch.setattr(cli, "main", fail)
    code, _, err = call(capsys, "claims")
    assert (code, err.count("\n")) == (2, 1)
    assert err.startswith("exml: not enough memory")


def test_a_defect_is_not_hidden(monkeypatch) -> None:
    """Planted: an error that has nothing to do with memory keeps its traceback."""

    def fail(*_: object, **__: object) -> None:
        raise RuntimeError("a defect")

    monkeypatch.setattr(cli, "main", fail)
    with pytest.raises(RuntimeError, match="a defect"):
        main(["claims"])
