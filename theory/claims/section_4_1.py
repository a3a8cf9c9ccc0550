"""Section 4 up to the key decomposition: hypothesis space, Eq. 6 to Eq. 8, the assumption."""

from __future__ import annotations

import math
from fractions import Fraction
from itertools import product
from typing import Any

from theory import paper
from theory.claims.assumptions import FIRST_ARM_BEST, THETA
from theory.claims.claim import Assumption, Claim, Place, Reading
from theory.claims.exact_losses import (
    Loss,
    bayes_risk,
    best_surrogate,
    repaired_loss,
    strict_loss,
    surrogate_risk,
)
from theory.claims.instances import pool
from theory.constants import gap_ceiling

F = Fraction
THETAS = (F(1, 10), F(1, 5), F(3, 10), F(2, 5))
_NAMED = tuple({"name": name} for name in ("opposed", "tied-3", "star-3", "star-4"))


def _largest_value(features: tuple[Fraction, ...], radius: Fraction) -> Fraction:
    """sup of |<w, x>| over the ball and the rows, for scalar rows under the linear kernel."""
    return max(abs(sign * radius * x) for x in features for sign in (-1, 1))


def _kernel_sup(features: tuple[Fraction, ...]) -> Fraction:
    return max(x * x for x in features)


def _quality_spread(loss: Loss) -> Any:
    """1 minus the spread of Bayes risks over features of all qualities; 1 means that the order is empty."""

    def spread(theta: Fraction) -> Fraction:
        risks = [bayes_risk(loss, [(F(1), eta)], theta) for eta in (F(0), F(1, 20), F(1, 5), F(1, 2))]
        return 1 - (max(risks) - min(risks))

    return spread


def _rate(B: int, theta: float, r: float, delta: float) -> float:
    return float(paper.excess_risk_supervised(B, theta, r, delta))


def _supervised(excess: Any) -> Any:
    """P(excess risk > constant times the O() of Eq. 6); R_ap is zero on the two separable clusters."""

    def probability(B: int, theta: Fraction, delta: Fraction, constant: int) -> float:
        radius = math.sqrt(2) * float(3 - 2 * theta)
        bound = constant * (radius / math.sqrt(B) + math.sqrt(math.log(1 / delta) / (2 * B)))
        value, chance = excess(B, theta)
        return float(chance) if value > bound else 0.0

    return probability


def _regularised_excess(B: int, theta: Fraction) -> tuple[float, float]:
    """Eq. 3 with C = 1 rejects everything (claim eq-3-parameters): excess theta, always."""
    return float(theta), 1.0


def _ball_excess(B: int, theta: Fraction) -> tuple[float, float]:
    """Ball minimiser: zero loss once both clusters are seen, at most 1 otherwise."""
    return 1.0, 2.0 * 0.5**B


def _approximation_error(eta: Fraction, theta: Fraction, radius: Fraction) -> Fraction:
    return best_surrogate(eta, theta, radius)[0] - min(eta, 1 - eta, theta)


def _noisy_large_feature(theta: Fraction, noise: Fraction, **_: Any) -> Fraction:
    """0-1 risk of the model learned on the second feature: one cluster, error rate ``noise``."""
    h, g = _surrogate_pair(1 - noise, theta, 3 - 2 * theta)
    return F((1 - noise) * repaired_loss(h, g, 1, theta) + noise * repaired_loss(h, g, -1, theta))


def _risk_of_tiny_feature(theta: Fraction, scale: Fraction, **_: Any) -> Fraction:
    """A lower bound on the surrogate risk of the first feature, which is perfect but tiny."""
    return 1 - (3 - 2 * theta) * scale


def _assumption_holds(theta: Fraction, noise: Fraction, scale: Fraction) -> bool:
    return _risk_of_tiny_feature(theta, scale) <= best_surrogate(1 - noise, theta, 3 - 2 * theta)[0]


def _reaches_desired_risk(theta: Fraction, noise: Fraction, scale: Fraction) -> bool:
    # The first feature separates the classes, so R_1* = 0 and R_ap is its surrogate risk.
    return _noisy_large_feature(theta, noise) <= _risk_of_tiny_feature(theta, scale)


def _tiny(noise: Fraction, scale: Fraction, **_: Any) -> bool:
    return 0 <= noise <= 1 and 0 < scale <= F(1, 6)


def _constant(B: int, delta: Fraction, constant: int, **_: Any) -> bool:
    return B >= 1 and 0 < delta < 1 and constant >= 2


