"""What a pool of arms is, and how a strategy runs on it: one readable trial, or many in blocks of lock-step."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterable
from concurrent.futures import ThreadPoolExecutor
from fractions import Fraction
from functools import cached_property
from typing import ClassVar

import numpy as np

from exml_sim.arrays import FloatArray, IntArray
from exml_sim.bandit.ledger import Ledger
from exml_sim.bandit.strategy import Strategy, check_budget, check_strategy, with_confidence
from exml_sim.bandit.trial import Exploration, Explorations, read_trial
from exml_sim.bandit.trial_batch import ArmState, TrialBatch
from exml_sim.money import Money, Prices, exact
from exml_sim.plugins import POOLS, by_name
from exml_sim.seeds import Rng, Seeds, as_seeds
from exml_sim.validation import check_count, check_jobs


class Pool(ABC):
    """K arms with names and prices that a strategy can explore.

    A subclass says what its arms are by opening a `ArmState` for the seeds of N trials, and, where the truth is known,
    by `risks` and `best_arms`.
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
        """R_i: what each arm is worth in truth, lower is better, shape (K,)."""
        raise ValueError(f"the arms of {type(self).__name__} are not known beforehand: it has no risks and no gaps")

    def best_arms(self, objective: str = "risk") -> tuple[int, ...]:
        """The arms that no other arm beats, {i: Delta_i = 0}."""
        raise ValueError(f"the arms of {type(self).__name__} are not known beforehand: it has no best set")

    @property
    def gaps(self) -> FloatArray:
        """Delta_i = R_i - min_j R_j (Eq. 7), exactly 0 on the best set, shape (K,)."""
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
        *,
        confidence: float | None = None,
        epsilon: float | None = None,
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
        confidence, epsilon
            Buy until the selection is sure, up to differences that do not matter; for rules with a confidence.

        Raises
        ------
        ValueError
            If the budget does not pay for one pull of every arm in the opening round (the message says
            which does).
        """
        seeds = as_seeds(rng)
        if len(seeds) != 1:
            raise ValueError(f"explore runs one trial, got the addresses of {len(seeds)}; use explore_many")
        rule = with_confidence(self.rule(strategy), confidence, epsilon)
        trials, selected = self.run(rule, budget, seeds, record=True)
        return read_trial(trials, selected)

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
        size = min(self.block, -(-len(seeds) // n_jobs)) if block is None else check_count(block, "block")
        parts = [seeds.part(slice(start, start + size)) for start in range(0, len(seeds), size)]

        def one(part: Seeds) -> Explorations:
            done, selected = self.run(strategy, budget, part, record=False)
            return Explorations(selected, done.pulls, done.ledger.spent_units, self.prices.unit, part, done.sure)

        if n_jobs == 1 or len(parts) == 1:
            return Explorations.joined([one(part) for part in parts], seeds)
        with ThreadPoolExecutor(n_jobs) as threads:
            return Explorations.joined(list(threads.map(one, parts)), seeds)

    def run(
        self, strategy: Strategy | str, budget: Money, seeds: Seeds, *, record: bool
    ) -> tuple[TrialBatch, IntArray]:
        """Drive the trials of `seeds` in lock-step; returns the finished state and the selected arms."""
        rule = self.rule(strategy)
        amount = exact(budget, "budget")
        check_budget(amount, rule, self.prices)
        return self.drive(rule, amount, self.open(seeds), len(seeds), record=record)

    @staticmethod
    def rule(strategy: Strategy | str) -> Strategy:
        """A strategy, given as itself or by its name."""
        return check_strategy(by_name("exml_sim.strategies", strategy) if isinstance(strategy, str) else strategy)

    def drive(
        self, rule: Strategy, budget: Fraction, session: ArmState, trials: int, *, record: bool = False
    ) -> tuple[TrialBatch, IntArray]:
        """Drive open trials to their end; returns the finished state and the selected arms.

        Parameters
        ----------
        session
            The arms as they were opened: drawn, tilted, or all outcomes at once.
        """
        ledger = self.new_ledger(budget, trials)
        if not record:
            ledger.forget()
        state = TrialBatch(session, ledger, alignment=rule.alignment, objective=rule.objective, record=record)
        return state, self._checked(rule.explore(state), trials, type(rule).__name__)

    def new_ledger(self, budget: Fraction, trials: int) -> Ledger:
        """What the trials pay from."""
        return Ledger(budget, self.prices, self.names, trials=trials)

    def _checked(self, selected: IntArray, trials: int, rule: str) -> IntArray:
        """Refuse a selection that is not k arms for every trial."""
        arms = np.asarray(selected)
        if arms.ndim != 2 or arms.shape[0] != trials or arms.shape[1] < 1 or arms.dtype.kind not in "iu":
            raise ValueError(
                f"explore of {rule} must return whole numbers of shape (trials, k), here ({trials}, k), "
                f"got {arms.dtype} of shape {arms.shape}"
            )
        if arms.min() < 0 or arms.max() >= self.n_arms:
            raise ValueError(
                f"explore of {rule} must return arms from 0 to {self.n_arms - 1}, got {arms.min()} to {arms.max()}"
            )
        return arms.astype(np.int64, copy=False)
