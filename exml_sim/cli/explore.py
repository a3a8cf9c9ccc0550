"""``exml explore``: find out which extra measurement to buy, buy it for some rows, and train a classifier."""

from __future__ import annotations

import json
from dataclasses import dataclass
from fractions import Fraction
from pathlib import Path
from typing import Any

import click
import numpy as np

from exml_sim.cli import options
from exml_sim.cli.csv_file import Table, as_csv, read_table
from exml_sim.method import ExMLClassifier
from exml_sim.method.buyer import Buyer
from exml_sim.method.layers import check_affordable, rule_for
from exml_sim.method.purchase_plan import plans, race_plan
from exml_sim.method.saved import save, to_saved
from exml_sim.method.settings import MODELS
from exml_sim.money import Money, exact_cost, show
from exml_sim.oracle import ArrayOracle
from exml_sim.strategies import STRATEGIES, ExploreThenCommit

FILES = ("model.npz", "ledger.csv", "purchases.csv", "predictions.csv", "report.md")


@dataclass(frozen=True, slots=True)
class Offer:
    """A candidate as given on the command line."""

    name: str
    columns: tuple[str, ...]
    cost: Fraction


def offer(text: str) -> Offer:
    """Read NAME=COLUMN[,COLUMN…]:COST."""
    name, equals, rest = text.partition("=")
    columns, colon, cost = rest.rpartition(":")
    parts = tuple(part.strip() for part in columns.split(","))
    if not (equals and colon and name.strip() and all(parts)):
        raise ValueError(f"a candidate is NAME=COLUMN[,COLUMN]:COST, like ct=ct1,ct2:5.0; got {text!r}")
    return Offer(name.strip(), parts, exact_cost(cost.strip(), f"cost of candidate {name.strip()!r}"))


@click.command(name="explore")
@click.argument("data", type=click.Path(path_type=Path))
@click.option("--label", required=True, metavar="COLUMN", help="Column of perceived labels (two or more classes).")
@click.option("--observed", required=True, metavar="A,B,C", help="Columns that are known for every row.")
@click.option("--candidate", metavar="NAME=COLUMNS:COST", multiple=True, required=True, help="Repeat for each.")
@click.option("--budget", required=True, metavar="MONEY|PERCENT", help="500, or 20% of the price of buying everything.")
@click.option(
    "--preset",
    type=click.Choice(["practice", "paper"]),
    default="practice",
    show_default=True,
    help="The best purchase that we know, or the method of the paper; single options still count.",
)
@click.option("--strategy", type=click.Choice(list(STRATEGIES)), help="[default: explore_then_commit]")
@click.option("--model", type=click.Choice(list(MODELS)), help="What a layer is.  [default: auto]")
@click.option("--alignment", type=click.Choice(["sample", "budget"]), default="sample", show_default=True)
@click.option("--objective", type=click.Choice(["risk", "risk_per_cost"]), default="risk", show_default=True)
@click.option("--top", type=int, help="Candidates that a layer adds.  [default: as many as are worth it]")
@click.option("--layers", type=int, default=2, show_default=True, help="Layers of the cascade.")
@click.option("--cascade/--no-cascade", default=True, show_default=True, help="Or let the last layer decide alone.")
@click.option(
    "--theta", default="auto", show_default=True, help="Rejection cost of the augmented model: auto or a number."
)
@click.option("--validation-share", default="0.1", show_default=True, help="Part of the budget for choosing theta.")
@click.option("--target", type=float, default=0.95, show_default=True, help="Wanted accuracy on accepted rows.")
@click.option("--explore", type=click.Choice(["auto", "always", "never"]), default="auto", show_default=True)
@click.option("--hidden-label", default="hidden", show_default=True, help="Name of the hidden class in predictions.")
@options.seed
@click.option("--dry-run", is_flag=True, help="Print the purchase plan and its cost; buy and write nothing.")
@click.option(
    "--out", type=click.Path(path_type=Path), default=Path("exml-out"), show_default=True, help="Folder for results."
)
@click.option("--force", is_flag=True, help="Replace the files of an earlier run in the output directory.")
@options.quiet
@options.as_json
def command(
    data: Path,
    label: str,
    observed: str,
    candidate: tuple[str, ...],
    budget: str,
    dry_run: bool,
    out: Path,
    force: bool,
    seed: int,
    theta: str,
    preset: str,
    quiet: bool,
    as_json: bool,
    **settings: Any,
) -> None:
    """Explore the candidates of the CSV file DATA with a budget.

    Values of a candidate count as bought when they are read, and only bought ones are read. Rows in which a candidate
    is blank cannot be bought for it.

    Example: exml explore table.csv --label y --observed x1,x2 --candidate ct=a10:1 --candidate mri=a90:1.2 --budget 20%
    """
    if not dry_run:
        check_target(out, force)
    names = tuple(part.strip() for part in observed.split(","))
    offers = tuple(offer(text) for text in candidate)
    table = read_table(data)
    X, y, oracle = _problem(table, label, names, offers)
    settings |= {**money(budget), "theta": _theta(theta), "random_state": seed}
    given = {name: value for name, value in settings.items() if value is not None}
    model = ExMLClassifier.paper(**given) if preset == "paper" else ExMLClassifier(**given)
    if dry_run:
        facts, text = _plan(model, oracle, len(X), np.unique(y))
        click.echo(json.dumps(facts, indent=2) if as_json else text)
        return
    model.fit(X, y, oracle)
    columns = {one.name: one.columns for one in offers}
    _write(out, force, model, table, X, y, oracle, names, columns)
    if as_json:
        click.echo(json.dumps(_result(model, out), indent=2))
        return
    if not quiet:
        click.echo(model.report())
    click.echo(f"Saved {', '.join(FILES)} in {out}.")


