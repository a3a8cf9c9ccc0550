"""Proofs of the claims about the two losses, the objective of Eq. 3, the ball and the Rademacher complexity."""

from __future__ import annotations

from dataclasses import replace
from fractions import Fraction
from typing import Any

from theory.claims.exact_losses import best_surrogate
from theory.proofs.formulas import c, pieces, slope, theta_of
from theory.proofs.statement import Orthant, Part, Proof, Side

__all__ = [
    "AFFINE",
    "ATTAINED",
    "BELOW_ANY",
    "CAUCHY",
    "DOMINATED",
    "FALL_BELOW",
    "LOSS_ABOVE",
    "MINIMUM",
    "PROOFS",
    "ball_region",
    "combined",
    "product_weights",
]

F = Fraction
THETA_WORDS = "0 < theta < 1/2"


def _signed(y: int, **values: Any) -> dict[str, Any]:
    return {**values, "h": y * values["h"], "y": y}


# --- Eq. 2 --------------------------------------------------------------------------------------------------


def _small_ball(y: int) -> Orthant:
    """t = y h <= 1 - 2 theta and g >= -(1 - 2 theta): more than |h|, |g| <= 1 - 2 theta."""

    def point(m: Any, b: Any, x: Any, z: Any) -> dict[str, Any]:
        w = 1 - 2 * theta_of(b)
        return _signed(y, h=w - x, g=z - w, theta=theta_of(b))

    def coordinates(m: Any, h: Any, g: Any, theta: Any, **p: Any) -> dict[str, Any]:
        w = 1 - 2 * theta
        return {"b": slope(theta), "x": w - y * h, "z": g + w, "label": y * p["y"] - 1}

    return Orthant(
        ("b", "x", "z"), point, f"|h|, |g| <= 1 - 2 theta, y = {y}", frozenset("xz"), coordinates=coordinates
    )


def _surrogate(m: Any, h: Any, g: Any, y: int, theta: Any, **_: Any) -> Any:
    return m.max(*pieces(h, g, y, theta))


AFFINE = tuple(
    Part(
        "the first piece is the largest",
        _small_ball(y),
        _surrogate,
        "==",
        lambda m, h, g, y, theta: 1 + (g - y * h) / 2,
        "both",
    )
    for y in (1, -1)
)


def _sign_case(y: int, kind: str) -> Orthant:
    """reject: g <= 0; wrong: g > 0 and y h <= 0; right: g > 0 and y h > 0."""

    def point(m: Any, b: Any, x: Any, z: Any) -> dict[str, Any]:
        t, g = {"reject": (x, -z), "wrong": (-x, z), "right": (x, z)}[kind]
        return _signed(y, h=t, g=g, theta=theta_of(b))

    def coordinates(m: Any, h: Any, g: Any, theta: Any, **p: Any) -> dict[str, Any]:
        t = y * h
        x, z = {"reject": (t, -g), "wrong": (-t, g), "right": (t, g)}[kind]
        return {"b": slope(theta), "x": x, "z": z, "label": y * p["y"] - 1}

    words = {"reject": "g <= 0", "wrong": "g > 0, y h <= 0", "right": "g > 0, y h > 0"}[kind]
    closed = {"reject": frozenset("xz"), "wrong": frozenset("x"), "right": frozenset[str]()}[kind]
    free = frozenset("x") if kind == "reject" else frozenset[str]()
    return Orthant(("b", "x", "z"), point, f"{words}, y = {y}", closed, free, coordinates)


def _dominated(kind: str, weights: tuple[int, int, int]) -> tuple[Part, ...]:
    losses: dict[str, Side] = {
        "reject": lambda m, theta, **_: theta,
        "wrong": lambda m, **_: m.q(1),
        "right": lambda m, **_: m.q(0),
    }
    return tuple(
        Part(
            f"the 0-1 loss is at most the surrogate: {kind}",
            _sign_case(y, kind),
            losses[kind],
            "<=",
            lambda m, h, g, y, theta: pieces(h, g, y, theta),
            "both",
            weights=lambda m, **_: weights,
        )
        for y in (1, -1)
    )


DOMINATED = (*_dominated("reject", (0, 1, 0)), *_dominated("wrong", (1, 0, 0)), *_dominated("right", (0, 0, 1)))


def _ordered(first: int, y: int) -> Orthant:
    """Three numbers of which the one with index ``first`` is the largest, as the pieces of Eq. 2."""

    def point(m: Any, a: Any, d: Any, e: Any) -> dict[str, Any]:
        rest = iter((a - d, a - e))
        return {f"piece{i}": a if i == first else next(rest) for i in range(3)}

    return Orthant(("a", "d", "e"), point, f"piece {first + 1} is the largest", frozenset("de"), frozenset("a"))


