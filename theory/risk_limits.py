r"""Limits of the 0/1 risk from counts on rows that a model has not seen.

A model accepts a row or rejects it at cost theta. Its risk is R = theta (1 - P[accept]) + P[accept and wrong]. A lower
limit of the first probability and an upper limit of the second one give a limit of the risk. It does not depend on
kernel, ball or number of parameters, and can be below theta, the risk of the model that rejects everything.
"""

from __future__ import annotations

import math
from functools import partial

import numpy as np
from scipy import special

from theory._inputs import Floats
from theory.verdicts import clopper_pearson, real, whole

__all__ = ["limit_mean_risk", "limit_risk"]

#: Variances of a count per row for which the exponents of Theorem 20 are best; any fixed choice is valid.
_VARIANCES = np.array([0.25, 0.1, 0.03, 0.008])


def limit_risk(accepted: int, wrong: int, rows: int, theta: float, delta: float, models: int = 1) -> float:
    """Return an upper limit of the risk of a model, from counts on unseen rows.

    Theorem 19: rows that are independent of the model, each limit by Clopper and Pearson at level delta / (2 models).
    If one of several models is chosen with the same rows, the limit holds for the chosen one.

    Parameters
    ----------
    accepted, wrong, rows : int
        Unseen rows, those that are accepted, and those that are accepted and misclassified.
    theta : float
        Cost of a rejected row, in (0, 1/2).
    delta : float
        Probability that the risk is above the limit.
    models : int
        Number of models that the choice was made from.

    Examples
    --------
    >>> round(limit_risk(150, 6, 300, 0.1, 0.05), 4)
    0.0988
    """
    level = _check(accepted, wrong, rows, theta, delta, models)
    return theta * (1.0 - clopper_pearson(accepted, rows, level)[0]) + clopper_pearson(wrong, rows, level)[1]


def limit_mean_risk(accepted: int, wrong: int, rows: int, theta: float, delta: float, models: int = 1) -> float:
    """Return an upper limit of the mean risk of a sequence of models, each tested on rows that follow it.

    Theorem 20 (progressive validation): row i tests a model that is a function of earlier rows, so no row is lost for
    fitting. The mean risk is that of a model drawn from the sequence at random. Parameters as for `limit_risk`.

    Examples
    --------
    >>> round(limit_mean_risk(150, 6, 300, 0.1, 0.05), 4)
    0.1133
    """
    level = _check(accepted, wrong, rows, theta, delta, models)
    rejected = _upper_mean(rows - accepted, rows, level)
    return theta * rejected + _upper_mean(wrong, rows, level)


def _upper_mean(count: int, rows: int, level: float) -> float:
    """Return the largest mean conditional probability with a mixture below 1 / level."""
    from scipy.optimize import brentq

    threshold = -math.log(level)
    exponents = np.minimum(np.sqrt(2.0 * threshold / (rows * _VARIANCES)), 4.0)
    excess = partial(_log_mixture, count, rows, exponents)
    if excess(1.0) < threshold:
        return 1.0
    return float(brentq(lambda p: excess(p) - threshold, count / rows, 1.0, xtol=1e-12)) + 1e-12


def _log_mixture(count: int, rows: int, exponents: Floats, p: float) -> float:
    """Return the log of the mean over exponents x of exp(-x count) / (1 + p (exp(-x) - 1))^rows."""
    with np.errstate(divide="ignore"):
        logs = -exponents * count - rows * np.log1p(p * np.expm1(-exponents))
    return float(special.logsumexp(logs) - math.log(exponents.size))


def _check(accepted: int, wrong: int, rows: int, theta: float, delta: float, models: int) -> float:
    """Check the counts, and return the level of each of the two limits."""
    counts = [whole(name, count) for name, count in (("accepted", accepted), ("wrong", wrong), ("rows", rows))]
    if not 0 <= counts[1] <= counts[0] <= counts[2] or counts[2] < 1:
        raise ValueError(
            f"a risk needs 0 <= wrong <= accepted <= rows, at least one row, got {wrong}, {accepted}, {rows}"
        )
    if not 0.0 < real("theta", theta) < 0.5:
        raise ValueError(f"theta must lie in (0, 1/2), got {theta}")
    if not 0.0 < real("delta", delta) < 1.0 or whole("models", models) < 1:
        raise ValueError(f"delta must lie in (0, 1) and models be at least 1, got {delta} and {models}")
    return delta / (2.0 * models)
