"""``exml study``: run a study of budget against failure rate and lay the bounds over it."""

from __future__ import annotations

import json
from contextlib import nullcontext
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from exml_sim.cli import options

if TYPE_CHECKING:
    from exml_sim.engine.result import StudyResult
    from exml_sim.engine.study import Study
    from simulations.panels import Panel

TRIALS = 10_000
QUICK = 1_000
PRESETS = ("bench", "bench-all")
#: Bytes of a file of data that is copied beside study.toml.
LARGEST_COPY = 10**7
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
@click.option("--preset", type=click.Choice(PRESETS), help="A study that is ready made, in place of a file.")
@click.option("--strategy", "rules", multiple=True, help="Run this strategy in place of the study's; may be repeated.")
@click.option("--list", "listed", is_flag=True, help="Print strategies, pools, scores and bounds that are here.")
@click.option("--quick", is_flag=True, help=f"{QUICK:,} trials per cell instead of {TRIALS:,}.")
@click.option("--seed", type=options.seeds, help="Root seed of all trials; 0, or what the file says.")
@options.n_jobs
@click.option("--backend", type=click.Choice(BACKENDS), default="threads", show_default=True, help="Kind of workers.")
@click.option("--scheduler", help="Address of a dask scheduler, with --backend dask.")
@click.option("--shard", type=_Shard(), help="Run only part i of n; put the stores together by exml merge.")
@click.option("--replay", nargs=2, type=int, metavar="CELL TRIAL", help="Print one trial with its ledger, run nothing.")
@options.plugins("study")
@options.out("out")
@options.store(help="SQLite file that a later run continues; study.sqlite in the folder.")
@options.quiet
@options.as_json
def command(
    file: Path | None,
    preset: str | None,
    rules: tuple[str, ...],
    listed: bool,
    quick: bool,
    seed: int | None,
    n_jobs: int,
    backend: str,
    scheduler: str | None,
    shard: tuple[int, int] | None,
    replay: tuple[int, int] | None,
    plugins: tuple[Path, ...],
    trust: bool,
    out: Path,
    store: Path | None,
    quiet: bool,
    as_json: bool,
) -> None:
    """How often does a strategy miss the best candidate, and what do the bounds say?

    Writes summary.csv, failure_rate.png/.svg and report.html to the folder, next to study.toml (what was run) and
    study.sqlite (every trial). A run that was interrupted continues where it stopped.

    With a file, that study is run instead; study.toml of an earlier run shows how one is written. Your own strategy
    comes from a file that you name: --plugins my_rules.py --strategy "my_rules:Final{share = 0.4}".

    Examples: exml study --quick --out quick; exml study --preset bench --out bench
    """
    if listed:
        _list(as_json)
        return
    if file is not None and preset is not None:
        raise click.UsageError("give a study's file or --preset, not both")
    study = _chosen(file, preset, rules, quick, seed, plugins, trust)
    if replay is not None:
        if as_json:
            raise click.UsageError("--replay prints tables: leave out --json")
        _replay(study, *replay)
        return
    kept = store or out / "study.sqlite"
    continued = options.resumable(f"finished trials are in {kept}; the same command continues from there")
    with options.folder(out), continued:
        result = _run(study, kept, n_jobs, backend, scheduler, shard, not (quiet or as_json))
    with result:
        (out / "study.toml").write_text(study.to_toml(), encoding="utf-8")
        _copy_plugins(study, out)
        if shard is not None and not result.complete:
            text = f"{result!r} in {kept}; put all shards together by exml merge."
            click.echo(json.dumps(contents(result, kept), indent=2) if as_json else text)
            return
        if preset is not None:
            _leave_bench(result, out, kept, as_json)
            return
        _leave(result, out, kept, default=file is None and not rules, as_json=as_json)