_QP = (
    *(
        Part(
            "the second constraint is the second piece",
            Orthant(
                ("b", "h", "g"),
                lambda m, b, h, g: {"theta": theta_of(b), "h": h, "g": g, "y": 1},
                THETA_WORDS,
                free=frozenset("hg"),
            ),
            lambda m, h, g, y, theta: pieces(h, g, y, theta)[1],
            "==",
            lambda m, g, theta, **_: theta - theta * g / (1 - 2 * theta),
        ),
    ),
    *(
        Part(
            "the smallest number that is not below any of three is the largest of them",
            _ordered(first, 1),
            lambda m, **p: m.max(*p.values()),
            "==",
            lambda m, first=first, **p: p[f"piece{first}"],
        )
        for first in range(3)
    ),
)

# --- the smallest conditional surrogate risk (Lemma F, first half) -------------------------------------------


def combined(m: Any, h: Any, g: Any, eta: Any, theta: Any, **_: Any) -> tuple[Any, ...]:
    """All sums eta (a piece for y = 1) + (1 - eta) (a piece for y = -1); the risk is the largest."""
    plus, minus = pieces(h, g, 1, theta), pieces(h, g, -1, theta)
    return tuple(eta * one + (1 - eta) * other for one in plus for other in minus)


def product_weights(plus: tuple[Any, Any, Any], minus: tuple[Any, Any, Any]) -> tuple[Any, ...]:
    """Weights of the nine sums from those of the pieces of the two labels."""
    return tuple(a * b for a in plus for b in minus)


def _mirror(minority: str, plus: Any, minus: Any) -> tuple[Any, ...]:
    return product_weights(plus, minus) if minority == "+" else product_weights(minus, plus)


def _rare(minority: str) -> Part:
    """eta or 1 - eta is at most theta: (3 - 2 theta) eta."""

    def point(m: Any, b: Any, k: Any, h: Any, g: Any) -> dict[str, Any]:
        theta = theta_of(b)
        small = theta / (1 + k)
        return {"eta": small if minority == "+" else 1 - small, "theta": theta, "h": h, "g": g}

    def coordinates(m: Any, eta: Any, theta: Any, h: Any, g: Any, **_: Any) -> dict[str, Any]:
        small = eta if minority == "+" else 1 - eta
        return {"b": slope(theta), "k": theta / small - 1, "h": h, "g": g}

    def weights(m: Any, eta: Any, theta: Any, **_: Any) -> tuple[Any, ...]:
        small = eta if minority == "+" else 1 - eta
        one, two = small / (1 - small), small / ((1 - small) * slope(theta))
        return _mirror(minority, (1, 0, 0), (one, two, 1 - one - two))

    region = Orthant(
        ("b", "k", "h", "g"), point, "0 < min(eta, 1 - eta) <= theta", frozenset("k"), frozenset("hg"), coordinates
    )
    return _minimum_part(region, weights, lambda eta, theta: eta if minority == "+" else 1 - eta)


def _middle(minority: str) -> Part:
    """theta <= min(eta, 1 - eta): (3 - 2 theta) theta."""

    def point(m: Any, b: Any, k: Any, rest: Any, h: Any, g: Any) -> dict[str, Any]:
        theta = theta_of(b)
        small = (theta * rest + k / 2) / (k + rest)
        return {"eta": small if minority == "+" else 1 - small, "theta": theta, "h": h, "g": g}

    def coordinates(m: Any, eta: Any, theta: Any, h: Any, g: Any, **_: Any) -> dict[str, Any]:
        small = eta if minority == "+" else 1 - eta
        return {"b": slope(theta), "k": small - theta, "rest": m.q(1, 2) - small, "h": h, "g": g}

    def weights(m: Any, eta: Any, theta: Any, **_: Any) -> tuple[Any, ...]:
        small = eta if minority == "+" else 1 - eta
        few, many = theta / small, theta / (1 - small)
        return _mirror(minority, (few, 1 - few, 0), (many, 1 - many, 0))

    region = Orthant(
        ("b", "k", "rest", "h", "g"),
        point,
        "theta <= min(eta, 1 - eta) < 1/2",
        frozenset("k"),
        frozenset("hg"),
        coordinates,
    )
    return _minimum_part(region, weights, lambda eta, theta: theta)


