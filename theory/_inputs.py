"""Argument checks shared by all bounds: arrays in; a float out when all inputs were scalars."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TypeAlias

import numpy as np
from numpy.typing import ArrayLike, NDArray

Floats: TypeAlias = NDArray[np.float64]
Ints: TypeAlias = NDArray[np.int64]
Flags: TypeAlias = NDArray[np.bool_]
Bound: TypeAlias = float | NDArray[np.float64]
"""What a bound returns: a float for scalar inputs, an array otherwise."""


def real(value: ArrayLike, name: str) -> Floats:
    """Return ``value`` as float64; refuse what is not a finite real number."""
    try:
        array = np.asarray(value, dtype=np.float64)
    except (TypeError, ValueError, OverflowError):
        raise ValueError(f"{name} must be a real number or an array of them, got {value!r:.80}") from None
    if not np.all(np.isfinite(array)):
        raise ValueError(f"{name} must be finite, got {_first(array, ~np.isfinite(array))}")
    return array


def positive(value: ArrayLike, name: str) -> Floats:
    """Return ``value`` as float64; refuse negative numbers (zero is left to the assumptions)."""
    array = real(value, name)
    if np.any(array < 0):
        raise ValueError(f"{name} must not be negative, got {_first(array, array < 0)}")
    return array


def fraction(value: ArrayLike, name: str) -> Floats:
    """Return ``value`` as float64; refuse what is not strictly between 0 and 1."""
    array = real(value, name)
    outside = (array <= 0) | (array >= 1)
    if np.any(outside):
        raise ValueError(f"{name} must be strictly between 0 and 1, got {_first(array, outside)}")
    return array


def whole(value: ArrayLike, name: str, *, least: int) -> Ints:
    """Return ``value`` as int64; refuse fractions and anything below ``least``."""
    try:
        given = np.asarray(value)
    except ValueError:
        given = real(value, name)
    if given.dtype == np.uint64:
        _fits(given, name)
    if given.dtype.kind in "iu":
        array = given.astype(np.int64)
    else:
        number = real(value, name)
        if np.any(number != np.floor(number)):
            raise ValueError(f"{name} must be a whole number, got {_first(number, number != np.floor(number))}")
        _fits(number, name)
        array = number.astype(np.int64)
    if np.any(array < least):
        raise ValueError(f"{name} must be at least {least}, got {_first(array, array < least)}")
    return array


def _fits(number: NDArray[np.generic], name: str) -> None:
    size = np.abs(number.astype(np.float64))
    if np.any(size >= 2.0**63):
        raise ValueError(f"{name} is too large: it must be below 2^63, got {_first(number, size >= 2.0**63)}")


def result(values: Floats) -> Bound:
    """Return a plain float for a zero-dimensional array and the array itself otherwise."""
    array = np.asarray(values, dtype=np.float64)
    return float(array) if array.ndim == 0 else array


def _first(array: NDArray[np.generic], where: Flags) -> str:
    return f"{array[where].flat[0]:g}"


def log_sum(logs: Sequence[Floats]) -> Floats:
    """Return the log of a sum of exponentials; -inf stands for a term that cannot occur."""
    total = logs[0]
    with np.errstate(under="ignore"):
        for term in logs[1:]:
            total = np.logaddexp(total, term)
    return np.asarray(total)