def _result(model: ExMLClassifier, out: Path) -> dict[str, Any]:
    """What came out, as plain values; money is text, because it is exact."""
    return {
        "explored": model.explored_,
        "selected": list(model.selected_),
        "budget": show(model.budget_),
        "spent": show(model.ledger_.spent),
        "files": [str(out / name) for name in FILES],
    }


def check_target(out: Path, force: bool) -> None:
    """Refuse to overwrite anything silently."""
    if out.exists() and not out.is_dir():
        raise ValueError(f"--out {out} is not a directory")
    there = [name for name in FILES if (out / name).exists()]
    if there and not force:
        raise ValueError(f"{out / there[0]} exists already: choose another --out, or --force to replace it")


def money(budget: str) -> dict[str, Money]:
    """Read 500 as money and 20% as a ratio."""
    text = budget.strip()
    if not text.endswith("%"):
        return {"budget": text}
    try:
        return {"budget_ratio": Fraction(text[:-1].strip()) / 100}
    except (ValueError, ZeroDivisionError):
        raise ValueError(f"--budget must be an amount like 500 or a percentage like 20%, got {budget!r}") from None


def _theta(text: str) -> float | str:
    if text == "auto":
        return text
    try:
        return float(text)
    except ValueError:
        raise ValueError(f"--theta must be auto or a number in (0, 1/2), got {text!r}") from None


def _problem(
    table: Table, label: str, names: tuple[str, ...], offers: tuple[Offer, ...]
) -> tuple[Any, Any, ArrayOracle]:
    roles = [label, *names, *(column for one in offers for column in one.columns)]
    for column in roles:
        if roles.count(column) > 1:
            raise ValueError(f"column {column!r} is named more than once: it has one role, and one place in it")
    if len({one.name for one in offers}) < len(offers):
        raise ValueError(f"candidate names must differ, got {', '.join(one.name for one in offers)}")
    y, X = table.text(label), table.numbers(names)
    values = {one.name: table.numbers(one.columns, blanks=True) for one in offers}
    classes = np.unique(y)
    if len(classes) < 2:
        raise ValueError(f"column {label!r} has a single class, {str(classes[0])!r}: at least 2 are needed")
    for one in offers:
        if np.isnan(values[one.name]).any(axis=1).all():
            raise ValueError(f"candidate {one.name!r} is blank in every row: there is nothing to buy")
    return X, y, ArrayOracle(values, {one.name: one.cost for one in offers})


def _plan(model: ExMLClassifier, oracle: ArrayOracle, rows: int, y_classes: Any) -> tuple[dict[str, Any], str]:
    """The plan of the (first) exploration as plain values and as text."""
    settings, budget = model.settings(), model.budget_for(oracle, rows)
    check_affordable(Buyer(oracle, rows, budget), settings)
    part = budget / max(1, settings.layers - 1)
    available = [int(oracle.available(name).sum()) for name in oracle.names]
    lines = [f"{rows} rows, budget {show(budget)}; if the initial model is good, nothing is spent."]
    for name, cost, count in zip(oracle.names, oracle.costs, available, strict=True):
        lines.append(f"candidate {name}: {show(cost)} per row, {count} of {rows} rows can be bought")
    rule = rule_for(settings, len(oracle.names))
    if isinstance(settings.strategy, ExploreThenCommit) and settings.races and len(oracle.names) > 1:
        found: list[Any] = [race_plan(oracle.names, oracle.costs, available, part, len(y_classes), settings.strategy)]
    else:
        found = list(plans(oracle.names, oracle.costs, available, rule, part, settings.validation_share))
    lines += [plan.table() for plan in found]
    if settings.layers > 2:
        lines.append(f"Each of the {settings.layers - 2} further layers may spend as much on the remaining candidates.")
    offered = [
        {"name": name, "cost": show(cost), "available": count}
        for name, cost, count in zip(oracle.names, oracle.costs, available, strict=True)
    ]
    planned = [{"assumption": plan.assumption, "cost": show(plan.cost)} for plan in found]
    return {"rows": rows, "budget": show(budget), "candidates": offered, "plans": planned}, "\n".join(lines)


def _write(
    out: Path,
    force: bool,
    model: ExMLClassifier,
    table: Table,
    X: Any,
    y: Any,
    oracle: ArrayOracle,
    names: tuple[str, ...],
    columns: dict[str, tuple[str, ...]],
) -> None:
    out.mkdir(parents=True, exist_ok=True)
    if force:
        for name in FILES:
            (out / name).unlink(missing_ok=True)
    saved = to_saved(model, names, columns)
    save(saved, out / "model.npz")
    # What was not paid for is blank for the predictions on the same file, too.
    paid = {}
    for name, bought in zip(oracle.names, model.bought_, strict=True):
        paid[name] = np.full((len(X), len(columns[name])), np.nan)
        paid[name][bought] = oracle.query(name, np.flatnonzero(bought))
    decisions = saved.decide(X, paid)
    rows = zip(table.lines, y.tolist(), saved.labels(decisions, "").tolist(), saved.explain(decisions), strict=True)
    texts = {
        "ledger.csv": model.ledger_.to_csv(),
        "purchases.csv": as_csv(["round", "layer", "purpose", "candidate", "line"], _purchases(model, table)),
        "predictions.csv": as_csv(["line", "perceived", "prediction", "explanation"], rows),
        "report.md": model.report(),
    }
    for name, text in texts.items():
        with (out / name).open("x", encoding="utf-8", newline="") as file:
            file.write(text)


def _purchases(model: ExMLClassifier, table: Table) -> list[tuple[Any, ...]]:
    return [
        (bought.number, bought.layer, bought.purpose, bought.candidate, table.lines[row])
        for bought in model.purchases_
        for row in bought.rows
    ]
