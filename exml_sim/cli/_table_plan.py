"""Plan the budget of a table from a pilot: accuracy versus money."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

import click
import numpy as np

from exml_sim.classifier.budget_plan import BudgetPlan, check_value, plan_budget
from exml_sim.classifier.estimator import BaseExMLClassifier
from exml_sim.cli._tables import assign_roles, parse_na_values, parse_names, read_offers, read_table
from exml_sim.cli.explore import read_problem

#: Fewest complete rows of a pilot: below, out-of-fold figures are mostly chance.
MIN_PILOT_ROWS = 20


def plan_table(path: Path, given: Mapping[str, Any], seed: int) -> BudgetPlan:
    """Explore a random pilot of complete rows with all its values, and plan the budget of the whole table.

    Parameters
    ----------
    path : Path
        The table.
    given : mapping
        Options of ``exml plan`` by name.
    seed : int
        Random state of the rows of the pilot, and of its exploration.
    """
    worth = {name: given[name] for name in ("value_per_correct", "rows_to_predict")}
    check_value(**worth)
    offers = read_offers(given["candidate"], given["costs"])
    if not offers or given["label"] is None or given["observed"] is None:
        raise click.UsageError("a plan from a pilot needs --label, --observed and --candidate (or --costs)")
    na_values = parse_na_values(given["na_values"])
    table = read_table(path, encoding=given["encoding"], delimiter=given["delimiter"], na_values=na_values)
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
    plans, names = [], oracle.names
    # Sets of several candidates are more accurate, and cost more at every prediction: money decides.
    singles = [(name,) for name in names] if worth["value_per_correct"] is not None and len(names) > 1 else []
    for offered in (names, *singles):
        model = BaseExMLClassifier(budget="100%", explore="always", random_state=seed)
        pilot = oracle.take_rows(rows, offered)
        with table.name_lines():
            model.fit(X.take_rows(rows), y[rows], pilot)
        there = available[[names.index(name) for name in offered]].sum(axis=1).min()
        plan = plan_budget(model, pilot.costs, int(there), is_pilot=True, **worth)
        if plan.best is not None and len(offered) < len(names):
            plan = replace(plan, advice=f"{plan.advice} Offer exml explore this candidate alone, without comparison.")
        plans.append(plan)
    return max(plans, key=lambda plan: 0.0 if plan.best is None else plan.best.net_benefit or 0.0)
