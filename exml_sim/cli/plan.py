"""``exml plan``: print the budget that is needed, by the bounds and in simulation."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from exml_sim.cli import _options as options
from exml_sim.cli.bound import describe_problem, problem_options, read_problem

if TYPE_CHECKING:
    from exml_sim.cli._tables import Table
    from exml_sim.engine.study import Study
    from exml_sim.population import Population
    from simulations.panels import Panel
    from simulations.pilot import PilotPlan
    from theory import BoundProblem
    from theory.paper import Strategy

PILOT_STRATEGIES = ("uniform_allocation", "median_elimination")
#: Options of a plan from a table.
TABLE_OPTIONS = (
    *("pilot", "exploration", "label", "observed", "candidate", "costs", "worlds"),
    *("encoding", "delimiter", "na_values"),
)


def _table_options(command: Callable[..., Any]) -> Callable[..., Any]:
    """Add the options that only a plan from a table has."""
    path = click.Path(path_type=Path)
    for option in (
        click.option("--pilot", type=int, metavar="ROWS", help="Complete rows that the plan is made from."),
        click.option(
            "--exploration",
            type=path,
            metavar="FOLDER",
            help="Plan from the rows that exml explore bought for all candidates.",
        ),
        click.option("--label", metavar="COLUMN", help="Column of observed labels, with a table."),
        click.option("--observed", metavar="A,B,C*", help="Columns that are known for every row, with a table."),
        click.option("--candidate", metavar="NAME=COLUMNS:COST", multiple=True, help="Repeat for each, with a table."),
        click.option("--costs", type=path, help="Table of further candidates."),
        click.option(
            "--worlds", type=click.IntRange(10, 10_000), help="Bootstrap samples of the pilot.  [default: 60]"
        ),
        options.table_format,
    ):
        command = option(command)
    return command


@click.command(name="plan")
@click.argument("file", metavar="[STUDY.toml|TABLE]", required=False, type=click.Path(exists=True, path_type=Path))
@click.option("--delta", type=float, default=0.05, show_default=True, help="Wanted probability of a miss.")
@problem_options
@options.store(help="Read the budget needed in simulation from a store instead of running trials.")
@click.option("--trials", type=options.trials, help="Trials per tried budget; as many as delta needs.")
@click.option("--seed", type=options.seeds, help="Root seed of all trials; 0, or what the file says.")
@click.option("--certify", is_flag=True, help="Certify budgets by simulation, with files that exml verify replays.")
@options.out("out/plan")
@_table_options
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
    certify: bool,
    out: Path,
    plugins: tuple[Path, ...],
    trust: bool,
    n_jobs: int,
    quiet: bool,
    as_json: bool,
    **given: Any,
) -> None:
    """Print the budgets that bring the probability of missing the best candidate to delta.

    With theta, kappa Lambda and a gap: the budgets of the bounds. Without them: also the budget needed in simulation,
    on the synthetic pool, or on the pools of a study's file, or read from a store. With a table and --pilot, or an
    exploration's folder: the budget for your own candidates, by simulation on the pilot, with an interval.

    With --certify: also the smallest budget whose failure probability is certified by simulation to be at most delta,
    with confidence 1 - 1e-9. The trials use a seed that nobody chose, a digest of pool, strategy and budget. The
    certificates are written to the folder; exml verify FILE repeats them.

    Examples: exml plan --delta 0.05 --K 8 --theta 0.1 --kappa-lambda 0.5 --gap 0.2; exml plan --delta 0.05;
    exml plan table.csv --pilot 40 --label y --observed x1,x2 --candidate ct=a10:1 --candidate mri=a90:1
    """
    if not 0.0 < delta < 1.0:
        raise ValueError(f"delta must be strictly between 0 and 1, got {delta:g}")
    table = {name: given.pop(name) for name in TABLE_OPTIONS}
    has_pilot = table["pilot"] is not None or table["exploration"] is not None
    has_problem = any(options.is_typed(name) for name in given)
    _check_options(file, store, has_pilot, has_problem, certify)
    if has_pilot:
        assert file is not None
        rows = _plan_pilot(file, table, delta, trials, seed or 0)
        text = _write_pilot(delta, rows)
    elif has_problem:
        rows = _plan_problem(delta, given)
        text = _write_budgets(delta, rows)
    else:
        how = (trials, seed, n_jobs, not quiet, out if certify else None)
        rows = _plan_simulation(file, store, delta, how, {"plugins": plugins, "trust": trust})
        text = _write_budgets(delta, rows)
    options.emit({"delta": delta, "budgets": rows}, text, as_json)


def _check_options(
    file: Path | None, store: Path | None, has_pilot: bool, has_problem: bool, certify: bool = False
) -> None:
    """Report options that do not go together."""
    if certify and (has_pilot or has_problem):
        raise click.UsageError("--certify runs trials on a pool: give a study's file, --store, or nothing")
    if options.is_typed("out") and not certify:
        raise click.UsageError("--out is the folder of certificates: give --certify as well")
    if has_pilot:
        if file is None or has_problem or store:
            raise click.UsageError("--pilot and --exploration go with a table, not with parameters or a store")
        return
    stray = [name for name in TABLE_OPTIONS if options.is_typed(name)]
    if stray:
        raise click.UsageError(
            f"--{stray[0].replace('_', '-')} goes with a plan from a table: give --pilot ROWS or --exploration FOLDER"
        )
    if has_problem and (file or store):
        raise click.UsageError("give parameters (--theta, --kappa-lambda, --gap) or a pool (a file, --store), not both")
    runs = ", ".join(f"--{name.replace('_', '-')}" for name in ("trials", "seed", "n_jobs") if options.is_typed(name))
    if runs and (has_problem or store):
        raise click.UsageError(f"{runs}: no trials are run with {'these parameters' if has_problem else 'a store'}")
    if file and store:
        raise click.UsageError("give a study's file or a store, not both")


def _plan_problem(delta: float, given: dict[str, Any]) -> list[dict[str, Any]]:
    """Find the budgets of each bound for given parameters, one row per strategy."""
    missing = given["theta"] is None or given["kappa_lambda"] is None
    if missing or (given["gap"] is None and given["gaps"] is None):
        raise click.UsageError("the parameters must include --theta, --kappa-lambda and --gap (or --gaps)")
    problem, strategies = read_problem(**given)
    where = describe_problem(problem)
    return [{"strategy": name, "where": where, **_find_budgets(problem, name, delta)} for name in strategies]


def _find_budgets(problem: BoundProblem, strategy: Strategy, delta: float) -> dict[str, Any]:
    """Find launch and required budgets of every bound, and why some bounds do not apply."""
    from theory.versions import VERSIONS

    reasons = {name: problem.declined(name, strategy) for name in VERSIONS}
    applying = [name for name in VERSIONS if not reasons[name]]
    budgets = {
        "launch_budget": {name: problem.launch_budget(name, strategy) for name in applying},
        "bounds": {name: problem.required(name, strategy, delta) for name in applying},
    }
    declined = {name: reason for name, reason in reasons.items() if reason}
    return {**budgets, "declined": declined} if declined else budgets


def _plan_simulation(
    file: Path | None,
    store: Path | None,
    delta: float,
    how: tuple[int | None, int | None, int, bool, Path | None],
    loaded: dict[str, Any],
) -> list[dict[str, Any]]:
    """Find the budget needed in simulation next to those of the bounds, one row per strategy and pool."""
    from exml_sim.engine.bound_context import describe_missing
    from exml_sim.engine.result import StudyResult
    from exml_sim.engine.study import Study
    from simulations import _needed_budget as needed_budget
    from simulations import budget_vs_failure
    from simulations.panels import find_needs, make_panels

    trials, seed, n_jobs, progress, certificates = how
    if store is not None:
        with StudyResult.open(store, **loaded) as result:
            panels, study = make_panels(result), result.study
            if missing := describe_missing(result.study):
                click.echo(missing, err=True)
    else:
        study = Study.from_toml(file, **loaded) if file else budget_vs_failure.make_study(1)
        study = study if seed is None else replace(study, seed=seed)
        number = trials or needed_budget.enough_trials(delta)
        panels = needed_budget.search(study, delta, number, n_jobs=n_jobs, progress=progress)
    rows = []
    for panel in panels:
        needs = find_needs(panel, delta)
        budgets = (
            _find_budgets(panel.problem, panel.kind, delta) if panel.problem else {"launch_budget": {}, "bounds": {}}
        )
        budgets["bounds"] = {
            **budgets["bounds"],
            **{bound.name: bound.required(delta) for bound in panel.curves},
        }
        rows.append(
            {
                **({} if certificates is None else {"certified": _certify(study, panel, delta, how)}),
                "strategy": panel.title,
                "where": panel.place,
                "simulation": None if needs.simulated is None else float(needs.simulated),
                "trials": max(cell.trials for cell in panel.cells),
                **budgets,
                "factors": {name: options.finite(needs.factor(name)) for name in needs.bounds},
                "reason": panel.reason,
            }
        )
    return rows


def _certify(
    study: Study, panel: Panel, delta: float, how: tuple[int | None, int | None, int, bool, Path | None]
) -> dict[str, Any]:
    """Certify the budget of a panel by simulation, and write the certificate."""
    from exml_sim._internal.progress import Line
    from simulations._certification import search_budget

    _, _, n_jobs, progress, folder = how
    cell = next(cell for cell in study.cells() if cell.labels == (panel.pool, panel.score, panel.strategy))
    line = Line(progress)
    try:
        certificate = search_budget(study, cell, delta, n_jobs=n_jobs, notify=line.show)
    finally:
        line.close()
    assert folder is not None
    file = certificate.save(folder)
    budget = certificate.budget
    return {
        "budget": None if budget is None else float(budget),
        "alpha": certificate.alpha,
        "sentence": certificate.sentence,
        "file": str(file),
    }


def _write_budgets(delta: float, rows: list[dict[str, Any]]) -> str:
    """Write one table per pool, and below it launch budgets and reasons."""
    from simulations.panels import CONFIDENCE

    parts = []
    for where in dict.fromkeys(row["where"] for row in rows):
        group = [row for row in rows if row["where"] == where]
        parts.append(f"Budget for a probability of at most {delta:g} to miss the best candidate: {where}.\n")
        parts.append(_write_table(group))
        for row in group:
            parts += _write_notes(row)
            if "certified" in row:
                parts.append(f"  {row['strategy']}: {row['certified']['sentence']} Replay: exml verify")
                parts[-1] += f" {row['certified']['file']}"
        if "simulation" in group[0]:
            parts.append(f"  simulation: {group[0]['trials']:,} trials per budget, upper limits at {CONFIDENCE:.0%}")
        parts.append("")
    return "\n".join(parts)


def _write_table(rows: list[dict[str, Any]]) -> str:
    """Write budgets, strategies down and bounds across, from the sharpest to the paper's, then plug-ins."""
    import pandas as pd

    from simulations.panels import format_factor, name_bound
    from theory.versions import VERSIONS

    named = list(dict.fromkeys(name for row in rows for name in row["bounds"]))
    order = [name for name in reversed(VERSIONS) if name in named] + [name for name in named if name not in VERSIONS]
    table: dict[str, dict[str, str]] = {}
    for row in rows:
        cells = {"simulation": _format_budget(row["simulation"])} if "simulation" in row else {}
        if "certified" in row:
            cells["certified"] = _format_budget(row["certified"]["budget"])
        for name in order:
            factor = row.get("factors", {}).get(name)
            times = "" if factor is None else f" ({format_factor(factor)}x)"
            cells[name_bound(name)] = _format_budget(row["bounds"].get(name)) + times
        table[row["strategy"]] = cells
    return str(pd.DataFrame.from_dict(table, orient="index").to_string(col_space=25))


