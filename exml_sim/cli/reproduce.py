"""``exml reproduce``: repeat the experiments of the paper and say which findings come out again."""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from exml_sim.cli import options

if TYPE_CHECKING:
    from simulations.reproduction.experiment import Experiment

#: The paper's C, and the one that comes closest to its numbers on Mfeat; losses are added up
#: (docs/explanation/reproduction.md).
PAPER_C = 1.0
CLOSEST_C = 0.15
STORE = "results"


@click.group(name="reproduce")
def command() -> None:
    """Repeat the experiments of Section 5 and say which of the paper's findings come out again.

    Every experiment leaves its table (Markdown, CSV), figures (PNG, SVG) and a verdict per statement of the paper in a
    folder. A run that was interrupted continues where it stopped. Example: exml reproduce mfeat --configurations 5
    """


def _common(default: int, most: int, what: str, c: float) -> Callable[[Any], Any]:
    """Options that all experiments share."""
    kind = click.IntRange(min=2, max=most)

    def decorate(function: Any) -> Any:
        for option in (
            click.option("--configurations", type=kind, default=default, show_default=True, help=f"{what}."),
            click.option(
                "--protocol",
                type=click.Choice(("hindsight", "automatic")),
                default="hindsight",
                show_default=True,
                help="Theta by test labels, as the paper does, or by cross-validation on bought rows.",
            ),
            click.option(
                "--reading",
                type=click.Choice(("one", "each")),
                default="one",
                show_default=True,
                help="TestData takes one theta for all configurations, or the best of each.",
            ),
            click.option("--C", "penalty", type=float, default=c, show_default=True, help="C_h = C_g; paper: 1."),
            click.option("--loss", type=click.Choice(("sum", "mean")), default="sum", show_default=True),
            options.seed,
            options.n_jobs,
            click.option(
                "--out",
                type=click.Path(path_type=Path, file_okay=False),
                help="Folder for results; out/reproduction/EXPERIMENT-PROTOCOL by default.",
            ),
            options.as_json,
            options.quiet,
        ):
            function = option(function)
        return function

    return decorate


_divisions = click.option(
    "--divisions",
    type=click.IntRange(min=1, max=50),
    default=5,
    show_default=True,
    help="Different divisions of the digits into classes; the paper has 5 and does not say which.",
)


@command.command(name="synthetic")
@_common(50, 1000, "Repetitions", PAPER_C)
def synthetic(penalty: float, loss: str, seed: int, protocol: str, **rest: Any) -> None:
    """Figures 4 and 5: three Gaussians and nine candidates at a budget of 20 %."""
    from simulations.reproduction.synthetic import figures_4_and_5

    _run(figures_4_and_5(protocol == "hindsight", penalty, loss=loss, seed=seed), Wanted(protocol, **rest))


@command.command(name="mfeat")
@_common(50, 50, "Configurations: divisions of the digits and training sets", CLOSEST_C)
@_divisions
@click.option("--sensitivity", is_flag=True, help="SL and csd/ME at 30 % for several C instead of the whole table.")
def mfeat(sensitivity: bool, divisions: int, penalty: float, loss: str, seed: int, protocol: str, **rest: Any) -> None:
    """Table 1: six views of handwritten digits, three budgets, SL and three variants of ExML."""
    from simulations.reproduction.mfeat import table_1

    def make(c: float, kind: str, short: bool = True) -> Experiment:
        return table_1(protocol == "hindsight", c, loss=kind, seed=seed, divisions=divisions, short=short)

    if sensitivity:
        _sensitivity(make, Wanted(protocol, **rest))
        return
    _run(make(penalty, loss, short=False), Wanted(protocol, **rest))


@command.command(name="costs")
@_common(50, 50, "Configurations, as for mfeat", CLOSEST_C)
@_divisions
def costs(divisions: int, penalty: float, loss: str, seed: int, protocol: str, **rest: Any) -> None:
    """Table 2: the digits with unequal costs, two strategies with two alignments."""
    from simulations.reproduction.mfeat import table_2

    experiment = table_2(protocol == "hindsight", penalty, loss=loss, seed=seed, divisions=divisions)
    _run(experiment, Wanted(protocol, **rest))


@command.command(name="realdisp")
@click.option(
    "--from",
    "source",
    type=click.Path(path_type=Path),
    required=True,
    help="Zip, directory or log of UCI REALDISP, or an .npz as exml data realdisp writes it.",
)
@click.option("--split", type=click.Choice(("random", "blocked")), default="random", show_default=True)
@_common(10, 100, "Repetitions", PAPER_C)
def realdisp(source: Path, split: str, penalty: float, loss: str, seed: int, protocol: str, **rest: Any) -> None:
    """Activities of one subject, nine sensors: accuracy and allocation matrix.

    Random splits are the paper's; samples a fiftieth of a second apart then lie on both sides. Blocked splits keep
    whole blocks of two seconds together.
    """
    from simulations.reproduction.realdisp import figures_6_and_7, read

    experiment = figures_6_and_7(read(source), split, protocol == "hindsight", penalty, loss=loss, seed=seed)
    _run(experiment, Wanted(f"{split}-{protocol}", **rest))


@dataclass(frozen=True, slots=True)
class Wanted:
    """The options that all experiments share, less those that make the experiment."""

    protocol: str
    reading: str
    configurations: int
    n_jobs: int
    out: Path | None
    as_json: bool
    quiet: bool

    def folder(self, name: str) -> Path:
        """Where results go."""
        return self.out or Path("out/reproduction") / f"{name}-{self.protocol}"

    def results(self, experiment: Experiment, store: Path) -> Any:
        """Run what is missing."""
        from simulations.reproduction.experiment import run

        progress = not (self.quiet or self.as_json)
        with options.resumable(f"finished configurations are in {store}; the same command continues from there"):
            return run(experiment, self.configurations, store, n_jobs=self.n_jobs, progress=progress)


def _run(experiment: Experiment, wanted: Wanted) -> None:
    """Run what is missing, write tables, figures and verdicts, and print them."""
    from simulations.reproduction.outputs import report

    folder = wanted.folder(experiment.name)
    with options.folder(folder):
        found = wanted.results(experiment, folder / STORE)
    written = report(experiment, found, folder, wanted.reading)
    if wanted.as_json:
        click.echo(json.dumps({**written.data(), "configurations": len(found), "settings": experiment.identity()}))
        return
    click.echo(written.text())
    click.echo(f"Results of {len(found)} configurations are in {folder}: {', '.join(f.name for f in written.files)}.")


def _sensitivity(make: Callable[[float, str], Experiment], wanted: Wanted) -> None:
    """SL and csd/ME with the largest budget for several C, and for Eq. 3 as printed (mean loss, C = 1)."""
    from simulations.reproduction import sensitivity

    folder = wanted.folder("sensitivity")
    found = []
    for kind, c in sensitivity.GRID:
        with options.folder(folder):
            results = wanted.results(make(c, kind), folder / f"{kind}-{c:g}")
        found.append(sensitivity.line(kind, c, results, wanted.reading))
    text = sensitivity.markdown(found)
    (folder / "sensitivity.md").write_text(text, encoding="utf-8")
    (folder / "sensitivity.csv").write_text(sensitivity.to_csv(found), encoding="utf-8")
    if wanted.as_json:
        click.echo(json.dumps([{"setting": one.label, "SL": one.supervised, "csd/ME": one.explored} for one in found]))
        return
    click.echo(text)
    click.echo(
        f"Results of {wanted.configurations} configurations each are in {folder}: sensitivity.md, sensitivity.csv."
    )
