"""Studies: many trials, addressed by seed, run in blocks and stored."""

from exml_sim.engine.bound_context import BoundContext, bound
from exml_sim.engine.modes import replay
from exml_sim.engine.result import StudyResult
from exml_sim.engine.runner import merge, run
from exml_sim.engine.specs import (
    AtomPool,
    Budgets,
    MfeatPool,
    ParametricArms,
    Sampling,
    Score,
    StrategySpec,
    SyntheticPool,
)
from exml_sim.engine.store import Store, StoreError
from exml_sim.engine.study import Cell, Stop, Study

__all__ = [
    "AtomPool",
    "BoundContext",
    "Budgets",
    "Cell",
    "MfeatPool",
    "ParametricArms",
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
    "merge",
    "replay",
    "run",
]
