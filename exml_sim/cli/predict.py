"""``exml predict``: classify the rows of a new file with a model that explore saved."""

from __future__ import annotations

import json
from pathlib import Path

import click

from exml_sim._internal.files import write_file
from exml_sim._internal.spreadsheets import write_csv
from exml_sim.classifier._saved_model import SavedModel, load
from exml_sim.cli import _options as options
from exml_sim.cli._explore_files import make_id_columns
from exml_sim.cli._tables import Table, parse_na_values, read_table


@click.command(name="predict")
@click.argument("model", type=click.Path(path_type=Path))
@click.argument("data", type=click.Path(path_type=Path))
@click.option("--id", "id", metavar="COLUMN", help="Column that names the rows; it is kept in the predictions.")
@options.table_format
@click.option("--out", type=click.Path(path_type=Path), help="Write the CSV file here instead of printing it.")
@options.force
@options.quiet
@options.as_json
def command(
    model: Path,
    data: Path,
    id: str | None,
    encoding: str,
    delimiter: str | None,
    na_values: str | None,
    out: Path | None,
    force: bool,
    quiet: bool,
    as_json: bool,
) -> None:
    """Classify the rows of the table DATA (CSV, .gz or Parquet) with a MODEL that exml explore saved.

    The columns are the prediction, the best known label, the probabilities of all classes, and an explanation. Only the
    candidates that the model uses are read, and only for rows that the layers before reject. Where such a value is
    missing, the prediction is blank and the explanation says what to measure. The best known label and the
    probabilities are then those of the observed columns. Texts, booleans and dates that training did not know are no
    error; they are counted.

    Example: exml predict exml-out/model.npz new.csv --out predictions.csv
    """
    if out is not None and out.exists() and not force:
        raise ValueError(f"{out} exists already: choose another --out, or --force to replace it")
    saved = load(model)
    table = read_table(data, encoding=encoding, delimiter=delimiter, na_values=parse_na_values(na_values))
    columns = _find_columns(saved, table)
    table.check_columns([*saved.layout.observed_names, *(column for own in columns.values() for column in own)])
    heads, ids = make_id_columns(table, id)
    with table.name_lines():
        observed = table.raw_table(saved.layout.observed_names)
        values = {name: table.raw_table(own) for name, own in columns.items()}
        decisions = saved.decide(observed, values)
    unknown = saved.count_unknown(observed, values)
    names, cells = saved.tabulate(decisions)
    names = [*heads, *names]
    rows = [[*start, *rest] for start, rest in zip(ids, cells, strict=True)]
    if out is not None:
        write_file(out, write_csv(names, rows))
    lacking = decisions.count_lacking(saved.cascade.candidates)
    if as_json:
        predictions = [dict(zip(names, row, strict=True)) for row in rows]
        record = {"file": None if out is None else str(out), "predictions": predictions, "lacking": lacking}
        record["unknown"] = unknown
        click.echo(json.dumps(record, indent=2))
        return
    if out is None:
        click.echo(write_csv(names, rows), nl=False)
    if unknown and not quiet:
        listed = ", ".join(f"{count} of column {name!r}" for name, count in unknown.items())
        click.echo(f"exml: values unknown to the model, in {len(table)} rows: {listed}", err=True)
    for name, count in () if quiet else lacking.items():
        click.echo(f"exml: {count} of {len(table)} rows need a value of {name} for a prediction", err=True)


def _find_columns(saved: SavedModel, table: Table) -> dict[str, list[str]]:
    """Return the columns of the candidates that are in the file."""
    columns = {name: [encoding.name for encoding in encodings] for name, encodings in saved.candidates.items()}
    return {name: own for name, own in columns.items() if any(map(table.has, own))}
