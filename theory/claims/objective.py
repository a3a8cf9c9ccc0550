"""Eq. 3, its solution, and what it selects with the paper's parameters."""

from __future__ import annotations

from fractions import Fraction
from itertools import product
from typing import Any

from theory.claims.assumptions import THETA
from theory.claims.claim import Assumption, Claim, Place, Reading
from theory.claims.exact_losses import surrogate

F = Fraction
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
    """Eq. 3 with h = <w, .> and g = <v, .>, mean loss."""
    rows = DATA[data]
    loss = sum((F(surrogate(_dot(w, x), _dot(v, x), y, theta)) for y, x in rows), F(0))
    return loss / len(rows) + C * (_dot(w, w) + _dot(v, v))


def _closed_form(data: str, C: Fraction) -> tuple[Vector, Vector]:
    """h = (1/4Cm) Σ y_j K(·, x_j) and g = −(1/4Cm) Σ K(·, x_j), as weight vectors."""
    rows = DATA[data]
    scale = 1 / (4 * C * len(rows))
    w = tuple(scale * sum((y * x[i] for y, x in rows), F(0)) for i in range(2))
    v = tuple(-scale * sum((x[i] for _, x in rows), F(0)) for i in range(2))
    return w, v


def _accepts_some_row(data: str, theta: Fraction, C: Fraction) -> bool:
    """Whether the minimiser of Eq. 3 (closed form) accepts a row."""
    _, v = _closed_form(data, C)
    return any(_dot(v, x) > 0 for _, x in DATA[data])


def _sum_loss_accepts(data: str, theta: Fraction, C: Fraction) -> bool:
    """Whether the separating pair beats every pair that rejects a row, in the sum over 400 copies of each.

    A rejected row loses at least θ, so rejecting one kind of row costs at least 400θ; a pair with
    a smaller objective proves that no minimiser rejects anything.  The pair h = ±(3 − 2θ), g = 1 − 2θ at
    two orthogonal unit rows loses nothing and has squared norms 2(3 − 2θ)² and 2(1 − 2θ)².
    """
    (_, first), (_, second) = DATA[data]
    if _dot(first, second) != 0 or not _dot(first, first) == _dot(second, second) == 1:
        raise ValueError(f"the separating pair needs two orthogonal unit rows; {data} has other rows.")
    margin, gate = 3 - 2 * theta, 1 - 2 * theta
    separating = C * (2 * margin**2 + 2 * gate**2)
    return separating < 400 * theta


def _off_span(data: str, theta: Fraction, C: Fraction, lift: Fraction) -> Fraction:
    """The objective after adding a component orthogonal to all rows to the minimiser."""
    w, v = _closed_form(data, C)
    return _objective(data, w, v, theta, C) + C * lift**2


def _at_minimiser(data: str, theta: Fraction, C: Fraction, lift: Fraction) -> Fraction:
    return _objective(data, *_closed_form(data, C), theta, C)


def _neighbour(data: str, theta: Fraction, C: Fraction, step: Vector) -> Fraction:
    w, v = _closed_form(data, C)
    moved = tuple(a + s for a, s in zip(w, step[:2], strict=True))
    gate = tuple(a + s for a, s in zip(v, step[2:], strict=True))
    return _objective(data, moved, gate, theta, C)


def _quadratic_program(h: Fraction, g: Fraction, y: int, theta: Fraction) -> Fraction:
    """min ξ subject to ξ ≥ 1 + (g − yh)/2, ξ ≥ θ(1 − g/(1−2θ)), ξ ≥ 0: the constraint that binds."""
    constraints = (1 + (g - y * h) / 2, theta - theta * g / (1 - 2 * theta), F(0))
    return next(x for x in constraints if all(x >= other for other in constraints))


def _small_penalty(theta: Fraction, C: Fraction, **_: Any) -> bool:
    # The rows of DATA have length 1, so kappa is 1.
    return C > 0 and 1 - 2 * theta >= 1 / (4 * C)


def _as_in_the_experiments(theta: Fraction, C: Fraction, **_: Any) -> bool:
    return C == 1 and theta >= F(1, 10)


_CLOSED_FORM = Assumption("kappa^2/(4C) <= 1 - 2 theta, where Eq. 3 has its closed form", _small_penalty)
_EXPERIMENTS = Assumption("C = 1 and theta >= 1/10, as in the experiments", _as_in_the_experiments)
_FITS = tuple({"data": data, "theta": theta, "C": F(1)} for data, theta in product(DATA, (F(1, 10), F(1, 5), F(3, 8))))
_STEPS: tuple[Vector, ...] = tuple(
    tuple(sign * size * F(int(i == axis)) for i in range(4))
    for axis, sign, size in product(range(4), (1, -1), (F(1, 1000), F(1, 3)))
)


def _with(**extra: Any) -> tuple[dict[str, Any], ...]:
    ((name, values),) = extra.items()
    return tuple({**fit, name: value} for fit in _FITS for value in values)


