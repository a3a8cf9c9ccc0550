"""Events, lists and largest values: for every length."""

from __future__ import annotations

from theory.claims.instances import pool
from theory.proofs.derivation import Derivation, Point
from theory.proofs.derived.tools import F, chain, discharge, equal, positive, settle, theta_facts, zero
from theory.proofs.kernel.axioms import (
    largest_above,
    largest_least,
    largest_of_above,
    largest_of_least,
    where_no,
    where_yes,
)
from theory.proofs.kernel.certificate import combine
from theory.proofs.kernel.language import (
    Formula,
    Term,
    absolute,
    at,
    const,
    every,
    integer,
    largest,
    largest_of,
    same,
    variables,
    where,
)
from theory.proofs.kernel.theorem import (
    Theorem,
    antisymmetric,
    assume,
    by_cases,
    instance,
    negation,
    specialise,
    weaken,
)

__all__ = ["DERIVATIONS"]

Built = tuple[Theorem, tuple[Theorem, ...]]

# --- an event within two others -------------------------------------------------------------------------------------

SCORE, FIRST, RISK, BEST = variables("score first risk best")


def _inclusion() -> Built:
    """1{V_i < V_1} <= 1{V_i < R_i - Delta/2 or V_1 > R_1 + Delta/2}: if neither holds, V_i >= V_1."""
    shift = (RISK - BEST) * const(F(1, 2))
    beats, low, high = SCORE < FIRST, RISK - shift > SCORE, BEST + shift < FIRST
    inner = where(high, 1, 0)
    either = where(low, 1, inner)
    event = where(beats, 1, 0)
    goal = event <= either
    at_most_one = _at_most_one(beats, event)
    in_low = chain(goal, at_most_one, where_yes(either, assume(low)))
    skip = where_no(either, assume(negation(low)))
    in_high = chain(goal, at_most_one, skip, where_yes(inner, assume(high)))
    neither = combine(FIRST <= SCORE, assume(negation(low)), assume(negation(high)))
    nothing = chain(goal, where_no(event, neither), skip, where_no(inner, assume(negation(high))))
    return by_cases(low, in_low, by_cases(high, in_high, nothing)), ()


def _at_most_one(condition: Formula, event: Term) -> Theorem:
    """An indicator is at most 1."""
    yes = chain(event <= const(1), where_yes(event, assume(condition)))
    no = chain(event <= const(1), where_no(event, assume(negation(condition))))
    return by_cases(condition, yes, no)


# --- the smallest of a list -----------------------------------------------------------------------------------------

A, i, j = variables("A i j")
_RISK = at("risk", j)
_FIRST_BEST = every("j", 1, A, at("risk", 1) <= _RISK)


def _gap() -> Built:
    """risk_i - risk_1 == risk_i - min_j risk_j, if the first is not above any other."""
    smallest = largest_of("j", 1, A, -_RISK)
    each = specialise(_FIRST_BEST, j)
    bound = combine(-at("risk", 1) >= -_RISK, each)
    least = largest_of_least("j", 1, A, bound)
    reach = (assume(integer(A)), assume(const(1) <= A))
    above = settle(largest_of_above("j", 1, A, -_RISK, 1), *reach)
    first = antisymmetric(settle(least, *reach), above)
    found = equal(at("risk", i) - at("risk", 1), at("risk", i) - (-smallest), first)
    return weaken(found, integer(i), const(1) <= i, i <= A), ()


def _pool(name: str) -> list[Point]:
    risks = tuple(pool(name).risks())
    return [{"risk": risks, "A": len(risks), "i": one} for one in range(1, len(risks) + 1)]


# --- the ball -------------------------------------------------------------------------------------------------------

RADIUS, m_ = variables("radius m")


