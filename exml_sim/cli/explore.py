"""``exml explore``: find out which extra measurement to buy, buy it for some rows, and train a classifier."""

from __future__ import annotations

import json
from collections.abc import Sequence
from fractions import Fraction
from pathlib import Path
from typing import Any

import click
import numpy as np

from exml_sim.bandit.scoring import penalised_scores
from exml_sim.classifier import doubts, judgement
from exml_sim.classifier.ask_tell import AskTell, Wanted
from exml_sim.classifier.door import Finding, inspect, refuse
from exml_sim.classifier.explorer import Explorer
from exml_sim.classifier.settings import MODELS
from exml_sim.cli import options
from exml_sim.cli.columns import Roles, names, offer, price_list, roles
from exml_sim.cli.csv_file import Table, as_number, blank_words, read_table
from exml_sim.cli.explore_files import FILES, JOURNAL, check_target, load_drawing, make_room, write_results
from exml_sim.cli.explore_plan import as_facts, as_lines, door_section, planned, visit
from exml_sim.cli.to_measure import NAME as SHEET
from exml_sim.cli.to_measure import Sheet, read_sheet, write_sheet
from exml_sim.memory import memory_limit
from exml_sim.money import Money, show
from exml_sim.oracle import ArrayOracle
from exml_sim.progress import Elapsed
from exml_sim.strategies import STRATEGIES
from exml_sim.validation import counted


