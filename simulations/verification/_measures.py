r"""Statistics of a trial, from the rows it bought: regrets, deviations, suprema.

In the affine regime (kappa Lambda <= 1 - 2 theta) the loss on the ball is 1 + (g - y h)/2, so with counts k of bought
rows, n = sum k and the Gram matrix G of an arm the minimisers are h = Lambda sum k y Phi / q_h and
g = -Lambda sum k Phi / q_g with q_h^2 = (k y)' G (k y) and q_g^2 = k' G k, and

.. math::
    V = 1 - \frac{\Lambda}{2n}(q_h + q_g), \qquad
    \hat R_{tr}(\hat f) = 1 - \frac{\Lambda}{2m}\Big(\frac{(ky)'Gy}{q_h} + \frac{k'G1}{q_g}\Big).

Where a norm is zero every function of the ball has the same empirical risk and the zero function is taken.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from exml_sim._internal.arrays import BoolArray, FloatArray
from exml_sim.bandit.rows import FeatureArm, FeaturePool

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

    def rejection_risk(self, model: FloatArray) -> FloatArray:
        """Expected repaired 0/1 loss (Eq. 1) of the learned model over the population."""
        h = (model * self.y) @ self.gram
        g = -(model @ self.gram)
        return np.asarray(_loss(h, g, self.y, self.theta).mean(axis=1))


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

    @property
    def missed(self) -> BoolArray:
        """Whether the selected arm is not a best arm."""
        return np.asarray(~np.isin(self.selected, self.pool.best_arms()))


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


def _on_arm(index: int, measure: Callable[[AffineArm, FloatArray], FloatArray]) -> Callable[[Bought], FloatArray]:
    """A measure of one arm and the counts of its bought rows."""
    return lambda bought: np.asarray(measure(AffineArm.of(bought.pool, index), bought.arm(index)))


#: Statistic -> one number per trial; a trial fails when the number exceeds what the claim allows.
MEASURED: Mapping[str, Callable[[Bought], FloatArray]] = {
    "regret": regret,
    "selection regret": selection_regret,
    # Risk of the first arm's learned model on the population less that on its rows (A.4 term (a), A.6).
    "learned deviation": _on_arm(0, lambda arm, counts: arm.risk(counts, arm.ones) - arm.score(counts)),
    # Risk of the first arm's best model on the bought rows less that on the population (A.4 (c), A.2 (d)).
    "fixed deviation": _on_arm(0, lambda arm, counts: arm.risk(arm.ones, counts) - arm.score(arm.ones)),
    # R_2 - V_2: how much better the second arm looks than it is (A.6 term (a)).
    "optimism": _on_arm(1, lambda arm, counts: arm.score(arm.ones) - arm.score(counts)),
    # V_1 - R_1: how much worse the first arm looks than it is (A.6 term (b)).
    "pessimism": _on_arm(0, lambda arm, counts: arm.score(counts) - arm.score(arm.ones)),
    "any model": any_model,
    # Expected 0/1 risk of the first arm's learned model less its surrogate risk on the rows (A.2 term (a)).
    "learned risk": _on_arm(0, lambda arm, counts: arm.rejection_risk(counts) - arm.score(counts)),
    # Excess risk of the learned model of the known best arm (Eq. 6), less the approximation error R_ap.
    "supervised": _on_arm(0, lambda arm, counts: arm.rejection_risk(counts) - arm.score(arm.ones)),
}