def _ball() -> Built:
    """max over rows and signs of |+-R x| == R max |x|, for R >= 0."""
    x = at("x", i)
    reach = (assume(integer(A)), assume(const(1) <= A))
    inside = largest(absolute(RADIUS * x), absolute(-RADIUS * x))
    left, kappa = largest_of("i", 1, A, inside), largest_of("i", 1, A, absolute(x))
    one = largest_of_above("i", 1, A, absolute(x), i)
    up, down = largest_above(absolute(x), 0), largest_above(absolute(x), 1)
    sign = assume(zero <= RADIUS)
    entries = []
    for value in inside.args:
        bounds = [
            combine(entry <= RADIUS * absolute(x), (part, RADIUS), signs=[sign])
            for entry, part in (
                (value.args[0], up if value is inside.args[0] else down),
                (value.args[1], down if value is inside.args[0] else up),
            )
        ]
        entries.append(chain(value <= RADIUS * kappa, largest_least(value, *bounds), _scaled(one, RADIUS, sign)))
    below = settle(largest_of_least("i", 1, A, largest_least(inside, *entries)), *reach)
    return _equality(below, left, kappa, inside, sign, reach), ()


def _scaled(theorem: Theorem, factor: Term, sign: Theorem) -> Theorem:
    low, high = theorem.conclusion.args
    return combine(factor * low <= factor * high, (theorem, factor), signs=[sign])


def _equality(
    below: Theorem, left: Term, kappa: Term, inside: Term, sign: Theorem, reach: tuple[Theorem, ...]
) -> Theorem:
    """R max|x| <= max|R x|: dividing by R > 0; at R = 0 both are 0."""
    x = at("x", i)
    goal = RADIUS * kappa <= left
    hit = largest_of_above("i", 1, A, inside, i)
    first = largest_above(inside, 0)
    larger = assume(zero < RADIUS)
    parts = [
        combine(
            entry <= left / RADIUS,
            (hit, 1 / RADIUS),
            (first, 1 / RADIUS),
            (largest_above(inside.args[0], place), 1 / RADIUS),
            signs=[larger],
        )
        for place, entry in enumerate(absolute(x).args)
    ]
    most = settle(largest_of_least("i", 1, A, largest_least(absolute(x), *parts)), *reach)
    positive_case = combine(goal, (most, RADIUS), signs=[larger])
    at_one = settle(instance(hit, i=1), *reach)
    entry = at("x", 1)
    up = [instance(largest_above(inside.args[0], place), i=1) for place in (0, 1)]
    outer = instance(first, i=1)
    # |R x_1| >= 0 because it is at least R x_1 and at least -R x_1.
    size = combine(zero <= absolute(RADIUS * entry), (up[0], const(F(1, 2))), (up[1], const(F(1, 2))))
    zero_case = _at_zero(goal, kappa, [at_one, outer, size], sign)
    back = by_cases(zero < RADIUS, positive_case, zero_case)
    return antisymmetric(below, back)


def _at_zero(goal: Formula, kappa: Term, facts: list[Theorem], sign: Theorem) -> Theorem:
    """R = 0: R max|x| is 0."""
    none = antisymmetric(assume(zero >= RADIUS), sign)
    return combine(goal, *facts, (none, kappa))


# --- the quadratic program ------------------------------------------------------------------------------------------

H, G, Y, THETA = variables("h g y theta")


def _program() -> Built:
    """max of the pieces == the first constraint that is not below the others."""
    pieces = (1 + const(F(1, 2)) * (G - Y * H), THETA * (1 - G / (1 - 2 * THETA)), zero)
    limits = (1 + (G - Y * H) / 2, THETA - THETA * G / (1 - 2 * THETA), zero)
    pieces_ = largest(*pieces)
    # The same three numbers, written in two ways.
    w, u = variables("w u")
    second = discharge(
        instance(combine(same(u * (1 - G / w), u - u * G / w), signs=positive(w)), w=1 - 2 * THETA, u=THETA),
        theta_facts(THETA)[0],
    )
    equations = (combine(same(pieces[0], limits[0])), second, combine(same(zero, zero)))
    return _picked(pieces_, pieces, limits, equations), (theta_facts(THETA)[0],)


