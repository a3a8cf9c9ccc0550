"""The modes of a study: how each runs a block of trials, runs a smoke test, and replays a trial."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass

import numpy as np

from exml_sim.bandit.trial import Exploration
from exml_sim.engine._trials import TERMS, Block, CellMetadata, OutcomeDistribution, find
from exml_sim.engine.modes import _exact as exact
from exml_sim.engine.modes import _excess_risk as excess_risk
from exml_sim.engine.modes import _importance_sampling as importance_sampling
from exml_sim.engine.modes import _monte_carlo as monte_carlo
from exml_sim.engine.study import Cell, Study
from exml_sim.plugins import guard_calls

__all__ = ["MODES", "Mode", "mode_of", "replay", "run_block"]


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


def _sampling(
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


MODES: Mapping[str, Mode] = {
    "monte_carlo": _sampling(monte_carlo.block, monte_carlo.replay, monte_carlo.metadata, paired=True),
    "exact": Mode(
        exact.least_outcomes, monte_carlo.metadata, distribution=exact.enumerate_cell, size=exact.least_outcomes
    ),
    "importance_sampling": _sampling(
        importance_sampling.block, importance_sampling.replay, importance_sampling.metadata
    ),
    "excess_risk": _sampling(excess_risk.block, excess_risk.replay, excess_risk.metadata, paired=True, terms=TERMS),
    "fixed_confidence": _sampling(monte_carlo.confidence_block, monte_carlo.replay, monte_carlo.metadata, paired=True),
}


def mode_of(study: Study) -> Mode:
    """Return the mode of a study."""
    return MODES[study.mode]


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
    where = find(study, cell)
    if isinstance(trial, bool) or not isinstance(trial, int | np.integer) or not 0 <= trial < study.trials:
        raise ValueError(f"trial {trial} does not exist: the study has {study.trials}, counted from 0")
    with guard_calls(*study.cell_plugins(where)):
        return again(study, where, int(trial))
