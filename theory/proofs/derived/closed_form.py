"""Eq. 3 in the kernel's language, and its closed form: there the loss of every row is affine.

h = <w, x> and g = <v, x>; w_k = sum_j y_j x_jk/(4 C m) and v_k = -sum_j x_jk/(4 C m), for any number of rows, in any
number of dimensions, with any labels in [-1, 1].
"""

from __future__ import annotations

from collections.abc import Callable

from theory.proofs.derived.tools import (
    F,
    chain,
    counted,
    discharge,
    equal,
    positive,
    settle,
    theta_facts,
    total_constant,
    total_linear,
    zero,
)
from theory.proofs.kernel.axioms import entry_is_largest, largest_of_above, total_compare, total_next, total_none
from theory.proofs.kernel.certificate import combine
from theory.proofs.kernel.language import (
    Term,
    at,
    const,
    every,
    integer,
    largest,
    largest_of,
    same,
    substitute,
    total,
    variables,
)
from theory.proofs.kernel.theorem import (
    Theorem,
    assume,
    by_cases,
    by_induction,
    cut,
    instance,
    specialise,
)

Vector = Callable[[Term], Term]
C, THETA, M, D, ROW, J, K, P = variables("C theta m d i j k p")
HALF = const(F(1, 2))
ROWS = (assume(integer(M)), assume(const(1) <= M))
DIMENSION = (assume(integer(D)), assume(const(1) <= D))
_LABELS_LOW = every("i", 1, M, const(-1) <= at("y", ROW))
_LABELS_HIGH = every("i", 1, M, at("y", ROW) <= const(1))


def x(i: Term, k: Term) -> Term:
    """Coordinate k of row i."""
    return at("x", i, k)


def y(i: Term) -> Term:
    """The label of row i."""
    return at("y", i)


def dot(w: Vector, i: Term) -> Term:
    """<w, x_i>."""
    return total("k", 1, D, w(K) * x(i, K))


def size(w: Vector) -> Term:
    """|w|^2."""
    return total("k", 1, D, w(K) * w(K))


def mean_of(weight: Vector, end: Term = M) -> Vector:
    """sum_j weight_j x_jk."""
    return lambda k: total("j", 1, end, weight(J) * x(J, k))


def scaled(weight: Vector) -> Vector:
    """The closed form: sum_j weight_j x_jk/(4 C m)."""
    return lambda k: mean_of(weight)(k) / (4 * C * M)


def minus_one(_: Term) -> Term:
    """The weights of g."""
    return const(-1)


W, V = scaled(y), scaled(minus_one)


def first_piece(h: Term, g: Term, label: Term) -> Term:
    """1 + (g - y h)/2."""
    return 1 + HALF * (g - label * h)


def loss(h: Term, g: Term, label: Term) -> Term:
    """Eq. 2."""
    return largest(first_piece(h, g, label), THETA * (1 - g / (1 - 2 * THETA)), zero)


KAPPA2 = largest_of("i", 1, M, total("k", 1, D, x(ROW, K) * x(ROW, K)))
#: Where Eq. 3 has its closed form.
PENALTY = KAPPA2 / (4 * C) <= 1 - 2 * THETA


def _product(a: Term, b: Term, first: Theorem, second: Theorem) -> Theorem:
    """0 <= a b from 0 <= a and 0 <= b."""
    p, q = variables("p_ q_")
    lemma = combine(zero <= p * q, signs=[assume(zero <= p), assume(zero <= q)])
    return discharge(instance(lemma, p_=a, q_=b), first, second)


