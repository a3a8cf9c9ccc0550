"""Score "objective": the penalised minimum itself, divided by the number of rows if the loss is a sum.

Its minimum over models, unlike that of "risk", is also the minimum that the deviation arguments of the theory need.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from exml_sim.arrays import CountArray, FloatArray
from exml_sim.bandit.scores import Certified, Terms, penalised

PENALISED = True
TOLERANCES = (5e-3, 5e-4, 1e-5, 1e-9)


def score(terms: Terms, gram: FloatArray, y: NDArray[np.int64], counts: CountArray, tol: float) -> Certified:
    """The objective, with the dual value below it."""
    found, total = penalised(terms, gram, y, counts, tol)
    return found.objective / total, found.lower_bound / total, found.objective / total