_TINY = Assumption("the first feature is tiny: at most 1/6 of full scale", _tiny)
_CONSTANT = Assumption("O() hides a constant of at least 2, for the range of the loss", _constant)


def _bayes_pair(eta: Fraction, theta: Fraction) -> tuple[Fraction, Fraction]:
    """A minimiser of the 0-1 risk over all functions, as in Eq. 4."""
    if min(eta, 1 - eta) > theta:
        return F(1), F(-1)
    return (F(1) if eta >= F(1, 2) else F(-1)), F(1)


def _surrogate_pair(eta: Fraction, theta: Fraction, radius: Fraction) -> tuple[Fraction, Fraction]:
    _, h, g = best_surrogate(eta, theta, radius)
    return h, g


def _excess_risk(eta: Fraction, sampled: Fraction, train: Fraction, theta: Fraction, radius: Fraction) -> Fraction:
    h, g = _surrogate_pair(sampled, theta, radius)
    risk = eta * repaired_loss(h, g, 1, theta) + (1 - eta) * repaired_loss(h, g, -1, theta)
    return F(risk - min(eta, 1 - eta, theta))


def _five_terms(comparator: Any) -> Any:
    """Sum of the five terms of Eq. 8 on one arm: f̂ from ``sampled``, D_tr with fraction ``train``."""

    def total(eta: Fraction, sampled: Fraction, train: Fraction, theta: Fraction, radius: Fraction) -> Fraction:
        learned = _surrogate_pair(sampled, theta, radius)
        empirical = _surrogate_pair(train, theta, radius)
        star: tuple[Fraction, Fraction] = comparator(eta, theta, radius)
        risk = eta * repaired_loss(*learned, 1, theta) + (1 - eta) * repaired_loss(*learned, -1, theta)
        term_a = risk - surrogate_risk(*learned, train, theta)
        term_b = surrogate_risk(*learned, train, theta) - surrogate_risk(*empirical, train, theta)
        term_c = surrogate_risk(*empirical, train, theta) - surrogate_risk(*star, train, theta)
        term_d = surrogate_risk(*star, train, theta) - surrogate_risk(*star, eta, theta)
        return F(term_a + term_b + term_c + term_d + _approximation_error(eta, theta, radius))

    return total


def term_c(eta: Fraction, train: Fraction, theta: Fraction, radius: Fraction, **_: Any) -> Fraction:
    star = _surrogate_pair(eta, theta, radius)
    return best_surrogate(train, theta, radius)[0] - F(surrogate_risk(*star, train, theta))


DECOMPOSITIONS = tuple(
    {"eta": eta, "sampled": sampled, "train": train, "theta": theta, "radius": radius}
    for eta, sampled, train, theta, radius in product(
        (F(9, 10),), (F(1, 2), F(1)), (F(4, 5), F(9, 10)), (F(1, 10), F(3, 10)), (F(1, 10), F(1), F(3))
    )
)
KEY_IDENTITY = Reading(_excess_risk, "==", _five_terms(_surrogate_pair))
KEY_IDENTITY_PRINTED = Reading(_excess_risk, "==", _five_terms(lambda eta, theta, radius: _bayes_pair(eta, theta)))
_BALLS = tuple(
    {"features": features, "radius": radius}
    for features, radius in product(((F(1, 1000), F(-1, 500)), (F(1), F(-3))), (F(1, 2), F(7)))
)

