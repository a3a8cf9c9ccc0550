"""Options that several subcommands share, so that the same word means the same thing everywhere."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import click

#: Largest numbers that options take; the engine's limits, which need no import of the engine here.
MOST_SEED, MOST_TRIALS, MOST_PULLS, MOST_ARMS, MOST_NUMBERS = 2**63 - 1, 10**12, 10**18, 10**9, 10_000

seeds, trials = click.IntRange(0, MOST_SEED), click.IntRange(1, MOST_TRIALS)
seed = click.option("--seed", type=seeds, default=0, show_default=True, help="Root seed.")


def _jobs(context: click.Context, parameter: click.Parameter, value: int) -> int:
    """Refuse a number of workers before anything is done with the other options."""
    from exml_sim.validation import check_jobs

    check_jobs(value)
    return value


n_jobs = click.option(
    "--n-jobs", default=-1, show_default=True, type=int, callback=_jobs, help="Workers; -1 for all cores."
)
quiet = click.option("--quiet", is_flag=True, help="No progress; only the result.")
force = click.option("--force", is_flag=True, help="Replace an existing output file.")
as_json = click.option("--json", "as_json", is_flag=True, help="Print the result as JSON.")


Decorator = Callable[[Callable[..., Any]], Callable[..., Any]]


def plugins(place: str) -> Decorator:
    """``--plugins`` and ``--trust``: which files may be executed; `place` says beside which file."""

    def decorate(command: Callable[..., Any]) -> Callable[..., Any]:
        for option in (
            click.option("--trust", is_flag=True, help=f"Execute also files beside the {place} that it names."),
            click.option(
                "--plugins",
                type=click.Path(path_type=Path),
                multiple=True,
                metavar="FILE.py",
                help="Execute this file of strategies, pools, scores or bounds; may be repeated.",
            ),
        ):
            command = option(command)
        return command

    return decorate


def out(default: str) -> Decorator:
    """``--out``: the folder for results."""
    kind = click.Path(path_type=Path, file_okay=False)
    return click.option("--out", default=default, show_default=True, type=kind, help="Folder for results.")


def store(default: str | None = None, help: str = "SQLite file that a later run continues.") -> Decorator:
    """``--store``: where finished work is kept."""
    kind = click.Path(path_type=Path, dir_okay=False)
    return click.option("--store", default=default, show_default=default is not None, type=kind, help=help)


def table_format(command: Callable[..., Any]) -> Callable[..., Any]:
    """Add ``--encoding``, ``--delimiter`` and ``--na-values``: the format of a user's table."""
    for option in (
        click.option(
            "--na-values", metavar="WORDS", help="Cells that mean not measured.  [default: NA,NaN,N/A,null,none]"
        ),
        click.option(
            "--delimiter", metavar="CHARACTER", help="Between columns.  [default: comma, semicolon, tab or |]"
        ),
        click.option("--encoding", default="utf-8", show_default=True, help="Of a CSV file; latin-1 is common, too."),
    ):
        command = option(command)
    return command


def finite(value: float) -> float | None:
    """A number for JSON, which has no NaN and no infinity: null."""
    return value if math.isfinite(value) else None


def make_folder(place: Path) -> None:
    """Make a folder and those above it, if they are not there yet."""
    there = next(one for one in (place, *place.absolute().parents) if one.exists())
    if not there.is_dir():
        raise ValueError(f"there can be no folder {place}: {there} is a file")
    place.mkdir(parents=True, exist_ok=True)


@contextmanager
def folder(place: Path) -> Iterator[None]:
    """Make a folder for what is done inside; bad input that leaves nothing in it leaves no folder either."""
    made = [one for one in (place, *place.parents) if not one.exists()]
    make_folder(place)
    try:
        yield
    except (ValueError, MemoryError, click.UsageError):
        for one in made:
            if any(one.iterdir()):
                break
            one.rmdir()
        raise


@contextmanager
def resumable(how: str) -> Iterator[None]:
    """Turn Ctrl-C into one line that says how to continue; `main` exits with 130."""
    try:
        yield
    except (KeyboardInterrupt, SystemError) as error:
        if not _interrupted(error):
            raise
        raise click.Abort(f"interrupted: {how}") from None


def _interrupted(error: BaseException | None) -> bool:
    """Whether an error goes back to Ctrl-C: compiled code that is interrupted raises a SystemError from it."""
    while error is not None and not isinstance(error, KeyboardInterrupt):
        error = error.__cause__ or error.__context__
    return error is not None
