"""At the launch budget the printed bounds say nothing: they are at least 1."""

from __future__ import annotations

from theory.proofs.derivation import Derivation, Point
from theory.proofs.derived.ceiling import ceiling, ceiling_at_most_one, ceiling_at_most_radius
from theory.proofs.derived.exponents import GAP, THETA, C, R, at_theta, launched, log_q_term, root_launch
from theory.proofs.derived.failures import below_one, geometric, negative_exponent
from theory.proofs.derived.series import turned
from theory.proofs.derived.tools import (
    F,
    chain,
    counted,
    discharge,
    positive,
    root_positive,
    settle,
    square_grows,
    theta_facts,
    zero,
)
from theory.proofs.kernel.axioms import (
    exp_positive,
    exp_tangent,
    floor_above,
    floor_below,
    increasing,
    integer_gap,
    integer_term,
    sqrt_square,
)
from theory.proofs.kernel.certificate import combine
from theory.proofs.kernel.language import Term, const, exp, floor, integer, log, same, sqrt, variables
from theory.proofs.kernel.theorem import Theorem, antisymmetric, assume, cut, instance, replace_equal

__all__ = ["DERIVATIONS"]

Built = tuple[Theorem, tuple[Theorem, ...]]
K, N = variables("K n")
X = 16 * ((C * R / GAP) * (C * R / GAP))
ROWS = floor(X) + 1
FEASIBLE = "the gap is feasible: at most 1 - inf loss, which is at most kappa*Lambda"
_PREMISES = ((ceiling() >= GAP, FEASIBLE),)


def _tiny_exponent() -> Theorem:
    """-1/1152 <= log q for x < n <= x + 1, Delta <= r, Delta <= 1 and c >= 1."""
    signs = positive(N, GAP, R, C)
    start, root = 4 * C * R / GAP, sqrt(N)
    lq = log_q_term(N, GAP, C, R)
    square = settle(sqrt_square(N), combine(zero <= N, assume(zero < N)))
    half = GAP / 2 - 2 * C * R / root
    as_square = combine(
        same(lq, const(F(-1, 18)) * (GAP * GAP) * ((root - start) * (root - start))),
        (square, const(F(2, 9)) * half * half),
        signs=signs,
    )
    far = combine(zero <= root - start, root_launch(4))
    four = combine(
        zero <= start - 4,
        (assume(GAP <= R), 4 * C / GAP),
        (assume(const(1) <= C), const(4)),
        signs=signs,
    )
    d, e = variables("d e")
    near = combine(
        d <= const(F(1, 8)),
        (assume((4 + e + d) * (4 + e + d) <= (4 + e) * (4 + e) + 1), const(F(1, 8))),
        signs=[assume(zero <= d), assume(zero <= e)],
    )
    close = chain(
        (4 + (start - 4) + (root - start)) * (4 + (start - 4) + (root - start))
        <= (4 + (start - 4)) * (4 + (start - 4)) + 1,
        square,
        assume(N <= X + 1),
        signs=signs,
    )
    eighth = cut(instance(near, d=root - start, e=start - 4), far, four, close)
    steps, gaps = square_grows(eighth, far), square_grows(assume(const(1) >= GAP), combine(zero <= GAP, signs=signs))
    u, v = variables("u v")
    lemma = combine(
        const(F(-1, 1152)) <= const(F(-1, 18)) * u * v,
        (assume(v <= const(F(1, 8)) * const(F(1, 8))), const(F(1, 18))),
        (assume(u <= const(1) * const(1)), const(F(1, 18)) * v),
        signs=[assume(zero <= v)],
    )
    found = instance(lemma, u=GAP * GAP, v=(root - start) * (root - start))
    w = variables("w")[0]
    product = cut(instance(combine(zero <= w * w, signs=[assume(zero <= w)]), w=root - start), far)
    return chain(const(F(-1, 1152)) <= lq, cut(found, steps, gaps, product), as_square)


def _gap_facts() -> tuple[Theorem, Theorem]:
    """Delta <= 1 and Delta <= r, from the ledger's premise."""
    feasible = assume(ceiling() >= GAP)
    radius = settle(ceiling_at_most_radius(), combine(zero <= R, assume(zero < R)))
    return combine(const(1) >= GAP, feasible, ceiling_at_most_one()), combine(GAP <= R, feasible, radius)


def _at_first_row(theorem: Theorem) -> Theorem:
    """The theorem at n = floor(x) + 1."""
    above = floor_above(X)
    below = combine(ROWS <= X + 1, floor_below(X))
    signs = positive(GAP, R, C)
    some = combine(zero < ROWS, above, combine(zero <= X, signs=signs))
    launch = combine(launched(16, n=ROWS), above)
    return discharge(instance(theorem, n=ROWS), above, below, some, launch)


def _closed(theorem: Theorem) -> Theorem:
    """Without c, and with the ledger's premise about the gap."""
    one, radius = _gap_facts()
    found = instance(discharge(theorem, one, radius), c=(1 - THETA) / (1 - 2 * THETA))
    facts = theta_facts(THETA)
    return discharge(found, facts[2], facts[3])


def _rows_facts() -> tuple[Theorem, ...]:
    signs = positive(GAP, R, C)
    some = combine(zero < ROWS, floor_above(X), combine(zero <= X, signs=signs))
    return theta_facts(THETA)[0], *(at_theta(one) for one in (some, root_positive(ROWS, some)))


