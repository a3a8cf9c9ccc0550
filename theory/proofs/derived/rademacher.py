"""The Rademacher complexity where the ledger knows it: one row, and the fair walk, for every number of rows.

E|S_m| <= sqrt m by |x| <= x^2/(2 sqrt m) + sqrt m/2, term by term of the binomial sum; the two moments that are left,
sum_k C(m, k) = 2^m and sum_k C(m, k) (2k - m)^2 = m 2^m, are inductions on m by Pascal's rule.
"""

from __future__ import annotations

from collections.abc import Callable

from theory.proofs.derivation import Derivation
from theory.proofs.derived.ceiling import ceiling, ceiling_at_most_radius, slope
from theory.proofs.derived.series import powers_of_two_positive
from theory.proofs.derived.tools import (
    F,
    chain,
    constant_c,
    counted,
    discharge,
    equal,
    positive,
    root_positive,
    settle,
    theta_facts,
    total_linear,
    zero,
)
from theory.proofs.kernel.axioms import (
    binomial_none,
    binomial_pascal,
    binomial_sign,
    binomial_zero,
    largest_least,
    power_next,
    sqrt_square,
    total_compare,
    total_next,
    total_none,
    where_no,
    where_yes,
)
from theory.proofs.kernel.certificate import combine
from theory.proofs.kernel.language import (
    Formula,
    Term,
    absolute,
    binomial,
    const,
    integer,
    largest,
    power,
    same,
    sqrt,
    substitute,
    total,
    variables,
    where,
)
from theory.proofs.kernel.theorem import (
    Theorem,
    antisymmetric,
    assume,
    by_cases,
    by_induction,
    cut,
    instance,
    replace_equal,
)

__all__ = ["DERIVATIONS", "first_moment"]

Built = tuple[Theorem, tuple[Theorem, ...]]
M, K, J, R, THETA = variables("m k j r theta")


def _shift(f: Callable[[Term], Term]) -> Theorem:
    """sum_(k <= m+1) C(m+1, k) f(k) == sum_(k <= m) C(m, k) (f(k) + f(k+1)), by induction on where the sums end."""
    left = binomial(M + 1, K) * f(K)
    right = binomial(M, K) * (f(K) + f(K + 1))

    def claim_at(j: Term) -> Formula:
        return same(total("k", 0, j + 1, left), total("k", 0, j, right) + binomial(M, j + 1) * f(j + 1))

    rows = (assume(integer(M)), assume(zero <= M))
    pascal = settle(binomial_pascal(M, 0), *rows)
    base = combine(
        claim_at(const(0)),
        settle(total_next("k", 0, 0, left)),
        settle(total_next("k", 0, -1, left)),
        total_none("k", 0, left),
        (settle(total_next("k", 0, -1, right)), -1),
        (total_none("k", 0, right), -1),
        (pascal, f(const(0) + 1)),
        (settle(binomial_zero(M + 1), *rows), f(const(-1) + 1)),
        (settle(binomial_zero(M), *rows), -f(const(-1) + 1)),
    )
    known = (*rows, assume(integer(J)), assume(zero <= J))
    step = combine(
        claim_at(J + 1),
        settle(total_next("k", 0, J + 1, left), *known),
        (settle(total_next("k", 0, J, right), *known), -1),
        (settle(binomial_pascal(M, J + 1), *known), f(J + 1 + 1)),
        assume(claim_at(J)),
    )
    found = instance(by_induction("j", 0, claim_at(J), base, step), j=M)
    last = settle(binomial_none(M, M + 1), *rows)
    goal = same(total("k", 0, M + 1, left), total("k", 0, M, right))
    return combine(goal, settle(found, *rows), (last, f(M + 1)))


def _zeroth() -> Theorem:
    """sum_k C(m, k) == 2^m."""
    body = binomial(M, K) * const(1)
    claim = same(total("k", 0, M, body), power(2, M))
    rows = (assume(integer(M)), assume(zero <= M))
    base = _at_none(claim, binomial(const(0), K) * const(1))
    doubled = settle(total_linear("k", 0, M, binomial(M, K) * (const(1) + 1), (2, body)), *rows)
    more = settle(power_next(2, M), *rows)
    step = combine(substitute(claim, {"m": M + 1}), _shift(lambda _: const(1)), doubled, (assume(claim), 2), (more, -1))
    return by_induction("m", 0, claim, base, step)


def _at_none(claim: Formula, body: Term) -> Theorem:
    """The claim at m = 0: one term."""
    return combine(
        substitute(claim, {"m": const(0)}),
        settle(total_next("k", 0, -1, body)),
        total_none("k", 0, body),
        (cut(binomial_zero(0), combine(zero <= zero)), body.args[1] if body.args[1].op == "const" else 0),
    )


