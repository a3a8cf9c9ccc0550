"""One spelling of numba's decorator, typed, so that every kernel is cached and frees the lock."""

from collections.abc import Callable
from typing import TypeVar, cast

from numba import njit

F = TypeVar("F", bound=Callable[..., object])


def kernel(function: F) -> F:
    """Compile with numba: cached on disk, free of the interpreter lock; for type checks nothing changes."""
    return cast(F, njit(cache=True, nogil=True)(function))
