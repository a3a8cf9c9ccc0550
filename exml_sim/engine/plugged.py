"""Pools of somebody else's: a function or class of a plug-in that makes a population, or a pool of arms."""

from __future__ import annotations

import inspect
from collections import OrderedDict
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np

from exml_sim.bandit.pool import Pool
from exml_sim.engine import limits
from exml_sim.engine.fields import Fields, bandwidth, entry, kernel_name, pairs, text, whole
from exml_sim.plugins import PluginError, explained, find
from exml_sim.population import Population

_MADE: OrderedDict[tuple[Any, str], Population | Pool] = OrderedDict()
_KEPT = 8


@dataclass(frozen=True, slots=True)
class PluginPool(Fields):
    """What `name` makes of the options (and of `rng`, if it takes one): a `Population`, or a `Pool` of arms."""

    what: ClassVar[str] = "plug-in pool"
    kind: ClassVar[str] = "plugin"
    group: ClassVar[str] = "exml_sim.pools"
    name: str = entry(text)
    options: Mapping[str, Any] = entry(pairs, default=())
    seed: int = entry(whole(0, limits.SEED), default=0)
    label: str = entry(text, default="")
    kernel: str = entry(kernel_name, default="gaussian")
    gamma: float | str = entry(bandwidth, default="median")

    def __post_init__(self) -> None:
        Fields.__post_init__(self)
        find(self.group, self.name)
        if not self.label:
            object.__setattr__(self, "label", self.name.partition(":")[2] or self.name)

    @property
    def scored(self) -> bool:
        """Whether it makes rows, which need a score."""
        return isinstance(self._made(), Population)

    def population(self) -> Population:
        """The rows."""
        made = self._made()
        assert isinstance(made, Population)
        return made

    def arms(self) -> Pool:
        """The arms."""
        made = self._made()
        assert isinstance(made, Pool)
        return made

    def _made(self) -> Population | Pool:
        """Made once and kept for a while; the digest tells a changed source apart."""
        key = (self, find(self.group, self.name).digest)
        if key not in _MADE:
            _MADE[key] = self.make()
            while len(_MADE) > _KEPT:
                _MADE.popitem(last=False)
        return _MADE[key]

    def make(self) -> Population | Pool:
        """Make it anew.

        Raises
        ------
        PluginError
            If the plug-in raises, or returns neither rows nor arms with known risks.
        """
        make, options = find(self.group, self.name).load(), dict(self.options)
        try:
            if "rng" in inspect.signature(make).parameters:
                options["rng"] = np.random.default_rng(self.seed)
            made = make(**options)
            if isinstance(made, Pool):
                made.best_arms()
        except Exception as error:
            raise explained(self.name, error) from None
        if not isinstance(made, Population | Pool):
            raise PluginError(f"plug-in {self.name!r} must make a Population or a Pool, got {type(made).__name__}")
        return made

    def check_same(self) -> None:
        """Refuse a plug-in that makes something else the next time."""
        first, second = self.make(), self.make()
        if _seen(first) != _seen(second):
            raise PluginError(f"plug-in {self.name!r} made another pool the second time: draw from the rng it is given")


def _seen(made: Population | Pool) -> tuple[Any, ...]:
    """What two pools are compared by."""
    if isinstance(made, Pool):
        return made.names, tuple(made.costs), made.risks.tobytes()
    values = [(one.name, one.cost, one.values.tobytes()) for one in made.candidates]
    return made.X.tobytes(), np.asarray(made.y).tobytes(), *values
