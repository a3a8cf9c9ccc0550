"""Running a strategy on a pool: one readable trial, or many trials in blocks of lock-step."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterable
from concurrent.futures import ThreadPoolExecutor
from functools import cached_property

import numpy as np

from exml_sim.exploration.ledger import Ledger
from exml_sim.exploration.lockstep import OBJECTIVES, Lockstep, Session, check_budget
from exml_sim.exploration.trial import Exploration, Explorations, read_trial
from exml_sim.money import ALIGNMENTS, IntArray, Money, Prices, exact
from exml_sim.seeds import Rng, Seeds, as_seeds
from exml_sim.strategies import Strategy, by_name
from exml_sim.validation import check_choice, check_count, check_jobs


class Pool(ABC):
    """K arms with names and prices that a strategy can explore.

    A subclass says what its arms are by opening a `Session` for the seeds of N trials.
    """

    @property
    @abstractmethod
    def names(self) -> tuple[str, ...]:
        """Names of the arms."""

    @property
    @abstractmethod
    def costs(self) -> Iterable[Money]:
        """Cost of one pull of every arm."""

    @abstractmethod
    def open(self, seeds: Seeds) -> Session:
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
    def block(self) -> int:
        """Trials that run together by default: as many as fit in a moderate amount of memory."""
        return 4096

    def explore(self, strategy: Strategy | str, budget: Money, rng: Rng = 0) -> Exploration:
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
            If the budget does not pay for one pull of every arm in the opening round (the message says
            which does).
        """
        seeds = as_seeds(rng)
        if len(seeds) != 1:
            raise ValueError(f"explore runs one trial, got the addresses of {len(seeds)}; use explore_many")
        trials, selected = self.run(strategy, budget, seeds, record=True)
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
            return Explorations(selected, done.pulls, done.ledger.spent_units, self.prices.unit, part)

        if n_jobs == 1 or len(parts) == 1:
            return Explorations.joined([one(part) for part in parts], seeds)
        with ThreadPoolExecutor(n_jobs) as threads:
            return Explorations.joined(list(threads.map(one, parts)), seeds)

    def run(self, strategy: Strategy | str, budget: Money, seeds: Seeds, *, record: bool) -> tuple[Lockstep, IntArray]:
        """Drive the trials of `seeds` in lock-step; returns the finished state and the selected arms."""
        rule = by_name(strategy) if isinstance(strategy, str) else strategy
        if isinstance(rule, type):
            raise ValueError(
                f"a strategy must be an object, got the class {rule.__name__}: call it, {rule.__name__}(…)"
            )
        if not isinstance(rule, Strategy):
            raise ValueError(f"a strategy needs alignment, objective, opening and explore, got {strategy!r}")
        check_choice(rule.alignment, "alignment", tuple(ALIGNMENTS))
        check_choice(rule.objective, "objective", tuple(OBJECTIVES))
        amount = exact(budget, "budget")
        check_budget(amount, rule.opening, self.prices, rule.alignment, type(rule).__name__)
        ledger = Ledger(amount, self.prices, self.names, trials=len(seeds))
        trials = Lockstep(self.open(seeds), ledger, alignment=rule.alignment, objective=rule.objective, record=record)
        return trials, self._checked(rule.explore(trials), len(seeds), type(rule).__name__)

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
