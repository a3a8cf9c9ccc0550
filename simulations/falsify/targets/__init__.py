"""All targets by id."""

from __future__ import annotations

import difflib
from collections.abc import Sequence
from functools import cache
from typing import TYPE_CHECKING

from simulations.falsify._target import Target

if TYPE_CHECKING:
    from theory.claims import Registry


@cache
def all_targets() -> tuple[Target, ...]:
    """Return every target of the project's paper."""
    from simulations.falsify.targets import _definitions as definitions
    from simulations.falsify.targets import _regrets as regrets
    from simulations.falsify.targets import _selection as selection

    modules = (definitions, selection, regrets)
    targets = [target for module in modules for target in module.targets()]
    ids = [target.id for target in targets]
    if len(set(ids)) != len(ids):
        raise ValueError(f"two targets share an id: {sorted(id for id in ids if ids.count(id) > 1)}")
    return tuple(targets)


def find_target(id: str, targets: Sequence[Target], paper: Registry | None = None) -> Target:
    """Return the target of an id; other ids raise a ValueError with suggestions.

    `paper` states the claims, if they are not those of the project's paper.
    """
    known = {target.id: target for target in targets}
    if id in known:
        return known[id]
    from theory.claims import read_own

    if paper is not None and id in paper.claims:
        raise ValueError(f"claim {id!r} has no search space: give it a space in SPACES (bounds: Bernoulli arms only)")
    if paper is None and id in read_own().claims:
        raise ValueError(f"claim {id!r} has no search space; `exml claims {id}` checks it on its own instances")
    near = difflib.get_close_matches(id, known, n=3, cutoff=0.4)
    hint = f"; did you mean {' or '.join(near)}?" if near else "; `exml falsify --list` names all"
    if paper is not None and not near:
        hint = "; state it in claims.toml and give it a space in SPACES"
    raise ValueError(f"there is no claim or bound named {id!r} to search{hint}")


def get(id: str) -> Target:
    """Return the target of the project's paper with this id."""
    return find_target(id, all_targets())