def _chosen(
    file: Path | None,
    preset: str | None,
    rules: tuple[str, ...],
    quick: bool,
    seed: int | None,
    plugins: tuple[Path, ...],
    trust: bool,
) -> Study:
    """The study that the options ask for."""
    from exml_sim.plugins import Plugins, files_beside
    from simulations import bench, budget_vs_failure

    if preset is not None and (plugins or trust or rules):
        raise click.UsageError(
            "--strategy, --plugins and --trust do not go with --preset, which has its own strategies"
        )
    strategies: tuple[Any, ...] = tuple(_rule(text) for text in rules)
    if file is not None:
        study = _read(file, quick, seed, plugins, trust)
    elif preset is not None:
        arms = bench.ALL_ARMS if preset == "bench-all" else bench.ARMS
        study = bench.make_study(QUICK if quick else bench.TRIALS, seed=seed or 0, arms=arms)
    else:
        study = budget_vs_failure.make_study(QUICK if quick else TRIALS, seed=seed or 0)
    if not strategies:
        return study
    folder = Path.cwd() if file is None else file.resolve().parent
    beside = files_beside(folder, [one["name"] for one in strategies]) if trust else ()
    return replace(study, strategies=strategies, plugins=Plugins.of((*plugins, *beside)))


def _rule(given: str) -> dict[str, Any]:
    """A strategy of the command line: a name, perhaps with options as a TOML table in braces."""
    import tomllib

    name, brace, rest = given.partition("{")
    try:
        options = tomllib.loads(f"options = {{{rest}")["options"] if brace else {}
    except tomllib.TOMLDecodeError:
        raise click.UsageError(
            f"--strategy is a name, or a name with options like {{share = 0.4}}; got {given}"
        ) from None
    return {"name": name.strip(), "options": options}


def _list(as_json: bool) -> None:
    """Print what a study can name: ours, and what packages announce."""
    from exml_sim.bandit.scoring import SCORES
    from exml_sim.datasets import DATASETS
    from exml_sim.engine.specs import POOLS
    from exml_sim.plugins import list_installed
    from exml_sim.strategies import STRATEGIES
    from theory.versions import VERSIONS

    ours = {"strategies": STRATEGIES, "pools": POOLS, "data sets": DATASETS, "scores": SCORES, "bounds": VERSIONS}
    named = {what: sorted(names) for what, names in ours.items()}
    found = list_installed()
    if as_json:
        click.echo(json.dumps({**named, "plugins": found}, indent=2))
        return
    for what, names in named.items():
        click.echo(f"{what}: {', '.join(names)}")
    for one in found:
        click.echo(f"plug-in {one['name']} ({one['group']}): version {one['version']}, from {one['target']}")
    if not found:
        click.echo("plug-ins: no installed package announces one; --plugins FILE.py names a file")


def _copy_plugins(study: Study, out: Path) -> None:
    """Put files of plug-ins and small files of data beside study.toml, so that the folder can be read by itself."""
    from exml_sim.plugins import DATA

    for plugin in study.used_plugins:
        if plugin.source is not None:
            (out / f"{plugin.stem}.py").write_text(plugin.source, encoding="utf-8")
        elif plugin.group == DATA and Path(plugin.load()).stat().st_size <= LARGEST_COPY:
            source, copy = Path(plugin.load()), out / plugin.name
            # A name like ../table.csv must not write outside of the folder.
            if copy.resolve() != source and copy.resolve().is_relative_to(out.resolve()):
                copy.parent.mkdir(parents=True, exist_ok=True)
                copy.write_bytes(source.read_bytes())


def _leave_bench(result: StudyResult, out: Path, store: Path, as_json: bool) -> None:
    """Leave the table of the bench, and say who wins where."""
    from simulations import bench

    found = bench.places(result)
    result.to_csv(out / "summary.csv")
    lines = [*bench.table(found), "", *bench.sentences(found)]
    (out / "bench.txt").write_text("\n".join(lines) + "\n", encoding="utf-8")
    if as_json:
        places = [
            {"pool": one.pool, "rates": {name: cell.failure_rate for name, cell in one.rates.items()}, "best": one.best}
            for one in found
        ]
        click.echo(json.dumps({"places": places}, indent=2))
        return
    click.echo("\n".join(lines))
    click.echo(f"\nResults are in {out}: summary.csv, bench.txt, study.toml, {store.name}.")


def _read(file: Path, quick: bool, seed: int | None, plugins: tuple[Path, ...], trust: bool) -> Study:
    """A study from a file, with another number of trials or another seed if asked for."""
    from exml_sim.engine.study import Study

    study = Study.from_toml(file, plugins=plugins, trust=trust)
    trials = min(QUICK, study.trials) if quick else study.trials
    return replace(study, trials=trials, seed=study.seed if seed is None else seed)


