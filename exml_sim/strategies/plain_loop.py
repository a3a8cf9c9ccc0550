"""Run a plain function over one trial as a strategy: slow, but as short as the algorithm."""

from __future__ import annotations

import inspect
from collections.abc import Callable
from fractions import Fraction
from typing import Any

import numpy as np

from exml_sim._internal.arrays import IntArray
from exml_sim.bandit.ledger import Overspend
from exml_sim.bandit.trial_batch import TrialBatch
from exml_sim.money import Prices, show

#: The round of the generators that loops get; pulls read rounds 0 and 2, random means 1.
_ROUND = 3
#: Names of the first parameter of a loop.
KINDS = ("pull", "means")


def is_plain_loop(thing: object) -> bool:
    """Check for a function of three arguments whose first one is called `pull` or `means`."""
    names = list(inspect.signature(thing).parameters) if inspect.isfunction(thing) else []
    return len(names) == 3 and names[0] in KINDS


class PlainLoop:
    """A strategy from a function `loop(pull, budget, rng)` or `loop(means, budget, rng)` that returns an arm.

    `pull(arm, times=1)` buys pulls of an arm and returns their mean: a reward if the pool is maximised, else a loss.
    The ledger refuses pulls that the budget does not pay for. A loop of `means` gets the true means instead, draws its
    own rewards, and is shown as spending nothing. `rng` is a numpy generator of the trial.

    Parameters
    ----------
    loop
        The function. In a study and in `pool.compare` it can be given itself.

    Examples
    --------
    >>> from exml_sim import ParametricPool
    >>> def try_each(pull, budget, rng):
    ...     means = [pull(arm, int(budget) // 3) for arm in range(3)]
    ...     return rng.choice([arm for arm in range(3) if means[arm] == max(means)])
    >>> ParametricPool.bernoulli([0.1, 0.9, 0.2]).explore(PlainLoop(try_each), budget=60, rng=0).selected
    1
    """

    alignment = "sample"
    objective = "risk"
    ties = "random"
    #: Trials that run together: every pull of one trial costs time in proportion to all of them.
    block = 1

    def __init__(self, loop: Callable[[Any, Fraction, np.random.Generator], int]) -> None:
        if not is_plain_loop(loop):
            raise ValueError(f"a loop must be a function (pull, budget, rng) or (means, budget, rng), got {loop!r}")
        self.loop = loop
        self._wants_means = next(iter(inspect.signature(loop).parameters)) == "means"

    def __repr__(self) -> str:
        return f"PlainLoop({self.loop.__name__})"

    def first_round_cost(self, budget: Fraction, prices: Prices) -> Fraction:
        """Return the whole budget: what the loop buys first is not known."""
        return budget

    def explore(self, batch: TrialBatch) -> IntArray:
        """Run the loop of every trial, one after the other."""
        if batch.ties.trials.size != batch.ledger.trials:
            raise ValueError("a plain loop needs trials of its own: choose mode 'monte_carlo'")
        return np.array([[self._run_trial(batch, trial)] for trial in range(batch.ledger.trials)], dtype=np.int64)

    def _run_trial(self, batch: TrialBatch, trial: int) -> int:
        everyone = batch.active

        def pull(arm: int, times: int = 1) -> float:
            pulls = np.zeros_like(batch.pulls)
            pulls[trial, arm] = times
            batch.buy_pulls(pulls, fresh=True)
            batch.active = pulls > 0
            scores, _ = batch.score(fresh=True)
            batch.active = everyone
            return float(batch.arms.sign * scores.value[trial, arm])

        counter = np.array([0, 0, batch.ties.trials[trial], _ROUND], dtype=np.uint64)
        rng = np.random.Generator(np.random.Philox(key=batch.ties.key, counter=counter))
        place = f"the loop {self.loop.__name__!r}, trial {batch.ties.trials[trial]}, budget {show(batch.budget)}"
        try:
            selected: Any = self.loop(batch.arms.means() if self._wants_means else pull, batch.budget, rng)
        except Overspend as error:
            raise Overspend(f"{place}: {error}") from None
        except Exception as error:
            raise ValueError(f"{place}: {type(error).__name__}: {error}") from error
        n_arms = batch.pulls.shape[1]
        if isinstance(selected, bool) or not isinstance(selected, int | np.integer) or not 0 <= selected < n_arms:
            raise ValueError(f"{place}: it must return an arm, a whole number from 0 to {n_arms - 1}, got {selected!r}")
        return int(selected)
