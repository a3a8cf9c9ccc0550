"""The failure probabilities against each other and against their order."""

from __future__ import annotations

from theory.proofs.derivation import Derivation, Point
from theory.proofs.derived.exponents import (
    GAP,
    LAUNCH_64,
    THETA,
    C,
    N,
    R,
    at_theta,
    defined_facts,
    large_exponent,
    launched,
    log_q_term,
    margin_term,
    root_launch,
    small_q,
)
from theory.proofs.derived.series import power_positive
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
    square_grows,
    zero,
)
from theory.proofs.kernel.axioms import (
    exp_log,
    exp_positive,
    exp_sum,
    exp_zero,
    increasing,
    log_exp,
    log_product,
    power_next,
    where_no,
    where_yes,
)
from theory.proofs.kernel.certificate import combine
from theory.proofs.kernel.language import (
    Term,
    const,
    exp,
    integer,
    log,
    power,
    same,
    sqrt,
    variables,
    where,
)
from theory.proofs.kernel.theorem import (
    Theorem,
    absurd,
    assume,
    by_cases,
    by_induction,
    cut,
    instance,
    negation,
)

__all__ = ["DERIVATIONS", "below_one", "geometric", "negative_exponent"]

Built = tuple[Theorem, tuple[Theorem, ...]]
T, q = variables("T q")


def geometric(log_of_q: Term) -> Term:
    """8 q/(1 - q), from log q."""
    return 8 * exp(log_of_q) / (1 - exp(log_of_q))


def below_one(negative: Theorem) -> Theorem:
    """0 < 1 - exp(x) from x < 0."""
    (x, _) = negative.conclusion.args
    rises = increasing("exp", negative)
    return chain(zero < 1 - exp(x), rises, exp_zero())


def _order() -> Built:
    """log 8 q/(1-q) <= log 8 Q/(1-P), with q <= Q <= P < 1."""
    signs = positive(N, GAP, R, C)
    small, large = small_q(), large_exponent()
    lq, lQ = small.conclusion.args
    lP = -large.conclusion.left
    first = increasing("exp", small)
    second = increasing("exp", combine(lQ <= lP, large, signs=signs))
    strict = combine(lP < zero, signs=signs)
    width = below_one(strict)
    x, y, d, e = variables("x y d e")
    fractions = combine(
        8 * x / e <= 8 * y / d,
        (assume(x <= y), 8 / d),
        (assume(d <= e), 8 * x / (d * e)),
        signs=positive(x, d, e),
    )
    narrower = chain(1 - exp(lP) <= 1 - exp(lq), first, second)
    wider = chain(zero < 1 - exp(lq), narrower, width)
    compared = instance(fractions, x=exp(lq), y=exp(lQ), d=1 - exp(lP), e=1 - exp(lq))
    compared = discharge(compared, first, narrower, exp_positive(lq), width, wider)
    quotient = instance(combine(zero < 8 * x / e, signs=positive(x, e)), x=exp(lq), e=1 - exp(lq))
    domain = discharge(quotient, exp_positive(lq), wider)
    top = instance(combine(zero < 8 * x / e, signs=positive(x, e)), x=exp(lQ), e=1 - exp(lP))
    top = discharge(top, exp_positive(lQ), width)
    logs = increasing("log", compared, domain)
    facts = (*defined_facts(), *(at_theta(one) for one in (wider, width, domain, top)))
    return at_theta(logs), facts


# --- uniform allocation against median elimination ------------------------------------------------------------------

LQ = log_q_term(N, GAP, C, R)
LU = log_q_term(N * T, GAP, C, R)
_LAUNCH = launched(16)


def _bound(c: Term) -> Term:
    """log of Eq. 11 where the identification condition holds; elsewhere the bound says nothing."""
    return where(launched(16, c=c), log(geometric(log_q_term(N, GAP, c, R))), 0)


def _premise_gives() -> tuple[Theorem, Theorem]:
    """The identification condition, and log 8 q/(1-q) < 0, from the premise."""
    bound = _bound(C)
    premise = assume(bound < zero)
    no = where_no(bound, assume(negation(_LAUNCH)))
    nonsense = chain(zero < zero, premise, no)
    condition = by_cases(_LAUNCH, assume(_LAUNCH), absurd(nonsense, _LAUNCH))
    yes = cut(where_yes(bound, assume(_LAUNCH)), condition)
    return condition, chain(log(geometric(LQ)) < zero, premise, yes)


def _margin_positive() -> Theorem:
    signs = positive(N, GAP, R, C)
    return combine(zero < margin_term(N, GAP, C, R), (root_launch(4), GAP / (2 * sqrt(N))), signs=signs)


