"""Cost until sure: rules with a confidence stop by themselves; what did it cost, how often were they sure and wrong?

A trial's weight is 1 where the rule was sure and 0 where its money ended before. A failure of this mode is a trial that
was sure of a wrong arm: the event that a rule with confidence 1 - delta promises to have probability delta at most.
"""

from __future__ import annotations

import time
from dataclasses import replace

import numpy as np

from exml_sim.engine.modes import monte_carlo
from exml_sim.engine.study import Cell, Study
from exml_sim.engine.trials import Block, block_of
from exml_sim.money import exact

replay = monte_carlo.replay
facts = monte_carlo.facts


def block(study: Study, cell: Cell, trials: range) -> Block:
    """Run trials of a cell; `success` is that the rule was not sure of a wrong arm."""
    start = time.perf_counter()
    pool, rule = study.pool(cell), study.strategy(cell)
    found = pool.explore_many(rule, exact(cell.budget), trials, seed=study.seed, stream=cell.stream)
    if found.confident is None:
        raise ValueError(
            f"mode 'fixed_confidence' is for rules with a confidence, and {cell.labels[2]!r} spends a fixed budget: "
            "use mode 'monte_carlo'"
        )
    judged = block_of(study, cell, trials, found, found.confident.astype(np.float64), start)
    aim = getattr(rule, "epsilon", 0.0)
    wrong = found.confident & ~judged.success & (judged.regret > aim)
    return replace(judged, success=np.asarray(~wrong, dtype=np.bool_), regret=np.where(wrong, judged.regret, 0.0))
