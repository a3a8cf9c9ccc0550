"""Run a plain function over one trial as a strategy: slow, but as short as the algorithm."""

from __future__ import annotations

import inspect
from collections.abc import Callable
from fractions import Fraction
from typing import Any

import numpy as np

from exml_sim._internal.arrays import IntArray
from exml_sim.bandit.trial_batch import TrialBatch
from exml_sim.money import Prices
from exml_sim.seeds import Seeds

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
    ...     return means.index(max(means))
    >>> ParametricPool.bernoulli([0.1, 0.9, 0.2]).explore(PlainLoop(try_each), budget=60, rng=0).selected
    1
    """

    alignment = "sample"
    objective = "risk"
    ties = "random"
    #: A loop knows one trial only.
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
        """Run the loop of every trial."""
        if batch.ledger.trials != 1 or batch.ties.trials.size != 1:
            raise ValueError("a plain loop runs one trial at a time: choose mode 'monte_carlo' and block=1")
        everyone = batch.active

        def pull(arm: int, times: int = 1) -> float:
            pulls = np.zeros_like(batch.pulls)
            pulls[0, arm] = times
            batch.buy_pulls(pulls, fresh=True)
            batch.active = pulls > 0
            scores, _ = batch.score(lambda s: np.zeros(s.value.shape, dtype=np.bool_), fresh=True)
            batch.active = everyone
            return float(batch.arms.sign * scores.value[0, arm])

        seeds = Seeds(batch.ties.key, batch.ties.trials)
        counter = np.array([0, 0, seeds.trials[0], _ROUND], dtype=np.uint64)
        rng = np.random.Generator(np.random.Philox(key=seeds.key, counter=counter))
        given = batch.arms.means() if self._wants_means else pull
        return np.array([[int(self.loop(given, batch.budget, rng))]], dtype=np.int64)
