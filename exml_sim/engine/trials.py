"""The trials of one block of one cell: pure in (study, cell, trial numbers), so any worker may run it."""

from __future__ import annotations

import os
import time
from dataclasses import dataclass

import numpy as np
from threadpoolctl import threadpool_limits

from exml_sim.arrays import BoolArray, FloatArray, IntArray
from exml_sim.engine.study import Cell, Study
from exml_sim.exploration.lockstep import WORTHLESS
from exml_sim.exploration.pool import Pool
from exml_sim.exploration.trial import Exploration
from exml_sim.money import exact
from exml_sim.seeds import Seeds


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
    noise
        Variance of the terms that are measured on a sample all trials share, shape (trials, 4); with `terms`.
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
    noise: FloatArray | None = None

    @property
    def measured(self) -> FloatArray | None:
        """Terms and noise side by side."""
        return None if self.terms is None or self.noise is None else np.hstack([self.terms, self.noise])

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
        from exml_sim.engine.modes.rare import tilted_trials

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
    from exml_sim.engine.modes.excess import NOISY, TERMS, measured_trials

    number = stop - first
    rule, unit = study.strategy(cell), study.pool(cell).prices.unit
    selected, spent = np.empty(number, dtype=np.int64), np.empty(number, dtype=np.int64)
    success, regret = np.empty(number, dtype=np.bool_), np.empty(number)
    terms, noise = np.empty((number, len(TERMS))), np.empty((number, len(NOISY)))
    pulls = np.zeros(study.pool(cell).n_arms, dtype=np.int64)
    for line, one in enumerate(measured_trials(study, cell, range(first, stop))):
        judged = outcomes(one.pool, np.array([one.trial.accepted]), rule.objective)
        success[line], regret[line] = judged[0][0], judged[1][0]
        selected[line], spent[line] = one.trial.selected, int(one.trial.ledger.spent / unit)
        terms[line], noise[line] = one.terms, one.noise
        pulls += one.trial.ledger.pulls.reshape(-1)
    ones = np.ones(number)
    seconds = time.perf_counter() - start
    return Block(cell.index, first, selected, success, regret, spent, ones, pulls, seconds, terms, noise)


def outcomes(pool: Pool, selected: IntArray, objective: str) -> tuple[BoolArray, FloatArray]:
    """Success and exact regret of selected arms, shape (trials, k).

    A selection of k arms succeeds if no arm outside it is better than one inside it. Its regret is the mean of the
    selected arms' values less the mean of the k lowest, exactly 0 for a success.
    """
    aim = np.array(_aims(pool, objective))
    aim[list(pool.best_set(objective))] = aim.min()
    ranked = np.sort(aim)
    number = selected.shape[1]
    chosen = aim[selected]
    success = np.asarray(chosen.max(axis=1) <= ranked[number - 1], dtype=np.bool_)
    regret = np.where(success, 0.0, chosen.mean(axis=1) - ranked[:number].mean())
    return success, regret


def largest_regret(study: Study, cell: Cell) -> float:
    """The largest regret that a trial of a cell can have."""
    pool, objective = study.pool(cell), study.strategy(cell).objective
    if study.mode == "excess":
        # Every trial has a population of its own, but the minimal surrogate risk always lies in [0, 1].
        return 1.0 if objective == "risk" else 1.0 / min(float(cost) for cost in pool.prices.exact_costs)
    aim = _aims(pool, objective)
    return float(aim.max() - aim.min())


def _aims(pool: Pool, objective: str) -> FloatArray:
    """What each arm is worth on the whole population, lower is better."""
    risks = pool.risks
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
    if study.mode == "exact":
        raise ValueError("mode 'exact' runs no trials, so there is none to replay")
    where = find(study, cell)
    if isinstance(trial, bool) or not isinstance(trial, int | np.integer) or not 0 <= trial < study.trials:
        raise ValueError(f"trial {trial} does not exist: the study has {study.trials}, counted from 0")
    if study.mode == "rare":
        from exml_sim.engine.modes.rare import replay_tilted

        return replay_tilted(study, where, int(trial))
    if study.mode == "excess":
        from exml_sim.engine.modes.excess import measured_trials

        return next(measured_trials(study, where, [int(trial)])).trial
    address = Seeds.of(study.seed, int(trial), where.stream)
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
