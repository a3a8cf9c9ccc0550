"""``exml falsify``: search for an instance that violates a claim, or makes a bound as tight as it can be."""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from exml_sim.cli import options
from exml_sim.progress import Line

if TYPE_CHECKING:
    from simulations.falsify.search import Outcome
    from simulations.falsify.target import Measured
    from simulations.falsify.tightness import Tightness

WORDS = {True: "holds", False: "false", None: "open"}
EVALUATIONS = 5000
#: Seconds that a hunt may take if nothing else is said: the five minutes that every known error needs at most.
SECONDS = 300.0


@click.command(name="hunt")
@click.argument("claim", metavar="[CLAIM]", required=False)
@click.option("--list", "listing", is_flag=True, help="Name everything that can be hunted.")
@click.option("--replay", type=click.Path(exists=True, dir_okay=False, path_type=Path), help="Look at a find again.")
@click.option("--tightness", is_flag=True, help="How tight can each bound be? CLAIM picks those that contain it.")
@click.option("--evaluations", type=click.IntRange(1, 10**9), help=f"Instances to look at.  [default: {EVALUATIONS:,}]")
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
    """Search for an instance that violates a claim of the paper or a bound of ours.

    A find is shrunk, confirmed by exact fractions or fresh trials, and saved as a TOML file that --replay looks at
    again. The exit code is 1 if something is violated that should hold, or if a replayed find stands no more.

    Example: exml falsify lemma-1-i --seed 0
    """
    if sum((listing, replay is not None, tightness or claim is not None)) != 1:
        raise click.UsageError("give a CLAIM to hunt, or one of --list, --replay FILE and --tightness")
    limits = (evaluations or (EVALUATIONS if seconds is None else None), seconds or SECONDS)
    if listing:
        _list(as_json)
    elif replay is not None:
        _replay(replay, as_json)
    elif tightness:
        _tightness(claim, seed, limits, out, as_json, quiet)
    else:
        assert claim is not None
        _hunt(claim, seed, limits, out, as_json, quiet)


def _list(as_json: bool) -> None:
    from simulations.falsify.targets import all_targets

    targets = all_targets()
    if as_json:
        click.echo(json.dumps([{"id": one.id, "says": one.says, "holds": one.holds} for one in targets], indent=2))
        return
    width = max(len(one.id) for one in targets)
    for one in targets:
        click.echo(f"{one.id:{width}}  {WORDS[one.holds]:5}  {one.says}")


def _hunt(claim: str, seed: int, limits: tuple[int | None, float], out: Path, as_json: bool, quiet: bool) -> None:
    from simulations.falsify.finds import Find
    from simulations.falsify.search import Limits, hunt
    from simulations.falsify.targets import get

    target = get(claim)
    line = Line(not quiet and not as_json)

    def told(evaluations: int, best: Measured) -> None:
        if evaluations % 25 == 0:
            shown = f"{best.ratio:.3g}" if best.admissible else "-"
            line.show(f"{evaluations:,} evaluations, largest observed/bound {shown}")

    try:
        with options.resumable(f"the same hunt again: exml falsify {claim} --seed {seed}"):
            outcome = hunt(target, seed=seed, limits=Limits(*limits), progress=told)
    finally:
        line.close()
    saved = None
    if outcome.found:
        find = Find.of(outcome)
        options.make_folder(out)
        saved = out / find.file_name
        saved.write_text(find.to_toml(), encoding="utf-8")
    if as_json:
        click.echo(json.dumps(_outcome_json(outcome, saved), indent=2))
    else:
        click.echo(outcome.sentence())
        if saved is not None:
            click.echo(f"\nThe find is in {saved}; look at it again by exml falsify --replay {saved}.")
    if outcome.found and target.holds:
        raise SystemExit(1)


def _outcome_json(outcome: Outcome, saved: Path | None) -> dict[str, Any]:
    return {
        "claim": outcome.target.id,
        "says": outcome.target.says,
        "holds": outcome.target.holds,
        "violated": outcome.found,
        "ratio": options.finite(outcome.measured.ratio) if outcome.best is not None else None,
        "log_observed": options.finite(outcome.measured.log_observed),
        "log_bound": options.finite(outcome.measured.log_bound),
        "instance": outcome.best.table() if outcome.best is not None else None,
        "verdict": outcome.verdict.sentence if outcome.verdict is not None else None,
        "not_confirmed": outcome.rejected,
        "evaluations": outcome.evaluations,
        "seconds": outcome.seconds,
        "seed": outcome.seed,
        "file": str(saved) if saved is not None else None,
    }


def _replay(file: Path, as_json: bool) -> None:
    from simulations.falsify.finds import read, replay

    again = replay(read(file))
    if as_json:
        answer = {"claim": again.find.target.id, "stands": again.stands, "same": again.same}
        click.echo(json.dumps({**answer, "verdict": again.verdict.sentence}, indent=2))
    else:
        click.echo(again.sentence())
    if not again.stands:
        raise SystemExit(1)


def _tightness(
    part: str | None, seed: int, limits: tuple[int | None, float], out: Path, as_json: bool, quiet: bool
) -> None:
    from simulations.falsify.targets import all_targets
    from simulations.falsify.tightness import table, to_csv, to_markdown

    targets = [one for one in all_targets() if part is None or part in one.id]
    if not targets:
        raise click.UsageError(f"no claim or bound contains {part!r}; exml falsify --list names all")

    def told(row: Tightness) -> None:
        click.echo(f"{row.id}: largest observed/bound {row.ratio:.3g} in {row.evaluations:,} evaluations", err=True)

    done = None if quiet or as_json else told
    with options.resumable(
        f"the same search again: exml falsify --tightness{f' {part}' if part else ''} --seed {seed}"
    ):
        rows = table(targets, seed=seed, evaluations=limits[0], seconds=limits[1], done=done)
    options.make_folder(out)
    (out / "tightness.csv").write_text(to_csv(rows), encoding="utf-8")
    (out / "tightness.md").write_text(to_markdown(rows), encoding="utf-8")
    if as_json:
        fields = ("id", "holds", "violated", "observed", "bound", "evaluations", "where")
        lines = [{**{name: getattr(row, name) for name in fields}, "ratio": options.finite(row.ratio)} for row in rows]
        click.echo(json.dumps(lines, indent=2))
    else:
        click.echo(to_markdown(rows), nl=False)
    wrong = [row.id for row in rows if row.violated and row.holds]
    if wrong:
        click.echo(f"exml: violated although it should hold: {', '.join(wrong)}", err=True)
        raise SystemExit(1)
