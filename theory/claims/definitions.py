"""Section 3.1 and the feature quality measure: Eq. 1 to Eq. 5 and the remarks around them."""

from __future__ import annotations

from fractions import Fraction
from itertools import product
from typing import Any

from theory.claims.assumptions import DEFINED, THETA, UNIT_THETA
from theory.claims.claim import Assumption, Claim, Place, Reading
from theory.claims.exact_losses import (
    Loss,
    bayes_risk,
    best_surrogate,
    corner_points,
    repaired_loss,
    slope,
    strict_loss,
    surrogate,
    surrogate_risk,
)

F = Fraction
THETAS = (F(1, 10), F(1, 5), F(3, 10), F(2, 5), F(49, 100))
GRID = (F(-3), F(-1), F(-1, 2), F(0), F(1, 2), F(1), F(3))
POINTS = tuple({"h": h, "g": g, "y": y, "theta": theta} for h, g, y, theta in product(GRID, GRID, (-1, 1), THETAS))


def _risk_of_zero(loss: Loss) -> Any:
    """Risk of the constant pair h = 0, g = 1 on labels that are pure noise."""

    def risk(eta: Fraction, theta: Fraction) -> Fraction:
        return F(eta * loss(0, 1, 1, theta) + (1 - eta) * loss(0, 1, -1, theta))

    return risk


def _rejects(g: Fraction, theta: Fraction, h: Fraction, y: int) -> bool:
    """Whether the loss charges a rejection, read off from the loss itself on a correct label."""
    return bool(strict_loss(abs(h) + 1, g, 1, theta) == theta)


def _flat_bayes(loss: Loss) -> Any:
    def gain(theta: Fraction) -> Fraction:
        informative = bayes_risk(loss, [(F(1, 2), F(1)), (F(1, 2), F(0))], theta)
        return bayes_risk(loss, [(F(1), F(1, 2))], theta) - informative

    return gain


def _floor(eta: Fraction, theta: Fraction) -> Fraction:
    """inf over all f of the surrogate risk at one point, minus the Bayes risk."""
    # Radius 3 - 2 theta holds every minimiser, so the box is as good as all functions.
    return best_surrogate(eta, theta, 3 - 2 * theta)[0] - min(eta, 1 - eta, theta)


def _score_of_minimiser(eta: Fraction, theta: Fraction, radius: Fraction) -> Fraction:
    _, h, g = best_surrogate(eta, theta, radius)
    return F(surrogate_risk(h, g, eta, theta))


def _best_other_score(eta: Fraction, theta: Fraction, radius: Fraction) -> Fraction:
    half = [(h / 2, g / 2) for h, g in corner_points(theta, radius)]
    return min(F(surrogate_risk(h, g, eta, theta)) for h, g in [*half, (F(0), F(0))])


def _small_values(h: Fraction, g: Fraction, theta: Fraction, **_: Any) -> bool:
    return max(abs(h), abs(g)) <= 1 - 2 * theta


_SMALL_VALUES = Assumption("|h| and |g| are at most 1 - 2 theta", _small_values)
_ETAS = tuple({"eta": eta, "theta": theta} for eta, theta in product((F(1, 10), F(1, 4), F(1, 2), F(7, 10)), THETAS))
_NOISE = tuple({"eta": F(1, 2), "theta": theta} for theta in THETAS)