def negative_exponent() -> Theorem:
    """log q < 0 under the condition."""
    (x, y) = variables("x y")
    lemma = combine(const(F(-2, 9)) * y * x * x < zero, signs=positive(y, x))
    found = instance(lemma, x=margin_term(N, GAP, C, R), y=N)
    return discharge(found, _margin_positive())


def _more_rows() -> Theorem:
    """log q(n T) <= T log q(n) for T >= 1."""
    signs = [*positive(N, GAP, R, C), counted(T, 1)]
    more = combine(N <= N * T, (assume(const(1) <= T), N), signs=signs)
    roots = increasing("sqrt", more, assume(zero < N))
    small, large = root_positive(N, assume(zero < N)), None
    many = combine(zero < N * T, signs=signs)
    large = root_positive(N * T, many)
    x, y = variables("x y")
    inverse = combine(
        GAP / 2 - 2 * C * R / x <= GAP / 2 - 2 * C * R / y,
        (assume(x <= y), 2 * C * R / (x * y)),
        signs=positive(x, y, C, R),
    )
    margins = discharge(instance(inverse, x=sqrt(N), y=sqrt(N * T)), roots, small, large)
    up = combine(zero <= margins.conclusion.left, _margin_positive())
    squares = square_grows(margins, up)
    low, high = squares.conclusion.args
    u, v = variables("u v")
    lemma = combine(
        const(F(-2, 9)) * (N * T) * v <= T * (const(F(-2, 9)) * N * u),
        (assume(u <= v), const(F(2, 9)) * N * T),
        signs=signs,
    )
    found = cut(instance(lemma, u=low, v=high), squares)
    return combine(LU <= T * LQ, found)


def _powers() -> Theorem:
    """exp(T x) == exp(x)^T for whole T >= 1."""
    (x,) = variables("x")
    claim = same(exp(T * x), power(exp(x), T))
    known = (assume(integer(T)), assume(const(1) <= T))
    base = combine(same(exp(const(1) * x), power(exp(x), 1)))
    more = settle(power_next(exp(x), T), *known)
    split = exp_sum(T * x, x)
    joined = combine(same(exp((T + 1) * x), exp(T * x + x)))
    times = combine(same(exp(T * x) * exp(x), exp(x) * power(exp(x), T)), (assume(claim), exp(x)))
    step = equal(exp((T + 1) * x), power(exp(x), T + 1), joined, split, times, more)
    return by_induction("T", 1, claim, base, step)


def _small_powers() -> Theorem:
    """4 (2^T - 1) q^T <= 4 q for 0 < q < 1/9, by induction on T."""
    claim = 4 * (power(2, T) - 1) * power(q, T) <= 4 * q
    known = (assume(integer(T)), assume(const(1) <= T))
    base = combine(4 * (power(2, 1) - 1) * power(q, 1) <= 4 * q)
    twos, more = settle(power_next(2, T), *known), settle(power_next(q, T), *known)
    up = settle(instance(power_positive(q, assume(zero < q)), n=T), *known)
    two = _at_least_two()
    x, p = variables("x p")
    # (2 p - 1) q x <= (p - 1) x for p >= 2, q < 1/9.
    lemma = combine(
        (2 * (p + 2) - 1) * q * x <= (p + 2 - 1) * x,
        (assume(q < const(F(1, 9))), (2 * (p + 2) - 1) * x),
        signs=[assume(zero <= p), assume(zero < x)],
    )
    found = instance(lemma, p=power(2, T) - 2, x=power(q, T))
    found = discharge(found, combine(zero <= power(2, T) - 2, two), up)
    left = 4 * (power(2, T + 1) - 1) * power(q, T + 1)
    middle = 4 * (2 * power(2, T) - 1) * (q * power(q, T))
    first = combine(same(left, middle), (twos, 4 * power(q, T + 1)), (more, 4 * (2 * power(2, T) - 1)))
    step = chain(left <= 4 * q, first, _four(found), assume(claim))
    return by_induction("T", 1, claim, base, step)


def _four(theorem: Theorem) -> Theorem:
    low, high = theorem.conclusion.args
    return combine(4 * low <= 4 * high, (theorem, 4))


def _at_least_two() -> Theorem:
    """2 <= 2^T for T >= 1."""
    claim = const(2) <= power(2, T)
    base = combine(const(2) <= power(2, 1))
    more = settle(power_next(2, T), assume(integer(T)), assume(const(1) <= T))
    step = chain(const(2) <= power(2, T + 1), more, assume(claim), assume(claim))
    return by_induction("T", 1, claim, base, step)