def _write_notes(row: dict[str, Any]) -> list[str]:
    """Write launch budgets of a strategy, and why bounds do not apply."""
    from simulations.panels import name_bound

    if not row["bounds"]:
        return [f"  no bound for {row['strategy']}: {row['reason']}"] if row.get("reason") else []
    launched = [name for name in reversed(row["bounds"]) if name in row["launch_budget"]]
    budgets = ", ".join(f"{name_bound(name)} {_format_budget(row['launch_budget'][name])}" for name in launched)
    reasons = [f"  {row['strategy']}: {reason}" for reason in row.get("declined", {}).values()]
    return [f"  launch budgets of {row['strategy']}: {budgets}", *reasons] if launched else reasons


def _format_budget(budget: float | None) -> str:
    return "-" if budget is None else f"{budget:,.0f}"


def _plan_pilot(
    file: Path, given: Mapping[str, Any], delta: float, trials: int | None, seed: int
) -> list[dict[str, Any]]:
    """Plan a budget with its interval from a pilot, and those of the bounds, one row per strategy."""
    from simulations import pilot

    population = _read_pilot(file, given, seed)
    sizes = {"worlds": given["worlds"] or pilot.WORLDS, "trials": trials or pilot.TRIALS}
    plans = [pilot.plan(population, strategy, delta, seed=seed, **sizes) for strategy in PILOT_STRATEGIES]
    return [_describe_plan(plan, population) for plan in plans]


