"""Check arguments; every message says in one line what was given and what is allowed."""

from __future__ import annotations

import sys
from collections.abc import Iterable
from numbers import Real
from os import cpu_count
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from exml_sim._internal.arrays import FloatArray

#: More workers than this are taken for a mistake.
MOST_JOBS = 1024

#: Largest number of a table: trees compare single precision, and further up squares overflow.
LARGEST_NUMBER = 1e38


def check_theta(theta: ArrayLike) -> FloatArray:
    """Check the rejection cost theta, in (0, 1/2); at and above 1/2 Eq. 2 is no upper bound of Eq. 1."""
    value = as_numbers(theta, "theta")
    bad = ~((value > 0.0) & (value < 0.5))
    if np.any(bad):
        raise ValueError(f"theta must lie in the open interval (0, 0.5); got {_first(value, bad)}")
    return value


def check_labels(y: ArrayLike) -> FloatArray:
    """Check labels; return them as -1.0 and +1.0."""
    value = as_numbers(y, "y")
    bad = (value != 1.0) & (value != -1.0)
    if np.any(bad):
        raise ValueError(f"labels must be -1 or +1; got {_first(value, bad)}")
    return value


def check_alike(y: ArrayLike) -> None:
    """Refuse a mixture of texts and numbers as labels; numpy would make texts of a list of both."""
    raw = np.asarray(y, dtype=object) if isinstance(y, list | tuple) else np.asarray(y)
    if raw.dtype != object:
        return
    parts = [label for label in raw.ravel() if isinstance(label, list | tuple | dict | np.ndarray)]
    if parts:
        raise ValueError(f"labels must be numbers or texts, one per row, got {shown(parts[0])}")
    texts = np.array([isinstance(label, str) for label in raw.ravel()], dtype=np.bool_)
    if texts.any() and not texts.all():
        text, other = raw.ravel()[texts.argmax()], raw.ravel()[texts.argmin()]
        raise ValueError(f"labels must be all texts or all numbers, got both: {shown(text)} and {shown(other)}")
    try:
        np.unique(raw)
    except TypeError:
        kinds = " and ".join(sorted({type(label).__name__ for label in raw.ravel()})[:3])
        raise ValueError(f"labels must be all texts or all numbers, got {kinds}") from None


def check_finite(values: ArrayLike, name: str) -> FloatArray:
    """Check for real numbers without NaN or infinity."""
    value = as_numbers(values, name)
    bad = ~np.isfinite(value)
    if np.any(bad):
        raise ValueError(f"{name} must be finite; {int(bad.sum())} of {value.size} values are NaN or infinite")
    return value


def check_size(values: FloatArray, name: str, largest: float = LARGEST_NUMBER) -> FloatArray:
    """Check that models can square and add up the values; NaN may mark what is missing."""
    bad = np.abs(values) > largest
    if np.any(bad):
        raise ValueError(f"{name} must be numbers of at most {largest:g} in size; got {_first(values, bad)}")
    return values


def check_matrix(values: ArrayLike, name: str) -> FloatArray:
    """Check for a finite matrix, rows by features, with at least one row and one column."""
    value = check_finite(values, name)
    if value.ndim != 2 or 0 in value.shape:
        raise ValueError(f"{name} must be a matrix with at least one row and one column; got shape {value.shape}")
    return value


def as_table(values: ArrayLike, name: str) -> FloatArray:
    """Copy to a matrix of real numbers, rows by features; a vector is one feature."""
    table = np.array(as_numbers(values, name))
    table = table[:, None] if table.ndim == 1 else table
    if table.ndim != 2 or table.shape[1] == 0:
        raise ValueError(f"{name} must have shape (rows, columns) with at least one column, got {table.shape}")
    return table


def check_positive(value: Any, name: str) -> float:
    """Check for one finite number above zero."""
    is_number = isinstance(value, Real) and not isinstance(value, bool)
    if not is_number or not 0 < value <= sys.float_info.max:
        raise ValueError(f"{name} must be a finite number above 0; got {shown(value)}")
    return float(value)


def check_choice(value: str, what: str, allowed: Iterable[str]) -> str:
    """Check for one of the allowed names."""
    names = tuple(allowed)
    if not isinstance(value, str) or value not in names:
        raise ValueError(f"unknown {what} {shown(value)}: allowed are {', '.join(map(repr, names))}")
    return value


def shown(value: Any, most: int = 80) -> str:
    """Write a value for a message, cut where it would not fit on a line; a scalar of numpy as a plain one."""
    value = value.item() if isinstance(value, np.generic) else value
    if isinstance(value, int) and value.bit_length() > 4 * most:
        return f"a whole number of {value.bit_length():,} bits"
    if isinstance(value, str | bytes | list | tuple) and len(value) > most:
        return f"{repr(value[:most])[:most]}… ({len(value):,} in all)"
    text = " ".join(repr(value).split())
    return text if len(text) <= 2 * most else f"{text[:most]}…"


def counted(number: int, noun: str) -> str:
    """Write a number of things: 1 row, 2 rows."""
    return f"{number} {noun}" if number == 1 else f"{number} {noun}s"


def check_count(value: Any, name: str, least: int = 1) -> int:
    """Check for a whole number of at least `least`."""
    if not _is_whole(value) or value < least:
        raise ValueError(f"{name} must be a whole number of at least {least}; got {shown(value)}")
    return int(value)


def check_jobs(n_jobs: Any) -> int:
    """Check the number of threads or processes; -1 stands for all cores."""
    if not _is_whole(n_jobs) or n_jobs == 0 or n_jobs < -1 or n_jobs > MOST_JOBS:
        raise ValueError(
            f"n_jobs must be a positive whole number or -1 for all cores, at most {MOST_JOBS}; got {shown(n_jobs)}"
        )
    return int(n_jobs) if n_jobs > 0 else (cpu_count() or 1)


def check_random_state(state: Any, name: str = "random_state") -> np.random.Generator:
    """Build the generator that a random state stands for."""
    try:
        if state is not None and not isinstance(state, np.random.Generator) and not _is_whole(state):
            raise TypeError
        return np.random.default_rng(state)
    except (TypeError, ValueError):
        raise ValueError(
            f"{name} must be a whole number of at least 0, a numpy Generator or None; got {shown(state)}"
        ) from None


def _is_whole(value: Any) -> bool:
    if isinstance(value, int):
        return not isinstance(value, bool)
    return isinstance(value, Real) and float(value).is_integer()


def as_numbers(values: ArrayLike, name: str) -> FloatArray:
    """Convert to an array of real numbers."""
    try:
        raw = np.asarray(values)
        if raw.dtype.kind == "c":
            raise TypeError
        return np.asarray(raw, dtype=np.float64)
    except (TypeError, ValueError, OverflowError):
        raise ValueError(f"{name} must be real numbers; got {type(values).__name__} that is not numeric") from None


def column_names(X: Any) -> tuple[str, ...] | None:
    """Return the column names of a pandas, polars or Arrow table; None for arrays and numbered columns."""
    names = getattr(X, "column_names", None)
    names = getattr(X, "columns", None) if names is None else names
    if names is None or not all(isinstance(name, str) for name in names):
        return None
    return tuple(map(str, names))


def _first(value: FloatArray, bad: NDArray[np.bool_]) -> str:
    return repr(float(np.atleast_1d(value)[np.atleast_1d(bad)][0]))
