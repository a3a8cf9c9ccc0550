"""``exml study``: budget against failure rate on the default pool with the bounds laid over it, or any study."""

from __future__ import annotations

from contextlib import nullcontext
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

if TYPE_CHECKING:
    from exml_sim.engine.result import StudyResult
    from exml_sim.engine.study import Study
    from simulations.budget_vs_failure import Cell

TRIALS = 10_000
QUICK = 1_000
BACKENDS = ("threads", "processes", "dask")


class _Shard(click.ParamType):  # type: ignore[type-arg,unused-ignore]
    """A part of a study, written i/n."""

    name = "i/n"

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> tuple[int, int]:
        """Read two whole numbers."""
        part, slash, parts = str(value).partition("/")
        if not (slash and part.isdigit() and parts.isdigit() and 1 <= int(part) <= int(parts)):
            self.fail(f"a shard is i/n with 1 <= i <= n, got {value}", param, ctx)
        return int(part), int(parts)


@click.command(name="study")
@click.argument("file", metavar="[STUDY.toml]", required=False, type=click.Path(exists=True, path_type=Path))
@click.option("--quick", is_flag=True, help=f"{QUICK:,} trials per cell instead of {TRIALS:,}.")
@click.option("--seed", type=click.IntRange(min=0), help="Root seed of all trials; 0, or what the file says.")
@click.option("--n-jobs", default=-1, show_default=True, type=int, help="Workers; -1 for all cores.")
@click.option("--backend", type=click.Choice(BACKENDS), default="threads", show_default=True, help="Kind of workers.")
@click.option("--scheduler", help="Address of a dask scheduler, with --backend dask.")
@click.option("--shard", type=_Shard(), help="Run only part i of n; put the stores together by exml merge.")
@click.option("--replay", nargs=2, type=int, metavar="CELL TRIAL", help="Print one trial with its ledger, run nothing.")
@click.option("--out", default="out", show_default=True, type=click.Path(path_type=Path), help="Folder for results.")
@click.option("--quiet", is_flag=True, help="No progress; only the result.")
def command(
    file: Path | None,
    quick: bool,
    seed: int | None,
    n_jobs: int,
    backend: str,
    scheduler: str | None,
    shard: tuple[int, int] | None,
    replay: tuple[int, int] | None,
    out: Path,
    quiet: bool,
) -> None:
    """How often does a strategy miss the best candidate, and what do the bounds say?

    Writes summary.csv and failure_rate.png/.svg to the folder, next to study.toml (what was run) and study.sqlite
    (every trial). A run that was interrupted continues where it stopped. Example: exml study --quick --out out

    With a file, that study is run instead; study.toml of an earlier run shows how one is written.
    """
    from simulations import budget_vs_failure

    if file is None:
        study = budget_vs_failure.make_study(QUICK if quick else TRIALS, seed=seed or 0)
    else:
        study = _read(file, quick, seed)
    if replay is not None:
        _replay(study, *replay)
        return
    out.mkdir(parents=True, exist_ok=True)
    with _run(study, out / "study.sqlite", n_jobs, backend, scheduler, shard, not quiet) as result:
        (out / "study.toml").write_text(study.to_toml(), encoding="utf-8")
        if shard is not None and not result.complete:
            click.echo(f"{result!r} in {out / 'study.sqlite'}; put all shards together by exml merge.")
            return
        if file is None:
            _report(budget_vs_failure.read(result), out)
        else:
            _summarise(result, out)


def _read(file: Path, quick: bool, seed: int | None) -> Study:
    """A study from a file, with another number of trials or another seed if asked for."""
    from exml_sim.engine.study import Study

    study = Study.from_toml(file)
    trials = min(QUICK, study.trials) if quick else study.trials
    return replace(study, trials=trials, seed=study.seed if seed is None else seed)


def _replay(study: Study, cell: int, trial: int) -> None:
    """Print one trial: rounds, scores, certificates, and every purchase."""
    from exml_sim.engine.trials import find, replay

    found = replay(study, cell, trial)
    click.echo(f"Trial {trial} of cell {cell}: {find(study, cell)}.\n")
    click.echo(f"{found.table()}\n\n{found.ledger.table()}")


def _summarise(result: StudyResult, out: Path) -> None:
    """Leave the table of any study, and print its rates."""
    result.to_csv(out / "summary.csv")
    for one in result.summary():
        score = f" ({one.score})" if one.score else ""
        click.echo(
            f"{one.strategy} on {one.pool}{score} with budget {one.budget}: failure probability "
            f"{one.failure_rate:.4g} in [{one.lower:.4g}, {one.upper:.4g}] ({one.level:.0%}, {one.interval})"
        )
    click.echo(f"\nResults are in {out}: summary.csv, study.toml, study.sqlite.")


def _run(
    study: Study,
    store: Path,
    n_jobs: int,
    backend: str,
    scheduler: str | None,
    shard: tuple[int, int] | None,
    progress: bool,
) -> StudyResult:
    from exml_sim.engine.cluster import dask_workers
    from exml_sim.engine.runner import run

    if (backend == "dask") != (scheduler is not None):
        raise click.UsageError("--backend dask and --scheduler ADDRESS go together")
    with nullcontext() if scheduler is None else dask_workers(scheduler) as threads:
        workers = threads if threads and n_jobs == -1 else n_jobs
        named = None if scheduler else backend
        return run(study, store=store, n_jobs=workers, backend=named, shard=shard, progress=progress)


def _report(cells: list[Cell], out: Path) -> None:
    """Leave the table and the figure, and say what they mean."""
    from simulations import budget_vs_failure as study

    pool = study.make_pool()
    (out / "summary.csv").write_text(study.to_csv(cells, pool), encoding="utf-8")
    picture = study.figure(cells, pool)
    for kind in ("png", "svg"):
        picture.savefig(out / f"failure_rate.{kind}", dpi=150)
    _print_table(cells)
    click.echo()
    click.echo(study.sentence([study.needs(cells, pool, name) for name in study.STRATEGIES]))
    click.echo(f"\nResults are in {out}: summary.csv, failure_rate.png, failure_rate.svg, study.toml, study.sqlite.")


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
