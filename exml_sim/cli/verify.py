"""``exml verify``: test every claim on instances and trials, or replay a certificate; exit 1 if something is wrong."""

from __future__ import annotations

import json
import time
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import click

from exml_sim._internal.progress import Line
from exml_sim.cli import _options as options

DEPTH_NAMES = ("quick", "standard", "deep")


@click.command(name="verify")
@click.argument("claims", metavar="[CLAIM|CERTIFICATE.json]...", nargs=-1)
@click.option("--depth", type=click.Choice(DEPTH_NAMES), default="quick", show_default=True, help="Amount of evidence.")
@click.option(
    "--store",
    type=click.Path(path_type=Path, file_okay=False),
    help="Folder of finished work that a later run continues; OUT/store unless given.",
)
@options.paper
@options.out("out/verify")
@options.n_jobs
@options.seed
@options.plugins("certificate")
@options.quiet
@options.as_json
def command(
    claims: tuple[str, ...],
    depth: str,
    store: Path | None,
    source: str | None,
    out: Path,
    n_jobs: int,
    seed: int,
    plugins: tuple[Path, ...],
    trust: bool,
    quiet: bool,
    as_json: bool,
) -> None:
    """Test every claim of the paper's theory against the evidence.

    Runs the checks of all claims (or of those named) and the trials behind those about probabilities: as printed,
    corrected, and by our theorems. Writes verify.json and verify.txt to the folder; exits with 1 if
    anything that should hold is refuted, if something recorded as wrong is not refuted, or if a check lets a planted
    error pass.

    With files of exml plan --certify instead of claims: run the trials of every certificate again, and compare digest,
    levels, counts and evidence; exits with 1 if something differs.

    A run that was interrupted continues where it stopped. Examples: exml verify lemma-1-i lemma-2-i --depth standard;
    exml verify out/plan/certificate-0123456789abcdef.json
    """
    files = [Path(name) for name in claims if name.endswith(".json")]
    if files:
        if len(files) < len(claims):
            raise click.UsageError("give claims or certificates, not both")
        _replay(files, plugins, trust, n_jobs, as_json)
        return
    if plugins or trust:
        raise click.UsageError("--plugins and --trust go with a certificate")
    started, clock = datetime.now(UTC).isoformat(timespec="seconds"), time.monotonic()
    from simulations.verification import _report as report
    from simulations.verification._cells import DEPTHS
    from simulations.verification.run import verify

    other: dict[str, Any] = {}
    if source is not None:
        from simulations.papers import load_paper

        paper = load_paper(source)
        other = {"registry": paper.registry, "test": paper.test_claim}
    folder = out / "store" if store is None else store
    line = Line(not quiet and not as_json)
    try:
        with options.resumable("the same command continues where it stopped"):
            begin = time.monotonic()
            verification = verify(
                claims, DEPTHS[depth], seed=seed, n_jobs=n_jobs, store=folder, notify=line.show, **other
            )
            done = time.monotonic()
            document = report.write(verification, out, started, {"claims": done - begin, "total": done - clock})
    finally:
        line.close()
    if as_json:
        click.echo(json.dumps(document, indent=1))
    else:
        click.echo(f"{report.format_report(verification)}\nResults are in {out}.")
    if verification.problems:
        raise SystemExit(1)


def _replay(files: list[Path], plugins: tuple[Path, ...], trust: bool, n_jobs: int, as_json: bool) -> None:
    """Replay certificates, and print for each whether it holds."""
    import exml_sim
    from exml_sim.plugins import Plugins, files_beside
    from simulations.certificates import Certificate, replay

    results = []
    for file in files:
        try:
            certificate = Certificate.from_json(file.read_text(encoding="utf-8"))
        except UnicodeDecodeError:
            raise ValueError(f"{file}: not a certificate of exml-sim: the file is not text in UTF-8") from None
        except OSError as error:
            raise ValueError(f"{file} cannot be read: {error.strerror}") from None
        except ValueError as error:
            raise ValueError(f"{file}: {error}") from None
        if certificate.version != exml_sim.__version__:
            click.echo(
                f"exml: {file} was made by version {certificate.version!r}, and this is {exml_sim.__version__}: trials "
                "may differ",
                err=True,
            )
        folder = file.resolve().parent
        try:
            beside = files_beside(folder, dict(certificate.specification)) if trust else ()
            differences = replay(certificate, Plugins.of((*plugins, *beside), [folder]), n_jobs=n_jobs)
        except (ValueError, TypeError, LookupError, AttributeError) as error:
            text = " ".join(str(error).split())
            # Other exceptions come from values of a wrong type, and their text is of Python.
            shown = text if isinstance(error, ValueError) else "a value has a type that studies do not allow"
            raise ValueError(f"{file}: the certificate cannot be replayed: {shown}") from None
        results.append({"file": str(file), "sentence": certificate.sentence, "differences": differences})
    lines = [
        f"{result['file']}: {result['sentence'] if not result['differences'] else 'the certificate does not hold.'}"
        + "".join(f"\n  differs: {difference}" for difference in result["differences"])
        for result in results
    ]
    options.emit(results, "\n".join(lines), as_json)
    if any(result["differences"] for result in results):
        raise SystemExit(1)