def _picked(loss: Term, pieces: tuple[Term, ...], limits: tuple[Term, ...], equations: tuple[Theorem, ...]) -> Theorem:
    """The ledger's choice: the first entry that is at least every other."""
    a, b, c = limits
    third = where(a <= c, where(b <= c, c, 0), 0)
    second_in = where(c <= b, b, third)
    second = where(a <= b, second_in, third)
    first_in = where(c <= a, a, second)
    first = where(b <= a, first_in, second)
    goal = same(loss, first)
    ab, ac, bc = b <= a, c <= a, c <= b

    def most(place: int, *known: Theorem) -> Theorem:
        """loss == limits[place]."""
        top = limits[place]
        bounds = [
            chain(pieces[k] <= top, equations[k], *(() if k == place else (_order(k, place, known, limits),)))
            for k in range(3)
        ]
        least = largest_least(loss, *bounds)
        above = chain(top <= loss, largest_above(loss, place), equations[place])
        return antisymmetric(least, above)

    def pick(place: int, known: list[Theorem], *conditions: Theorem) -> Theorem:
        return equal(loss, first, most(place, *known), *conditions)

    yes_ab, no_ab = assume(ab), assume(negation(ab))
    yes_ac, no_ac = assume(ac), assume(negation(ac))
    yes_bc, no_bc = assume(bc), assume(negation(bc))
    # a is the largest.
    top_a = pick(0, [yes_ab, yes_ac], where_yes(first, yes_ab), where_yes(first_in, yes_ac))
    # b <= a < c.
    a_below_c = combine(a <= c, no_ac)
    b_below_c = combine(b <= c, yes_ab, no_ac)
    no_second = _second_is_third(second, second_in, third, a <= b, bc, no_ac, yes_ab)
    top_c = pick(
        2,
        [a_below_c, b_below_c],
        where_yes(first, yes_ab),
        where_no(first_in, no_ac),
        no_second,
        where_yes(third, a_below_c),
        where_yes(third.args[1], b_below_c),
    )
    # a < b.
    a_below_b = combine(a <= b, no_ab)
    top_b = pick(
        1, [a_below_b, yes_bc], where_no(first, no_ab), where_yes(second, a_below_b), where_yes(second_in, yes_bc)
    )
    a_under = combine(a <= c, no_ab, no_bc)
    b_under = combine(b <= c, no_bc)
    last = pick(
        2,
        [a_under, b_under],
        where_no(first, no_ab),
        where_yes(second, a_below_b),
        where_no(second_in, no_bc),
        where_yes(third, a_under),
        where_yes(third.args[1], b_under),
    )
    found = by_cases(ab, by_cases(ac, top_a, top_c), by_cases(bc, top_b, last))
    assert found.conclusion == goal
    return found


def _second_is_third(
    second: Term, second_in: Term, third: Term, condition: Formula, bc: Formula, no_ac: Theorem, yes_ab: Theorem
) -> Theorem:
    """Where b <= a < c, the second constraint is not chosen."""
    not_bc = combine(negation(bc), no_ac, yes_ab)
    inside = where_no(second_in, not_bc)
    yes = equal(second, third, where_yes(second, assume(condition)), inside)
    no = equal(second, third, where_no(second, assume(negation(condition))))
    return by_cases(condition, yes, no)


def _order(low: int, high: int, known: tuple[Theorem, ...], limits: tuple[Term, ...]) -> Theorem:
    wanted = limits[low] <= limits[high]
    return next(one for one in known if one.conclusion == wanted)


DERIVATIONS: tuple[Derivation, ...] = (
    Derivation(
        "a6-inclusion", "By cases; if neither event happens, V_i >= R_i - Delta/2 = R_1 + Delta/2 >= V_1.", _inclusion
    ),
    Derivation(
        "a6-gap",
        "The smallest of a list whose first entry is not above any other is the first entry.",
        _gap,
        reads=_pool,
        premises=((_FIRST_BEST, "the first arm has the smallest risk on the training set"),),
        entry="i",
    ),
    Derivation(
        "hypothesis-ball",
        "Entry by entry: |+-R x| = R |x|, and the largest of a list of any length, in both directions.",
        _ball,
        reads=lambda features, radius: [{"x": features, "A": len(features), "radius": radius}],
        takes="that the supremum over the ball is attained at its two ends, and rows of more than one dimension",
    ),
    Derivation(
        "eq-3-quadratic-program",
        "By cases: the first constraint that is not below the others is the largest of the three pieces.",
        _program,
    ),
)
