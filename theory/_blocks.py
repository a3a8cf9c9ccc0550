"""Evaluate an elementwise bound over a large grid in blocks that stay in the processor's cache."""

from __future__ import annotations

import functools
import inspect
import math
from collections.abc import Callable, Mapping
from typing import Any, ParamSpec, cast

import numpy as np

from theory._inputs import Bound
from theory.errors import AssumptionError

__all__ = ["BLOCK", "in_blocks", "is_elementwise"]

BLOCK = 1 << 15
"""Elements per block: a few dozen temporaries of this size fit the cache."""

ELEMENTWISE = ("B", "K", "gap", "theta", "kappa_lambda", "best_count", "population", "mean_kappa_lambda")
"""Parameters that broadcast against each other; all others are the same for every element."""

P = ParamSpec("P")

_WRAPPED: set[Callable[..., Bound]] = set()
"""Bounds of which it is known that they take arrays."""


def in_blocks(bound: Callable[P, Bound]) -> Callable[P, Bound]:
    """Wrap a bound so that large inputs are evaluated block by block, with identical results.

    Per-arm gaps carry an axis of their own and are never split.
    """
    signature = inspect.signature(bound)
    anything = cast("Callable[..., Bound]", bound)

    @functools.wraps(bound)
    def blocked(*args: P.args, **kwargs: P.kwargs) -> Bound:
        given = signature.bind(*args, **kwargs).arguments
        if given.get("gaps") is not None:
            return bound(*args, **kwargs)
        arrays = {name: np.asarray(given[name]) for name in ELEMENTWISE if given.get(name) is not None}
        if max(array.size for array in arrays.values()) <= BLOCK:
            return bound(*args, **kwargs)
        shape = np.broadcast_shapes(*(array.shape for array in arrays.values()))
        flat = {name: np.broadcast_to(array, shape).reshape(-1) for name, array in arrays.items()}
        rest = {name: value for name, value in given.items() if name not in flat}
        values = np.empty(math.prod(shape))
        try:
            for start in range(0, values.size, BLOCK):
                part = slice(start, start + BLOCK)
                pieces = {name: array[part] for name, array in flat.items()}
                values[part] = anything(**rest, **pieces)
        except AssumptionError:
            # Once more as a whole, so that the error names the worst of all points.
            return bound(*args, **kwargs)
        return values.reshape(shape)

    _WRAPPED.add(blocked)
    return blocked


def is_elementwise(bound: Callable[..., Bound], parameters: Mapping[str, Any]) -> bool:
    """Whether one more argument may be an array of any length: a bound of ours, at one point otherwise."""
    return bound in _WRAPPED and parameters.get("gaps") is None and not any(map(np.ndim, parameters.values()))
