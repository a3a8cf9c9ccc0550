"""Putting the stores of a study's shards together."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import ExitStack
from pathlib import Path

from exml_sim.engine.files import DriverLock, check_place
from exml_sim.engine.result import StudyResult
from exml_sim.engine.store import Store, StoreError


def merge(stores: Sequence[str | Path], out: str | Path) -> StudyResult:
    """Put the stores of a study's shards together in a new one.

    The new store is built under another name and gets its own when it is complete; a file that has that name by then,
    whoever made it, is left alone.

    Raises
    ------
    StoreError
        If the new file exists, the stores belong to different studies, or two of them hold the same trial; nothing is
        then left behind.
    """
    target = Path(out)
    if not stores:
        raise StoreError("merge needs at least one store, got none")
    _check_free(target)
    with ExitStack() as opened:
        parts = [opened.enter_context(Store.read(path)) for path in stores]
        study = parts[0].study
        for one in parts[1:]:
            if one.hash != parts[0].hash:
                raise StoreError(
                    f"{one.path} ({one.hash[:12]}) and {parts[0].path} ({parts[0].hash[:12]}) belong to different "
                    "studies; nothing was merged"
                )
        check_place(target)
        lock = DriverLock(target)
        opened.callback(lock.release)
        _check_free(target)
        Store.make(target, study, study.cells(), parts)
    return StudyResult(Store.read(target))


def _check_free(target: Path) -> None:
    if target.exists():
        raise StoreError(f"{target} exists already; nothing was changed: give another file")
