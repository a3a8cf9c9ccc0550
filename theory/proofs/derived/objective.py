"""Eq. 3 has its minimum at its closed form: any number of rows, in any number of dimensions, any labels in [-1, 1].

The terms, and that the closed form is in the affine regime, are in :mod:`theory.proofs.derived.closed_form`.
"""

from __future__ import annotations

from typing import Any

from theory.claims.objective import DATA
from theory.proofs.derivation import Derivation, Point
from theory.proofs.derived.closed_form import (
    DIMENSION,
    HALF,
    PENALTY,
    ROW,
    ROWS,
    THETA,
    C,
    D,
    J,
    K,
    M,
    P,
    V,
    Vector,
    W,
    affine,
    dot,
    first_piece,
    loss,
    mean_of,
    minus_one,
    size,
    x,
    y,
)
from theory.proofs.derived.tools import (
    chain,
    counted,
    equal,
    settle,
    theta_facts,
    total_constant,
    total_linear,
    zero,
)
from theory.proofs.kernel.axioms import largest_above, total_compare, total_next, total_none, where_no, where_yes
from theory.proofs.kernel.certificate import combine
from theory.proofs.kernel.language import (
    Formula,
    Term,
    at,
    const,
    integer,
    same,
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
    weaken,
)

__all__ = ["DERIVATIONS"]

Built = tuple[Theorem, tuple[Theorem, ...]]
(LIFT,) = variables("lift")
SMALL_PENALTY = "kappa^2/(4C) <= 1 - 2 theta, where Eq. 3 has its closed form"
S: Vector = lambda k: at("s", k)  # noqa: E731
U: Vector = lambda k: at("u", k)  # noqa: E731


def moved(w: Vector, s: Vector) -> Vector:
    """w + s."""
    return lambda k: w(k) + s(k)


def objective(w: Vector, v: Vector) -> Term:
    """Eq. 3, mean loss, C_h = C_g = C."""
    return total("i", 1, M, loss(dot(w, ROW), dot(v, ROW), y(ROW))) / M + C * (size(w) + size(v))


def _pieces_sum(w: Vector, v: Vector) -> Theorem:
    """sum_i first piece_i == m - (1/2) sum_k v_k X_k - (1/2) sum_k w_k Y_k, X = -sum x, by induction on the rows."""
    piece = first_piece(dot(w, ROW), dot(v, ROW), y(ROW))

    def claim_at(p: Term) -> Formula:
        both = total("k", 1, D, v(K) * mean_of(minus_one, p)(K)) + total("k", 1, D, w(K) * mean_of(y, p)(K))
        return same(total("i", 1, p, piece), p - HALF * both)

    flat = settle(total_constant("k", D, zero), *DIMENSION)
    empty = []
    for vector, weight in ((v, minus_one), (w, y)):
        none = combine(
            same(vector(K) * mean_of(weight, const(0))(K), zero), (total_none("j", 1, weight(J) * x(J, K)), vector(K))
        )
        empty.append(
            equal(
                total("k", 1, D, none.conclusion.left), zero, settle(total_compare("k", 1, D, none), *DIMENSION), flat
            )
        )
    base = combine(claim_at(const(0)), total_none("i", 1, piece), (empty[0], HALF), (empty[1], HALF))
    known = (assume(integer(P)), assume(zero <= P))
    opened = [_one_more_row(vector, weight, known) for vector, weight in ((v, minus_one), (w, y))]
    more = settle(total_next("i", 1, P, piece), *known)
    step = combine(claim_at(P + 1), more, (opened[0], HALF), (opened[1], HALF), assume(claim_at(P)))
    found = by_induction("p", 0, claim_at(P), base, step)
    return settle(instance(found, p=M), *ROWS, combine(zero <= M, ROWS[1]))


def _one_more_row(vector: Vector, weight: Vector, known: tuple[Theorem, ...]) -> Theorem:
    """sum_k w_k Y_k with one more row adds its weight times <w, x>."""
    more = settle(total_next("j", 1, P, weight(J) * x(J, K)), *known)
    opened = combine(
        same(
            vector(K) * mean_of(weight, P + 1)(K),
            vector(K) * mean_of(weight, P)(K) + weight(P + 1) * (vector(K) * x(P + 1, K)),
        ),
        (more, vector(K)),
    )
    sums = settle(total_compare("k", 1, D, opened), *DIMENSION)
    split = settle(
        total_linear(
            "k",
            1,
            D,
            opened.conclusion.right,
            (1, vector(K) * mean_of(weight, P)(K)),
            (weight(P + 1), vector(K) * x(P + 1, K)),
        ),
        *DIMENSION,
    )
    return equal(sums.conclusion.left, split.conclusion.right, sums, split)


