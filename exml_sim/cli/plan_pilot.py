"""``exml plan TABLE --pilot N``: the budget that a pilot asks for, with an interval, next to the bounds."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click
import numpy as np

from exml_sim.cli import options
from exml_sim.cli.columns import Offer, assign_roles, parse_names, parse_offer, read_costs
from exml_sim.cli.tables import Table, parse_na_values, read_table
from exml_sim.money import exact_cost
from exml_sim.population import Candidate, Population

if TYPE_CHECKING:
    from simulations.pilot import Plan

STRATEGIES = ("uniform_allocation", "median_elimination")


def pilot_options(command: Any) -> Any:
    """Options that only a plan from a table has."""
    for option in (
        click.option("--pilot", type=int, metavar="ROWS", help="Complete rows that the plan is made from."),
        click.option(
            "--exploration",
            type=click.Path(path_type=Path),
            metavar="FOLDER",
            help="Plan from the rows that exml explore bought for all candidates.",
        ),
        click.option("--label", metavar="COLUMN", help="Column of perceived labels, with a table."),
        click.option("--observed", metavar="A,B,C*", help="Columns that are known for every row, with a table."),
        click.option("--candidate", metavar="NAME=COLUMNS:COST", multiple=True, help="Repeat for each, with a table."),
        click.option("--costs", type=click.Path(path_type=Path), help="Table of further candidates."),
        click.option("--worlds", type=click.IntRange(10, 10_000), help="Worlds drawn from the pilot.  [default: 60]"),
        options.table_format,
    ):
        command = option(command)
    return command


def pilot_of(file: Path, given: Mapping[str, Any], seed: int) -> Population:
    """The rows of the pilot: some complete ones of the table, or those that an exploration has bought."""
    from simulations.pilot import check_pilot

    table = read_table(
        file, encoding=given["encoding"], delimiter=given["delimiter"], na_values=parse_na_values(given["na_values"])
    )
    if given["label"] is None:
        raise click.UsageError("a plan from a table needs --label")
    X, y, values, costs = _explored(table, given) if given["exploration"] else _measured(table, given)
    if len(values) < 2:
        raise ValueError(f"a plan needs at least 2 candidates to choose from, got {len(values)}")
    classes = np.unique(y)
    if len(classes) != 2:
        raise ValueError(f"a plan from a pilot is for 2 classes, and column {given['label']!r} has {len(classes)}")
    whole = np.flatnonzero(~np.any([np.isnan(one).any(axis=1) for one in values.values()], axis=0))
    number = given["pilot"] if given["pilot"] is not None else len(whole)
    rows = np.random.default_rng(seed).permutation(whole)[: check_pilot(number, len(whole))]
    signs = np.where(y[rows] == classes[1], 1, -1)
    if len(np.unique(signs)) < 2:
        raise ValueError(f"the {len(rows)} rows of the pilot have a single class: take more of them")
    return Population(X[rows], signs, [Candidate(name, one[rows], costs[name]) for name, one in values.items()])


def _measured(table: Table, given: Mapping[str, Any]) -> tuple[Any, Any, dict[str, Any], dict[str, Any]]:
    """Labels, observed columns, candidates and costs of the table as it is."""
    priced = () if given["costs"] is None else read_costs(given["costs"])
    offers: tuple[Offer, ...] = (*(parse_offer(text) for text in given["candidate"]), *priced)
    if not offers or given["observed"] is None:
        raise click.UsageError("a plan from a table needs --observed and --candidate, or --exploration FOLDER")
    part = assign_roles(table, given["label"], parse_names(given["observed"]), offers)
    values = {one.name: table.numbers(one.columns, blanks=True) for one in part.offers}
    return table.numbers(part.observed), table.text(part.label), values, {one.name: one.cost for one in part.offers}


def _explored(table: Table, given: Mapping[str, Any]) -> tuple[Any, Any, dict[str, Any], dict[str, Any]]:
    """The same with the values that an exploration has bought."""
    # Here, because a plan at a point must not wait for the models.
    from exml_sim.classifier.journal import Journal, digest
    from exml_sim.cli.explore_files import JOURNAL

    journal = Journal.of_file(given["exploration"] / JOURNAL)
    try:
        observed, costs = [str(one) for one in journal.run["observed"]], dict(journal.run["costs"])
    except (KeyError, TypeError, ValueError):
        raise ValueError(f"{given['exploration'] / JOURNAL} does not say which columns were observed") from None
    X, y = table.numbers(tuple(observed)), table.text(given["label"])
    if digest(X, y) != journal.run.get("table"):
        raise ValueError(f"{given['exploration']} is an exploration of another table, or of another label")
    values = {}
    for name in costs:
        mine = {row: numbers for (candidate, row), numbers in journal.values.items() if candidate == name}
        if not mine:
            raise ValueError(f"{given['exploration']} has bought no row of candidate {name!r}: no row has all of them")
        values[name] = np.full((len(y), len(next(iter(mine.values())))), np.nan)
        for row, numbers in mine.items():
            values[name][row] = numbers
    return X, y, values, {name: exact_cost(cost, name) for name, cost in costs.items()}


def planned(file: Path, given: Mapping[str, Any], delta: float, trials: int | None, seed: int) -> list[dict[str, Any]]:
    """One line per strategy: budget with its interval, and what the bounds ask for."""
    from simulations import pilot

    population = pilot_of(file, given, seed)
    sizes = {"worlds": given["worlds"] or pilot.WORLDS, "trials": trials or pilot.TRIALS}
    return [_line(pilot.plan(population, one, delta, seed=seed, **sizes), population) for one in STRATEGIES]


def _line(found: Plan, population: Population) -> dict[str, Any]:
    from simulations.panels import NAMES
    from simulations.pilot import bounds

    at = bounds(population, found.strategy)
    line: dict[str, Any] = {
        "strategy": NAMES[found.strategy],
        "budget": options.finite(found.budget),
        "interval": [options.finite(found.lower), options.finite(found.upper)],
        "level": found.level,
        "pilot": found.rows,
        "worlds": found.worlds,
        "trials": found.trials,
        "best": found.best,
        "best_in": found.share,
        "sentence": found.sentence(),
    }
    if isinstance(at, str):
        return line | {"bounds": {}, "reason": at}
    kind, point = at
    spoken = [name for name in _versions() if not point.declined(name, kind)]
    return line | {"bounds": {name: point.required(name, kind, found.delta) for name in spoken}, "reason": ""}


def _versions() -> list[str]:
    from theory.versions import VERSIONS

    return list(reversed(VERSIONS))


def _no_bounds(reason: str) -> str:
    return f"none, {reason}" if reason else "none speaks of such a pilot"


def show(delta: float, lines: list[dict[str, Any]]) -> None:
    """Print the plan."""
    click.echo(f"Budget for a probability of at most {delta:g} to miss the best candidate:\n")
    for line in lines:
        click.echo(f"{line['strategy']}: {line['sentence']}.")
        asked = ", ".join(f"{name} {value:,.0f}" if value else f"{name} -" for name, value in line["bounds"].items())
        click.echo(f"  the bounds at the pilot's numbers: {asked or _no_bounds(line['reason'])}")
    first = lines[0]
    click.echo(
        f"\n{first['worlds']} worlds drawn from the pilot, {first['trials']} trials each per tried budget. The score "
        "is that of the bounds, over a ball; the race of exml explore has another."
    )
