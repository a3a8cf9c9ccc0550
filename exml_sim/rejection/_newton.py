r"""Compute Newton steps of the proximal subproblem: direction and line search.

The subproblem's dual :math:`\psi` (see :mod:`exml_sim.rejection._dual`) is piecewise quadratic. Its Newton direction
solves :math:`(I + \sigma P K) d = \Pi(q) - x`, where P is zero for rows at a corner of their triangle, rank one on an
edge and the identity inside: a small system over the free rows.

A system whose faces changed a little is solved with the factor of an earlier one. Let S = U'U be the system over the
free directions at the faces of that factor. Directions that became free since are appended as rows and columns, those
that are free no longer are held at zero by a multiplier each:

.. math:: \begin{pmatrix} S & B \\ B^\top & C \end{pmatrix} = \tilde U^\top D \tilde U, \qquad
    B = (S_{\cdot a}, \; E_r), \quad C = \begin{pmatrix} S_{aa} & 0 \\ 0 & 0 \end{pmatrix}.

With the added directions first the matrix is quasi-definite: D is +1 for S and for them, -1 for the multipliers, and no
pivoting is needed. k changes of f directions cost k f^2 operations instead of f^3/3.
"""

from __future__ import annotations

import numpy as np

from exml_sim._internal.compiled import compiled, compiled_inline, compiled_sums
from exml_sim.rejection._linalg import (
    SCRATCH,
    add_rows,
    back_substitute,
    cholesky,
    cholesky_solve,
    copy_two,
    dot,
    forward_substitute,
    pad,
    padded,
    solve_columns,
    take_off_columns,
)
from exml_sim.rejection._simd import WIDTH, load, minus, plus, store, times, zeros
from exml_sim.rejection._triangle import C1, C2, CORNER_B, INSIDE, edge, nearest, shape

LEAST = 64  # free directions below which a factor of its own is as cheap
SHARE = 10  # at most one in this many directions may have changed
SOUND = 1e-7  # smallest pivot of an added direction over its diagonal entry


@compiled
def weights_of(face, sign, geo):
    """Entries (1,1), (1,2), (2,2) of the projection's derivative P at a face."""
    if face <= CORNER_B:
        return 0.0, 0.0, 0.0
    if face == INSIDE:
        return 1.0, 0.0, 1.0
    a, b = edge(face, sign, geo)
    return a * a, a * b, b * b


@compiled
def directions(face, y, geo):
    """Free directions: the row of each and its two components; two for rows inside, one for rows on an edge."""
    free = 0
    for where in face:
        free += (where > CORNER_B) + (where == INSIDE)
    # Unsigned: what is gathered with them needs no check for indices from the end.
    at, e1, e2 = np.empty(free, np.uint64), np.zeros(free), np.zeros(free)
    k = 0
    for i in range(len(face)):
        if face[i] == INSIDE:
            at[k], e1[k] = i, 1.0
            at[k + 1], e2[k + 1] = i, 1.0
            k += 2
        elif face[i] > CORNER_B:
            at[k] = i
            e1[k], e2[k] = edge(face[i], y[i], geo)
            k += 1
    return at, e1, e2


@compiled
def factor_free(gram, at, e1, e2, shift, system):
    """Cholesky factor of D' K D + shift I over free directions; whether there is one, and the array that holds it."""
    free = len(at)
    system = room_for(free, system)
    size = pad(system, free)
    for k in range(0, free - 1, 2):
        row, next_row, target, next_target = gram[at[k]], gram[at[k + 1]], system[k], system[k + 1]
        for j in range(k, free):
            target[j], next_target[j] = row[at[j]], next_row[at[j]]
    if free % 2 == 1:
        system[free - 1, free - 1] = gram[at[free - 1], at[free - 1]]
    weigh_entries(e1, e2, shift, system)
    return cholesky(system, size), system


@compiled
def weigh_entries(e1, e2, shift, system):
    """Multiply entries (k, j) of the upper triangle by e1_k e1_j + e2_k e2_j, and add to the diagonal."""
    free = len(e1)
    components = np.zeros((2, free + WIDTH))
    f1, f2 = components[0], components[1]
    copy_two(e1, e2, f1, f2)
    for k in range(free):
        row = system[k]
        for j in range(k - k % WIDTH, free, WIDTH):
            both = minus(times(f1[k], load(f1, j)), -f2[k], load(f2, j))
            store(row, j, plus(zeros(), load(row, j), both))
        row[k] += shift


