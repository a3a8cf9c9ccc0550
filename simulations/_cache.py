"""Finished work on disk, so that an interrupted run continues: one JSON file per result in a folder.

Files are replaced in one step, so a killed process leaves whole results only. Results that cannot be read are computed
again. Pickle is not used: a folder of somebody else executes nothing.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any, TypeVar

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
        self._folder = folder
        #: JSON texts of results, by key.
        self._texts: dict[str, str] = {}
        if folder is None:
            return
        if folder.exists() and not folder.is_dir():
            raise ValueError(f"{folder} is not a folder of finished work")
        refuse_link(folder)
        folder.mkdir(parents=True, exist_ok=True)
        text, file = json.dumps(settings or {}, sort_keys=True), folder / "settings.json"
        if file.exists():
            _compare_settings(file, json.loads(text))
        else:
            write_file(file, text)

    def __contains__(self, key: str) -> bool:
        if key not in self._texts and self._folder is not None:
            try:
                entry = json.loads(self._file(key).read_text(encoding="utf-8"))
                if entry["key"] == key:
                    self._texts[key] = json.dumps(entry["value"])
            except (OSError, ValueError, TypeError, KeyError):
                pass
        return key in self._texts

    def _file(self, key: str) -> Path:
        assert self._folder is not None
        return self._folder / f"{hashlib.sha256(key.encode()).hexdigest()[:32]}.json"

    def _keep(self, key: str, result: Any) -> None:
        self._texts[key] = json.dumps(result, sort_keys=True)
        if self._folder is not None:
            write_file(self._file(key), json.dumps({"key": key, "value": result}, sort_keys=True))

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
            for key, result in parallel(delayed(_run)(job, key, items[key]) for key in missing):
                self._keep(key, result)
                done()
        return [json.loads(self._texts[key]) for key in items]


def _run(job: Callable[[Item], Any], key: str, item: Item) -> tuple[str, Any]:
    return key, job(item)


def _compare_settings(file: Path, settings: Mapping[str, Any]) -> None:
    try:
        stored = dict(json.loads(file.read_text(encoding="utf-8")))
    except (ValueError, TypeError):
        raise ValueError(f"{file} is damaged; nothing was changed: give another --out") from None
    names = sorted(stored.keys() | settings.keys())
    if differing := [name for name in names if stored.get(name) != settings.get(name)]:
        raise ValueError(
            f"{file.parent} holds results of other settings ({', '.join(differing)} differ); nothing was changed: "
            "give another --out"
        )