@click.command(name="explore")
@click.argument("data", type=click.Path(path_type=Path))
@click.option("--label", required=True, metavar="COLUMN", help="Column of perceived labels (two or more classes).")
@click.option("--observed", required=True, metavar="A,B,C*", help="Columns that are known for every row.")
@click.option("--candidate", metavar="NAME=COLUMNS:COST", multiple=True, help="Repeat for each.")
@click.option(
    "--prices",
    type=click.Path(path_type=Path),
    help="Table of further candidates: candidate, cost and, if they differ from the name, columns.",
)
@click.option("--budget", required=True, metavar="MONEY|PERCENT", help="500, or 20% of the price of buying everything.")
@click.option("--id", "id", metavar="COLUMN", help="Column that names the rows; it is kept in all files.")
@options.table_format
@click.option(
    "--measure", is_flag=True, help=f"Blank candidates can be measured: ask for them in {SHEET}, go on when run again."
)
@click.option(
    "--preset",
    type=click.Choice(["practice", "paper"]),
    default="practice",
    show_default=True,
    help="The best purchase that we know, or the method of the paper; single options still count.",
)
@click.option("--strategy", type=click.Choice(list(STRATEGIES)), help="[default: value_of_information_commit]")
@click.option("--confidence", type=float, metavar="SHARE", help="Buy until sure, like 0.95, then rows of the winner.")
@click.option("--epsilon", type=float, metavar="LOSS", help="Differences that do not matter, with a confidence.")
@click.option("--stop-when-confident", is_flag=True, help="Keep what is left when the selection is sure, with 0.95.")
@click.option("--model", type=click.Choice(list(MODELS)), help="What a layer is.  [default: auto]")
@click.option("--alignment", type=click.Choice(["sample", "budget"]), default="sample", show_default=True)
@click.option("--objective", type=click.Choice(["risk", "risk_per_cost"]), default="risk", show_default=True)
@click.option("--top", type=int, help="Candidates that a layer adds.  [default: as many as are worth it]")
@click.option("--layers", type=int, default=2, show_default=True, help="Layers of the cascade.")
@click.option("--cascade/--no-cascade", default=True, show_default=True, help="Or let the last layer decide alone.")
@click.option(
    "--theta", default="auto", show_default=True, help="Rejection cost of the augmented model: auto or a number."
)
@click.option("--thetas", default="0.1,0.2,0.3,0.4", show_default=True, help="What auto chooses from.")
@click.option("--validation-share", default="0.1", show_default=True, help="Part of the budget for choosing theta.")
@click.option("--target", type=float, default=0.95, show_default=True, help="Wanted accuracy on accepted rows.")
@click.option("--folds", type=int, default=5, show_default=True, help="Folds of cross-validations.")
@click.option("--candidate-score", type=click.Choice(["held_out", *penalised_scores()]), help="[default: held_out]")
@click.option("--kernel", type=click.Choice(["gaussian", "linear"]), default="gaussian", show_default=True)
@click.option("--gamma", default="median", show_default=True, help="Bandwidth of rejection models: median or a number.")
@click.option(
    "--C",
    "penalty",
    type=float,
    default=0.1,
    show_default=True,
    help="Penalty of rejection models: C_h and C_g in Python.",
)
@click.option(
    "--mislabelling",
    default="estimate",
    show_default=True,
    metavar="estimate|fair|SHARES",
    help="How hidden rows are labelled: shares of the known labels in sorted order, like 0.8,0.2, if you know them.",
)
@click.option(
    "--hidden-share",
    metavar="SHARE",
    help="About how many of all rows are hidden, if you know it: 0.1 or 10%.",
)
@click.option("--explore", type=click.Choice(["auto", "always", "never"]), default="auto", show_default=True)
@click.option("--hidden-label", default="hidden", show_default=True, help="Name of the hidden class in predictions.")
@options.seed
@options.n_jobs
@click.option("--memory", metavar="SIZE", help="Refuse what needs more memory, like 4G.  [default: what is free]")
@click.option("--anyway", is_flag=True, help="Go on although the door check says no.")
@click.option("--dry-run", is_flag=True, help="Print the purchase plan and its cost; buy and write nothing.")
@click.option(
    "--out", type=click.Path(path_type=Path), default=Path("exml-out"), show_default=True, help="Folder for results."
)
@click.option("--force", is_flag=True, help="Replace the results of an earlier run; measured values are kept.")
@options.quiet
@options.as_json
def command(
    data: Path,
    label: str,
    observed: str,
    candidate: tuple[str, ...],
    prices: Path | None,
    id: str | None,
    encoding: str,
    delimiter: str | None,
    blank: str | None,
    measure: bool,
    memory: str | None,
    anyway: bool,
    dry_run: bool,
    out: Path,
    force: bool,
    quiet: bool,
    as_json: bool,
    **given: Any,
) -> None:
    """Explore the candidates of the table DATA (CSV, .gz or Parquet) with a budget.

    Values of a candidate count as bought when they are read, and only bought ones are read. Rows in which a candidate
    is blank cannot be bought for it, unless --measure says that you can measure them. Every bought value is written to
    a journal at once: a run that was interrupted goes on when the same command is given again.

    Columns are separated by commas; a name with a comma stands in double quotes; * and ? are wildcards, which take the
    columns that have no other role.

    Example: exml explore table.csv --label y --observed x1,x2 --candidate ct=a10:1 --candidate mri=a90:1.2 --budget 20%
    """
    if not dry_run:
        check_target(out, force)
    limit = None if memory is None else memory_limit(memory)
    offers = (*(offer(text) for text in candidate), *(() if prices is None else price_list(prices)))
    if not offers:
        raise click.UsageError("Missing option '--candidate' (or '--prices')")
    table = read_table(data, encoding=encoding, delimiter=delimiter, blank=blank_words(blank))
    part = roles(table, label, names(observed), offers, id, measure)
    X, y, oracle = _problem(table, part, measure)
    model = _model(given)
    available = [len(X) if measure else int(oracle.available(name).sum()) for name in oracle.names]
    plan = planned(model, oracle, available, len(np.unique(y)))
    findings = inspect(visit(model, X, y, oracle, available, part.observed, plan.opening, limit))
    if not anyway:
        refuse(findings)
    if dry_run:
        shown = {**plan.facts, "findings": [as_facts(one) for one in findings]}
        click.echo(json.dumps(shown, indent=2) if as_json else "\n".join([*as_lines(findings), plan.text]))
        return
    about = {"candidates": {one.name: list(one.columns) for one in part.offers}, "observed": list(part.observed)}
    costs = dict(zip(oracle.names, oracle.costs, strict=True))
    start = (model, X, y, costs)
    how: dict[str, Any] = {"source": oracle, "measurable": measure, "about": about}
    if force and out.exists():
        make_room(out, AskTell(*start, **how).journal.run)
    line = Elapsed(f"exploring {len(X)} rows", not quiet and not as_json)
    how["watch"] = lambda bought: line.say(f"exploring {len(X)} rows, {_values(bought)} bought")
    run = AskTell(*start, journal=out / JOURNAL, **how)
    load_drawing()
    with options.resumable(f"what was bought is in {out / JOURNAL}, and the same command goes on"), line:
        wanted, sheet = _advance(run, out / SHEET, table, part)
    if wanted is not None:
        _ask(run, wanted, sheet, out / SHEET, table, part, as_json)
        return
    report = "\n".join([model.report(), *door_section(findings)])
    write_results(out, model, table, part, X, y, run.journal, report, data.name)
    if as_json:
        click.echo(json.dumps(_result(model, findings, out), indent=2))
        return
    if not quiet:
        click.echo(report)
        if run.unused:
            were = "1 recorded value was" if run.unused == 1 else f"{run.unused} recorded values were"
            click.echo(f"{were} not needed in the end.")
    click.echo(f"Saved {', '.join(FILES)} in {out}.")


