"""``exml plot``: draw failure rate against budget for the results of a study."""

from __future__ import annotations

from importlib import import_module
from pathlib import Path

import click

from exml_sim.cli import _options as options


class _Figure(click.ParamType):  # type: ignore[type-arg,unused-ignore]
    """The name of a file in simulations/figures that has `figures`."""

    name = "name"

    def convert(self, value: str, param: click.Parameter | None, ctx: click.Context | None) -> str:
        """Check the name; the module is imported when it draws."""
        names = known_figures()
        if value not in names:
            self.fail(f"figure must be one of {', '.join(names)}; got {value!r}", param, ctx)
        return value


def known_figures() -> list[str]:
    """List the figures of a store, one module each."""
    from exml_sim.plugins import modules

    candidates = modules("simulations.figures")
    return [module.__name__.rpartition(".")[2] for module in candidates if hasattr(module, "figures")]


@click.command(name="plot")
@click.argument("store", type=click.Path(path_type=Path))
@click.option("--figure", type=_Figure(), default="failure_rate", show_default=True, help="Which picture.")
@click.option("--out", type=click.Path(path_type=Path, file_okay=False), help="Folder for results; that of the store.")
@options.plugins("store")
@options.as_json
def command(store: Path, figure: str, out: Path | None, plugins: tuple[Path, ...], trust: bool, as_json: bool) -> None:
    """Draw failure rate against budget for the results in STORE, with the bounds that apply, as PNG and SVG.

    A store with several pools gives one picture for each.

    Code of plug-ins is executed only if you name its file: --plugins my_rules.py draws their bounds, too.

    Example: exml plot out/study.sqlite --out pictures
    """
    from exml_sim.engine.bound_context import describe_missing
    from exml_sim.engine.result import StudyResult
    from simulations.figures import style

    with StudyResult.open(store, plugins=plugins, trust=trust) as result:
        missing = describe_missing(result.study)
        pictures = list(import_module(f"simulations.figures.{figure}").figures(result))
    if not pictures:
        raise ValueError(f"{store} has no results yet: the next exml study with this store computes them")
    folder = out or store.parent
    options.make_folder(folder)
    files = [file for stem, picture in pictures for file in style.save(picture, folder / stem)]
    names = [str(file) for file in files]
    options.emit({"files": names}, "\n".join(names), as_json)
    if missing and not as_json:
        click.echo(missing, err=True)
