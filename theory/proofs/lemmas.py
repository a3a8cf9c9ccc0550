"""The deterministic lemmas of docs/theorems.md, each proved on its region."""

from __future__ import annotations

from fractions import Fraction
from typing import Any

from theory.proofs.calibration import CALIBRATION
from theory.proofs.formulas import c, launch, log_q, pieces, slope, theta_of
from theory.proofs.losses import AFFINE, BELOW_ANY, FALL_BELOW, LOSS_ABOVE, MINIMUM
from theory.proofs.statement import Orthant, Part, Proof
from theory.proofs.vectors import ATTAINED, CAUCHY, ball_region

__all__ = ["PROOFS"]

F = Fraction


def _plain(words: str, names: str, closed: str = "", free: str = "") -> Orthant:
    return Orthant(tuple(names.split()), lambda m, **p: p, words, frozenset(closed.split()), frozenset(free.split()))


# --- Lemma A: range ---------------------------------------------------------------------------------------------

_SUP = tuple(
    Part(
        f"no piece exceeds max(1 + r, theta + b r): {name}",
        Orthant(
            ("b", "r", "x", "z"),
            lambda m, b, r, x, z: {"theta": theta_of(b), "r": r, "t": x - r, "low": z - r, "high": r - z},
            "t >= -r, -r <= s <= r",
            frozenset("xz"),
        ),
        lambda m, theta, t, low, high, index=index, **_: (
            pieces(t, high, 1, theta)[0],
            pieces(t, low, 1, theta)[1],
            0 * theta,
        )[index],
        "<=",
        lambda m, theta, r, index=index, **_: theta + slope(theta) * r if index == 1 else 1 + r,
    )
    for index, name in enumerate(("first", "second", "third"))
)
_SUP_ATTAINED = (
    Part(
        "(t, s) = (-r, r) has 1 + r",
        Orthant(("b", "r"), lambda m, b, r: {"theta": theta_of(b), "r": r}, "r > 0"),
        lambda m, theta, r: pieces(-r, r, 1, theta)[0],
        "==",
        lambda m, theta, r: 1 + r,
    ),
    Part(
        "s = -r has theta + b r",
        Orthant(("b", "r"), lambda m, b, r: {"theta": theta_of(b), "r": r}, "r > 0"),
        lambda m, theta, r: pieces(r, -r, 1, theta)[1],
        "==",
        lambda m, theta, r: theta + slope(theta) * r,
    ),
)


def _lowest(kind: str) -> tuple[Part, ...]:
    region = ball_region(kind)

    def where(theta: Any, r: Any) -> tuple[Any, Any]:
        w = 1 - 2 * theta
        return {"small": (r, -r), "middle": (r, w * (r - 2 * (1 - theta))), "large": (w + 2, w)}[kind]

    def value(m: Any, theta: Any, r: Any) -> Any:
        return m.max(*pieces(*where(theta, r), 1, theta))

    def least(m: Any, theta: Any, r: Any) -> Any:
        return {"small": 1 - r, "middle": theta * (3 - 2 * theta - r), "large": 0 * r}[kind]

    inside = (
        Part(
            f"the lowest point is in the box: s >= -r ({kind})",
            region,
            lambda m, theta, r: where(theta, r)[1] + r,
            ">=",
            lambda m, **_: m.q(0),
        ),
        Part(
            f"the lowest point is in the box: s <= r ({kind})",
            region,
            lambda m, theta, r: r - where(theta, r)[1],
            ">=",
            lambda m, **_: m.q(0),
        ),
        Part(
            f"the lowest point is in the box: t <= r ({kind})",
            region,
            lambda m, theta, r: r - where(theta, r)[0],
            ">=",
            lambda m, **_: m.q(0),
        ),
    )
    return (Part(f"the infimum is attained ({kind} ball)", region, value, "==", least), *inside)


_INF_ATTAINED = (*_lowest("small"), *_lowest("middle"), *_lowest("large"))

# --- Lemma B: replacement ---------------------------------------------------------------------------------------

