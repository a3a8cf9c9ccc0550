"""How this project compiles its inner loops: cached on disk, without the interpreter's lock, IEEE division."""

from __future__ import annotations

from typing import Any

from numba import njit

# Sums may be reordered (that is what makes them vectorise); NaN and infinity keep their meaning.
REORDER = {"reassoc", "contract", "nsz", "arcp"}

compiled: Any = njit(cache=True, nogil=True, error_model="numpy")
compiled_sums: Any = njit(cache=True, nogil=True, error_model="numpy", fastmath=REORDER)
compiled_inline: Any = njit(cache=True, nogil=True, error_model="numpy", inline="always")
