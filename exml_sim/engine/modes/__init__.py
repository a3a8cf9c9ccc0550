"""The modes of a study: how each runs a block of trials, runs a smoke test, and replays a trial."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import cache

import numpy as np

from exml_sim.bandit.trial import Exploration
from exml_sim.engine._trials import (
    TERMS,
    Block,
    CellMetadata,
    OutcomeDistribution,
    plain_metadata,
    replay_plain,
    run_confident,
    run_plain,
)
from exml_sim.engine.study import Cell, Study
from exml_sim.plugins import guard_calls

__all__ = ["Mode", "mode_of", "replay", "run_block"]


@dataclass(frozen=True, slots=True)
class Mode:
    """One way to estimate how often a strategy fails.

    Attributes
    ----------
    smoke_test
        Fails where a cell cannot run at all.
    metadata
        Returns what summaries must know of a cell.
    block
        Runs trials of a cell; None where there are no trials.
    replay
        Runs one trial again with everything about it; None where there are no trials.
    distribution
        Enumerates the exact distribution of a cell's outcome; None where trials are run.
    size
        Returns a lower bound of the number of outcomes to enumerate.
    paired
        Whether trials of two cells can be compared one by one.
    terms
        Names of what is measured beside failure and regret.
    """

    smoke_test: Callable[[Study, Cell], object]
    metadata: Callable[[Study, Cell], CellMetadata]
    block: Callable[[Study, Cell, range], Block] | None = None
    replay: Callable[[Study, Cell, int], Exploration] | None = None
    distribution: Callable[[Study, Cell], OutcomeDistribution] | None = None
    size: Callable[[Study, Cell], int] | None = None
    paired: bool = False
    terms: tuple[str, ...] = ()


def _sample(
    block: Callable[[Study, Cell, range], Block],
    replay: Callable[[Study, Cell, int], Exploration],
    metadata: Callable[[Study, Cell], CellMetadata],
    *,
    paired: bool = False,
    terms: tuple[str, ...] = (),
) -> Mode:
    """Make a mode that runs trials; one of them is its smoke test."""

    def smoke_test(study: Study, cell: Cell) -> Block:
        return block(study, cell, range(1))

    return Mode(smoke_test, metadata, block, replay, paired=paired, terms=terms)


def mode_of(study: Study) -> Mode:
    """Return the mode of a study."""
    return _make_mode(study.mode)


@cache
def _make_mode(name: str) -> Mode:
    """Make a mode by its name; a study imports the modules of its own mode only."""
    if name == "exact":
        from exml_sim.engine.modes._exact import enumerate_cell, least_outcomes

        return Mode(least_outcomes, plain_metadata, distribution=enumerate_cell, size=least_outcomes)
    if name == "importance_sampling":
        from exml_sim.engine.modes import _importance_sampling as rare

        return _sample(rare.block, rare.replay, rare.metadata)
    if name == "excess_risk":
        from exml_sim.engine.modes import _excess_risk as excess

        return _sample(excess.block, excess.replay, excess.metadata, paired=True, terms=TERMS)
    run = run_confident if name == "fixed_confidence" else run_plain
    return _sample(run, replay_plain, plain_metadata, paired=True)


def run_block(study: Study, cell: Cell, first: int, stop: int) -> Block:
    """Run trials first … stop - 1 of a cell."""
    block = mode_of(study).block
    if block is None:
        raise ValueError(f"mode {study.mode!r} runs no trials")
    return block(study, cell, range(first, stop))


def replay(study: Study, cell: int | Cell, trial: int) -> Exploration:
    """Run one trial again and keep everything about it: rounds, scores, certificates, and the ledger.

    Parameters
    ----------
    cell
        A cell of the study, or its number.
    trial
        The trial's number.
    """
    again = mode_of(study).replay
    if again is None:
        raise ValueError(f"mode {study.mode!r} runs no trials, so there is none to replay")
    where = study.cell(cell)
    if isinstance(trial, bool) or not isinstance(trial, int | np.integer) or not 0 <= trial < study.trials:
        raise ValueError(f"trial {trial} does not exist: the study has {study.trials}, counted from 0")
    with guard_calls(*study.cell_plugins(where)):
        return again(study, where, int(trial))
