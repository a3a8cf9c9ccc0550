"""Exploratory machine learning with unknown unknowns: the system.

It hands out the names of all three packages. They are imported when they are first used, so that ``import exml_sim``
is quick.
"""

from __future__ import annotations

from importlib import import_module
from typing import Any

__version__ = "0.1.0"

_HOME = {
    "BernoulliArm": "exml_sim.bandit.parametric",
    "BoundedArm": "exml_sim.bandit.parametric",
    "Candidate": "exml_sim.population",
    "Comparison": "simulations.compare",
    "ExMLClassifier": "exml_sim.classifier",
    "FeaturePool": "exml_sim.bandit.rows",
    "GaussianArm": "exml_sim.bandit.parametric",
    "Ledger": "exml_sim.bandit.ledger",
    "MedianElimination": "exml_sim.strategies",
    "ParametricPool": "exml_sim.bandit.parametric",
    "Population": "exml_sim.population",
    "RejectionClassifier": "exml_sim.rejection",
    "STRATEGIES": "exml_sim.strategies",
    "Study": "exml_sim.engine",
    "StudyResult": "exml_sim.engine",
    "SuccessiveRejects": "exml_sim.strategies",
    "UniformAllocation": "exml_sim.strategies",
    "by_name": "exml_sim.strategies",
    "compare": "simulations.compare",
    "plot": "simulations.compare",
    "run": "exml_sim.engine",
}

__all__ = ["__version__", *_HOME]


def __getattr__(name: str) -> Any:
    if name in _HOME:
        return getattr(import_module(_HOME[name]), name)
    raise AttributeError(f"module 'exml_sim' has no attribute {name!r}")
