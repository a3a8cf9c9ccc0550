"""Define pools of arms, and run strategies on them: one readable trial, or many in blocks."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable
from concurrent.futures import ThreadPoolExecutor
from fractions import Fraction
from functools import cached_property
from inspect import isfunction
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np

from exml_sim._internal.arrays import FloatArray, IntArray
from exml_sim._internal.validation import check_count, check_jobs
from exml_sim.bandit._ranking import TieBreaker
from exml_sim.bandit.ledger import Ledger
from exml_sim.bandit.trial import Exploration, Explorations, read_trial
from exml_sim.bandit.trial_batch import (
    BASELINE_RISK,
    ArmState,
    Strategy,
    TrialBatch,
    break_ties,
    check_budget,
    check_strategy,
)
from exml_sim.money import Money, Prices, exact
from exml_sim.plugins import POOLS
from exml_sim.seeds import Rng, Seeds, as_seeds

if TYPE_CHECKING:
    from collections.abc import Mapping

    from simulations.compare import Comparison


class Pool(ABC):
    """K arms with names and prices that a strategy can explore.

    A subclass opens an `ArmState` for the seeds of N trials and, where the truth is known, has `risks` and
    `best_arms`.
    """

    #: Subclasses in a file of plug-ins announce themselves as pools.
    plugin_group: ClassVar[str] = POOLS

    @property
    @abstractmethod
    def names(self) -> tuple[str, ...]:
        """Names of the arms."""

    @property
    @abstractmethod
    def costs(self) -> Iterable[Money]:
        """Cost of one pull of every arm."""

    @abstractmethod
    def open(self, seeds: Seeds) -> ArmState:
        """Start N trials in which nothing has been bought."""

    @cached_property
    def prices(self) -> Prices:
        """The price list in whole units."""
        return Prices.of(self.costs)

    @property
    def n_arms(self) -> int:
        """Number of arms K."""
        return len(self.names)

    @property
    def risks(self) -> FloatArray:
        """True risk R_i of every arm, lower is better, shape (K,)."""
        raise ValueError(f"{type(self).__name__} does not know its arms: it has no risks and no gaps")

    def best_arms(self, objective: str = "risk") -> tuple[int, ...]:
        """The arms that no other arm beats, {i: Delta_i = 0}."""
        raise ValueError(f"{type(self).__name__} does not know its arms: it has no best arms")

    @property
    def direction(self) -> str:
        """Whether the best arm has the highest mean ("maximise") or the lowest risk ("minimise")."""
        return "minimise"

    @property
    def baseline(self) -> float:
        """Risk of an arm that is worth nothing; the objective "risk_per_cost" is (risk - baseline) / cost."""
        return BASELINE_RISK

    @property
    def hardness(self) -> tuple[float, float]:
        """H1 = sum_i 1 / Delta_i^2 and H2 = max_i i / Delta_(i)^2, so that H2 <= H1 (Audibert, Bubeck and Munos, 2010).

        The gap of a best arm is the smallest gap of the others. Positions i count in the order of the gaps.
        """
        gaps = np.sort(self.gaps)
        if gaps[-1] == 0.0:
            return 0.0, 0.0
        gaps[gaps == 0.0] = gaps[gaps > 0.0][0]
        return float((1.0 / gaps**2).sum()), float((np.arange(1, gaps.size + 1) / gaps**2).max())

    def describe(self) -> str:
        """Describe direction, best arm, gaps, H1 and H2 in one line."""
        best = " and ".join(self.names[arm] for arm in self.best_arms())
        gaps = ", ".join(f"{gap:.3g}" for gap in self.gaps[:8]) + (", …" if self.n_arms > 8 else "")
        h1, h2 = self.hardness
        what = "higher mean" if self.direction == "maximise" else "lower risk"
        return f"{self.direction} ({what} is better); best: {best}; gaps {gaps}; H1 = {h1:.4g}, H2 = {h2:.4g}"

    @property
    def gaps(self) -> FloatArray:
        """Delta_i = R_i - min_j R_j (Eq. 7), exactly 0 for the best arms, shape (K,)."""
        gaps = self.risks - self.risks.min()
        gaps[list(self.best_arms())] = 0.0
        return np.asarray(gaps, dtype=np.float64)

    @property
    def gap(self) -> float:
        """Delta: the smallest gap that is not 0 (below Eq. 7).

        Raises
        ------
        ValueError
            If all arms are equally good, as with K = 1; the minimum is then over nothing.
        """
        positive = self.gaps[self.gaps > 0]
        if positive.size == 0:
            raise ValueError(f"all {self.n_arms} arms are equally good: there is no gap")
        return float(positive.min())

    @property
    def block(self) -> int:
        """Trials that run together by default: as many as fit in a moderate amount of memory."""
        return 4096

    def explore(
        self,
        strategy: Strategy | str,
        budget: Money,
        rng: Rng = 0,
    ) -> Exploration:
        """Run one trial and keep everything about it.

        Parameters
        ----------
        strategy
            A strategy, or the name of one with its default options.
        budget
            Money for the trial; decimals are exact.
        rng
            A seed number, a numpy generator, or the `Seeds` address of one trial.

        Raises
        ------
        ValueError
            If the budget does not pay for one pull of every arm in the first round (the message says which does).
        """
        seeds = as_seeds(rng)
        if len(seeds) != 1:
            raise ValueError(f"explore runs one trial, got the addresses of {len(seeds)}; use explore_many")
        batch, selected = self.run(strategy, budget, seeds, record=True)
        return read_trial(batch, selected)

    def explore_many(
        self,
        strategy: Strategy | str,
        budget: Money,
        trials: int | Iterable[int],
        *,
        seed: int = 0,
        stream: int = 0,
        n_jobs: int = 1,
        block: int | None = None,
    ) -> Explorations:
        """Run many trials. Results depend on the seed only, not on blocks or threads.

        Parameters
        ----------
        strategy, budget
            As in `explore`.
        trials
            How many (numbered from 0), or their numbers.
        seed, stream
            Root seed and stream; trial i alone is `explore(strategy, budget, Seeds.of(seed, i, stream))`.
        n_jobs
            Threads (the kernels run without the interpreter lock); -1 for all cores.
        block
            Trials that run together.
        """
        numbers = trials if isinstance(trials, Iterable) else range(check_count(trials, "trials"))
        seeds = Seeds.of(seed, numbers, stream)
        n_jobs = check_jobs(n_jobs)
        chosen = resolve_strategy(strategy)
        size = min(self.block, -(-len(seeds) // n_jobs)) if block is None else check_count(block, "block")
        size = min(size, getattr(chosen, "block", size))
        parts = [seeds.part(slice(start, start + size)) for start in range(0, len(seeds), size)]

        def run_part(part: Seeds) -> Explorations:
            batch, selected = self.run(chosen, budget, part, record=False)
            return Explorations(
                selected,
                batch.pulls,
                batch.ledger.spent_units,
                self.prices.unit,
                part,
                batch.confident,
                batch.uncertain,
            )

        if n_jobs == 1 or len(parts) == 1:
            return Explorations.join([run_part(part) for part in parts], seeds)
        with ThreadPoolExecutor(n_jobs) as threads:
            return Explorations.join(list(threads.map(run_part, parts)), seeds)

    def compare(
        self,
        strategies: Mapping[str, Strategy | str] | Iterable[Strategy | str],
        budgets: Iterable[Money],
        trials: int = 10_000,
        **options: Any,
    ) -> Comparison:
        """Compare strategies at several budgets; `simulations.compare.compare` describes the options."""
        from simulations.compare import compare

        return compare(self, strategies, budgets, trials, **options)

    def run(
        self, strategy: Strategy | str, budget: Money, seeds: Seeds, *, record: bool
    ) -> tuple[TrialBatch, IntArray]:
        """Run the trials of `seeds` together; return the finished batch and the selected arms."""
        chosen = resolve_strategy(strategy)
        amount = exact(budget, "budget")
        check_budget(amount, chosen, self.prices)
        ties = break_ties(chosen, seeds)
        return self.drive(chosen, amount, self.open(seeds), len(seeds), record=record, ties=ties)

    def drive(
        self,
        strategy: Strategy,
        budget: Fraction,
        arms: ArmState,
        trials: int,
        *,
        ties: TieBreaker,
        record: bool = False,
    ) -> tuple[TrialBatch, IntArray]:
        """Run a strategy on open arms; return the finished batch and the selected arms.

        Parameters
        ----------
        arms
            The arms as they were opened: drawn, tilted, or all outcomes at once.
        ties
            How equal arms are ordered.
        """
        ledger = self.new_ledger(budget, trials)
        if not record:
            ledger.forget()
        batch = TrialBatch(
            arms, ledger, alignment=strategy.alignment, objective=strategy.objective, record=record, ties=ties
        )
        return batch, self._check_selection(strategy.explore(batch), trials, type(strategy).__name__)

    def new_ledger(self, budget: Fraction, trials: int) -> Ledger:
        """Open the ledger that the trials pay from."""
        return Ledger(budget, self.prices, self.names, trials=trials)

    def _check_selection(self, selected: IntArray, trials: int, strategy: str) -> IntArray:
        """Refuse a selection that is not k arms for every trial."""
        arms = np.asarray(selected)
        if arms.ndim != 2 or arms.shape[0] != trials or arms.shape[1] < 1 or arms.dtype.kind not in "iu":
            raise ValueError(
                f"explore of {strategy} must return whole numbers of shape (trials, k), here ({trials}, k), "
                f"got {arms.dtype} of shape {arms.shape}"
            )
        if arms.min() < 0 or arms.max() >= self.n_arms:
            raise ValueError(
                f"explore of {strategy} must return arms from 0 to {self.n_arms - 1}, got {arms.min()} to {arms.max()}"
            )
        return arms.astype(np.int64, copy=False)


def resolve_strategy(strategy: Strategy | Callable[..., int] | str) -> Strategy:
    """Return a strategy, given as itself, by its name or as a plain loop."""
    if isinstance(strategy, str):
        from exml_sim.strategies import by_name

        return by_name(strategy)
    if isfunction(strategy):
        from exml_sim.strategies.plain_loop import PlainLoop

        return PlainLoop(strategy)
    return check_strategy(strategy)
