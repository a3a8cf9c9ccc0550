"""Measure free memory, and write amounts of it."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path, PurePosixPath


def free_memory(root: Path = Path("/")) -> int | None:
    """Return the free bytes; None where the system does not tell.

    The file cache counts as free. In a container its own limit counts, too. `root` is the folder of `/proc` and `/sys`.
    """
    known = [limit for limit in (_machine_memory(root), *_group_memory(root)) if limit is not None]
    return min(known, default=None)


def _machine_memory(root: Path) -> int | None:
    try:
        text = (root / "proc/meminfo").read_text(encoding="ascii")
        lines = dict(line.split(":", 1) for line in text.splitlines() if ":" in line)
        return int(lines["MemAvailable"].split()[0]) * 1024
    except (OSError, KeyError, ValueError, IndexError):
        pass
    try:
        return int(os.sysconf("SC_AVPHYS_PAGES") * os.sysconf("SC_PAGE_SIZE"))
    except (ValueError, OSError, AttributeError):
        return None


def _group_memory(root: Path) -> Iterator[int]:
    """Yield what the control group of this process and its parents leave free, in versions 2 and 1."""
    try:
        lines = (root / "proc/self/cgroup").read_text(encoding="utf-8").splitlines()
    except (OSError, ValueError):
        lines = []
    own = {controllers: PurePosixPath(path) for _, controllers, path in (line.split(":", 2) for line in lines if line)}
    groups = root / "sys/fs/cgroup"
    for controller, mount, limit, used in (
        ("", groups, "memory.max", "memory.current"),
        ("memory", groups / "memory", "memory.limit_in_bytes", "memory.usage_in_bytes"),
    ):
        group = own.get(controller, PurePosixPath("/"))
        for folder in (mount / str(parent).lstrip("/") for parent in (group, *group.parents)):
            # There is no such group, or the limit is the word "max".
            with suppress(OSError, ValueError):
                yield max(int((folder / limit).read_text("ascii")) - int((folder / used).read_text("ascii")), 0)


def in_bytes(amount: int) -> str:
    """Write an amount of memory for people."""
    for unit, size in (("GiB", 2**30), ("MiB", 2**20), ("KiB", 2**10)):
        if amount >= size:
            return f"{amount / size:.1f} {unit}"
    return f"{amount} bytes"