def _square_completed(vector: Vector, weight: Vector, step: Vector) -> Theorem:
    """C |w + s|^2 - (1/2m) sum (w + s) Y == the same at w = Y/(4 C m), plus C |s|^2."""
    signs = [assume(zero < C), counted(M, 1)]
    means = mean_of(weight)
    new, old = moved(vector, step), vector
    cross = step(K) * means(K)
    linear = settle(
        total_linear("k", 1, D, new(K) * means(K), (1, old(K) * means(K)), (1, cross), signs=signs), *DIMENSION
    )
    squares = settle(
        total_linear(
            "k",
            1,
            D,
            new(K) * new(K),
            (1, old(K) * old(K)),
            (1 / (2 * C * M), cross),
            (1, step(K) * step(K)),
            signs=signs,
        ),
        *DIMENSION,
    )
    left = C * size(new) - 1 / (2 * M) * total("k", 1, D, new(K) * means(K))
    right = C * size(old) - 1 / (2 * M) * total("k", 1, D, old(K) * means(K)) + C * size(step)
    return combine(same(left, right), (squares, C), (linear, -1 / (2 * M)), signs=signs)


def _gain() -> Theorem:
    """objective at the closed form + C (|s|^2 + |u|^2) <= objective at a step (s, u) from it."""
    signs = [assume(zero < C), counted(M, 1)]
    new_w, new_v = moved(W, S), moved(V, U)
    pieces = loss(dot(new_w, ROW), dot(new_v, ROW), y(ROW))
    above = settle(total_compare("i", 1, M, largest_above(pieces, 0)), *ROWS)
    exact = settle(total_compare("i", 1, M, affine()), *ROWS)
    there, here = _pieces_sum(new_w, new_v), _pieces_sum(W, V)
    first = _square_completed(W, y, S)
    second = _square_completed(V, minus_one, U)
    return combine(
        objective(W, V) + C * (size(S) + size(U)) <= objective(new_w, new_v),
        (above, 1 / M),
        (exact, 1 / M),
        (here, 1 / M),
        (there, -1 / M),
        (first, -1),
        (second, -1),
        signs=signs,
    )


def _facts() -> tuple[Theorem, ...]:
    signs = [assume(zero < C), counted(M, 1)]
    return (
        theta_facts(THETA)[0],
        counted(M, 1),
        combine(zero < 4 * C * M, signs=signs),
        combine(zero < 4 * C, signs=signs),
    )


def _minimum() -> Built:
    """The objective at the closed form is below that at any step that is not 0."""
    here, there = objective(W, V), objective(moved(W, S), moved(V, U))
    step = size(S) + size(U)
    gain = _gain()
    condition = zero < step
    left = where(condition, here, there - 1)
    goal = left < there
    (z,) = variables("z")
    grows = cut(instance(combine(zero < C * z, signs=[assume(zero < C), assume(zero < z)]), z=step), assume(condition))
    yes = chain(goal, where_yes(left, assume(condition)), gain, grows)
    no = chain(goal, where_no(left, assume(negation(condition))))
    return by_cases(condition, yes, no), _facts()


def _off_span() -> Built:
    """A further coordinate that is 0 at every row: a part ``lift`` of w along it adds C lift^2 and changes no loss."""
    row = loss(dot(W, ROW) + LIFT * 0, dot(V, ROW), y(ROW))
    lifted = total("i", 1, M, row) / M + C * (size(W) + LIFT * LIFT + size(V))
    losses = settle(total_compare("i", 1, M, combine(same(loss(dot(W, ROW), dot(V, ROW), y(ROW)), row))), *ROWS)
    signs = [assume(zero < C), counted(M, 1), assume(zero < LIFT)]
    found = combine(objective(W, V) < lifted, (losses, 1 / M), signs=signs)
    return weaken(found, THETA < HALF, *(one.conclusion for one in DIMENSION)), _facts()


def _rows(data: str, theta: Any, C: Any, **_: Any) -> Point:
    labels, features = zip(*DATA[data], strict=True)
    return {"x": features, "y": labels, "m": len(labels), "d": 2, "theta": theta, "C": C}


DERIVATIONS: tuple[Derivation, ...] = (
    Derivation(
        "eq-3",
        "The objective is at least its first pieces with the penalties, a constant plus C times the squared step; at "
        "the closed form the two agree, because |<w, x>| <= kappa^2/(4C) <= 1 - 2 theta. For every number of rows and "
        "dimensions, labels in [-1, 1], C_h = C_g and the ledger's premise; a step of 0 is left out.",
        _minimum,
        reads=lambda step, **case: [{**_rows(**case), "s": step[:2], "u": step[2:]}],
        premises=((PENALTY, SMALL_PENALTY),),
    ),
    Derivation(
        "eq-3-representer",
        "In a coordinate that is 0 at every row a part of w changes no loss, and costs C lift^2 > 0.",
        _off_span,
        reads=lambda lift, **case: [{**_rows(**case), "lift": lift}],
        takes="that every part outside the span of the rows is such a coordinate, for w and for v",
    ),
)
