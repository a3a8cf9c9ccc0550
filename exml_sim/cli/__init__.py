"""The command ``exml``: one module per subcommand, found by its first line and imported only when it is called.

This is the composition root, the only place that may import all three packages.
"""

from __future__ import annotations

import difflib
import gc
import importlib
import os
import re
import sqlite3
import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import click

from exml_sim import __version__

#: Where libraries of linear algebra look for their number of threads when they are loaded.
_BLAS_THREADS = ("OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS", "VECLIB_MAXIMUM_THREADS")
#: Characters of a message; one that quotes what it was given is cut in the middle.
_LONGEST = 1000
#: Settings of numba that it reads from the current folder.
NUMBA_SETTINGS = ".numba_config.yaml"
_FIRST_LINE = re.compile(r'"""``exml ([\w-]+)``: (.+)"""')


def _subcommands() -> dict[str, str]:
    """Read name and summary of every command from the first line of its module; nothing is imported for it."""
    commands = {}
    for file in sorted(Path(__file__).parent.glob("*.py")):
        with file.open(encoding="utf-8") as lines:
            first = _FIRST_LINE.match(lines.readline())
        if first is not None:
            commands[first[1]] = first[2][0].upper() + first[2][1:]
    return commands


SUBCOMMANDS = _subcommands()


class _Lazy(click.Group):
    """A group whose subcommands live in modules of this package, one each."""

    def list_commands(self, ctx: click.Context) -> list[str]:
        return sorted(SUBCOMMANDS)

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        if cmd_name not in SUBCOMMANDS:
            return None
        command: click.Command = importlib.import_module(f"exml_sim.cli.{cmd_name.replace('-', '_')}").command
        return command

    def resolve_command(self, ctx: click.Context, args: list[str]) -> Any:
        name = args[0]
        if name not in SUBCOMMANDS and not name.startswith("-"):
            near = difflib.get_close_matches(name, SUBCOMMANDS, n=2)
            hint = f"; did you mean {' or '.join(near)}?" if near else f"; there are {', '.join(sorted(SUBCOMMANDS))}"
            raise click.UsageError(f"no command {name!r}{hint}")
        return super().resolve_command(ctx, args)

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        with formatter.section("Commands"):
            formatter.write_dl([(name, SUBCOMMANDS[name]) for name in self.list_commands(ctx)])


def _print_versions(context: click.Context, parameter: click.Parameter, value: bool) -> None:
    """Print what a bug report needs; names of users, hosts and folders are not among it."""
    if value:
        from exml_sim.engine._schema import manifest

        facts = manifest()
        lines = [f"{name}: {facts[name]}" for name in facts if name not in ("started", "exml_sim")]
        click.echo("\n".join([f"exml, version {__version__}", *lines]))
        context.exit()


@click.group(cls=_Lazy, context_settings={"help_option_names": ["-h", "--help"]})
@click.option(
    "--version",
    is_flag=True,
    is_eager=True,
    expose_value=False,
    callback=_print_versions,
    help="Print versions and processor, for a bug report.",
)
@click.option("--debug", is_flag=True, help="Show the traceback of an error.")
def cli(debug: bool) -> None:
    """Exploratory machine learning with unknown unknowns: a working system and an executable theory."""


def main(argv: Sequence[str] | None = None) -> None:
    """Entry point: exit code 0, 1 if a check failed, 2 for bad input, 130 after an interrupt."""
    arguments = list(sys.argv[1:] if argv is None else argv)
    # Modules and tables are many objects that stay: collect garbage less often.
    gc.set_threshold(200_000, 10, 10)
    # Matrices are small: a second thread gains little on an idle machine and waits on a busy one. A number of threads
    # in the environment is respected.
    if "OMP_NUM_THREADS" not in os.environ:
        for name in _BLAS_THREADS:
            os.environ.setdefault(name, "1")
    try:
        with _foreign_folder():
            sys.exit(cli.main(arguments, standalone_mode=False) or 0)
    except click.exceptions.Exit as stop:
        sys.exit(stop.exit_code)
    except click.Abort as stop:
        _print_error(str(stop) or "interrupted")
        sys.exit(130)
    except click.exceptions.NoArgsIsHelpError as error:
        click.echo(error.ctx.get_help() if error.ctx else "")
        sys.exit(0)
    except click.ClickException as error:
        _print_error(error.format_message())
        sys.exit(error.exit_code if error.exit_code == 1 and not isinstance(error, click.UsageError) else 2)
    except KeyboardInterrupt:
        _print_error("interrupted")
        sys.exit(130)
    except (ValueError, OSError, MemoryError, RuntimeError, ImportError, sqlite3.Error) as error:
        is_raw = isinstance(error, RuntimeError | ImportError) and not isinstance(error, RecursionError)
        if "--debug" in arguments or (is_raw and not _lacks_memory(error)):
            raise
        _print_error(_describe_error(error))
        sys.exit(2)


@contextmanager
def _foreign_folder() -> Iterator[None]:
    """Keep settings and modules in the current folder from executing code: it may be somebody else's."""
    if Path(NUMBA_SETTINGS).exists():
        # numba reads this file again whenever it compiles. It can name a folder of pickles.
        raise ValueError(
            f"the file {NUMBA_SETTINGS} in this folder would change compiled code: remove it, or run elsewhere"
        )
    if Path("matplotlibrc").exists() and "matplotlib" not in sys.modules:
        # Only the import reads this file. It can name LaTeX text and a backend, which execute code.
        here = Path.cwd()
        os.chdir(Path(__file__).parent)
        try:
            importlib.import_module("matplotlib")
        finally:
            os.chdir(here)
    before = os.environ.get("PYTHONSAFEPATH")
    # Worker processes start by `python -m`, which would look for modules in the current folder first.
    os.environ["PYTHONSAFEPATH"] = "1"
    try:
        yield
    finally:
        if before is None:
            del os.environ["PYTHONSAFEPATH"]
        else:
            os.environ["PYTHONSAFEPATH"] = before


def _lacks_memory(error: Exception) -> bool:
    """Whether an error says that there is not enough memory: for an array, a thread, or a compiled module."""
    words = ("can't start new thread", "failed to map segment", "cannot allocate memory", "unable to allocate")
    return isinstance(error, MemoryError) or any(word in str(error).lower() for word in words)


def _describe_error(error: Exception) -> str:
    """Describe an error without the number of the system's error."""
    if isinstance(error, OSError) and error.strerror and error.filename:
        return f"{error.filename}: {error.strerror.lower()}"
    if _lacks_memory(error):
        more = f" ({error})" if str(error) else ""
        return f"not enough memory{more}; files are unchanged, finished trials are kept"
    if isinstance(error, RecursionError):
        return "the input is nested too deeply"
    if isinstance(error, sqlite3.Error):
        return f"the file of results cannot be used: {error}"
    return str(error)


def _print_error(message: str) -> None:
    """Print one line on standard error; a long one is cut in the middle."""
    line = " ".join(message.split())
    shown = line if len(line) <= _LONGEST else f"{line[: _LONGEST // 2]} … {line[-_LONGEST // 2 :]}"
    click.echo(f"exml: {shown}", err=True)
