"""Cells far from all others of their column: codes like 9999, slips of a decimal point."""

from __future__ import annotations

import numpy as np

from exml_sim.arrays import BoolArray, FloatArray
from exml_sim.validation import counted

#: Distances from the median, in units of the distance between the quartiles: a cell beyond the first is told of, one
#: beyond the second would make all others of its column look alike to a kernel.
FAR, GROSS = 20.0, 100.0


def far_cells(column: FloatArray) -> BoolArray:
    """Which cells are far from the others; none where the quartiles are one value."""
    low, middle, high = np.quantile(column, [0.25, 0.5, 0.75])
    return np.asarray((np.abs(column - middle) > FAR * (high - low)) & (high > low), dtype=np.bool_)


def told(name: str, column: FloatArray) -> str:
    """What is to be said of a column's far cells; nothing if it has none."""
    far = far_cells(column)
    if not far.any():
        return ""
    worst = column[np.abs(column - np.median(column)).argmax()]
    return f"{name} has {counted(int(far.sum()), 'value')} far from the others, like {worst:g}, perhaps a code"


def limits(X: FloatArray) -> tuple[FloatArray, FloatArray]:
    """Smallest and largest value that a kernel takes of every column, of these rows and of new ones.

    A column with a grossly far cell is cut at the distance from which cells are far, others at the largest number.
    """
    low, middle, high = np.quantile(X, [0.25, 0.5, 0.75], axis=0)
    spread = high - low
    gross = (np.abs(X - middle).max(axis=0) > GROSS * spread) & (spread > 0.0)
    most = np.finfo(np.float64).max
    return np.where(gross, middle - FAR * spread, -most), np.where(gross, middle + FAR * spread, most)
