"""Before anything is stored: one trial of every new cell, and a closer look at what is somebody else's.

A plug-in that raises, selects arms that do not exist, takes pulls that nobody paid for, or does something else the
second time is refused here, in one line with its name.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from exml_sim.engine.modes import MODES, mode_of
from exml_sim.engine.plugged import PluginPool
from exml_sim.engine.setting import declined, setting_of, value_of
from exml_sim.engine.study import Cell, Study
from exml_sim.engine.trials import Block
from exml_sim.money import exact
from exml_sim.plugins import PluginError, blamed, find, given
from exml_sim.strategies import STRATEGIES

#: Trials of a plug-in that are run three times: together, together again, and one alone.
TRIALS = 12


def rehearse(study: Study, cells: Sequence[Cell]) -> None:
    """Run one trial of every new cell (or size it up): what cannot run at all fails before anything is stored.

    Counted trials on rows drawn with replacement have nothing to run out of but money, which was checked: there one
    cell stands for all budgets of its pool, score and strategy.
    """
    _check_plugins(study, cells)
    if study.mode == "monte_carlo" and study.sampling.replacement == "always":
        cells = list({(cell.pool, cell.score, cell.strategy): cell for cell in reversed(cells)}.values())
    for cell in cells:
        try:
            with blamed(study.strategies[cell.strategy].name):
                mode_of(study).rehearse(study, cell)
        except PluginError as error:
            raise PluginError(f"{error}; nothing was run") from None
        except ValueError as error:
            raise ValueError(f"cell {cell.index} ({cell}) cannot run: {error}; nothing was run") from None


def _check_plugins(study: Study, cells: Sequence[Cell]) -> None:
    try:
        with given(study.plugins):
            for pool in study.pools:
                if isinstance(pool, PluginPool):
                    pool.check_same()
        for cell in cells:
            name = study.strategies[cell.strategy].name
            if name not in STRATEGIES:
                with blamed(name):
                    _check_rule(study, cell, name)
            _check_bounds(study, cell)
    except PluginError as error:
        raise PluginError(f"{error}; nothing was run") from None


def _check_rule(study: Study, cell: Cell, name: str) -> None:
    """Run a few trials three times and compare."""
    run = mode_of(study).block or MODES["monte_carlo"].block
    assert run is not None
    number = min(TRIALS, study.trials)
    first, again, last = (
        run(study, cell, trials) for trials in (range(number), range(number), range(number - 1, number))
    )
    _check_money(study, cell, first, name)
    for other, place in ((again, slice(None)), (last, slice(number - 1, None))):
        if not _same(first, other, place):
            how = "the second time" if other is again else "alone than in company of other trials"
            raise PluginError(f"plug-in {name!r} selected or spent something else {how}, from the same seed")


def _same(first: Block, other: Block, place: slice) -> bool:
    pairs = ((first.selected, other.selected), (first.spent, other.spent), (first.regret, other.regret))
    return all(np.array_equal(one[place], two) for one, two in pairs)


def _check_money(study: Study, cell: Cell, block: Block, name: str) -> None:
    """Pulls that the ledger has not seen are pulls that nobody paid for."""
    pool = study.pool(cell)
    worth = int(block.pulls @ pool.prices.costs)
    if worth > int(block.spent.sum()):
        raise PluginError(f"plug-in {name!r} took pulls worth {worth} units and paid for {int(block.spent.sum())}")


def _check_bounds(study: Study, cell: Cell) -> None:
    """Ask every bound once."""
    if not study.bounds:
        return
    setting = setting_of(study, cell)
    if isinstance(setting, str):
        return
    with given(study.plugins):
        for spec in study.bounds:
            function = find("theory.bounds", spec.name).load()
            if not declined(function, spec, setting):
                value_of(spec.name, function, float(exact(cell.budget)), setting)
