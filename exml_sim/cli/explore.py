"""``exml explore``: find out which candidate to buy, buy it for some rows, and train a classifier."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Collection, Sequence
from inspect import cleandoc, signature
from pathlib import Path
from typing import Any

import click
import numpy as np
from numpy.typing import NDArray

from exml_sim._internal.columns import Cells, RawTable, parse_number
from exml_sim._internal.progress import Elapsed
from exml_sim._internal.validation import counted
from exml_sim.bandit.scoring import LOSSES
from exml_sim.classifier._ask_tell import AskTell, MeasurementRequest
from exml_sim.classifier._journal import Journal
from exml_sim.classifier._preflight import (
    CANDIDATE_SCORES,
    EXPLORE,
    HIDDEN,
    MODELS,
    DataSummary,
    check_data,
    diagnose_levels,
    raise_errors,
)
from exml_sim.classifier._probability_models import encode_groups
from exml_sim.classifier._rejection_model import SCALINGS
from exml_sim.classifier._saved_model import Layout
from exml_sim.classifier.budget_plan import check_value, plan_budget, plan_purchase
from exml_sim.classifier.constants import MAX_KERNEL_ROWS
from exml_sim.classifier.estimator import BaseExMLClassifier
from exml_sim.classifier.evaluation import Diagnostic
from exml_sim.classifier.report import escape_markdown, layers_to_dict
from exml_sim.cli import _options as options
from exml_sim.cli._explore_files import FILES, JOURNAL, check_target, clear_target, write_results
from exml_sim.cli._measurement_request import NAME as REQUEST
from exml_sim.cli._measurement_request import FilledRequest, read_request, write_request
from exml_sim.cli._tables import (
    Roles,
    Table,
    assign_roles,
    parse_na_values,
    parse_names,
    read_offers,
    read_table,
)
from exml_sim.money import show
from exml_sim.oracle import ArrayOracle

#: Parameters of the classifier that are no options, or that an option of another name sets.
_NO_OPTIONS = ("budget", "budget_ratio", "random_state", "n_jobs", "candidates", "costs", "C_h", "C_g")
#: Parameters that are a number or a word; label_noise may also be a list.
_PARSED = {"theta", "gamma", "hidden_share"}
_CHOICES: dict[str, Sequence[str]] = {
    "alignment": ("sample", "budget"),
    "objective": ("risk", "risk_per_cost"),
    "explore": EXPLORE,
    "candidate_score": CANDIDATE_SCORES,
    "hidden": HIDDEN,
    "model": MODELS,
    "loss": LOSSES,
    "scaling": SCALINGS,
}


def _describe_parameters() -> dict[str, str]:
    """Return the first sentence of every parameter in the docstring of the classifier."""
    text = (
        cleandoc(BaseExMLClassifier.__doc__ or "").partition("Parameters\n----------\n")[2].partition("\nAttributes")[0]
    )
    entries = re.findall(r"^(\w[\w, ]*?)(?: : [^\n]*)?\n((?:    [^\n]*\n?)+)", text, re.MULTILINE)
    sentences = {names: re.split(r"(?<=[.;:])\s", " ".join(body.split()))[0] for names, body in entries}
    plain = {names: sentence.rstrip(".;:").replace("`", "") + "." for names, sentence in sentences.items()}
    return {name: sentence for names, sentence in plain.items() for name in names.split(", ")}


def parameter_options(command: Callable[..., Any]) -> Callable[..., Any]:
    """Add one option for every parameter of the classifier, with its default and description."""
    descriptions = _describe_parameters()
    for name, parameter in reversed(list(signature(BaseExMLClassifier.__init__).parameters.items())):
        if name == "self" or name in _NO_OPTIONS:
            continue
        default, flag = parameter.default, f"--{name.replace('_', '-')}"
        hint = "" if default is None or default is False else f"  [default: {default}]"
        how: dict[str, Any] = {"default": None, "help": descriptions.get(name, "") + hint}
        if isinstance(default, bool):
            flag += f"/--no-{name.replace('_', '-')}" if default else ""
            how["is_flag"] = True
        elif name in _CHOICES:
            how["type"] = click.Choice(list(_CHOICES[name]))
        elif name == "max_candidates" or isinstance(default, int):
            how["type"] = int
        elif isinstance(default, float) and name != "validation_fraction":
            how["type"] = float
        command = click.option(flag, name, **how)(command)
    return command


@click.command(name="explore")
@click.argument("data", type=click.Path(path_type=Path))
@click.option("--label", required=True, metavar="COLUMN", help="Column of observed labels (two or more classes).")
@click.option("--observed", required=True, metavar="A,B,C*", help="Columns that are known for every row.")
@click.option("--candidate", metavar="NAME=COLUMNS:COST", multiple=True, help="Repeat for each.")
@click.option(
    "--costs",
    type=click.Path(path_type=Path),
    help="Table of further candidates: candidate, cost and, if they differ from the name, columns.",
)
@click.option("--budget", required=True, metavar="MONEY|PERCENT", help="500, or 20% of the cost of buying everything.")
@click.option("--id", "id", metavar="COLUMN", help="Column that names the rows; it is kept in all files.")
@click.option("--groups", metavar="COLUMN", help="Column of persons or sites, whose rows stay in one fold.")
@options.table_format
@options.categories
@options.worth
@click.option(
    "--request-measurements",
    is_flag=True,
    help=f"Missing values can be measured: request them in {REQUEST}, continue when run again.",
)
@click.option(
    "--preset",
    type=click.Choice(["practice", "paper"]),
    default="practice",
    show_default=True,
    help="The defaults, or the method of the paper; single options still count.",
)
@parameter_options
@click.option("--C", "penalty", type=float, help="Penalty of rejection models: C_h and C_g in Python.  [default: 0.1]")
@options.seed
@options.n_jobs
@click.option("--ignore-errors", is_flag=True, help="Continue in spite of errors of the preflight checks.")
@click.option("--dry-run", is_flag=True, help="Print the purchase plan and its cost; buy and write nothing.")
@click.option(
    "--out", type=click.Path(path_type=Path), default=Path("exml-out"), show_default=True, help="Folder for results."
)
@click.option(
    "--continue",
    "top_up",
    is_flag=True,
    help="Continue the run in --out with a larger budget, which counts what it spent, or with further candidates. "
    "Without --seed it keeps its seed.",
)
@click.option("--force", is_flag=True, help="Replace the results of an earlier run; measured values are kept.")
@options.quiet
@options.as_json
def command(
    data: Path,
    label: str,
    observed: str,
    candidate: tuple[str, ...],
    costs: Path | None,
    id: str | None,
    groups: str | None,
    encoding: str,
    delimiter: str | None,
    na_values: str | None,
    categories: str | None,
    value_per_correct: float | None,
    rows_to_predict: int | None,
    request_measurements: bool,
    ignore_errors: bool,
    dry_run: bool,
    out: Path,
    top_up: bool,
    force: bool,
    quiet: bool,
    as_json: bool,
    **given: Any,
) -> None:
    """Explore the candidates of the table DATA (CSV, .gz or Parquet) with a budget.

    Values of a candidate count as bought when they are read, and only bought ones are read. Rows in which a candidate
    is missing cannot be bought for it, unless --request-measurements says that you can measure them. Every bought value
    is written to a journal at once: an interrupted run continues when the same command is given again.

    Columns may hold numbers, texts, booleans and dates; missing cells of observed columns are encoded as such.

    Columns are separated by commas; a name with a comma stands in double quotes; * and ? are wildcards, which match the
    columns that have no other role.

    Example: exml explore table.csv --label y --observed x1,x2 --candidate ct=a10:1 --candidate mri=a90:1.2 --budget 20%
    """
    worth: dict[str, Any] = {"value_per_correct": value_per_correct, "rows_to_predict": rows_to_predict}
    check_value(**worth)
    if not dry_run:
        check_target(out, force, top_up)
    offers = read_offers(candidate, costs)
    if not offers:
        raise click.UsageError("Missing option '--candidate' (or '--costs')")
    table = read_table(data, encoding=encoding, delimiter=delimiter, na_values=parse_na_values(na_values))
    roles = assign_roles(table, label, parse_names(observed), offers, id, request_measurements, groups)
    group_names = None if groups is None else table.text(groups)
    if group_names is not None:
        encode_groups(group_names, len(table))
    if id is not None:
        table.raw(id)
    levels = () if categories is None else parse_names(categories)
    with table.name_lines():
        X, y, oracle = read_problem(table, roles, request_measurements, levels)
        layout = Layout.of(X)
        available = [len(X) if request_measurements else int(oracle.available(name).sum()) for name in oracle.names]
    if top_up and (out / JOURNAL).exists() and not options.is_typed("seed"):
        given["seed"] = Journal.of_file(out / JOURNAL).run.get("random_state", given["seed"])
    model = _make_model(given)
    plan = plan_purchase(model, oracle, available, len(np.unique(y)))
    summary = DataSummary(
        X=layout.split(X)[0],
        y=y,
        names=oracle.names,
        costs=oracle.costs,
        available=available,
        budget=plan.budget,
        columns=layout.feature_names,
        first_rows=plan.first_rows,
        max_kernel_rows=None if model.resolve(len(np.unique(y))).uses_rejection else MAX_KERNEL_ROWS,
    )
    diagnostics = (*diagnose_levels(oracle.encodings), *check_data(summary))
    if not ignore_errors:
        raise_errors(diagnostics)
    if dry_run:
        values = plan.to_dict() | {"preflight": [diagnostic.to_dict() for diagnostic in diagnostics]}
        click.echo(json.dumps(values, indent=2) if as_json else "\n".join([*_sentences(diagnostics), plan.text()]))
        return
    about: dict[str, Any] = {"candidates": {o.name: list(o.columns) for o in roles.offers}}
    about |= {"observed": list(roles.observed), "categories": list(levels), "measurable": request_measurements}
    about["groups"] = groups
    start = (model, X, y, dict(zip(oracle.names, oracle.costs, strict=True)))
    how: dict[str, Any] = {"source": oracle, "measurable": request_measurements, "about": about}
    how["groups"] = group_names
    if force and out.exists():
        clear_target(out, AskTell(*start, **how).journal.run)
    progress = Elapsed(f"exploring {len(X)} rows", not quiet and not as_json)
    how["watch"] = lambda n: progress.say(f"exploring {len(X)} rows, {counted(n, 'value')} bought")
    run = AskTell(*start, journal=out / JOURNAL, top_up=top_up, **how)
    with options.resumable(f"bought values are in {out / JOURNAL}; run the same command to continue"), progress:
        request, filled = _advance(run, out / REQUEST, table, roles, levels)
    if request is not None:
        _request(run, request, filled, out / REQUEST, table, roles, as_json)
        return
    headline, _, details = model.report().partition("## ")
    if value_per_correct is not None and model.explored_:
        budget_plan = plan_budget(model, oracle.costs, min(available), **worth)
        headline += f"{budget_plan.advice}\n\n"
        details += f"\n## Further money\n\n```\n{budget_plan.text()}\n```\n"
    checks = [f"- {escape_markdown(sentence)}" for sentence in _sentences(diagnostics)]
    report = "\n".join([f"{headline}## {details}", "## Preflight checks", "", *checks, ""])
    write_results(out, model, table, roles, X, y, run.journal, report, data.name)
    if as_json:
        click.echo(json.dumps(_to_dict(model, diagnostics, out), indent=2))
        return
    click.echo(headline.removeprefix("# Report").strip())
    if not quiet:
        for sentence in _sentences([item for item in diagnostics if item.severity == "warning"]):
            click.echo(sentence)
    click.echo(f"Saved {', '.join(FILES)} in {out}.")


def _sentences(diagnostics: Sequence[Diagnostic]) -> list[str]:
    starts = {"error": "Error: ", "warning": "Warning: ", "note": ""}
    return [f"{starts[diagnostic.severity]}{diagnostic.message}." for diagnostic in diagnostics]


def _advance(
    run: AskTell, path: Path, table: Table, roles: Roles, categories: Collection[str]
) -> tuple[MeasurementRequest | None, FilledRequest]:
    """Continue with filled-in values, which are in the journal before anything else happens.

    A file answers the request that it was written for; a line that only a later one would need is not read.
    """
    request, filled = run.ask(), FilledRequest()
    if request is None or not path.exists():
        return request, filled
    columns = {offer.name: offer.columns for offer in roles.offers}
    filled = read_request(path, table, columns, run, request.rows, categories)
    if not filled.values and not filled.lost:
        return request, filled
    unknown = run.count_unknown(filled.values)
    if unknown:
        listed = ", ".join(f"{count} of column {column!r}" for column, count in unknown.items())
        click.echo(f"exml: values that the first request of their candidate did not have: {listed}", err=True)
    run.tell(filled.values, filled.lost)
    return run.ask(), filled


def _request(
    run: AskTell,
    request: MeasurementRequest,
    filled: FilledRequest,
    path: Path,
    table: Table,
    roles: Roles,
    as_json: bool,
) -> None:
    """Print what to measure; a file that has room for all of it stays as it is."""
    lacking = {(name, int(row)) for name, rows in request.rows.items() for row in rows}
    is_partial = bool(filled.keys) and lacking <= filled.keys
    path.parent.mkdir(parents=True, exist_ok=True)
    run.journal.begin()
    if not is_partial:
        write_request(path, table, roles, request, filled.partial)
    counts = {name: len(rows) for name, rows in request.rows.items()}
    if as_json:
        missing = [dict(zip((table.unit, "candidate", "column"), cell, strict=True)) for cell in filled.missing]
        values: dict[str, Any] = {
            "state": "to measure",
            "file": str(path),
            "values": counts,
            "cost": show(request.cost),
        }
        values |= {"measured": show(request.before), "missing": missing if is_partial else None}
        click.echo(json.dumps(values, indent=2))
        return
    if is_partial:
        line, name, column = filled.missing[0]
        lacks = {name: count - filled.waiting.get(name, 0) for name, count in counts.items()}
        listed = ", ".join(f"{count} of {name}" for name, count in lacks.items())
        click.echo(
            f"{path} still lacks {counted(sum(lacks.values()), 'value')} ({listed}); the first is {table.unit} {line}, "
            f"{name}, column {column}. Filled-in values are kept: fill in the rest and run the same command again."
        )
        return
    listed = ", ".join(f"{count} of {name}" for name, count in counts.items())
    click.echo(
        f"Measure {counted(len(request), 'value')} ({listed}) for {show(request.cost)}, after {show(request.before)} "
        f"so far: fill in {path} and run the same command again. Write 'lost' for a row that cannot be measured."
    )


def _make_model(given: dict[str, Any]) -> BaseExMLClassifier:
    """Turn options into parameters of the classifier; options that are not given keep its defaults."""
    preset, penalty, budget = given.pop("preset"), given.pop("penalty"), given.pop("budget")
    parameters = {name: value for name, value in given.items() if value is not None and name != "seed"}
    for name in _PARSED & parameters.keys():
        parameters[name] = _parse_option(parameters[name])
    if "label_noise" in parameters:
        parts = [_parse_option(part) for part in parameters["label_noise"].split(",")]
        parameters["label_noise"] = parts if len(parts) > 1 else parts[0]
    parameters |= {"budget": budget, "random_state": given["seed"]}
    parameters |= {} if penalty is None else {"C_h": penalty, "C_g": penalty}
    return BaseExMLClassifier.paper(**parameters) if preset == "paper" else BaseExMLClassifier(**parameters)


def _parse_option(text: str) -> Any:
    """Return a number, a fraction from a percentage, or else the text; the classifier checks what they mean."""
    number = parse_number(text.strip().removesuffix("%"))
    if number is None:
        return text.strip()
    return number / 100.0 if text.strip().endswith("%") else number


def read_problem(
    table: Table, roles: Roles, measurable: bool = False, categories: Collection[str] = ()
) -> tuple[RawTable, NDArray[np.str_], ArrayOracle]:
    """Return observed columns, labels and the oracle of the candidates.

    Parameters
    ----------
    measurable : bool
        Whether missing values can be measured; then a row with a blank cell is measured as a whole.
    categories : collection of str
        Columns whose numbers are names of levels.
    """
    y, X = table.text(roles.label), table.raw_table(roles.observed, categories)
    classes = np.unique(y)
    values = {}
    blank = Cells(np.full(len(table), np.nan), "number")
    for offer in roles.offers:
        if measurable and not any(table.has(column) for column in offer.columns):
            values[offer.name] = RawTable(offer.columns, (blank,) * len(offer.columns))
            continue
        raw = table.raw_table(offer.columns, categories)
        values[offer.name] = raw.clear_rows(np.atleast_1d(raw.missing.any(axis=1))) if measurable else raw
    if len(classes) < 2:
        raise ValueError(f"column {roles.label!r} has a single class, {str(classes[0])!r}: at least 2 are needed")
    for name, raw in values.items():
        if not measurable and raw.missing.all():
            raise ValueError(
                f"candidate {name!r} is blank in every row: there is nothing to buy; if you can measure it, use "
                "--request-measurements"
            )
    return X, y, ArrayOracle(values, {offer.name: offer.cost for offer in roles.offers})


def _to_dict(model: BaseExMLClassifier, diagnostics: Sequence[Diagnostic], out: Path) -> dict[str, Any]:
    """Return the result as plain values; money is text, because it is exact."""
    names = model.tariff_.names
    return {
        "state": "done",
        "explored": model.explored_,
        "selected": list(model.selected_),
        "budget": show(model.budget_),
        "spent": show(model.ledger_.spent),
        "layers": layers_to_dict(model.records_, names),
        "evaluation": None if model.evaluation_ is None else model.evaluation_.to_dict(),
        "preflight": [diagnostic.to_dict() for diagnostic in diagnostics],
        "files": [str(out / name) for name in FILES],
    }