_REPLACEMENT = (
    Part(
        "each piece changes by at most max((|dt| + |ds|)/2, b |ds|): the first",
        Orthant(
            ("t", "s", "x", "y", "d", "e"),
            lambda m, t, s, x, y, d, e: {"dt": x - y, "ds": s - t, "bound": (x + y + s + t) / 2 + d + e},
            "|dt| <= x + y, |ds| <= s + t",
            frozenset(("t", "s", "x", "y", "d", "e")),
        ),
        lambda m, dt, ds, bound: (ds - dt) / 2,
        "<=",
        lambda m, bound, **_: bound,
    ),
    Part(
        "(p + q)^2 <= 2 (p^2 + q^2)",
        Orthant(("q", "d"), lambda m, q, d: {"p": q + d, "q": q}, "p >= q without loss", frozenset(("q", "d"))),
        lambda m, p, q: (p + q) ** 2,
        "<=",
        lambda m, p, q: 2 * (p**2 + q**2),
    ),
    Part(
        "parallelogram: |x + y|^2 + |x - y|^2 = 2 |x|^2 + 2 |y|^2",
        _plain("Gram entries", "xx xy yy", "xx yy", "xy"),
        lambda m, xx, xy, yy: (xx + 2 * xy + yy) + (xx - 2 * xy + yy),
        "==",
        lambda m, xx, xy, yy: 2 * xx + 2 * yy,
    ),
    Part(
        "|x - y|^2 <= 2 kappa^2 for a nonnegative kernel",
        Orthant(
            ("k", "i", "j", "xy"),
            lambda m, k, i, j, xy: {"k": k, "xx": k - i, "yy": k - j, "xy": xy},
            "|x|^2, |y|^2 <= kappa^2, <x, y> >= 0",
            frozenset(("i", "j", "xy")),
        ),
        lambda m, xx, yy, xy, **_: xx + yy - 2 * xy,
        "<=",
        lambda m, k, **_: 2 * k,
    ),
    *(
        Part(
            f"ds^2 <= 2 r^2 and (|dt| + |ds|)^2 <= 8 r^2 bound the square of the change by 2 max(1, b)^2 r^2 ({kind})",
            Orthant(
                ("b", "r", "i", "j", "d"),
                lambda m, b, r, i, j, d, kind=kind: {
                    "b": 1 + d if kind == "b >= 1" else b / (b + d + 1),
                    "r": r,
                    "half_square": 2 * r**2 - i,
                    "gate_square": 2 * r**2 - j,
                },
                kind,
                frozenset(("i", "j", "d")),
            ),
            lambda m, b, half_square, gate_square, **_: (half_square, b**2 * gate_square),
            "<=",
            lambda m, b, r, kind=kind, **_: 2 * r**2 * (b**2 if kind == "b >= 1" else 1),
        )
        for kind in ("b >= 1", "b < 1")
    ),
)

# --- Lemma C: gaps ----------------------------------------------------------------------------------------------

_DISC = (
    Part(
        "(t - s)^2 <= 2 (t^2 + s^2): the first piece is at least 1 - radius/sqrt 2 on a disc",
        _plain("any t, s", "t s", "", "t s"),
        lambda m, t, s: 2 * (t**2 + s**2) - (t - s) ** 2,
        "==",
        lambda m, t, s: (t + s) ** 2,
    ),
    Part(
        "|p - q|^2 + |p + q|^2 = 2 |p|^2 + 2 |q|^2",
        _plain("Gram entries", "pp pq qq", "pp qq", "pq"),
        lambda m, pp, pq, qq: (pp - 2 * pq + qq) + (pp + 2 * pq + qq),
        "==",
        lambda m, pp, pq, qq: 2 * (pp + qq),
    ),
)

# --- Lemma E: Rademacher constant -------------------------------------------------------------------------------

_SMALL_SLOPE = Orthant(
    ("b", "d"),
    lambda m, b, d: {
        "theta": theta_of(b / (2 * b + 2 * d)),
    },
    "b < 1/2",
    frozenset("d"),
)
_LARGE_SLOPE = Orthant(("d",), lambda m, d: {"theta": theta_of(m.q(1, 2) + d)}, "b >= 1/2", frozenset("d"))
_RADEMACHER = tuple(
    part
    for region, largest, size in (
        (_SMALL_SLOPE, lambda m, b: m.q(1, 2), lambda b: 1 - 2 * b),
        (_LARGE_SLOPE, lambda m, b: b, lambda b: 2 * b - 1),
    )
    for part in (
        Part(
            "1/2 + (|1/2 - b| + 1/2 + b)/2 = 1/2 + max(1/2, b)",
            region,
            lambda m, theta, size=size: m.q(1, 2) + (size(slope(theta)) / 2 + m.q(1, 2) + slope(theta)) / 2,
            "==",
            lambda m, theta, largest=largest: m.q(1, 2) + largest(m, slope(theta)),
        ),
        Part(
            "c* <= c",
            region,
            lambda m, theta, largest=largest: m.q(1, 2) + largest(m, slope(theta)),
            "<=",
            lambda m, theta: c(theta),
        ),
    )
)

