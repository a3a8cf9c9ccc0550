"""``exml new``: write a package for the claims of another paper."""

from __future__ import annotations

import sys
from importlib.resources import files
from importlib.util import find_spec
from pathlib import Path

import click


@click.command(name="new")
@click.argument("kind", type=click.Choice(("paper",)))
@click.argument("name")
def command(kind: str, name: str) -> None:
    """Write a folder NAME with formulas, claims, checks, a study and tests that work at once.

    The examples in it are one true claim, one that fails as printed, and one bound. Replace them by those of a paper.

    Example: exml new paper my_paper
    """
    if not name.isidentifier():
        raise click.UsageError(f"{name!r} is no name of a package: use letters, digits and _, such as my_paper")
    folder = Path(name)
    if folder.exists():
        raise click.UsageError(f"{name} exists already; nothing was written: choose another name")
    if name in sys.stdlib_module_names or find_spec(name) is not None:
        raise click.UsageError(f"a package named {name!r} is installed; nothing was written: choose another name")
    folder.mkdir()
    for template in sorted(files("exml_sim.cli").joinpath("templates", kind).iterdir(), key=lambda entry: entry.name):
        target = folder / template.name.removesuffix(".txt").replace("PAPER_NAME", name)
        target.write_text(template.read_text(encoding="utf-8").replace("PAPER_NAME", name), encoding="utf-8")
    click.echo(
        f"Wrote {', '.join(sorted(file.name for file in folder.iterdir()))} to {name}. Try:\n"
        f"  exml claims --from {name} --check\n"
        f"  exml falsify rows-per-arm --from {name}\n"
        f"  exml verify --from {name}\n"
        f"  exml claims --from {name} --html > {name}.html\n"
        f"  exml study {name}/study.toml --plugins {name}/bounds.py --out {name}-study\n"
        f"  python -m pytest {name}"
    )
