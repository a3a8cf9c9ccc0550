"""``exml bound``: print all bounds on the probability of a miss: paper, corrected, tighter."""

from __future__ import annotations

import json
import math
from typing import TYPE_CHECKING, Any

import click

from exml_sim.cli import options, points
from exml_sim.cli.points import instance_options

if TYPE_CHECKING:
    from theory import Rung


@click.command(name="bound")
@instance_options
@click.option("--budget", required=True, type=click.IntRange(1, options.MOST_PULLS), help="Number of pulls B.")
@options.as_json
def command(budget: int, as_json: bool, **given: Any) -> None:
    """Print all bounds on the probability of missing the best of K candidates: paper, corrected, tighter.

    A bound of 1 or more is vacuous. Where a condition is not met, the line says by how much.

    Example: exml bound --K 8 --theta 0.1 --kappa-lambda 0.5 --gap 0.2 --budget 16000
    """
    point, strategies = points.read(**given)
    found = {strategy: point.ladder(strategy, budget) for strategy in strategies}
    if as_json:
        rungs = {strategy: [_record(rung) for rung in ladder] for strategy, ladder in found.items()}
        click.echo(json.dumps({"budget": budget, **points.table(point), "bounds": rungs}, indent=2))
        return
    click.echo(f"Probability of missing the best candidate at budget {budget:,}: {points.words(point)}.")
    for strategy, ladder in found.items():
        click.echo(f"\n{strategy}")
        width = max(len(rung.name) for rung in ladder)
        for rung in ladder:
            click.echo(f"  {rung.name:{width}}  {_value(rung)}{_note(rung)}")


def _value(rung: Rung) -> str:
    log = float(rung.log_value)
    if math.isnan(log):
        return "says nothing"
    shown = f"{math.exp(log):.3g}" if -700 < log < 700 else f"10^{log / math.log(10):.1f}"
    return f"{shown} (vacuous)" if rung.vacuous else shown


def _note(rung: Rung) -> str:
    return f": {rung.note}" if rung.note else ""


def _record(rung: Rung) -> dict[str, Any]:
    log = float(rung.log_value)
    met = not math.isnan(log)
    return {
        "name": rung.name,
        "value": options.finite(float(rung.value)),
        "log_value": options.finite(log),
        "conditions_met": met,
        "vacuous": bool(rung.vacuous),
        "note": rung.note,
    }
