"""Section 3.1 and the feature quality measure: Eq. 1 to Eq. 5 and the remarks around them."""

from __future__ import annotations

from fractions import Fraction
from itertools import product
from typing import Any

from theory.claims._assumptions import DEFINED, THETA, UNIT_THETA
from theory.claims._exact_losses import (
    Loss,
    bayes_risk,
    best_surrogate,
    corner_points,
    pointwise_risk,
    repaired_loss,
    strict_loss,
    surrogate,
    surrogate_risk,
)
from theory.claims.claim import Assumption, Check, cross, grid
from theory.formulas import rejection_slope, surrogate_pieces

F = Fraction
THETAS = (F(1, 10), F(1, 5), F(3, 10), F(2, 5), F(49, 100))
GRID = (F(-3), F(-1), F(-1, 2), F(0), F(1, 2), F(1), F(3))
POINTS = grid(h=GRID, g=GRID, y=(-1, 1), theta=THETAS)


def _risk_of_zero(loss: Loss) -> Any:
    """Return risk of the constant pair h = 0, g = 1 on labels that are pure noise."""

    def risk(eta: Fraction, theta: Fraction) -> Fraction:
        return F(eta * loss(0, 1, 1, theta) + (1 - eta) * loss(0, 1, -1, theta))

    return risk


def _rejects(g: Fraction, theta: Fraction, h: Fraction, y: int) -> bool:
    """Return whether the loss charges a rejection, read off from the loss itself on a correct label."""
    return bool(strict_loss(abs(h) + 1, g, 1, theta) == theta)


def _flat_bayes(loss: Loss) -> Any:
    def gain(theta: Fraction) -> Fraction:
        informative = bayes_risk(loss, [(F(1, 2), F(1)), (F(1, 2), F(0))], theta)
        return bayes_risk(loss, [(F(1), F(1, 2))], theta) - informative

    return gain


def _floor(eta: Fraction, theta: Fraction) -> Fraction:
    """Return inf over all f of the surrogate risk at one point, minus the Bayes risk."""
    # Radius 3 - 2 theta holds every minimiser, so the box is as good as all functions.
    return best_surrogate(eta, theta, 3 - 2 * theta)[0] - pointwise_risk(eta, theta)


def _score_of_minimiser(eta: Fraction, theta: Fraction, radius: Fraction) -> Fraction:
    _, h, g = best_surrogate(eta, theta, radius)
    return F(surrogate_risk(h, g, eta, theta))


def _best_other_score(eta: Fraction, theta: Fraction, radius: Fraction) -> Fraction:
    half = [(h / 2, g / 2) for h, g in corner_points(theta, radius)]
    return min(F(surrogate_risk(h, g, eta, theta)) for h, g in [*half, (F(0), F(0))])


_SMALL_VALUES = Assumption(
    "|h| and |g| are at most 1 - 2 theta", lambda h, g, theta, **_: max(abs(h), abs(g)) <= 1 - 2 * theta
)
_ETAS = grid(eta=(F(1, 10), F(1, 4), F(1, 2), F(7, 10)), theta=THETAS)
_NOISE = grid(eta=(F(1, 2),), theta=THETAS)

Vector = tuple[Fraction, ...]
# Rows of small rational data sets: (label, feature vector); the kernel is the inner product.
DATA: dict[str, tuple[tuple[int, Vector], ...]] = {
    "two-clusters": ((1, (F(1), F(0))), (-1, (F(0), F(1)))),
    "overlap": ((1, (F(3, 5), F(4, 5))), (-1, (F(3, 5), F(4, 5))), (1, (F(1), F(0)))),
    "unbalanced": ((1, (F(4, 5), F(3, 5))), (1, (F(1), F(0))), (1, (F(0), F(1))), (-1, (F(3, 5), F(4, 5)))),
}


def _dot(u: Vector, v: Vector) -> Fraction:
    return sum((a * b for a, b in zip(u, v, strict=True)), F(0))


def _objective(data: str, w: Vector, v: Vector, theta: Fraction, C: Fraction) -> Fraction:
    """Return Eq. 3 with h = <w, .> and g = <v, .>, mean loss."""
    rows = DATA[data]
    loss = sum((F(surrogate(_dot(w, x), _dot(v, x), y, theta)) for y, x in rows), F(0))
    return loss / len(rows) + C * (_dot(w, w) + _dot(v, v))


def _closed_form(data: str, C: Fraction) -> tuple[Vector, Vector]:
    """Return h = (1/4Cm) Σ y_j K(·, x_j) and g = −(1/4Cm) Σ K(·, x_j), as weight vectors."""
    rows = DATA[data]
    scale = 1 / (4 * C * len(rows))
    w = tuple(scale * sum((y * x[i] for y, x in rows), F(0)) for i in range(2))
    v = tuple(-scale * sum((x[i] for _, x in rows), F(0)) for i in range(2))
    return w, v


def _norm(data: str, C: Fraction) -> Fraction:
    """Return the squared norm of h in the minimiser of Eq. 3."""
    h, _ = _closed_form(data, C)
    return _dot(h, h)


