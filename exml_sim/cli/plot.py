"""``exml plot``: draw the results of a study for a paper, with the bounds."""

from __future__ import annotations

from importlib import import_module
from inspect import signature
from pathlib import Path
from typing import Any

import click

from exml_sim.cli import _options as options


def known_figures() -> list[str]:
    """List the figures of a store, one module each."""
    from exml_sim.plugins import modules

    candidates = modules("simulations.figures")
    return [module.__name__.rpartition(".")[2] for module in candidates if hasattr(module, "figures")]


def _check_figure(context: click.Context, parameter: click.Parameter, value: str) -> str:
    names = known_figures()
    if value not in names:
        raise click.BadParameter(f"figure must be one of {', '.join(names)}; got {value!r}")
    return value


def _read_pairs(context: click.Context, parameter: click.Parameter, values: tuple[str, ...]) -> dict[str, str]:
    """Read NAME=VALUE options."""
    pairs = {}
    for value in values:
        name, _, text = (part.strip() for part in value.partition("="))
        if not name or not text:
            raise click.BadParameter(f"it must be NAME=VALUE, got {value!r}")
        pairs[name] = text
    return pairs


@click.command(name="plot")
@click.argument("store", type=click.Path(path_type=Path))
@click.option(
    "--figure", callback=_check_figure, metavar="NAME", default="failure_rate", show_default=True, help="Which picture."
)
@click.option(
    "--format",
    "formats",
    type=click.Choice(("png", "svg", "pdf")),
    multiple=True,
    default=("png", "svg"),
    show_default=True,
    help="File format; may be repeated.",
)
@click.option("--width", type=float, metavar="INCHES", help="Width, such as 3.3 for a column of a paper.")
@click.option("--font-size", type=click.FloatRange(4, 40), metavar="POINTS", help="Size of the text.")
@click.option("--style", "style_file", type=click.Path(exists=True, path_type=Path), help="Style file of matplotlib.")
@click.option("--label", "labels", multiple=True, callback=_read_pairs, metavar="STRATEGY=TEXT", help="Legend text.")
@click.option(
    "--colour", "colours", multiple=True, callback=_read_pairs, metavar="TEXT=COLOUR", help="Colour of a curve."
)
@click.option("--order", metavar="A,B", help="Strategies in this order; others are left out.")
@click.option("--no-bounds", is_flag=True, help="Draw no bounds.")
@click.option("--out", type=click.Path(path_type=Path, file_okay=False), help="Folder for results; that of the store.")
@options.plugins("store")
@options.as_json
def command(
    store: Path,
    figure: str,
    formats: tuple[str, ...],
    width: float | None,
    font_size: float | None,
    style_file: Path | None,
    labels: dict[str, str],
    colours: dict[str, str],
    order: str | None,
    no_bounds: bool,
    out: Path | None,
    plugins: tuple[Path, ...],
    trust: bool,
    as_json: bool,
) -> None:
    """Draw the results in STORE: all strategies on one axes, with the bounds that apply, and the data as CSV.

    Figures: failure_rate, regret, facets (all pools), profiles (ranks over pools).

    Code of plug-ins is executed only if you name its file: --plugins my_rules.py draws their bounds, too.

    Example: exml plot out/study.sqlite --format pdf --width 3.3 --label median_elimination=ME
    """
    from exml_sim._internal.files import write_file
    from exml_sim._internal.progress import Elapsed
    from exml_sim._internal.spreadsheets import write_frame
    from exml_sim._internal.threads import one_thread
    from exml_sim.engine.bound_context import describe_missing
    from exml_sim.engine.result import StudyResult
    from simulations.figures import style

    chosen: dict[str, Any] = {"colours": colours} if colours else {}
    chosen |= {"bounds": False} if no_bounds else {}
    with (
        Elapsed("drawing", not as_json),
        StudyResult.open(store, plugins=plugins, trust=trust) as result,
        one_thread("blas"),
        style.customise(width=width, font_size=font_size, style_file=style_file),
    ):
        missing = describe_missing(result.study)
        pictures = list(_draw(result, figure, labels, order, chosen))
        if not pictures:
            raise ValueError(f"{store} has no results yet: the next exml study with this store computes them")
        folder = out or store.parent
        options.make_folder(folder)
        files = []
        for stem, picture, *data in pictures:
            files += style.save(picture, folder / stem, tuple(dict.fromkeys(formats)))
            for frame in data:
                files.append(folder / f"{stem}.csv")
                write_file(files[-1], write_frame(frame))
    names = [str(file) for file in files]
    options.emit({"files": names}, "\n".join(names), as_json)
    if missing and not as_json:
        click.echo(missing, err=True)


def _draw(result: Any, figure: str, labels: dict[str, str], order: str | None, chosen: dict[str, Any]) -> Any:
    """Draw a figure, with the user's labels, order, colours and bounds where it has curves of strategies."""
    module = import_module(f"simulations.figures.{figure}")
    if not (labels or order or chosen):
        return module.figures(result)
    if "panels" not in signature(module.figures).parameters:
        raise click.UsageError(f"--label, --colour, --order and --no-bounds do not go with the figure {figure}")
    from simulations.panels import arrange, make_panels

    names = None if order is None else [name.strip() for name in order.split(",")]
    return module.figures(result, arrange(make_panels(result), labels, names), **chosen)
