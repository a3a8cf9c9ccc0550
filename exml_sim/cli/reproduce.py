"""``exml reproduce``: repeat the experiments of the paper and test which of its findings are reproduced."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import click

from exml_sim.cli import _options as options

#: Configurations of the default run and at most, and C. C is 1 in the paper; 0.15 comes closest to its Mfeat numbers
#: (docs/explanation/reproduction.md); losses are added up.
DEFAULTS = {"synthetic": (50, 1000, 1.0), "mfeat": (50, 50, 0.15), "costs": (50, 50, 0.15), "realdisp": (10, 100, 1.0)}
#: Options of some experiments only.
OWN_OPTIONS = {"divisions": ("mfeat", "costs"), "source": ("realdisp",), "split": ("realdisp",)}


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
    type=options.Whole(min=1, max=50),
    default=5,
    show_default=True,
    help="mfeat, costs: divisions of the digits into classes; the paper has 5 and does not say which.",
)
@click.option(
    "--from",
    "source",
    type=click.Path(path_type=Path),
    help="realdisp: zip, directory or log of UCI REALDISP, or an .npz with y, t and a table per sensor.",
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

    synthetic: Figure 5, three Gaussians and nine candidates. mfeat: Table 1, six views of handwritten digits.
    costs: Table 2, the digits with unequal costs. realdisp: activities of one subject, nine sensors.

    Every experiment writes its table (Markdown, CSV), the figures of its section and a verdict per statement to a
    folder. A run that was interrupted continues where it stopped.

    Example: exml reproduce mfeat --configurations 5
    """
    _check_options(name, given)
    from simulations.reproduction import experiment
    from simulations.reproduction._outputs import write_report
    from simulations.reproduction._results import Results
    from simulations.reproduction._sources import read_source

    protocol = f"{given['split']}-{given['protocol']}" if name == "realdisp" else given["protocol"]
    folder = out or Path("out/reproduction") / f"{name}-{protocol}"
    data = read_source(given["source"]) if name == "realdisp" else None
    settings = {option: given[option] for option in ("loss", "seed", "divisions", "split")}
    test_labels = given["protocol"] == "test_labels"
    made = experiment.make_experiment(name, test_labels, given["penalty"], data=data, **settings)
    store, progress = folder / "results", not (quiet or as_json)
    continued = options.resumable(f"finished configurations are in {store}; the same command continues from there")
    with options.folder(folder), continued:
        records = experiment.run(made, given["configurations"], store, n_jobs=given["n_jobs"], progress=progress)
    values, text = write_report(made, Results(records, given["reading"]), folder)
    options.emit(values, text, as_json)


def _check_options(name: str, given: dict[str, Any]) -> None:
    """Fill in the defaults of the experiment, and report options that do not belong to it."""
    for option, experiments in OWN_OPTIONS.items():
        if options.is_typed(option) and name not in experiments:
            raise click.UsageError(f"--{'from' if option == 'source' else option} does not apply to {name}")
    if name == "realdisp" and given["source"] is None:
        raise click.UsageError("realdisp needs --from, the data")
    configurations, most, C = DEFAULTS[name]
    given["penalty"] = C if given["penalty"] is None else given["penalty"]
    given["configurations"] = configurations if given["configurations"] is None else given["configurations"]
    if not 2 <= given["configurations"] <= most:
        raise click.UsageError(f"{name} has 2 to {most} configurations, got {given['configurations']}")
