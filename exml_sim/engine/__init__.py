"""Studies: many trials, addressed by seed, run in blocks and stored."""

from exml_sim.engine._specs import Budgets, Sampling, Score, Stop, StrategySpec
from exml_sim.engine.bound_context import BoundContext, bound
from exml_sim.engine.modes import replay
from exml_sim.engine.pools import (
    POOLS,
    AtomPool,
    FamilyPool,
    ParametricArms,
    PoolSpec,
    SyntheticPool,
    build_pool,
)
from exml_sim.engine.result import StudyResult
from exml_sim.engine.runner import merge, run
from exml_sim.engine.store import Store, StoreError
from exml_sim.engine.study import Cell, Study

__all__ = [
    "POOLS",
    "AtomPool",
    "BoundContext",
    "Budgets",
    "Cell",
    "FamilyPool",
    "ParametricArms",
    "PoolSpec",
    "Sampling",
    "Score",
    "Stop",
    "Store",
    "StoreError",
    "StrategySpec",
    "Study",
    "StudyResult",
    "SyntheticPool",
    "bound",
    "build_pool",
    "merge",
    "replay",
    "run",
]
