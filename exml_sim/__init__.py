"""Exploratory machine learning with unknown unknowns: the system.

Names are imported when they are first used, so that ``import exml_sim`` is quick.
"""

from __future__ import annotations

from importlib import import_module
from typing import Any

__version__ = "0.1.0"

_HOME = {
    "Candidate": "exml_sim.population",
    "ExMLClassifier": "exml_sim.classifier",
    "FeaturePool": "exml_sim.bandit.rows",
    "Ledger": "exml_sim.bandit.ledger",
    "Population": "exml_sim.population",
    "RejectionClassifier": "exml_sim.rejection",
}

__all__ = ["__version__", *_HOME]


def __getattr__(name: str) -> Any:
    if name in _HOME:
        return getattr(import_module(_HOME[name]), name)
    raise AttributeError(f"module 'exml_sim' has no attribute {name!r}")
