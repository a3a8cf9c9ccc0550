"""A pool of a few kinds of rows (atoms), from the exact arithmetic of `theory` to the engine's data.

`theory` knows such a pool as exact weights. A population with as many copies of every atom as the common denominator
says has the same distribution when rows are drawn with replacement, so exact probabilities and trials can be
compared.
"""

from __future__ import annotations

import math
from collections.abc import Sequence

from exml_sim.engine._specs import Score
from exml_sim.engine.pools import AtomPool
from theory.exact import AffinePool


def atom_pool(pool: AffinePool, label: str = "finite support", copies: Sequence[int] | None = None) -> AtomPool:
    """Make a study's pool with the distribution of an affine pool; own copies must be in proportion to its weights."""
    parts = math.lcm(*(weight.denominator for weight in pool.weights))
    return AtomPool(
        values=tuple(tuple(float(value) for value in arm) for arm in pool.features),
        y=tuple(float(label) for label in pool.labels),
        copies=tuple(copies or (int(weight * parts) for weight in pool.weights)),
        label=label,
    )


def ball_score(pool: AffinePool) -> Score:
    """Risk minimisation over the ball of an affine pool."""
    return Score(score="ball", theta=float(pool.theta), ball=float(pool.radius))