def _accepts_some_row(data: str, theta: Fraction, C: Fraction) -> bool:
    """Return whether the minimiser of Eq. 3 (closed form) accepts a row."""
    _, v = _closed_form(data, C)
    return any(_dot(v, x) > 0 for _, x in DATA[data])


def _sum_loss_accepts(data: str, theta: Fraction, C: Fraction) -> bool:
    """Return whether the separating pair beats every pair that rejects a row, in the sum over 400 copies of each.

    A rejected row loses at least θ, so rejecting one kind of row costs at least 400θ; a pair with
    a smaller objective proves that no minimiser rejects anything.  The pair h = ±(3 − 2θ), g = 1 − 2θ at
    two orthogonal unit rows loses nothing and has squared norms 2(3 − 2θ)² and 2(1 − 2θ)².
    """
    (_, first), (_, second) = DATA[data]
    if _dot(first, second) != 0 or not _dot(first, first) == _dot(second, second) == 1:
        raise ValueError(f"the separating pair needs two orthogonal unit rows; {data} has other rows.")
    margin, rejector = 3 - 2 * theta, 1 - 2 * theta
    separating = C * (2 * margin**2 + 2 * rejector**2)
    return separating < 400 * theta


def _off_span(data: str, theta: Fraction, C: Fraction, lift: Fraction) -> Fraction:
    """Return the objective after adding a component orthogonal to all rows to the minimiser."""
    return _at_minimiser(data, theta, C) + C * lift**2


def _at_minimiser(data: str, theta: Fraction, C: Fraction, **_: Any) -> Fraction:
    return _objective(data, *_closed_form(data, C), theta, C)


def _neighbour(data: str, theta: Fraction, C: Fraction, step: Vector) -> Fraction:
    w, v = _closed_form(data, C)
    moved = tuple(a + s for a, s in zip(w, step[:2], strict=True))
    moved_rejector = tuple(a + s for a, s in zip(v, step[2:], strict=True))
    return _objective(data, moved, moved_rejector, theta, C)


def _quadratic_program(h: Fraction, g: Fraction, y: int, theta: Fraction) -> Fraction:
    """Return min ξ subject to ξ ≥ 1 + (g − yh)/2, ξ ≥ θ(1 − g/(1−2θ)), ξ ≥ 0: the constraint that binds."""
    constraints = surrogate_pieces(y * h, g, theta)
    return next(F(x) for x in constraints if all(x >= other for other in constraints))


_CLOSED_FORM = Assumption(
    "kappa^2/(4C) <= 1 - 2 theta, where Eq. 3 has its closed form",
    # The rows of DATA have length 1, so kappa is 1.
    lambda theta, C, **_: C > 0 and 1 - 2 * theta >= 1 / (4 * C),
)
_EXPERIMENTS = Assumption(
    "C = 1 and theta >= 1/10, as in the experiments",
    lambda theta, C, **_: C == 1 and theta >= F(1, 10),
    instance=True,
)
_FITS = grid(data=DATA, theta=(F(1, 10), F(1, 5), F(3, 8)), C=(F(1),))
_STEPS: tuple[Vector, ...] = tuple(
    tuple(sign * size * F(int(i == axis)) for i in range(4))
    for axis, sign, size in product(range(4), (1, -1), (F(1, 1000), F(1, 3)))
)


def _rotated_risk(direction: tuple[int, int], theta: Fraction) -> Fraction:
    """Return the Bayes risk of x1, x2 and a candidate x1 cos + x3 sin; the direction is (cos, sin) up to a factor."""
    atoms: dict[tuple[int, int, int], list[Fraction]] = {}
    for x1, x2, x3 in product((0, 1), (0, 1), (0, 1, 2)):
        atoms.setdefault((x1, x2, direction[0] * x1 + direction[1] * x3), []).append(F(1 + 4 * x3, 12))
    shares = [(F(len(etas), 12), sum(etas, F(0)) / len(etas)) for etas in atoms.values()]
    return bayes_risk(repaired_loss, shares, theta)


def _flat_risk(theta: Fraction, flat: tuple[int, int], steep: tuple[int, int]) -> Fraction:
    return _rotated_risk(flat, theta)


