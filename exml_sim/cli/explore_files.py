"""The files of an exploration: results are put in place one by one, the model last, so that a killed run can go on."""

from __future__ import annotations

from collections.abc import Mapping
from importlib import import_module
from pathlib import Path
from threading import Thread
from typing import Any

import numpy as np

from exml_sim.classifier import doubts
from exml_sim.classifier.cascade import Decisions
from exml_sim.classifier.explorer import Explorer
from exml_sim.classifier.journal import Journal
from exml_sim.classifier.saved import save, to_saved
from exml_sim.cli.columns import Roles
from exml_sim.cli.csv_file import Table, as_csv, write_whole
from exml_sim.cli.to_measure import NAME as SHEET
from exml_sim.money import show

JOURNAL = "journal.jsonl"
PICTURE = "exploration"
FILES = (
    "model.npz",
    "ledger.csv",
    "purchases.csv",
    "predictions.csv",
    "report.md",
    f"{PICTURE}.png",
    f"{PICTURE}.svg",
    "report.html",
    JOURNAL,
)


def check_target(out: Path, force: bool) -> None:
    """Refuse to overwrite a finished run, or files of somebody else; a run that was stopped may go on."""
    if out.exists() and not out.is_dir():
        raise ValueError(f"--out {out} is not a directory")
    if force:
        return
    there = [name for name in FILES[:-1] if (out / name).exists()]
    finished = (out / FILES[0]).exists() or not (out / JOURNAL).exists()
    if there and finished:
        raise ValueError(f"{out / there[0]} exists already: choose another --out, or --force to replace it")
    if (out / SHEET).exists() and not (out / JOURNAL).exists():
        raise ValueError(f"{out / SHEET} is there without {JOURNAL}: choose another --out, or --force to start anew")


def make_room(out: Path, run: Mapping[str, Any]) -> None:
    """With --force: measured values of another run are put aside, never deleted; results will be replaced."""
    journal = out / JOURNAL
    try:
        Journal.open(run, journal)
        strange = not journal.exists()
    except ValueError:
        strange = True
    if strange:
        for name in (JOURNAL, SHEET):
            if (out / name).exists():
                (out / name).rename(_free(out / name))
    for name in FILES[:-1]:
        (out / name).unlink(missing_ok=True)


def _free(path: Path) -> Path:
    """The first name like journal.1.jsonl that is not taken."""
    number = 1
    while (place := path.with_suffix(f".{number}{path.suffix}")).exists():
        number += 1
    return place


def write_results(
    out: Path,
    model: Explorer,
    table: Table,
    roles: Roles,
    X: Any,
    y: Any,
    journal: Journal,
    report: str,
    title: str = "table",
) -> None:
    """All files of a finished run; `title` is the table's name."""
    out.mkdir(parents=True, exist_ok=True)
    journal.begin()
    columns = {one.name: one.columns for one in roles.offers}
    saved = to_saved(model, roles.observed, columns)
    # What was not paid for is blank for the predictions on the same file, too.
    paid = {name: np.full((len(X), len(cols)), np.nan) for name, cols in columns.items()}
    for (name, row), values in journal.values.items():
        if name in paid and model.bought_[model.ledger_.names.index(name), row]:
            paid[name][row] = values
    decisions = saved.decide(X, paid)
    heads, ids = id_column(table, roles.id)
    results = zip(y.tolist(), saved.labels(decisions, "").tolist(), saved.explain(decisions), strict=True)
    rows = [[*start, *rest] for start, rest in zip(ids, results, strict=True)]
    texts = {
        "ledger.csv": model.ledger_.to_csv(),
        "purchases.csv": as_csv(["round", "layer", "purpose", "candidate", *heads], _purchases(model, ids)),
        "predictions.csv": as_csv([*heads, "perceived", "prediction", "explanation"], rows),
        "report.md": report,
    }
    for name, text in texts.items():
        write_whole(out / name, text)
    _draw(out, model, decisions, report, title)
    aside = out / ".model.npz.part"
    aside.unlink(missing_ok=True)
    save(saved, aside)
    aside.replace(out / "model.npz")
    (out / SHEET).unlink(missing_ok=True)


def drawn_facts(model: Explorer, decisions: Decisions) -> dict[str, Any]:
    """What the picture shows, as plain values."""
    ledger = model.ledger_
    rounds = [ledger.round_pulls(number)[0] for number in range(1, ledger.rounds + 1)]
    layers = {f"layer {k}": int((decisions.layer == k).sum()) for k in range(1, len(model.cascade_.layers) + 1)}
    rest = {"hidden": int(decisions.hidden.sum()), "value not bought": int(decisions.undecided.sum())}
    return {
        "layers": doubts.facts(model.records_, ledger.names),
        "purchases": [
            {name: int(n) for name, n in zip(ledger.names, pulls, strict=True) if n or len(rounds) == 1}
            for pulls in rounds
        ],
        "decisions": {**layers, **rest},
        "spent": show(ledger.spent),
        "budget": show(model.budget_),
    }


def load_drawing() -> None:
    """Begin to load what draws the picture: compiled code computes meanwhile, which needs no interpreter."""
    Thread(target=import_module, args=("matplotlib.figure",)).start()


def _draw(out: Path, model: Explorer, decisions: Decisions, report: str, title: str) -> None:
    """The picture, and the report as a page that has it."""
    from simulations.figures import exploration, style
    from simulations.report.exploration import page

    style.save(exploration.figure(drawn_facts(model, decisions)), out / PICTURE)
    write_whole(out / "report.html", page(report, (out / f"{PICTURE}.svg").read_text(encoding="utf-8"), title))


def id_column(table: Table, column: str | None) -> tuple[list[str], list[list[object]]]:
    """Headings and cells by which a row is found again: its line, and the column that names it, if there is one."""
    if column is None:
        return [table.unit], [[line] for line in table.lines]
    cells = zip(table.lines, table.raw(column), strict=True)
    return [table.unit, column], [[line, name] for line, name in cells]


def _purchases(model: Explorer, ids: list[list[object]]) -> list[list[object]]:
    return [
        [bought.number, bought.layer, bought.purpose, bought.candidate, *ids[row]]
        for bought in model.purchases_
        for row in bought.rows
    ]
