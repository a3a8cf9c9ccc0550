"""Every `exml` command in a document is one that the program understands, also those that take too long to run here."""

from __future__ import annotations

import re
import shlex
from contextlib import suppress
from pathlib import Path

import click
import pytest

from exml_sim.cli import cli

ROOT = Path(__file__).parents[2]
DOCUMENTS = [ROOT / "README.md", *sorted((ROOT / "docs").rglob("*.md"))]
#: What a reader has made by an earlier command of the page, or brings along.
BROUGHT = re.compile(r"\.(toml|sqlite|csv|npz)$")


def commands(text: str) -> list[list[str]]:
    """Lines of shell blocks, and commands in running text that hold no word in capitals to be filled in."""
    blocks = "".join(re.findall(r"```(?:sh|console)\n(.*?)```", text, re.DOTALL))
    lines = [line.removeprefix("$ ") for line in blocks.splitlines()]
    prose = re.sub(r"```.*?```", "", text, flags=re.DOTALL)
    lines += [
        one for one in re.findall(r"`(exml [^`]+)`", prose) if not re.search(r"\b[A-Z]{3,}\b|i/n|[|…]|\.\.\.", one)
    ]
    return [shlex.split(line, comments=True)[1:] for line in lines if line.startswith("exml ")]


def left(context: click.Context) -> list[str]:
    """Words for the subcommand; click keeps some apart until version 9."""
    return [*getattr(context, "_protected_args", []), *context.args]


def understood(arguments: list[str]) -> None:
    """Parse a command without running it; raises what a user would see."""
    context = cli.make_context("exml", list(arguments))
    group: click.Command = cli
    rest = left(context)
    while isinstance(group, click.Group) and rest:
        name, command, rest = group.resolve_command(context, rest)
        assert command is not None
        group, context = command, command.make_context(name, list(rest), parent=context)
        rest = left(context) if isinstance(group, click.Group) else []


@pytest.mark.parametrize("document", DOCUMENTS, ids=lambda path: path.name)
def test_every_command_is_understood(document: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    for arguments in commands(document.read_text(encoding="utf-8")):
        for word in arguments:
            if BROUGHT.search(word):
                Path(word).parent.mkdir(parents=True, exist_ok=True)
                Path(word).touch()
        # Running text names commands without all that they need, and asks for help.
        with suppress(click.MissingParameter, click.exceptions.NoArgsIsHelpError, click.exceptions.Exit):
            understood(arguments)


def test_what_is_not_understood_is_seen() -> None:
    assert commands("```sh\nexml verify --dept quick  # deep\n```\nand `exml falsify CLAIM`, `exml claims`") == [
        ["verify", "--dept", "quick"],
        ["claims"],
    ]
    with pytest.raises(click.UsageError, match="--dept"):
        understood(["verify", "--dept", "quick"])
    with pytest.raises(click.UsageError, match="verfy"):
        understood(["verfy"])
    with pytest.raises(click.UsageError):
        understood(["reproduce", "mfeat", "--divisions", "51"])


def test_commands_are_found() -> None:
    assert sum(len(commands(document.read_text(encoding="utf-8"))) for document in DOCUMENTS) >= 40
