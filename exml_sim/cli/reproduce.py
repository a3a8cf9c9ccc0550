"""``exml reproduce``: repeat the experiments of the paper and test which of its findings are reproduced."""

from __future__ import annotations

from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

import click

from exml_sim.cli import _options as options

if TYPE_CHECKING:
    from simulations.reproduction._results import Results
    from simulations.reproduction.experiment import Experiment


class Defaults(NamedTuple):
    """Defaults of an experiment: configurations, the most that there are, C, and options of its own."""

    configurations: int
    most: int
    C: float
    own: tuple[str, ...] = ()


#: C is 1 in the paper; 0.15 comes closest to its Mfeat numbers (docs/explanation/reproduction.md); losses are added up.
DEFAULTS = {
    "synthetic": Defaults(50, 1000, 1.0),
    "mfeat": Defaults(50, 50, 0.15, ("divisions", "sensitivity")),
    "costs": Defaults(50, 50, 0.15, ("divisions",)),
    "realdisp": Defaults(10, 100, 1.0, ("source", "split")),
}


@click.command(name="reproduce")
@click.argument("name", metavar="EXPERIMENT", type=click.Choice(tuple(DEFAULTS)))
@click.option("--configurations", type=int, help="Configurations or repetitions.  [default: 50, realdisp 10]")
@click.option(
    "--protocol",
    type=click.Choice(("test_labels", "automatic")),
    default="test_labels",
    show_default=True,
    help="Theta by test labels, as the paper does, or by cross-validation on bought rows.",
)
@click.option(
    "--reading",
    type=click.Choice(("one", "each")),
    default="one",
    show_default=True,
    help="With test labels: one theta for all configurations, or the best of each.",
)
@click.option("--C", "penalty", type=float, help="C_h = C_g; paper: 1.  [default: 1, mfeat and costs 0.15]")
@click.option("--loss", type=click.Choice(("sum", "mean")), default="sum", show_default=True)
@click.option(
    "--divisions",
    type=click.IntRange(min=1, max=50),
    default=5,
    show_default=True,
    help="mfeat, costs: divisions of the digits into classes; the paper has 5 and does not say which.",
)
@click.option("--sensitivity", is_flag=True, help="mfeat: SL and csd/ME at 30 % for several C instead of the table.")
@click.option(
    "--from",
    "source",
    type=click.Path(path_type=Path),
    help="realdisp: zip, directory or log of UCI REALDISP, or an .npz as exml data realdisp writes it.",
)
@click.option(
    "--split",
    type=click.Choice(("random", "blocked")),
    default="random",
    show_default=True,
    help="realdisp: random is the paper's; blocked keeps whole blocks of two seconds on one side.",
)
@options.seed
@options.n_jobs
@click.option(
    "--out",
    type=click.Path(path_type=Path, file_okay=False),
    help="Folder for results; out/reproduction/EXPERIMENT-PROTOCOL by default.",
)
@options.as_json
@options.quiet
def command(name: str, out: Path | None, as_json: bool, quiet: bool, **given: Any) -> None:
    """Repeat an experiment of Section 5 and test which of the paper's findings are reproduced.

    synthetic: Figures 4 and 5, three Gaussians and nine candidates. mfeat: Table 1, six views of handwritten digits.
    costs: Table 2, the digits with unequal costs. realdisp: activities of one subject, nine sensors.

    Every experiment writes its table (Markdown, CSV), figures (PNG, SVG) and a verdict per statement of the paper to a
    folder. A run that was interrupted continues where it stopped.

    Example: exml reproduce mfeat --configurations 5
    """
    _check_options(name, given)
    make = partial(_make_experiment, name, given)
    run = partial(_run, given, not (quiet or as_json))
    kind = "sensitivity" if given["sensitivity"] else name
    protocol = f"{given['split']}-{given['protocol']}" if name == "realdisp" else given["protocol"]
    folder = out or Path("out/reproduction") / f"{kind}-{protocol}"
    data, text = (_run_sensitivity if given["sensitivity"] else _run_experiment)(make, run, folder)
    options.emit(data, text, as_json)


def _check_options(name: str, given: dict[str, Any]) -> None:
    """Fill in the defaults of the experiment, and report options that do not belong to it."""
    defaults = DEFAULTS[name]
    for option in {option for other in DEFAULTS.values() for option in other.own} - set(defaults.own):
        if options.is_typed(option):
            raise click.UsageError(f"--{'from' if option == 'source' else option} does not apply to {name}")
    if name == "realdisp" and given["source"] is None:
        raise click.UsageError("realdisp needs --from, the data")
    given["penalty"] = defaults.C if given["penalty"] is None else given["penalty"]
    if given["configurations"] is None:
        given["configurations"] = defaults.configurations
    if not 2 <= given["configurations"] <= defaults.most:
        raise click.UsageError(f"{name} has 2 to {defaults.most} configurations, got {given['configurations']}")


def _make_experiment(
    name: str, given: dict[str, Any], loss: str | None = None, C: float | None = None, short: bool = False
) -> Experiment:
    """Make the experiment; another loss and C may be given."""
    from simulations.reproduction import experiment
    from simulations.reproduction._sources import read_source

    settings = {"loss": loss or given["loss"], "seed": given["seed"]}
    fixed = (given["protocol"] == "test_labels", given["penalty"] if C is None else C)
    if name == "synthetic":
        return experiment.figures_4_and_5(*fixed, **settings)
    if name == "realdisp":
        return experiment.figures_6_and_7(read_source(given["source"]), given["split"], *fixed, **settings)
    if name == "costs":
        return experiment.table_2(*fixed, divisions=given["divisions"], **settings)
    return experiment.table_1(*fixed, divisions=given["divisions"], short=short, **settings)


def _run(given: dict[str, Any], progress: bool, made: Experiment, store: Path) -> Results:
    """Run missing configurations and return the results of all."""
    from simulations.reproduction import experiment
    from simulations.reproduction._results import Results

    continued = options.resumable(f"finished configurations are in {store}; the same command continues from there")
    with options.folder(store.parent), continued:
        records = experiment.run(made, given["configurations"], store, n_jobs=given["n_jobs"], progress=progress)
    return Results(records, given["reading"])


def _run_experiment(make: Any, run: Any, folder: Path) -> tuple[Any, str]:
    """Run an experiment and write tables, figures and verdicts; return values and text."""
    from simulations.reproduction._outputs import write_report

    experiment = make()
    return write_report(experiment, run(experiment, folder / "results"), folder)


def _run_sensitivity(make: Any, run: Any, folder: Path) -> tuple[Any, str]:
    """Run SL and csd/ME with the largest budget for several C, and for Eq. 3 as printed (mean loss, C = 1)."""
    import pandas as pd

    from simulations.reproduction import _result_tables as tables

    stores = {(loss, c): folder / f"{loss}-{c:g}" for loss, c in tables.GRID}
    parts = [
        tables.measure_sensitivity(loss, c, run(make(loss, c, short=True), store))
        for (loss, c), store in stores.items()
    ]
    table = pd.concat(parts, ignore_index=True)
    text = tables.write_sensitivity(table)
    (folder / "sensitivity.md").write_text(text, encoding="utf-8")
    (folder / "sensitivity.csv").write_text(tables.write_csv(table), encoding="utf-8")
    data = [
        {"setting": setting} | {name: dict(rows[["feature", "mean"]].values) for name, rows in part.groupby("method")}
        for setting, part in table.groupby("setting", sort=False)
    ]
    return data, f"{text}\nResults are in {folder}: sensitivity.md, sensitivity.csv."
