"""Shrinking: fewer arms, smaller and rounder numbers, as long as the claim is still violated."""

from __future__ import annotations

from typing import Any

from simulations.falsify.target import Measured, Target

#: Measurements that one find may cost.
MOST = 2000


def shrink(target: Target, instance: Any, seed: int, *, most: int = MOST) -> tuple[Any, Measured]:
    """The smallest violating instance that greedy steps reach.

    Every step makes `size` smaller, so that the walk ends; the first simpler instance that violates is taken.

    Raises
    ------
    ValueError
        If the instance does not violate the claim.
    """
    measured = target.measure(instance, seed)
    if not measured.violates:
        raise ValueError(f"only a violation can be shrunk, and {instance.words()} does not violate {target.id}")
    spent, moved = 1, True
    while moved and spent < most:
        moved = False
        for simpler in target.space.simpler(instance):
            if simpler.size() >= instance.size():
                continue
            tried = target.measure(simpler, seed)
            spent += 1
            if tried.violates:
                instance, measured, moved = simpler, tried, True
                break
            if spent >= most:
                break
    return instance, measured
