"""The near-tight instances of `theory.claims._near_tight` with the points that bounds take, and as rows."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction

import numpy as np

from exml_sim.bandit.rows import FeaturePool
from exml_sim.population import Candidate, Population
from tests.statistical.worlds import World
from theory import BoundProblem
from theory.claims import _near_tight as near_tight
from theory.claims._instances import pulls
from theory.claims._near_tight import RADIUS, SHY, THETA, NearTight, passed
from theory.exact import AffinePool, make_pool

__all__ = ["RADIUS", "THETA", "passed", "pulls"]

RIVAL, BEST, EMPTY = (-1.0, 1.0, 1.0), (1.0, -1.0, 1.0), (0.0, 0.0, 0.0)


@dataclass(frozen=True)
class Instance:
    """A point, a strategy, a budget, and what is known of the failure probability: it lies between two numbers."""

    name: str
    point: BoundProblem
    strategy: str
    budget: int
    least: float
    most: float
    kappa: float = 1.0


def opposed_world(tilt: Fraction, third: Fraction, arms: tuple[tuple[float, ...], ...] = (RIVAL, BEST)) -> World:
    """The rows A, B, C with P(A) - P(B) = tilt and P(C) = third."""
    shares = [(1 - third + tilt) / 2, (1 - third - tilt) / 2, third]
    least = int(np.lcm.reduce([share.denominator for share in shares]))
    return World(arms, tuple(int(share * least) for share in shares), THETA, RADIUS)


_NAMES: dict[str, near_tight.Strategy] = {
    "uniform": "uniform",
    "fresh": "median-fresh",
    "accumulate": "median-accumulated",
}


def _instance(one: NearTight, strategy: str = "uniform", scale: float = 1.0) -> Instance:
    """kappa = scale; kappa Lambda does not change."""
    return Instance(one.name, one.problem, strategy, one.budget, one.least, one.most, scale)


def opposed(n: int, tilt: float) -> Instance:
    """Uniform allocation on the opposed pair."""
    return _instance(near_tight.opposed(n, tilt))


def duplicates(arms: int, first: int, tilt: float, strategy: str) -> Instance:
    """K - 1 copies of the opposed rival."""
    return _instance(near_tight.duplicates(arms, first, tilt, _NAMES[strategy]), strategy)


def one_rival(arms: int, first: int, tilt: float, strategy: str) -> Instance:
    """The opposed pair among arms without any feature."""
    return _instance(near_tight.one_rival(arms, first, tilt, _NAMES[strategy]), strategy)


def overfit_pool(n: int, rows: int, scale: float = 1.0) -> FeaturePool:
    """Rival: one direction per row. Best: a feature that is everywhere 0.999 / sqrt n. Both times `scale` = kappa."""
    rival = scale * np.eye(rows)
    best = np.full((rows, 1), scale * SHY / np.sqrt(n))
    population = Population(np.zeros((rows, 1)), np.ones(rows), [Candidate("rival", rival), Candidate("best", best)])
    return FeaturePool(population, theta=THETA, ball=RADIUS / scale, kernel="linear")


def overfit(n: int, rows: int, scale: float = 1.0) -> Instance:
    """The rival that fits every sample."""
    return _instance(near_tight.overfit(n, rows), scale=scale)


def crowd(arms: int, n: int, level: float) -> Instance:
    """Many independent walks."""
    return _instance(near_tight.crowd(arms, n, level))


def crowd_world(arms: int, level: float) -> World:
    """The crowd as rows."""
    return World(((1.0, -1.0),) * (arms - 1) + ((level, level),), (1, 1), THETA, RADIUS, rows="independent")


def as_affine(world: World) -> AffinePool:
    """A world for `theory.exact`, which computes distributions independently of the engine."""
    total = sum(world.copies)
    return make_pool(
        [Fraction(size, total) for size in world.copies],
        world.values,
        labels=world.y or None,
        radius=Fraction(world.ball),
        theta=Fraction(world.theta),
    )
