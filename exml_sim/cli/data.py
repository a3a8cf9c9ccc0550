"""``exml data``: write a synthetic table, or prepare a download of RealDisp."""

from __future__ import annotations

import json
from pathlib import Path

import click
import numpy as np

from exml_sim._internal.files import write_file
from exml_sim._internal.spreadsheets import write_csv
from exml_sim.cli import _options as options
from exml_sim.datasets.realdisp import ACTIVITIES, read_realdisp, save_realdisp
from exml_sim.datasets.synthetic import HIDDEN, candidate_values, draw_rows

ANGLES = tuple(range(10, 91, 10))


@click.group(name="data")
def command() -> None:
    """Prepare data. Multiple Features needs no preparation: it is shipped (exml_sim.datasets.load_mfeat).

    Example: exml data synthetic --out table.csv
    """


@command.command(name="realdisp")
@click.option("--from", "source", type=click.Path(path_type=Path), required=True, help="Zip file, directory or log.")
@click.option("--subject", type=click.IntRange(min=1), default=1, show_default=True)
@click.option("--out", type=click.Path(path_type=Path), default=Path("realdisp.npz"), show_default=True)
@options.force
@options.as_json
def realdisp(source: Path, subject: int, out: Path, force: bool, as_json: bool) -> None:
    """Take walking, jogging and running of one subject under ideal placement from the UCI REALDISP logs."""
    _check_new(out, force)
    data = read_realdisp(source, subject=subject)
    save_realdisp(data, out, replace=force)
    counts = {name: int((data.y == number).sum()) for name, number in ACTIVITIES.items()}
    if as_json:
        facts = {"file": str(out), "rows": len(data), "activities": counts, "sensors": len(data.views)}
        click.echo(json.dumps(facts, indent=2))
        return
    listed = ", ".join(f"{count} {name}" for name, count in counts.items())
    click.echo(f"{out}: {len(data)} rows ({listed}), {len(data.views)} sensors with 13 channels each.")


@command.command(name="synthetic")
@click.option("--per-class", type=click.IntRange(min=1), default=100, show_default=True, help="Rows of each class.")
@options.seed
@click.option("--out", type=click.Path(path_type=Path), default=Path("synthetic.csv"), show_default=True)
@options.force
@options.as_json
def synthetic(per_class: int, seed: int, out: Path, force: bool, as_json: bool) -> None:
    """Write a table of Section 5.1: x1 and x2 observed, a10 to a90 candidates, y observed labels, class the truth."""
    _check_new(out, force)
    rows = draw_rows(per_class, rng=seed)
    values = candidate_values(rows.points, np.array(ANGLES))
    names = np.where(rows.classes == HIDDEN, "hidden", np.where(rows.classes == 1, "one", "two"))
    seen = np.where(rows.y < 0, "one", "two")
    header = ["x1", "x2", *(f"a{angle}" for angle in ANGLES), "y", "class"]
    lines = zip(*rows.points[:, :2].T.tolist(), *values.T.tolist(), seen.tolist(), names.tolist(), strict=True)
    write_file(out, write_csv(header, lines))
    if as_json:
        click.echo(json.dumps({"file": str(out), "rows": len(seen), "candidates": header[2:-2]}, indent=2))
        return
    click.echo(f"{out}: {len(seen)} rows, candidates {', '.join(header[2:-2])}.")


def _check_new(out: Path, force: bool) -> None:
    if out.exists() and not force:
        raise ValueError(f"{out} exists already: choose another --out, or --force to replace it")