CHECKS = {
    "eq-1": Check(
        cases=_NOISE,
        printed=(_risk_of_zero(strict_loss), lambda eta, theta: theta),
        corrected=(_risk_of_zero(repaired_loss), lambda eta, theta: theta),
        assumptions=(UNIT_THETA,),
    ),
    "eq-1-rejection-rule": Check(
        cases=POINTS,
        printed=(_rejects, lambda g, **_: g < 0),
        corrected=lambda g, **_: g <= 0,
        assumptions=(THETA,),
    ),
    "eq-2": Check(
        cases=grid(h=(F(0),), g=(F(-2),), y=(1,), theta=(F(3, 4), *THETAS)),
        printed=(strict_loss, surrogate),
        corrected=(lambda theta, **k: strict_loss(theta=theta, **k) if theta < F(1, 2) else 0, surrogate),
        assumptions=(UNIT_THETA, DEFINED),
    ),
    "eq-2-upper-bound": Check(
        cases=POINTS,
        printed=(repaired_loss, surrogate),
        mutant=lambda h, g, y, theta: max(1 + (g - y * h) / 2, theta * (1 - g / (1 - theta)) - theta / 2, F(0)),
        assumptions=(THETA,),
    ),
    "eq-4": Check(
        cases=grid(theta=THETAS),
        printed=(_flat_bayes(strict_loss), lambda theta: 0),
        corrected=(_flat_bayes(repaired_loss), lambda theta: 0),
        assumptions=(THETA,),
    ),
    "eq-4-value": Check(
        cases=_ETAS,
        printed=(lambda eta, theta: bayes_risk(strict_loss, [(F(1), eta)], theta), pointwise_risk),
        corrected=(lambda eta, theta: bayes_risk(repaired_loss, [(F(1), eta)], theta), pointwise_risk),
        assumptions=(THETA,),
    ),
    "eq-5": Check(
        cases=grid(eta=(F(1, 10), F(1, 2), F(9, 10)), theta=THETAS, radius=(F(1, 4), F(1), F(3))),
        printed=(_score_of_minimiser, _best_other_score),
        mutant=(lambda eta, theta, radius: F(surrogate_risk(radius, radius, eta, theta)), _best_other_score),
        assumptions=(THETA,),
    ),
    "surrogate-does-no-harm": Check(
        cases=_ETAS,
        printed=(_floor, lambda eta, theta: pointwise_risk(eta, theta) / 100),
        corrected=lambda eta, theta: (2 - 2 * theta) * pointwise_risk(eta, theta),
        assumptions=(THETA,),
    ),
    "surrogate-affine": Check(
        cases=tuple(
            {"h": s * (1 - 2 * theta), "g": t * (1 - 2 * theta), "y": y, "theta": theta}
            for s, t, y, theta in product((F(-1), F(0), F(1, 2), F(1)), (F(-1), F(1, 3), F(1)), (-1, 1), THETAS)
        ),
        printed=(surrogate, lambda h, g, y, theta: 1 + (g - y * h) / 2),
        mutant=lambda h, g, y, theta: theta - rejection_slope(theta) * g,
        assumptions=(THETA, _SMALL_VALUES),
    ),
    "eq-3": Check(
        cases=cross(_FITS, grid(step=_STEPS)),
        printed=(_at_minimiser, _neighbour),
        mutant=(lambda data, theta, C, step: _objective(data, *_closed_form(data, 2 * C), theta, C), _neighbour),
        assumptions=(THETA, _CLOSED_FORM),
    ),
    "eq-3-representer": Check(
        cases=cross(_FITS, grid(lift=(F(1, 1000), F(1)))),
        printed=(_at_minimiser, _off_span),
        mutant=lambda lift, C, **k: _off_span(lift=lift, C=C, **k) - 2 * C * lift**2,
        assumptions=(THETA, _CLOSED_FORM),
    ),
    "eq-3-quadratic-program": Check(
        cases=grid(h=(F(-2), F(0), F(2)), g=(F(-2), F(0), F(2)), y=(-1, 1), theta=(F(1, 10), F(2, 5))),
        printed=(surrogate, _quadratic_program),
        mutant=lambda h, g, y, theta: max(1 + (g - y * h) / 2, F(0)),
        assumptions=(THETA,),
    ),
    "eq-3-parameters": Check(
        cases=tuple(fit for fit in _FITS if fit["data"] == "two-clusters"),
        printed=(_accepts_some_row, lambda **_: True),
        corrected=(_sum_loss_accepts, lambda **_: True),
        assumptions=(THETA, _CLOSED_FORM, _EXPERIMENTS),
    ),
    "candidates-ranked": Check(
        cases=grid(theta=(F(1, 10), F(3, 10)), flat=((4, 3), (12, 5)), steep=((3, 4), (0, 1))),
        printed=(lambda theta, flat, steep: _rotated_risk(steep, theta), _flat_risk),
        corrected=_flat_risk,
        # At angle 0 the candidate repeats the first coordinate.
        mutant=(lambda theta, flat, steep: _rotated_risk((1, 0), theta), _flat_risk),
        assumptions=(THETA,),
    ),
    "eq-3-ball": Check(
        cases=grid(data=("two-clusters",), other=("overlap", "unbalanced"), theta=(F(1, 10),), C=(F(1),)),
        # Inside the ball a step along the solution lowers the loss, so that Lambda must be the norm on both samples.
        printed=(lambda data, other, theta, C: _norm(data, C), lambda data, other, theta, C: _norm(other, C)),
        corrected=(
            lambda data, other, theta, C: max(_dot(x, x) for name in (data, other) for x in _closed_form(name, C)),
            lambda data, other, theta, C: 1 / (4 * C) ** 2,
        ),
        assumptions=(THETA, _CLOSED_FORM),
    ),
}
