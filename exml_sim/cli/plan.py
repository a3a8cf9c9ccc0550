"""``exml plan``: print the budget that is needed, by the bounds and in practice."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click
from click.core import ParameterSource

from exml_sim.cli import options, plan_pilot, points
from exml_sim.cli.points import instance_options

if TYPE_CHECKING:
    from simulations.panels import Needs
    from theory import BoundProblem
    from theory.paper import Strategy


#: Options of a plan from a table.
TABLE_OPTIONS = (
    "pilot",
    "exploration",
    "label",
    "observed",
    "candidate",
    "costs",
    "worlds",
    "encoding",
    "delimiter",
    "na_values",
)


@click.command(name="plan")
@click.argument("file", metavar="[STUDY.toml|TABLE]", required=False, type=click.Path(exists=True, path_type=Path))
@click.option("--delta", type=float, default=0.05, show_default=True, help="Wanted probability of a miss.")
@lambda command: instance_options(command, required=False)
@options.store(help="Read what practice needs from a store instead of running trials.")
@click.option(
    "--trials", type=click.IntRange(1, options.MOST_TRIALS), help="Trials per tried budget; as many as delta needs."
)
@click.option("--seed", type=options.seeds, help="Root seed of all trials; 0, or what the file says.")
@plan_pilot.pilot_options
@options.plugins("study or store")
@options.n_jobs
@options.quiet
@options.as_json
def command(
    file: Path | None,
    delta: float,
    store: Path | None,
    trials: int | None,
    seed: int | None,
    plugins: tuple[Path, ...],
    trust: bool,
    n_jobs: int,
    quiet: bool,
    as_json: bool,
    **given: Any,
) -> None:
    """Print the budgets that bring the probability of missing the best candidate to delta.

    With theta, kappa Lambda and a gap: what the bounds ask for. Without them: also what practice needs, found by trials
    on the synthetic pool, or on the pools of a study's file, or read from a store. With a table and --pilot, or an
    exploration's folder: what your own candidates need, by simulation on the pilot, with an interval.

    Examples: exml plan --delta 0.05 --K 8 --theta 0.1 --kappa-lambda 0.5 --gap 0.2; exml plan --delta 0.05;
    exml plan table.csv --pilot 40 --label y --observed x1,x2 --candidate ct=a10:1 --candidate mri=a90:1
    """
    if not 0.0 < delta < 1.0:
        raise ValueError(f"delta must be strictly between 0 and 1, got {delta:g}")
    table = {name: given.pop(name) for name in TABLE_OPTIONS}
    at_point = any(_typed(name) for name in given)
    if table["pilot"] is not None or table["exploration"] is not None:
        if file is None or at_point or store:
            raise click.UsageError("--pilot and --exploration go with a table, not with a point or a store")
        lines = plan_pilot.planned(file, table, delta, trials, seed or 0)
        click.echo(json.dumps({"delta": delta, "budgets": lines}, indent=2)) if as_json else plan_pilot.show(
            delta, lines
        )
        return
    stray = [name for name in TABLE_OPTIONS if _typed(name)]
    if stray:
        raise click.UsageError(f"--{stray[0]} goes with a plan from a table: give --pilot ROWS or --exploration FOLDER")
    if at_point and (file or store):
        raise click.UsageError("give a point (--theta, --kappa-lambda, --gap) or a pool (a file, --store), not both")
    runs = ", ".join(f"--{name.replace('_', '-')}" for name in ("trials", "seed", "n_jobs") if _typed(name))
    if runs and (at_point or store):
        raise click.UsageError(f"{runs}: no trials are run {'at a point' if at_point else 'when a store is read'}")
    if file and store:
        raise click.UsageError("give a study's file or a store, not both")
    search = (trials, seed, n_jobs, not quiet)
    loaded: dict[str, Any] = {"plugins": plugins, "trust": trust}
    lines = _by_bounds(delta, given) if at_point else _in_practice(file, store, delta, search, loaded)
    if as_json:
        click.echo(json.dumps({"delta": delta, "budgets": lines}, indent=2))
        return
    _print(delta, lines)


def _typed(name: str) -> bool:
    """Whether the user gave this option: one of a point that is not complete must not be ignored."""
    return click.get_current_context().get_parameter_source(name) is ParameterSource.COMMANDLINE


def _by_bounds(delta: float, given: dict[str, Any]) -> list[dict[str, Any]]:
    """One line per strategy: budgets by each bound at a point."""
    missing = given["theta"] is None or given["kappa_lambda"] is None
    if missing or (given["gap"] is None and given["gaps"] is None):
        raise click.UsageError("a point needs --theta, --kappa-lambda and --gap (or --gaps)")
    point, strategies = points.read(**given)
    where = points.words(point)
    return [{"strategy": strategy, "where": where, **_asked(point, strategy, delta)} for strategy in strategies]


def _asked(point: BoundProblem, strategy: Strategy, delta: float) -> dict[str, Any]:
    """Launch and required budgets of every version, and why some versions do not speak."""
    from theory.versions import VERSIONS

    reasons = {name: point.declined(name, strategy) for name in VERSIONS}
    spoken = [name for name in VERSIONS if not reasons[name]]
    found = {
        "launch": {name: point.launch(name, strategy) for name in spoken},
        "bounds": {name: point.required(name, strategy, delta) for name in spoken},
    }
    declined = {name: reason for name, reason in reasons.items() if reason}
    return {**found, "declined": declined} if declined else found


def _in_practice(
    file: Path | None,
    store: Path | None,
    delta: float,
    how: tuple[int | None, int | None, int, bool],
    loaded: dict[str, Any],
) -> list[dict[str, Any]]:
    """One line per strategy and pool: the budget of practice next to the bounds'."""
    from exml_sim.engine.result import StudyResult
    from exml_sim.engine.study import Study
    from simulations import budget_vs_failure, needed_budget
    from simulations.panels import needs, panels_of
    from simulations.plugin_bounds import describe_missing

    trials, seed, n_jobs, progress = how
    if store is not None:
        with StudyResult.open(store, **loaded) as result:
            panels = panels_of(result)
            if missing := describe_missing(result.study):
                click.echo(missing, err=True)
    else:
        study = Study.from_toml(file, **loaded) if file else budget_vs_failure.make_study(1)
        study = study if seed is None else replace(study, seed=seed)
        number = trials or needed_budget.enough_trials(delta)
        panels = needed_budget.search(study, delta, number, n_jobs=n_jobs, progress=progress)
    lines = []
    for panel in panels:
        found = needs(panel, delta)
        asked = _asked(panel.point, panel.kind, delta) if panel.point else {"launch": {}, "bounds": {}}
        asked["bounds"] = {**asked["bounds"], **{one.name: one.required(delta) for one in panel.plugin_bounds}}
        lines.append(
            {
                "strategy": panel.title,
                "where": panel.place,
                "practice": None if found.practice is None else float(found.practice),
                "trials": max(cell.trials for cell in panel.cells),
                **asked,
                "factors": _factors(found),
                "reason": panel.reason,
            }
        )
    return lines


