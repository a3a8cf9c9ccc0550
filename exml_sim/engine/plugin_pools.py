"""Pools of plug-ins: a function or class that makes a population of rows, or a pool of arms."""

from __future__ import annotations

import inspect
from collections import OrderedDict
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, ClassVar

import numpy as np

from exml_sim.bandit.pool import Pool
from exml_sim.engine import limits
from exml_sim.engine.fields import Fields, bandwidth, entry, kernel_name, pairs, text, whole
from exml_sim.plugins import POOLS, Plugin, PluginError, guard_calls
from exml_sim.population import Population

_MADE: OrderedDict[tuple[Any, str], Population | Pool] = OrderedDict()
_MAX_KEPT = 8


@dataclass(frozen=True, slots=True)
class PluginPool(Fields):
    """What a plug-in makes of the options (and of `rng`, if it takes one): a `Population`, or a `Pool` of arms."""

    what: ClassVar[str] = "plug-in pool"
    kind: ClassVar[str] = "plugin"
    name: str = entry(text)
    options: Mapping[str, Any] = entry(pairs, default=())
    seed: int = entry(whole(0, limits.SEED), default=0)
    label: str = entry(text, default="")
    kernel: str = entry(kernel_name, default="gaussian")
    gamma: float | str = entry(bandwidth, default="median")
    plugin: Plugin | None = field(default=None, compare=False, repr=False, kw_only=True)

    def __post_init__(self) -> None:
        Fields.__post_init__(self)
        if not self.label:
            object.__setattr__(self, "label", self.name.partition(":")[2] or self.name)

    @property
    def scored(self) -> bool:
        """Whether it makes rows, which need a score; assumed where the plug-in is not loaded."""
        return not self._plugin.loaded or isinstance(self._made(), Population)

    @property
    def _plugin(self) -> Plugin:
        return self.plugin or Plugin(POOLS, self.name)

    def population(self) -> Population:
        """Return the rows."""
        made = self._made()
        assert isinstance(made, Population)
        return made

    def arms(self) -> Pool:
        """Return the arms."""
        made = self._made()
        assert isinstance(made, Pool)
        return made

    def _made(self) -> Population | Pool:
        """Make it once and keep it for a while; the digest tells a changed source apart."""
        key = (self, self._plugin.digest)
        if key not in _MADE:
            _MADE[key] = self.make()
            while len(_MADE) > _MAX_KEPT:
                _MADE.popitem(last=False)
        return _MADE[key]

    def make(self) -> Population | Pool:
        """Call the plug-in.

        Raises
        ------
        PluginError
            If it raises, or returns neither rows nor arms with known risks.
        """
        function, options = self._plugin.load(), dict(self.options)
        with guard_calls(self._plugin):
            if "rng" in inspect.signature(function).parameters:
                options["rng"] = np.random.default_rng(self.seed)
            made = function(**options)
            if isinstance(made, Pool):
                made.best_arms()
        if not isinstance(made, Population | Pool):
            raise PluginError(f"plug-in {self.name!r} must make a Population or a Pool, got {type(made).__name__}")
        return made

    def check_same(self) -> None:
        """Refuse a plug-in that makes another pool the second time."""
        if _contents(self.make()) != _contents(self.make()):
            raise PluginError(f"plug-in {self.name!r} made another pool the second time: draw from the rng it is given")


def _contents(made: Population | Pool) -> tuple[Any, ...]:
    """Return what two pools are compared by."""
    if isinstance(made, Pool):
        return made.names, tuple(made.costs), made.risks.tobytes()
    values = [(candidate.name, candidate.cost, candidate.values.tobytes()) for candidate in made.candidates]
    return made.X.tobytes(), np.asarray(made.y).tobytes(), *values
