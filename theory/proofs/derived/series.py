"""Powers of two and geometric series, by induction on the number of rounds."""

from __future__ import annotations

from theory.proofs.derivation import Derivation, Point
from theory.proofs.derived.allocations import active, rows
from theory.proofs.derived.tools import (
    chain,
    counted,
    equal,
    floor_of_whole,
    settle,
    zero,
)
from theory.proofs.kernel.axioms import (
    integer_term,
    power_next,
    recursive_first,
    recursive_next,
    total_compare,
    total_next,
    total_none,
)
from theory.proofs.kernel.certificate import combine
from theory.proofs.kernel.language import Term, const, floor, integer, power, same, substitute, total, variables
from theory.proofs.kernel.theorem import Theorem, assume, by_induction, cut, instance, replace_equal

__all__ = ["DERIVATIONS", "power_positive", "powers_of_two_positive"]

B, T, t_, q, n, d = variables("B T t q n d")
Built = tuple[Theorem, tuple[Theorem, ...]]
TWO = const(2)
POWER_OF_TWO, DIVISIBLE = "K is a power of two", "K ceil(log2 K) divides B"


def power_positive(base: Term, sign: Theorem) -> Theorem:
    """0 < a^n for whole n >= 0, from 0 < a."""
    a, m = variables("a_ n_")
    claim = zero < power(a, m)
    base_case = combine(zero < power(a, 0))
    more = settle(power_next(a, m), assume(integer(m)), assume(zero <= m))
    product = combine(zero < a * power(a, m), signs=[assume(zero < a), assume(claim)])
    step = chain(zero < power(a, m + 1), more, product)
    found = by_induction("n_", 0, claim, base_case, step)
    return cut(instance(found, a_=base, n_=n), sign)


def powers_of_two_positive(exponent: Term, *known: Theorem) -> Theorem:
    """0 < 2^k."""
    return settle(instance(power_positive(TWO, combine(zero < TWO)), n=exponent), *known)


# --- the series -----------------------------------------------------------------------------------------------------


def q_facts() -> tuple[Theorem, Theorem]:
    """0 < q and 0 < 1 - q."""
    return assume(zero < q), combine(zero < 1 - q, assume(q < const(1)))


def _whole_series() -> Theorem:
    """8 sum_(t <= T) q^t + 8 q^(T+1)/(1 - q) == 8 q/(1 - q), by induction on T from 0."""
    terms = total("t", 1, T, power(q, t_))
    claim = same(8 * terms + 8 * power(q, T + 1) / (1 - q), 8 * q / (1 - q))
    base = chain(
        same(8 * total("t", 1, 0, power(q, t_)) + 8 * power(q, const(0) + 1) / (1 - q), 8 * q / (1 - q)),
        _times(total_none("t", 1, power(q, t_)), 8),
    )
    known = (assume(integer(T)), assume(zero <= T))
    more = settle(total_next("t", 1, T, power(q, t_)), *known)
    step = chain(
        same(8 * total("t", 1, T + 1, power(q, t_)) + 8 * power(q, T + 1 + 1) / (1 - q), 8 * q / (1 - q)),
        _times(more, 8),
        _rest_splits(),
        assume(claim),
    )
    return by_induction("T", 0, claim, base, step)


def _times(theorem: Theorem, factor: int) -> Theorem:
    left, right = theorem.conclusion.args
    return combine(same(factor * left, factor * right), (theorem, factor))


def _rest_splits() -> Theorem:
    """8 q^(T+2)/(1-q) == 8 q^(T+1)/(1-q) - 8 q^(T+1)."""
    x, y, p = variables("x y p")
    # y = (1 - p) x, so 8 y/p = 8 x/p - 8 x.
    lemma = combine(same(8 * y / p, 8 * x / p - 8 * x), (assume(same(y, (1 - p) * x)), 8 / p), signs=[assume(zero < p)])
    now, later = power(q, T + 1), power(q, T + 1 + 1)
    found = instance(lemma, x=now, y=later, p=1 - q)
    known = (assume(integer(T)), assume(zero <= T))
    grows = settle(power_next(q, T + 1), *known)
    wanted = equal(later, (1 - (1 - q)) * now, grows)
    return cut(found, q_facts()[1], wanted)


def _rounds() -> tuple[Theorem, ...]:
    return assume(integer(T)), assume(const(1) <= T)


def _from_one(theorem: Theorem) -> Theorem:
    """From T >= 0 to T >= 1, which the ledger asks for."""
    return settle(theorem, combine(zero <= T, assume(const(1) <= T)))


