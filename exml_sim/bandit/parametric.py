"""Plain arms with known distributions: the bench on which strategies meet exact and textbook probabilities.

Pull j of arm i in a trial is a fixed random number, whatever the strategy does: two strategies from the
same seed see the same pulls. Lower means are better, as for scores of features.
"""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction
from typing import Any

import numpy as np

from exml_sim.arrays import BoolArray, FloatArray, IntArray
from exml_sim.bandit.arms import BernoulliArm, BoundedArm, GaussianArm
from exml_sim.bandit.correlated import CorrelatedArm, JointArm
from exml_sim.bandit.evidence import Evidence, KnownEvidence, known_evidence
from exml_sim.bandit.pool import Pool
from exml_sim.bandit.ranking import Scores
from exml_sim.bandit.trial_batch import BASELINE_RISK, OBJECTIVES, ArmState
from exml_sim.compiled import kernel
from exml_sim.money import Money, exact
from exml_sim.seeds import Seeds
from exml_sim.validation import check_choice

__all__ = ["BernoulliArm", "BoundedArm", "GaussianArm", "KnownArm", "KnownSession", "ParametricPool"]

KnownArm = BernoulliArm | GaussianArm | BoundedArm | CorrelatedArm | JointArm


class ParametricPool(Pool):
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

    def __init__(self, arms: Sequence[KnownArm], names: Sequence[str] | None = None) -> None:
        self.arms = tuple(arms)
        if not self.arms:
            raise ValueError("a pool needs at least one arm, got none (K = 0)")
        for arm in self.arms:
            if not isinstance(arm, KnownArm):
                raise ValueError(f"an arm must be a BernoulliArm, GaussianArm or BoundedArm, got {arm!r}")
        self._names = tuple(names) if names is not None else tuple(f"arm {i}" for i in range(len(arms)))
        if len(self._names) != len(arms) or len(set(self._names)) != len(arms):
            raise ValueError(f"{len(arms)} arms need as many different names, got {self._names}")

    @classmethod
    def bernoulli(cls, means: Sequence[float], costs: Sequence[Money] | None = None) -> ParametricPool:
        """Bernoulli arms with the given means, at unit cost unless costs are given."""
        prices = costs if costs is not None else [1] * len(means)
        if len(prices) != len(means):
            raise ValueError(f"{len(means)} means need as many costs, got {len(prices)}")
        return cls([BernoulliArm(mean, cost) for mean, cost in zip(means, prices, strict=True)])

    def __repr__(self) -> str:
        shown = ", ".join(f"{mean:g}" for mean in self.risks[:8])
        return f"<ParametricPool: {self.n_arms} arms, means {shown}{', …' if self.n_arms > 8 else ''}>"

    @property
    def names(self) -> tuple[str, ...]:
        """Names of the arms."""
        return self._names

    @property
    def costs(self) -> tuple[Fraction, ...]:
        """Exact costs."""
        return tuple(exact(arm.cost, "cost") for arm in self.arms)

    @property
    def risks(self) -> FloatArray:
        """True means, shape (K,)."""
        return np.array([arm.mean for arm in self.arms], dtype=np.float64)

    @property
    def gaps(self) -> FloatArray:
        """True gaps to the lowest mean, exactly 0 on the best set, shape (K,)."""
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

    def open(self, seeds: Seeds) -> KnownSession:
        """Start N trials."""
        return KnownSession(self.arms, seeds)


class KnownSession(ArmState):
    """Running sums of the pulls of N trials, in steps of each arm's grid."""

    levels = 1
    has_exact_scores = True

    def __init__(self, arms: Sequence[Any], seeds: Seeds) -> None:
        self._arms = arms
        self._seeds = seeds
        self._grids = np.array([arm.grid for arm in arms], dtype=np.int64)[:, None]
        shape = (len(arms), len(seeds))
        # One line per arm: a kernel call then writes to memory that lies together.
        self._sums = np.zeros(shape)
        self._pulls = np.zeros(shape, dtype=np.int64)
        self._latest_sums = self._sums
        self._latest_pulls = self._pulls
        self._evidence: KnownEvidence | None = None

    def grant(self, pulls: IntArray, fresh: bool) -> IntArray:
        """Pulls of a distribution never run out."""
        return pulls

    def draw(self, pulls: IntArray, fresh: bool) -> None:
        """Add the next pulls of every arm; arms are independent, so they are fresh to everyone."""
        wanted = np.ascontiguousarray(pulls.T)
        added = np.zeros_like(self._sums) if fresh else self._sums
        for substream, arm in enumerate(self._arms):
            if wanted[substream].any():
                arm.add(
                    self._seeds.key,
                    self._seeds.trials,
                    substream + 1,
                    self._pulls[substream],
                    wanted[substream],
                    added[substream],
                )
        self._pulls = self._pulls + wanted
        if fresh:
            self._sums = self._sums + added
        self._latest_sums, self._latest_pulls = added, wanted

    def score(self, wanted: BoolArray, fresh: bool, level: int) -> Scores:
        """Means of the pulls; exact, so that the certificate has no width."""
        sums, pulls = (self._latest_sums, self._latest_pulls) if fresh else (self._sums, self._pulls)
        value = np.empty((sums.shape[1], sums.shape[0]))
        if not _means(sums, pulls, self._grids[:, 0], np.broadcast_to(wanted, value.shape), value):
            raise ValueError("an active arm has no pulls to score")
        return Scores(value, value, value)

    def counts(self) -> None:
        """Plain arms have no rows."""
        return

    def evidence(self, leader: IntArray, asked: BoolArray, threshold: float, epsilon: float, limits: bool) -> Evidence:
        """E-values that hold for every sample size and every rule."""
        if self._evidence is None:
            self._evidence = known_evidence(self._arms, len(self._seeds))
        sums = np.ascontiguousarray((self._sums / self._grids).T)
        pulls = np.ascontiguousarray(self._pulls.T)
        return self._evidence.of(sums, pulls, leader, asked, threshold, epsilon, limits)


@kernel
def _means(sums: FloatArray, pulls: IntArray, grids: IntArray, wanted: BoolArray, out: FloatArray) -> bool:
    """Means of the wanted arms, +inf elsewhere, one line per trial; False if one of them has no pulls."""
    for t in range(out.shape[0]):
        for arm in range(out.shape[1]):
            if not wanted[t, arm]:
                out[t, arm] = np.inf
                continue
            if pulls[arm, t] == 0:
                return False
            out[t, arm] = sums[arm, t] / (pulls[arm, t] * grids[arm])
    return True