def _advance(run: AskTell, path: Path, table: Table, part: Roles) -> tuple[Wanted | None, Sheet]:
    """Go on with what is filled in; it is in the journal before anything else happens.

    A sheet answers the purchase that it was written for; a line that only a later one would ask for is not read.
    """
    wanted, sheet = run.ask(), Sheet()
    if wanted is None or not path.exists():
        return wanted, sheet
    sheet = read_sheet(path, table, part, wanted.rows)
    if not sheet.filled:
        return wanted, sheet
    answers = {}
    for name, found in sheet.values.items():
        blank = (float("nan"),) * len(next(iter(found.values())))
        answers[name] = [found.get(int(row), blank) for row in wanted.rows[name]]
    run.tell(answers, sheet.lost)
    return run.ask(), sheet


def _ask(run: AskTell, wanted: Wanted, sheet: Sheet, path: Path, table: Table, part: Roles, as_json: bool) -> None:
    """Say what to measure; a sheet that has room for all of it stays as it is."""
    lacking = {(name, int(row)) for name, rows in wanted.rows.items() for row in rows}
    half_way = bool(sheet.keys) and lacking <= sheet.keys
    path.parent.mkdir(parents=True, exist_ok=True)
    run.journal.begin()
    if not half_way:
        write_sheet(path, table, part, wanted, sheet.partial)
    costs = {one.name: one.cost for one in part.offers}
    before = sum((costs[name] for name, _ in run.journal.values), Fraction(0))
    if as_json:
        counts = {name: len(rows) for name, rows in wanted.rows.items()}
        found: dict[str, Any] = {"state": "to measure", "file": str(path), "values": counts, "cost": show(wanted.cost)}
        missing = [dict(zip((table.unit, "candidate", "column"), one, strict=True)) for one in sheet.missing]
        found |= {"measured": show(before), "missing": missing if half_way else None}
        click.echo(json.dumps(found, indent=2))
        return
    listed = ", ".join(f"{len(rows)} of {name}" for name, rows in wanted.rows.items())
    if half_way:
        line, name, column = sheet.missing[0]
        click.echo(
            f"{path} still lacks {_values(len(wanted))} ({listed}); the first is {table.unit} {line}, {name}, column "
            f"{column}. What is filled in is kept: fill in the rest and run the same command again."
        )
        return
    click.echo(
        f"Measure {_values(len(wanted))} ({listed}) for {show(wanted.cost)}, after {show(before)} so far: fill in "
        f"{path} and run the same command again. Write {'lost'!r} for a row that cannot be measured."
    )