# --- the maximum behind c_d -------------------------------------------------------------------------------------
# x = sqrt q in [0, 1]. The claim x/2 + sqrt(x^2/4 + (1 - x^2) b^2) <= c_d is (c_d - x/2)^2 >= x^2/4 + (1 - x^2) b^2.

_DUAL = (
    Part(
        "b^2 <= 1/2, c_d = 1: (1 - x/2)^2 - x^2/4 - (1 - x^2) b^2 >= 0",
        Orthant(
            ("x", "rest", "d"),
            lambda m, x, rest, d: {"x": x / (x + rest), "b2": 1 / (2 + d)},
            "0 <= x < 1, b^2 <= 1/2",
            frozenset(("x", "d")),
        ),
        lambda m, x, b2: (1 - x / 2) ** 2,
        ">=",
        lambda m, x, b2: x**2 / 4 + (1 - x**2) * b2,
    ),
    Part(
        "b^2 <= 1/2, x = 1: equality, 1/2 + 1/2 = 1",
        _plain("b > 0", "b"),
        lambda m, b: (m.q(1, 2)) ** 2,
        "==",
        lambda m, b: m.q(1, 4) + 0 * b**2,
    ),
    Part(
        "b^2 >= 1/2, c_d = 2 b^2/D with D = sqrt(4 b^2 - 1) >= 1: the difference is (x D - 1)^2 (D^2 + 1)/(4 D^2)",
        Orthant(
            ("x", "k"),
            lambda m, x, k: {"x": x, "D": 1 + k},
            "any x >= 0, D >= 1",
            frozenset(("x", "k")),
        ),
        lambda m, x, D: ((D**2 + 1) / (2 * D) - x / 2) ** 2 - x**2 / 4 - (1 - x**2) * (D**2 + 1) / 4,
        "==",
        lambda m, x, D: (x * D - 1) ** 2 * (D**2 + 1) / (4 * D**2),
    ),
    Part(
        "c_d - x/2 > 0 there, so the square may be taken back",
        Orthant(
            ("x", "rest", "k"),
            lambda m, x, rest, k: {"x": x / (x + rest), "D": 1 + k},
            "0 <= x <= 1, D >= 1",
            frozenset(("x", "k")),
        ),
        lambda m, x, D: (D**2 + 1) / (2 * D) - x / 2,
        ">",
        lambda m, **_: m.q(0),
    ),
    Part(
        "c_d <= c* for b^2 > 1/2 (u = 2b >= 6/5): (1/2 + b)^2 (4 b^2 - 1) >= 4 b^4",
        Orthant(("k",), lambda m, k: {"b": m.q(3, 5) + k}, "b >= 3/5", frozenset(("k",))),
        lambda m, b: (m.q(1, 2) + b) ** 2 * (4 * b**2 - 1),
        ">=",
        lambda m, b: 4 * b**4,
    ),
)

# --- comparisons and monotonicity -------------------------------------------------------------------------------

_L16 = launch(4)


def _more_rows(constant: str) -> Orthant:
    """Rows above the launch budget, and more of them."""

    def point(m: Any, b: Any, r: Any, gap: Any, e: Any, d: Any) -> dict[str, Any]:
        start = _start(constant, b, r, gap)
        return {"root": start + e, "more": start + e + d, "b": b, "r": r, "gap": gap}

    return Orthant(("b", "r", "gap", "e", "d"), point, "above the launch budget", frozenset(("d",)))


def _start(constant: str, b: Any, r: Any, gap: Any) -> Any:
    return 4 * (1 + b) * r / gap if constant == "paper" else b * r / gap


def _exponent(constant: str) -> Any:
    """n (Delta/2 - 2 c r/sqrt n)^2, or n (Delta - a r/sqrt n)^2 with any constant a = b > 0."""

    def exponent(m: Any, root: Any, b: Any, r: Any, gap: Any, **_: Any) -> Any:
        if constant == "paper":
            return root**2 * (gap / 2 - 2 * (1 + b) * r / root) ** 2
        return root**2 * (gap - b * r / root) ** 2

    return exponent


