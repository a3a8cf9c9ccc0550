"""``exml report``: write one HTML page about the results of a study."""

from __future__ import annotations

import json
from pathlib import Path

import click

from exml_sim.cli import options


@click.command(name="report")
@click.argument("store", type=click.Path(path_type=Path))
@click.option("--out", type=click.Path(path_type=Path, dir_okay=False), help="The page; report.html next to the store.")
@options.plugins("store")
@options.quiet
@options.as_json
def command(
    store: Path,
    out: Path | None,
    plugins: tuple[Path, ...],
    trust: bool,
    quiet: bool,
    as_json: bool,
) -> None:
    """Write one HTML file about the results in STORE; it needs no network and can be sent by mail.

    It has the settings, the findings in words, a chart of theory against practice whose bounds move with theta, kappa
    Lambda, the gap and K, the allocation and the provenance.

    Code of plug-ins is executed only if you name its file: --plugins my_rules.py draws their bounds, too.

    Example: exml report out/study.sqlite --out report.html
    """
    from exml_sim.engine.result import StudyResult
    from simulations.report.page import page_of
    from simulations.report.render import render

    target = out or store.parent / "report.html"
    with StudyResult.open(store, plugins=plugins, trust=trust) as result:
        page = page_of(result)
    options.make_folder(target.parent)
    target.write_text(render(page), encoding="utf-8")
    if as_json:
        click.echo(json.dumps({"file": str(target), "findings": page["findings"]}, indent=2))
        return
    if not quiet:
        for finding in page["findings"]:
            click.echo(finding)
        click.echo()
    click.echo(f"The report is in {target}.")
