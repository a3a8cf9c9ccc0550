"""``exml query``: read the results in a store by SQL, without changing it."""

from __future__ import annotations

import sqlite3
from contextlib import closing
from pathlib import Path

import click

from exml_sim.cli import _options as options

#: Rows that are printed at most.
MAX_ROWS = 100_000
#: Views beside the tables of a store.
VIEWS = {
    "results": """
        SELECT c.cell, c.pool, c.score, c.strategy, CAST(c.budget AS REAL) AS budget, count(*) AS trials,
               sum(1 - t.success) AS failures, avg(1 - t.success) AS failure_rate, avg(t.regret) AS mean_regret
        FROM cells c JOIN trials t ON t.cell = c.cell GROUP BY c.cell
    """,
    "selections": """
        SELECT c.cell, c.pool, c.strategy, CAST(c.budget AS REAL) AS budget,
               json_extract(c.arms, '$[' || t.selected || ']') AS arm, count(*) AS trials
        FROM cells c JOIN trials t ON t.cell = c.cell GROUP BY c.cell, t.selected
    """,
}
_ALLOWED = (sqlite3.SQLITE_SELECT, sqlite3.SQLITE_READ, sqlite3.SQLITE_FUNCTION, sqlite3.SQLITE_RECURSIVE)


@click.command(name="query")
@click.argument("store", type=click.Path(path_type=Path))
@click.argument("sql")
@click.option("--limit", type=click.IntRange(1, MAX_ROWS), default=1000, show_default=True, help="Most rows printed.")
@click.option("--csv", "as_csv", is_flag=True, help="Print CSV.")
@options.as_json
def command(store: Path, sql: str, limit: int, as_csv: bool, as_json: bool) -> None:
    """Run one SELECT statement on STORE. The file is opened for reading only.

    Views: results (one row per cell: pool, score, strategy, budget, trials, failures, failure_rate, mean_regret) and
    selections (trials per cell and selected arm). Tables: cells, trials (cell, trial, selected, success, regret, spent,
    weight), blocks, distributions, failures.

    Example: exml query out/study.sqlite "SELECT strategy, budget, failure_rate FROM results WHERE budget > 100"
    """
    import pandas as pd

    if not sql.strip():
        raise click.UsageError("the query is empty: give one SELECT statement")

    from exml_sim._internal.spreadsheets import write_frame
    from exml_sim.engine._files import connect_to_read
    from exml_sim.engine.store import Store

    Store.read(store).close()
    with closing(connect_to_read(store)) as connection:
        for name, view in VIEWS.items():
            connection.execute(f"CREATE TEMP VIEW {name} AS {view}")
        connection.execute("PRAGMA query_only = ON")
        connection.set_authorizer(_authorise)
        # Python sees Ctrl-C only when it is called.
        connection.set_progress_handler(lambda: 0, 100_000)
        try:
            cursor = connection.execute(sql)
            rows = cursor.fetchmany(limit + 1)
        except (sqlite3.Error, sqlite3.Warning) as error:
            if getattr(error, "sqlite_errorcode", None) == sqlite3.SQLITE_INTERRUPT:
                raise KeyboardInterrupt from None
            raise ValueError(f"the query cannot be run: {error}; one SELECT statement is allowed") from None
        columns = [column[0] for column in cursor.description or ()]
    frame = pd.DataFrame(rows[:limit], columns=columns)
    text = write_frame(frame).rstrip("\n") if as_csv else frame.to_string(index=False)
    options.emit(frame.to_dict("records"), text, as_json)
    if len(rows) > limit and not as_json:
        click.echo(f"Only the first {limit:,} rows are shown: --limit shows more.", err=True)


def _authorise(action: int, first: str | None, second: str | None, database: str | None, source: str | None) -> int:
    """Allow reading only: no writing, no other file, no extension."""
    if action == sqlite3.SQLITE_FUNCTION and second in ("load_extension", "writefile", "readfile", "edit"):
        return sqlite3.SQLITE_DENY
    return sqlite3.SQLITE_OK if action in _ALLOWED else sqlite3.SQLITE_DENY
