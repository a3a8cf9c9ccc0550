"""Theorem 8: the score that Eq. 3 really minimises. Re-exported by :mod:`theory.tighter`."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike

from theory import _inputs, _loss_constants
from theory._inputs import Bound, Floats, Ints
from theory._instance import CEILING_TOLERANCE, loss_parameters
from theory._pulls import uniform_pulls
from theory.errors import Assumptions

__all__ = ["delta_fail_uniform_regularised", "lemma_4_regularised"]


def lemma_4_regularised(
    n: ArrayLike,
    gap: ArrayLike,
    theta: ArrayLike,
    kappa: ArrayLike,
    *,
    C_h: ArrayLike,
    C_g: ArrayLike,
    strict: bool = True,
    log: bool = False,
) -> Bound:
    """Theorem 8: P[S_i <= S_1] <= exp(-n (Delta_i - beta)^2 / (2 D^2)) for the score of Eq. 3,

    S_i = min_f {mean loss + C_h |h|^2 + C_g |g|^2} and gaps of the same objective on all rows, with

    beta = (kappa^2 / n) max{1 / (16 C_h) + 1 / (16 C_g), b^2 / (4 C_g)}

    and D the range of the loss over |h| <= kappa^2 / (4 C_h), |g| <= kappa^2 max(1/2, b) / (2 C_g).
    The pairs of rows are independent across draws, as for ``pairing="same"``.
    """
    rows = _inputs.whole(n, "n", least=0)
    score = _score(rows, gap, theta, kappa, C_h, C_g, strict=strict)
    return _inputs.from_log(score.check.mask(score.log_beaten()), log=log)


def delta_fail_uniform_regularised(
    B: ArrayLike,
    K: ArrayLike,
    gap: ArrayLike,
    theta: ArrayLike,
    kappa: ArrayLike,
    *,
    C_h: ArrayLike,
    C_g: ArrayLike,
    strict: bool = True,
    log: bool = False,
) -> Bound:
    """Theorem 8 summed over the K - 1 other arms: uniform allocation with the score of Eq. 3."""
    arms = _inputs.whole(K, "K", least=2)
    score = _score(uniform_pulls(B, arms), gap, theta, kappa, C_h, C_g, strict=strict)
    return _inputs.from_log(score.check.mask(np.asarray(np.log(arms - 1.0) + score.log_beaten())), log=log)


@dataclass(frozen=True, slots=True)
class _Score:
    rows: Floats
    margin: Floats
    moved: Floats
    check: Assumptions

    def log_beaten(self) -> Floats:
        return np.asarray(-self.rows * (np.maximum(self.margin, 0.0) / self.moved) ** 2 / 2)


def _score(
    n: Ints,
    gap: ArrayLike,
    theta: ArrayLike,
    kappa: ArrayLike,
    C_h: ArrayLike,
    C_g: ArrayLike,
    *,
    strict: bool,
) -> _Score:
    gap_ = _inputs.real(gap, "gap")
    penalty_h, penalty_g = _penalty(C_h, "C_h"), _penalty(C_g, "C_g")
    theta_, kappa_, check = loss_parameters(theta, kappa, strict=strict, gap=gap_, n=n)
    square, steep = kappa_**2, np.maximum(0.5, _loss_constants.slope(theta_))
    affine = square / 16 * (1 / penalty_h + 1 / penalty_g)
    check.require("gap > 0", gap_)
    check.require(
        "gap <= min(1, kappa^2 (1/C_h + 1/C_g) / 16)",
        np.minimum(1.0, affine) * (1 + CEILING_TOLERANCE) - gap_,
        strictly=False,
    )
    check.require("at least one row per arm", n)
    rows = np.maximum(n, 1).astype(np.float64)
    beta = np.maximum(affine, _loss_constants.slope(theta_) ** 2 * square / (4 * penalty_g)) / rows
    check.require("launch condition gap > optimism of the rival arm", gap_ - beta)
    moved = _loss_constants.spread(theta_, square / (4 * penalty_h), square * steep / (2 * penalty_g))
    return _Score(rows, np.asarray(gap_ - beta), np.maximum(moved, np.finfo(float).tiny), check)


def _penalty(value: ArrayLike, name: str) -> Floats:
    penalty = _inputs.positive(value, name)
    if np.any(penalty == 0):
        raise ValueError(f"{name} must be positive, got 0")
    return penalty