def _describe_plan(plan: PilotPlan, population: Population) -> dict[str, Any]:
    from simulations.pilot import bounds

    row: dict[str, Any] = {
        "strategy": plan.strategy.replace("_", " "),
        "budget": options.finite(plan.budget),
        "interval": [options.finite(plan.lower), options.finite(plan.upper)],
        "level": plan.level,
        "pilot": plan.rows,
        "worlds": plan.worlds,
        "trials": plan.trials,
        "best": plan.best,
        "best_in": plan.share,
        "sentence": plan.sentence(),
    }
    matched = bounds(population, plan.strategy)
    if isinstance(matched, str):
        return row | {"bounds": {}, "reason": matched}
    kind, problem = matched
    required = _find_budgets(problem, kind, plan.delta)["bounds"]
    return row | {"bounds": dict(reversed(required.items())), "reason": ""}


def _write_pilot(delta: float, rows: list[dict[str, Any]]) -> str:
    """Write the plan from a pilot."""
    from simulations.panels import name_bound

    lines = [f"Budget for a probability of at most {delta:g} to miss the best candidate:\n"]
    for row in rows:
        budgets = ", ".join(f"{name_bound(name)} {_format_budget(budget)}" for name, budget in row["bounds"].items())
        lines.append(f"{row['strategy']}: {row['sentence']}.")
        lines.append(
            f"  bounds at the pilot's parameters: {budgets or 'none' + ', ' * bool(row['reason']) + row['reason']}"
        )
    lines.append(
        f"\n{rows[0]['worlds']} bootstrap samples of the pilot, {rows[0]['trials']} trials each per tried budget. The "
        "score is that of the bounds, over the norm ball; exml explore selects by another score."
    )
    return "\n".join(lines)