def _second() -> Theorem:
    """sum_k C(m, k) (2k - m)^2 == m 2^m."""
    body = binomial(M, K) * ((2 * K - M) * (2 * K - M))
    claim = same(total("k", 0, M, body), M * power(2, M))
    rows = (assume(integer(M)), assume(zero <= M))
    base = _at_none(claim, substitute(body, {"m": const(0)}))

    def f(k: Term) -> Term:
        return (2 * k - (M + 1)) * (2 * k - (M + 1))

    shifted = _shift(f)
    one = binomial(M, K) * const(1)
    split = settle(total_linear("k", 0, M, binomial(M, K) * (f(K) + f(K + 1)), (2, body), (2, one)), *rows)
    more = settle(power_next(2, M), *rows)
    step = combine(
        substitute(claim, {"m": M + 1}),
        shifted,
        split,
        (assume(claim), 2),
        (_zeroth(), 2),
        (more, -(M + 1)),
    )
    return by_induction("m", 0, claim, base, step)


def first_moment() -> Theorem:
    """sum_k C(m, k) |2k - m| <= sqrt(m) 2^m, for m >= 1."""
    rows = (assume(integer(M)), assume(const(1) <= M))
    up = counted(M, 1)
    root = root_positive(M, up)
    s, x = variables("s x")
    # |x| <= x^2/(2 s) + s/2, because (x - s)^2 >= 0 and (x + s)^2 >= 0.
    squares = [_square(x - s), _square(x + s)]
    bound = x * x / (2 * s) + s / 2
    parts = [
        combine(entry <= bound, (square, 1 / (2 * s)), signs=positive(s))
        for entry, square in zip(absolute(x).args, squares, strict=True)
    ]
    one = largest_least(absolute(x), *parts)
    one = cut(instance(one, x=2 * K - M, s=sqrt(M)), root)
    low, high = one.conclusion.args
    times = combine(binomial(M, K) * low <= binomial(M, K) * high, (one, binomial(M, K)), signs=[binomial_sign(M, K)])
    sums = total_compare("k", 0, M, times)
    second, zeroth = binomial(M, K) * ((2 * K - M) * (2 * K - M)), binomial(M, K) * const(1)
    split = _split(high, second, zeroth)
    known = (*rows, combine(zero <= M, assume(const(1) <= M)))
    split = settle(split, *known, root)
    moments = [settle(one_, *known) for one_ in (_second(), _zeroth())]
    square = settle(sqrt_square(M), *known)
    return combine(
        sums.conclusion.left <= sqrt(M) * power(2, M),
        sums,
        (split, 1),
        (moments[0], 1 / (2 * sqrt(M))),
        (moments[1], sqrt(M) / 2),
        (square, -power(2, M) / (2 * sqrt(M))),
        signs=[up],
    )


def _split(high: Term, second: Term, zeroth: Term) -> Theorem:
    s = variables("s")[0]
    (v,) = variables("v")
    # 1/(2 s) as a factor v with 2 s v = 1 keeps the induction free of quotients.
    found = total_linear(
        "k", 0, M, binomial(M, K) * ((2 * K - M) * (2 * K - M) * v + s / 2), (v, second), (s / 2, zeroth)
    )
    placed = instance(found, s=sqrt(M), v=1 / (2 * sqrt(M)))
    same_terms = combine(
        same(binomial(M, K) * high, binomial(M, K) * ((2 * K - M) * (2 * K - M) * (1 / (2 * sqrt(M))) + sqrt(M) / 2)),
        signs=[counted(M, 1)],
    )
    return equal(
        total("k", 0, M, binomial(M, K) * high), placed.conclusion.right, total_compare("k", 0, M, same_terms), placed
    )


def _square(x: Term) -> Theorem:
    """0 <= x^2."""
    (z,) = variables("z")
    up = combine(zero <= z * z, signs=[assume(zero <= z)])
    return instance(by_cases(zero <= z, up, _negative_square(z)), z=x)


def _negative_square(z: Term) -> Theorem:
    (y,) = variables("y")
    lemma = combine(zero <= y * y, signs=[assume(zero <= y)])
    there = cut(instance(lemma, y=-z), combine(zero <= -z, assume(z < zero)))
    return combine(zero <= z * z, there)


# --- the ledger's statement -----------------------------------------------------------------------------------------


def complexity() -> Term:
    """Half the range for one row, r E|S_m|/m for the walk."""
    walk = R * (total("k", 0, M, binomial(M, K) * absolute(2 * K - M)) / power(2, M) / M)
    return where(const(1) >= M, _half_range(), walk)


def _rise() -> Term:
    return largest((R + R) / 2, THETA - 1 + slope(THETA) * R)


def _half_range() -> Term:
    return (_rise() + ceiling()) / 2


