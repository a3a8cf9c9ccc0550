"""Studies: many trials, addressed by seed, run in blocks and stored."""

# Arms and sampling import `exml_sim.seeds`, so nothing that needs a pool may be imported here eagerly.

from __future__ import annotations

from importlib import import_module
from typing import Any

_HOME = {
    "AtomPool": "specs",
    "Budgets": "specs",
    "KnownArms": "specs",
    "MfeatPool": "specs",
    "Sampling": "specs",
    "Score": "specs",
    "StrategySpec": "specs",
    "SyntheticPool": "specs",
    "Cell": "study",
    "Stop": "study",
    "Study": "study",
    "Store": "store",
    "StoreError": "store",
    "StudyResult": "result",
    "merge": "shards",
    "replay": "trials",
    "run": "runner",
}

__all__ = list(_HOME)


def __getattr__(name: str) -> Any:
    if name in _HOME:
        return getattr(import_module(f"exml_sim.engine.{_HOME[name]}"), name)
    raise AttributeError(f"module 'exml_sim.engine' has no attribute {name!r}")
