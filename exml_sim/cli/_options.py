"""Options and output that several subcommands share."""

from __future__ import annotations

import json
import math
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import click
from click.core import ParameterSource

#: Largest numbers that options take; the engine's limits, which need no import of the engine here.
MOST_SEED, MOST_TRIALS, MOST_PULLS, MOST_ARMS, MOST_NUMBERS = 2**63 - 1, 10**12, 10**18, 10**9, 10_000

#: Columns of a printed table.
MAX_COLUMNS = 4


class Whole(click.IntRange):
    """A whole number between two ends, named so in messages."""

    name = "whole number"


seeds, trials = Whole(0, MOST_SEED), Whole(1, MOST_TRIALS)
seed = click.option("--seed", type=seeds, default=0, show_default=True, help="Root seed.")


def _jobs(context: click.Context, parameter: click.Parameter, value: int) -> int:
    """Check the number of workers before the other options."""
    from exml_sim._internal.validation import check_jobs

    check_jobs(value)
    return value


n_jobs = click.option(
    "--n-jobs", default=-1, show_default=True, type=int, callback=_jobs, help="Workers; -1 for all cores."
)
quiet = click.option("--quiet", is_flag=True, help="No progress; only the result.")
force = click.option("--force", is_flag=True, help="Replace an existing output file.")
as_json = click.option("--json", "as_json", is_flag=True, help="Print the result as JSON.")


paper = click.option(
    "--from",
    "source",
    metavar="PAPER",
    help="Claims of another paper: a folder or an installed package, whose code is executed.",
)


Decorator = Callable[[Callable[..., Any]], Callable[..., Any]]


def combine(*decorators: Decorator) -> Decorator:
    """Combine options to one decorator, in the order of the help."""

    def decorate(command: Callable[..., Any]) -> Callable[..., Any]:
        for option in reversed(decorators):
            command = option(command)
        return command

    return decorate


def plugins(place: str) -> Decorator:
    """Make ``--plugins`` and ``--trust``: files that may be executed, also beside the file called `place`."""
    return combine(
        click.option(
            "--plugins",
            type=click.Path(path_type=Path),
            multiple=True,
            metavar="FILE.py",
            help="Execute this file of strategies, pools, scores or bounds; may be repeated.",
        ),
        click.option("--trust", is_flag=True, help=f"Execute also files beside the {place} that it names."),
    )


def out(default: str) -> Decorator:
    """Make ``--out``, the folder for results."""
    kind = click.Path(path_type=Path, file_okay=False)
    return click.option("--out", default=default, show_default=True, type=kind, help="Folder for results.")


def store(help: str) -> Decorator:
    """Make ``--store``, where finished work is kept."""
    return click.option("--store", type=click.Path(path_type=Path, dir_okay=False), help=help)


categories = click.option(
    "--categories", metavar="A,B", help="Columns whose numbers are names of levels, such as codes."
)


#: What predictions are worth.
worth = combine(
    click.option("--value-per-correct", type=float, metavar="MONEY", help="Worth of one more correct prediction."),
    click.option("--rows-to-predict", type=Whole(1), metavar="ROWS", help="Rows that will be predicted."),
)
#: The format of a user's table.
table_format = combine(
    click.option("--encoding", default="utf-8", show_default=True, help="Of a CSV file; latin-1 is common, too."),
    click.option("--delimiter", metavar="CHARACTER", help="Between columns.  [default: comma, semicolon, tab or |]"),
    click.option("--na-values", metavar="WORDS", help="Cells that mean not measured.  [default: NA,NaN,N/A,null,none]"),
)


def emit(data: Any, text: str, as_json: bool) -> None:
    """Print a result: its values as JSON, or its text."""
    click.echo(json.dumps(data, indent=2) if as_json else text)


def print_columns(columns: Mapping[str, Mapping[str, str]], corner: str) -> list[str]:
    """Print columns of texts with the name of the rows in the corner; many columns are turned."""
    import pandas as pd

    frame = pd.DataFrame(columns).fillna("").rename_axis(columns=corner)
    return str((frame if len(frame.columns) <= MAX_COLUMNS else frame.T).to_string()).splitlines()


def write_budget(budget: Any, factor: float | None = None) -> str:
    """Write a budget and its multiple of the simulated one."""
    from simulations.panels import format_factor

    times = "" if factor is None or math.isnan(factor) else f" ({format_factor(factor)}x)"
    return "none" if budget is None else f"{float(budget):,.0f}{times}"


def tabulate_budgets(columns: Mapping[str, Mapping[str, tuple[Any, float | None]]], corner: str) -> list[str]:
    """Tabulate budgets and their multiples of the simulated one by strategy and name; None is no budget."""
    texts = {
        label: {name: write_budget(*budget) for name, budget in column.items()} for label, column in columns.items()
    }
    return print_columns(texts, corner)


def is_typed(name: str) -> bool:
    """Tell whether the user gave an option of the current command."""
    return click.get_current_context().get_parameter_source(name) is ParameterSource.COMMANDLINE


def finite(value: float) -> float | None:
    """Return a number for JSON; NaN and infinity, which JSON does not have, become null."""
    return value if math.isfinite(value) else None


def make_folder(place: Path) -> None:
    """Make a folder and its parents, unless they exist."""
    existing = next(path for path in (place, *place.absolute().parents) if path.exists())
    if not existing.is_dir():
        raise ValueError(f"cannot make folder {place}: {existing} is a file")
    place.mkdir(parents=True, exist_ok=True)


@contextmanager
def folder(place: Path) -> Iterator[None]:
    """Make a folder for the work inside; if the input is bad and nothing was written, remove it again."""
    made = [path for path in (place, *place.parents) if not path.exists()]
    make_folder(place)
    try:
        yield
    except (ValueError, MemoryError, click.UsageError):
        for path in made:
            if any(path.iterdir()):
                break
            path.rmdir()
        raise


@contextmanager
def resumable(how: str, store: Path | None = None) -> Iterator[None]:
    """Turn Ctrl-C into one line that says how to continue, or that nothing is stored; the exit code is 130."""
    try:
        yield
    except (KeyboardInterrupt, SystemError) as error:
        if not _interrupted(error):
            raise
        is_empty = store is not None and not store.exists()
        raise click.Abort(f"interrupted: {'nothing is stored yet' if is_empty else how}") from None


def _interrupted(error: BaseException | None) -> bool:
    """Tell whether an error was caused by Ctrl-C, as a SystemError of compiled code may be."""
    while error is not None and not isinstance(error, KeyboardInterrupt):
        error = error.__cause__ or error.__context__
    return error is not None
