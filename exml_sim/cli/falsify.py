"""``exml falsify``: search an instance that violates a claim."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from exml_sim._internal.files import write_file
from exml_sim._internal.progress import Line
from exml_sim.cli import _options as options

if TYPE_CHECKING:
    from simulations.falsify._target import Measured, Target
    from simulations.falsify.search import Outcome

STATES = {True: "holds", False: "false", None: "open"}
EVALUATIONS = 5000
#: Default time limit in seconds; every known error of the paper is found within it.
SECONDS = 300.0


@click.command(name="falsify")
@click.argument("claim", metavar="[CLAIM]", required=False)
@click.option("--list", "listing", is_flag=True, help="List all claims and bounds that can be searched.")
@click.option("--replay", type=click.Path(exists=True, dir_okay=False, path_type=Path), help="Replay a counterexample.")
@click.option("--evaluations", type=options.Whole(1, 10**9), help=f"Instances to measure.  [default: {EVALUATIONS:,}]")
@click.option("--seconds", type=click.FloatRange(0, 1e7, min_open=True), help=f"Per claim.  [default: {SECONDS:g}]")
@options.paper
@options.seed
@options.out("out")
@options.as_json
@options.quiet
def command(
    claim: str | None,
    listing: bool,
    replay: Path | None,
    evaluations: int | None,
    seconds: float | None,
    source: str | None,
    seed: int,
    out: Path,
    as_json: bool,
    quiet: bool,
) -> None:
    """Search an instance that violates a claim of the paper or a bound of ours.

    A counterexample is shrunk, confirmed by exact fractions, enumeration or fresh trials, and saved as a TOML file for
    --replay. The exit code is 1 if a claim that should hold is violated, if violations of it were found and none was
    confirmed, or if a counterexample no longer reproduces.

    Example: exml falsify lemma-1-i --seed 0
    """
    from simulations.falsify.targets import all_targets, find_target

    if sum((listing, replay is not None, claim is not None)) != 1:
        raise click.UsageError("give a CLAIM to search, or one of --list and --replay FILE")
    targets, registry = all_targets(), None
    if source is not None:
        from simulations.papers import load_paper

        paper = load_paper(source)
        targets, registry = paper.targets, paper.registry
    limits = (evaluations or (EVALUATIONS if seconds is None else None), seconds or SECONDS)
    if listing:
        rows = [{"id": target.id, "says": target.says, "holds": target.holds} for target in targets]
        width = max((len(target.id) for target in targets), default=0)
        lines = (f"{target.id:{width}}  {STATES[target.holds]:5}  {target.says}" for target in targets)
        options.emit(rows, "\n".join(lines), as_json)
    elif replay is not None:
        _replay(replay, targets, as_json)
    else:
        assert claim is not None
        _search(find_target(claim, targets, registry), source, seed, limits, out, as_json, quiet)


def _search(
    target: Target,
    source: str | None,
    seed: int,
    limits: tuple[int | None, float],
    out: Path,
    as_json: bool,
    quiet: bool,
) -> None:
    from simulations.falsify.counterexamples import Counterexample
    from simulations.falsify.search import Limits, search

    line, place = Line(not quiet and not as_json), f" --from {source}" if source else ""

    def show_progress(evaluations: int, best: Measured) -> None:
        if evaluations % 25 == 0:
            ratio = f"{best.ratio:.3g}" if best.admissible else "-"
            line.show(f"{evaluations:,} evaluations, largest observed/bound {ratio}")

    try:
        with options.resumable(f"the same search again: exml falsify {target.id} --seed {seed}{place}"):
            outcome = search(target, seed=seed, limits=Limits(*limits), progress=show_progress)
    finally:
        line.close()
    text, file = outcome.describe(), None
    if outcome.violated:
        counterexample = Counterexample.of(outcome)
        options.make_folder(out)
        file = out / counterexample.file_name
        write_file(file, counterexample.to_toml())
        text += f"\nSaved to {file}; replay it with exml falsify --replay {file}{place}"
    options.emit(_to_json(outcome, file), text, as_json)
    if (outcome.violated or outcome.undecided) and target.holds:
        raise SystemExit(1)


def _to_json(outcome: Outcome, file: Path | None) -> dict[str, Any]:
    return {
        "claim": outcome.target.id,
        "says": outcome.target.says,
        "holds": outcome.target.holds,
        "violated": outcome.violated,
        "undecided": outcome.undecided,
        "ratio": options.finite(outcome.measured.ratio) if outcome.best is not None else None,
        "log_observed": options.finite(outcome.measured.log_observed),
        "log_bound": options.finite(outcome.measured.log_bound),
        "instance": outcome.best.to_table() if outcome.best is not None else None,
        "verdict": outcome.verdict.sentence if outcome.verdict is not None else None,
        "not_confirmed": outcome.unconfirmed,
        "evaluations": outcome.evaluations,
        "seconds": outcome.seconds,
        "seed": outcome.seed,
        "file": str(file) if file is not None else None,
    }


def _replay(file: Path, targets: Sequence[Target], as_json: bool) -> None:
    from simulations.falsify.counterexamples import read, replay

    again = replay(read(file, targets))
    answer = {"claim": again.counterexample.target.id, "reproduced": again.reproduced, "same": again.same}
    options.emit({**answer, "verdict": again.verdict.sentence}, again.describe(), as_json)
    if not again.reproduced:
        raise SystemExit(1)