def _replay(study: Study, cell: int, trial: int) -> None:
    """Print one trial: rounds, scores, certificates, and every purchase."""
    from exml_sim.engine.modes import replay
    from exml_sim.engine.trials import find

    found = replay(study, cell, trial)
    click.echo(f"Trial {trial} of cell {cell}: {find(study, cell)}.\n")
    click.echo(f"{found.table()}\n\n{found.ledger.table()}")


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
    from exml_sim.engine.files import OtherStudyError
    from exml_sim.engine.runner import run
    from simulations.pool_bounds import value_at

    if (backend == "dask") != (scheduler is not None):
        raise click.UsageError("--backend dask and --scheduler ADDRESS go together")
    with nullcontext() if scheduler is None else dask_workers(scheduler) as threads:
        workers = threads if threads and n_jobs == -1 else n_jobs
        named = None if scheduler else backend
        try:
            chosen: dict[str, Any] = {"n_jobs": workers, "backend": named, "shard": shard, "progress": progress}
            return run(study, store=store, bound_value=value_at, **chosen)
        except OtherStudyError as error:
            raise OtherStudyError(f"{error}, by another --out or --store") from None


def _leave(result: StudyResult, out: Path, store: Path, *, default: bool, as_json: bool) -> None:
    """Leave table, figure and report, and say what they mean."""
    from simulations import budget_vs_failure
    from simulations.figures import facets, failure_rate, style
    from simulations.panels import panels_of
    from simulations.report.page import page_of
    from simulations.report.render import render

    panels = panels_of(result)
    if default:
        (out / "summary.csv").write_text(budget_vs_failure.to_csv(panels), encoding="utf-8")
    else:
        result.to_csv(out / "summary.csv")
    name = "Where practice stands and where theory stands" if default else result.study.name
    pictures = style.save(failure_rate.figure(panels, failure_rate.heading(panels, name)), out / "failure_rate")
    if len({panel.place for panel in panels}) > 1:
        pictures += style.save(facets.figure(panels, name), out / "facets")
    page = page_of(result)
    (out / "report.html").write_text(render(page), encoding="utf-8")
    if as_json:
        click.echo(_json(panels, page["findings"]))
        return
    if default:
        _print_table(panels)
    else:
        _print_lines(result)
    click.echo("\n" + "\n".join(page["findings"]))
    files = ["summary.csv", *(file.name for file in pictures), "report.html", "study.toml"]
    files += [store.name] if store.parent == out else []
    click.echo(f"\nResults are in {out}: {', '.join(files)}.")


def _print_lines(result: StudyResult) -> None:
    from exml_sim.engine.result import excess_lines

    for one in result.summary():
        score = f" ({one.score})" if one.score else ""
        click.echo(
            f"{one.strategy} on {one.pool}{score} with budget {one.budget}: failure probability "
            f"{one.failure_rate:.4g} in [{one.lower:.4g}, {one.upper:.4g}] ({one.level:.0%}, {one.interval})"
        )
    for line in excess_lines(result) if result.study.mode == "excess_risk" else ():
        click.echo(line)


def _print_table(panels: list[Panel]) -> None:
    """Budgets down, strategies across; no failure seen is an upper limit."""
    click.echo(f"{'budget':>7}" + "".join(f"  {panel.title:>24}" for panel in panels))
    for cells in zip(*(panel.cells for panel in panels), strict=True):
        columns = [
            f"{cell.failure_rate:.4f} of {cell.trials:,}" if cell.failures else f"< {cell.upper:.1e} of {cell.trials:,}"
            for cell in cells
        ]
        click.echo(f"{cells[0].budget:>7}" + "".join(f"  {column:>24}" for column in columns))


def contents(result: StudyResult, store: Path) -> dict[str, Any]:
    """What is in a store that need not be complete, as plain values."""
    counts = [result.store.counts(cell["cell"]) for cell in result.cells]
    trials, failures = (sum(count[i] for count in counts) for i in (0, 1))
    facts = {"study": result.study.name, "cells": len(result.cells), "trials": trials, "failures": failures}
    return {"store": str(store), **facts, "complete": result.complete}


def _json(panels: list[Panel], findings: list[str]) -> str:
    cells = [
        {"pool": p.pool, "score": p.score, "strategy": p.strategy, "budget": c.budget, "trials": c.trials}
        | {"failures": c.failures, "rate": c.failure_rate, "lower": c.lower, "upper": c.upper, "level": c.level}
        for p in panels
        for c in p.cells
    ]
    return json.dumps({"cells": cells, "findings": findings}, indent=2)