_MONOTONE = tuple(
    Part(
        f"the exponent grows with n ({name})",
        _more_rows(constant),
        _exponent(constant),
        "<=",
        lambda m, more, constant=constant, **p: _exponent(constant)(m, **{**p, "root": more}),
    )
    for constant, name in (("paper", "Lemma 4 and its repair"), ("any", "Theorem 2, any constant c_d or 2 c*"))
)
_MORE_PULLS = (
    Part(
        "floor(B/k) does not fall with B: B = q k + rest, B + 1 <= (q + 1) k or the same q",
        Orthant(
            ("k", "q", "rest", "d"),
            lambda m, k, q, rest, d: {"low": (q * k + rest) / k, "high": (q * k + rest + d) / k},
            "more budget",
            frozenset(("q", "rest", "d")),
        ),
        lambda m, low, **_: low,
        "<=",
        lambda m, high, **_: high,
    ),
    Part(
        "a regret c r/sqrt n + M sqrt(L/2)/sqrt n falls with n",
        _plain("s, more rows s + d", "a s d", "d"),
        lambda m, a, s, d: a / (s + d),
        "<=",
        lambda m, a, s, d: a / s,
    ),
)
_CORRECTED = (
    Part(
        "2 exp(-2 n x^2/M^2) <= 4 exp(-(2/9) n x^2) for M <= 3: the exponents",
        Orthant(
            ("n", "x", "M", "rest"),
            lambda m, n, x, M, rest: {"n": n, "x": x, "M": 3 * M / (M + rest)},
            "0 < M <= 3",
            frozenset(("n", "x", "rest")),
        ),
        lambda m, n, x, M: m.q(2, 9) * n * x**2,
        "<=",
        lambda m, n, x, M: 2 * n * x**2 / M**2,
    ),
    Part(
        "2 c r + 2 M s <= 4 c r + 2 s for M <= 1: the regret",
        Orthant(
            ("b", "r", "s", "M", "rest"),
            lambda m, b, r, s, M, rest: {"c": 1 + b, "r": r, "s": s, "M": M / (M + rest)},
            "0 < M <= 1",
            frozenset(("r", "s", "rest")),
        ),
        lambda m, c, r, s, M: 2 * c * r + 2 * M * s,
        "<=",
        lambda m, c, r, s, M: 4 * c * r + 2 * s,
    ),
)
_SMALLER_GAP = Part(
    "log q falls with the gap",
    Orthant(
        ("b", "r", "gap", "e", "d"),
        lambda m, d, **others: {**_L16.point(m, **others), "larger": others["gap"] + d},
        "above the launch budget",
        frozenset(("d",)),
    ),
    lambda m, n, larger, theta, r, **_: log_q(m, n, larger, theta, r),
    "<=",
    lambda m, n, gap, theta, r, **_: log_q(m, n, gap, theta, r),
)

PROOFS: tuple[Proof, ...] = (
    Proof(
        "lemma-a-range",
        "Upper bounds piece by piece and the two corners that attain them; lower bounds by a mixture of the pieces, "
        "for the three sizes of the ball, and the points that attain them.",
        (*_SUP, *_SUP_ATTAINED, *LOSS_ABOVE, *_INF_ATTAINED),
    ),
    Proof(
        "lemma-b-replacement",
        "The maximum of affine pieces changes by at most their largest change. Equal labels: |dt| + |ds| <= 2 sqrt 2 r "
        "from |Phi - Phi'|^2 <= 2 kappa^2. Other labels: from the parallelogram and (p + q)^2 <= 2 (p^2 + q^2).",
        _REPLACEMENT,
    ),
    Proof(
        "lemma-c-gaps",
        "Every risk is at least inf l, f = 0 has the loss 1; in the affine regime the disc of Jensen's inequality.",
        (*LOSS_ABOVE, *FALL_BELOW, BELOW_ANY, *_DISC),
    ),
    Proof(
        "lemma-d-affine",
        "The first piece is the largest; Cauchy-Schwarz for the two norms.",
        (*AFFINE, CAUCHY, ATTAINED),
    ),
    Proof("lemma-e-rademacher", "The sum of the coefficients, for b below and above 1/2.", _RADEMACHER),
    Proof(
        "lemma-f-calibration",
        "The minimum by duality, and the three kinds of decisions; by symmetry eta <= 1/2.",
        (*MINIMUM, *CALIBRATION),
    ),
    Proof("theorem-1-maximum", "A factor for b^2 <= 1/2, a square for b^2 >= 1/2; c_d <= c*.", _DUAL),
    Proof("corrected-below-paper", "Exponent by exponent and term by term.", _CORRECTED),
    Proof("monotone-in-n", "s Delta/2 - 2 c r is positive and grows with s = sqrt n.", (*_MONOTONE, _SMALLER_GAP)),
    Proof(
        "required-budgets",
        "n_t = floor(B/(T a_t)) does not fall with B and no bound rises with n, so what works at B works at B + 1: the "
        "budget that bisection finds is the smallest that works, and all larger ones work.",
        (*_MORE_PULLS, *_MONOTONE),
    ),
)
