"""``exml study``: measure failure rate against budget, and compare it with the bounds."""

from __future__ import annotations

import re
from contextlib import nullcontext
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from exml_sim._internal.files import refuse_link, write_file
from exml_sim.cli import _options as options

if TYPE_CHECKING:
    from exml_sim.engine._statistics import CellSummary
    from exml_sim.engine.result import StudyResult
    from exml_sim.engine.study import Study
    from simulations.panels import Panel

TRIALS = 10_000
QUICK = 1_000
PRESETS = ("bench", "bench-all")
#: Bytes of a file of data that is copied beside study.toml.
MAX_COPY_BYTES = 10**7
#: Lines of a table, and of the whole answer.
MAX_ROWS, MAX_LINES = 12, 25
BACKENDS = ("threads", "processes", "dask")


def _parse_shard(context: click.Context, parameter: click.Parameter, value: str | None) -> tuple[int, int] | None:
    """Read a part of a study, written i/n."""
    if value is None:
        return None
    match = re.fullmatch(r"(\d+)/(\d+)", value)
    if match is None or not 1 <= int(match[1]) <= int(match[2]):
        raise click.BadParameter(f"a shard is i/n with 1 <= i <= n, got {value}")
    return int(match[1]), int(match[2])


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
@click.option(
    "--shard", callback=_parse_shard, metavar="I/N", help="Run only part I of N; exml merge joins the stores."
)
@click.option("--replay", nargs=2, type=int, metavar="CELL TRIAL", help="Print one trial with its ledger, run nothing.")
@options.plugins("study")
@click.option("--no-bounds", is_flag=True, help="Compute no bounds.")
@click.option("--no-report", is_flag=True, help="Write no report.html.")
@options.out("out")
@options.store("SQLite file that a later run continues; study.sqlite in the folder.")
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
    no_bounds: bool,
    no_report: bool,
    out: Path,
    store: Path | None,
    quiet: bool,
    as_json: bool,
) -> None:
    """How often does a strategy miss the best candidate, and what do the bounds say?

    Writes summary.csv, failure_rate.png/.svg and report.html to the folder, next to study.toml (what was run) and
    study.sqlite (every trial). A run that was interrupted continues where it stopped. The exit code is 1 if a cell
    failed or a bound is refuted.

    With a file, that study is run instead; study.toml of an earlier run shows how one is written. Your own strategy
    comes from a file that you name: --plugins my_rules.py --strategy "my_rules:Final{share = 0.4}".

    Examples: exml study --quick --out quick; exml study --preset bench --out bench
    """
    from exml_sim._internal.progress import Elapsed

    if listed:
        _print_components(as_json)
        return
    if file is not None and preset is not None:
        raise click.UsageError("give a study's file or --preset, not both")
    study = _choose_study(file, preset, rules, quick, seed, plugins, trust)
    if replay is not None:
        if as_json:
            raise click.UsageError("--replay prints tables: leave out --json")
        from exml_sim.engine import modes

        done = modes.replay(study, *replay)
        place = f"Trial {replay[1]} of cell {replay[0]}: {study.cell(replay[0])}."
        click.echo(f"{place}\n\n{done.table()}\n\n{done.ledger.table()}")
        return
    path = store or out / "study.sqlite"
    continued = options.resumable(f"finished trials are in {path}; the same command continues from there", path)
    with options.folder(out), continued:
        result = _run(study, path, n_jobs, backend, scheduler, shard, not (quiet or as_json))
    with result, Elapsed("computing bounds, figure and report", not (quiet or as_json)):
        write_file(out / "study.toml", study.to_toml())
        _copy_plugins(study, out)
        if shard is not None and not result.complete:
            text = f"Part {shard[0]} of {shard[1]} is in {path}. `exml merge` joins all parts."
            data = describe_store(result, path)
        elif preset is not None:
            data, text = _write_bench(result, out, path)
        else:
            is_default = file is None and not rules
            data, text = _write_results(result, out, path, is_default, bounds=not no_bounds, report=not no_report)
        failures, skipped = result.failures, result.skipped
        names = {cell.index: str(cell) for cell in result.study_cells}
    reasons = [f"Failed: cell {index} ({names[index]}): {reason}" for index, reason in failures.items()]
    data |= ({"failed": reasons} if reasons else {}) | ({"skipped": skipped} if skipped else {})
    reasons += [f"Skipped: {cell}, which does not pay for the first round" for cell in skipped]
    options.emit(data, "\n".join([text, *reasons]), as_json)
    if failures or data.get("refuted"):
        raise SystemExit(1)


