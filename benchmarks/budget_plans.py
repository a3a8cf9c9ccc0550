"""Measure whether planned accuracies come true: ``python -m benchmarks.budget_plans``.

A plan is made from a pilot, and from an exploration with a tenth of the cost of everything. Then a classifier is fitted
to the whole table with the planned budget. Its accuracy on test rows (observed labels, best known class) should lie in
the plan's interval. `MODEL_DEVIATION` was chosen on the choosing half of the tables (``--half choosing``); results are
reported on the other half (`benchmarks/practice/split.json`).
"""

from __future__ import annotations

import argparse
import json
from collections.abc import Iterator
from fractions import Fraction
from typing import Any

import numpy as np

from benchmarks.practice.situations import draw_situation, read_split
from exml_sim.classifier import ExMLClassifier
from exml_sim.classifier.budget_plan import BudgetPlan, plan_budget

#: Rows of the pilot, planned budgets as parts of the cost of everything, and kinds of situations.
PILOT_ROWS, PLANNED, KINDS = 60, (Fraction(1, 5), Fraction(2, 5)), ("none", "full")
#: The required share of planned accuracies that come true.
REQUIRED = 0.85


def measure_table(name: str, kind: str, seed: int) -> Iterator[dict[str, Any]]:
    """Plan and realise budgets for one table; yield one record per plan and budget."""
    situation = draw_situation(name, kind, seed)
    rows, costs = len(situation.y), situation.oracle.costs
    everything = rows * sum(costs, Fraction(0))
    pilot = np.random.default_rng(seed).permutation(rows)[: min(PILOT_ROWS, rows // 2)]
    options: dict[str, Any] = {"explore": "always", "random_state": seed, "hidden_label": -1}
    plans: dict[str, BudgetPlan] = {}
    how: dict[str, Any] = {"value_per_correct": 1.0, "rows_to_predict": len(situation.test_labels)}
    for source in ("pilot", "exploration"):
        chosen = pilot if source == "pilot" else np.arange(rows)
        ratio = "1" if source == "pilot" else "0.1"
        try:
            model = ExMLClassifier(budget_ratio=ratio, **options)
            model.fit(situation.X[chosen], situation.y[chosen], situation.oracle.take_rows(chosen))
            plans[source] = plan_budget(model, costs, rows, is_pilot=source == "pilot", **how)
        except ValueError as error:
            # Some pilots are too small for their classes; that is said in one line and nothing is planned.
            print(f"# {name}, {source}: {error}", flush=True)
    for part in PLANNED:
        final = ExMLClassifier(budget=everything * part, **options).fit(situation.X, situation.y, situation.oracle)
        realised = final.score_known(situation.X_test, situation.test_labels, situation.test)
        for source, plan in plans.items():
            point = min(plan.points, key=lambda entry: abs(entry.budget - everything * part))
            yield {
                "table": name,
                "kind": kind,
                "source": source,
                "part": float(part),
                "realised": realised,
                "accuracy": point.accuracy,
                "lower": point.lower,
                "upper": point.upper,
                "held": point.lower <= realised <= point.upper,
            }


def main() -> None:
    """Print one line per record and the shares that came true."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--half", choices=("choosing", "reporting"), default="reporting")
    parser.add_argument("--tables", type=int, default=20)
    parser.add_argument("--seed", type=int, default=1)
    given = parser.parse_args()
    records = []
    for number, name in enumerate(read_split()[given.half][-given.tables :]):
        for record in measure_table(name, KINDS[number % len(KINDS)], given.seed):
            records.append(record)
            print(json.dumps(record), flush=True)
    for source in ("pilot", "exploration"):
        own = [record for record in records if record["source"] == source]
        covered = sum(record["held"] for record in own)
        errors = [record["accuracy"] - record["realised"] for record in own]
        width = np.mean([record["upper"] - record["lower"] for record in own])
        print(
            f"{source}: {covered} of {len(own)} planned accuracies in their interval ({covered / len(own):.0%}, "
            f"required {REQUIRED:.0%}); mean error {np.mean(errors):+.3f}, mean width {width:.3f}"
        )


if __name__ == "__main__":
    main()