def _series_facts() -> tuple[Theorem, ...]:
    known = (assume(integer(t_)), assume(const(1) <= t_))
    return (
        q_facts()[1],
        settle(integer_term(T + 1, assume(integer(T)))),
        combine(zero <= T + 1, assume(const(1) <= T)),
        combine(zero <= t_, assume(const(1) <= t_)),
        settle(integer_term(t_ - 1, assume(integer(t_))), *known),
        combine(zero <= t_ - 1, assume(const(1) <= t_)),
        _whole_power_of_two(),
        combine(zero <= power(2, t_ - 1), _half_powers(), assume(const(1) <= t_)),
    )


def _series_3() -> Built:
    return _from_one(_whole_series()), _series_facts()


def _rest_positive() -> Theorem:
    """0 < 8 q^(T+1)/(1-q)."""
    x, p = variables("x p")
    lemma = combine(zero < 8 * x / p, signs=[assume(zero < x), assume(zero < p)])
    up = settle(instance(power_positive(q, assume(zero < q)), n=T + 1), assume(integer(T)), assume(zero <= T))
    return cut(instance(lemma, x=power(q, T + 1), p=1 - q), up, q_facts()[1])


def _series_2() -> Built:
    whole = _whole_series()
    terms = 8 * total("t", 1, T, power(q, t_))
    return _from_one(chain(terms <= 8 * q / (1 - q), whole, _rest_positive())), _series_facts()


def _half_powers() -> Theorem:
    """t <= 2^(t-1) for t >= 1."""
    claim = t_ <= power(2, t_ - 1)
    base = combine(const(1) <= power(2, const(1) - 1))
    known = (assume(integer(t_)), assume(const(1) <= t_))
    more = settle(power_next(2, t_ - 1), *known)
    step = chain(t_ + 1 <= power(2, t_ + 1 - 1), more, assume(claim), assume(claim), assume(const(1) <= t_))
    return by_induction("t", 1, claim, base, step)


def _whole_power_of_two() -> Theorem:
    known = (assume(integer(t_)), assume(const(1) <= t_))
    exponent = combine(zero <= t_ - 1, assume(const(1) <= t_))
    return integer_term(power(2, t_ - 1), *known, exponent)


def _powers_fall() -> Theorem:
    """q^(n + d) <= q^n for whole d >= 0, by induction on d, for 0 < q < 1."""
    claim = power(q, n + d) <= power(q, n)
    base = combine(power(q, n + const(0)) <= power(q, n))
    known = (assume(integer(n)), assume(zero <= n), assume(integer(d)), assume(zero <= d))
    more = settle(power_next(q, n + d), *known)
    up = settle(instance(power_positive(q, assume(zero < q)), n=n + d), *known)
    # q x <= x, because (1 - q) x >= 0.
    x, p = variables("x p")
    lemma = combine((1 - p) * x <= x, signs=[assume(zero < p), assume(zero < x)])
    shrinks = cut(instance(lemma, x=power(q, n + d), p=1 - q), up, q_facts()[1])
    step = chain(power(q, n + (d + 1)) <= power(q, n), more, shrinks, assume(claim))
    return by_induction("d", 0, claim, base, step)


def _series_1() -> Built:
    known = (assume(integer(t_)), assume(const(1) <= t_))
    more = _half_powers()
    gap = combine(zero <= power(2, t_ - 1) - t_, more)
    whole = integer_term(power(2, t_ - 1) - t_, _whole_power_of_two(), *known)
    fall = settle(instance(_powers_fall(), n=t_, d=power(2, t_ - 1) - t_), *known, gap, whole)
    term = combine(power(q, power(2, t_ - 1)) <= power(q, t_), fall)
    sums = total_compare("t", 1, T, term)
    low, high = sums.conclusion.args
    return settle(combine(8 * low <= 8 * high, (sums, 8)), *_rounds()), _series_facts()


# --- rows that double ------------------------------------------------------------------------------------------------

K_TERM = power(2, T)
_DIVIDES = integer(B / (K_TERM * T))
_HALF = -floor(-variables("a")[0] / 2)


def _entry() -> tuple[Theorem, ...]:
    """t is a whole number from 1 to T."""
    return assume(integer(t_)), assume(const(1) <= t_), assume(t_ <= T), assume(integer(T)), assume(const(1) <= T)


