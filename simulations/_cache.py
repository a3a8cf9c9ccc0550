"""Finished work on disk, so that an interrupted run continues: one JSON file per result in a folder.

A finished file is renamed into place, so a killed process leaves whole results only. Results that cannot be read or do
not match their checksum are computed again. Pickle is not used: a folder of somebody else executes nothing.
"""

from __future__ import annotations

import hashlib
import json
import os
import tempfile
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any, Self, TypeVar

from joblib import Parallel, delayed, effective_n_jobs

from exml_sim._internal.files import refuse_link, write_file

Item = TypeVar("Item")


class Cache:
    """Results that JSON can hold, by key.

    Parameters
    ----------
    folder
        Created if it does not exist; without one the results live as long as the object.
    settings
        What the results depend on, as JSON values.

    Raises
    ------
    ValueError
        If the folder holds results of other settings, or is no folder.
    """

    def __init__(self, folder: Path | None = None, settings: Mapping[str, Any] | None = None) -> None:
        self._temporary = tempfile.TemporaryDirectory() if folder is None else None
        home = Path(self._temporary.name) if self._temporary is not None else Path(folder or "")
        if home.exists() and not home.is_dir():
            raise ValueError(f"{home} is not a folder of finished work")
        refuse_link(home)
        home.mkdir(parents=True, exist_ok=True)
        self._settings = json.loads(json.dumps(settings or {}))
        file = home / "settings.json"
        if file.exists():
            self._compare(file)
        else:
            write_file(file, json.dumps(self._settings, sort_keys=True))
        self._home = home

    def _compare(self, file: Path) -> None:
        try:
            stored = dict(json.loads(file.read_text(encoding="utf-8")))
        except (ValueError, TypeError):
            raise ValueError(f"{file} is damaged; nothing was changed: give another --out") from None
        names = sorted(stored.keys() | self._settings.keys())
        differing = [name for name in names if stored.get(name) != self._settings.get(name)]
        if differing:
            raise ValueError(
                f"{file.parent} holds results of other settings ({', '.join(differing)} differ); nothing was changed: "
                "give another --out"
            )

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        if self._temporary is not None:
            self._temporary.cleanup()

    def __contains__(self, key: str) -> bool:
        return self._read(key) is not None

    def run(self, key: str, job: Callable[[Item], Any], item: Item) -> Any:
        """Return the result of a key; compute it if it is missing or damaged."""
        text = self._read(key)
        if text is None:
            text = json.dumps(job(item), sort_keys=True)
            self._write(key, text)
        return json.loads(text)

    def _file(self, key: str) -> Path:
        return self._home / f"{hashlib.sha256(key.encode()).hexdigest()[:32]}.json"

    def _read(self, key: str) -> str | None:
        """Return the text of a result, or None if it is missing or damaged."""
        try:
            entry = json.loads(self._file(key).read_text(encoding="utf-8"))
            text = str(entry["result"])
            return text if entry["checksum"] == _digest(key, text) else None
        except (OSError, ValueError, TypeError, KeyError):
            return None

    def _write(self, key: str, text: str) -> None:
        handle, name = tempfile.mkstemp(dir=self._home, suffix=".tmp")
        with os.fdopen(handle, "w", encoding="utf-8") as file:
            json.dump({"key": key, "result": text, "checksum": _digest(key, text)}, file)
        os.replace(name, self._file(key))

    def map(
        self,
        job: Callable[[Item], Any],
        items: Mapping[str, Item],
        *,
        n_jobs: int = 1,
        prefer: str = "threads",
        done: Callable[[], object] = lambda: None,
    ) -> list[Any]:
        """Compute every missing result on workers, and return all results in the order of the items.

        Parameters
        ----------
        job
            Item -> result.
        items
            Key -> item.
        n_jobs, prefer
            Number of workers, "threads" or "processes"; results do not depend on them.
        done
            Called after every computed result.
        """
        missing = [key for key in items if key not in self]
        if missing:
            workers = min(effective_n_jobs(n_jobs), len(missing))
            parallel = Parallel(n_jobs=workers, prefer=prefer, batch_size=1, return_as="generator_unordered")
            for _ in parallel(delayed(self.run)(key, job, items[key]) for key in missing):
                done()
        return [self.run(key, job, item) for key, item in items.items()]


def _digest(key: str, text: str) -> str:
    return hashlib.sha256(f"{key}\0{text}".encode()).hexdigest()