def _edge(eta: Fraction) -> Part:
    """eta = 0, 1 or 1/2, where the other regions do not reach."""

    def point(m: Any, b: Any, h: Any, g: Any) -> dict[str, Any]:
        return {"eta": m.q(eta.numerator, eta.denominator), "theta": theta_of(b), "h": h, "g": g}

    def weights(m: Any, theta: Any, **_: Any) -> tuple[Any, ...]:
        if eta != F(1, 2):
            return product_weights((0, 0, 1), (0, 0, 1))
        return product_weights((2 * theta, 1 - 2 * theta, 0), (2 * theta, 1 - 2 * theta, 0))

    region = Orthant(
        ("b", "h", "g"),
        point,
        f"eta = {eta}",
        free=frozenset("hg"),
        coordinates=lambda m, h, g, theta, **p: {
            "b": slope(theta),
            "h": h,
            "g": g,
            "same": -abs(p["eta"] - m.q(eta.numerator, eta.denominator)),
        },
    )
    return _minimum_part(region, weights, lambda _, theta: theta if eta == F(1, 2) else 0 * theta)


def _minimum_part(region: Orthant, weights: Any, bayes: Any) -> Part:
    return Part(
        "risk - Bayes risk >= (2 - 2 theta) Bayes risk",
        region,
        lambda m, eta, theta, **k: tuple(one - bayes(eta, theta) for one in combined(m, eta=eta, theta=theta, **k)),
        ">=",
        lambda m, eta, theta, **_: (2 - 2 * theta) * bayes(eta, theta),
        "both",
        weights=weights,
    )


MINIMUM = (
    _rare("+"),
    _rare("-"),
    _middle("+"),
    _middle("-"),
    *(_edge(eta) for eta in (F(0), F(1), F(1, 2))),
)


def _with_minimiser(eta: Fraction, theta: Fraction, radius: Fraction) -> dict[str, Any]:
    _, h, g = best_surrogate(eta, theta, radius)
    return {"eta": eta, "theta": theta, "h": h, "g": g}


# --- the range of the loss (Lemma A) ---------------------------------------------------------------------------
# With w = 1 - 2 theta and |t|, |s| <= r: 1 - inf l is r for r <= w and min(1, 1 - theta (3 - 2 theta - r)) beyond.


def _ball(kind: str) -> Orthant:
    """t = r - x, s = -r + z, and r <= w (small), w <= r <= 3 - 2 theta (middle), r >= 3 - 2 theta (large)."""

    def radius(m: Any, b: Any, k: Any, rest: Any) -> Any:
        w = 1 - 2 * theta_of(b)
        if kind == "small":
            return w * k / (k + rest)
        return (w * rest + (w + 2) * k) / (k + rest) if kind == "middle" else w + 2 + k

    def point(m: Any, b: Any, k: Any, rest: Any, x: Any, z: Any) -> dict[str, Any]:
        r = radius(m, b, k, rest)
        return {"theta": theta_of(b), "r": r, "t": r - x, "s": z - r}

    closed = {"small": frozenset("xz"), "middle": frozenset("kxz"), "large": frozenset("kxz")}[kind]
    words = {"small": "r < 1 - 2 theta", "middle": "1 - 2 theta <= r < 3 - 2 theta", "large": "r >= 3 - 2 theta"}[kind]
    return Orthant(("b", "k", "rest", "x", "z"), point, f"{words}, |t|, |s| <= r", closed)


def _fall(kind: str) -> Any:
    def fall(m: Any, theta: Any, r: Any, **_: Any) -> Any:
        return {"small": r, "middle": 1 - theta * (3 - 2 * theta - r), "large": m.q(1)}[kind]

    return fall


def _cross_weights(m: Any, theta: Any, **_: Any) -> tuple[Any, ...]:
    """Weights 2 theta and 1 - 2 theta, for which s cancels: theta - b (1 - 2 theta) = 0."""
    return 2 * theta, 1 - 2 * theta, 0


LOSS_ABOVE = tuple(
    Part(
        f"the loss is at least 1 minus its fall ({kind} ball)",
        _ball(kind),
        lambda m, theta, t, s, **_: pieces(t, s, 1, theta),
        ">=",
        lambda m, kind=kind, **p: 1 - _fall(kind)(m, **p),
        weights=weights,
    )
    for kind, weights in (
        ("small", lambda m, **_: (1, 0, 0)),
        ("middle", _cross_weights),
        ("large", lambda m, **_: (0, 0, 1)),
    )
)
FALL_BELOW = tuple(
    Part(
        f"the fall is at most {name} ({kind} ball)",
        _ball(kind),
        _fall(kind),
        "<=",
        lambda m, r, name=name, **_: r if name == "r" else m.q(1),
    )
    for kind in ("small", "middle", "large")
    for name in ("r", "1")
)
BELOW_ANY = Part(
    "f = 0 has the loss 1",
    Orthant(("b",), lambda m, b: {"theta": theta_of(b)}, THETA_WORDS),
    lambda m, theta: m.max(*pieces(0 * theta, 0 * theta, 1, theta)),
    "==",
    lambda m, theta: m.q(1),
)

