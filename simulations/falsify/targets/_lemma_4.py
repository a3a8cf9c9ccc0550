"""Targets about Lemma 4 outside the affine regime: kappa without the root, and large balls.

The *exchangeable* family: all labels are +1, and any two rows of an arm have the same similarity rho, so that its
kernel is kappa^2 ((1 - rho) I + rho 11'). By convexity a minimiser on n distinct rows takes one value t of h and one
value s of g on all of them; a constant function of value t costs the norm t / (kappa sqrt(rho + (1 - rho) / n)), so

    V = min {l(t, s): |t|, |s| <= a} = inf l at the radius a = kappa Lambda sqrt(rho + (1 - rho) / n),

for every Lambda. Rows are drawn without replacement, so the score is a fixed number, and a comparison has probability 0
or 1. With rho = 0 every row has a direction of its own and can be fitted alone; with rho = 1 the arm is constant.

The *outlier* family: phi = -1 with probability p (arm 1) or q (arm 2), on disjoint rows, and 1 / r elsewhere; see
`theory.claims._instances`. One point of the sample space bounds P[V_2 < V_1] from below.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

from simulations.falsify._spaces import Numbers, axis, box
from simulations.falsify._target import LOG_ZERO, Measured, Target, build_exact_target, log, unmet
from theory import corrected, paper, tighter
from theory.claims._exact_losses import surrogate
from theory.claims._instances import outlier_beats, outlier_gap
from theory.constants import loss_inf, rademacher_constant

LogBound = Callable[..., Any]
_GAMMA_ROUNDING = 1e-14
_SCALE = axis("1/100000", 100, grid=None)

EXCHANGEABLE = box(
    kappa1=_SCALE,
    kappa2=_SCALE,
    rho1=axis("1/1000000000000", 1, grid=None),
    rho2=axis("1/1000000000000", 1, grid=None),
    radius=axis("1/100", 10**7, grid=None),
    theta=axis("1/50", "24/50", grid=50),
    n=axis(1, 10**6, grid=None),
    m=axis(2, 10**9, grid=None),
)
OUTLIERS = box(
    r=axis(1, 30, grid=2),
    theta=axis("1/1000000000000", "1/100", grid=None, digits=1),
    n=axis(100, 10**11, grid=None, digits=3),
    p=axis("1/1000", "2/5", grid=None, digits=3),
    more=axis("1/1000", 1, grid=None, digits=3),
)


def exchangeable_score(kappa: float, radius: float, rho: float, theta: float, n: int) -> float:
    """V of an exchangeable arm on n distinct rows."""
    return float(loss_inf(theta, kappa * radius * math.sqrt(rho + (1 - rho) / n)))


def _grid_score(kappa: float, radius: float, rho: float, theta: float, n: int) -> float:
    """The same by minimising Eq. 2 over a fine grid of (t, s): the independent path of the confirmation."""
    reach = kappa * radius * math.sqrt(rho + (1 - rho) / n)
    # Beyond 3 - 2 theta the loss is 0, reached at t = 3 - 2 theta, s = 1 - 2 theta.
    reach = min(reach, 3 - 2 * theta)
    steps = [reach * k / 400 for k in range(-400, 401)]
    corner = min(reach, max(-reach, (1 - 2 * theta) * (reach - 2 * (1 - theta))))
    return min(float(surrogate(reach, s, 1, theta)) for s in (*steps, corner))


def _exchangeable(instance: Numbers, bound: LogBound, power: int, score: Callable[..., float]) -> Measured:
    """P[V_2 < V_1] against a bound that is given (sup K)^(power / 2) as kappa."""
    theta, radius, n, m = (
        float(instance["theta"]),
        float(instance["radius"]),
        instance.integer("n"),
        instance.integer("m"),
    )
    arms = [(float(instance[f"kappa{i}"]), radius, float(instance[f"rho{i}"]), theta) for i in (1, 2)]
    if n > m:
        return unmet(math.log(n / m) + 50)
    risks = [score(*arm, m) for arm in arms]
    gap = risks[1] - risks[0]
    if gap <= 1e-9:
        return unmet(40 + min(abs(gap), 1.0) + 1.0)
    r = max(arm[0] for arm in arms) ** power * radius
    log_bound = float(bound(n, gap, theta, r, strict=False, log=True))
    if math.isnan(log_bound):
        short = math.log1p((float(rademacher_constant(theta)) * r / gap) ** 2 / n)
        return unmet(short + math.log1p(max(gap / r - 1, 0.0)))
    scores = [score(*arm, n) for arm in arms]
    lead = scores[0] - scores[1]
    if lead <= 1e-9:
        return Measured(LOG_ZERO, log_bound, hint=lead / gap)
    return Measured(0.0, log_bound)


def _kappa_target(id: str, says: str, bound: LogBound, power: int, holds: bool) -> Target:
    fast, slow = (
        lambda instance, score=score: _exchangeable(instance, bound, power, score)
        for score in (exchangeable_score, _grid_score)
    )
    return build_exact_target(id, says, EXCHANGEABLE, fast, slow, "Eq. 2 minimised on a grid", holds)


def _outlier_case(instance: Numbers) -> dict[str, float | int]:
    """The instance with the most likely counts at which the second arm wins."""
    r, theta, n, p = float(instance["r"]), float(instance["theta"]), instance.integer("n"), float(instance["p"])
    q = p * (1 + float(instance["more"]))
    # Given N_1 = N_2, their common share is likeliest at sqrt(p q) / (1 - p - q + 2 sqrt(p q)).
    root = math.sqrt(p * q)
    second = int(n * root / (1 - p - q + 2 * root)) if p + q < 1 else 0
    slack = math.ceil(n * (theta + theta / (1 - 2 * theta)) / (1 + r)) + 1
    return {"r": r, "theta": theta, "n": n, "first": second + slack, "second": second, "p": p, "q": q}


def _outliers(instance: Numbers, bound: LogBound, shift: int) -> Measured:
    case = _outlier_case(instance)
    r, theta, n, p, q = (float(case[name]) for name in ("r", "theta", "n", "p", "q"))
    case["first"], case["second"] = int(case["first"]) + shift, int(case["second"]) + shift
    if q * (1 + r) > 1 or p + q >= 1:
        return unmet(20 + q * (1 + r))
    gap = outlier_gap(r, theta, p, q)
    if gap <= 0:
        return unmet(10 - gap)
    log_bound = float(bound(int(n), gap, theta, r, strict=False, log=True))
    if math.isnan(log_bound):
        return unmet(math.log1p((float(rademacher_constant(theta)) * r / gap) ** 2 / n))
    log_beats = outlier_beats(**case)  # type: ignore[arg-type]
    if math.isinf(log_beats):
        return Measured(LOG_ZERO, log_bound, hint=-log(theta))
    # The log-factorials of n are sums near n log n; their rounding is taken off, never added.
    return Measured(log_beats - _GAMMA_ROUNDING * n * math.log(n), log_bound)


def _outlier_target(id: str, says: str, bound: LogBound, holds: bool) -> Target:
    # Another point of the sample space, next to the likeliest one, must refute the claim as well.
    fast, slow = (lambda instance, shift=shift: _outliers(instance, bound, shift) for shift in (0, 1))
    return build_exact_target(id, says, OUTLIERS, fast, slow, "another sample, exact", holds)


def targets() -> list[Target]:
    """All targets about Lemma 4 outside the affine regime."""
    beats = "P(the second arm scores better than the first) <= the bound"
    printed, repaired = paper.lemma_4, corrected.lemma_4
    return [
        _kappa_target("lemma-4-kappa", f"{beats} with kappa = sup K as printed", printed, 2, False),
        _kappa_target("lemma-4-kappa/repaired", f"{beats} with kappa = sqrt(sup K)", printed, 1, True),
        _kappa_target("corrected.lemma_4/exchangeable", beats, repaired, 1, True),
        _kappa_target("tighter.lemma_4/exchangeable", beats, tighter.lemma_4, 1, True),
        _outlier_target("lemma-4", beats, printed, False),
        _outlier_target("corrected.lemma_4/outliers", beats, repaired, True),
        _outlier_target("tighter.lemma_4/outliers", beats, tighter.lemma_4, True),
    ]
