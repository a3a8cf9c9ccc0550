r"""In which order rows are bought: at random, but so that every beginning looks like the table.

With twenty rows per candidate chance decides how many rows of a class are among them, and how many that the observed
columns leave in doubt. So the rows are sorted by their label and by how well the initial model predicts it without
having seen the row, cut into strata of equal size, and bought cycle by cycle: one random row of every stratum, the
strata in random order. A candidate's values have no part in it.

Bets on differences of losses (`exml_sim.exploration.paired`) stay what they are. A stake turns the loss of row i into a
factor c_i; at random order the first n factors have a product of expectation at most (mean c)^n. Here each stratum j
gives k_j rows, k_j equal up to one, drawn without replacement, and which strata are one ahead is random, so by
Maclaurin's inequality, inside the strata and then over them,

.. math:: E \prod_{t \le n} c_t = E \prod_j \frac{e_{k_j}(c^{(j)})}{\binom{s}{k_j}}
          \le E \prod_j \bar c_j^{\,k_j} \le \bar c^{\,n},

e_k the elementary symmetric polynomial, s the size of a stratum. For this parts of the rows must begin with a cycle:
`exml_sim.exploration.paired.later_rows` cuts there. Strata that differ by a row, or values that cannot be had, make it
approximate.
"""

from __future__ import annotations

import numpy as np

from exml_sim.arrays import FloatArray, IntArray
from exml_sim.exploration.paired import CYCLE


def balanced_order(y: IntArray, own: FloatArray, rng: np.random.Generator, strata: int = CYCLE) -> IntArray:
    """An order of all rows (see the module).

    Parameters
    ----------
    y
        Perceived labels.
    own
        Probability of every row's own label, by a model that has not seen the row.
    strata
        Their number; that of the rows if there are fewer.
    """
    shuffled = rng.permutation(len(y))  # so that ties of the sort are broken at random
    ranked = shuffled[np.lexsort((own[shuffled], y[shuffled]))]
    parts = [rng.permutation(part) for part in np.array_split(ranked, min(strata, len(y)))]
    cycles = [[part[i] for part in parts if i < len(part)] for i in range(max(map(len, parts)))]
    return np.concatenate([rng.permutation(cycle) for cycle in cycles]).astype(np.int64)