# --- inner products: Gram entries as variables ----------------------------------------------------------------

CAUCHY = Part(
    "|ax - bw|^2 = a (ac - b^2) with a = <w,w>, b = <w,x>, c = <x,x>, so b^2 <= ac",
    Orthant(("a", "b", "c"), lambda m, **p: p, "Gram entries", frozenset("ac"), frozenset("b")),
    lambda m, a, b, c: a**2 * c - 2 * a * b * b + b**2 * a,
    "==",
    lambda m, a, b, c: a * (a * c - b**2),
)
ATTAINED = Part(
    "w = L x / |x| has <w, x> = L |x| and norm L",
    Orthant(("L", "norm"), lambda m, **p: p, "L, |x| > 0"),
    lambda m, L, norm: (L / norm) * norm**2,
    "==",
    lambda m, L, norm: L * norm,
)
_SQUARE = Part(
    "completing the square: the first piece plus the penalties is its minimum plus C |w - A/4C|^2 + C |v + B/4C|^2",
    Orthant(
        ("C", "ww", "wA", "AA", "vv", "vB", "BB"),
        lambda m, **p: p,
        "Gram entries of w, v, A = mean y Phi, B = mean Phi; C > 0",
        frozenset(("ww", "AA", "vv", "BB")),
        frozenset(("wA", "vB")),
    ),
    lambda m, C, ww, wA, AA, vv, vB, BB: (1 + (vB - wA) / 2 + C * (ww + vv)) - (1 - (AA + BB) / (16 * C)),
    "==",
    lambda m, C, ww, wA, AA, vv, vB, BB: (
        C * (ww - wA / (2 * C) + AA / (16 * C**2)) + C * (vv + vB / (2 * C) + BB / (16 * C**2))
    ),
)
_VALUE = Part(
    "at w = A/4C, v = -B/4C the first piece plus the penalties is 1 - (|A|^2 + |B|^2)/16C",
    Orthant(("C", "AA", "BB"), lambda m, **p: p, "C > 0", frozenset(("AA", "BB"))),
    lambda m, C, AA, BB: 1 + (-BB / (4 * C) - AA / (4 * C)) / 2 + C * (AA + BB) / (16 * C**2),
    "==",
    lambda m, C, AA, BB: 1 - (AA + BB) / (16 * C),
)
_MEAN = Part(
    "a mean of vectors of length at most kappa is not longer: by induction from m to m + 1 rows (<u,x> <= kappa^2)",
    Orthant(
        ("k2", "i", "j", "d", "rows"),
        lambda m, k2, i, j, d, rows: {"k2": k2, "uu": k2 - j, "ux": k2 - d, "xx": k2 - i, "rows": rows},
        "<u,u>, <u,x>, <x,x> <= kappa^2",
        frozenset(("i", "j", "d")),
    ),
    lambda m, k2, uu, ux, xx, rows: (rows**2 * uu + 2 * rows * ux + xx) / (rows + 1) ** 2,
    "<=",
    lambda m, k2, **_: k2,
)
_INSIDE = Part(
    "kappa^2/(4C) <= 1 - 2 theta puts |<A/4C, Phi>| <= kappa^2/(4C) into the affine regime",
    Orthant(
        ("b", "kappa2", "d"),
        lambda m, b, kappa2, d: {
            "w": 1 - 2 * theta_of(b),
            "C": (kappa2 + d) / (4 * (1 - 2 * theta_of(b))),
            "k2": kappa2,
        },
        "C >= kappa^2 / (4 (1 - 2 theta))",
        frozenset("d"),
    ),
    lambda m, w, C, k2: k2 / (4 * C),
    "<=",
    lambda m, w, **_: w,
)
_ORTHOGONAL = Part(
    "a component u orthogonal to all rows adds C |u|^2 > 0 and changes no loss",
    Orthant(("J", "C", "lift"), lambda m, **p: p, "C > 0, |u| > 0", free=frozenset("J")),
    lambda m, J, C, lift: J,
    "<",
    lambda m, J, C, lift: J + C * lift**2,
)


# --- the Rademacher complexity ----------------------------------------------------------------------------------