def _values(number: int) -> str:
    return counted(number, "value")


def _model(given: dict[str, Any]) -> Explorer:
    """Options as parameters of the classifier."""
    read = {
        **money(given["budget"]),
        "theta": _theta(given["theta"]),
        "thetas": [_number(text, "--thetas must be numbers in (0, 1/2)") for text in given["thetas"].split(",")],
        "gamma": _gamma(given["gamma"]),
        "mislabelling": _mislabelling(given["mislabelling"]),
        "hidden_share": _share(given["hidden_share"]),
        "C_h": given["penalty"],
        "C_g": given["penalty"],
        "random_state": given["seed"],
    }
    others = {name: given[name] for name in given if name not in ("budget", "penalty", "seed", "preset")}
    wanted = {name: value for name, value in {**others, **read}.items() if value is not None}
    return Explorer.paper(**wanted) if given["preset"] == "paper" else Explorer(**wanted)


def _number(text: str, what: str) -> float:
    try:
        return as_number(text)
    except ValueError:
        raise ValueError(f"{what}, got {text!r}") from None


def _theta(text: str) -> float | str:
    return text if text == "auto" else _number(text, "--theta must be auto or a number in (0, 1/2)")


def _gamma(text: str) -> float | str:
    return text if text == "median" else _number(text, "--gamma must be median or a number")


def _mislabelling(text: str) -> list[float] | str:
    if text.strip() in ("estimate", "fair"):
        return text.strip()
    return [_number(one, "--mislabelling must be estimate, fair or shares like 0.8,0.2") for one in text.split(",")]


def _share(text: str | None) -> float | None:
    """Read 0.1 and 10% alike."""
    if text is None:
        return None
    what = "--hidden-share must be a share like 0.1 or 10%"
    share = _number(text.strip().removesuffix("%"), what) / (100.0 if text.strip().endswith("%") else 1.0)
    if not 0.0 < share < 1.0:
        raise ValueError(f"{what}, above 0 and below 1, got {text!r}")
    return share


def money(budget: str) -> dict[str, Money]:
    """Read 500 as money and 20% as a ratio."""
    text = budget.strip()
    if not text.endswith("%"):
        return {"budget": text}
    try:
        return {"budget_ratio": Fraction(text[:-1].strip()) / 100}
    except (ValueError, ZeroDivisionError):
        raise ValueError(f"--budget must be an amount like 500 or a percentage like 20%, got {budget!r}") from None


def _problem(table: Table, part: Roles, measure: bool) -> tuple[Any, Any, ArrayOracle]:
    y, X = table.text(part.label), table.numbers(part.observed)
    values = {}
    for one in part.offers:
        there = not measure or any(table.has(column) for column in one.columns)
        blank = np.full((len(table), len(one.columns)), np.nan)
        values[one.name] = table.numbers(one.columns, blanks=True) if there else blank
    classes = np.unique(y)
    if len(classes) < 2:
        raise ValueError(f"column {part.label!r} has a single class, {str(classes[0])!r}: at least 2 are needed")
    for one in part.offers:
        if not measure and np.isnan(values[one.name]).any(axis=1).all():
            raise ValueError(
                f"candidate {one.name!r} is blank in every row: there is nothing to buy; if you can measure it, "
                "--measure asks for the rows that are worth it"
            )
    return X, y, ArrayOracle(values, {one.name: one.cost for one in part.offers})


def _result(model: Explorer, findings: Sequence[Finding], out: Path) -> dict[str, Any]:
    """What came out, as plain values; money is text, because it is exact."""
    return {
        "state": "done",
        "explored": model.explored_,
        "selected": list(model.selected_),
        "budget": show(model.budget_),
        "spent": show(model.ledger_.spent),
        "layers": doubts.facts(model.records_, model.ledger_.names),
        "held_out": judgement.facts(model.judgement_),
        "doubts": doubts.doubts(model.records_, model.ledger_.names),
        "findings": [as_facts(one) for one in findings],
        "files": [str(out / name) for name in FILES],
    }