def _factors(found: Needs) -> dict[str, float | None]:
    return {name: options.finite(found.factor(name)) for name in found.bounds}


def _print(delta: float, lines: list[dict[str, Any]]) -> None:
    from theory.versions import VERSIONS

    for where in dict.fromkeys(line["where"] for line in lines):
        mine = [line for line in lines if line["where"] == where]
        practised = "practice" in mine[0]
        silent = {name for line in mine for name in line.get("declined", ())}
        # From the sharpest to the paper's; a version that no line has is left out.
        order = [
            name for name in reversed(VERSIONS) if name not in silent or any(name in one["bounds"] for one in mine)
        ]
        order += [name for name in dict.fromkeys(n for one in mine for n in one["bounds"]) if name not in VERSIONS]
        click.echo(f"Budget for a probability of at most {delta:g} to miss the best candidate: {where}.\n")
        click.echo(
            f"{'':22}{'practice':>12}" * practised
            + f"{'':22}" * (not practised)
            + "".join(f"{name:>22}" for name in order)
        )
        for line in mine:
            row = f"{line['strategy']:22}"
            if practised:
                row += f"{_budget(line['practice']):>12}"
            for name in order:
                row += f"{_budget(line['bounds'].get(name)) + _times(line, name):>22}"
            click.echo(row)
        for line in mine:
            if line["bounds"]:
                parts = ", ".join(f"{name} {_budget(line['launch'].get(name))}" for name in order)
                click.echo(f"  launch budgets of {line['strategy']}: {parts}")
                for reason in line.get("declined", {}).values():
                    click.echo(f"  {line['strategy']}: {reason}")
            elif line["reason"]:
                click.echo(f"  no bound for {line['strategy']}: {line['reason']}")
        if practised:
            click.echo(f"  practice: {mine[0]['trials']:,} trials per budget, upper limits at 99%")
        click.echo()


def _budget(value: float | None) -> str:
    return "-" if value is None else f"{value:,.0f}"


def _times(line: dict[str, Any], version: str) -> str:
    factor = line.get("factors", {}).get(version)
    if factor is None:
        return ""
    return f" ({factor:,.1f}×)" if factor < 9.95 else f" ({factor:,.0f}×)"
