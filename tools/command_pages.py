"""Write one page per command of ``exml`` from its own help: ``python -m tools.command_pages``.

The pages are in docs/commands; a test compares them with what this would write.
"""

from __future__ import annotations

import inspect
import sys
from pathlib import Path

import click

from exml_sim.cli import SUBCOMMANDS, cli

FOLDER = Path(__file__).parents[1] / "docs" / "commands"

#: The guide that says more.
GUIDES = {
    "bound": "reference/command-line.md",
    "claims": "CLAIMS.md",
    "data": "how-to/exml-classifier.md",
    "explore": "how-to/exml-classifier.md",
    "falsify": "explanation/counterexamples.md",
    "merge": "how-to/clusters.md",
    "new": "how-to/check-another-theory.md",
    "plan": "reference/command-line.md",
    "plot": "how-to/report.md",
    "predict": "how-to/exml-classifier.md",
    "report": "how-to/report.md",
    "reproduce": "explanation/reproduction.md",
    "study": "how-to/running-studies.md",
    "verify": "explanation/verification.md",
}


def make_page(name: str) -> str:
    """Make the page of one command."""
    command = cli.get_command(click.Context(cli), name)
    assert command is not None
    parts = [f"# exml {name}", *_describe(command, f"exml {name}")]
    if name in GUIDES:
        parts.append(
            f"More in [the guide](../{GUIDES[name]}). [Options that commands share](../reference/command-line.md)."
        )
    return "\n\n".join(parts) + "\n"


def _describe(command: click.Command, path: str) -> list[str]:
    """Write usage, help, and a table of the options."""
    context = click.Context(command, info_name=path)
    usage = " ".join([path, *command.collect_usage_pieces(context)])
    described = [f"```text\n{usage}\n```"]
    if command.help:
        described += [_escape(line) for line in inspect.cleandoc(command.help).replace("\b\n", "").split("\n\n")]
    rows = [record for part in command.params if (record := part.get_help_record(context)) is not None]
    if rows:
        table = ["| option | meaning |", "|---|---|"]
        table += [f"| `{option.replace('|', chr(92) + '|')}` | {_escape(_join(meaning))} |" for option, meaning in rows]
        described.append("\n".join(table))
    return described


def _join(text: str) -> str:
    return " ".join(text.split()).replace("|", "\\|")


def _escape(text: str) -> str:
    return text.replace("<", "&lt;").replace("*", "\\*")


def main() -> None:
    """Write all pages."""
    FOLDER.mkdir(exist_ok=True)
    for name in SUBCOMMANDS:
        (FOLDER / f"{name}.md").write_text(make_page(name), encoding="utf-8")
    sys.stdout.write(f"{len(SUBCOMMANDS)} pages in {FOLDER}\n")


if __name__ == "__main__":
    main()
