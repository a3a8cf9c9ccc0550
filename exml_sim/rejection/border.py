r"""A Newton system whose faces changed a little, solved with the factor of an earlier one.

Let S = L L' be the system over the free directions at the faces of that factor. Directions that became free since are
appended as rows and columns, those that are free no longer are held at zero by a multiplier each:

.. math:: \begin{pmatrix} S & B \\ B^\top & C \end{pmatrix} = \tilde L D \tilde L^\top, \qquad
    B = (S_{\cdot a}, \; E_r), \quad C = \begin{pmatrix} S_{aa} & 0 \\ 0 & 0 \end{pmatrix}.

With the added directions first the matrix is quasi-definite: D is +1 for S and for them, -1 for the multipliers, and no
pivoting is needed. k changes of f directions cost k f^2 operations instead of f^3/3.
"""

from __future__ import annotations

import numpy as np

from exml_sim.compiled import compiled, compiled_sums
from exml_sim.rejection.linalg import back_substitute, eliminate_rows, forward_substitute
from exml_sim.rejection.triangle import CORNER_B, INSIDE, edge

LEAST = 64  # free directions below which a factor of its own is as cheap
SHARE = 10  # at most one in so many directions may have changed
SOUND = 1e-7  # smallest pivot of an added direction over its diagonal entry


@compiled
def count_changes(face, based):
    """Directions added and removed on the way from the faces `based` to `face`."""
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
    """Row and components of each direction that became free; on an edge that became the inside, the edge's normal."""
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
    """What is to stay zero: the row, and the coefficients of its one or two directions at the faces `based`."""
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
def append_border(gram, at, e1, e2, rows, a1, a2, held, w1, w2, shift, system):
    """Append the rows of the border to the factor of S in `system`, the factor of D' K D + shift I over (at, e1, e2).

    False where a pivot is too small, and the system has to be factorised anew.
    """
    free, added = len(at), len(rows)
    first = np.full(len(gram), -1)
    for j in range(free - 1, -1, -1):
        first[at[j]] = j
    for t in range(added):
        row, target = gram[rows[t]], system[free + t]
        for j in range(free):
            target[j] = row[at[j]] * (a1[t] * e1[j] + a2[t] * e2[j])
        for s in range(t + 1):
            target[free + s] = row[rows[s]] * (a1[t] * a1[s] + a2[t] * a2[s])
        target[free + t] += shift
    for t in range(len(held)):
        target = system[free + added + t]
        target[: free + added + t + 1] = 0.0
        target[first[held[t]]] = w1[t]
        if w2[t] != 0.0:
            target[first[held[t]] + 1] = w2[t]
    eliminate_rows(system, free, free + added + len(held))
    return factor_border(system, free, added, len(held))


@compiled_sums
def factor_border(system, free, added, removed):
    """Factorise the rows of the border among themselves, L D L' with D = 1 for added directions and -1 for others."""
    for t in range(free, free + added + removed):
        row = system[t]
        for s in range(free, t + 1):
            other = system[s]
            rest = row[s]
            for k in range(min(s, free + added)):
                rest -= row[k] * other[k]
            for k in range(free + added, s):
                rest += row[k] * other[k]
            sign = 1.0 if s < free + added else -1.0
            if s < t:
                row[s] = sign * rest / other[s]
            else:
                least = SOUND * row[t] if t < free + added else 0.0
                if not sign * rest > least:
                    return False
                row[t] = np.sqrt(sign * rest)
    return True


@compiled
def solve_border(system, x, free, added, removed):
    """Solve L D L' x = rhs in place."""
    n = free + added + removed
    forward_substitute(system, x, n)
    for k in range(free + added, n):
        x[k] = -x[k]
    back_substitute(system, x, n)
