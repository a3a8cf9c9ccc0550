"""Putting the stores of a study's shards together."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from exml_sim.engine.result import StudyResult
from exml_sim.engine.store import Store, StoreError


def merge(stores: Sequence[str | Path], out: str | Path) -> StudyResult:
    """Put the stores of a study's shards together in a new one.

    Raises
    ------
    StoreError
        If the new file exists, the stores belong to different studies, or two of them hold the same trial; the new file
        is then not left behind.
    """
    target = Path(out)
    if not stores:
        raise StoreError("merge needs at least one store, got none")
    if target.exists():
        raise StoreError(f"{target} exists already; nothing was changed: give another file")
    parts: list[Store] = []
    try:
        for path in stores:
            parts.append(Store.read(path))
        study = parts[0].study
        for one in parts[1:]:
            if one.hash != parts[0].hash:
                raise StoreError(
                    f"{one.path} ({one.hash[:12]}) and {parts[0].path} ({parts[0].hash[:12]}) belong to different "
                    "studies; nothing was merged"
                )
        try:
            with Store.create_or_open(target, study, study.cells()) as merged:
                for one in parts:
                    merged.copy_from(one)
        except BaseException:
            for suffix in ("", "-wal", "-shm"):
                target.with_name(target.name + suffix).unlink(missing_ok=True)
            raise
    finally:
        for one in parts:
            one.close()
    return StudyResult(Store.read(target))