def _read_pilot(file: Path, given: Mapping[str, Any], seed: int) -> Population:
    """Read complete rows from a table, or from the values that an exploration has bought."""
    import numpy as np

    from exml_sim.cli._tables import parse_na_values, read_table
    from exml_sim.population import Candidate, Population
    from simulations.pilot import check_pilot

    table = read_table(
        file, encoding=given["encoding"], delimiter=given["delimiter"], na_values=parse_na_values(given["na_values"])
    )
    if given["label"] is None:
        raise click.UsageError("a plan from a table needs --label")
    X, y, values, costs = _read_bought(table, given) if given["exploration"] else _read_measured(table, given)
    if len(values) < 2:
        raise ValueError(f"a plan needs at least 2 candidates to choose from, got {len(values)}")
    classes = np.unique(y)
    if len(classes) != 2:
        raise ValueError(f"a plan from a pilot is for 2 classes, and column {given['label']!r} has {len(classes)}")
    complete = np.flatnonzero(~np.any([np.isnan(columns).any(axis=1) for columns in values.values()], axis=0))
    number = given["pilot"] if given["pilot"] is not None else len(complete)
    rows = np.random.default_rng(seed).permutation(complete)[: check_pilot(number, len(complete))]
    signs = np.where(y[rows] == classes[1], 1, -1)
    if len(np.unique(signs)) < 2:
        raise ValueError(f"the {len(rows)} rows of the pilot have a single class: take more of them")
    candidates = [Candidate(name, columns[rows], costs[name]) for name, columns in values.items()]
    return Population(X[rows], signs, candidates)


#: Observed columns, labels, candidates and costs.
Columns = tuple[Any, Any, dict[str, Any], dict[str, Any]]


def _read_measured(table: Table, given: Mapping[str, Any]) -> Columns:
    """Read the columns of the table itself."""
    from exml_sim.cli._columns import assign_roles, parse_names, parse_offer, read_costs

    priced = () if given["costs"] is None else read_costs(given["costs"])
    offers = (*(parse_offer(text) for text in given["candidate"]), *priced)
    if not offers or given["observed"] is None:
        raise click.UsageError("a plan from a table needs --observed and --candidate, or --exploration FOLDER")
    part = assign_roles(table, given["label"], parse_names(given["observed"]), offers)
    values = {candidate.name: table.numbers(candidate.columns, blanks=True) for candidate in part.offers}
    costs = {candidate.name: candidate.cost for candidate in part.offers}
    return table.numbers(part.observed), table.text(part.label), values, costs


def _read_bought(table: Table, given: Mapping[str, Any]) -> Columns:
    """Read the columns with the values that an exploration has bought."""
    import numpy as np

    from exml_sim.classifier._journal import Journal, digest
    from exml_sim.cli._explore_files import JOURNAL
    from exml_sim.money import exact_cost

    folder = given["exploration"]
    journal = Journal.of_file(folder / JOURNAL)
    try:
        observed, costs = [str(name) for name in journal.run["observed"]], dict(journal.run["costs"])
    except (KeyError, TypeError, ValueError):
        raise ValueError(f"{folder / JOURNAL} does not say which columns were observed") from None
    X, y = table.numbers(tuple(observed)), table.text(given["label"])
    if digest(*X.T, y) != journal.run.get("table"):
        raise ValueError(f"{folder} is an exploration of another table, or of another label")
    values = {}
    for name in costs:
        bought = {row: numbers for (candidate, row), numbers in journal.values.items() if candidate == name}
        if not bought:
            raise ValueError(f"{folder} has bought no row of candidate {name!r}: no row has all of them")
        values[name] = np.full((len(y), len(next(iter(bought.values())))), np.nan)
        for row, numbers in bought.items():
            values[name][row] = numbers
    return X, y, values, {name: exact_cost(cost, name) for name, cost in costs.items()}
