"""What a verification has finished, so that an interrupted one continues: a small SQLite file, one line per result.

Every line carries a digest of the source that made it. After a change of the code the line is not found any more and
the work is done again.
"""

from __future__ import annotations

import hashlib
import json
import sqlite3
from functools import lru_cache
from pathlib import Path
from types import TracebackType
from typing import Any, Self

import exml_sim
import simulations
import theory


@lru_cache(maxsize=1)
def source_digest() -> str:
    """SHA-256 of the Python files that results depend on: both packages without the command line, and this one."""
    digest = hashlib.sha256()
    for package in (exml_sim, theory, simulations):
        home = Path(package.__path__[0])
        for file in sorted(home.rglob("*.py")):
            part = file.relative_to(home).as_posix()
            if package is simulations and not part.startswith("verification/"):
                continue
            if not part.startswith(("cli/", "verification/report")):
                digest.update(part.encode() + b"\0" + file.read_bytes() + b"\0")
    return digest.hexdigest()


class Records:
    """Finished results by key; without a path they live in memory.

    Parameters
    ----------
    path
        The file, or None.
    """

    def __init__(self, path: Path | None = None) -> None:
        self._connection = sqlite3.connect(":memory:" if path is None else path)
        try:
            self._connection.execute(
                "CREATE TABLE IF NOT EXISTS records (source TEXT, key TEXT, value TEXT, PRIMARY KEY (source, key))"
            )
        except sqlite3.DatabaseError as error:
            self._connection.close()
            raise ValueError(f"cannot keep results in {path}: {error}; choose another folder with --store") from None

    def get(self, key: str) -> Any | None:
        """The value of a key that the present source has written, or None."""
        found = self._connection.execute(
            "SELECT value FROM records WHERE source = ? AND key = ?", (source_digest(), key)
        ).fetchone()
        return None if found is None else json.loads(found[0])

    def put(self, key: str, value: Any) -> None:
        """Keep a value; one transaction each, so that a kill loses at most the work in hand."""
        with self._connection:
            self._connection.execute(
                "INSERT OR REPLACE INTO records VALUES (?, ?, ?)", (source_digest(), key, json.dumps(value))
            )

    def __len__(self) -> int:
        return int(self._connection.execute("SELECT count(*) FROM records").fetchone()[0])

    def close(self) -> None:
        """Let go of the file."""
        self._connection.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()
