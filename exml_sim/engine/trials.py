"""The trials of one block of one cell: pure in (study, cell, trial numbers), so any worker may run it."""

from __future__ import annotations

import os
import time
from dataclasses import dataclass

import numpy as np
from threadpoolctl import threadpool_limits

from exml_sim.engine.seeds import Seeds
from exml_sim.engine.study import Cell, Study
from exml_sim.exploration import Exploration
from exml_sim.exploring import Pool
from exml_sim.lockstep import WORTHLESS
from exml_sim.money import BoolArray, IntArray, exact
from exml_sim.ranking import FloatArray


@dataclass(frozen=True, slots=True, eq=False)
class Block:
    """Results of trials first, first + 1, … of one cell.

    Attributes
    ----------
    selected
        The selected arm (the first choice, for a rule that selects several).
    success
        Whether only best arms were selected.
    regret
        Mean of the selected arms' exact regrets; 0 for a success.
    spent
        Money in whole units of the price list.
    weight
        Likelihood ratio of the trial; 1 unless rows were drawn from tilted distributions.
    pulls
        Pulls per arm, summed over the block.
    seconds
        Time that the block took.
    terms
        Excess risk and its five terms per trial, shape (trials, 6); in mode "excess" only.
    """

    cell: int
    first: int
    selected: IntArray
    success: BoolArray
    regret: FloatArray
    spent: IntArray
    weight: FloatArray
    pulls: IntArray
    seconds: float
    terms: FloatArray | None = None

    def __len__(self) -> int:
        return int(self.selected.size)


def run_block(study: Study, cell: Cell, first: int, stop: int, driver: int | None = None) -> Block:
    """Run trials first … stop - 1 of a cell.

    Parameters
    ----------
    driver
        Process number of the driver. A worker that is another process pins its BLAS to one thread; in the driver's
        own threads the driver has done so.
    """
    if driver is not None and driver != os.getpid():
        _pin_once()
    start = time.perf_counter()
    pool = study.pool(cell)
    rule = study.strategy(cell)
    if study.mode == "excess":
        return _excess_block(study, cell, first, stop, start)
    if study.mode == "rare":
        from exml_sim.engine.rare import tilted_trials

        found, weight = tilted_trials(study, cell, range(first, stop))
    else:
        found = pool.explore_many(rule, exact(cell.budget), range(first, stop), seed=study.seed, stream=cell.stream)
        weight = np.ones(stop - first)
    success, regret = outcomes(pool, found.selected, rule.objective)
    return Block(
        cell.index,
        first,
        found.selected[:, 0].astype(np.int64),
        success,
        regret,
        found.spent_units,
        weight,
        found.pulls.sum(axis=0),
        time.perf_counter() - start,
    )


def _excess_block(study: Study, cell: Cell, first: int, stop: int, start: float) -> Block:
    """Trials with a population each; success and regret are on the trial's own population."""
    from exml_sim.engine.excess import excess_trials

    found, pools, terms = excess_trials(study, cell, range(first, stop))
    rule = study.strategy(cell)
    judged = [outcomes(p, np.array([one.accepted]), rule.objective) for p, one in zip(pools, found, strict=True)]
    return Block(
        cell.index,
        first,
        np.array([one.selected for one in found], dtype=np.int64),
        np.concatenate([success for success, _ in judged]),
        np.concatenate([regret for _, regret in judged]),
        np.array([int(one.ledger.spent / study.pool(cell).prices.unit) for one in found], dtype=np.int64),
        np.ones(stop - first),
        np.sum([one.ledger.pulls for one in found], axis=0).reshape(-1),
        time.perf_counter() - start,
        terms,
    )


def outcomes(pool: Pool, selected: IntArray, objective: str) -> tuple[BoolArray, FloatArray]:
    """Success and exact regret of selected arms, shape (trials, k).

    A selection of k arms succeeds if no arm outside it is better than one inside it. Its regret is the mean of the
    selected arms' values less the mean of the k lowest, exactly 0 for a success.
    """
    aim = np.array(_aims(pool, objective))
    aim[list(pool.best_set(objective))] = aim.min()  # type: ignore[attr-defined]
    ranked = np.sort(aim)
    number = selected.shape[1]
    chosen = aim[selected]
    success = np.asarray(chosen.max(axis=1) <= ranked[number - 1], dtype=np.bool_)
    regret = np.where(success, 0.0, chosen.mean(axis=1) - ranked[:number].mean())
    return success, regret


def _aims(pool: Pool, objective: str) -> FloatArray:
    """What each arm is worth on the whole population, lower is better."""
    risks: FloatArray = pool.risks  # type: ignore[attr-defined]
    if objective == "risk":
        return risks
    prices = np.array([float(cost) for cost in pool.prices.exact_costs])
    return np.asarray((risks - WORTHLESS) / prices, dtype=np.float64)


def replay(study: Study, cell: int | Cell, trial: int) -> Exploration:
    """Run one trial again and keep everything about it: rounds, scores, certificates, and the ledger.

    Parameters
    ----------
    cell
        A cell of the study, or its number.
    trial
        The trial's number.
    """
    if study.mode != "count":
        raise ValueError(f"only trials of mode 'count' can be replayed, and this study has mode {study.mode!r}")
    where = find(study, cell)
    if not 0 <= trial < study.trials:
        raise ValueError(f"trial {trial} does not exist: the study has {study.trials}, counted from 0")
    address = Seeds.of(study.seed, trial, where.stream)
    return study.pool(where).explore(study.strategy(where), exact(where.budget), address)


def find(study: Study, cell: int | Cell) -> Cell:
    """The cell of a number."""
    if isinstance(cell, Cell):
        return cell
    cells = study.cells()
    if not 0 <= cell < len(cells):
        raise ValueError(f"cell {cell} does not exist: the study has {len(cells)}, counted from 0")
    return cells[cell]


_PINNED: list[threadpool_limits] = []


def _pin_once() -> None:
    if not _PINNED:
        _PINNED.append(threadpool_limits(limits=1))
