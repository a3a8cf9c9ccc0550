"""Smoke tests before anything is stored, and checks of every block in which code of a plug-in runs.

A plug-in that raises, selects arms that do not exist, takes pulls that were not paid, uses clocks or entropy, or gives
other results in other blocks is refused in one line with its name. Strategies of this package are not run again.
"""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from itertools import pairwise

import numpy as np

from exml_sim.engine._trials import Block, run_plain
from exml_sim.engine.bound_context import context_of, evaluate, find_reason
from exml_sim.engine.modes import mode_of, run_block
from exml_sim.engine.pools import PluginPool
from exml_sim.engine.study import Cell, Study
from exml_sim.money import exact
from exml_sim.plugins import PluginError, guard_calls

#: Trials of a plug-in that the smoke test runs together, again, in two halves, and one alone.
SMOKE_TRIALS = 12


def smoke_test(study: Study, cells: Sequence[Cell]) -> None:
    """Run one trial of every new cell, and more of plug-ins, so that what cannot run fails before it is stored.

    Counted trials on rows drawn with replacement cannot run out of rows, and the budget was checked: there one cell
    stands for all budgets of its pool, score and strategy.
    """
    try:
        _check_plugins(study, cells)
        if study.mode == "monte_carlo" and study.sampling.replacement == "always":
            cells = list({(cell.pool, cell.score, cell.strategy): cell for cell in reversed(cells)}.values())
        for cell in cells:
            _check_cell(study, cell)
    except PluginError as error:
        raise type(error)(f"{error}; nothing was run") from None


def _check_cell(study: Study, cell: Cell) -> None:
    try:
        with guard_calls(*study.cell_plugins(cell)):
            mode_of(study).smoke_test(study, cell)
    except PluginError:
        raise
    except ValueError as error:
        raise ValueError(f"cell {cell.index} ({cell}) cannot run: {error}; nothing was run") from None


def _check_plugins(study: Study, cells: Sequence[Cell]) -> None:
    for pool in study.pools:
        if isinstance(pool, PluginPool):
            pool.check_same()
    for cell in cells:
        if study.cell_plugins(cell):
            _check_repeats(study, cell)
        _check_bounds(study, cell)


def _check_repeats(study: Study, cell: Cell) -> None:
    """Run a few trials together, again, in two halves and alone, and compare."""
    run = mode_of(study).block or run_plain
    number = min(SMOKE_TRIALS, study.trials)
    starts = {"the second time": (0, number), "in smaller blocks": (0, number // 2, number)}
    with guard_calls(*study.cell_plugins(cell)):
        first = run(study, cell, range(number))
        _check_payment(study, cell, first)
        for place, edges in starts.items():
            for low, high in pairwise(edges):
                if low < high:
                    _compare(study, cell, first, run(study, cell, range(low, high)), place)
        _compare(study, cell, first, run(study, cell, range(number - 1, number)), "alone")


def run_checked(study: Study, cell: Cell, first: int, stop: int) -> Block:
    """Run a block of trials; where a plug-in takes part, watch its calls and run one trial again alone."""
    plugins = study.cell_plugins(cell)
    if not plugins:
        return run_block(study, cell, first, stop)
    # A fixed choice that looks random over blocks, so that no place in a block is spared.
    digest = hashlib.sha256(f"{cell.stream} {cell.index} {first} {stop}".encode()).digest()
    trial = first + int.from_bytes(digest[:8], "big") % (stop - first)
    with guard_calls(*plugins):
        block = run_block(study, cell, first, stop)
        _compare(study, cell, block, run_block(study, cell, trial, trial + 1), "alone")
    return block


def _compare(study: Study, cell: Cell, block: Block, other: Block, place: str) -> None:
    """Refuse trials that have another result in another block."""
    part = slice(other.first - block.first, other.first - block.first + len(other))
    pairs = [(getattr(block, name)[part], getattr(other, name)) for name in ("selected", "spent", "regret", "weight")]
    if not all(np.array_equal(left, right) for left, right in pairs):
        names = " or ".join(repr(plugin.name) for plugin in study.cell_plugins(cell))
        raise PluginError(f"plug-in {names} selected or spent something else {place}, from the same seed")


def _check_payment(study: Study, cell: Cell, block: Block) -> None:
    """Refuse pulls that the ledger has not seen."""
    worth, spent = int(block.pulls @ study.pool(cell).prices.costs), int(block.spent.sum())
    if worth > spent:
        names = " or ".join(repr(plugin.name) for plugin in study.cell_plugins(cell))
        raise PluginError(f"plug-in {names} took pulls worth {worth} units and paid for {spent}")


def _check_bounds(study: Study, cell: Cell) -> None:
    """Evaluate every bound once."""
    context = context_of(study, cell) if study.bounds else ""
    if isinstance(context, str):
        return
    for spec in study.bounds:
        if not find_reason(spec, context):
            evaluate(spec, float(exact(cell.budget)), context)
