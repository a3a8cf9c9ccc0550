"""The file under a store: whose it is (read from its bytes), the lock of its driver, connections, and publishing.

Nothing here knows what a store holds. A file is looked at before SQLite gets it, because even a look through SQLite
changes somebody else's database when its last writer was killed.
"""

from __future__ import annotations

import os
import sqlite3
import stat
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from exml_sim._internal.files import refuse_link

#: First bytes of every SQLite database, and where its header has the number of the application (big-endian).
_MAGIC = b"SQLite format 3\x00"
_APPLICATION_AT = slice(68, 72)
APPLICATION = 0x65786D6C  # "exml"
SIDE_FILES = ("-wal", "-shm", "-journal")


class StoreError(ValueError):
    """A store that cannot be used; what was in it before is still there."""


class OtherStudyError(StoreError):
    """A store of another study than the one that is to be run."""


def beside(path: Path, suffix: str) -> Path:
    """Return the file of the same name with something appended."""
    return path.with_name(path.name + suffix)


def check_place(path: Path) -> None:
    """Refuse a place where no store can be, or a symbolic link."""
    refuse_link(path)
    if not path.parent.is_dir():
        raise StoreError(f"cannot write a store at {path}: there is no directory {path.parent}")
    if path.is_dir():
        raise StoreError(f"cannot write a store at {path}: it is a directory")
    if path.exists() and not stat.S_ISREG(path.stat().st_mode):
        raise StoreError(f"cannot write a store at {path}: it is no regular file")
    if not path.exists() and any(beside(path, suffix).exists() for suffix in SIDE_FILES):
        raise StoreError(
            f"cannot write a store at {path}: there are side files (-wal, -shm or -journal) of a database that "
            "is gone; move them away, or give another file"
        )


def check_owner(path: Path, application: int = APPLICATION, what: str = "a study's store") -> None:
    """Refuse a file that is no database, or another program's, by its bytes alone."""
    try:
        with path.open("rb") as file:
            header = file.read(100)
    except OSError as error:
        raise StoreError(f"cannot read the store {path}: {error.strerror}") from None
    if not header:
        raise StoreError(f"{path} is an empty file and no store; nothing was changed")
    if header[: len(_MAGIC)] != _MAGIC or len(header) < 100:
        raise StoreError(f"{path} is damaged or no store at all (it is no SQLite database); nothing was changed")
    if int.from_bytes(header[_APPLICATION_AT], "big") != application:
        raise StoreError(f"{path} is a database, but not {what}; nothing was changed")


def connect(path: Path | None, mode: str) -> sqlite3.Connection:
    """Open a database; `None` is a temporary file of SQLite's own."""
    try:
        if path is None:
            return sqlite3.connect("", isolation_level=None, check_same_thread=False)
        uri = f"{path.resolve().as_uri()}?mode={mode}"
        return sqlite3.connect(uri, uri=True, isolation_level=None, timeout=10.0, check_same_thread=False)
    except sqlite3.Error as error:
        raise StoreError(f"cannot open the store {path}: {one_line(error)}") from None


def connect_to_read(path: Path) -> sqlite3.Connection:
    """Open an existing database to look at it; safe while a run writes to it."""
    if os.access(path.parent, os.W_OK) and os.access(path, os.W_OK):
        # A reader of a WAL database needs its side files, and may have to make them.
        return connect(path, "rw")
    log = beside(path, "-wal")
    if not log.exists() or log.stat().st_size == 0:
        # No log and nobody who may write one: the file is all there is.
        return connect(path, "ro&immutable=1")
    # Committed blocks may be in the log only; SQLite reads it, if the side files are there.
    return connect(path, "ro")


