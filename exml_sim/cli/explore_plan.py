"""Before anything is bought: the purchase plan, and what the door check says, as text and as plain values."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from exml_sim.classifier.buyer import Buyer
from exml_sim.classifier.door import Finding, Visit
from exml_sim.classifier.explorer import Explorer
from exml_sim.classifier.layers import check_affordable, rule_for
from exml_sim.classifier.purchase_plan import Plan, RacePlan, SurePlan, plans, race_plan, sure_plan
from exml_sim.classifier.soft import LARGEST_KERNEL
from exml_sim.money import show
from exml_sim.oracle import ArrayOracle
from exml_sim.strategies import ValueOfInformationCommit
from exml_sim.strategies.fixed_confidence import FixedConfidence


@dataclass(frozen=True, slots=True)
class Planned:
    """The plan of the first exploration as plain values and as text, and the rows of its first round."""

    facts: dict[str, Any]
    text: str
    opening: int


def planned(model: Explorer, oracle: ArrayOracle, available: Sequence[int], n_classes: int) -> Planned:
    """Plan the first exploration.

    Parameters
    ----------
    available
        Number of rows that can be bought of each candidate.
    n_classes
        Number of known classes.
    """
    rows = len(oracle.available(oracle.names[0]))
    settings, budget = model.settings(), model.budget_for(oracle, rows)
    check_affordable(Buyer(oracle, rows, budget), settings)
    part = budget / max(1, settings.layers - 1)
    lines = [f"{rows} rows, budget {show(budget)}; if the initial model is good, nothing is spent."]
    for name, cost, count in zip(oracle.names, oracle.costs, available, strict=True):
        lines.append(f"candidate {name}: {show(cost)} per row, {count} of {rows} rows can be bought")
    found: list[Plan | RacePlan | SurePlan]
    if settings.races and len(oracle.names) > 1 and isinstance(settings.strategy, ValueOfInformationCommit):
        one = race_plan(oracle.names, oracle.costs, available, part, n_classes, settings.strategy)
        found, opening = [one], one.rows
    elif isinstance(settings.strategy, FixedConfidence) and len(oracle.names) > 1:
        sure = sure_plan(oracle.costs, available, part, settings.strategy, settings.keep_rest)
        found, opening = [sure], sure.rows
    else:
        rule = rule_for(settings, len(oracle.names))
        several = plans(oracle.names, oracle.costs, available, rule, part, settings.validation_share)
        found, opening = [*several], min(int(plan.ledger.round_pulls(1)[0].min()) for plan in several)
    lines += [plan.table() for plan in found]
    if settings.layers > 2:
        further = settings.layers - 2
        who = "One further layer" if further == 1 else f"Each of the {further} further layers"
        lines.append(f"{who} may spend as much on the remaining candidates.")
    offered = [
        {"name": name, "cost": show(cost), "available": count}
        for name, cost, count in zip(oracle.names, oracle.costs, available, strict=True)
    ]
    listed = [{"assumption": plan.assumption, "cost": show(plan.cost)} for plan in found]
    return Planned(
        {"rows": rows, "budget": show(budget), "candidates": offered, "plans": listed}, "\n".join(lines), opening
    )


def visit(
    model: Explorer,
    X: Any,
    y: Any,
    oracle: ArrayOracle,
    available: Sequence[int],
    columns: Sequence[str],
    opening: int,
    memory: int | None,
) -> Visit:
    """What the door check looks at."""
    return Visit(
        X=X,
        y=y,
        names=oracle.names,
        costs=oracle.costs,
        available=available,
        budget=model.budget_for(oracle, len(X)),
        columns=columns,
        opening=opening,
        folds=model.folds,
        memory=memory,
        largest=None if model.settings().rejection else LARGEST_KERNEL,
    )


def as_lines(findings: Sequence[Finding]) -> list[str]:
    """Findings as sentences."""
    words = {"refuse": "No: ", "warn": "Warning: ", "note": ""}
    return [f"{words[one.severity]}{one.line}." for one in findings]


def door_section(findings: Sequence[Finding]) -> list[str]:
    """The door check as a section of the report."""
    return ["## Door check", "", *(f"- {line}" for line in as_lines(findings)), ""] if findings else []


def as_facts(one: Finding) -> dict[str, str]:
    """A finding as plain values."""
    return {"severity": one.severity, "about": one.about, "line": one.line}
