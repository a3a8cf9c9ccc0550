"""Plain trials of a cell, and the results of all modes: blocks of judged trials or an exact distribution, and metadata.

In mode "fixed_confidence" strategies with a confidence stop by themselves. A trial's weight is then 1 where the
strategy was confident and 0 where its money ended before. A failure is a trial that was confident of a wrong arm, which
a strategy with confidence 1 - delta promises to have probability delta at most.
"""

from __future__ import annotations

import time
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

import numpy as np

from exml_sim._internal.arrays import BoolArray, FloatArray, IntArray
from exml_sim.bandit.parametric import RandomInstancePool
from exml_sim.bandit.pool import Pool
from exml_sim.bandit.trial import Exploration, Explorations
from exml_sim.money import exact
from exml_sim.seeds import Seeds

if TYPE_CHECKING:
    from exml_sim.engine.study import Cell, Study

#: The excess risk and the terms of Eq. 8, and those of them that are measured on a sample which all trials share.
TERMS = ("excess", "a", "b", "c", "d", "e")
NOISY = ("excess", "a", "d", "e")


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
        Excess risk and its five terms per trial, shape (trials, 6); in mode "excess_risk" only.
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

    def rows(self) -> tuple[list[tuple[float, ...]], list[tuple[float, ...]]]:
        """Return the lines of the tables `trials` and `terms` of a store."""
        places = [(self.cell, trial) for trial in range(self.first, self.first + len(self))]
        columns = (self.selected, self.success.astype(np.int64), self.regret, self.spent, self.weight)
        results = zip(places, *(column.tolist() for column in columns), strict=True)
        measured = [] if self.measured is None else self.measured.tolist()
        terms = [(*place, *line) for place, line in zip(places, measured, strict=False)]
        return [(*place, *line) for place, *line in results], terms

    def __len__(self) -> int:
        return int(self.selected.size)


@dataclass(frozen=True, slots=True)
class OutcomeDistribution:
    """The exact distribution of the outcome of a cell, one entry per arm.

    Attributes
    ----------
    selected
        Probability that the arm is selected (first).
    success, failure, regret
        The parts of the success and failure probability and of the mean regret from outcomes that select the arm.
    pulls
        Mean pulls of the arm.
    """

    selected: tuple[float, ...]
    success: tuple[float, ...]
    failure: tuple[float, ...]
    regret: tuple[float, ...]
    pulls: tuple[float, ...]

    def lines(self) -> list[tuple[float, ...]]:
        """Return one line per arm."""
        return list(zip(self.selected, self.success, self.failure, self.regret, self.pulls, strict=True))


@dataclass(frozen=True, slots=True)
class CellMetadata:
    """What a summary must know of a cell beside its trials; stored when the store is made.

    Attributes
    ----------
    largest_regret
        The largest regret that a trial can have.
    costs
        Cost of one pull of every arm.
    weights_complete, weight_bound, left_out
        With tilted sampling: whether every failure path has a tilt, the largest weight of a failure that has, and the
        largest probability of the others.
    """

    largest_regret: float
    costs: tuple[float, ...]
    weights_complete: bool = True
    weight_bound: float = 1.0
    left_out: float = 0.0


def block_of(
    study: Study, cell: Cell, trials: range, explored: Explorations, weight: FloatArray, start: float
) -> Block:
    """Make the block of finished trials, judged on the cell's pool; `start` is when they were begun."""
    pool, objective = study.pool(cell), study.strategy(cell).objective
    if isinstance(pool, RandomInstancePool):
        success, regret = pool.outcomes(explored.seeds, explored.selected, objective)
    else:
        success, regret = outcomes(pool, explored.selected, objective)
    return Block(
        cell.index,
        trials.start,
        explored.selected[:, 0].astype(np.int64),
        success,
        regret,
        explored.spent_units,
        weight,
        explored.pulls.sum(axis=0),
        time.perf_counter() - start,
    )


def outcomes(pool: Pool, selected: IntArray, objective: str) -> tuple[BoolArray, FloatArray]:
    """Success and exact regret of selected arms, shape (trials, k).

    A selection of k arms succeeds if no arm outside it is better than one inside it. Its regret is the mean of the
    selected arms' values less the mean of the k lowest, exactly 0 for a success.
    """
    aim = np.array(aims(pool, objective))
    aim[list(pool.best_arms(objective))] = aim.min()
    ranked = np.sort(aim)
    number = selected.shape[1]
    chosen = aim[selected]
    success = np.asarray(chosen.max(axis=1) <= ranked[number - 1], dtype=np.bool_)
    regret = np.where(success, 0.0, chosen.mean(axis=1) - ranked[:number].mean())
    return success, regret


def aims(pool: Pool, objective: str) -> FloatArray:
    """Return what each arm is worth on the whole population, lower is better."""
    risks = pool.risks
    if objective == "risk":
        return risks
    prices = np.array([float(cost) for cost in pool.prices.exact_costs])
    return np.asarray((risks - pool.baseline) / prices, dtype=np.float64)


def run_plain(study: Study, cell: Cell, trials: range) -> Block:
    """Run trials of a cell; each weighs the same."""
    start = time.perf_counter()
    explored = _explore(study, cell, trials)
    return block_of(study, cell, trials, explored, np.ones(len(trials)), start)


def _explore(study: Study, cell: Cell, trials: range) -> Explorations:
    pool, strategy = study.pool(cell), study.strategy(cell)
    return pool.explore_many(strategy, exact(cell.budget), trials, seed=study.seed, stream=cell.stream)


def run_confident(study: Study, cell: Cell, trials: range) -> Block:
    """Run trials of a cell; `success` is that the strategy was not confident of a wrong arm."""
    start = time.perf_counter()
    explored = _explore(study, cell, trials)
    if explored.confident is None:
        raise ValueError(
            f"mode 'fixed_confidence' is for strategies with a confidence, and {cell.labels[2]!r} spends a fixed "
            "budget: use mode 'monte_carlo'"
        )
    judged = block_of(study, cell, trials, explored, explored.confident.astype(np.float64), start)
    epsilon = getattr(study.strategy(cell), "epsilon", 0.0)
    wrong = explored.confident & ~judged.success & (judged.regret > epsilon)
    return replace(judged, success=np.asarray(~wrong, dtype=np.bool_), regret=np.where(wrong, judged.regret, 0.0))


def replay_plain(study: Study, cell: Cell, trial: int) -> Exploration:
    """Run one trial again and keep everything about it."""
    address = Seeds.of(study.seed, trial, cell.stream)
    return study.pool(cell).explore(study.strategy(cell), exact(cell.budget), address)


def plain_metadata(study: Study, cell: Cell) -> CellMetadata:
    """Return the costs and the largest regret, which is that of the worst arm."""
    pool = study.pool(cell)
    objective = study.strategy(cell).objective
    aim = aims(pool, objective)
    largest = pool.largest_regret(objective) if isinstance(pool, RandomInstancePool) else float(aim.max() - aim.min())
    return CellMetadata(largest, tuple(float(cost) for cost in pool.prices.exact_costs))
