"""``exml study``: budget against failure rate on the default pool, with the bounds laid over it."""

from __future__ import annotations

import sys
import time
from pathlib import Path
from typing import TYPE_CHECKING

import click

if TYPE_CHECKING:
    from simulations.budget_vs_failure import Cell

TRIALS = 10_000
QUICK = 1_000


@click.command(name="study")
@click.option("--quick", is_flag=True, help=f"{QUICK:,} trials per cell instead of {TRIALS:,}.")
@click.option("--seed", default=0, show_default=True, type=click.IntRange(min=0), help="Root seed of all trials.")
@click.option("--n-jobs", default=-1, show_default=True, type=int, help="Threads; -1 for all cores.")
@click.option("--out", default="out", show_default=True, type=click.Path(path_type=Path), help="Folder for results.")
@click.option("--quiet", is_flag=True, help="No progress; only the result.")
def command(quick: bool, seed: int, n_jobs: int, out: Path, quiet: bool) -> None:
    """How often does a strategy miss the best candidate, and what do the bounds say?

    Writes summary.csv and failure_rate.png/.svg to the folder. Example: exml study --quick --out out
    """
    from simulations import budget_vs_failure as study

    out.mkdir(parents=True, exist_ok=True)
    pool = study.make_pool()
    trials = QUICK if quick else TRIALS
    start = time.monotonic()
    done = 0

    def report(cell: Cell) -> None:
        nonlocal done
        done += 1
        if not quiet and sys.stderr.isatty():
            spent = time.monotonic() - start
            click.echo(f"\r{done} cells, {done * trials / spent:,.0f} trials/s ", nl=False, err=True)

    cells = study.run(pool, trials, seed=seed, n_jobs=n_jobs, report=report)
    if not quiet and sys.stderr.isatty():
        click.echo(err=True)
    (out / "summary.csv").write_text(study.to_csv(cells, pool), encoding="utf-8")
    picture = study.figure(cells, pool)
    for kind in ("png", "svg"):
        picture.savefig(out / f"failure_rate.{kind}", dpi=150)
    _print_table(cells)
    click.echo()
    click.echo(study.sentence([study.needs(cells, pool, name) for name in study.STRATEGIES]))
    click.echo(f"\nResults are in {out}: summary.csv, failure_rate.png, failure_rate.svg.")


def _print_table(cells: list[Cell]) -> None:
    click.echo(f"{'budget':>7}  {'uniform allocation':>24}  {'median elimination':>24}")
    for budget in sorted({cell.budget for cell in cells}):
        shown = {cell.strategy: cell for cell in cells if cell.budget == budget}
        columns = []
        for name in ("uniform", "median"):
            cell = shown[name]
            if cell.failures:
                columns.append(f"{cell.rate:.4f} of {cell.trials:,}")
            else:
                columns.append(f"< {cell.interval()[1]:.1e} of {cell.trials:,}")
        click.echo(f"{budget:>7}  {columns[0]:>24}  {columns[1]:>24}")
