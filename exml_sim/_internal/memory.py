"""Measure free memory, and write amounts of it."""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path, PurePosixPath

_MEMINFO = Path("/proc/meminfo")
#: Mount point of control groups, and the file that names the group of this process.
_GROUPS = Path("/sys/fs/cgroup")
_OWN_GROUP = Path("/proc/self/cgroup")


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
    """Return what the control groups of this process leave free: the smallest over the group and its parents."""
    free = []
    for folder, limit_file, use_file in _group_folders():
        try:
            limit = int((folder / limit_file).read_text(encoding="ascii"))
            used = int((folder / use_file).read_text(encoding="ascii"))
        except (OSError, ValueError):
            # No such group, or "max": no limit.
            continue
        free.append(max(limit - used, 0))
    return min(free, default=None)


def _group_folders() -> Iterator[tuple[Path, str, str]]:
    """Yield folder, file of the limit and file of the use for versions 2 and 1 of control groups."""
    try:
        lines = _OWN_GROUP.read_text(encoding="utf-8").splitlines()
    except (OSError, ValueError):
        lines = []
    own = {controllers: PurePosixPath(path) for _, controllers, path in (line.split(":", 2) for line in lines if line)}
    for controller, mount, limit, used in (
        ("", _GROUPS, "memory.max", "memory.current"),
        ("memory", _GROUPS / "memory", "memory.limit_in_bytes", "memory.usage_in_bytes"),
    ):
        group = own.get(controller, PurePosixPath("/"))
        for parent in (group, *group.parents):
            yield mount / str(parent).lstrip("/"), limit, used


def in_bytes(amount: int) -> str:
    """Write an amount of memory for people."""
    for unit, size in (("GiB", 2**30), ("MiB", 2**20), ("KiB", 2**10)):
        if amount >= size:
            return f"{amount / size:.1f} {unit}"
    return f"{amount} bytes"
