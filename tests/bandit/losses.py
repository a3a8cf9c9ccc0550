"""Pools whose lower means are better, for tests that were written with the best arm first."""

from __future__ import annotations

from typing import Any

from exml_sim.bandit.parametric import ParametricPool


class LossPool(ParametricPool):
    """A parametric pool that is minimised."""

    def __init__(self, arms: Any, names: Any = None, *, direction: str = "minimise") -> None:
        super().__init__(arms, names, direction=direction)

    @classmethod
    def bernoulli(cls, means: Any, costs: Any = None, *, direction: str = "minimise") -> LossPool:
        return super().bernoulli(means, costs, direction=direction)  # type: ignore[return-value]