CLAIMS = (
    Claim(
        id="eq-3",
        where=Place("3.1", "Eq. 3, the objective", 199),
        statement=r"\min_{f}\tfrac1m\sum_i\ell_{surr}(f,x_i,y_i;\theta)+C_h\|h\|^2+C_g\|g\|^2",
        plain="With C_h = C_g = C and kappa^2/(4C) <= 1 - 2 theta the one minimiser of the objective is "
        "h = (1/4Cm) sum y_j K(., x_j), g = -(1/4Cm) sum K(., x_j): no step away from it is better.",
        printed="definition",
        kind="inequality",
        cases=_with(step=_STEPS),
        reading=Reading(
            lambda data, theta, C, step: _objective(data, *_closed_form(data, C), theta, C), "<", _neighbour
        ),
        mutant=Reading(
            lambda data, theta, C, step: _objective(data, *_closed_form(data, 2 * C), theta, C),
            "<",
            _neighbour,
        ),
        assumptions=(THETA, _CLOSED_FORM),
    ),
    Claim(
        id="eq-3-representer",
        where=Place("3.1", "representer theorem", 203),
        statement=r"h=\sum_iu_iK(\cdot,x_i),\quad g=\sum_iw_iK(\cdot,x_i)",
        plain=(
            "A component orthogonal to all rows leaves the losses alone and costs norm, so the minimiser is "
            "a combination of kernel functions at the rows."
        ),
        printed="holds",
        kind="inequality",
        cases=_with(lift=(F(1, 1000), F(1))),
        reading=Reading(_at_minimiser, "<", _off_span),
        mutant=Reading(_at_minimiser, "<", lambda lift, C, **k: _off_span(lift=lift, C=C, **k) - 2 * C * lift**2),
        assumptions=(THETA, _CLOSED_FORM),
    ),
    Claim(
        id="eq-3-quadratic-program",
        where=Place("3.1", "reformulation as a quadratic program", 203),
        statement=(
            r"\ell_{surr}=\min\{\xi:\xi\ge1+\tfrac12(g-yh),\ \xi\ge\theta(1-\tfrac g{1-2\theta"
            r"}),\ \xi\ge0\}"
        ),
        plain="With one slack variable per row the objective is a convex quadratic with linear constraints.",
        printed="holds",
        kind="identity",
        cases=tuple(
            {"h": h, "g": g, "y": y, "theta": theta}
            for h, g, y, theta in product((F(-2), F(0), F(2)), (F(-2), F(0), F(2)), (-1, 1), (F(1, 10), F(2, 5)))
        ),
        reading=Reading(surrogate, "==", _quadratic_program),
        mutant=Reading(surrogate, "==", lambda h, g, y, theta: max(1 + (g - y * h) / 2, F(0))),
        assumptions=(THETA,),
    ),
    Claim(
        id="eq-3-parameters",
        where=Place("5", "parameters C_h = C_g = 1 in Eq. 3", 421),
        statement=r"C_h=C_g=1\text{ in Eq. 3 gives a model that accepts some rows}",
        plain=(
            "What an experiment with these parameters needs: with the mean loss and C_h = C_g = 1 the learned "
            "model accepts some of its training rows. It does not: "
            "with a non-negative kernel g is negative everywhere, and the model rejects every "
            "point."
        ),
        printed="refuted",
        inferred=True,
        kind="counterexample",
        cases=tuple(fit for fit in _FITS if fit["data"] == "two-clusters"),
        reading=Reading(_accepts_some_row, "==", lambda **_: True),
        repaired=Reading(_sum_loss_accepts, "==", lambda **_: True),
        corrected=r"\text{Eq. 3 with the sum of the losses in place of the mean}",
        assumptions=(THETA, _CLOSED_FORM, _EXPERIMENTS),
        errata=("E3",),
    ),
    Claim(
        id="eq-3-ball",
        where=Place("4", "Eq. 3 against the ball of Section 4", 283),
        statement=r"\hat f_i\text{ of Eq. 3}\in\arg\min_{\|h\|,\|g\|\le\Lambda}\hat R_i^{surr}\ (\Lambda=1)",
        plain="The analysis takes the minimiser over a ball of radius Lambda, the algorithm the minimiser of "
        "Eq. 3. The latter lies in a ball whose radius is set by C, not by Lambda: with Lambda = 1 it does "
        "not reach the ball's boundary, where the ball's minimiser lies.",
        printed="refuted",
        kind="counterexample",
        cases=tuple({"data": data, "theta": F(1, 10), "C": F(1)} for data in DATA),
        reading=Reading(lambda data, theta, C: _dot(*(_closed_form(data, C)[1],) * 2), "==", lambda **_: F(1)),
        repaired=Reading(
            lambda data, theta, C: max(_dot(x, x) for x in _closed_form(data, C)),
            "<=",
            lambda data, theta, C: 1 / (4 * C) ** 2,
        ),
        corrected=(
            r"\|h_C\|\le\frac{\kappa}{4C_h},\ \|g_C\|\le\frac{\kappa\max(\frac12,b)}{2C_g}\text{; train ove"
            r"r the ball, or score by the full objective}"
        ),
        assumptions=(THETA, _CLOSED_FORM),
        errata=("E21",),
    ),
)
