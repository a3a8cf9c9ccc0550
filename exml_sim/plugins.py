"""Names that become objects when they are used: the only dynamic imports of the system.

A group is a package that has `by_name`, such as `exml_sim.strategies`. Whoever takes a name (a pool that is told
"median_elimination", a study file) asks its group here and so needs no import of the package, which is above it.
"""

from __future__ import annotations

from importlib import import_module
from typing import Any


def by_name(group: str, name: str, **options: Any) -> Any:
    """Build what a group calls `name`.

    Examples
    --------
    >>> by_name("exml_sim.strategies", "median_elimination", reuse=False).reuse
    False
    """
    return import_module(group).by_name(name, **options)
