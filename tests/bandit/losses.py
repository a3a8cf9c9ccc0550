"""Pools whose lower means are better, for tests that were written with the best arm first."""

from __future__ import annotations

from typing import Any

from exml_sim.bandit.parametric import BoundedArm, ParametricPool


class LossPool(ParametricPool):
    """A parametric pool that is minimised."""

    def __init__(self, arms: Any, names: Any = None, *, direction: str = "minimise") -> None:
        super().__init__(arms, names, direction=direction)

    @classmethod
    def bernoulli(cls, means: Any, costs: Any = None, *, direction: str = "minimise") -> LossPool:
        return super().bernoulli(means, costs, direction=direction)  # type: ignore[return-value]


def coins(means):
    """Arms with the values 0 and 1 of which every single pull is a fixed number, for loops that buy in other steps."""
    return LossPool([BoundedArm((0.0, 1.0), (1.0 - mean, mean)) for mean in means])
