"""Section 4 up to the key decomposition: hypothesis space, Eq. 6 to Eq. 8, the assumption."""

from __future__ import annotations

import math
from fractions import Fraction
from itertools import product
from typing import Any

from theory import paper
from theory.claims._assumptions import FIRST_ARM_BEST, THETA
from theory.claims._exact_losses import (
    Loss,
    bayes_risk,
    best_surrogate,
    pointwise_risk,
    repaired_loss,
    strict_loss,
    surrogate_risk,
    true_risk,
)
from theory.claims._instances import pool
from theory.claims.claim import Assumption, Check, grid
from theory.formulas import gap_ceiling, order_of_risk

F = Fraction
THETAS = (F(1, 10), F(1, 5), F(3, 10), F(2, 5))
_NAMED = grid(name=("opposed", "tied-3", "star-3", "star-4"))


def _largest_value(features: tuple[Fraction, ...], radius: Fraction) -> Fraction:
    """Return sup of |<w, x>| over the ball and the rows, for scalar rows under the linear kernel."""
    return max(abs(sign * radius * x) for x in features for sign in (-1, 1))


def _kernel_sup(features: tuple[Fraction, ...]) -> Fraction:
    return max(x * x for x in features)


def _quality_spread(loss: Loss) -> Any:
    """Return 1 minus the spread of Bayes risks over features of all qualities; 1 means that the order is empty."""

    def spread(theta: Fraction) -> Fraction:
        risks = [bayes_risk(loss, [(F(1), eta)], theta) for eta in (F(0), F(1, 20), F(1, 5), F(1, 2))]
        return 1 - (max(risks) - min(risks))

    return spread


def _rate(B: int, theta: float, r: float, delta: float) -> float:
    return float(paper.excess_risk_supervised(B, theta, r, delta))


def _supervised(excess: Any) -> Any:
    """Return P(excess risk > constant times the O() of Eq. 6); R_ap is zero on the two separable clusters."""

    def probability(B: int, theta: Fraction, delta: Fraction, constant: int) -> float:
        radius = math.sqrt(2) * float(3 - 2 * theta)
        bound = order_of_risk(B, radius, float(1 / delta), constant)
        value, chance = excess(B, theta)
        return float(chance) if value > bound else 0.0

    return probability


def _regularised_excess(B: int, theta: Fraction) -> tuple[float, float]:
    """Return (theta, 1): Eq. 3 with C = 1 rejects everything (claim eq-3-parameters)."""
    return float(theta), 1.0


def _ball_excess(B: int, theta: Fraction) -> tuple[float, float]:
    """Return (1, chance): the ball minimiser loses nothing once both clusters are seen."""
    return 1.0, 2.0 * 0.5**B


def _approximation_error(eta: Fraction, theta: Fraction, radius: Fraction) -> Fraction:
    return best_surrogate(eta, theta, radius)[0] - pointwise_risk(eta, theta)


def _is_empty(eta: Fraction, theta: Fraction, radius: Fraction) -> bool:
    """Return whether R_ap alone is at least the excess risk of rejecting everything.

    Over all functions inf R_surr = (3 − 2θ) R* (Lemma F), so that R_ap ≥ (2 − 2θ) R*, which is at least θ − R* from
    R* = θ/(3 − 2θ) on. And on |h|, |g| ≤ r the surrogate is at least 1 − r for r ≤ 1 − 2θ and θ(3 − 2θ − r) beyond,
    both at least θ for r ≤ 2 − 2θ, so that R_ap ≥ θ − R*.
    """
    return pointwise_risk(eta, theta) >= theta / (3 - 2 * theta) or radius <= 2 - 2 * theta


def _noisy_large_feature(theta: Fraction, noise: Fraction, **_: Any) -> Fraction:
    """Return 0-1 risk of the model learned on the second feature: one cluster, error rate ``noise``."""
    h, g = _surrogate_pair(1 - noise, theta, 3 - 2 * theta)
    return F(true_risk(h, g, 1 - noise, theta))


def _risk_of_tiny_feature(theta: Fraction, scale: Fraction, **_: Any) -> Fraction:
    """Return a lower bound on the surrogate risk of the first feature, which is perfect but tiny."""
    return 1 - (3 - 2 * theta) * scale


def _assumption_holds(theta: Fraction, noise: Fraction, scale: Fraction) -> bool:
    return _risk_of_tiny_feature(theta, scale) <= best_surrogate(1 - noise, theta, 3 - 2 * theta)[0]


