"""The files of an exploration, written one by one, the model last, so that a killed run can continue."""

from __future__ import annotations

from collections.abc import Mapping
from fractions import Fraction
from itertools import accumulate
from pathlib import Path
from typing import Any

import numpy as np

from exml_sim._internal.arrays import FloatArray
from exml_sim._internal.columns import fill_missing
from exml_sim._internal.files import write_file
from exml_sim._internal.spreadsheets import write_csv
from exml_sim.classifier._cascade import Decisions
from exml_sim.classifier._journal import Journal
from exml_sim.classifier._saved_model import SavedModel, save
from exml_sim.classifier.budget_plan import LearningCurve
from exml_sim.classifier.estimator import BaseExMLClassifier
from exml_sim.classifier.report import layers_to_dict
from exml_sim.cli._measurement_request import NAME as REQUEST
from exml_sim.cli._tables import Roles, Table

JOURNAL = "journal.jsonl"
#: Rows that the page suggests to inspect, and the probability of their labels below which it does.
MAX_SUSPECTS, MAX_LABEL_PROBABILITY = 15, 0.5
FILES = (
    "model.npz",
    "ledger.csv",
    "purchases.csv",
    "predictions.csv",
    "report.md",
    "report.html",
    JOURNAL,
)


def check_target(out: Path, force: bool, top_up: bool = False) -> None:
    """Raise an error if a finished run or other files would be overwritten; a stopped run may continue."""
    if top_up and (force or not (out / JOURNAL).exists()):
        what = "--force starts anew" if force else f"there is no {out / JOURNAL}"
        raise ValueError(f"--continue needs an earlier run in --out: {what}")
    if out.exists() and not out.is_dir():
        raise ValueError(f"--out {out} is not a directory")
    if force or top_up:
        return
    there = [name for name in FILES[:-1] if (out / name).exists()]
    finished = (out / FILES[0]).exists() or not (out / JOURNAL).exists()
    if there and finished:
        raise ValueError(
            f"{out / there[0]} exists already: choose another --out, --continue with more money, or --force"
        )
    if (out / REQUEST).exists() and not (out / JOURNAL).exists():
        raise ValueError(f"{out / REQUEST} is there without {JOURNAL}: choose another --out, or --force to start anew")


def clear_target(out: Path, run: Mapping[str, Any]) -> None:
    """Rename measured values of another run, and delete results that will be replaced."""
    journal = out / JOURNAL
    try:
        Journal.open(run, journal)
        is_other = not journal.exists()
    except ValueError:
        is_other = True
    if is_other:
        for name in (JOURNAL, REQUEST):
            if (out / name).exists():
                (out / name).rename(_find_free_name(out / name))
    for name in FILES[:-1]:
        (out / name).unlink(missing_ok=True)


def _find_free_name(path: Path) -> Path:
    """Return the first free name like journal.1.jsonl."""
    number = 1
    while (place := path.with_suffix(f".{number}{path.suffix}")).exists():
        number += 1
    return place


def write_results(
    out: Path,
    model: BaseExMLClassifier,
    table: Table,
    roles: Roles,
    X: Any,
    y: Any,
    journal: Journal,
    report: str,
    title: str = "table",
) -> None:
    """Write all files of a finished run; `title` is the name of the table."""
    from simulations.report._exploration import page

    out.mkdir(parents=True, exist_ok=True)
    journal.begin()
    saved = SavedModel.of(model)
    # Unpaid values are missing for the predictions on the same file, too.
    paid = {name: np.full((len(table), width), np.nan) for name, width in model.widths_.items()}
    for (name, row), values in journal.values.items():
        if name in paid and model.bought_[model.ledger_.names.index(name), row]:
            paid[name][row] = values
    paid = {name: fill_missing(model.encodings_[name], values) for name, values in paid.items()}
    decisions = model.cascade_.decide(model.layout_.split(X)[0], paid)
    heads, ids = make_id_columns(table, roles.id)
    names, cells = saved.tabulate(decisions)
    rows = [[*start, label, *rest] for start, label, rest in zip(ids, y.tolist(), cells, strict=True)]
    texts = {
        "ledger.csv": model.ledger_.to_csv(),
        "purchases.csv": write_csv(["round", "layer", "purpose", "candidate", *heads], _purchases(model, ids)),
        "predictions.csv": write_csv([*heads, "observed", *names], rows),
        "report.md": report,
    }
    for name, text in texts.items():
        write_file(out / name, text)
    facts = page_values(model, decisions) | {"inspect": _list_suspects(model, heads, rows, decisions.outputs)}
    write_file(out / "report.html", page(report, facts, title))
    aside = out / ".model.npz.part"
    aside.unlink(missing_ok=True)
    save(saved, aside)
    aside.replace(out / "model.npz")
    (out / REQUEST).unlink(missing_ok=True)