def _choose_study(
    file: Path | None,
    preset: str | None,
    rules: tuple[str, ...],
    quick: bool,
    seed: int | None,
    plugins: tuple[Path, ...],
    trust: bool,
) -> Study:
    """Read or make the study that the options ask for."""
    from exml_sim.engine.study import Study
    from exml_sim.plugins import Plugins, files_beside
    from simulations import bench, budget_vs_failure

    if preset is not None and (plugins or trust or rules):
        raise click.UsageError(
            "--strategy, --plugins and --trust do not go with --preset, which has its own strategies"
        )
    strategies: tuple[Any, ...] = tuple(_parse_strategy(text) for text in rules)
    if file is not None:
        study = Study.from_toml(file, plugins=plugins, trust=trust)
        trials = min(QUICK, study.trials) if quick else study.trials
        study = replace(study, trials=trials, seed=study.seed if seed is None else seed)
    elif preset is not None:
        arms = bench.ALL_ARMS if preset == "bench-all" else bench.ARMS
        study = bench.make_study(QUICK if quick else bench.TRIALS, seed=seed or 0, arms=arms)
    else:
        study = budget_vs_failure.make_study(QUICK if quick else TRIALS, seed=seed or 0)
    if not strategies:
        return study
    folder = Path.cwd() if file is None else file.resolve().parent
    beside = files_beside(folder, [strategy["name"] for strategy in strategies]) if trust else ()
    return replace(study, strategies=strategies, plugins=Plugins.of((*plugins, *beside)))


def _parse_strategy(given: str) -> dict[str, Any]:
    """Parse a strategy of the command line: a name, perhaps with options as a TOML table in braces."""
    import tomllib

    name, brace, rest = given.partition("{")
    try:
        options = tomllib.loads(f"options = {{{rest}")["options"] if brace else {}
    except tomllib.TOMLDecodeError:
        raise click.UsageError(
            f"--strategy is a name, or a name with options like {{share = 0.4}}; got {given}"
        ) from None
    return {"name": name.strip(), "options": options}


def _print_components(as_json: bool) -> None:
    """Print what a study can name: built-in components, and plug-ins of installed packages."""
    from exml_sim.bandit.scoring import SCORES
    from exml_sim.datasets import DATASETS
    from exml_sim.engine import POOLS
    from exml_sim.plugins import list_installed
    from exml_sim.strategies import STRATEGIES
    from theory.versions import VERSIONS

    own = {"strategies": STRATEGIES, "pools": POOLS, "data sets": DATASETS, "scores": SCORES, "bounds": VERSIONS}
    named = {kind: sorted(names) for kind, names in own.items()}
    plugins = list_installed()
    lines = [f"{kind}: {', '.join(names)}" for kind, names in named.items()]
    for plugin in plugins:
        source = f"version {plugin['version']}, from {plugin['target']}"
        lines.append(f"plug-in {plugin['name']} ({plugin['group']}): {source}")
    if not plugins:
        lines.append("plug-ins: no installed package announces one; --plugins FILE.py names a file")
    options.emit({**named, "plugins": plugins}, "\n".join(lines), as_json)


def _copy_plugins(study: Study, out: Path) -> None:
    """Copy files of plug-ins and small data files beside study.toml, so that the folder is complete."""
    from exml_sim.plugins import DATA

    for plugin in study.used_plugins:
        if plugin.source is not None:
            write_file(out / f"{plugin.stem}.py", plugin.source)
        elif plugin.group == DATA and Path(plugin.load()).stat().st_size <= MAX_COPY_BYTES:
            source, name = Path(plugin.load()), Path(plugin.name)
            copy = out / name
            # A name like /home/table.csv must not write outside of the folder.
            if copy.resolve() != source and not name.is_absolute() and ".." not in name.parts:
                for folder in name.parents[:-1]:
                    refuse_link(out / folder)
                copy.parent.mkdir(parents=True, exist_ok=True)
                write_file(copy, source.read_bytes())


