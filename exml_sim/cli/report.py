"""``exml report``: write one HTML page about the results of a study."""

from __future__ import annotations

from pathlib import Path

import click

from exml_sim.cli import _options as options


@click.command(name="report")
@click.argument("store", type=click.Path(path_type=Path))
@click.option("--out", type=click.Path(path_type=Path, dir_okay=False), help="The page; report.html next to the store.")
@options.plugins("store")
@options.quiet
@options.as_json
def command(store: Path, out: Path | None, plugins: tuple[Path, ...], trust: bool, quiet: bool, as_json: bool) -> None:
    """Write one HTML file about the results in STORE; it needs no network and can be sent by mail.

    It has the headline, a chart of failure rates whose bounds move with theta, kappa Lambda, the gap and K, the
    verdicts, and in its details all cells, the allocation, the settings and the provenance.

    Code of plug-ins is executed only if you name its file: --plugins my_rules.py draws their bounds, too.

    Example: exml report out/study.sqlite --out report.html
    """
    from exml_sim.engine.result import StudyResult
    from simulations.report._page import make_page
    from simulations.report._render import render

    target = out or store.parent / "report.html"
    with StudyResult.open(store, plugins=plugins, trust=trust) as result:
        page = make_page(result)
    options.make_folder(target.parent)
    target.write_text(render(page), encoding="utf-8")
    findings = [*page["headline"], *page["budgets"], page["verdict"], *page["findings"]]
    lines = [] if quiet else [*findings, ""]
    text = "\n".join([*lines, f"The report is in {target}."])
    options.emit({"file": str(target), "findings": findings}, text, as_json)
