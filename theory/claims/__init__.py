"""The ledger of claims: every statement of the paper's theory as an object with an executable check.

>>> from theory.claims import get
>>> get("a5-count-1").check().outcome
'refuted'
"""

from __future__ import annotations

import difflib
import pkgutil
from functools import cache
from importlib import import_module
from types import ModuleType

from theory.claims.claim import Assumption, Case, Claim, Experiment, Place, Reading

__all__ = [
    "Assumption",
    "Case",
    "Claim",
    "Experiment",
    "Place",
    "Reading",
    "all_claims",
    "get",
]


@cache
def groups() -> tuple[ModuleType, ...]:
    """The modules of this folder that state claims: those with `CLAIMS`."""
    names = sorted(one.name for one in pkgutil.iter_modules(__path__) if one.name != "__main__")
    found = (import_module(f"{__name__}.{name}") for name in names)
    return tuple(module for module in found if hasattr(module, "CLAIMS"))


@cache
def _registry() -> dict[str, Claim]:
    registry: dict[str, Claim] = {}
    for group in groups():
        for claim in group.CLAIMS:
            if claim.id in registry:
                raise ValueError(f"two claims share the id {claim.id!r}; ids must be unique.")
            registry[claim.id] = claim
    return registry


def all_claims() -> list[Claim]:
    """Every claim of the ledger, in the order of the paper."""
    return sorted(_registry().values(), key=lambda claim: claim.where.line)


def get(claim_id: str) -> Claim:
    """The claim of that id; an unknown id raises a ValueError that names the nearest ones."""
    registry = _registry()
    if claim_id in registry:
        return registry[claim_id]
    near = difflib.get_close_matches(claim_id, registry, n=3, cutoff=0.4)
    hint = f"; did you mean {' or '.join(near)}?" if near else "; `exml claims` lists all ids."
    raise ValueError(f"there is no claim {claim_id!r}{hint}")
