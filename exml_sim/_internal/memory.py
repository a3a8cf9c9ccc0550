"""Measure free memory, and read and write amounts of it: 500M, 4G, 1.5 GiB."""

from __future__ import annotations

import os
from pathlib import Path

_MEMINFO = Path("/proc/meminfo")
#: Limit and use of the control group (version 2) that a container runs in.
_GROUP = Path("/sys/fs/cgroup")


def free_memory() -> int | None:
    """Return the free bytes; None where the system does not tell.

    The file cache counts as free. In a container its own limit counts, too.
    """
    known = [limit for limit in (_machine_memory(), _group_memory()) if limit is not None]
    return min(known, default=None)


def _machine_memory() -> int | None:
    try:
        lines = dict(line.split(":", 1) for line in _MEMINFO.read_text(encoding="ascii").splitlines() if ":" in line)
        return int(lines["MemAvailable"].split()[0]) * 1024
    except (OSError, KeyError, ValueError, IndexError):
        pass
    try:
        return int(os.sysconf("SC_AVPHYS_PAGES") * os.sysconf("SC_PAGE_SIZE"))
    except (ValueError, OSError, AttributeError):
        return None


def _group_memory() -> int | None:
    try:
        limit = int((_GROUP / "memory.max").read_text(encoding="ascii"))
        used = int((_GROUP / "memory.current").read_text(encoding="ascii"))
    except (OSError, ValueError):
        # No group, or "max": no limit.
        return None
    return max(limit - used, 0)


def memory_limit(text: str) -> int:
    """Read an amount of memory: 500M, 4G, 1.5 GiB, or bytes."""
    plain = text.strip().lower().removesuffix("b").removesuffix("i").strip()
    unit = {"k": 2**10, "m": 2**20, "g": 2**30, "t": 2**40}.get(plain[-1:], 1)
    try:
        value = float(plain[:-1] if unit > 1 else plain) * unit
    except ValueError:
        value = 0.0
    if not 1.0 <= value < float("inf"):
        raise ValueError(f"an amount of memory is a number with K, M, G or T, like 4G; got {text!r}")
    return int(value)


def in_bytes(amount: int) -> str:
    """Write an amount of memory for people."""
    for unit, size in (("GiB", 2**30), ("MiB", 2**20), ("KiB", 2**10)):
        if amount >= size:
            return f"{amount / size:.1f} {unit}"
    return f"{amount} bytes"
