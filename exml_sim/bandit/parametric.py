"""Provide pools of arms with known distributions, to compare strategies with exact and textbook probabilities.

Pull j of arm i in a trial is a fixed random number, whatever the strategy does: two strategies from the
same seed see the same pulls. Lower means are better, as for scores of features.
"""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Sequence
from fractions import Fraction

import numpy as np

from exml_sim._internal.arrays import BoolArray, FloatArray, IntArray
from exml_sim._internal.compiled import kernel
from exml_sim._internal.validation import check_choice
from exml_sim.bandit._arms import (
    BaseArm,
    BernoulliArm,
    BoundedArm,
    CorrelatedArm,
    GaussianArm,
    JointArm,
    Pulls,
    RandomMeanArm,
)
from exml_sim.bandit._evidence import Evidence, ParametricEvidence
from exml_sim.bandit._ranking import Scores
from exml_sim.bandit.pool import Pool
from exml_sim.bandit.trial_batch import BASELINE_RISK, OBJECTIVES, ArmState, Payment
from exml_sim.money import Money, exact
from exml_sim.seeds import Seeds

__all__ = [
    "BernoulliArm",
    "BoundedArm",
    "CorrelatedArm",
    "GaussianArm",
    "JointArm",
    "ParametricPool",
    "ParametricState",
    "RandomInstancePool",
    "RandomMeanArm",
]


class _ArmPool(Pool):
    """Named arms that know how to add their pulls."""

    def __init__(self, arms: Sequence[BaseArm], names: Sequence[str] | None = None) -> None:
        self._arms = tuple(arms)
        if not self._arms:
            raise ValueError("a pool needs at least one arm, got none (K = 0)")
        self._names = tuple(names) if names is not None else tuple(f"arm {i}" for i in range(len(arms)))
        if len(self._names) != len(arms) or len(set(self._names)) != len(arms):
            raise ValueError(f"{len(arms)} arms need as many different names, got {self._names}")

    @property
    def names(self) -> tuple[str, ...]:
        """Names of the arms."""
        return self._names

    @property
    def costs(self) -> tuple[Fraction, ...]:
        """Exact costs."""
        return tuple(exact(arm.cost, "cost") for arm in self._arms)

    def open(self, seeds: Seeds) -> ParametricState:
        """Start N trials."""
        return ParametricState(self._arms, seeds)

    @property
    @abstractmethod
    def risks(self) -> FloatArray:
        """Means of the arms, shape (K,)."""


class ParametricPool(_ArmPool):
    """Arms with known distributions; an arm's score is the mean of its pulls, its risk the true mean.

    Parameters
    ----------
    arms
        The arms.
    names
        Names; `arm 0`, `arm 1`, … if not given.

    Examples
    --------
    >>> pool = ParametricPool.bernoulli([0.3, 0.5, 0.5])
    >>> pool.gaps.tolist(), pool.best_arms()
    ([0.0, 0.2, 0.2], (0,))
    """

    def __init__(self, arms: Sequence[BaseArm], names: Sequence[str] | None = None) -> None:
        for arm in arms:
            if not isinstance(arm, BaseArm) or isinstance(arm, RandomMeanArm):
                raise ValueError(f"an arm must be a BernoulliArm, GaussianArm or BoundedArm, got {arm!r}")
        super().__init__(arms, names)
        self.arms = self._arms

    @classmethod
    def bernoulli(cls, means: Sequence[float], costs: Sequence[Money] | None = None) -> ParametricPool:
        """Build a pool of Bernoulli arms with the given means, at unit cost unless costs are given."""
        prices = costs if costs is not None else [1] * len(means)
        if len(prices) != len(means):
            raise ValueError(f"{len(means)} means need as many costs, got {len(prices)}")
        return cls([BernoulliArm(mean, cost) for mean, cost in zip(means, prices, strict=True)])

    def __repr__(self) -> str:
        shown = ", ".join(f"{mean:g}" for mean in self.risks[:8])
        return f"<ParametricPool: {self.n_arms} arms, means {shown}{', …' if self.n_arms > 8 else ''}>"

    @property
    def risks(self) -> FloatArray:
        """True means, shape (K,)."""
        return np.array([arm.mean for arm in self.arms], dtype=np.float64)

    @property
    def gaps(self) -> FloatArray:
        """True gaps to the lowest mean, exactly 0 for the best arms, shape (K,)."""
        means = [arm.exact_mean for arm in self.arms]
        lowest = min(means)
        return np.array([float(mean - lowest) for mean in means])

    def best_arms(self, objective: str = "risk") -> tuple[int, ...]:
        """Arms that no other arm beats, by exact fractions."""
        check_choice(objective, "objective", OBJECTIVES)
        aim = [arm.exact_mean for arm in self.arms]
        if objective == "risk_per_cost":
            aim = [(mean - int(BASELINE_RISK)) / cost for mean, cost in zip(aim, self.costs, strict=True)]
        lowest = min(aim)
        return tuple(i for i, value in enumerate(aim) if value == lowest)


