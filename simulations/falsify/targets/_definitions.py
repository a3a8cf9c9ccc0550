"""Targets about losses (Section 3.1), numbers of rows and money, deviations of a risk, and Lemma 4 in large balls."""

from __future__ import annotations

import math
from collections.abc import Callable
from fractions import Fraction
from typing import Any

import numpy as np
from scipy.stats import binom

from simulations.falsify._target import (
    LARGEST_DELTA,
    LOG_ZERO,
    Box,
    Measured,
    Numbers,
    Target,
    axis,
    box,
    build_exact_target,
    compare_sides,
    log,
    unmet,
)
from theory import corrected, paper, tighter
from theory.claims._exact_losses import repaired_loss, strict_loss, surrogate
from theory.claims._instances import outlier_beats, outlier_gap, walk_violation
from theory.formulas import halving_schedule, loss_fall, rademacher_constant

F = Fraction
Measure = Callable[[Numbers], Measured]
Sides = Callable[[Numbers], tuple[Fraction, Fraction]]

_OUTPUT = axis(-3, 3, grid=4)
#: A model of two kinds of rows: its outputs there, the share of the first kind, and P(y = +1) of both.
MODELS = box(
    h1=_OUTPUT, g1=_OUTPUT, h2=_OUTPUT, g2=_OUTPUT,
    share=axis("1/10", "9/10", grid=10),
    eta1=axis("1/20", "19/20", grid=20), eta2=axis("1/20", "19/20", grid=20),
    theta=axis("1/50", "24/50", grid=50),
)  # fmt: skip
COIN = box(h=_OUTPUT, g=axis("1/4", 3, grid=4), theta=axis("1/50", "24/50", grid=50))
_LABEL = axis(0, 1)
ROWS = box(h=_OUTPUT, g=_OUTPUT, label=_LABEL, theta=axis("1/50", "24/50", grid=50))
ANY_THETA = box(h=_OUTPUT, g=_OUTPUT, label=_LABEL, theta=axis("1/25", "24/25", grid=25))


def _risk(loss: Any, h: Any, g: Any, eta: Any, theta: Any) -> Fraction:
    return F(eta * loss(h, g, 1, theta) + (1 - eta) * loss(h, g, -1, theta))


def _bayes(loss: Any) -> Measure:
    """E min(eta, 1 - eta, theta) <= risk of the model."""

    def compared(instance: Numbers) -> Measured:
        theta, share = instance.fraction("theta"), instance.fraction("share")
        floor = risk = F(0)
        for part, weight in (("1", share), ("2", 1 - share)):
            eta = instance.fraction(f"eta{part}")
            floor += weight * min(eta, 1 - eta, theta)
            risk += weight * _risk(loss, instance[f"h{part}"], instance[f"g{part}"], eta, theta)
        return compare_sides(floor, risk)

    return compared


def _coin(loss: Any) -> Measure:
    """theta <= risk of a model that accepts, when labels are coin flips."""
    return lambda instance: compare_sides(
        instance.fraction("theta"), _risk(loss, instance["h"], instance["g"], F(1, 2), instance["theta"])
    )


def _majorises(instance: Numbers) -> Measured:
    """0/1 loss <= surrogate at one row."""
    y = 1 if instance["label"] else -1
    return compare_sides(
        *(F(loss(instance["h"], instance["g"], y, instance["theta"])) for loss in (repaired_loss, surrogate))
    )


#: K = 2^power arms and a budget with ``first`` rows per arm in the first round: K log2 K divides it.
POWERS = box(power=axis(1, 7), first=axis(1, 400))
ANY_BUDGET = box(power=axis(1, 7), B=axis(4, 4000))
SIZES = box(K=axis(2, 64), B=axis(4, 4000))
_COST = axis("1/10", 5, grid=10)
COSTS = box(budget=axis(1, 60), cost1=_COST, cost2=_COST, cost3=_COST)


def rows_of_selected(budget: int, arms: int) -> int:
    """Rows of the arm that Algorithm 1 leaves, by its own loop."""
    active, rounds, rows = arms, (arms - 1).bit_length(), 0
    while active > 1:
        rows += budget // (rounds * active)
        active -= active // 2
    return rows


def _scheduled(budget: int, arms: int) -> int:
    """The same by the schedule of `theory`."""
    return int(halving_schedule(budget, arms).accumulated[-1])


def _count(share: Callable[[int], Fraction], rows: Callable[[int, int], int]) -> Sides:
    """share(K) floor(B / (K log2 K)) <= rows of the selected arm, where K log2 K divides B (A.5)."""

    def sides(instance: Numbers) -> tuple[Fraction, Fraction]:
        power, first = instance.integer("power"), instance.integer("first")
        return share(2**power) * first, F(rows(first * 2**power * power, 2**power))

    return sides


