r"""What each version of a claim guarantees on the named pools, and how the statistic of a trial is measured.

A guarantee is P(statistic > limit) <= probability. The versions are the statement as printed (`theory.paper`),
corrected (`theory.corrected`), and our theorem where there is one (`theory.tighter`). A probability that is nan
(assumptions unmet) or at least 1 guarantees nothing.

Statistics of a trial are computed from the rows it bought. In the affine regime (kappa Lambda <= 1 - 2 theta) the loss
on the ball is 1 + (g - y h)/2. With counts k of bought rows, n = sum k and the Gram matrix G of an arm, the minimisers
are h = Lambda sum k y Phi / q_h and g = -Lambda sum k Phi / q_g with q_h^2 = (k y)' G (k y) and q_g^2 = k' G k, and

.. math::
    V = 1 - \frac{\Lambda}{2n}(q_h + q_g), \qquad
    \hat R_{tr}(\hat f) = 1 - \frac{\Lambda}{2m}\Big(\frac{(ky)'Gy}{q_h} + \frac{k'G1}{q_g}\Big).

Where a norm is zero every function of the ball has the same empirical risk and the zero function is taken.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, replace
from functools import cached_property, lru_cache
from typing import Any, Literal, get_args

import numpy as np
from numpy.typing import NDArray

from exml_sim._internal.arrays import FloatArray
from exml_sim.bandit.rows import FeatureArm, FeaturePool
from exml_sim.engine._specs import Budgets, StrategySpec
from exml_sim.engine.study import Study
from simulations._pool_bounds import atom_pool, ball_score
from theory import BoundProblem, corrected, paper, tighter
from theory.claims._instances import POOLS
from theory.exact import AffinePool
from theory.formulas import loss_range
from theory.paper import Strategy

#: The version of a bound that is tested, a name of `theory.versions`.
Reading = Literal["paper", "corrected", "tighter"]
READINGS: tuple[Reading, ...] = get_args(Reading)
StrategyName = Literal["uniform", "median-fresh", "median-accumulated"]
STRATEGIES: Mapping[str, StrategySpec] = {
    "uniform": StrategySpec("uniform_allocation", (("ties", "lowest"),)),
    "median-fresh": StrategySpec("median_elimination", (("accumulate", False), ("ties", "lowest"))),
    "median-accumulated": StrategySpec("median_elimination", (("accumulate", True), ("ties", "lowest"))),
}


@dataclass(frozen=True)
class ClaimPool:
    """A named pool with the parameters of bounds.

    Attributes
    ----------
    name : str
        Name in `theory.claims._instances.POOLS`; with "#1,3" after it only arms 1 and 3 are kept.
    pool : AffinePool
        Atoms, features, radius and theta as fractions.
    """

    name: str
    pool: AffinePool

    @property
    def K(self) -> int:
        """Number of arms."""
        return self.pool.arms

    @cached_property
    def problem(self) -> BoundProblem:
        """What the bounds know of the pool; its first arm is a best one."""
        gaps = tuple(float(gap) for gap in self.pool.gaps()[1:])
        return BoundProblem(self.K, None, float(self.pool.theta), float(self.pool.kappa_lambda), gaps=gaps)

    def study(self, name: str, strategies: Iterable[str], budgets: Iterable[int], trials: int, seed: int) -> Study:
        """Build the study of strategies (names of `STRATEGIES`) at budgets on this pool."""
        return Study(
            name=name,
            pools=(atom_pool(self.pool, self.name),),
            scores=(ball_score(self.pool),),
            strategies=tuple(STRATEGIES[strategy] for strategy in strategies),
            budgets=Budgets(absolute=tuple(str(budget) for budget in budgets)),
            trials=trials,
            seed=seed,
        )


@lru_cache(maxsize=64)
def get_pool(name: str) -> ClaimPool:
    """Build the pool of a name; the first arm must be a best arm.

    Examples
    --------
    >>> get_pool("star-3").problem.gap
    0.32
    >>> get_pool("star-3#0,2").K
    2
    """
    base, _, kept = name.partition("#")
    if base not in POOLS:
        raise ValueError(f"there is no pool {base!r}; there are {', '.join(sorted(POOLS))}")
    pool = POOLS[base]()
    if kept:
        features = tuple(pool.features[int(arm)] for arm in kept.split(","))
        pool = AffinePool(pool.weights, pool.labels, features, pool.radius, pool.theta)
    if 0 not in pool.best():
        raise ValueError(f"the first arm of {name!r} is not a best arm, as the paper's lemmas assume")
    return ClaimPool(name, pool)


@dataclass(frozen=True, slots=True)
class Guarantee:
    """P(statistic > limit) <= probability; without a limit the statistic itself is an event."""

    probability: float
    limit: float | None = None


@dataclass(frozen=True, slots=True)
class Case:
    """A version of a claim about a strategy on a pool, with a budget and a level delta."""

    reading: Reading
    pool: ClaimPool
    strategy: StrategyName
    budget: int
    delta: float

    @property
    def n(self) -> int:
        """Rows per arm of uniform allocation."""
        return self.budget // self.pool.K

    @property
    def module(self) -> Any:
        """The module of `theory` with the bounds of the version."""
        return {"paper": paper, "corrected": corrected, "tighter": tighter}[self.reading]

    @property
    def failure_probability(self) -> float:
        """delta_fail of Lemma 1 (i) or 2 (i), corrected, or of Theorem 3 or 4; nan where it does not apply."""
        rows: Any = "fresh" if self.strategy == "median-fresh" else "accumulated"
        kind: Strategy = "uniform" if self.strategy == "uniform" else "median"
        return float(replace(self.pool.problem, rows=rows).bound(self.reading, kind, self.budget))


#: What a version guarantees in a case; None where the version is not about this claim.
GuaranteeFunction = Callable[[Case], Guarantee | None]


def identification(case: Case) -> Guarantee:
    """Lemmas 1 (i) and 2 (i): the best arm is missed with probability at most delta_fail."""
    return Guarantee(case.failure_probability)


def pairwise(case: Case) -> Guarantee:
    """Lemma 4: a worse arm scores better than the best with at most this probability (two arms, n = B/2 rows)."""
    at = case.pool.problem
    return Guarantee(float(case.module.lemma_4(case.n, at.gap, at.theta, at.kappa_lambda, strict=False)))


def uniform_regret(case: Case) -> Guarantee:
    """Lemma 1 (ii): regret above the limit with probability at most delta + delta_fail; ours has no delta_fail."""
    if case.reading == "tighter":
        at = case.pool.problem
        limit = tighter.exploratory_regret_uniform(case.budget, at.K, at.theta, at.kappa_lambda, case.delta)
        return Guarantee(case.delta, float(limit))
    return _regret(case, "exploratory_regret_uniform")


def median_regret(case: Case) -> Guarantee | None:
    """Lemma 2 (ii), with accumulated rows as in Algorithm 1."""
    if case.reading == "tighter" or case.strategy != "median-accumulated":
        return None
    return _regret(case, "exploratory_regret_median")


def _regret(case: Case, name: str) -> Guarantee:
    at, function = case.pool.problem, getattr(case.module, name)
    options = {} if case.reading == "paper" else {"best_count": at.best_count}
    limit = function(case.budget, at.K, at.gap, at.theta, at.kappa_lambda, case.delta, strict=False, **options)
    return Guarantee(case.delta + case.failure_probability, float(limit))


def selection(case: Case) -> Guarantee | None:
    """Theorem 6 (iv) and (v): the selected arm is worse than the best by more than the limit."""
    if case.reading != "tighter" or case.strategy == "median-accumulated":
        return None
    kind = "uniform" if case.strategy == "uniform" else "median"
    bound: Any = getattr(tighter, f"selection_regret_{kind}")
    at = case.pool.problem
    return Guarantee(case.delta, float(bound(case.budget, at.K, at.theta, at.kappa_lambda, case.delta)))


def generalisation(case: Case) -> Guarantee | None:
    """Lemma 3: 2 c r / sqrt n + sqrt(log(1/delta) / 2n)."""
    if case.reading != "paper":
        return None
    at = case.pool.problem
    return Guarantee(case.delta, float(paper.lemma_3(case.n, at.theta, at.kappa_lambda, case.delta)))


def fixed_deviation(case: Case) -> Guarantee | None:
    """Term (c) of A.4 and term (d) of A.2 at level delta/2; corrected: M sqrt(log(2/delta) / 2n)."""
    if case.reading == "tighter":
        return None
    half, at = case.delta / 2, case.pool.problem
    if case.reading == "paper":
        return Guarantee(half, float(paper.lemma_3(case.n, at.theta, at.kappa_lambda, half)))
    return Guarantee(half, float(loss_range(at.theta, at.kappa_lambda)) * math.sqrt(math.log(1 / half) / (2 * case.n)))


def out_of_reach(case: Case) -> Guarantee | None:
    """Remark 5: below the launch budget the best arm is found with probability at most 0.95."""
    return Guarantee(0.95) if case.reading == "paper" else None


Counts = NDArray[np.integer]


@dataclass(frozen=True, eq=False)
class AffineArm:
    """One arm of a pool in the affine regime: models learned from counts, and their risks.

    Attributes
    ----------
    gram : array (m, m)
    y : array (m,)
    radius, theta : float
    """

    gram: FloatArray
    y: FloatArray
    radius: float
    theta: float

    @classmethod
    def of(cls, pool: FeaturePool, arm: int) -> AffineArm:
        """One arm of a pool; raises where the loss is not affine on the ball."""
        feature_arm = pool.arms[arm]
        if not isinstance(feature_arm, FeatureArm) or pool.scoring.ball is None or feature_arm.levels != 1:
            raise ValueError(f"arm {arm} is not in the affine regime kappa Lambda <= 1 - 2 theta of the ball score")
        y = np.asarray(pool.population.y, dtype=np.float64)
        return cls(feature_arm.gram, y, float(pool.scoring.ball), float(pool.scoring.theta))

    @cached_property
    def ones(self) -> FloatArray:
        """Every row once."""
        return np.ones((1, self.y.size))

    def norms(self, counts: FloatArray) -> tuple[FloatArray, FloatArray]:
        """q_h and q_g of every line of counts."""
        signed = counts * self.y
        squares = [np.einsum("ti,ij,tj->t", part, self.gram, part, optimize=True) for part in (signed, counts)]
        return np.sqrt(np.maximum(squares[0], 0.0)), np.sqrt(np.maximum(squares[1], 0.0))

    def score(self, counts: FloatArray) -> FloatArray:
        """V, the risk of the learned model on its own rows (Eq. 5 at the ball minimiser)."""
        h, g = self.norms(counts)
        return np.asarray(1.0 - self.radius / 2.0 * (h + g) / counts.sum(axis=1))

    def risk(self, model: FloatArray, sample: FloatArray) -> FloatArray:
        """Mean surrogate loss, on the rows counted by ``sample``, of the model learned from ``model``.

        Both have one line per trial, or one line for all.
        """
        h, g = self.norms(model)
        signed = np.sum(((model * self.y) @ self.gram) * (sample * self.y), axis=1)
        plain = np.sum((model @ self.gram) * sample, axis=1)
        total = _divide(signed, h) + _divide(plain, g)
        return np.asarray(1.0 - self.radius / 2.0 * total / sample.sum(axis=1))


def supremum(affine: AffineArm, feature: FloatArray, counts: FloatArray) -> FloatArray:
    """sup over the ball of R(f) - surrogate risk on the counted rows (Lemma 3), for one scalar feature.

    h = a x and g = b x with a and b in [-Lambda, Lambda]. The 0/1 risk depends on the signs of a and b only, and the
    empirical risk is affine in them, so the supremum is the largest of nine, one for every pair of signs.
    """
    n = counts.sum(axis=1)
    signed, plain = (counts * affine.y) @ feature / n, counts @ feature / n
    best = np.full(counts.shape[0], -np.inf)
    for a in (-1.0, 0.0, 1.0):
        for b in (-1.0, 0.0, 1.0):
            risk = float(_loss(a * feature, b * feature, affine.y, affine.theta).mean())
            gain = np.maximum(a * signed, 0.0) + np.maximum(-b * plain, 0.0)
            best = np.maximum(best, risk - 1.0 + affine.radius / 2.0 * gain)
    return best


def _loss(h: FloatArray, g: FloatArray, y: FloatArray, theta: float) -> FloatArray:
    """The repaired Eq. 1 with signs that survive rounding: values within 1e-12 of zero are zero."""
    flat_h, flat_g = np.where(np.abs(h) < 1e-12, 0.0, h), np.where(np.abs(g) < 1e-12, 0.0, g)
    return np.asarray(np.where(flat_g > 0, np.where(y * flat_h <= 0, 1.0, 0.0), theta))


def _divide(above: FloatArray, below: FloatArray) -> FloatArray:
    return np.asarray(np.divide(above, below, out=np.zeros_like(above), where=below > 1e-12))


@dataclass(frozen=True, eq=False)
class Bought:
    """Outcome of the trials of a cell: the selected arms and the rows bought for every arm.

    Attributes
    ----------
    pool : FeaturePool
    selected : array (trials,)
    counts : array (trials, K, m)
    """

    pool: FeaturePool
    selected: NDArray[np.integer]
    counts: Counts

    def arm(self, index: int) -> FloatArray:
        """Counts of one arm."""
        return np.asarray(self.counts[:, index], dtype=np.float64)


def regret(bought: Bought) -> FloatArray:
    """Exploratory regret (Lemmas 1 (ii) and 2 (ii)): risk on the population of the returned model, less R_1."""
    risks = np.empty(bought.selected.size)
    for arm in np.unique(bought.selected):
        affine, where = AffineArm.of(bought.pool, int(arm)), bought.selected == arm
        risks[where] = affine.risk(bought.arm(int(arm))[where], affine.ones)
    return np.asarray(risks - bought.pool.risks.min())


def selection_regret(bought: Bought) -> FloatArray:
    """R_is - R_1: how much worse the selected arm is than the best (Theorem 6 (iv) and (v))."""
    return np.asarray(bought.pool.gaps[bought.selected])


def any_model(bought: Bought) -> FloatArray:
    """Lemma 3 on the first arm's rows: the largest R(f) less surrogate risk over all models of the ball."""
    candidate = bought.pool.population.candidates[0]
    feature = np.asarray(candidate.values, dtype=np.float64).ravel()
    return supremum(AffineArm.of(bought.pool, 0), feature, bought.arm(0))


def fixed_deviation_of(bought: Bought) -> FloatArray:
    """Risk of the first arm's best model on the bought rows less that on the population (A.4 (c), A.2 (d))."""
    arm = AffineArm.of(bought.pool, 0)
    return np.asarray(arm.risk(arm.ones, bought.arm(0)) - arm.score(arm.ones))


#: Statistic -> one number per trial; a trial fails when the number exceeds what the claim allows.
MEASURED: Mapping[str, Callable[[Bought], FloatArray]] = {
    "regret": regret,
    "selection regret": selection_regret,
    "any model": any_model,
    "fixed deviation": fixed_deviation_of,
}
