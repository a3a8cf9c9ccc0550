"""Read archives of arrays (.npz), and refuse damaged ones in one line."""

from __future__ import annotations

import struct
import zipfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np

#: The last record of an archive: mark, numbers of parts and entries (here, in all), size and place of the list.
_END = struct.Struct("<4s4H2LH")


#: A compressed file that unpacks to more bytes, and to more times its own size, is refused. Tables of repeated cells
#: reach 20 times, arrays of numbers 5 times; files that are made to exhaust memory reach 1000 times.
MAX_UNPACKED_BYTES, MAX_UNPACKED_RATIO = 100 << 20, 100


@contextmanager
def open_archive(path: Path, expected: str) -> Iterator[Any]:
    """Open an archive with numpy; whatever its contents raise in the block becomes a `ValueError` of one line.

    Parameters
    ----------
    expected
        What the file should be, for the message: "a model that exml explore saved".
    """
    try:
        # numpy takes any other file for a pickle, and advises to trust it.
        if path.is_file() and not zipfile.is_zipfile(path):
            raise ValueError("it is no archive of arrays")
        _check_unpacked_size(path)
        with np.load(path, allow_pickle=False) as file:
            if len(file.files) != _count_entries(path):
                raise ValueError("its list of arrays is not complete")
            yield file
    except FileNotFoundError:
        raise ValueError(f"there is no file {path}") from None
    except OSError as error:
        raise ValueError(f"cannot read {path}: {error.strerror or error}") from None
    except Exception as error:
        # Wrong bits can raise nearly anything: in the archive, its compression, or the header of an array.
        text = " ".join(str(error).split())[:200]
        raise ValueError(f"{path} is damaged, or is not {expected}: {text}") from None


def check_unpacked(unpacked: int, packed: int) -> None:
    """Refuse a file that unpacks to far more than real data would.

    Parameters
    ----------
    unpacked, packed : int
        Bytes after and before unpacking.
    """
    if unpacked > MAX_UNPACKED_BYTES and unpacked > MAX_UNPACKED_RATIO * packed:
        raise ValueError(
            f"it unpacks to more than {MAX_UNPACKED_RATIO} times its size and {MAX_UNPACKED_BYTES >> 20} MiB; if you "
            "trust it, unpack it yourself"
        )


def _check_unpacked_size(path: Path) -> None:
    if path.is_file():
        with zipfile.ZipFile(path) as archive:
            check_unpacked(sum(entry.file_size for entry in archive.infolist()), path.stat().st_size)


def _count_entries(path: Path) -> int:
    """Read the number of arrays from the last record: a single wrong length in the list hides all entries behind it."""
    with path.open("rb") as file:
        file.seek(-_END.size, 2)
        mark, *_, total, _, _, _ = _END.unpack(file.read())
    if mark != b"PK\x05\x06":
        raise ValueError("it has something behind its end")
    return int(total)
