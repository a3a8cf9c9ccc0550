"""Limit BLAS and OpenMP to one thread while trials run or a model is fitted.

On shared cores more threads wait for each other, and sums would depend on their number.
"""

from __future__ import annotations

import sys
from contextlib import AbstractContextManager
from functools import lru_cache
from typing import Any

from threadpoolctl import ThreadpoolController


def one_thread(of: str | None = None) -> AbstractContextManager[Any]:
    """Open a context in which BLAS and OpenMP, or `of` them "blas" alone, use one thread each."""
    limited: AbstractContextManager[Any] = _controller(len(sys.modules)).limit(limits=1, user_api=of)
    return limited


@lru_cache(maxsize=1)
def _controller(modules: int) -> ThreadpoolController:
    """Find the libraries of this process: it takes milliseconds, and only an import can bring another one."""
    return ThreadpoolController()
