"""Targets about regrets just outside the affine regime: the corner family of `theory.claims.instances`.

Rows A = (1, 0), B = (-1, 0) and C = (0, 1), all labelled +1, Lambda = sqrt(2) (1 - 2 theta), against an arm without any
feature. C keeps the gap large, while the sign of the first coordinate follows the majority of A and B; a wrong majority
costs twice the tilt P(B) - P(A). The hunt searches the number of rows, the tilt and the share of C; delta is solved
for.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np
from scipy.stats import binom

from exml_sim.arrays import FloatArray
from simulations.falsify.axes import Numbers, axis, box
from simulations.falsify.judging import two_paths
from simulations.falsify.target import LOG_ZERO, Measured, Target, log, unmet
from simulations.falsify.targets.regrets import smallest_delta
from theory import corrected, paper
from theory.claims.instances import CORNER_R, CORNER_THETA, corner_flip, corner_gap, corner_regret

CORNERS = box(
    n=axis(100, 10**7, grid=None),
    tilt=axis("1/100000", "1/2", grid=None),
    third=axis("1/1000", "1/2", grid=None),
)
#: (n, tilt, third) -> P(A is the majority).
Flip = Callable[[int, float, float], float]


def _summed_flip(n: int, tilt: float, third: float) -> float:
    """P(N_A > N_B) once more, as a sum over the number of C in the sample."""
    share = 1 - third
    width = 10 * math.sqrt(n * share * third) + 2
    c = np.arange(max(0, int(n * third - width)), min(n, int(n * third + width)) + 1)
    wins = binom.sf((n - c) // 2, n - c, (share - tilt) / 2 / share)
    return float(np.sum(binom.pmf(c, n, third) * wins))


def _measured(one: Numbers, regret: Any, fail: Any, flip: Flip) -> Measured:
    n, tilt, third = one.integer("n"), float(one["tilt"]), float(one["third"])
    if tilt >= 1 - third:
        return unmet(50 + tilt)
    gap = corner_gap(tilt, third)
    point = (2 * n, 2, gap, CORNER_THETA, CORNER_R)
    log_fail = float(fail(*point, strict=False, log=True))
    if math.isnan(log_fail):
        return unmet(math.log1p((CORNER_R / gap) ** 2 / n))

    def bound(delta: FloatArray) -> FloatArray:
        return np.asarray(regret(*point, delta, strict=False))

    level = corner_regret(n, tilt, third)
    log_delta = smallest_delta(bound, level)
    if math.isnan(log_delta):
        return Measured(LOG_ZERO, 0.0, hint=level / float(bound(np.array([0.5]))[0]))
    return Measured(log(flip(n, tilt, third)), float(np.logaddexp(log_delta, log_fail)))


def _target(id: str, regret: Any, fail: Any, holds: bool) -> Target:
    fast, slow = (lambda one, flip=flip: _measured(one, regret, fail, flip) for flip in (corner_flip, _summed_flip))
    says = "P(the regret is above its bound at delta) <= delta + delta_fail, two arms, kappa Lambda = sqrt(2)"
    return two_paths(id, says, CORNERS, fast, slow, "sums over the third row", holds)


def targets() -> list[Target]:
    """All targets of the corner family."""
    return [
        _target("lemma-1-ii", paper.exploratory_regret_uniform, paper.delta_fail_uniform, False),
        _target("lemma-2-ii/corner", paper.exploratory_regret_median, paper.delta_fail_median, False),
        _target(
            "corrected.exploratory_regret_uniform/corner",
            corrected.exploratory_regret_uniform,
            corrected.delta_fail_uniform,
            True,
        ),
    ]
