"""Proofs of the claims about the two losses at one point: pieces, minimum, range."""

from __future__ import annotations

from fractions import Fraction
from typing import Any

from theory.claims.exact_losses import best_surrogate
from theory.proofs.formulas import pieces, slope, theta_of
from theory.proofs.statement import Orthant, Part, Proof, Side

__all__ = [
    "AFFINE",
    "BELOW_ANY",
    "DOMINATED",
    "FALL_BELOW",
    "LOSS_ABOVE",
    "MINIMUM",
    "PROOFS",
    "ball_points",
    "combined",
    "fall_of",
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


def ball_points(kind: str) -> Orthant:
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


def fall_of(kind: str) -> Any:
    def fall(m: Any, theta: Any, r: Any, **_: Any) -> Any:
        return {"small": r, "middle": 1 - theta * (3 - 2 * theta - r), "large": m.q(1)}[kind]

    return fall


def _cross_weights(m: Any, theta: Any, **_: Any) -> tuple[Any, ...]:
    """Weights 2 theta and 1 - 2 theta, for which s cancels: theta - b (1 - 2 theta) = 0."""
    return 2 * theta, 1 - 2 * theta, 0


LOSS_ABOVE = tuple(
    Part(
        f"the loss is at least 1 minus its fall ({kind} ball)",
        ball_points(kind),
        lambda m, theta, t, s, **_: pieces(t, s, 1, theta),
        ">=",
        lambda m, kind=kind, **p: 1 - fall_of(kind)(m, **p),
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
        ball_points(kind),
        fall_of(kind),
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

PROOFS: tuple[Proof, ...] = (
    Proof("surrogate-affine", "Both labels; the region of the parts is larger than the ball.", AFFINE),
    Proof(
        "eq-2-upper-bound",
        "Reject, wrong label, right label: one piece of the surrogate is enough in each case.",
        DOMINATED,
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
)
