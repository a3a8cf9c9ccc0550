"""``exml merge``: put the stores of a study's shards together in one."""

from __future__ import annotations

from pathlib import Path

import click

from exml_sim.cli import _options as options


@click.command(name="merge")
@click.argument("stores", nargs=-1, required=True, type=click.Path(path_type=Path))
@click.option("--out", required=True, type=click.Path(path_type=Path), help="The new store; it must not exist.")
@options.as_json
def command(stores: tuple[Path, ...], out: Path, as_json: bool) -> None:
    """Put the results of `exml study --shard i/n` together in one new store.

    The stores must belong to one study and share no trial. The new store gets its name when it is complete; a file that
    has the name by then is left alone. The next `exml study` with the new store runs trials that are still missing.

    Example: exml merge one/study.sqlite two/study.sqlite --out all.sqlite
    """
    from exml_sim.cli.study import describe_store
    from exml_sim.engine import merge

    with merge(stores, out) as result:
        state = "complete" if result.complete else "not complete yet: the next run with this store continues it"
        options.emit(describe_store(result, out), f"{result!r} in {out}, {state}", as_json)
