"""``exml report``: write one HTML page about the results of one or several studies."""

from __future__ import annotations

from contextlib import ExitStack
from pathlib import Path

import click

from exml_sim.cli import _options as options


@click.command(name="report")
@click.argument("stores", metavar="STORE...", nargs=-1, required=True, type=click.Path(path_type=Path))
@click.option("--out", type=click.Path(path_type=Path, dir_okay=False), help="The page; report.html next to the store.")
@options.plugins("store")
@options.quiet
@options.as_json
def command(
    stores: tuple[Path, ...], out: Path | None, plugins: tuple[Path, ...], trust: bool, quiet: bool, as_json: bool
) -> None:
    """Write one HTML file about the results in STORE; it needs no network and can be sent by mail.

    It has the headline, a chart of failure rates and bounds, the verdicts, the allocation per round, and in its details
    all cells, the settings and the provenance. Certificates next to the store (exml plan --certify) are shown as well.

    Of several stores the page compares the strategies over all pools: ranks, performance profiles, small multiples and
    a table of all results. It is comparison.html next to the first store.

    Code of plug-ins is executed only if you name its file: --plugins my_rules.py draws their bounds, too.

    Example: exml report out/study.sqlite --out report.html
    """
    from exml_sim._internal.files import write_file
    from exml_sim._internal.threads import one_thread
    from exml_sim.engine.result import StudyResult
    from simulations.certificates import read_certificates
    from simulations.report._comparison import make_comparison, render_comparison
    from simulations.report._findings import QUESTION
    from simulations.report._page import make_page
    from simulations.report._render import render

    target = out or stores[0].parent / ("report.html" if len(stores) == 1 else "comparison.html")
    with ExitStack() as stack, one_thread("blas"):
        results = [stack.enter_context(StudyResult.open(store, plugins=plugins, trust=trust)) for store in stores]
        if len(stores) > 1:
            comparison = make_comparison(results)
            findings, text = comparison["headline"], render_comparison(comparison)
        else:
            page = make_page(results[0], read_certificates(stores[0].parent))
            findings = [QUESTION, *page["headline"], *page["budgets"], page["verdict"], *page["findings"]]
            text = render(page)
    options.make_folder(target.parent)
    write_file(target, text)
    lines = [] if quiet else [*findings, ""]
    options.emit(
        {"file": str(target), "findings": findings}, "\n".join([*lines, f"The report is in {target}."]), as_json
    )
