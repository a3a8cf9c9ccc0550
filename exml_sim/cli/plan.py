"""``exml plan``: print the budget that is needed, by the bounds and in simulation."""

from __future__ import annotations

from dataclasses import replace
from fractions import Fraction
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from exml_sim.cli import _options as options
from exml_sim.cli.bound import describe_problem, problem_options, read_problem

if TYPE_CHECKING:
    from exml_sim.engine.study import Study
    from simulations.panels import Panel
    from theory import BoundProblem
    from theory.paper import Strategy

#: Options of a plan from a table.
TABLE_OPTIONS = (
    *("pilot", "label", "observed", "candidate", "costs", "categories"),
    *("value_per_correct", "rows_to_predict", "encoding", "delimiter", "na_values"),
)
PROBLEM_OPTIONS = ("K", "theta", "kappa_lambda", "gap", "gaps", "strategy", "kernel", "rows", "population")
_POOL_OPTIONS = ("delta", "certify", "out", "plugins", "trust")
#: Options of every kind of plan, beside --quiet and --json.
OPTIONS = {
    "a table with --pilot": ("file", "seed", *TABLE_OPTIONS),
    "parameters": ("delta", *PROBLEM_OPTIONS),
    "a store": ("store", *_POOL_OPTIONS),
    "a pool": ("file", "trials", "seed", "n_jobs", *_POOL_OPTIONS),
}


_table_options = options.combine(
    click.option("--pilot", type=int, metavar="ROWS", help="Complete rows that the plan is made from."),
    click.option("--label", metavar="COLUMN", help="Column of observed labels, with a table."),
    click.option("--observed", metavar="A,B,C*", help="Columns that are known for every row, with a table."),
    click.option("--candidate", metavar="NAME=COLUMNS:COST", multiple=True, help="Repeat for each, with a table."),
    click.option("--costs", type=click.Path(path_type=Path), help="Table of further candidates."),
    options.categories,
    options.table_format,
    options.worth,
)


