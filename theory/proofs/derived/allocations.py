"""What is bought: floors and sums over arms and rounds, for every number of arms, rounds and prices."""

from __future__ import annotations

from typing import Any

from theory.claims.algorithms import COSTS
from theory.proofs.derivation import Derivation, Point
from theory.proofs.derived.tools import (
    chain,
    counted,
    floor_nonnegative,
    positive,
    settle,
    total_constant,
    zero,
)
from theory.proofs.kernel.axioms import (
    floor_below,
    integer_gap,
    integer_term,
    recursive_first,
    recursive_next,
    total_compare,
    total_next,
    total_none,
    where_no,
    where_yes,
)
from theory.proofs.kernel.certificate import combine
from theory.proofs.kernel.language import (
    Term,
    at,
    const,
    every,
    floor,
    integer,
    recursive,
    total,
    variables,
    where,
)
from theory.proofs.kernel.theorem import (
    Theorem,
    assume,
    by_cases,
    by_induction,
    cut,
    instance,
    negation,
    specialise,
)

__all__ = ["DERIVATIONS", "active", "arms_left", "rows"]

B, K, T, t_, A, b, i = variables("B K T t A b i")
Built = tuple[Theorem, tuple[Theorem, ...]]


def spend_one(price: Term, budget: Term) -> Theorem:
    """p floor(b/p) <= b for p > 0."""
    return combine(price * floor(budget / price) <= budget, (floor_below(budget / price), price), signs=positive(price))


def _uniform() -> Built:
    two = counted(K, 2)
    return cut(spend_one(K, B), two), (two,)


# --- median elimination ---------------------------------------------------------------------------------------------


def active(arms: Term, index: Any) -> Term:
    """a_1 = K, a_(t+1) = ceil(a_t / 2)."""
    (a,) = variables("a")
    return recursive("a", arms, -floor(-a / 2), index)


def rows(budget: Term, rounds: Term, arms: Term, index: Any) -> Term:
    """n_t = floor(B / (T a_t))."""
    return floor(budget / (rounds * active(arms, index)))


def arms_left() -> Theorem:
    """1 <= a_t for all t, if 2 <= K."""
    claim = const(1) <= active(K, t_)
    (a,) = variables("a")
    step_term = -floor(-a / 2)
    first = recursive_first("a", K, step_term)
    base = chain(const(1) <= active(K, 1), first, assume(const(2) <= K))
    now = active(K, t_)
    half = -floor(-now / 2)
    up = combine(zero < half, floor_below(-now / 2), (assume(claim), const(1) / 2))
    whole = integer_gap(up, integer_term(zero), integer_term(half))
    follows = settle(recursive_next("a", K, step_term, t_), assume(integer(t_)), assume(const(1) <= t_))
    step = chain(const(1) <= active(K, t_ + 1), whole, follows)
    return by_induction("t", 1, claim, base, step)


def _arm_signs(rounds: Term) -> tuple[Theorem, Theorem, Theorem]:
    """0 < T, 0 < a_t, 0 < T a_t."""
    left = combine(zero < active(K, t_), arms_left())
    many = counted(rounds, 1)
    both = combine(zero < rounds * active(K, t_), signs=[many, left])
    return many, left, both


def _spent() -> Built:
    """sum_t a_t n_t <= B: each term is at most B/T."""
    many, left, both = _arm_signs(T)
    share = combine(
        active(K, t_) * rows(B, T, K, t_) <= B / T,
        (floor_below(B / (T * active(K, t_))), active(K, t_)),
        signs=[many, left],
    )
    sums = total_compare("t", 1, T, share)
    flat = settle(total_constant("t", T, B / T), many)
    whole = chain(sums.conclusion.left <= B, sums, flat, signs=[many])
    return whole, (many, left, both)


def _rows_nonnegative() -> Theorem:
    many, left, _ = _arm_signs(T)
    share = combine(zero <= B / (T * active(K, t_)), signs=[assume(zero <= B), many, left])
    return floor_nonnegative(B / (T * active(K, t_)), share)


