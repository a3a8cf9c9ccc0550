"""Names that become objects when they are used; a room below may so reach one above, by name and never by import.

A group is a package whose modules each bring one thing: `exml_sim.strategies` has a rule per file, `exml_sim.datasets`
a population per file. The group finds them here, so that a new file needs no list to be in. Whoever takes a name (a
pool that is told "median_elimination", a study file) asks the group's `by_name` through this module, and so needs no
import of a package that is above it.
"""

from __future__ import annotations

import pkgutil
import re
from collections.abc import Iterator
from importlib import import_module
from inspect import isabstract
from types import ModuleType
from typing import Any


def by_name(group: str, name: str, **options: Any) -> Any:
    """Build what a group calls `name`.

    Examples
    --------
    >>> by_name("exml_sim.strategies", "median_elimination", reuse=False).reuse
    False
    """
    return import_module(group).by_name(name, **options)


def modules(group: str) -> Iterator[ModuleType]:
    """The modules of a package, by name."""
    for found in sorted(one.name for one in pkgutil.iter_modules(import_module(group).__path__)):
        yield import_module(f"{group}.{found}")


def classes(group: str, base: type) -> dict[str, type[Any]]:
    """The subclasses of `base` that the modules of a package define, each by its name in small letters: my_rule.

    Abstract ones are what others build on, not things to be had.
    """
    found = {
        _small(name): value
        for module in modules(group)
        for name, value in vars(module).items()
        if isinstance(value, type) and issubclass(value, base) and value is not base
        if value.__module__ == module.__name__ and not name.startswith("_") and not isabstract(value)
    }
    return dict(sorted(found.items()))


def _small(name: str) -> str:
    return re.sub(r"(?<!^)(?=[A-Z])", "_", name).lower()
