"""Soft models as named arrays, and back: forests, kernels and their mixtures, checked so that damage is refused.

The manifest tells the shape of a mixture, the arrays are numbered in the order in which it is read.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from itertools import count
from typing import Any

import numpy as np

from exml_sim.classifier.kernel_regression import CENTRES, KernelSoft
from exml_sim.classifier.soft import ForestSoft, MeanSoft, Soft, StackedSoft

_KERNEL = ("shift", "scale", "anchors", "coefficients", "base")
#: What kernels of earlier versions do not have.
_CURVES = ("low", "high", "wide", "curves")
_FOREST = ("feature", "threshold", "left", "right", "value", "roots")

Read = Callable[[str], Any]


def pack(soft: Soft) -> tuple[dict[str, Any], dict[str, Any]]:
    """What the manifest says about a model, and its arrays."""
    arrays: dict[str, Any] = {}
    return _describe(soft, arrays, count()), arrays


def _describe(soft: Soft, arrays: dict[str, Any], numbers: Iterator[int]) -> dict[str, Any]:
    if isinstance(soft, MeanSoft):
        return {"kind": "mean", "parts": [_describe(part, arrays, numbers) for part in soft.parts]}
    if isinstance(soft, StackedSoft):
        parts = [_describe(part, arrays, numbers) for part in (soft.first, soft.second)]
        return {"kind": "stacked", "parts": parts, "width": soft.width, "weight": soft.weight, "odds": list(soft.odds)}
    number = next(numbers)
    if isinstance(soft, KernelSoft):
        arrays |= {f"{name}_{number}": getattr(soft, name) for name in _KERNEL + _CURVES}
        return {"kind": "kernels and curves", "gamma": soft.gamma}
    if isinstance(soft, ForestSoft):
        arrays |= {f"{name}_{number}": getattr(soft, name) for name in _FOREST}
        return {"kind": "forest"}
    raise ValueError(
        "only rejection, forest and kernel models are saved as plain arrays: pickle a classifier of your own"
    )


def unpack(about: Mapping[str, Any], read: Read, targets: int, width: int) -> Soft:
    """The model from what `pack` wrote.

    Parameters
    ----------
    read
        Gives the array of a name.
    targets, width
        Numbers of targets and of columns that the model must have.
    """
    return _built(about, read, targets, width, count())


def _built(about: Mapping[str, Any], read: Read, targets: int, width: int, numbers: Iterator[int]) -> Soft:
    kind = about["kind"]
    if kind == "mean":
        parts = tuple(_built(part, read, targets, width, numbers) for part in about["parts"])
        if not parts:
            raise ValueError("a mean has no parts")
        return MeanSoft(parts)
    if kind == "stacked":
        seen, weight = int(about["width"]), float(about["weight"])
        odds = tuple(map(float, about["odds"]))
        if not 0 < seen <= width or not 0.0 <= weight <= 1.0 or len(odds) != 2 or not min(odds) > 0.0:
            raise ValueError("a mixture has no usable weight or width")
        first, second = about["parts"]
        ahead = _built(first, read, targets, seen, numbers)
        return StackedSoft(ahead, _built(second, read, targets, width, numbers), seen, weight, (odds[0], odds[1]))
    number = next(numbers)
    if kind in ("kernel", "kernels and curves"):
        names = _KERNEL if kind == "kernel" else _KERNEL + _CURVES
        arrays = {name: _finite(read(f"{name}_{number}")) for name in names}
        return _kernel(arrays, float(about["gamma"]), targets, width)
    if kind == "forest":
        return _forest({name: read(f"{name}_{number}") for name in _FOREST}, targets, width)
    raise ValueError(f"a layer has an unknown kind of model, {kind!r}")


def _kernel(arrays: dict[str, Any], gamma: float, targets: int, width: int) -> KernelSoft:
    """A model of arrays that fit together; without wide part, curves and limits where an earlier version wrote it."""
    most = np.full(width, np.finfo(np.float64).max)
    heights, coefficients = (width * len(CENTRES), targets), arrays["coefficients"]
    missing = {"low": -most, "high": most, "wide": np.zeros_like(coefficients), "curves": np.zeros(heights)}
    arrays = missing | arrays
    rows = len(arrays["anchors"]), targets
    shapes: dict[str, tuple[int, ...]] = dict.fromkeys(("low", "high", "shift", "scale"), (width,))
    shapes |= {"anchors": (rows[0], width), "coefficients": rows, "wide": rows, "curves": heights, "base": (targets,)}
    fits = all(arrays[name].shape == shape for name, shape in shapes.items())
    if not fits or not 0.0 < gamma < np.inf or not (arrays["scale"] > 0.0).all():
        raise ValueError("the arrays of a kernel model do not fit together")
    return KernelSoft(**arrays, gamma=gamma)


def _forest(arrays: Mapping[str, Any], targets: int, width: int) -> ForestSoft:
    feature, left, right, roots = (np.asarray(arrays[name]) for name in ("feature", "left", "right", "roots"))
    threshold, value = _finite(arrays["threshold"]), _finite(arrays["value"])
    nodes = len(feature)
    whole = all(one.dtype == np.int64 and one.ndim == 1 for one in (feature, left, right, roots))
    fits = whole and threshold.shape == left.shape == right.shape == feature.shape and value.shape == (nodes, targets)
    if not fits or not len(roots) or not ((roots >= 0) & (roots < nodes)).all() or not (feature < width).all():
        raise ValueError("the arrays of a forest do not fit together")
    inner = np.flatnonzero(feature >= 0)
    # Children stand behind their parents, so that every way down ends.
    for side in (left, right):
        if not ((side[inner] > inner) & (side[inner] < nodes)).all():
            raise ValueError("the nodes of a forest are out of order")
    return ForestSoft(feature, threshold, left, right, value, roots)


def _finite(array: Any) -> Any:
    if array.dtype != np.float64 or not np.isfinite(array).all():
        raise ValueError("an array must be finite numbers")
    return array
