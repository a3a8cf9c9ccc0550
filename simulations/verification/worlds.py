"""The ledger's named pools, with the numbers that bounds ask for, and as the engine sees them."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from functools import cached_property, lru_cache

from exml_sim.engine.specs import AtomPool, Budgets, Score, StrategySpec
from exml_sim.engine.study import Study
from simulations.atoms import atom_pool, ball_score
from theory.claims.instances import POOLS
from theory.exact import AffinePool

STRATEGIES: Mapping[str, StrategySpec] = {
    "uniform": StrategySpec("uniform_allocation"),
    "median-fresh": StrategySpec("median_elimination", (("accumulate", False),)),
    "median-accumulated": StrategySpec("median_elimination", (("accumulate", True),)),
}


@dataclass(frozen=True)
class World:
    """A named pool, with the numbers that bounds ask for.

    Attributes
    ----------
    name : str
        Name in `theory.claims.instances.POOLS`; with "#1,3" after it only arms 1 and 3 are kept.
    pool : AffinePool
        Atoms, features, radius and theta as fractions.
    """

    name: str
    pool: AffinePool

    @property
    def K(self) -> int:
        """Number of arms."""
        return self.pool.arms

    @cached_property
    def gap(self) -> float:
        """Delta, the smallest positive gap (Eq. 7)."""
        return float(self.pool.gap())

    @cached_property
    def gaps(self) -> tuple[float, ...]:
        """Gaps of the arms other than the first one, which is a best arm."""
        return tuple(float(gap) for gap in self.pool.gaps()[1:])

    @cached_property
    def theta(self) -> float:
        """Price of a rejection."""
        return float(self.pool.theta)

    @cached_property
    def r(self) -> float:
        """kappa times Lambda."""
        return float(self.pool.kappa_lambda)

    @cached_property
    def best_count(self) -> int:
        """Number of best arms |S*|."""
        return len(self.pool.best())

    @property
    def atoms(self) -> int:
        """Number of different rows."""
        return len(self.pool.weights)

    def spec(self) -> AtomPool:
        """The pool of a study with this law."""
        return atom_pool(self.pool, self.name)

    def score(self) -> Score:
        """Risk minimisation over the ball, in the affine regime."""
        return ball_score(self.pool)

    def study(
        self,
        name: str,
        strategies: Iterable[str],
        budgets: Iterable[int],
        trials: int,
        seed: int,
        mode: str = "monte_carlo",
    ) -> Study:
        """Strategies (names of `STRATEGIES`) at budgets on this pool."""
        return Study(
            name=name,
            pools=(self.spec(),),
            scores=(self.score(),),
            strategies=tuple(STRATEGIES[strategy] for strategy in strategies),
            budgets=Budgets(absolute=tuple(str(budget) for budget in budgets)),
            trials=trials,
            seed=seed,
            mode=mode,
        )


@lru_cache(maxsize=64)
def world(name: str) -> World:
    """Build the world of a name; the first arm must be a best arm.

    Examples
    --------
    >>> world("star-3").gaps
    (0.32, 0.32)
    >>> world("star-3#0,2").K
    2
    """
    base, _, kept = name.partition("#")
    if base not in POOLS:
        raise ValueError(f"there is no pool {base!r}; there are {', '.join(sorted(POOLS))}")
    pool = POOLS[base]()
    if kept:
        features = tuple(pool.features[int(arm)] for arm in kept.split(","))
        pool = AffinePool(pool.weights, pool.labels, features, pool.radius, pool.theta)
    if 0 not in pool.best():
        raise ValueError(f"the first arm of {name!r} is not a best arm, and the paper's lemmas say it is")
    return World(name, pool)
