"""``exml verify``: hold every claim against instances, exact laws and trials; exit 1 if a true one is refuted."""

from __future__ import annotations

import json
import time
from collections.abc import Callable
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING

import click

from exml_sim.cli import options
from exml_sim.progress import Line

if TYPE_CHECKING:
    from simulations.verification.run import Verification

DEPTHS = ("quick", "standard", "deep")
#: Claims whose slack is drawn: the two lemmas on identification.
SLACK = ("lemma-1-i", "lemma-2-i")


@click.command(name="verify")
@click.argument("claims", metavar="[CLAIM]...", nargs=-1)
@click.option("--depth", type=click.Choice(DEPTHS), default="quick", show_default=True, help="How much evidence.")
@click.option(
    "--store",
    type=click.Path(path_type=Path, file_okay=False),
    help="Folder of finished work that a later run continues; OUT/store unless given.",
)
@options.out("out/verify")
@options.n_jobs
@options.seed
@click.option("--figures/--no-figures", default=True, show_default=True, help="Draw one figure per family of claims.")
@options.quiet
@options.as_json
def command(
    claims: tuple[str, ...],
    depth: str,
    store: Path | None,
    out: Path,
    n_jobs: int,
    seed: int,
    figures: bool,
    quiet: bool,
    as_json: bool,
) -> None:
    """Hold every claim of the paper's theory against the evidence.

    Runs the checks of all claims (or of those named) and the trials behind those about probabilities: as printed,
    corrected, and by our theorems. Writes verify.json, verify.md, verify.csv and figures to the folder; exits with 1 if
    anything that should hold is refuted, if something recorded as wrong is not refuted, or if a check lets a planted
    error pass.

    Statements about selections are held against their level, too; the name "coverage" asks for them alone.

    A run that was interrupted continues where it stopped. Example: exml verify lemma-1-i lemma-2-i --depth standard
    """
    started, clock = datetime.now(UTC).isoformat(timespec="seconds"), time.monotonic()
    from simulations.verification import coverage, report
    from simulations.verification.depths import DEPTHS as known
    from simulations.verification.run import chosen, verify

    wanted = chosen(claims)
    statements = not claims or coverage.NAME in claims
    kept = out / "store" if store is None else store
    line = Line(not quiet and not as_json)
    try:
        with options.resumable("the same command continues where it stopped"):
            begun = time.monotonic()
            found = verify(
                wanted, known[depth], seed=seed, n_jobs=n_jobs, store=kept, statements=statements, tick=line.show
            )
            done = time.monotonic()
            document = report.write(found, out, started, report.Clock(done - begun, None, done - clock))
            if figures:
                line.show("drawing")
                _draw(found, out, n_jobs, kept, line.show)
                # The results were safe before the first picture; now the time of the pictures is known, too.
                end = time.monotonic()
                document = report.write(found, out, started, report.Clock(done - begun, end - done, end - clock))
    finally:
        line.close()
    if as_json:
        click.echo(json.dumps(document, indent=1))
    else:
        click.echo(f"{report.table(found)}\n\n{report.conclusion(found)}\n\nResults are in {out}.")
    if found.problems:
        raise SystemExit(1)


def _draw(found: Verification, out: Path, n_jobs: int, store: Path, tick: Callable[[str], None]) -> None:
    """Leave all figures that the verified claims have data for."""
    from simulations.figures import style
    from simulations.verification import budget_slack
    from simulations.verification.figures import claims, excess, slack
    from simulations.verification.workbench import workbench

    for stem, picture in claims.figures(found):
        style.save(picture, out / stem)
    if found.excess:
        style.save(excess.figure(found.excess), out / "excess-risk")
    if any(one.claim.id in SLACK for one in found.results):
        trials = found.depth.slack_trials
        with workbench(found.seed, n_jobs, store, tick) as bench:
            style.save(slack.budget_figure(budget_slack.measure(trials, bench), trials), out / "budget-slack")
            falls = [budget_slack.fall(strategy, bench) for strategy in ("uniform", "median")]
            style.save(slack.waterfall_figure(falls), out / "slack-waterfall")
