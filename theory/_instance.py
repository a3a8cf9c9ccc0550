"""Gap, theta and kappa*Lambda of an instance, checked once for all bounds."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike, NDArray

from theory import _inputs, _loss_constants
from theory._inputs import Floats, Ints
from theory.errors import Assumptions

__all__ = [
    "CEILING_TOLERANCE",
    "POPULATION_EXHAUSTED",
    "Instance",
    "instance",
    "launch_rows",
    "loss_parameters",
    "require_launch",
]

CEILING_TOLERANCE = 1e-12
"""Relative rounding allowed when a measured gap touches its ceiling."""

POPULATION_EXHAUSTED = "no more rows than the population holds"
"""The assumption that ends draws without replacement."""


@dataclass(frozen=True, slots=True)
class Instance:
    """Checked parameters; where an assumption is broken the numbers are harmless placeholders."""

    gap: Floats
    theta: Floats
    r: Floats
    check: Assumptions


def loss_parameters(
    theta: ArrayLike, kappa_lambda: ArrayLike, *, strict: bool, **point: NDArray[np.generic]
) -> tuple[Floats, Floats, Assumptions]:
    """Check theta in (0, 1/2) and kappa*Lambda >= 0."""
    theta_ = _inputs.real(theta, "theta")
    r = _inputs.positive(kappa_lambda, "kappa_lambda")
    check = Assumptions(strict, {**point, "theta": theta_, "kappa_lambda": r})
    check.require("theta > 0", theta_)
    check.require("theta < 1/2", 0.5 - theta_)
    if np.any(check.broken):
        theta_ = np.where((theta_ > 0) & (theta_ < 0.5), theta_, 0.25)
    return theta_, r, check


def instance(
    gap: ArrayLike,
    theta: ArrayLike,
    kappa_lambda: ArrayLike,
    *,
    strict: bool,
    allow_zero: bool = False,
    **point: NDArray[np.generic],
) -> Instance:
    """Check theta, kappa*Lambda and that 0 < gap <= Delta_max (a larger gap cannot exist)."""
    gap_ = _inputs.real(gap, "gap")
    theta_, r, check = loss_parameters(theta, kappa_lambda, strict=strict, gap=gap_, **point)
    check.require("gap >= 0" if allow_zero else "gap > 0", gap_, strictly=not allow_zero)
    ceiling = _loss_constants.fall(theta_, r, r)
    slack = ceiling * (1 + CEILING_TOLERANCE) - gap_
    check.require("gap <= Delta_max = 1 - inf loss (no population has a larger gap)", slack, strictly=False)
    return Instance(gap_, theta_, r, check)


def launch_rows(point: Instance, factor: float) -> Floats:
    """factor ((1 - theta) r)^2 / ((1 - 2 theta) gap)^2, the identification condition's threshold."""
    with np.errstate(divide="ignore", invalid="ignore"):
        threshold = factor * (_loss_constants.rademacher(point.theta) * point.r / point.gap) ** 2
    return np.asarray(threshold)


def require_launch(point: Instance, n: Ints, factor: float) -> None:
    """Demand the identification condition; in rows, so that the message says how many are missing."""
    text = f"identification condition n > {factor:g} ((1 - theta) r)^2 / ((1 - 2 theta) gap)^2"
    point.check.require(text, n - launch_rows(point, factor))
