"""One form for many rivals: the smallest matrix, about, that is above all given ones in the psd order."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np

from theory.population.graphs import Floats
from theory.population.law import UNIT

__all__ = ["certified_slack", "psd_majorant"]

#: Rows for which the metric is made; the majorant depends on it little.
_ROWS = 40


def psd_majorant(makers: Sequence[Callable[[], Floats]], p: Floats) -> tuple[Floats, float]:
    """A matrix M and a number e with v'Mv + e >= v'Cv for every C that is made and every probability vector v.

    M grows greedily: M <- M + O^(-1/2) (O^(1/2) (C - M) O^(1/2))_+ O^(-1/2) with O = pp' + diag(p)/n, which adds
    the least to E p^' M p^. The numbers are not trusted: a Cholesky factorisation certifies every C afterwards.
    """
    M = makers[0]().copy()
    if len(makers) == 1:
        return M, 0.0
    weights, vectors = np.linalg.eigh(np.outer(p, p) + np.diag(p) / _ROWS)
    roots = np.sqrt(weights)
    root, inverse = (vectors * roots) @ vectors.T, (vectors / roots) @ vectors.T
    for make in makers[1:]:
        values, axes = np.linalg.eigh(root @ (make() - M) @ root)
        keep = values > 0.0
        part = inverse @ axes[:, keep]
        M += (part * values[keep]) @ part.T
    M = (M + M.T) / 2.0
    return M, max(certified_slack(M - make()) for make in makers)


def certified_slack(R: Floats) -> float:
    """A number e with v'Rv >= -e for all probability vectors v, by a Cholesky factorisation of R + e I.

    If the factorisation runs to its end, R + e I is psd up to 2 (m + 2) u times its trace (Higham 2002, Theorem 10.3).
    """
    m = len(R)
    size = float(np.abs(R).max())
    if size == 0.0:
        return 0.0
    shift = 1e-13 * m * size
    while True:
        try:
            np.linalg.cholesky(R + shift * np.eye(m))
        except np.linalg.LinAlgError:
            shift *= 10.0
            continue
        # |v|^2 <= 1 for a probability vector; the entries of R themselves carry three roundings.
        return shift + 2.0 * (m + 2) * UNIT * (float(np.trace(R)) + m * shift) + 8.0 * UNIT * size