def _most_rows() -> Built:
    """The rows of an arm that leaves with at least two arms around are a part of the winner's."""
    many, left, both = _arm_signs(T)
    n = rows(B, T, K, t_)
    condition = const(2) <= active(K, t_)
    part = where(condition, n, 0)
    goal = part <= n
    yes = chain(goal, where_yes(part, assume(condition)))
    no = chain(goal, where_no(part, assume(negation(condition))), _rows_nonnegative())
    sums = total_compare("t", 1, T, by_cases(condition, yes, no))
    return sums, (many, left, both)


# --- prices ---------------------------------------------------------------------------------------------------------

_PRICES = every("i", 1, A, zero < at("c", i))


def _price_positive() -> Theorem:
    return specialise(_PRICES, i)


def _all_prices() -> Theorem:
    """0 < c_1 + ... + c_A for A >= 1, if every price is positive: by induction on how many are added."""
    (k,) = variables("k")
    claim = zero < total("i", 1, k, at("c", i))
    first = settle(total_next("i", 1, 0, at("c", i)))
    one = settle(instance(_price_positive(), i=1))
    none = total_none("i", 1, at("c", i))
    reach = assume(const(1) <= A)
    base = chain(zero < total("i", 1, const(1), at("c", i)), first, none, settle(one, reach))
    return by_induction("k", 1, claim, base, _next_price(k, claim), last=A)


def _next_price(k: Term, claim: Any) -> Theorem:
    known = (assume(integer(k)), assume(const(1) <= k), assume(k + 1 <= A))
    more = settle(total_next("i", 1, k, at("c", i)), *known)
    price = settle(instance(_price_positive(), i=k + 1), *known)
    return chain(zero < total("i", 1, k + 1, at("c", i)), more, price, assume(claim))


def _sample_aligned() -> Built:
    """P floor(b/P) <= b with P the sum of the prices."""
    whole = settle(instance(_all_prices(), k=A), assume(integer(A)), assume(const(1) <= A))
    price = total("i", 1, A, at("c", i))
    (p,) = variables("p")
    return cut(instance(spend_one(p, b), p=price), whole), (whole,)


def _budget_aligned() -> Built:
    """sum_i c_i floor(b/(A c_i)) <= b: each term is at most b/A."""
    many, price = counted(A, 1), _price_positive()
    c = at("c", i)
    share = combine(c * floor(b / (A * c)) <= b / A, (floor_below(b / (A * c)), c), signs=[many, price])
    both = combine(zero < A * c, signs=[many, price])
    sums = total_compare("i", 1, A, share)
    flat = settle(total_constant("i", A, b / A), many)
    return chain(sums.conclusion.left <= b, sums, flat, signs=[many]), (many, both)


def _prices(b: int, original: str, **_: Any) -> list[Point]:
    costs = tuple(cost for name, cost in COSTS.items() if name != original)
    return [{"b": b, "c": costs, "A": len(costs)}]


DERIVATIONS: tuple[Derivation, ...] = (
    Derivation("ua-allocation", "floor(B/K) <= B/K, times K.", _uniform),
    Derivation(
        "me-largest-sample",
        "Round by round, and n_t >= 0: the rows of the rounds with at least two arms are at most those of all rounds.",
        _most_rows,
        reads=lambda B, K: [{"B": B, "K": K, "T": (K - 1).bit_length()}],
    ),
    Derivation(
        "me-spend",
        "a_t floor(B/(T a_t)) <= B/T, summed over the T rounds; a_t >= 1 by induction.",
        _spent,
        reads=lambda B, K: [{"B": B, "K": K, "T": (K - 1).bit_length()}],
    ),
    Derivation(
        "sample-alignment-spend",
        "p floor(b/p) <= b at p = the sum of any prices > 0, which is positive by induction.",
        _sample_aligned,
        reads=_prices,
    ),
    Derivation(
        "budget-alignment-spend",
        "c_i floor(b/(A c_i)) <= b/A, summed over any A prices > 0.",
        _budget_aligned,
        reads=_prices,
    ),
)
