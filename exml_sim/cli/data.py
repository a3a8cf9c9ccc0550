"""``exml data``: write a synthetic table to try `exml explore` on."""

from __future__ import annotations

from pathlib import Path

import click
import numpy as np

from exml_sim._internal.files import write_file
from exml_sim._internal.spreadsheets import write_csv
from exml_sim.cli import _options as options
from exml_sim.datasets.synthetic import HIDDEN, candidate_values, draw_rows

ANGLES = tuple(range(10, 91, 10))


@click.command(name="data")
@click.option("--per-class", type=options.Whole(min=1), default=100, show_default=True, help="Rows of each class.")
@options.seed
@click.option("--out", type=click.Path(path_type=Path), default=Path("synthetic.csv"), show_default=True)
@options.force
@options.as_json
def command(per_class: int, seed: int, out: Path, force: bool, as_json: bool) -> None:
    """Write a table of Section 5.1: x1 and x2 observed, a10 to a90 candidates, y observed labels, class the truth.

    Example: exml data --out table.csv
    """
    if out.exists() and not force:
        raise ValueError(f"{out} exists already: choose another --out, or --force to replace it")
    rows = draw_rows(per_class, rng=seed)
    values = candidate_values(rows.points, np.array(ANGLES))
    names = np.where(rows.classes == HIDDEN, "hidden", np.where(rows.classes == 1, "one", "two"))
    seen = np.where(rows.y < 0, "one", "two")
    header = ["x1", "x2", *(f"a{angle}" for angle in ANGLES), "y", "class"]
    lines = zip(*rows.points[:, :2].T.tolist(), *values.T.tolist(), seen.tolist(), names.tolist(), strict=True)
    write_file(out, write_csv(header, lines))
    data = {"file": str(out), "rows": len(seen), "candidates": header[2:-2]}
    options.emit(data, f"{out}: {len(seen)} rows, candidates {', '.join(header[2:-2])}.", as_json)
