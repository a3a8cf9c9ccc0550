"""The project's compiler options as a decorator that keeps a function's types."""

from collections.abc import Callable
from typing import TypeVar, cast

from exml_sim.compiled import compiled

F = TypeVar("F", bound=Callable[..., object])


def kernel(function: F) -> F:
    """Compile with numba: cached on disk, free of the interpreter lock; for type checks nothing changes."""
    return cast(F, compiled(function))