def _list_suspects(
    model: BaseExMLClassifier, heads: list[str], rows: list[list[object]], outputs: FloatArray
) -> dict[str, Any]:
    """List the rows whose observed labels are the least probable, with their probabilities, if there are any."""
    # Rejection models have no probabilities.
    probabilities = outputs if outputs.shape[1] > len(model.classes_) else np.full_like(outputs, np.nan)
    places = {label: place for place, label in enumerate(model.classes_.tolist())}
    observed = len(heads)
    chances = np.array([probabilities[i, places[row[observed]]] for i, row in enumerate(rows)])
    suspects = [i for i in np.argsort(chances, kind="stable")[:MAX_SUSPECTS] if chances[i] < MAX_LABEL_PROBABILITY]
    columns = ["row", *heads[1:], "observed", "prediction", "P(observed label)", "P(hidden class)"]

    def shown(cells: list[object]) -> list[str]:
        return ["" if cell is None else str(cell) for cell in cells]

    cells = [
        [f"{heads[0]} {rows[i][0]}", *shown(rows[i][1 : observed + 2]), f"{chances[i]:.2f}", f"{p:.2f}"]
        for i, p in zip(suspects, probabilities[suspects, -1], strict=True)
    ]
    return {"columns": columns, "rows": cells}


def page_values(model: BaseExMLClassifier, decisions: Decisions) -> dict[str, Any]:
    """Return what the page draws, as plain values."""
    ledger = model.ledger_
    rounds = [ledger.round_pulls(number)[0] for number in range(1, ledger.rounds + 1)]
    prices = ledger.prices.exact_costs
    costs = [sum((int(n) * cost for n, cost in zip(pulls, prices, strict=True)), Fraction(0)) for pulls in rounds]
    layers = {name: int((decisions.layer == k).sum()) for k, name in enumerate(model.cascade_.layer_names, 1)}
    rest = {"hidden": int(decisions.hidden.sum()), "value not bought": int(decisions.undecided.sum())}
    return {
        "layers": layers_to_dict(model.records_, model.tariff_.names),
        "purchases": [
            {name: int(n) for name, n in zip(ledger.names, pulls, strict=True) if n or len(rounds) == 1}
            for pulls in rounds
        ],
        "accuracy": _predict_accuracy(model),
        "baseline": model.evaluation_.metrics[-2].accuracy if model.evaluation_ else None,
        "money": [float(money) for money in accumulate(costs)],
        "decisions": {**layers, **rest},
    }


def _predict_accuracy(model: BaseExMLClassifier) -> list[list[float]]:
    """Return money for rows of the selected set, expected accuracy and its interval, from few rows to all."""
    if model.evaluation_ is None or model.evaluation_.gained is None:
        return []
    curve = LearningCurve.of(model)
    price = float(model.tariff_.price(model.tariff_.names.index(name) for name in model.selected_))
    numbers = np.unique(np.geomspace(len(model.classes_) * 5, model.bought_.shape[1], 12).astype(int))
    return [[price * number, *curve.predict(int(number))] for number in numbers]


def make_id_columns(table: Table, column: str | None) -> tuple[list[str], list[list[object]]]:
    """Return headings and cells that identify rows: the line, and the column that names them, if given."""
    if column is None:
        return [table.unit], [[line] for line in table.lines]
    cells = zip(table.lines, table.raw(column), strict=True)
    return [table.unit, column], [[line, name] for line, name in cells]


def _purchases(model: BaseExMLClassifier, ids: list[list[object]]) -> list[list[object]]:
    return [
        [bought.number, bought.layer, bought.purpose, bought.candidate, *ids[row]]
        for bought in model.purchases_
        for row in bought.rows
    ]