def _reaches_desired_risk(theta: Fraction, noise: Fraction, scale: Fraction) -> bool:
    # The first feature separates the classes, so R_1* = 0 and R_ap is its surrogate risk.
    return _noisy_large_feature(theta, noise) <= _risk_of_tiny_feature(theta, scale)


_TINY = Assumption(
    "the first feature is tiny: at most 1/6 of full scale",
    lambda noise, scale, **_: 0 <= noise <= 1 and 0 < scale <= F(1, 6),
    instance=True,
)
_CONSTANT = Assumption(
    "O() hides a constant of at least 2, for the range of the loss",
    lambda B, delta, constant, **_: B >= 1 and 0 < delta < 1 and constant >= 2,
    instance=True,
)


def _bayes_pair(eta: Fraction, theta: Fraction) -> tuple[Fraction, Fraction]:
    """Return a minimiser of the 0-1 risk over all functions, as in Eq. 4."""
    if min(eta, 1 - eta) > theta:
        return F(1), F(-1)
    return (F(1) if eta >= F(1, 2) else F(-1)), F(1)


def _surrogate_pair(eta: Fraction, theta: Fraction, radius: Fraction) -> tuple[Fraction, Fraction]:
    _, h, g = best_surrogate(eta, theta, radius)
    return h, g


def _excess_risk(eta: Fraction, sampled: Fraction, train: Fraction, theta: Fraction, radius: Fraction) -> Fraction:
    h, g = _surrogate_pair(sampled, theta, radius)
    return F(true_risk(h, g, eta, theta) - pointwise_risk(eta, theta))


def _five_terms(comparator: Any) -> Any:
    """Return sum of the five terms of Eq. 8 on one arm: f̂ from ``sampled``, D_tr with fraction ``train``."""

    def total(eta: Fraction, sampled: Fraction, train: Fraction, theta: Fraction, radius: Fraction) -> Fraction:
        learned = _surrogate_pair(sampled, theta, radius)
        empirical = _surrogate_pair(train, theta, radius)
        star: tuple[Fraction, Fraction] = comparator(eta, theta, radius)
        term_a = true_risk(*learned, eta, theta) - surrogate_risk(*learned, train, theta)
        term_b = surrogate_risk(*learned, train, theta) - surrogate_risk(*empirical, train, theta)
        term_c = surrogate_risk(*empirical, train, theta) - surrogate_risk(*star, train, theta)
        term_d = surrogate_risk(*star, train, theta) - surrogate_risk(*star, eta, theta)
        return F(term_a + term_b + term_c + term_d + _approximation_error(eta, theta, radius))

    return total


def term_c(eta: Fraction, train: Fraction, theta: Fraction, radius: Fraction, **_: Any) -> Fraction:
    """Return term (c): the smallest surrogate risk on the training distribution minus that of the best pair."""
    star = _surrogate_pair(eta, theta, radius)
    return best_surrogate(train, theta, radius)[0] - F(surrogate_risk(*star, train, theta))


DECOMPOSITIONS = grid(
    eta=(F(9, 10),),
    sampled=(F(1, 2), F(1)),
    train=(F(4, 5), F(9, 10)),
    theta=(F(1, 10), F(3, 10)),
    radius=(F(1, 10), F(1), F(3)),
)
_KEY_IDENTITY = (_excess_risk, _five_terms(_surrogate_pair))
_KEY_IDENTITY_PRINTED = (_excess_risk, _five_terms(lambda eta, theta, radius: _bayes_pair(eta, theta)))
DECOMPOSITION = Check(cases=DECOMPOSITIONS, printed=_KEY_IDENTITY, mutant=_KEY_IDENTITY_PRINTED, assumptions=(THETA,))
_TRIVIAL = tuple(
    {"eta": eta, "theta": theta, "radius": radius}
    for theta in THETAS
    for eta in (F(1), F(24, 25), F(9, 10), F(1, 2), 1 - theta / (3 - 2 * theta))
    for radius in (F(1, 10), 1 - 2 * theta, 2 - 2 * theta, 3 - 2 * theta, F(10))
    if _is_empty(eta, theta, radius)
)
_BALLS = grid(features=((F(1, 1000), F(-1, 500)), (F(1), F(-3))), radius=(F(1, 2), F(7)))