def _failure_bounds() -> Built:
    """log 4 (2^T - 1) + log q(n T) < log 8 q/(1-q)."""
    condition, empty = _premise_gives()
    negative = cut(negative_exponent(), condition)
    width = below_one(negative)
    quotient = instance(
        combine(zero < 8 * variables("x")[0] / variables("e")[0], signs=positive(*variables("x e"))),
        x=exp(LQ),
        e=1 - exp(LQ),
    )
    domain = discharge(quotient, exp_positive(LQ), width)
    ninth = _below_ninth(empty, domain, width)
    powers = settle(instance(_powers(), x=LQ), *_rounds())
    small = discharge(instance(_small_powers(), q=exp(LQ)), exp_positive(LQ), ninth)
    rows = increasing("exp", cut(_more_rows(), condition))
    tail = chain(rows.conclusion.left <= power(exp(LQ), T), rows, powers)
    arms = 4 * (power(2, T) - 1)
    some = combine(zero < arms, (_at_least_two(), 4))
    x, y, z = variables("x y z")
    times = cut(
        instance(
            combine(z * x <= z * y, (assume(x <= y), z), signs=positive(z)), x=exp(LU), y=power(exp(LQ), T), z=arms
        ),
        tail,
        some,
    )
    strict = discharge(instance(_double(), d=exp(LQ)), exp_positive(LQ), width)
    total = chain(arms * exp(LU) < geometric(LQ), times, small, strict)
    left = cut(instance(combine(zero < x * y, signs=positive(x, y)), x=arms, y=exp(LU)), some, exp_positive(LU))
    logs = increasing("log", total, left)
    split = discharge(log_product(arms, exp(LU)), some, exp_positive(LU))
    found = chain(log(arms) + LU < log(geometric(LQ)), logs, split, log_exp(LU))
    signs = [*positive(N), counted(T, 1)]
    many = combine(zero < N * T, signs=signs)
    inner = below_one(negative_exponent())
    launched_domain = discharge(quotient, exp_positive(LQ), inner)
    facts = (
        *defined_facts(),
        root_positive(N * T, many),
        many,
        some,
        *(at_theta(one) for one in (inner, launched_domain, width, domain)),
        combine(zero <= T, assume(const(1) <= T)),
    )
    return at_theta(found), facts


def _double() -> Theorem:
    """4 d < 8 d/(1 - d) for 0 < d < 1."""
    d, e = variables("d e")
    lemma = combine(4 * d < 8 * d / e, (assume(e <= const(1)), 8 * d / e), signs=positive(d, e))
    found = instance(lemma, e=1 - d)
    return cut(found, combine(1 - d <= const(1), assume(zero < d)))


def _rounds() -> tuple[Theorem, ...]:
    return assume(integer(T)), assume(const(1) <= T)


def _below_ninth(empty: Theorem, domain: Theorem, width: Theorem) -> Theorem:
    """q < 1/9, from log 8 q/(1-q) < 0."""
    bound = geometric(LQ)
    grown = increasing("exp", empty)
    value = cut(exp_log(bound), domain)
    less = chain(bound < const(1), grown, value, exp_zero())
    x, e = variables("x e")
    lemma = combine(8 * x < e, (assume(8 * x / e < const(1)), e), signs=positive(e))
    found = cut(instance(lemma, x=exp(LQ), e=1 - exp(LQ)), less, width)
    return combine(exp(LQ) < const(F(1, 9)), (found, const(F(1, 9))))


def _read(n: int, K: int, **others: float) -> list[Point]:
    return [{"n": n, "T": K.bit_length() - 1, **others}]


DERIVATIONS: tuple[Derivation, ...] = (
    Derivation(
        "thm-2-delta-order",
        "q <= Q = exp(-Delta^2 n/72) <= P = exp(-(8/9) c^2 r^2) < 1, as exp is increasing; then two fractions, and log "
        "is increasing.",
        _order,
        premises=((launched(64, c=constant_c(THETA)), LAUNCH_64),),
        corrected=True,
    ),
    Derivation(
        "remark-7-failure-bounds",
        "K = 2^T. Uniform allocation has T times the rows, so its tail is at most q^T; the bound below 1 gives "
        "q < 1/9; by  induction 4 (2^T - 1) q^T <= 4 q < 8 q/(1 - q).",
        _failure_bounds,
        reads=_read,
        premises=((_bound(constant_c(THETA)) < zero, "the bound of median elimination is below 1"),),
    ),
)
