"""Compute the losses of the rejection model (Section 3.1): Eq. 1, corrected, and its surrogate Eq. 2.

A rejection model is a pair f = (h, g): the point is rejected when g(x) <= 0, otherwise it gets the class sign(h(x)).
"""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike

from exml_sim._internal.arrays import FloatArray
from exml_sim._internal.validation import check_labels, check_theta


def rejection_loss(h: ArrayLike, g: ArrayLike, y: ArrayLike, theta: ArrayLike) -> FloatArray | np.float64:
    r"""Compute the 0/1 loss with rejection, Eq. 1, corrected.

    .. math::
        \ell_{0/1} = 1[y h \le 0]\,1[g > 0] + \theta\,1[g \le 0]

    The paper prints the strict :math:`1[y h < 0]`. Then h = 0, g = 1 has loss zero on every sample, so every
    Bayes risk of Eq. 4 is zero and no feature is better than another; counting y h = 0 as an error corrects that.

    Parameters
    ----------
    h, g : array_like
        Values of the predictive function and of the rejection function.
    y : array_like
        Labels, -1 or +1.
    theta : array_like
        Cost of a rejection, in (0, 1/2).

    Returns
    -------
    ndarray or scalar
        The loss, with the broadcast shape of the arguments.

    Examples
    --------
    >>> rejection_loss(h=[2.0, -1.0, 0.5], g=[1.0, 1.0, -1.0], y=[1, 1, 1], theta=0.3)  # right, wrong, rejected
    array([0. , 1. , 0.3])
    """
    h, g, y = (np.asarray(a, dtype=np.float64) for a in (h, g, y))
    theta = check_theta(theta)
    check_labels(y)
    return np.where(g > 0, np.where(y * h <= 0, 1.0, 0.0), theta)[()]


def surrogate_loss(h: ArrayLike, g: ArrayLike, y: ArrayLike, theta: ArrayLike) -> FloatArray | np.float64:
    r"""Compute the convex surrogate, Eq. 2.

    .. math::
        \ell_{surr} = \max\{1 + (g - y h)/2,\; \theta (1 - g/(1 - 2\theta)),\; 0\}

    It lies above the 0/1 loss (corrected or printed) exactly when :math:`\theta < 1/2`.

    Parameters
    ----------
    h, g, y, theta : array_like
        As in :func:`rejection_loss`.

    Returns
    -------
    ndarray or scalar
        The loss, with the broadcast shape of the arguments.

    Examples
    --------
    >>> surrogate_loss(h=[2.0, -1.0, 0.5], g=[1.0, 1.0, -1.0], y=[1, 1, 1], theta=0.3)
    array([0.5 , 2.  , 1.05])
    """
    h, g, y = (np.asarray(a, dtype=np.float64) for a in (h, g, y))
    theta = check_theta(theta)
    check_labels(y)
    predict = 1.0 + 0.5 * (g - y * h)
    reject = theta * (1.0 - g / (1.0 - 2.0 * theta))
    return np.maximum(np.maximum(predict, reject), 0.0)[()]
