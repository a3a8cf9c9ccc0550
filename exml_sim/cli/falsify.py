"""``exml falsify``: search an instance that violates a claim, or makes a bound as tight as it can be."""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from exml_sim._internal.progress import Line
from exml_sim._internal.spreadsheets import write_frame
from exml_sim.cli import _options as options

if TYPE_CHECKING:
    from simulations.falsify._target import Measured
    from simulations.falsify.search import Outcome

STATES = {True: "holds", False: "false", None: "open"}
EVALUATIONS = 5000
#: Default time limit in seconds; every known error of the paper is found within it.
SECONDS = 300.0


@click.command(name="falsify")
@click.argument("claim", metavar="[CLAIM]", required=False)
@click.option("--list", "listing", is_flag=True, help="List all claims and bounds that can be searched.")
@click.option("--replay", type=click.Path(exists=True, dir_okay=False, path_type=Path), help="Replay a counterexample.")
@click.option("--tightness", is_flag=True, help="How tight can each bound be? CLAIM picks those that contain it.")
@click.option("--evaluations", type=click.IntRange(1, 10**9), help=f"Instances to measure.  [default: {EVALUATIONS:,}]")
@click.option("--seconds", type=click.FloatRange(0, 1e7, min_open=True), help=f"Per claim.  [default: {SECONDS:g}]")
@options.seed
@options.out("out")
@options.as_json
@options.quiet
def command(
    claim: str | None,
    listing: bool,
    replay: Path | None,
    tightness: bool,
    evaluations: int | None,
    seconds: float | None,
    seed: int,
    out: Path,
    as_json: bool,
    quiet: bool,
) -> None:
    """Search an instance that violates a claim of the paper or a bound of ours.

    A counterexample is shrunk, confirmed by exact fractions or fresh trials, and saved as a TOML file for --replay. The
    exit code is 1 if a claim that should hold is violated, or if a counterexample no longer reproduces.

    Example: exml falsify lemma-1-i --seed 0
    """
    if sum((listing, replay is not None, tightness or claim is not None)) != 1:
        raise click.UsageError("give a CLAIM to search, or one of --list, --replay FILE and --tightness")
    limits = (evaluations or (EVALUATIONS if seconds is None else None), seconds or SECONDS)
    if listing:
        _list(as_json)
    elif replay is not None:
        _replay(replay, as_json)
    elif tightness:
        _measure_tightness(claim, seed, limits, out, as_json, quiet)
    else:
        assert claim is not None
        _search(claim, seed, limits, out, as_json, quiet)


def _list(as_json: bool) -> None:
    from simulations.falsify.targets import all_targets

    targets = all_targets()
    if as_json:
        rows = [{"id": target.id, "says": target.says, "holds": target.holds} for target in targets]
        click.echo(json.dumps(rows, indent=2))
        return
    width = max(len(target.id) for target in targets)
    for target in targets:
        click.echo(f"{target.id:{width}}  {STATES[target.holds]:5}  {target.says}")


def _search(claim: str, seed: int, limits: tuple[int | None, float], out: Path, as_json: bool, quiet: bool) -> None:
    from simulations.falsify.counterexamples import Counterexample
    from simulations.falsify.search import Limits, search
    from simulations.falsify.targets import get

    target = get(claim)
    line = Line(not quiet and not as_json)

    def show_progress(evaluations: int, best: Measured) -> None:
        if evaluations % 25 == 0:
            ratio = f"{best.ratio:.3g}" if best.admissible else "-"
            line.show(f"{evaluations:,} evaluations, largest observed/bound {ratio}")

    try:
        with options.resumable(f"the same search again: exml falsify {claim} --seed {seed}"):
            outcome = search(target, seed=seed, limits=Limits(*limits), progress=show_progress)
    finally:
        line.close()
    file = None
    if outcome.violated:
        counterexample = Counterexample.of(outcome)
        options.make_folder(out)
        file = out / counterexample.file_name
        file.write_text(counterexample.to_toml(), encoding="utf-8")
    if as_json:
        click.echo(json.dumps(_to_json(outcome, file), indent=2))
    else:
        click.echo(outcome.describe())
        if file is not None:
            click.echo(f"Saved to {file}; replay it with exml falsify --replay {file}")
    if outcome.violated and target.holds:
        raise SystemExit(1)


def _to_json(outcome: Outcome, file: Path | None) -> dict[str, Any]:
    return {
        "claim": outcome.target.id,
        "says": outcome.target.says,
        "holds": outcome.target.holds,
        "violated": outcome.violated,
        "ratio": options.finite(outcome.measured.ratio) if outcome.best is not None else None,
        "log_observed": options.finite(outcome.measured.log_observed),
        "log_bound": options.finite(outcome.measured.log_bound),
        "instance": outcome.best.to_table() if outcome.best is not None else None,
        "verdict": outcome.verdict.sentence if outcome.verdict is not None else None,
        "not_confirmed": outcome.rejected,
        "evaluations": outcome.evaluations,
        "seconds": outcome.seconds,
        "seed": outcome.seed,
        "file": str(file) if file is not None else None,
    }


def _replay(file: Path, as_json: bool) -> None:
    from simulations.falsify.counterexamples import read, replay

    again = replay(read(file))
    if as_json:
        answer = {"claim": again.counterexample.target.id, "reproduced": again.reproduced, "same": again.same}
        click.echo(json.dumps({**answer, "verdict": again.verdict.sentence}, indent=2))
    else:
        click.echo(again.describe())
    if not again.reproduced:
        raise SystemExit(1)


def _measure_tightness(
    part: str | None, seed: int, limits: tuple[int | None, float], out: Path, as_json: bool, quiet: bool
) -> None:
    from simulations.falsify.search import measure_tightness, to_markdown
    from simulations.falsify.targets import all_targets

    targets = [target for target in all_targets() if part is None or part in target.id]
    if not targets:
        raise click.UsageError(f"no claim or bound contains {part!r}; exml falsify --list names all")

    def show(row: dict[str, Any]) -> None:
        if not quiet and not as_json:
            ratio, evaluations = row["ratio"], row["evaluations"]
            click.echo(f"{row['id']}: largest observed/bound {ratio:.3g} in {evaluations:,} evaluations", err=True)

    again = f"exml falsify --tightness{f' {part}' if part else ''} --seed {seed}"
    with options.resumable(f"the same search again: {again}"):
        table = measure_tightness(targets, seed=seed, evaluations=limits[0], seconds=limits[1], done=show)
    options.make_folder(out)
    (out / "tightness.csv").write_text(write_frame(table), encoding="utf-8")
    (out / "tightness.md").write_text(to_markdown(table), encoding="utf-8")
    if as_json:
        rows = [{**row, "ratio": options.finite(row["ratio"])} for row in table.to_dict("records")]
        click.echo(json.dumps(rows, indent=2))
    else:
        click.echo(to_markdown(table), nl=False)
    wrong = [row.id for row in table.itertuples() if row.violated and row.holds]
    if wrong:
        click.echo(f"exml: violated although it should hold: {', '.join(wrong)}", err=True)
        raise SystemExit(1)