def _half(rows: Callable[[int, int], int], *, down: bool = False) -> Sides:
    """floor(B / log2 K) / 2 <= rows of the selected arm, K = 2^power, whatever the budget.

    Rounded down it holds: the last round alone buys as many.
    """

    def sides(instance: Numbers) -> tuple[Fraction, Fraction]:
        budget, power = instance.integer("B"), instance.integer("power")
        half = F(budget // power, 2)
        return F(math.floor(half)) if down else half, F(rows(budget, 2**power))

    return sides


def _first_round(instance: Numbers) -> tuple[Fraction, Fraction]:
    """The rows that Eq. 11 counts with <= rows of the first round of Algorithm 1."""
    budget, arms = instance.integer("B"), instance.integer("K")
    return F(math.floor(budget / (arms * math.log2(arms)))), F(int(halving_schedule(budget, arms).pulls[0]))


def _spend(instance: Numbers) -> tuple[Fraction, Fraction]:
    budget, arms = instance.integer("B"), instance.integer("K")
    return F(int(halving_schedule(budget, arms).spent)), F(budget)


def _aligned(instance: Numbers) -> tuple[Fraction, Fraction]:
    """A feature's share of the budget pays for its samples."""
    budget, cost, total = _money(instance)
    return cost * math.floor(budget / total), F(math.floor(cost * budget / total))


def _aligned_spend(instance: Numbers) -> tuple[Fraction, Fraction]:
    budget, _, total = _money(instance)
    return total * math.floor(budget / total), budget


def _money(instance: Numbers) -> tuple[Fraction, Fraction, Fraction]:
    """Budget, first cost, all costs."""
    costs = [instance.fraction(f"cost{i}") for i in (1, 2, 3)]
    return instance.fraction("budget"), costs[0], sum(costs, F(0))


def _measure_sides(sides: Sides) -> Callable[[Numbers], Measured]:
    def measured(instance: Numbers) -> Measured:
        left, right = sides(instance)
        return compare_sides(left, right) if left > 0 else unmet(1.0)

    return measured


_SMALLEST = -690.0
_FRACTIONS = "binomial sums in fractions"
#: phi = +1 with probability p, else -1, y = +1, kappa Lambda = 1 - 2 theta: losses are 1 -+ (1 - 2 theta).
WALK = box(n=axis(1, 300), p=axis("1/2", "99/100", grid=100), theta=axis("1/1000", "2/5", grid=None, digits=1))


def _walk(instance: Numbers, bound: Any) -> tuple[Measured, float]:
    """The deviation at which P(deviation >= v) comes closest to the delta that puts the bound at v; and that delta.

    The bounds are a + s sqrt(log(1 / delta)), so that delta = exp(-((v - a) / s)^2).
    """
    n, p, theta = instance.integer("n"), float(instance["p"]), float(instance["theta"])
    r = 1 - 2 * theta
    high, low = (float(bound(n, theta, r, math.exp(-x))) for x in (4.0, 1.0))
    slope = high - low
    start = low - slope
    k = np.arange(n + 1)
    deviation = 2 * r * (p - k / n)
    log_deltas = -(((deviation - start) / slope) ** 2) * (1 - 1e-9)
    above = (deviation > start) & (log_deltas <= math.log(LARGEST_DELTA)) & (log_deltas > _SMALLEST)
    if not above.any():
        return Measured(LOG_ZERO, 0.0, hint=float(deviation.max() / max(start, 1e-12))), 1.0
    log_delta = log_deltas[above]
    excess = binom.logcdf(k[above], n, p) - log_delta
    best = int(np.argmax(excess))
    return Measured(float(binom.logcdf(k[above], n, p)[best]), float(log_delta[best])), math.exp(log_delta[best])


def _exact_walk(instance: Numbers, bound: Any) -> Measured:
    """The same at that delta, by binomial sums in fractions."""
    _, delta = _walk(instance, bound)
    if not 0 < delta < 1:
        return Measured(LOG_ZERO, 0.0)
    level = F(delta)
    violation = walk_violation(lambda n, theta, delta: float(bound(n, theta, 1 - 2 * theta, delta)))
    return compare_sides(
        violation(instance.integer("n"), instance.fraction("p"), instance.fraction("theta"), level), level
    )


def _walk_target(id: str, bound: Any, holds: bool) -> Target:
    says = "P(the empirical risk of the best model is above its risk by the bound at delta) <= delta"
    return build_exact_target(
        id,
        says,
        WALK,
        lambda instance: _walk(instance, bound)[0],
        lambda instance: _exact_walk(instance, bound),
        _FRACTIONS,
        holds,
    )


# Lemma 4 outside the affine regime: kappa without the root, and large balls.
#
# The *exchangeable* family: all labels are +1, and any two rows of an arm have the same similarity rho, so that its
# kernel is kappa^2 ((1 - rho) I + rho 11'). By convexity a minimiser on n distinct rows takes one value t of h and one
# value s of g on all of them; a constant function of value t costs the norm t / (kappa sqrt(rho + (1 - rho) / n)), so
#
#     V = min {l(t, s): |t|, |s| <= a} = inf l at the radius a = kappa Lambda sqrt(rho + (1 - rho) / n),
#
# for every Lambda. Rows are drawn without replacement, so the score is a fixed number, and a comparison has probability
# 0 or 1. With rho = 0 every row has a direction of its own and can be fitted alone; with rho = 1 the arm is constant.
#
# The *outlier* family: phi = -1 with probability p (arm 1) or q (arm 2), on disjoint rows, and 1 / r elsewhere; see
# `theory.claims._instances`. One point of the sample space bounds P[V_2 < V_1] from below.

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
    reach = kappa * radius * math.sqrt(rho + (1 - rho) / n)
    return 1 - float(loss_fall(theta, reach, reach))


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


def _lemma_4_targets() -> list[Target]:
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


def _loss_targets() -> list[Target]:
    """All targets about losses."""
    bayes = "E min(eta, 1 - eta, theta) <= 0/1 risk of every model"
    coin = "theta <= 0/1 risk of a model that accepts rows whose labels are coin flips"
    above = "0/1 loss <= surrogate loss at every row"
    # Both paths are the definitions in exact fractions.
    return [
        build_exact_target(id, says, space, compared, compared, "exact fractions", holds, probability=False)
        for id, says, space, compared, holds in (
            ("eq-1", coin, COIN, _coin(strict_loss), False),
            ("eq-1/repaired", coin, COIN, _coin(repaired_loss), True),
            ("eq-4-value", bayes, MODELS, _bayes(strict_loss), False),
            ("eq-4-value/repaired", bayes, MODELS, _bayes(repaired_loss), True),
            ("eq-2", f"{above}, theta in (0, 1)", ANY_THETA, _majorises, False),
            ("eq-2-upper-bound", f"{above}, theta in (0, 1/2)", ROWS, _majorises, True),
        )
    ]


def _money_targets() -> list[Target]:
    """All targets about numbers of rows and money; some are confirmed by a second way to count."""
    rows = "rows of the selected arm"
    by_loop = _count(F, rows_of_selected)
    table: tuple[tuple[str, str, Box, bool, Sides, Sides | None], ...] = (
        ("a5-count-3", f"K floor(B / (K log2 K)) <= {rows}", POWERS, False, _count(F, _scheduled), by_loop),
        (
            "a5-count-3/repaired", f"(K - 1) floor(B / (K log2 K)) <= {rows}",
            POWERS, True, _count(lambda K: F(K - 1), _scheduled), None,
        ),
        (
            "a5-count-4/half", f"floor(B / log2 K) / 2 <= {rows}",
            ANY_BUDGET, False, _half(_scheduled), _half(rows_of_selected),
        ),
        (
            "a5-count-4/half-rounded-down", f"floor(floor(B / log2 K) / 2) <= {rows}",
            ANY_BUDGET, True, _half(_scheduled, down=True), None,
        ),
        ("lemma-2-first-round", "floor(B / (K log2 K)) <= rows of the first round", SIZES, False, _first_round, None),
        ("me-spend", "pulls of median elimination <= B", SIZES, True, _spend, None),
        ("sample-alignment", "c_1 floor(b / sum c) <= floor(c_1 b / sum c)", COSTS, False, _aligned, None),
        ("sample-alignment-spend", "sum_i c_i floor(b / sum c) <= b", COSTS, True, _aligned_spend, None),
    )  # fmt: skip
    return [
        build_exact_target(
            id,
            says,
            space,
            _measure_sides(fast),
            _measure_sides(slow or fast),
            "exact numbers",
            holds,
            probability=False,
        )
        for id, says, space, holds, fast, slow in table
    ]


def targets() -> list[Target]:
    """Return all targets of this module."""
    deviations = [
        _walk_target("term-d", paper.lemma_3, False),
        _walk_target("corrected.term_d", corrected.term_d, True),
    ]
    return [*_loss_targets(), *_money_targets(), *deviations, *_lemma_4_targets()]