def _arms_are_powers() -> Theorem:
    """a_t == 2^(T+1-t) for t <= T, if K = 2^T."""
    claim = same(active(K_TERM, t_), power(2, T + 1 - t_))
    base = equal(active(K_TERM, 1), power(2, T + 1 - const(1)), recursive_first("a", K_TERM, _HALF))
    known = (assume(integer(t_)), assume(const(1) <= t_), assume(t_ + 1 <= T), assume(integer(T)))
    follows = settle(recursive_next("a", K_TERM, _HALF, t_), *known)
    half = power(2, T - t_)
    doubles = settle(power_next(2, T - t_), *known)
    down = settle(combine(zero <= T - t_, assume(t_ + 1 <= T)))
    whole = integer_term(-half, *known, down)
    exact = floor_of_whole(-half, whole)
    inside = combine(same(-active(K_TERM, t_) / 2, -half), (assume(claim), const(-1) / 2), (doubles, const(-1) / 2))
    (x,) = variables("x")
    # floor(-half) == -half, read at -a_t/2, which equals -half.
    back = replace_equal(turned(inside), exact, same(floor(x), -half), "x")
    step = equal(active(K_TERM, t_ + 1), power(2, T + 1 - (t_ + 1)), follows, back)
    return by_induction("t", 1, claim, base, step, last=T)


def turned(equation: Theorem) -> Theorem:
    """b == a from a == b."""
    left, right = equation.conclusion.args
    return combine(same(right, left), (equation, -1))


def _powers_split() -> Theorem:
    """2^(t-1) 2^(T+1-t) == 2^T for 1 <= t <= T."""
    claim = same(power(2, t_ - 1) * power(2, T + 1 - t_), power(2, T))
    base = combine(same(power(2, const(1) - 1) * power(2, T + 1 - const(1)), power(2, T)))
    known = (assume(integer(t_)), assume(const(1) <= t_), assume(t_ + 1 <= T), assume(integer(T)))
    up, down = settle(power_next(2, t_ - 1), *known), settle(power_next(2, T - t_), *known)
    first = combine(
        same(power(2, t_ + 1 - 1) * power(2, T - t_), 2 * power(2, t_ - 1) * power(2, T - t_)),
        (up, power(2, T - t_)),
    )
    second = combine(
        same(power(2, t_ - 1) * power(2, T + 1 - t_), 2 * power(2, t_ - 1) * power(2, T - t_)),
        (down, power(2, t_ - 1)),
    )
    step = equal(power(2, t_ + 1 - 1) * power(2, T + 1 - (t_ + 1)), power(2, T), first, second, assume(claim))
    return by_induction("t", 1, claim, base, step, last=T)


def _signs_of_doubling() -> tuple[Theorem, Theorem, Theorem]:
    """0 < T, 0 < 2^T, 0 < 2^(T+1-t)."""
    known = _entry()
    return (
        counted(T, 1),
        powers_of_two_positive(T, *known),
        powers_of_two_positive(T + 1 - t_, *known),
    )


def _rows_double() -> Theorem:
    """floor(B/(T a_t)) == 2^(t-1) floor(B/(K T))."""
    known = _entry()
    many, all_arms, arms = _signs_of_doubling()
    share = B / (K_TERM * T)
    y, z = variables("y z")
    # B/(T y) == z B/(z y T), with z = 2^(t-1), y = 2^(T+1-t) and z y = 2^T.
    (w,) = variables("w")
    lemma = combine(
        same(B / (T * y), z * (B / (w * T))),
        (assume(same(z * y, w)), -B / (T * y * w)),
        signs=[assume(zero < T), assume(zero < y), assume(zero < w)],
    )
    exact = instance(lemma, y=power(2, T + 1 - t_), z=power(2, t_ - 1), w=K_TERM)
    exact = settle(exact, many, all_arms, arms, _powers_split())
    up = combine(zero <= t_ - 1, assume(const(1) <= t_))
    whole = integer_term(power(2, t_ - 1) * share, *known, up, assume(_DIVIDES))
    (x,) = variables("x")
    rounded = replace_equal(
        turned(exact), floor_of_whole(power(2, t_ - 1) * share, whole), same(floor(x), power(2, t_ - 1) * share), "x"
    )
    by_arms = replace_equal(
        turned(_arms_are_powers()), rounded, same(floor(B / (T * x)), power(2, t_ - 1) * share), "x"
    )
    first = floor_of_whole(share, assume(_DIVIDES))
    goal = same(rows(B, T, K_TERM, t_), power(2, t_ - 1) * floor(share))
    return combine(goal, by_arms, (first, -power(2, t_ - 1)))