class RandomInstancePool(_ArmPool):
    """Arms with new means in every trial (the Bayesian setting); `outcomes` judges trial by trial."""

    def __init__(self, arms: Sequence[RandomMeanArm], names: Sequence[str] | None = None) -> None:
        super().__init__(arms, names)
        self.arms = tuple(arms)

    @property
    def risks(self) -> FloatArray:
        """Prior means, shape (K,)."""
        return np.array([(arm.low + arm.high) / 2.0 for arm in self.arms])

    def best_arms(self, objective: str = "risk") -> tuple[int, ...]:
        """All arms: each may be the best one of a trial."""
        return tuple(range(self.n_arms))

    def largest_regret(self, objective: str) -> float:
        """Largest simple regret that two arms can differ by."""
        ends = np.array([(arm.low, arm.high) for arm in self.arms])
        if objective == "risk_per_cost":
            ends = (ends - BASELINE_RISK) / np.array([[float(cost)] for cost in self.costs])
        return float(ends.max() - ends.min())

    def outcomes(self, seeds: Seeds, selected: IntArray, objective: str) -> tuple[BoolArray, FloatArray]:
        """Judge success and simple regret of every trial on the means that it drew."""
        aim = np.column_stack([arm.means(seeds.key, seeds.trials, i + 1) for i, arm in enumerate(self.arms)])
        if objective == "risk_per_cost":
            aim = (aim - BASELINE_RISK) / np.array([float(cost) for cost in self.costs])
        number = selected.shape[1]
        ranked = np.sort(aim, axis=1)
        chosen = np.take_along_axis(aim, selected, axis=1)
        success = np.asarray(chosen.max(axis=1) <= ranked[:, number - 1], dtype=np.bool_)
        return success, np.where(success, 0.0, chosen.mean(axis=1) - ranked[:, :number].mean(axis=1))


class ParametricState(ArmState):
    """Running sums of the pulls of N trials, in steps of each arm's grid."""

    levels = 1
    has_exact_scores = True

    def __init__(self, arms: Sequence[BaseArm], seeds: Seeds) -> None:
        self._arms = arms
        self._seeds = seeds
        self._grids = np.array([arm.grid for arm in arms], dtype=np.int64)[:, None]
        shape = (len(arms), len(seeds))
        # One line per arm: a kernel call then writes to memory that lies together.
        self._sums = np.zeros(shape)
        self._pulls = np.zeros(shape, dtype=np.int64)
        self._latest_sums = self._sums
        self._latest_pulls = self._pulls
        self._evidence: ParametricEvidence | None = None

    def pull(self, pulls: IntArray, fresh: bool, pay: Payment) -> IntArray:
        """Add the next pulls of every arm; arms are independent, so they are fresh to every round."""
        pay(pulls, pulls)
        wanted = np.ascontiguousarray(pulls.T)
        added = np.zeros_like(self._sums) if fresh else self._sums
        for i, arm in enumerate(self._arms):
            if wanted[i].any():
                span = Pulls(self._seeds.key, self._seeds.trials, np.uint64(i + 1), self._pulls[i], wanted[i])
                arm.add(span, added[i])
        self._pulls = self._pulls + wanted
        if fresh:
            self._sums = self._sums + added
        self._latest_sums, self._latest_pulls = added, wanted
        return pulls

    def score(self, wanted: BoolArray, fresh: bool, level: int) -> Scores:
        """Compute the means of the pulls; exact, so that the certificate has no width."""
        sums, pulls = (self._latest_sums, self._latest_pulls) if fresh else (self._sums, self._pulls)
        value = np.empty((sums.shape[1], sums.shape[0]))
        if not _average(sums, pulls, self._grids[:, 0], np.broadcast_to(wanted, value.shape), value):
            raise ValueError("an active arm has no pulls to score")
        return Scores(value, value, value)

    def evidence(self, leader: IntArray, asked: BoolArray, threshold: float, epsilon: float, limits: bool) -> Evidence:
        """Compute e-values that hold for every sample size and every strategy."""
        if self._evidence is None:
            self._evidence = ParametricEvidence.of(self._arms, len(self._seeds))
        sums = np.ascontiguousarray((self._sums / self._grids).T)
        pulls = np.ascontiguousarray(self._pulls.T)
        return self._evidence.update(sums, pulls, leader, asked, threshold, epsilon, limits)


@kernel
def _average(sums: FloatArray, pulls: IntArray, grids: IntArray, wanted: BoolArray, out: FloatArray) -> bool:
    """Write the means of the wanted arms, +inf elsewhere; return False if a wanted arm has no pulls."""
    for t in range(out.shape[0]):
        for arm in range(out.shape[1]):
            if not wanted[t, arm]:
                out[t, arm] = np.inf
                continue
            if pulls[arm, t] == 0:
                return False
            out[t, arm] = sums[arm, t] / (pulls[arm, t] * grids[arm])
    return True