CHECKS = {
    "hypothesis-ball": Check(
        cases=_BALLS,
        printed=(_largest_value, lambda features, radius: max(abs(x) for x in features) * radius),
        mutant=lambda features, radius: _kernel_sup(features) * radius,
    ),
    "quality-order": Check(
        cases=grid(theta=THETAS),
        printed=(lambda theta: 0, _quality_spread(strict_loss)),
        corrected=_quality_spread(repaired_loss),
        assumptions=(THETA,),
    ),
    "eq-6": Check(
        cases=grid(B=(10**12,), theta=THETAS[:3], delta=(F(1, 20),), constant=(10**3,)),
        printed=(_supervised(_regularised_excess), lambda delta, **_: float(delta)),
        corrected=(_supervised(_ball_excess), lambda delta, **_: float(delta)),
        assumptions=(THETA, _CONSTANT),
    ),
    "r-ap": Check(
        cases=tuple(
            {"eta": eta, "theta": theta, "radius": radius}
            for eta, theta in product((F(1), F(9, 10), F(1, 2)), THETAS)
            for radius in (F(1, 2), F(1), 3 - 2 * theta)
        ),
        printed=(_approximation_error, lambda eta, theta, radius: (2 - 2 * theta) * pointwise_risk(eta, theta)),
        mutant=lambda eta, theta, radius: (3 - 2 * theta) * pointwise_risk(eta, theta),
        assumptions=(THETA,),
    ),
    "r-ap-classical": Check(
        cases=tuple(
            {"eta": eta, "theta": theta, "radius": 3 - 2 * theta}
            for eta, theta in product((F(1), F(24, 25), F(9, 10), F(1, 2)), THETAS)
        ),
        printed=(_approximation_error, lambda eta, theta, radius: (2 - 2 * theta) * pointwise_risk(eta, theta)),
        mutant=lambda **_: F(0),
        assumptions=(THETA,),
    ),
    "r-ap-trivial": Check(
        cases=_TRIVIAL,
        printed=(_approximation_error, lambda eta, theta, radius: theta - pointwise_risk(eta, theta)),
        mutant=lambda theta, **_: theta,
        assumptions=(THETA, Assumption("R_1* >= theta/(3 - 2 theta) or kappa*Lambda <= 2 - 2 theta", _is_empty)),
    ),
    "sl-rate": Check(
        cases=grid(B=(10, 1000), theta=(0.1, 0.4), r=(0.1, 2.0), delta=(0.05,)),
        printed=(lambda B, **k: _rate(4 * B, **k), lambda B, **k: _rate(B, **k) / 2),
        mutant=lambda B, **k: _rate(B, **k) / 4,
        assumptions=(THETA,),
    ),
    "assumption": Check(
        cases=_NAMED,
        printed=(lambda name: pool(name).risks()[0], lambda name: min(pool(name).risks())),
        mutant=(lambda name: pool(name).risks()[-1], lambda name: min(pool(name).risks())),
    ),
    "assumption-necessary": Check(
        cases=grid(theta=THETAS, noise=(F(1, 20),), scale=(F(1, 100),)),
        printed=(_reaches_desired_risk, _assumption_holds),
        corrected=(_noisy_large_feature, _risk_of_tiny_feature),
        assumptions=(THETA, _TINY),
    ),
    "eq-7": Check(
        cases=_NAMED,
        printed=(
            lambda name: max(pool(name).gaps()),
            lambda name: gap_ceiling(float(pool(name).theta), float(pool(name).kappa_lambda)),
        ),
        mutant=lambda name: gap_ceiling(float(pool(name).theta), float(pool(name).kappa_lambda)) / 2,
        assumptions=(FIRST_ARM_BEST,),
    ),
    "eq-7-optimality-gap": Check(
        cases=({"name": "twins"}, *_NAMED),
        printed=(lambda name: sum(gap > 0 for gap in pool(name).gaps()), lambda name: 1),
        corrected=(lambda name: min((gap for gap in pool(name).gaps() if gap > 0), default=math.inf), lambda name: 0),
    ),
    "eq-8": Check(cases=DECOMPOSITIONS, printed=_KEY_IDENTITY_PRINTED, corrected=_KEY_IDENTITY, assumptions=(THETA,)),
    "eq-8-term-c": Check(
        cases=DECOMPOSITIONS, printed=(term_c, lambda **_: 0), corrected=lambda **_: 0, assumptions=(THETA,)
    ),
}
