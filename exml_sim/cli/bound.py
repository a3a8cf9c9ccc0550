"""``exml bound``: print all bounds on the probability of a miss, at a point or for the pools of a study."""

from __future__ import annotations

import json
import math
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click
from click.core import ParameterSource

from exml_sim.cli import options, points
from exml_sim.cli.points import instance_options

if TYPE_CHECKING:
    from theory import BoundValue


@click.command(name="bound")
@click.argument("file", metavar="[STUDY.toml]", required=False, type=click.Path(exists=True, path_type=Path))
@lambda command: instance_options(command, required=False)
@click.option("--budget", required=True, type=click.IntRange(1, options.MOST_PULLS), help="Number of pulls B.")
@options.as_json
def command(file: Path | None, budget: int, as_json: bool, **given: Any) -> None:
    """Print all bounds on the probability of missing the best of K candidates: paper, corrected, tighter.

    With a study's file: for its pools and strategies, with the bounds that use the population (population; population,
    sharp) beside the others; the budgets of the file play no role. A bound of 1 or more is vacuous.
    Where a condition is not met, the line says by how much.

    Examples: exml bound --K 8 --theta 0.1 --kappa-lambda 0.5 --gap 0.2 --budget 16000; exml bound study.toml --budget
    448
    """
    if file is not None:
        _of_study(file, budget, as_json)
        return
    if given["theta"] is None or given["kappa_lambda"] is None:
        raise click.UsageError("give a point (--theta, --kappa-lambda and --gap or --gaps) or a study's file")
    point, strategies = points.read(**given)
    found = {strategy: point.compare(strategy, budget) for strategy in strategies}
    if as_json:
        rungs = {strategy: [_record(rung) for rung in ladder] for strategy, ladder in found.items()}
        click.echo(json.dumps({"budget": budget, **points.table(point), "bounds": rungs}, indent=2))
        return
    click.echo(f"Probability of missing the best candidate at budget {budget:,}: {points.words(point)}.")
    for strategy, ladder in found.items():
        _print(strategy, ladder)


def _of_study(file: Path, budget: int, as_json: bool) -> None:
    """The ladder of every pool and strategy of a study."""
    from exml_sim.engine.study import Study
    from simulations.pool_bounds import bounds_of

    context = click.get_current_context()
    others = [name for name in context.params if name not in ("file", "budget", "as_json")]
    typed = [name for name in others if context.get_parameter_source(name) is ParameterSource.COMMANDLINE]
    if typed:
        raise click.UsageError(f"--{typed[0].replace('_', '-')} goes with a point; the study's file says it itself")
    study = Study.from_toml(file)
    lines = []
    for cell in {cell.labels: cell for cell in study.cells()}.values():
        pool, score, strategy = cell.labels
        found = bounds_of(study, cell)
        ladder = () if isinstance(found, str) else found[1].compare(found[0], budget)
        place = f"{pool} ({score})" if score else pool
        lines.append((place, strategy, ladder, found if isinstance(found, str) else ""))
    if as_json:
        records = [
            {"where": place, "strategy": strategy, "bounds": [_record(rung) for rung in ladder], "reason": reason}
            for place, strategy, ladder, reason in lines
        ]
        click.echo(json.dumps({"budget": budget, "pools": records}, indent=2))
        return
    click.echo(f"Probability of missing the best candidate at budget {budget:,}.")
    for place, strategy, ladder, reason in lines:
        if ladder:
            _print(f"{place}, {strategy}", ladder)
        else:
            click.echo(f"\n{place}, {strategy}\n  no bound: {reason}")


def _print(title: str, ladder: tuple[BoundValue, ...]) -> None:
    click.echo(f"\n{title}")
    width = max(len(rung.name) for rung in ladder)
    for rung in ladder:
        click.echo(f"  {rung.name:{width}}  {_value(rung)}{_note(rung)}")


def _value(rung: BoundValue) -> str:
    log = float(rung.log_value)
    if math.isnan(log):
        return "says nothing"
    shown = f"{math.exp(log):.3g}" if -700 < log < 700 else f"10^{log / math.log(10):.1f}"
    return f"{shown} (vacuous)" if rung.vacuous else shown


def _note(rung: BoundValue) -> str:
    return f": {rung.note}" if rung.note else ""


def _record(rung: BoundValue) -> dict[str, Any]:
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