def _times_label(value: Term, limit: Term, weight: Term, facts: list[Theorem]) -> tuple[Theorem, Theorem]:
    """-L <= c z <= L from -1 <= c <= 1 and -L <= z <= L; facts are these four."""
    low_c, high_c, low_z, high_z = facts
    up, down = combine(zero <= 1 - weight, high_c), combine(zero <= 1 + weight, low_c)
    above, below = combine(zero <= limit + value, low_z), combine(zero <= limit - value, high_z)
    a = _product(1 - weight, limit + value, up, above)
    b = _product(1 + weight, limit - value, down, below)
    c = _product(1 - weight, limit - value, up, below)
    d = _product(1 + weight, limit + value, down, above)
    return (
        combine(-limit <= weight * value, (c, HALF), (d, HALF)),
        combine(weight * value <= limit, (a, HALF), (b, HALF)),
    )


def _gram(sign: int) -> Theorem:
    """+-<x_j, x_i> <= kappa^2, for rows i and j."""
    a, b = variables("a b")
    square = _square(a - sign * b)
    term = combine(sign * (a * b) <= HALF * (a * a) + HALF * (b * b), (square, HALF))
    terms = instance(term, a=x(J, K), b=x(ROW, K))
    sums = settle(total_compare("k", 1, D, terms), *DIMENSION)
    low, high = sums.conclusion.args
    left = settle(total_linear("k", 1, D, low.args[3], (sign, x(J, K) * x(ROW, K))), *DIMENSION)
    right = settle(
        total_linear("k", 1, D, high.args[3], (HALF, x(J, K) * x(J, K)), (HALF, x(ROW, K) * x(ROW, K))), *DIMENSION
    )
    body = total("k", 1, D, x(ROW, K) * x(ROW, K))
    mine = largest_of_above("i", 1, M, body, ROW)
    other = largest_of_above("i", 1, M, body, J)
    inner = total("k", 1, D, x(J, K) * x(ROW, K))
    both = combine(HALF * mine.conclusion.left + HALF * other.conclusion.left <= KAPPA2, (mine, HALF), (other, HALF))
    return chain(sign * inner <= KAPPA2, sums, left, right, both)


def _square(term: Term) -> Theorem:
    """0 <= z^2."""
    (z,) = variables("z_")
    up = combine(zero <= z * z, signs=[assume(zero <= z)])
    (n,) = variables("n__")
    there = cut(
        instance(combine(zero <= n * n, signs=[assume(zero <= n)]), n__=-z), combine(zero <= -z, assume(z < zero))
    )
    return instance(by_cases(zero <= z, up, combine(zero <= z * z, there)), z_=term)


def _swap(weight: Vector) -> Theorem:
    """sum_k (sum_j c_j x_jk) x_ik == sum_j c_j <x_j, x_i>, by induction on the number of rows j."""
    inner = total("k", 1, D, x(J, K) * x(ROW, K))
    claim = same(total("k", 1, D, mean_of(weight, P)(K) * x(ROW, K)), total("j", 1, P, weight(J) * inner))
    none = combine(
        same(mean_of(weight, const(0))(K) * x(ROW, K), zero), (total_none("j", 1, weight(J) * x(J, K)), x(ROW, K))
    )
    nothing = settle(total_constant("k", D, zero), *DIMENSION)
    base = equal(
        substitute(claim, {"p": const(0)}).left,
        substitute(claim, {"p": const(0)}).right,
        settle(total_compare("k", 1, D, none), *DIMENSION),
        nothing,
        total_none("j", 1, weight(J) * inner),
    )
    known = (assume(integer(P)), assume(zero <= P))
    more = settle(total_next("j", 1, P, weight(J) * x(J, K)), *known)
    opened = combine(
        same(
            mean_of(weight, P + 1)(K) * x(ROW, K),
            mean_of(weight, P)(K) * x(ROW, K) + weight(P + 1) * (x(P + 1, K) * x(ROW, K)),
        ),
        (more, x(ROW, K)),
    )
    sums = settle(total_compare("k", 1, D, opened), *DIMENSION)
    split = settle(
        total_linear(
            "k",
            1,
            D,
            opened.conclusion.right,
            (1, mean_of(weight, P)(K) * x(ROW, K)),
            (weight(P + 1), x(P + 1, K) * x(ROW, K)),
        ),
        *DIMENSION,
    )
    longer = settle(total_next("j", 1, P, weight(J) * inner), *known)
    step = equal(
        substitute(claim, {"p": P + 1}).left, substitute(claim, {"p": P + 1}).right, sums, split, longer, assume(claim)
    )
    found = by_induction("p", 0, claim, base, step)
    return settle(instance(found, p=M), *ROWS, combine(zero <= M, ROWS[1]))


