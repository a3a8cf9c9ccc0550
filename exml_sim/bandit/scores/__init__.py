"""The scores of an arm, one file each: per-row means, so that arms with different numbers of rows can be compared.

A file NAME.py is the score "NAME". It has

- `PENALISED`: whether it is of the penalised problem (Eq. 3) and needs a penalty, or over a ball and needs a radius;
- `TOLERANCES`: accuracies of the solver, loosest first; most comparisons between arms are decided by the first;
- `score(terms, gram, y, counts, tol)`: values with the ends of their certificates, one for every line of counts.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from exml_sim.arrays import CountArray, FloatArray

if TYPE_CHECKING:
    from exml_sim.rejection.solve import BatchSolution

Certified = tuple[FloatArray, FloatArray, FloatArray]


@dataclass(frozen=True, slots=True)
class Terms:
    """What a score may read: rejection cost, radius, penalty (C_h, C_g), and whether the penalty is added to a sum."""

    theta: float
    ball: float | None
    penalty: tuple[float, float] | None
    loss: str


def penalised(
    terms: Terms, gram: FloatArray, y: NDArray[np.int64], counts: CountArray, tol: float
) -> tuple[BatchSolution, FloatArray]:
    """Solve Eq. 3 on counts of rows; returns the solutions and what their objectives are divided by."""
    # Names of scores are read by everybody, the solver's compiled modules are wanted by few.
    from exml_sim.rejection import solve_batch

    total = counts.sum(axis=1, dtype=np.int64).astype(np.float64)
    if terms.loss == "mean":
        # Mean loss plus penalty is the weighted sum of losses with weights count / rows, plus penalty.
        weights, total = counts / total[:, None], np.ones_like(total)
    else:
        weights = counts.astype(np.float64)
    return solve_batch(gram, y, terms.theta, weights, penalty=terms.penalty, tol=tol), total