def _half_range(m: Any, kind: str, theta: Any, r: Any) -> tuple[Any, Any]:
    """(sup l - inf l)/2 as the larger of its two candidates."""
    fall = _fall(kind)(m, theta=theta, r=r)
    return (r + fall) / 2, (theta - 1 + slope(theta) * r + fall) / 2


def ball_region(kind: str) -> Orthant:
    """theta and r of a small, middle or large ball."""
    inner = _ball(kind)
    return Orthant(
        ("b", "k", "rest"),
        lambda m, b, k, rest: {
            name: value
            for name, value in inner.point(m, b=b, k=k, rest=rest, x=0 * b, z=0 * b).items()
            if name in ("theta", "r")
        },
        inner.words,
        inner.closed - frozenset("xz"),
    )


RADEMACHER_ONE = tuple(
    Part(
        f"one row: half the range is at most c r ({kind} ball)",
        ball_region(kind),
        lambda m, theta, r, kind=kind: _half_range(m, kind, theta, r),
        "<=",
        lambda m, theta, r: c(theta) * r,
    )
    for kind in ("small", "middle", "large")
)
_WALK = (
    Part(
        "E (S + sigma)^2 = E S^2 + 1 for a fair sign: so E S_n^2 = n",
        Orthant(("ESS", "ES"), lambda m, **p: p, "moments", frozenset(("ESS",)), frozenset(("ES",))),
        lambda m, ESS, ES: ((ESS + 2 * ES + 1) + (ESS - 2 * ES + 1)) / 2,
        "==",
        lambda m, ESS, ES: ESS + 1,
    ),
    Part(
        "E (|S| - a)^2 = E S^2 - a^2 for a = E |S|: so (E |S|)^2 <= n",
        Orthant(("ESS", "a"), lambda m, **p: p, "moments", frozenset(("ESS", "a"))),
        lambda m, ESS, a: ESS - 2 * a * a + a**2,
        "==",
        lambda m, ESS, a: ESS - a**2,
    ),
    Part(
        "affine regime: r E|S_n|/n <= r/sqrt n <= c r/sqrt n",
        Orthant(
            ("b", "r", "s", "d"),
            lambda m, b, r, s, d: {"theta": theta_of(b), "r": r, "root": s + d, "mean": s},
            "E|S_n| <= sqrt n",
            frozenset(("d",)),
        ),
        lambda m, r, root, mean, **_: r * mean / root**2,
        "<=",
        lambda m, theta, r, root, **_: c(theta) * r / root,
    ),
)
_RADEMACHER = (
    "One row: half the range, by the three sizes of the ball. Affine regime: Jensen's inequality for the walk."
)

PROOFS: tuple[Proof, ...] = (
    Proof("surrogate-affine", "Both labels; the region of the parts is larger than the ball.", AFFINE),
    Proof(
        "eq-2-upper-bound",
        "Reject, wrong label, right label: one piece of the surrogate is enough in each case.",
        DOMINATED,
    ),
    Proof(
        "eq-3-quadratic-program",
        "The constraints are the pieces, and the least feasible number is the largest.",
        _QP,
        sides=(
            _surrogate,
            lambda m, h, g, y, theta: m.max(1 + (g - y * h) / 2, theta - theta * g / (1 - 2 * theta), m.q(0)),
        ),
    ),
    Proof(
        "eq-3",
        "The objective is at least its first piece with the penalties, which is a constant plus C times squared "
        "distances from the closed form; there the two agree, by the affine regime.",
        (_SQUARE, _VALUE, CAUCHY, _MEAN, _INSIDE, *(replace(part, reads="") for part in AFFINE)),
    ),
    Proof("eq-3-representer", "Pythagoras.", (_ORTHOGONAL,)),
    Proof(
        "hypothesis-ball",
        "Cauchy-Schwarz from the Gram entries (for w = 0 both sides are 0), and the vector that attains it.",
        (CAUCHY, ATTAINED),
    ),
    Proof(
        "r-ap",
        "For every (h, g), and so for the best of any ball: a mixture of the pieces of the two labels in which h and g "
        "cancel (linear programming duality). The regions of eta cover [0, 1].",
        MINIMUM,
        adapt=_with_minimiser,
    ),
    Proof(
        "eq-7",
        "Lemma C: no risk is below inf l, and that of the best arm is at most the risk 1 of f = 0.",
        (*LOSS_ABOVE, *FALL_BELOW, BELOW_ANY),
    ),
    Proof("a2-step-4", _RADEMACHER, (*RADEMACHER_ONE, *_WALK)),
    Proof("a6-rademacher", "Twice a2-step-4.", (*RADEMACHER_ONE, *_WALK)),
)
