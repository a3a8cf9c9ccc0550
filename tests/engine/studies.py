"""Small studies that the tests share."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from exml_sim.engine import Study

#: Five candidates over 60 rows, in the affine regime.
FEATURES: dict[str, Any] = {
    "pools": [{"kind": "synthetic", "per_class": 20, "angles": [10, 30, 50, 70, 90]}],
    "scores": [{"score": "ball", "theta": 0.3, "ball": 0.4}],
}
KNOWN: dict[str, Any] = {"pools": [{"kind": "parametric", "direction": "minimise", "means": [0.4, 0.5, 0.6]}]}
RULES = ["uniform_allocation", "median_elimination"]


def known(trials: int = 200, **options: Any) -> Study:
    """Three Bernoulli arms, two strategies, two budgets."""
    table = KNOWN | {"strategies": RULES, "budgets": {"per_arm": [10, 20]}, "trials": trials} | options
    return Study.from_table(table)


def features(trials: int = 60, **options: Any) -> Study:
    """Five features, two strategies, two budgets."""
    table = FEATURES | {"strategies": RULES, "budgets": {"per_arm": [8, 16]}, "trials": trials} | options
    return Study.from_table(table)


def contents(folder: Path) -> dict[str, bytes]:
    """Every file of a folder, to see that nothing changed."""
    return {path.name: path.read_bytes() for path in sorted(folder.iterdir()) if path.is_file()}