CLAIMS = (
    Claim(
        id="eq-1",
        where=Place("3.1", "Eq. 1, the 0-1 loss", 189),
        statement=r"\ell_{0/1}=\mathbb 1[yh<0]\,\mathbb 1[g>0]+\theta\,\mathbb 1[g\le0]",
        plain=(
            "A pair that accepts everything and learns nothing pays for its errors: on labels that are coin "
            "flips it risks at least the rejection cost theta."
        ),
        printed="holds-corrected",
        kind="counterexample",
        cases=_NOISE,
        reading=Reading(_risk_of_zero(strict_loss), ">=", lambda eta, theta: theta),
        repaired=Reading(_risk_of_zero(repaired_loss), ">=", lambda eta, theta: theta),
        corrected=r"\ell_{0/1}=\mathbb 1[yh\le0]\,\mathbb 1[g>0]+\theta\,\mathbb 1[g\le0]",
        assumptions=(UNIT_THETA,),
        errata=("E1",),
    ),
    Claim(
        id="eq-1-rejection-rule",
        where=Place("3.1", "prediction rule", 188),
        statement=r"\hat x \text{ is rejected} \iff g(\hat x)<0",
        plain="The loss charges a rejection exactly when the prediction rule rejects.",
        printed="holds-corrected",
        kind="counterexample",
        cases=POINTS,
        reading=Reading(_rejects, "==", lambda g, **_: g < 0),
        repaired=Reading(_rejects, "==", lambda g, **_: g <= 0),
        corrected=r"\hat x \text{ is rejected} \iff g(\hat x)\le 0",
        assumptions=(THETA,),
        errata=("E1",),
    ),
    Claim(
        id="eq-2",
        where=Place("3.1", "Eq. 2, the surrogate, theta in (0,1)", 194),
        statement=r"\ell_{0/1}\le\ell_{surr}=\max\{1+\tfrac12(g-yh),\theta(1-\tfrac{g}{1-2\theta}),0\},\ "
        r"\theta\in(0,1)",
        plain="The surrogate is at least the 0-1 loss for every threshold theta in (0, 1).",
        printed="holds-corrected",
        kind="counterexample",
        cases=(
            {"h": F(0), "g": F(-2), "y": 1, "theta": F(3, 4)},
            *({"h": F(0), "g": F(-2), "y": 1, "theta": theta} for theta in THETAS),
        ),
        reading=Reading(strict_loss, "<=", surrogate),
        repaired=Reading(lambda theta, **k: strict_loss(theta=theta, **k) if theta < F(1, 2) else 0, "<=", surrogate),
        corrected=r"\text{the same for }\theta\in(0,\tfrac12)",
        assumptions=(UNIT_THETA, DEFINED),
        errata=("E2",),
    ),
    Claim(
        id="eq-2-upper-bound",
        where=Place("3.1", "Eq. 2, used as an upper bound", 198),
        statement=r"\ell_{0/1}(f,x,y;\theta)\le\ell_{surr}(f,x,y;\theta)\quad(\theta<\tfrac12)",
        plain=("For theta below one half the surrogate dominates the 0-1 loss, also with y*h <= 0 as the error."),
        printed="holds",
        kind="inequality",
        cases=POINTS,
        reading=Reading(repaired_loss, "<=", surrogate),
        mutant=Reading(
            repaired_loss,
            "<=",
            lambda h, g, y, theta: max(1 + (g - y * h) / 2, theta * (1 - g / (1 - theta)) - theta / 2, F(0)),
        ),
        assumptions=(THETA,),
    ),
    Claim(
        id="eq-4",
        where=Place("3.2", "Eq. 4, Bayes risk as feature quality", 222),
        statement=r"R_i^*=\min_f\mathbb E[\ell_{0/1}(f,x,\hat y;\theta)]",
        plain=(
            "A feature that determines the label has a smaller Bayes risk than a feature that is independent of it."
        ),
        printed="holds-corrected",
        kind="counterexample",
        cases=tuple({"theta": theta} for theta in THETAS),
        reading=Reading(_flat_bayes(strict_loss), ">", lambda theta: 0),
        repaired=Reading(_flat_bayes(repaired_loss), ">", lambda theta: 0),
        corrected=r"R_i^*=\mathbb E\min(\eta_i,1-\eta_i,\theta)\text{ with the error }yh\le0",
        assumptions=(THETA,),
        errata=("E1",),
    ),
    Claim(
        id="eq-4-value",
        where=Place("3.2", "Eq. 4, minimal error of any rejection model", 226),
        statement=r"R_i^*=\mathbb E\min(\eta_i,1-\eta_i,\theta)",
        plain="The Bayes risk is the minimal error of any rejection model; as printed it is zero for every "
        "feature, with the repaired loss it is E min(eta, 1 - eta, theta).",
        printed="holds-corrected",
        kind="counterexample",
        cases=_ETAS,
        reading=Reading(
            lambda eta, theta: bayes_risk(strict_loss, [(F(1), eta)], theta),
            "==",
            lambda eta, theta: min(eta, 1 - eta, theta),
        ),
        repaired=Reading(
            lambda eta, theta: bayes_risk(repaired_loss, [(F(1), eta)], theta),
            "==",
            lambda eta, theta: min(eta, 1 - eta, theta),
        ),
        corrected=r"R_i^*=\mathbb E\min(\eta_i,1-\eta_i,\theta)\text{ for the error }yh\le0",
        assumptions=(THETA,),
        errata=("E1",),
    ),
    Claim(
        id="eq-5",
        where=Place("3.2", "Eq. 5, the score", 229),
        statement=r"\hat R_i^{surr}(\hat f_i)=\tfrac1{n_i}\sum_j\ell_{surr}(\hat f_i,x_j,\hat y_j;\theta)",
        plain=(
            "The score is the empirical surrogate risk of the empirical minimiser; no other model of the "
            "ball scores less on the same rows."
        ),
        printed="definition",
        kind="inequality",
        cases=tuple(
            {"eta": eta, "theta": theta, "radius": radius}
            for eta, theta, radius in product((F(1, 10), F(1, 2), F(9, 10)), THETAS, (F(1, 4), F(1), F(3)))
        ),
        reading=Reading(_score_of_minimiser, "<=", _best_other_score),
        mutant=Reading(
            lambda eta, theta, radius: F(surrogate_risk(radius, radius, eta, theta)), "<=", _best_other_score
        ),
        assumptions=(THETA,),
    ),
    Claim(
        id="surrogate-does-no-harm",
        where=Place("3.2", "remark after Eq. 5", 233),
        statement=r"\inf_f R^{surr}(f)-\inf_f R(f)\approx 0",
        plain="Our reading of the remark: replacing the Bayes risk by the surrogate does almost no harm if over "
        "all functions the best surrogate risk is the Bayes risk (up to one per cent of it). It is not.",
        printed="refuted",
        inferred=True,
        kind="counterexample",
        cases=_ETAS,
        reading=Reading(_floor, "<=", lambda eta, theta: min(eta, 1 - eta, theta) / 100),
        repaired=Reading(_floor, "==", lambda eta, theta: (2 - 2 * theta) * min(eta, 1 - eta, theta)),
        corrected=r"\inf_f R^{surr}(f)=(3-2\theta)\,\mathbb E\min(\eta,1-\eta,\theta)",
        assumptions=(THETA,),
        errata=("E1",),
    ),
    Claim(
        id="surrogate-affine",
        where=Place("3.1", "Eq. 2 on the ball kappa*Lambda <= 1 - 2 theta", 196),
        statement=r"\kappa\Lambda\le1-2\theta\Rightarrow\ell_{surr}=1+\tfrac12(g-yh)",
        plain=(
            "Not in the paper: on a small ball the first piece of the surrogate is the largest everywhere: the "
            "regime in which the exact enumerations of this ledger live."
        ),
        printed="holds",
        inferred=True,
        kind="identity",
        cases=tuple(
            {"h": s * (1 - 2 * theta), "g": t * (1 - 2 * theta), "y": y, "theta": theta}
            for s, t, y, theta in product((F(-1), F(0), F(1, 2), F(1)), (F(-1), F(1, 3), F(1)), (-1, 1), THETAS)
        ),
        reading=Reading(surrogate, "==", lambda h, g, y, theta: 1 + (g - y * h) / 2),
        mutant=Reading(surrogate, "==", lambda h, g, y, theta: theta - slope(theta) * g),
        assumptions=(THETA, _SMALL_VALUES),
    ),
)
