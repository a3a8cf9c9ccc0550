"""``exml plot``: draw failure rate against budget for the results of a study."""

from __future__ import annotations

import json
from pathlib import Path

import click

from exml_sim.cli import options


@click.command(name="plot")
@click.argument("store", type=click.Path(path_type=Path))
@click.option("--out", type=click.Path(path_type=Path, file_okay=False), help="Folder for results; that of the store.")
@options.as_json
def command(store: Path, out: Path | None, as_json: bool) -> None:
    """Draw failure rate against budget for the results in STORE, with the bounds that apply, as PNG and SVG.

    A store with several pools gives one picture for each.

    Example: exml plot out/study.sqlite --out pictures
    """
    from exml_sim.engine.result import StudyResult
    from simulations.figures import failure_rate, style
    from simulations.panels import panels_of

    with StudyResult.open(store) as result:
        panels, name = panels_of(result), result.study.name
    if not panels:
        raise ValueError(f"{store} has no results yet: the next exml study with this store computes them")
    options.make_folder(out or store.parent)
    places = list(dict.fromkeys(panel.place for panel in panels))
    files: list[Path] = []
    for number, place in enumerate(places, start=1):
        shown = [panel for panel in panels if panel.place == place]
        title = name if len(places) == 1 else f"{name}: {place}"
        picture = failure_rate.figure(shown, failure_rate.heading(shown, title))
        stem = "failure_rate" if len(places) == 1 else f"failure_rate_{number}"
        files += style.save(picture, (out or store.parent) / stem)
    if as_json:
        click.echo(json.dumps({"files": [str(file) for file in files]}, indent=2))
        return
    for file in files:
        click.echo(str(file))
