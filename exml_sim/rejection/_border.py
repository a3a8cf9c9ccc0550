r"""Solve a Newton system whose faces changed a little with the factor of an earlier one.

Let S = U'U be the system over the free directions at the faces of that factor. Directions that became free since are
appended as rows and columns, those that are free no longer are held at zero by a multiplier each:

.. math:: \begin{pmatrix} S & B \\ B^\top & C \end{pmatrix} = \tilde U^\top D \tilde U, \qquad
    B = (S_{\cdot a}, \; E_r), \quad C = \begin{pmatrix} S_{aa} & 0 \\ 0 & 0 \end{pmatrix}.

With the added directions first the matrix is quasi-definite: D is +1 for S and for them, -1 for the multipliers, and no
pivoting is needed. k changes of f directions cost k f^2 operations instead of f^3/3.
"""

from __future__ import annotations

import numpy as np

from exml_sim._internal.compiled import compiled, compiled_sums
from exml_sim.rejection._linalg import (
    SCRATCH,
    back_substitute,
    forward_substitute,
    padded,
    solve_columns,
    take_off_columns,
)
from exml_sim.rejection._triangle import CORNER_B, INSIDE, edge

LEAST = 64  # free directions below which a factor of its own is as cheap
SHARE = 10  # at most one in this many directions may have changed
SOUND = 1e-7  # smallest pivot of an added direction over its diagonal entry


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
def added_directions(face, based, y, geo, added):
    """List row and components of each direction that became free; for an edge that became inner, its normal."""
    rows, e1, e2 = np.empty(added, np.int64), np.zeros(added), np.zeros(added)
    k = 0
    for i in range(len(face)):
        new, old = face[i], based[i]
        if new == old or new <= CORNER_B or old == INSIDE:
            continue
        rows[k] = i
        if new < INSIDE:
            e1[k], e2[k] = edge(new, y[i], geo)
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
def held_directions(face, based, y, geo, removed):
    """List what must stay zero: the row, and the coefficients of its one or two directions at the faces `based`."""
    rows, w1, w2 = np.empty(removed, np.int64), np.zeros(removed), np.zeros(removed)
    k = 0
    for i in range(len(face)):
        new, old = face[i], based[i]
        if new in (old, INSIDE) or old <= CORNER_B:
            continue
        rows[k] = i
        if old < INSIDE:
            w1[k] = 1.0
        elif new > CORNER_B:
            along1, along2 = edge(new, y[i], geo)
            w1[k], w2[k] = -along2, along1
        else:
            w1[k] = 1.0
            k += 1
            rows[k], w2[k] = i, 1.0
        k += 1
    return rows, w1, w2


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