def _write_bench(result: StudyResult, out: Path, store: Path) -> tuple[dict[str, Any], str]:
    """Write the page of the bench; return ranks and failure rates, and the text with both."""
    from simulations import markdown_table
    from simulations.figures import profiles, style
    from simulations.report._comparison import make_comparison, render_comparison

    result.to_csv(out / "summary.csv")
    ((stem, picture, _),) = profiles.figures(result)
    pictures = style.save(picture, out / stem)
    comparison = make_comparison([result])
    write_file(out / "report.html", render_comparison(comparison))
    rates, ranks = comparison["rates"], comparison["ranks"]["rows"]
    tables = markdown_table(rates["columns"], rates["rows"])
    tables += "\n" + markdown_table(["strategy", "mean rank", "interval", "best in"], ranks)
    drawn = ", ".join(file.name for file in pictures)
    files = f"Results are in {out}: report.html, summary.csv, {drawn}, study.toml, {store.name}."
    return {"rates": rates, "ranks": ranks}, "\n".join([*comparison["headline"], "", tables, files])


def _run(
    study: Study,
    store: Path,
    n_jobs: int,
    backend: str,
    scheduler: str | None,
    shard: tuple[int, int] | None,
    progress: bool,
) -> StudyResult:
    from exml_sim.engine._files import OtherStudyError
    from exml_sim.engine.runner import dask_workers, run

    if (backend == "dask") != (scheduler is not None):
        raise click.UsageError("--backend dask and --scheduler ADDRESS go together")
    with nullcontext() if scheduler is None else dask_workers(scheduler) as threads:
        workers = threads if threads and n_jobs == -1 else n_jobs
        named = None if scheduler else backend
        try:
            chosen: dict[str, Any] = {"n_jobs": workers, "backend": named, "shard": shard, "progress": progress}
            return run(study, store=store, strict=False, **chosen)
        except OtherStudyError as error:
            raise OtherStudyError(f"{error}, by another --out or --store") from None


def _write_results(
    result: StudyResult, out: Path, store: Path, is_default: bool, *, bounds: bool, report: bool
) -> tuple[dict[str, Any], str]:
    """Write table, figures and report; return the values and the text to print."""
    from exml_sim._internal.threads import one_thread
    from simulations.certificates import read_certificates
    from simulations.panels import drop_bounds, make_panels

    panels = make_panels(result, read_certificates(out))
    panels = panels if bounds else drop_bounds(panels)
    if not panels:
        return {"cells": [], "findings": []}, f"{result!r}: no cell has results yet."
    with one_thread("blas"):
        return _write_panels(result, panels, out, store, is_default, report)


def _write_panels(
    result: StudyResult, panels: list[Panel], out: Path, store: Path, is_default: bool, report: bool
) -> tuple[dict[str, Any], str]:
    from exml_sim._internal.spreadsheets import write_frame
    from simulations.figures import failure_rate, style
    from simulations.panels import to_frame
    from simulations.report._findings import (
        describe_refuted,
        write_budgets,
        write_findings,
        write_headline,
        write_verdict,
    )
    from simulations.report._page import make_page
    from simulations.report._render import render

    if result.study.mode == "excess_risk":
        result.to_csv(out / "summary.csv")
    else:
        write_file(out / "summary.csv", write_frame(to_frame(panels)))
    name = "Failure rate and bounds" if is_default else result.study.name
    pictures = style.save(failure_rate.choose_figure(panels, name), out / "failure_rate")
    if report:
        page = make_page(result, panels=panels)
        write_file(out / "report.html", render(page))
    else:
        page = {"headline": write_headline(result, panels), "budgets": write_budgets(panels)}
        page |= {"verdict": write_verdict(panels), "findings": write_findings(result, panels)}
    files = [*(["report.html"] if report else []), "summary.csv", *(file.name for file in pictures), "study.toml"]
    files += [store.name] if store.parent == out else []
    cells = [
        {"pool": p.pool, "score": p.score, "strategy": p.strategy, "budget": c.budget, "trials": c.trials}
        | {"failures": c.failures, "rate": c.failure_rate, "lower": c.lower, "upper": c.upper, "level": c.level}
        for p in panels
        for c in p.cells
    ]
    text = _write_text(result, panels, page)
    data = {"cells": cells, "findings": [*page["headline"], *page["budgets"], page["verdict"], *page["findings"]]}
    data |= {"refuted": refuted} if (refuted := describe_refuted(panels)) else {}
    return data, f"{text}\n\nResults are in {out}: {', '.join(files)}."