def _uniform() -> Built:
    lq = log_q_term(N, GAP, C, R)
    q = combine(const(F(1151, 1152)) <= exp(lq), exp_tangent(lq), _tiny_exponent())
    bound = 4 * (K - 1) * exp(lq)
    y, k = variables("y k")
    lemma = combine(
        const(1) <= 4 * (k + 2 - 1) * y,
        (assume(const(F(1151, 1152)) <= y), 4),
        signs=[assume(zero <= k), assume(zero < y)],
    )
    found = discharge(
        instance(lemma, k=K - 2, y=exp(lq)), q, exp_positive(lq), combine(zero <= K - 2, assume(const(2) <= K))
    )
    return _closed(_at_first_row(combine(const(1) <= bound, found))), _rows_facts()


# --- median elimination ---------------------------------------------------------------------------------------------


def between(n: Term, y: Term, whole: Theorem, low: Theorem, high: Theorem) -> Theorem:
    """floor(y) == n, from n <= y < n + 1."""
    one = integer_gap(combine(n < floor(y) + 1, floor_above(y), low), whole, integer_term(floor(y) + 1))
    two = integer_gap(
        combine(floor(y) < n + 1, floor_below(y), high), integer_term(floor(y)), integer_term(n + 1, whole)
    )
    return antisymmetric(combine(floor(y) <= n, two), combine(n <= floor(y), one))


L = log(K) / log(2)


def _rounds_facts() -> tuple[Theorem, Theorem, Theorem]:
    """0 < log 2, 1 <= log2 K and 2 <= K log2 K, for K >= 2."""
    two = combine(zero < log(2))
    rises = increasing("log", assume(const(2) <= K), combine(zero < const(2)))
    x, y = variables("x y")
    above = combine(const(1) <= x / y, (assume(y <= x), 1 / y), signs=positive(y))
    one = discharge(instance(above, x=log(K), y=log(2)), rises, two)
    product = combine(const(2) <= K * x, (assume(const(1) <= x), K), assume(const(2) <= K), signs=[counted(K, 2)])
    return two, one, cut(instance(product, x=L), one)


def _same_rows() -> Theorem:
    """floor(ceil(n L)/L) == n for a whole number n and L = K log2 K >= 2."""
    (n, w) = variables("n w")
    budget = -floor(-(n * w))
    large = assume(const(2) <= w)
    up = combine(zero < w, large)
    enough = combine(n * w <= budget, floor_below(-(n * w)))
    little = combine(budget < n * w + 1, floor_above(-(n * w)))
    low = combine(n <= budget / w, (enough, 1 / w), signs=[up])
    high = combine(budget / w < n + 1, (little, 1 / w), (large, 1 / w), signs=[up])
    return between(n, budget / w, assume(integer(n)), low, high)


def _median() -> Built:
    two, one, whole = _rounds_facts()
    lq = log_q_term(N, GAP, C, R)
    q = combine(const(F(1151, 1152)) <= exp(lq), exp_tangent(lq), _tiny_exponent())
    width = below_one(negative_exponent())
    (e,) = variables("e")
    lemma = combine(const(1) <= 8 * (1 - e) / e, (assume(e <= const(F(1, 1152))), 9 / e), signs=positive(e))
    narrow = combine(1 - exp(lq) <= const(F(1, 1152)), q)
    found = cut(instance(lemma, e=1 - exp(lq)), narrow, width)
    z, y = variables("z y")
    same_top = combine(same(8 * (1 - (1 - z)) / y, 8 * z / y), signs=positive(y))
    top = cut(instance(same_top, z=exp(lq), y=1 - exp(lq)), width)
    bound = chain(const(1) <= geometric(lq), found, top)
    at_rows = _at_first_row(bound)
    again = cut(instance(_same_rows(), n=ROWS, w=K * L), integer_term(ROWS), whole)
    budget_rows = again.conclusion.left
    (m,) = variables("m")
    pattern = const(1) <= geometric(log_q_term(m, GAP, C, R))
    printed = replace_equal(turned(again), at_rows, pattern, "m")
    return _closed(printed), _median_facts(again, budget_rows, two, one, whole, width)


def _median_facts(
    again: Theorem, rows: Term, two: Theorem, one: Theorem, whole: Theorem, width: Theorem
) -> tuple[Theorem, ...]:
    first = combine(zero < ROWS, floor_above(X), combine(zero <= X, signs=positive(GAP, R, C)))
    some = chain(zero < rows, again, first)
    root = root_positive(rows, some)
    (m,) = variables("m")
    wide = replace_equal(turned(again), _at_first_row(width), zero < 1 - exp(log_q_term(m, GAP, C, R)), "m")
    up = combine(zero < K * L, whole)
    many = counted(K, 2)
    return theta_facts(THETA)[0], two, up, many, *(_closed(fact) for fact in (some, root, wide))


def _meant(K: int, **others: float) -> list[Point]:
    """0.1 is meant as 1/10: on the launch budget a floor turns on the last digit of a float."""
    return [{"K": K, **{name: F(f"{number:.12g}") for name, number in others.items()}}]


DERIVATIONS: tuple[Derivation, ...] = (
    Derivation(
        "lemma-1-condition",
        "At n = floor(x) + 1 the root of n exceeds that of x >= 16 by at most 1/8, so log q >= -1/1152 for every gap "
        "that the ledger allows, and exp(y) >= 1 + y.",
        _uniform,
        reads=_meant,
        premises=_PREMISES,
        says="vacuous",
    ),
    Derivation(
        "lemma-2-condition",
        "The first round of the smallest budget has n rows again, because K log2 K >= 2; as in lemma-1-condition "
        "1 - q <= 1/1152, so 8 q/(1 - q) >= 1.",
        _median,
        reads=_meant,
        premises=_PREMISES,
        says="vacuous",
    ),
)