def _doubling_facts() -> tuple[Theorem, ...]:
    known = _entry()
    many, all_arms, arms = _signs_of_doubling()
    left = chain(zero < active(K_TERM, t_), _arms_are_powers(), arms)
    up = (integer_term(t_ - 1, *known), combine(zero <= t_ - 1, assume(const(1) <= t_)))
    both = combine(zero < T * active(K_TERM, t_), signs=[many, left])
    whole = combine(zero < K_TERM * T, signs=[many, all_arms])
    return many, all_arms, left, both, whole, combine(zero <= T, assume(const(1) <= T)), *up


def _doubling() -> Built:
    return _rows_double(), _doubling_facts()


def _count_1() -> Built:
    """sum_t n_t == n_1 sum_t 2^(t-1)."""
    double = _rows_double()
    first = floor(B / (K_TERM * T))
    sums = total_compare("t", 1, T, double)
    (m, f) = variables("m_ f_")
    terms = total("t", 1, m, power(2, t_ - 1))
    claim = same(total("t", 1, m, power(2, t_ - 1) * f), f * terms)
    base = combine(
        substitute(claim, {"m_": const(0)}),
        total_none("t", 1, power(2, t_ - 1) * f),
        (total_none("t", 1, power(2, t_ - 1)), -f),
    )
    known = (assume(integer(m)), assume(zero <= m))
    more = settle(total_next("t", 1, m, power(2, t_ - 1) * f), *known)
    less = settle(total_next("t", 1, m, power(2, t_ - 1)), *known)
    step = combine(substitute(claim, {"m_": m + 1}), more, (less, -f), assume(claim))
    pulled = by_induction("m_", 0, claim, base, step)
    pulled = settle(instance(pulled, m_=T, f_=first), assume(integer(T)), assume(const(1) <= T))
    return equal(sums.conclusion.left, first * total("t", 1, T, power(2, t_ - 1)), sums, pulled), _doubling_facts()


def _count_2() -> Built:
    """sum_t n_t == (K - 1) n_1."""
    counted_, facts = _count_1()
    first = floor(B / (K_TERM * T))
    (m,) = variables("m_")
    claim = same(total("t", 1, m, power(2, t_ - 1)), power(2, m) - 1)
    base = equal(total("t", 1, 0, power(2, t_ - 1)), power(2, 0) - 1, total_none("t", 1, power(2, t_ - 1)))
    known = (assume(integer(m)), assume(zero <= m))
    more = settle(total_next("t", 1, m, power(2, t_ - 1)), *known)
    grows = settle(power_next(2, m), *known)
    step = equal(total("t", 1, m + 1, power(2, t_ - 1)), power(2, m + 1) - 1, more, grows, assume(claim))
    geometric = by_induction("m_", 0, claim, base, step)
    geometric = settle(instance(geometric, m_=T), assume(integer(T)), assume(const(1) <= T))
    left = counted_.conclusion.left
    return combine(same(left, (K_TERM - 1) * first), counted_, (geometric, first)), facts


def _by_round(B: int, K: int) -> list[Point]:
    rounds = K.bit_length() - 1
    return [{"B": B, "T": rounds, "t": t} for t in range(1, rounds + 1)]


def _whole(B: int, K: int) -> list[Point]:
    return _by_round(B, K)[:1]


DERIVATIONS: tuple[Derivation, ...] = (
    Derivation(
        "a5-series-1", "t <= 2^(t-1) by induction, powers of q fall, and sums compare as their terms.", _series_1
    ),
    Derivation("a5-series-2", "The identity of a5-series-3, whose rest is positive.", _series_2),
    Derivation("a5-series-3", "Induction on T.", _series_3),
    Derivation(
        "a5-doubling",
        "a_t = 2^(T+1-t) by induction on the rounds; B/(T a_t) = 2^(t-1) B/(K T) is a whole number, its own floor.",
        _doubling,
        reads=_by_round,
        premises=((_DIVIDES, DIVISIBLE),),
        entry="t",
    ),
    Derivation(
        "a5-count-1",
        "a5-doubling, summed over the rounds.",
        _count_1,
        reads=_whole,
        premises=((_DIVIDES, DIVISIBLE),),
        corrected=True,
    ),
    Derivation(
        "a5-count-2",
        "a5-count-1, and 1 + 2 + ... + 2^(T-1) = 2^T - 1 by induction.",
        _count_2,
        reads=_whole,
        premises=((_DIVIDES, DIVISIBLE),),
        corrected=True,
    ),
)