def _write_text(result: StudyResult, panels: list[Panel], page: dict[str, Any]) -> str:
    """Write the answer: question, headline, budgets, and failure rates if there is room for them."""
    from exml_sim.engine.result import excess_lines
    from simulations.panels import CONFIDENCE
    from simulations.report._findings import QUESTION

    parts = [[QUESTION, *page["headline"]], _tabulate_needs(panels)]
    rates = [f"Failure rate with its {CONFIDENCE:.0%} interval:", *_tabulate_rates(panels)]
    if len(rates) < MAX_LINES - 6 - sum(map(len, parts)):
        parts.append(rates)
    if result.study.mode == "excess_risk":
        parts.append(excess_lines(result, CONFIDENCE)[:MAX_ROWS])
    return "\n\n".join("\n".join(lines) for lines in [*parts, [page["verdict"]]])


def _tabulate_needs(panels: list[Panel]) -> list[str]:
    """Tabulate the budgets for the target failure rate: simulation and bounds down, panels across."""
    from simulations.panels import TARGET, find_needs, name_bound

    columns: dict[str, dict[str, tuple[Any, float | None]]] = {}
    for label, panel in _label_panels(panels):
        needs = find_needs(panel)
        bounds = sorted(needs.bounds.items(), key=lambda item: item[1] or 0)
        columns[label] = {"simulation": (needs.simulated, None)}
        columns[label] |= {name_bound(name): (budget, needs.factor(name)) for name, budget in bounds}
    lines = options.tabulate_budgets(columns, f"budget for {TARGET:.0%} failures (x simulation)")
    more = len(lines) - MAX_ROWS
    return lines if more <= 0 else [*lines[: MAX_ROWS - 1], f"... {more + 1} more in the report"]


def _tabulate_rates(panels: list[Panel]) -> list[str]:
    """Tabulate failure rates: budgets down, panels across; no failure seen is an upper limit."""
    columns = {
        label: {f"{budget:,g}": _format_rate(cell) for budget, cell in zip(panel.budgets, panel.cells, strict=True)}
        for label, panel in _label_panels(panels)
    }
    return options.print_columns(columns, "budget")


def _label_panels(panels: list[Panel]) -> list[tuple[str, Panel]]:
    several = len({panel.place for panel in panels}) > 1
    return [(f"{panel.title}, {panel.place}" if several else panel.title, panel) for panel in panels]


def _format_rate(cell: CellSummary) -> str:
    if cell.interval == "exact":
        return f"{cell.failure_rate:.4g} exactly"
    if not cell.failures:
        return f"at most {cell.upper:.1e}"
    return f"{cell.failure_rate:.4f} [{cell.lower:.4f}, {cell.upper:.4f}]"


def describe_store(result: StudyResult, store: Path) -> dict[str, Any]:
    """Count what is in a store that need not be complete."""
    counts = [result.store.counts(cell["cell"]) for cell in result.cells]
    trials, failures = (sum(count[i] for count in counts) for i in (0, 1))
    totals = {"study": result.study.name, "cells": len(result.cells), "trials": trials, "failures": failures}
    return {"store": str(store), **totals, "complete": result.complete}