@click.command(name="plan")
@click.argument("file", metavar="[STUDY.toml|TABLE]", required=False, type=click.Path(exists=True, path_type=Path))
@click.option("--delta", type=float, default=0.05, show_default=True, help="Wanted probability of a miss.")
@problem_options
@options.store("Read the budget needed in simulation from a store instead of running trials.")
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
    on the synthetic pool, or on the pools of a study's file, or read from a store.

    With a table and --pilot: the expected accuracy of exml explore versus its budget, with an interval. With
    --value-per-correct and --rows-to-predict also the expected net benefit, the best budget and the break-even budget.

    With --certify: also the smallest budget whose failure probability is certified by simulation to be at most delta,
    with confidence 1 - 1e-9. The trials use a seed that nobody chose, a digest of pool, strategy and budget. The
    certificates are written to the folder; exml verify FILE repeats them.

    Examples: exml plan --delta 0.05 --K 8 --theta 0.1 --kappa-lambda 0.5 --gap 0.2; exml plan --delta 0.05;
    exml plan table.csv --pilot 60 --label y --observed x1,x2 --candidate ct=a10:1 --candidate mri=a90:1
    --value-per-correct 3 --rows-to-predict 5000
    """
    if not 0.0 < delta < 1.0:
        raise ValueError(f"delta must be strictly between 0 and 1, got {delta:g}")
    table = {name: given.pop(name) for name in TABLE_OPTIONS}
    has_problem = any(options.is_typed(name) for name in PROBLEM_OPTIONS)
    has_table = table["pilot"] is not None
    from_table, from_parameters, from_store, from_pool = OPTIONS
    _check_options(from_table if has_table else from_parameters if has_problem else from_store if store else from_pool)
    if has_table:
        if file is None:
            raise click.UsageError("--pilot goes with a table")
        from exml_sim.cli._table_plan import plan_table

        plan = plan_table(file, table, seed or 0)
        options.emit(plan.to_dict(), plan.text(), as_json)
        return
    if has_problem:
        rows = _plan_problem(delta, given)
    else:
        folder = out if certify else None
        study, panels = _simulate(file, store, delta, trials, seed, n_jobs, not quiet, certify, plugins, trust)
        rows = [_plan_panel(study, panel, delta, n_jobs, not quiet, folder) for panel in panels]
    options.emit({"delta": delta, "budgets": rows}, _write_budgets(delta, rows), as_json)


def _check_options(kind: str) -> None:
    """Report an option that does not go with this kind of plan."""
    for name in click.get_current_context().params:
        if options.is_typed(name) and name not in (*OPTIONS[kind], "quiet", "as_json"):
            shown = "a file" if name == "file" else f"--{name.replace('_', '-')}"
            remedy = ": --pilot ROWS plans for a table" if name in OPTIONS["a table with --pilot"] else ""
            raise click.UsageError(f"{shown} does not go with a plan from {kind}{remedy}")
    if options.is_typed("out") and not options.is_typed("certify"):
        raise click.UsageError("--out is the folder of certificates: give --certify as well")


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


def _simulate(
    file: Path | None,
    store: Path | None,
    delta: float,
    trials: int | None,
    seed: int | None,
    n_jobs: int,
    progress: bool,
    certify: bool,
    plugins: tuple[Path, ...],
    trust: bool,
) -> tuple[Study, list[Panel]]:
    """Run trials at the budgets around the needed one, or read them from a store."""
    from exml_sim.engine.bound_context import describe_missing
    from exml_sim.engine.result import StudyResult
    from exml_sim.engine.study import Study
    from simulations import _needed_budget as needed_budget
    from simulations import budget_vs_failure
    from simulations.certificates import RARE
    from simulations.panels import make_panels

    if store is not None:
        with StudyResult.open(store, plugins=plugins, trust=trust) as result:
            if missing := describe_missing(result.study):
                click.echo(missing, err=True)
            return result.study, make_panels(result)
    study = Study.from_toml(file, plugins=plugins, trust=trust) if file else budget_vs_failure.make_study(1)
    study = study if seed is None else replace(study, seed=seed)
    # A small failure probability is certified with weighted trials, and plain ones would take hours.
    number = trials or (1000 if certify and delta < RARE else needed_budget.enough_trials(delta))
    return study, needed_budget.search(study, delta, number, n_jobs=n_jobs, progress=progress)


def _plan_panel(
    study: Study, panel: Panel, delta: float, n_jobs: int, progress: bool, folder: Path | None
) -> dict[str, Any]:
    """Find the budget needed in simulation next to those of the bounds, with a certificate if a folder is given."""
    from simulations.panels import find_needs

    needs = find_needs(panel, delta)
    simulated = None if needs.simulated is None else float(needs.simulated)
    budgets: dict[str, Any] = {"launch_budget": {}, "bounds": {}}
    if panel.problem:
        budgets = _find_budgets(panel.problem, panel.kind, delta)
    curves = {bound.name: bound.required(delta) for bound in panel.curves if bound.name in panel.versions}
    certified = {} if folder is None else {"certified": _certify(study, panel, delta, n_jobs, progress, folder)}
    if (budget := certified.get("certified", {}).get("budget")) is not None:
        # Practice is the certified budget where there is one.
        needs = replace(needs, simulated=Fraction(budget))
    return {
        **certified,
        "strategy": panel.title,
        "where": panel.place,
        "simulation": simulated,
        "fewest_trials": min(cell.trials for cell in panel.cells),
        "trials": max(cell.trials for cell in panel.cells),
        **budgets,
        "bounds": budgets["bounds"] | curves,
        "factors": {name: options.finite(needs.factor(name)) for name in needs.bounds},
        "reason": panel.reason,
    }


def _certify(study: Study, panel: Panel, delta: float, n_jobs: int, progress: bool, folder: Path) -> dict[str, Any]:
    """Certify the budget of a panel by simulation, and write the certificate."""
    from exml_sim._internal.progress import Line
    from simulations.certificates import search_budget

    cell = next(cell for cell in study.cells() if cell.labels == (panel.pool, panel.score, panel.strategy))
    line = Line(progress)
    try:
        certificate = search_budget(study, cell, delta, n_jobs=n_jobs, notify=line.show)
    except ValueError as error:
        return {"budget": None, "alpha": None, "sentence": f"No budget was certified: {error}.", "file": None}
    finally:
        line.close()
    budget = None if certificate.budget is None else float(certificate.budget)
    place = str(certificate.save(folder))
    return {"budget": budget, "alpha": certificate.alpha, "sentence": certificate.sentence, "file": place}


def _write_budgets(delta: float, rows: list[dict[str, Any]]) -> str:
    """Write one table per pool, and below it launch budgets and reasons."""
    from exml_sim.engine.bound_context import MAX_BUDGET
    from simulations.certificates import ALPHA
    from simulations.panels import CONFIDENCE
    from theory.budgets import LARGEST_BUDGET

    parts = []
    for where in dict.fromkeys(row["where"] for row in rows):
        group = [row for row in rows if row["where"] == where]
        parts.append(f"Budget for a probability of at most {delta:g} to miss the best candidate: {where}.\n")
        parts += _write_table(group)
        for row in group:
            parts += _write_notes(row)
            if "certified" in row:
                replay = f" Replay: exml verify {row['certified']['file']}" if row["certified"]["file"] else ""
                parts.append(f"  {row['strategy']}: {row['certified']['sentence']}{replay}")
        if "simulation" in group[0]:
            fewest, most = min(row["fewest_trials"] for row in group), max(row["trials"] for row in group)
            trials = f"{most:,}" if fewest == most else f"{fewest:,} to {most:,}"
            parts.append(
                f"  simulation: smallest tried budget from which on the {CONFIDENCE:.0%} upper limit is at most "
                f"{delta:g}; {trials} trials per budget"
            )
            if "certified" in group[0]:
                parts.append(
                    f"  certified: confidence 1 - {ALPHA:.0e}, from as many trials as that takes, so the budget can be "
                    "below the simulated one; factors divide by it"
                )
        if any(budget is None for row in group for budget in row["bounds"].values()):
            parts.append(
                f"  none: no budget that was searched, up to {LARGEST_BUDGET:.1e}; for bounds of plug-ins and of the "
                f"literature up to {MAX_BUDGET:.1e}"
            )
        parts.append("")
    return "\n".join(parts)


def _write_table(rows: list[dict[str, Any]]) -> list[str]:
    """Write budgets, bounds down from the sharpest to the paper's, strategies across."""
    from simulations.panels import name_bound

    columns: dict[str, dict[str, tuple[float | None, float | None]]] = {}
    for row in rows:
        column = columns[row["strategy"]] = {}
        if "simulation" in row:
            column["simulation"] = (row["simulation"], None)
        if "certified" in row:
            column["certified"] = (row["certified"]["budget"], None)
        for name in reversed(row["bounds"]):
            column[name_bound(name)] = (row["bounds"][name], row.get("factors", {}).get(name))
    return options.tabulate_budgets(columns, "budget")


def _write_notes(row: dict[str, Any]) -> list[str]:
    """Write launch budgets of a strategy, and why bounds do not apply."""
    from simulations.panels import name_bound

    if not row["bounds"]:
        return [f"  no bound for {row['strategy']}: {row['reason']}"] if row.get("reason") else []
    launched = [name for name in reversed(row["bounds"]) if name in row["launch_budget"]]
    budgets = ", ".join(f"{name_bound(name)} {options.write_budget(row['launch_budget'][name])}" for name in launched)
    reasons = [f"  {row['strategy']}: {reason}" for reason in row.get("declined", {}).values()]
    return [f"  launch budgets of {row['strategy']}: {budgets}", *reasons] if launched else reasons
