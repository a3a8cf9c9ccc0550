"""``exml verify``: test every claim on instances, exact probabilities and trials; exit 1 if a true one is refuted."""

from __future__ import annotations

import json
import time
from datetime import UTC, datetime
from pathlib import Path

import click

from exml_sim._internal.progress import Line
from exml_sim.cli import _options as options

DEPTH_NAMES = ("quick", "standard", "deep")


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
@options.quiet
@options.as_json
def command(
    claims: tuple[str, ...],
    depth: str,
    store: Path | None,
    out: Path,
    n_jobs: int,
    seed: int,
    quiet: bool,
    as_json: bool,
) -> None:
    """Test every claim of the paper's theory against the evidence.

    Runs the checks of all claims (or of those named) and the trials behind those about probabilities: as printed,
    corrected, and by our theorems. Writes verify.json, verify.md and verify.csv to the folder; exits with 1 if
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
            document = report.write(verification, out, started, report.Clock(done - begin, done - clock))
    finally:
        line.close()
    if as_json:
        click.echo(json.dumps(document, indent=1))
    else:
        table = report.format_table(verification)
        click.echo(f"{report.conclude(verification)}\n\n{table}\n\nResults are in {out}.")
    if verification.problems:
        raise SystemExit(1)