CLAIMS = (
    Claim(
        id="hypothesis-ball",
        where=Place("4", "hypothesis space and kappa", 283),
        statement=(
            r"\kappa_i^2=\sup_xK_i(x,x)\Rightarrow\sup_{x,\|w\|\le\Lambda}|\langle w,\Phi(x)\rangle|=\kappa"
            r"_i\Lambda"
        ),
        plain="With kappa squared the supremum of the kernel, kappa*Lambda is the largest value of h and g.",
        printed="definition",
        kind="identity",
        cases=_BALLS,
        reading=Reading(_largest_value, "==", lambda features, radius: max(abs(x) for x in features) * radius),
        mutant=Reading(_largest_value, "==", lambda features, radius: _kernel_sup(features) * radius),
    ),
    Claim(
        id="quality-order",
        where=Place("4", "features sorted by Bayes risk", 283),
        statement=r"R_1^*\le\cdots\le R_K^*",
        plain="Sorting the features by Bayes risk orders them by quality. With the loss as printed all Bayes "
        "risks are zero and the order says nothing.",
        printed="vacuous",
        kind="counterexample",
        cases=tuple({"theta": theta} for theta in THETAS),
        reading=Reading(lambda theta: 0, "<=", _quality_spread(strict_loss), vacuous_from=1),
        repaired=Reading(lambda theta: 0, "<=", _quality_spread(repaired_loss), vacuous_from=1),
        corrected=r"\text{the same with the repaired Eq. 1}",
        assumptions=(THETA,),
        errata=("E1",),
    ),
    Claim(
        id="eq-6",
        where=Place("4.1", "Eq. 6, supervised learning", 288),
        statement=(
            r"R_1(f_{SL})-R_1^*\le O\Big(\tfrac{\kappa_1\Lambda_1}{\sqrt B}+\sqrt{\tfrac{\log(1/\delta"
            r")}{2B}}\Big)+R_{ap}"
        ),
        plain=(
            "With probability 1 - delta the model learned by Eq. 3 from B rows of the known best feature "
            "has excess risk O(kappa*Lambda/sqrt B) plus R_ap, whatever the constant in O()."
        ),
        printed="holds-corrected",
        kind="counterexample",
        cases=tuple({"B": 10**12, "theta": theta, "delta": F(1, 20), "constant": 10**3} for theta in THETAS[:3]),
        reading=Reading(_supervised(_regularised_excess), "<=", lambda delta, **_: float(delta)),
        repaired=Reading(_supervised(_ball_excess), "<=", lambda delta, **_: float(delta)),
        corrected=r"\text{the same for the minimiser over the ball, }O\text{ hiding }c(\theta)\text{ and }M",
        assumptions=(THETA, _CONSTANT),
        errata=("E21", "E3"),
    ),
    Claim(
        id="r-ap",
        where=Place("4.1", "approximation error", 292),
        statement=(
            r"R_{ap}=\inf_{\mathcal H_1\times\mathcal G_1}R_1^{surr}-\inf_fR_1\ \ (\ge(2-2"
            r"\theta)R_1^*)"
        ),
        plain=("The approximation error is never negative; it never vanishes either, unless the Bayes risk does."),
        printed="definition",
        kind="inequality",
        cases=tuple(
            {"eta": eta, "theta": theta, "radius": radius}
            for eta, theta in product((F(1), F(9, 10), F(1, 2)), THETAS)
            for radius in (F(1, 2), F(1), 3 - 2 * theta)
        ),
        reading=Reading(
            _approximation_error, ">=", lambda eta, theta, radius: (2 - 2 * theta) * min(eta, 1 - eta, theta)
        ),
        mutant=Reading(
            _approximation_error, ">=", lambda eta, theta, radius: (3 - 2 * theta) * min(eta, 1 - eta, theta)
        ),
        assumptions=(THETA,),
    ),
    Claim(
        id="sl-rate",
        where=Place("4.1", "rate of Eq. 6", 292),
        statement=r"\text{Eq. 6}-R_{ap}=O(1/\sqrt B)",
        plain="Four times the budget halves the bound of Eq. 6.",
        printed="holds",
        kind="identity",
        cases=tuple(
            {"B": B, "theta": theta, "r": r, "delta": 0.05}
            for B, theta, r in product((10, 1000), (0.1, 0.4), (0.1, 2.0))
        ),
        reading=Reading(lambda B, **k: _rate(4 * B, **k), "==", lambda B, **k: _rate(B, **k) / 2),
        mutant=Reading(lambda B, **k: _rate(4 * B, **k), "==", lambda B, **k: _rate(B, **k) / 4),
        assumptions=(THETA,),
    ),
    Claim(
        id="assumption",
        where=Place("4.2.1", "most informative feature", 302),
        statement=r"\hat R_{tr,1}^{surr}(\hat f_1^*)=\min_i\hat R_{tr,i}^{surr}(\hat f_i^*)",
        plain="The best feature has the smallest surrogate risk on the whole training set.",
        printed="definition",
        kind="identity",
        cases=_NAMED,
        reading=Reading(lambda name: pool(name).risks()[0], "==", lambda name: min(pool(name).risks())),
        mutant=Reading(lambda name: pool(name).risks()[-1], "==", lambda name: min(pool(name).risks())),
    ),
    Claim(
        id="assumption-necessary",
        where=Place("4.2.1", "necessity of the assumption", 304),
        statement=r"\text{excess risk}\le R_{ap}+o(1)\Rightarrow\hat R_{tr,1}^{surr}(\hat f_1^*)=\min_i"
        r"\hat R_{tr,i}^{surr}(\hat f_i^*)",
        plain=(
            "Without the assumption no algorithm reaches the desired excess risk. A perfect feature of tiny "
            "scale and a noisy one of full scale break the assumption; the noisy one is selected and its "
            "excess risk is below R_ap."
        ),
        printed="refuted",
        kind="counterexample",
        cases=tuple({"theta": theta, "noise": F(1, 20), "scale": F(1, 100)} for theta in THETAS),
        reading=Reading(_reaches_desired_risk, "<=", _assumption_holds),
        repaired=Reading(_noisy_large_feature, "<=", _risk_of_tiny_feature),
        corrected=(
            r"R_{i_s}(\hat f_{i_s})\le\min_j\inf R_j^{surr}+O(1/\sqrt n)"
            r"\text{ without any assumption (Theorem 6 (ii))}"
        ),
        assumptions=(THETA, _TINY),
        errata=("E17",),
    ),
    Claim(
        id="eq-7",
        where=Place("4.2.1", "Eq. 7, gaps", 311),
        statement=(
            r"\Delta_i=\hat R_{tr,i}^{surr}(\hat f_i^*)-\hat R_{tr,1}^{surr}(\hat f_1^*)\ \ ("
            r"\le1-\inf\ell)"
        ),
        plain=(
            "The gap of a feature is its excess surrogate risk on the training set; it cannot exceed one "
            "minus the smallest value of the loss."
        ),
        printed="definition",
        kind="inequality",
        cases=_NAMED,
        reading=Reading(
            lambda name: max(pool(name).gaps()),
            "<=",
            lambda name: gap_ceiling(float(pool(name).theta), float(pool(name).kappa_lambda)),
        ),
        mutant=Reading(
            lambda name: max(pool(name).gaps()),
            "<=",
            lambda name: gap_ceiling(float(pool(name).theta), float(pool(name).kappa_lambda)) / 2,
        ),
        assumptions=(FIRST_ARM_BEST,),
    ),
    Claim(
        id="eq-7-optimality-gap",
        where=Place("4.2.1", "optimality gap", 315),
        statement=r"\Delta=\min_{i\in[K],\Delta_i>0}\Delta_i",
        plain=(
            "The optimality gap is defined for every pool: at least one feature has a positive gap. It is a "
            "minimum over nothing when all features are equally good."
        ),
        printed="holds-corrected",
        kind="counterexample",
        cases=({"name": "twins"}, *_NAMED),
        reading=Reading(lambda name: sum(gap > 0 for gap in pool(name).gaps()), ">=", lambda name: 1),
        repaired=Reading(
            lambda name: min((gap for gap in pool(name).gaps() if gap > 0), default=math.inf),
            ">",
            lambda name: 0,
        ),
        corrected=r"\Delta=\infty\text{ when no }\Delta_i>0",
        errata=("E7",),
    ),
    Claim(
        id="eq-8",
        where=Place("4.2.1", "Eq. 8, key decomposition, f_1^* of Eq. 4", 318),
        statement=r"R_{i_s}(\hat f_{i_s})-R_1^*=(a)+(b)+(c)+(d)+R_{ap}",
        plain=(
            "The excess risk is the sum of five terms. With f_1^* the Bayes-optimal model of Eq. 4 it is "
            "not; it is with f_1^* the best surrogate model of the ball, as Appendix A.2 says."
        ),
        printed="holds-corrected",
        kind="identity",
        cases=DECOMPOSITIONS,
        reading=KEY_IDENTITY_PRINTED,
        repaired=KEY_IDENTITY,
        corrected=r"\text{the same with }f_1^*\in\arg\min_{\mathcal H_1\times\mathcal G_1}R_1^{surr}",
        assumptions=(THETA,),
        errata=("E20",),
    ),
    Claim(
        id="eq-8-term-c",
        where=Place("4.2.1", "sign of term (c)", 326),
        statement=r"\hat R_{tr,1}^{surr}(\hat f_1^*)-\hat R_{tr,1}^{surr}(f_1^*)<0",
        plain=("Term (c) is negative; it is zero when the training set has the proportions of the distribution."),
        printed="holds-corrected",
        kind="counterexample",
        cases=DECOMPOSITIONS,
        reading=Reading(term_c, "<", lambda **_: 0),
        repaired=Reading(term_c, "<=", lambda **_: 0),
        corrected=r"\le0",
        assumptions=(THETA,),
        errata=("E20",),
    ),
)
