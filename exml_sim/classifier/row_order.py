r"""In which order rows are bought: at random, but so that every beginning looks like the table.

With twenty rows per candidate chance decides how many rows of a class are among them, and how many that the observed
columns leave in doubt. So the rows are sorted by their label and by how well the initial model predicts it without
having seen the row, cut into strata of equal size, and bought cycle by cycle: one random row of every stratum, the
strata in random order. What does not fill the strata is taken out at random beforehand and comes last. A candidate's
values have no part in it.

Bets on differences of losses (`exml_sim.bandit.selection_report`) are settled at the ends of cycles. Given what was
seen before a cycle, its rows are drawn independently, one of every stratum. A stake turns a row's loss into a factor c;
with :math:`\bar c_j` the mean of c over the rows that are left in stratum j of J,

.. math:: E \prod_{t \in \text{cycle}} c_t = \prod_j \bar c_j \le \Big(\frac1J \sum_j \bar c_j\Big)^J

by the inequality of the means, so wealth is a supermartingale from cycle to cycle whenever the mean of c over the rows
left is at most 1. Inside a cycle it is not: whoever stops there at will can gain.
"""

from __future__ import annotations

import numpy as np

from exml_sim.arrays import FloatArray, IntArray
from exml_sim.bandit.selection_report import CYCLE


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
    strata = min(strata, len(y))
    shuffled = rng.permutation(len(y))  # ties of the sort are broken at random, and so is what comes last
    last, shuffled = np.split(shuffled, [len(y) % strata])
    ranked = shuffled[np.lexsort((own[shuffled], y[shuffled]))].reshape(strata, -1)
    cycles = rng.permuted(rng.permuted(ranked, axis=1).T, axis=1)
    return np.concatenate([cycles.ravel(), last]).astype(np.int64)
