"""Plain trials: run the strategy on rows drawn anew, and count how often it fails."""

from __future__ import annotations

import time

import numpy as np

from exml_sim.bandit.parametric import RandomInstancePool
from exml_sim.bandit.trial import Exploration
from exml_sim.engine.study import Cell, Study
from exml_sim.engine.trials import Block, CellMetadata, aims, block_of
from exml_sim.money import exact
from exml_sim.seeds import Seeds


def block(study: Study, cell: Cell, trials: range) -> Block:
    """Run trials of a cell; each weighs the same."""
    start = time.perf_counter()
    pool, rule = study.pool(cell), study.strategy(cell)
    found = pool.explore_many(rule, exact(cell.budget), trials, seed=study.seed, stream=cell.stream)
    return block_of(study, cell, trials, found, np.ones(len(trials)), start)


def replay(study: Study, cell: Cell, trial: int) -> Exploration:
    """Run one trial again and keep everything about it."""
    address = Seeds.of(study.seed, trial, cell.stream)
    return study.pool(cell).explore(study.strategy(cell), exact(cell.budget), address)


def facts(study: Study, cell: Cell) -> CellMetadata:
    """The largest regret is that of the worst arm."""
    pool = study.pool(cell)
    objective = study.strategy(cell).objective
    aim = aims(pool, objective)
    largest = pool.largest_regret(objective) if isinstance(pool, RandomInstancePool) else float(aim.max() - aim.min())
    return CellMetadata(largest, tuple(float(cost) for cost in pool.prices.exact_costs))
