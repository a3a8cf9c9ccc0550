"""``exml verify``: test every claim on instances, exact probabilities and trials; exit 1 if a true one is refuted."""

from __future__ import annotations

import json
import time
from collections.abc import Callable
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING

import click

from exml_sim._internal.progress import Line
from exml_sim.cli import _options as options

if TYPE_CHECKING:
    from simulations.verification.run import Verification

DEPTH_NAMES = ("quick", "standard", "deep")
#: Claims whose slack is drawn: the two lemmas on identification.
SLACK_CLAIMS = ("lemma-1-i", "lemma-2-i")


@click.command(name="verify")
@click.argument("claims", metavar="[CLAIM]...", nargs=-1)
@click.option("--depth", type=click.Choice(DEPTH_NAMES), default="quick", show_default=True, help="Amount of evidence.")
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
    """Test every claim of the paper's theory against the evidence.

    Runs the checks of all claims (or of those named) and the trials behind those about probabilities: as printed,
    corrected, and by our theorems. Writes verify.json, verify.md, verify.csv and figures to the folder; exits with 1 if
    anything that should hold is refuted, if something recorded as wrong is not refuted, or if a check lets a planted
    error pass.

    The coverage of statements about selections is tested, too; the name "coverage" selects them alone.

    A run that was interrupted continues where it stopped. Example: exml verify lemma-1-i lemma-2-i --depth standard
    """
    started, clock = datetime.now(UTC).isoformat(timespec="seconds"), time.monotonic()
    from simulations.verification import _coverage as coverage
    from simulations.verification import report
    from simulations.verification._plans import DEPTHS
    from simulations.verification.run import select_claims, verify

    selected = select_claims(claims)
    statements = not claims or coverage.NAME in claims
    folder = out / "store" if store is None else store
    line = Line(not quiet and not as_json)
    try:
        with options.resumable("the same command continues where it stopped"):
            begin = time.monotonic()
            verification = verify(
                selected, DEPTHS[depth], seed=seed, n_jobs=n_jobs, store=folder, statements=statements, notify=line.show
            )
            done = time.monotonic()
            document = report.write(verification, out, started, report.Clock(done - begin, None, done - clock))
            if figures:
                line.show("drawing")
                _draw(verification, out, n_jobs, folder, line.show)
                # The results were written before the first figure; now the time of the figures is known, too.
                end = time.monotonic()
                seconds = report.Clock(done - begin, end - done, end - clock)
                document = report.write(verification, out, started, seconds)
    finally:
        line.close()
    if as_json:
        click.echo(json.dumps(document, indent=1))
    else:
        table = report.format_table(verification)
        click.echo(f"{report.conclude(verification)}\n\n{table}\n\nResults are in {out}.")
    if verification.problems:
        raise SystemExit(1)


def _draw(verification: Verification, out: Path, n_jobs: int, store: Path, notify: Callable[[str], None]) -> None:
    """Write all figures that the verified claims have data for."""
    from simulations.figures import style
    from simulations.verification import _budget_slack as budget_slack
    from simulations.verification import _figures as figures
    from simulations.verification._claim_trials import open_context

    for stem, figure in figures.draw_families(verification):
        style.save(figure, out / stem)
    if verification.excess:
        style.save(figures.draw_excess_figure(verification.excess), out / "excess-risk")
    if any(result.claim.id in SLACK_CLAIMS for result in verification.results):
        trials = verification.depth.slack_trials
        with open_context(verification.seed, n_jobs, store, notify) as context:
            budgets = budget_slack.measure(trials, context)
            style.save(figures.draw_budget_figure(budgets, trials), out / "budget-slack")
            parts = [budget_slack.measure_slack(strategy, context) for strategy in ("uniform", "median")]
            style.save(figures.draw_slack_figure(parts), out / "slack-decomposition")
