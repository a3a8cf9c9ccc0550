"""Plain trials: run the strategy on rows drawn anew, and count how often it fails.

In mode "fixed_confidence" strategies with a confidence stop by themselves. A trial's weight is then 1 where the
strategy was confident and 0 where its money ended before. A failure is a trial that was confident of a wrong arm, which
a strategy with confidence 1 - delta promises to have probability delta at most.
"""

from __future__ import annotations

import time
from dataclasses import replace

import numpy as np

from exml_sim.bandit.parametric import RandomInstancePool
from exml_sim.bandit.trial import Exploration
from exml_sim.engine._trials import Block, CellMetadata, aims, block_of
from exml_sim.engine.study import Cell, Study
from exml_sim.money import exact
from exml_sim.seeds import Seeds


def block(study: Study, cell: Cell, trials: range) -> Block:
    """Run trials of a cell; each weighs the same."""
    start = time.perf_counter()
    pool, strategy = study.pool(cell), study.strategy(cell)
    explored = pool.explore_many(strategy, exact(cell.budget), trials, seed=study.seed, stream=cell.stream)
    return block_of(study, cell, trials, explored, np.ones(len(trials)), start)


def confidence_block(study: Study, cell: Cell, trials: range) -> Block:
    """Run trials of a cell; `success` is that the strategy was not confident of a wrong arm."""
    start = time.perf_counter()
    pool, strategy = study.pool(cell), study.strategy(cell)
    explored = pool.explore_many(strategy, exact(cell.budget), trials, seed=study.seed, stream=cell.stream)
    if explored.confident is None:
        raise ValueError(
            f"mode 'fixed_confidence' is for strategies with a confidence, and {cell.labels[2]!r} spends a fixed "
            "budget: use mode 'monte_carlo'"
        )
    judged = block_of(study, cell, trials, explored, explored.confident.astype(np.float64), start)
    epsilon = getattr(strategy, "epsilon", 0.0)
    wrong = explored.confident & ~judged.success & (judged.regret > epsilon)
    return replace(judged, success=np.asarray(~wrong, dtype=np.bool_), regret=np.where(wrong, judged.regret, 0.0))


def replay(study: Study, cell: Cell, trial: int) -> Exploration:
    """Run one trial again and keep everything about it."""
    address = Seeds.of(study.seed, trial, cell.stream)
    return study.pool(cell).explore(study.strategy(cell), exact(cell.budget), address)


def metadata(study: Study, cell: Cell) -> CellMetadata:
    """Return the costs and the largest regret, which is that of the worst arm."""
    pool = study.pool(cell)
    objective = study.strategy(cell).objective
    aim = aims(pool, objective)
    largest = pool.largest_regret(objective) if isinstance(pool, RandomInstancePool) else float(aim.max() - aim.min())
    return CellMetadata(largest, tuple(float(cost) for cost in pool.prices.exact_costs))
