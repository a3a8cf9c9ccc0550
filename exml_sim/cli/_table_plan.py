"""Plan the budget of a table: accuracy versus money, from a pilot or from a finished exploration."""

from __future__ import annotations

from collections.abc import Mapping
from fractions import Fraction
from inspect import signature
from pathlib import Path
from typing import Any

import click
import numpy as np

from exml_sim.classifier._ask_tell import AskTell, Journal
from exml_sim.classifier.budget_plan import BudgetPlan, check_value, plan_budget
from exml_sim.classifier.estimator import BaseExMLClassifier
from exml_sim.cli._explore_files import JOURNAL
from exml_sim.cli._tables import (
    Offer,
    Roles,
    Table,
    assign_roles,
    parse_na_values,
    parse_names,
    parse_offer,
    read_costs,
    read_table,
)
from exml_sim.cli.explore import read_problem
from exml_sim.money import CandidateCost, exact_cost

#: Fewest complete rows of a pilot: below, out-of-fold figures are mostly chance.
MIN_PILOT_ROWS = 20


def plan_table(path: Path, given: Mapping[str, Any], seed: int) -> BudgetPlan:
    """Plan the budget of a table by the options of ``exml plan``.

    Parameters
    ----------
    path : Path
        The table.
    given : mapping
        Options by name.
    seed : int
        Random state of the rows of a pilot, and of its exploration.
    """
    worth = {name: given[name] for name in ("value_per_correct", "rows_to_predict")}
    check_value(**worth)
    if given["label"] is None:
        raise click.UsageError("a plan from a table needs --label")
    na_values = parse_na_values(given["na_values"])
    table = read_table(path, encoding=given["encoding"], delimiter=given["delimiter"], na_values=na_values)
    if given["exploration"] is not None:
        return _plan_explored(table, given["exploration"], given["label"], worth)
    return _plan_pilot(table, given, seed, worth)


def _plan_pilot(table: Table, given: Mapping[str, Any], seed: int, worth: Mapping[str, Any]) -> BudgetPlan:
    """Explore a random pilot of complete rows with all its values, and plan the whole table."""
    priced = () if given["costs"] is None else read_costs(given["costs"])
    offers = (*(parse_offer(text) for text in given["candidate"]), *priced)
    if not offers or given["observed"] is None:
        raise click.UsageError("a plan from a pilot needs --observed and --candidate (or --costs)")
    roles = assign_roles(table, given["label"], parse_names(given["observed"]), offers)
    categories = () if given["categories"] is None else parse_names(given["categories"])
    with table.name_lines():
        X, y, oracle = read_problem(table, roles, categories=categories)
        available = np.array([oracle.available(name) for name in oracle.names])
    complete = np.flatnonzero(available.all(axis=0))
    number = given["pilot"]
    if not MIN_PILOT_ROWS <= number <= len(complete):
        raise ValueError(f"a pilot needs {MIN_PILOT_ROWS} to {len(complete)} complete rows of the table, got {number}")
    rows = np.random.default_rng(seed).permutation(complete)[:number]
    plans = []
    # Sets of several candidates are more accurate, and cost more at every prediction: money decides.
    for limit in (None, 1) if worth["value_per_correct"] is not None and len(oracle.names) > 1 else (None,):
        model = BaseExMLClassifier(budget="100%", explore="always", max_candidates=limit, random_state=seed)
        with table.name_lines():
            model.fit(X.take_rows(rows), y[rows], oracle.take_rows(rows))
        plans.append(plan_budget(model, oracle.costs, int(available.sum(axis=1).min()), is_pilot=True, **worth))
    return max(plans, key=lambda plan: 0.0 if plan.best is None else plan.best.net_benefit or 0.0)


def _plan_explored(table: Table, folder: Path, label: str, worth: Mapping[str, Any]) -> BudgetPlan:
    """Repeat a finished exploration from its journal, and plan further purchases."""
    path = folder / JOURNAL
    recorded = Journal.of_file(path)
    run = recorded.run
    try:
        observed, categories, measurable = tuple(run["observed"]), tuple(run["categories"]), bool(run["measurable"])
        offers = [
            Offer(name, tuple(columns), _parse_cost(run["costs"][name], name))
            for name, columns in run["candidates"].items()
        ]
        column = run["groups"]
        names = [name for name in signature(BaseExMLClassifier.__init__).parameters if name in run]
        parameters = {name: run[name] for name in names if name not in ("candidates", "costs")}
    except (KeyError, TypeError, AttributeError):
        raise ValueError(f"{path} does not say which columns were explored") from None
    with table.name_lines():
        X, y, oracle = read_problem(table, Roles(label, observed, tuple(offers)), measurable, categories)
    model = BaseExMLClassifier(**parameters)
    about = {name: run[name] for name in ("candidates", "observed", "categories", "measurable", "groups")}
    groups = None if column is None else table.text(column)
    costs = dict(zip(oracle.names, oracle.costs, strict=True))
    again = AskTell(model, X, y, costs, source=oracle, measurable=measurable, about=about, groups=groups)
    if again.journal.run != run:
        raise ValueError(f"{folder} is an exploration of another table, or of another label")
    journal = again.journal
    journal.values, journal.lost, journal.earlier = dict(recorded.values), set(recorded.lost), set(recorded.earlier)
    if again.ask() is not None or len(again.journal.values) > len(recorded.values):
        raise ValueError(f"{folder} is not finished: run the same exml explore command to continue it")
    if not model.explored_ or not model.selected_:
        raise ValueError(f"{folder} has bought nothing that a plan could be made from: {model.assessment_.reason}")
    places = [model.tariff_.names.index(name) for name in model.selected_]
    offered = np.array([oracle.available(name) for name in model.selected_]) | measurable
    rows = int((offered | model.bought_[places]).all(axis=0).sum())
    return plan_budget(model, oracle.costs, rows, **worth)


def _parse_cost(recorded: Any, name: str) -> Fraction:
    """Read a cost from a journal: text, or a list with its fees."""
    return CandidateCost(*recorded) if isinstance(recorded, list) else exact_cost(recorded, name)