def _weight_range(weight: Vector, i: Term) -> list[Theorem]:
    """-1 <= c_i <= 1."""
    if weight is minus_one:
        return [combine(const(-1) <= const(-1)), combine(const(-1) <= const(1))]
    return [specialise(_LABELS_LOW, i), specialise(_LABELS_HIGH, i)]


def _inside(weight: Vector) -> tuple[Theorem, Theorem]:
    """-(1 - 2 theta) <= <w, x_i> <= 1 - 2 theta at the closed form."""
    inner = total("k", 1, D, x(J, K) * x(ROW, K))
    low_z = combine(inner >= -KAPPA2, _gram(-1))
    high_z = combine(inner <= KAPPA2, _gram(1))
    bounds = _times_label(inner, KAPPA2, weight(J), [*_weight_range(weight, J), low_z, high_z])
    flat_low, flat_high = (settle(total_constant("j", M, one), *ROWS) for one in (-KAPPA2, KAPPA2))
    signs = [assume(zero < C), counted(M, 1)]
    swap = _swap(weight)
    factored = settle(
        total_linear(
            "k", 1, D, scaled(weight)(K) * x(ROW, K), (1 / (4 * C * M), mean_of(weight)(K) * x(ROW, K)), signs=signs
        ),
        *DIMENSION,
    )
    value = dot(scaled(weight), ROW)
    whole = combine(
        same(value, total("j", 1, M, weight(J) * inner) / (4 * C * M)), factored, (swap, 1 / (4 * C * M)), signs=signs
    )
    sums = [settle(total_compare("j", 1, M, one), *ROWS) for one in bounds]
    width = 1 - 2 * THETA
    penalty = assume(PENALTY)
    low = combine(
        -width <= value, (whole, -1), (sums[0], 1 / (4 * C * M)), (flat_low, -1 / (4 * C * M)), penalty, signs=signs
    )
    high = combine(
        value <= width, (whole, 1), (sums[1], 1 / (4 * C * M)), (flat_high, 1 / (4 * C * M)), penalty, signs=signs
    )
    return low, high


def affine() -> Theorem:
    """At the closed form the loss of every row is its first piece."""
    h, g, c, w, t = variables("h g c w t")
    limits = [assume(const(-1) <= c), assume(c <= const(1)), assume(-w <= h), assume(h <= w)]
    _, high = _times_label(h, w, c, limits)
    first = combine(1 - w <= first_piece(h, g, c), (high, HALF), (assume(-w <= g), HALF))
    second = combine(t * (1 - g / w) <= 2 * t, (assume(-w <= g), t / w), signs=positive(t, w))
    values = {"h": dot(W, ROW), "g": dot(V, ROW), "c": y(ROW), "w": 1 - 2 * THETA}
    low_h, high_h = _inside(y)
    low_g, _ = _inside(minus_one)
    width = theta_facts(THETA)[0]
    ranges = _weight_range(y, ROW)
    first_ = discharge(instance(first, **values), low_h, high_h, low_g, *ranges)
    second_ = discharge(instance(second, t=THETA, g=values["g"], w=values["w"]), low_g, width)
    pieces = loss(values["h"], values["g"], values["c"])
    top = pieces.args[0]
    bounds = [
        combine(top <= top),
        combine(pieces.args[1] <= top, first_, second_),
        combine(zero <= top, first_, (assume(zero < THETA), 2)),
    ]
    return entry_is_largest(pieces, 0, *bounds)