@contextmanager
def explained(path: Path | None, doing: str = "use", what: str = "a trial of this block") -> Iterator[None]:
    """Say in one line what a database error means."""
    kept = "what was stored before is kept"
    try:
        yield
    except sqlite3.IntegrityError as error:
        raise StoreError(f"{path} holds {what} already ({one_line(error)}); {kept}") from None
    except sqlite3.OperationalError as error:
        raise StoreError(f"cannot {doing} the store {path}: {one_line(error)}; {kept}") from None
    except UnicodeDecodeError:
        raise StoreError(f"{path} is damaged (a text in it is not UTF-8); it was left as it is") from None
    except (sqlite3.Error, OverflowError) as error:
        raise StoreError(f"{path} is damaged or no store at all ({one_line(error)}); it was left as it is") from None


class Rows:
    """The answer to a query, line by line; what goes wrong on the way is said in one line, too.

    Parameters
    ----------
    connection, query, parameters
        What is asked.
    path
        The file, for messages.
    """

    def __init__(
        self, connection: sqlite3.Connection, query: str, parameters: Sequence[Any], path: Path | None
    ) -> None:
        self._path = path
        with explained(path, "read"):
            self._cursor = connection.execute(query, parameters)

    def __iter__(self) -> Iterator[Any]:
        # Not `yield from`: a generator that is dropped would close the cursor, after its file perhaps.
        with explained(self._path, "read"):
            for line in self._cursor:  # noqa: UP028
                yield line

    def fetchone(self) -> Any:
        """Return the next line, or None."""
        with explained(self._path, "read"):
            return self._cursor.fetchone()


def one_line(error: BaseException) -> str:
    """Return the message of an error without line breaks."""
    return " ".join(str(error).split())


@contextmanager
def transaction(connection: sqlite3.Connection) -> Iterator[None]:
    """Commit all statements inside, or none."""
    connection.execute("BEGIN IMMEDIATE")
    try:
        yield
        connection.execute("COMMIT")
    except BaseException:
        # A full disk makes SQLite roll back by itself, and a second time is an error that hides the first.
        if connection.in_transaction:
            connection.execute("ROLLBACK")
        raise


class DriverLock:
    """An advisory lock on a file next to the store: two drivers must not compute the same trials.

    Parameters
    ----------
    path
        The store.
    """

    def __init__(self, path: Path) -> None:
        self.path = beside(path, "-driver")
        try:
            # A link of that name must not make a file elsewhere.
            flags = os.O_CREAT | os.O_RDWR | getattr(os, "O_NOFOLLOW", 0)
            self._file = os.fdopen(os.open(self.path, flags, 0o666), "r+")
        except OSError as error:
            raise StoreError(f"cannot write a store at {path}: {error.strerror}") from None
        try:
            import fcntl
        except ImportError:  # pragma: no cover - no such locks on this system
            return
        try:
            fcntl.flock(self._file, fcntl.LOCK_EX | fcntl.LOCK_NB)
            # A driver that has just ended may have removed the name of the file that was locked here.
            is_locked = os.fstat(self._file.fileno()).st_ino == self.path.stat().st_ino
        except OSError:
            is_locked = False
        if not is_locked:
            self._file.close()
            raise StoreError(f"another run is writing to {path}")

    def release(self) -> None:
        """Unlock; the operating system does the same for a driver that was killed."""
        self.path.unlink(missing_ok=True)
        self._file.close()


@contextmanager
def draft(target: Path) -> Iterator[Path]:
    """Yield a file beside the target to build a database in, and give it its name unless something has it by then.

    Call it with the target's `DriverLock`, which makes the name beside ours: what a killed run left there is removed.

    Raises
    ------
    StoreError
        If the target exists at the end; it is then left alone.
    """
    path = beside(target, "-new")
    _remove(path)
    try:
        yield path
        try:
            os.link(path, target)
        except FileExistsError:
            raise StoreError(f"{target} exists already; nothing was changed: give another file") from None
        except OSError:
            # No hard links in this file system: the lock is what keeps others away.
            os.rename(path, target)
    finally:
        _remove(path)


def _remove(path: Path) -> None:
    for suffix in ("", *SIDE_FILES):
        beside(path, suffix).unlink(missing_ok=True)