def _one_row() -> Theorem:
    """Half the range is at most c r."""
    width, upper, c, above = theta_facts(THETA)
    at_most = ceiling_at_most_radius()
    at_most = settle(at_most, combine(zero <= R, assume(zero < R)))
    C = constant_c(THETA)
    t, w = variables("t w")
    # b r = c r - r.
    lemma = combine(same(t / w * R, (1 - t) / w * R - R * ((1 - 2 * t) / w)), signs=positive(w))
    slopes = cut(instance(lemma, t=THETA, w=1 - 2 * THETA), width)
    unit = cut(instance(combine(same(w / w, 1), signs=positive(w)), w=1 - 2 * THETA), width)
    scaled = combine(same(R * ((1 - 2 * THETA) / (1 - 2 * THETA)), R), (unit, R))
    rc = combine(R <= C * R, (above, R), signs=positive(R))
    up = cut(instance(combine(zero <= t * R, signs=positive(t, R)), t=C), c)
    goal = 2 * (C * R) - ceiling()
    first = combine(_rise().args[0] <= goal, (rc, 2), at_most)
    second = chain(_rise().args[1] <= goal, slopes, scaled, at_most, up, upper)
    most = largest_least(_rise(), first, second)
    return combine(_half_range() <= C * R, (most, const(F(1, 2))))


def _walk() -> Theorem:
    """r E|S_m|/m <= c r/sqrt m."""
    moment = first_moment()
    up = counted(M, 1)
    rows = (assume(integer(M)), assume(const(1) <= M))
    p = powers_of_two_positive(M, *rows, combine(zero <= M, assume(const(1) <= M)))
    above = theta_facts(THETA)[3]
    a, b, s = variables("a b s")
    lemma = combine(R * (a / b / (s * s)) <= R / s, (assume(a <= s * b), R / (b * s * s)), signs=positive(R, b, s))
    found = instance(lemma, a=moment.conclusion.left, b=power(2, M), s=sqrt(M))
    found = discharge(found, moment, p, root_positive(M, up))
    square = settle(sqrt_square(M), combine(zero <= M, assume(const(1) <= M)))
    t = constant_c(THETA)
    (u,) = variables("u")
    wider = combine(R / s <= u * R / s, (assume(const(1) <= u), R / s), signs=positive(R, s))
    wide = discharge(instance(wider, u=t, s=sqrt(M)), above, root_positive(M, up))
    (z,) = variables("z")
    pattern = R * (moment.conclusion.left / power(2, M) / z) <= R / sqrt(M)
    rows_ = replace_equal(square, found, pattern, "z")
    return chain(rows_.conclusion.left <= t * R / sqrt(M), rows_, wide)


def _bound() -> Built:
    C = constant_c(THETA)
    left = complexity()
    right = C * R / sqrt(M)
    goal = left <= right
    walk = chain(goal, where_no(left, assume(const(1) < M)), _walk())
    exactly = antisymmetric(assume(const(1) >= M), assume(const(1) <= M))
    one = chain(left <= C * R, where_yes(left, assume(const(1) >= M)), _one_row())
    single = _one_root(exactly, left, one)
    found = by_cases(const(1) >= M, single, walk)
    width = theta_facts(THETA)[0]
    rows = (assume(integer(M)), assume(const(1) <= M))
    up = counted(M, 1)
    p = powers_of_two_positive(M, *rows, combine(zero <= M, assume(const(1) <= M)))
    facts = (
        width,
        up,
        p,
        root_positive(M, up),
        combine(zero <= M, assume(const(1) <= M)),
        combine(zero <= K, assume(zero <= K)),
    )
    return found, facts


def _one_root(exactly: Theorem, left: Term, one: Theorem) -> Theorem:
    """c r == c r/sqrt(1), at m = 1."""
    C = constant_c(THETA)
    (z,) = variables("z")
    at_one = combine(same(C * R, C * R / sqrt(const(1))))
    pattern = same(C * R, C * R / sqrt(z))
    back = combine(same(const(1), M), (exactly, -1))
    moved = replace_equal(back, at_one, pattern, "z")
    return chain(left <= C * R / sqrt(M), one, moved)


def _twice() -> Built:
    found, facts = _bound()
    low = found.conclusion.left
    C = constant_c(THETA)
    return combine(2 * low <= 2 * C * R / sqrt(M), (found, 2), signs=[counted(M, 1)]), facts


DERIVATIONS: tuple[Derivation, ...] = (
    Derivation(
        "a2-step-4",
        "One row: half the range, piece by piece. More rows: |x| <= x^2/(2 sqrt m) + sqrt m/2, the moments of the fair "
        "walk by induction on m (Pascal's rule), and c >= 1.",
        _bound,
    ),
    Derivation("a6-rademacher", "Twice a2-step-4.", _twice),
)
