"""Compile inner loops with numba: cached on disk, without the interpreter's lock, IEEE division."""

from __future__ import annotations

import hashlib
from collections.abc import Callable
from pathlib import Path
from typing import Any, TypeVar, cast

from numba import njit

# Sums may be reordered (that is what makes them vectorise); NaN and infinity keep their meaning.
REORDER = {"reassoc", "contract", "nsz", "arcp"}

# Nothing here is handed to C as a function: without that entry there is less to compile.
_HOW: dict[str, Any] = {"cache": True, "nogil": True, "error_model": "numpy", "no_cfunc_wrapper": True}

compiled: Any = njit(**_HOW)
compiled_sums: Any = njit(**_HOW, fastmath=REORDER)
compiled_inline: Any = njit(**_HOW, inline="always")

#: The folder whose modules contain compiled functions.
PACKAGE = Path(__file__).parents[1]

F = TypeVar("F", bound=Callable[..., object])


def kernel(function: F) -> F:
    """Compile a function whose types are written down; for type checks nothing changes."""
    return cast(F, compiled(function))


def forget_stale(package: Path) -> bool:
    """Drop the package's compiled code if a module with compiled functions has changed; return True if so.

    numba checks the file of a function only, not those of the functions it calls: after a change of one module the
    cached code of another would still use the old one.
    """
    sources = [path for path in sorted(package.rglob("*.py")) if b"exml_sim._internal.compiled" in path.read_bytes()]
    state = "".join(f"{path.relative_to(package)}{path.stat().st_mtime_ns}{path.stat().st_size}" for path in sources)
    digest = hashlib.sha256(state.encode()).hexdigest()
    stamp = package / "__pycache__" / "compiled.stamp"
    try:
        if stamp.exists() and stamp.read_text() == digest:
            return False
        for kind in ("*.nbi", "*.nbc"):
            for path in package.rglob(kind):
                path.unlink(missing_ok=True)
        stamp.parent.mkdir(exist_ok=True)
        stamp.write_text(digest)
    except OSError:
        # An installation that cannot be written to has nothing stale in it.
        return False
    return True


forget_stale(PACKAGE)