@compiled
def room_for(size, system):
    """The array if it holds a system of that size with the columns that factors and borders ask for, else a new one."""
    if len(system) >= padded(size):
        return system
    rows = padded(size + size // 4)
    return np.empty((rows, rows + SCRATCH))


@compiled
def exact_direction(gram, y, geo, face, based, ru, rv, sigma, du, dv, kdu, kdv, system):
    """Solve (I + sigma P K) d = r over the rows that are off the corners; returns K d too, and the system to reuse.

    `based` holds the faces that the factor in `system` belongs to, the first of them -1 if there is none for this sigma
    and geometry. Where few faces changed since then the factor is bordered, else made anew.
    """
    n = len(y)
    at, e1, e2 = directions(face, y, geo)
    kdu[:] = 0.0
    kdv[:] = 0.0
    for i in range(n):
        du[i], dv[i] = ru[i], rv[i]
    for k in range(len(at)):
        i = at[k]
        along = ru[i] * e1[k] + rv[i] * e2[k]
        du[i] -= along * e1[k]
        dv[i] -= along * e2[k]
    for i in range(n):
        # A residual along its edge leaves nothing but rounding across.
        if abs(du[i]) + abs(dv[i]) <= 1e-14 * (abs(ru[i]) + abs(rv[i])):
            du[i], dv[i] = 0.0, 0.0
    add_rows(gram, du, dv, kdu, kdv)
    solution = np.zeros((2, n))
    su, sv = solution[0], solution[1]
    bordered = len(at) >= LEAST and based[0] >= 0
    if bordered:
        bordered = bordered_solution(gram, y, geo, face, based, ru, rv, sigma, kdu, kdv, su, sv, system)
    if not bordered:
        sound, system = factor_free(gram, at, e1, e2, 1.0 / sigma, system)
        based[0] = -1
        if not sound:
            return False, system
        for i in range(n):
            based[i] = face[i]
        x = right_side(at, e1, e2, ru, rv, sigma, kdu, kdv, padded(len(at)))
        cholesky_solve(system, x, len(x))
        spread(at, e1, e2, x, su, sv)
    add_rows(gram, su, sv, kdu, kdv)
    for i in range(n):
        du[i] += su[i]
        dv[i] += sv[i]
    return True, system


@compiled
def right_side(at, e1, e2, ru, rv, sigma, kdu, kdv, length):
    """Right-hand side r / sigma - K d along directions, with zeros up to a length."""
    x = np.zeros(length)
    for k in range(len(at)):
        i = at[k]
        x[k] = e1[k] * (ru[i] / sigma - kdu[i]) + e2[k] * (rv[i] / sigma - kdv[i])
    return x


@compiled
def spread(at, e1, e2, x, su, sv):
    """Add the directions, so many times each, to the rows that they belong to."""
    for k in range(len(at)):
        su[at[k]] += x[k] * e1[k]
        sv[at[k]] += x[k] * e2[k]


@compiled
def count_changes(face, based):
    """Count the directions added and removed between the faces `based` and `face`."""
    added, removed = 0, 0
    for i in range(len(face)):
        new, old = face[i], based[i]
        if new == old:
            continue
        if old <= CORNER_B:
            added += (new > CORNER_B) + (new == INSIDE)
        elif new <= CORNER_B:
            removed += 1 + (old == INSIDE)
        elif new == INSIDE:
            added += 1
        elif old == INSIDE:
            removed += 1
        else:
            added += 1
            removed += 1
    return added, removed


@compiled
def changed_directions(face, based, y, geo, count, relative):
    """List row and components of each of `count` directions that are free on `face` and not on `based`.

    For an edge that became inner it is the normal of the edge. With `relative` an edge stands for itself, (1, 0): the
    coefficient of the one direction that its row has at `face`.
    """
    rows, e1, e2 = np.empty(count, np.int64), np.zeros(count), np.zeros(count)
    k = 0
    for i in range(len(face)):
        new, old = face[i], based[i]
        if new == old or new <= CORNER_B or old == INSIDE:
            continue
        rows[k] = i
        if new < INSIDE:
            e1[k], e2[k] = (1.0, 0.0) if relative else edge(new, y[i], geo)
        elif old > CORNER_B:
            along1, along2 = edge(old, y[i], geo)
            e1[k], e2[k] = -along2, along1
        else:
            e1[k] = 1.0
            k += 1
            rows[k], e2[k] = i, 1.0
        k += 1
    return rows, e1, e2


@compiled
def append_border(gram, at, e1, e2, rows, a1, a2, fixed, w1, w2, shift, system):
    """Append the columns of the border to the factor of S in `system`, that of D' K D + shift I over (at, e1, e2).

    False where a pivot is too small, and the system has to be factorised anew.
    """
    size, added = padded(len(at)), len(rows)
    count = added + len(fixed)
    first = np.full(len(gram), -1)
    for j in range(len(at) - 1, -1, -1):
        first[at[j]] = j
    for i in range(size + padded(count)):
        system[i, max(size, i) : size + count + SCRATCH] = 0.0
    for t in range(added):
        row = gram[rows[t]]
        for j in range(len(at)):
            system[j, size + t] = row[at[j]] * (a1[t] * e1[j] + a2[t] * e2[j])
        for s in range(t + 1):
            system[size + s, size + t] = row[rows[s]] * (a1[t] * a1[s] + a2[t] * a2[s])
        system[size + t, size + t] += shift
    for t in range(len(fixed)):
        system[first[fixed[t]], size + added + t] = w1[t]
        if w2[t] != 0.0:
            system[first[fixed[t]] + 1, size + added + t] = w2[t]
    solve_columns(system, size, count)
    return factor_border(system, size, added, len(fixed))


@compiled_sums
def factor_border(system, size, added, removed):
    """Factorise the corner of the border, U'DU with D = 1 for added directions and -1 for multipliers."""
    stop = size + added + removed
    scale = np.empty(added)
    for t in range(added):
        scale[t] = system[size + t, size + t]
    take_off_columns(system, size, added + removed)
    for k in range(size, stop):
        above = system[k]
        sign = -1.0 if k < size + added else 1.0
        least = SOUND * scale[k - size] if k < size + added else 0.0
        pivot = -sign * above[k]
        if not pivot > least:
            return False
        root = np.sqrt(pivot)
        above[k] = root
        for t in range(k + 1, stop):
            above[t] *= -sign / root
        for s in range(k + 1, stop):
            target, c = system[s], sign * above[s]
            for t in range(s, stop):
                target[t] += c * above[t]
    return True


@compiled
def solve_border(system, x, size, added, removed):
    """Solve U'DU x = rhs in place."""
    n = size + added + removed
    forward_substitute(system, x, n)
    for k in range(size + added, n):
        x[k] = -x[k]
    back_substitute(system, x, n)


@compiled_inline
def bordered_solution(gram, y, geo, face, based, ru, rv, sigma, kdu, kdv, su, sv, system):
    """Solve with the factor at the faces `based`, if few have changed and the border is sound; whether that was so."""
    added, removed = count_changes(face, based)
    at, e1, e2 = directions(based, y, geo)
    free, changed = padded(len(at)), added + removed
    if SHARE * changed > len(at) or free + padded(changed) > len(system):
        return False
    rows, a1, a2 = changed_directions(face, based, y, geo, added, False)
    # What is free no longer is held at zero, in the directions that the factor has.
    fixed, w1, w2 = changed_directions(based, face, y, geo, removed, True)
    if changed > 0 and not append_border(gram, at, e1, e2, rows, a1, a2, fixed, w1, w2, 1.0 / sigma, system):
        return False
    x = right_side(at, e1, e2, ru, rv, sigma, kdu, kdv, free + changed)
    more = right_side(rows, a1, a2, ru, rv, sigma, kdu, kdv, added)
    for k in range(added):
        x[free + k] = more[k]
    solve_border(system, x, free, added, removed)
    spread(at, e1, e2, x, su, sv)
    spread(rows, a1, a2, x[free:], su, sv)
    for k in range(removed):
        # Across the edge that is left there is nothing but rounding.
        i = fixed[k]
        if CORNER_B < face[i] < INSIDE:
            b1, b2 = edge(face[i], y[i], geo)
            along = su[i] * b1 + sv[i] * b2
            su[i], sv[i] = along * b1, along * b2
    return True


@compiled_sums
def slope(t, y, p, geo, zu, zv, xu, xv, kxu, kxv, du, dv, kdu, kdv, sigma):
    """Derivative of psi along d at x + t d: (K d)' (x + t d - Pi(q))."""
    c1, c2, corners = geo[C1], geo[C2], shape(geo)
    total = 0.0
    for i in range(len(y)):
        sign, share = y[i], 1.0 / p[i]
        qu = sign * zu[i] + sigma * (c1 - sign * (kxu[i] + t * kdu[i]))
        qv = zv[i] + sigma * (c2 - kxv[i] - t * kdv[i])
        pu, pv, _ = nearest(share * qu, share * qv, corners)
        total += kdu[i] * (xu[i] + t * du[i] - sign * p[i] * pu) + kdv[i] * (xv[i] + t * dv[i] - p[i] * pv)
    return total


@compiled
def line_search(y, p, geo, zu, zv, xu, xv, kxu, kxv, du, dv, kdu, kdv, sigma, ru, rv):
    """Step that all but minimises psi along d: psi' is increasing and piecewise linear, so bracket and interpolate.

    (ru, rv) is the residual Pi(q) - x at x itself, which gives psi' there. Searching exactly lets many rows change face
    in one Newton step.
    """
    start = -dot(kdu, ru, len(y)) - dot(kdv, rv, len(y))
    if not start < 0.0:
        return 0.0
    low, at_low = 0.0, start
    high = 1.0
    at_high = slope(1.0, y, p, geo, zu, zv, xu, xv, kxu, kxv, du, dv, kdu, kdv, sigma)
    if abs(at_high) <= -0.1 * start:
        return 1.0
    while at_high < 0.0:
        if high > 1e3:
            return high
        low, at_low = high, at_high
        high *= 2.0
        at_high = slope(high, y, p, geo, zu, zv, xu, xv, kxu, kxv, du, dv, kdu, kdv, sigma)
    t = high
    for k in range(14):
        # Every third point is the middle: interpolation alone can creep along one end of the bracket.
        t = 0.5 * (low + high) if k % 3 == 2 else low - at_low * (high - low) / (at_high - at_low)
        at_t = slope(t, y, p, geo, zu, zv, xu, xv, kxu, kxv, du, dv, kdu, kdv, sigma)
        if abs(at_t) <= -0.05 * start:
            break
        if at_t < 0.0:
            low, at_low = t, at_t
        else:
            high, at_high = t, at_t
    return t
