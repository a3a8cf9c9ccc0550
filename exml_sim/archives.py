"""Reading archives of arrays (.npz) that people keep: what is damaged is refused in one line."""

from __future__ import annotations

import lzma
import struct
import zipfile
import zlib
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np

#: What reading an archive raises where bits are wrong: the archive, its compression (also one that it never had, or a
#: password), the header of an array (also a size that no memory has), what the arrays say.
_DAMAGE = (
    ValueError,
    LookupError,
    TypeError,
    AttributeError,
    ArithmeticError,
    EOFError,
    RuntimeError,
    MemoryError,
    SyntaxError,
    struct.error,
    zlib.error,
    lzma.LZMAError,
    zipfile.BadZipFile,
)

#: The last record of an archive: mark, numbers of parts and entries (here, in all), size and place of the list.
_END = struct.Struct("<4s4H2LH")


@contextmanager
def opened(path: Path, expected: str) -> Iterator[Any]:
    """An archive as numpy gives it; whatever its contents raise in the block is a `ValueError` of one line.

    Parameters
    ----------
    expected
        What the file should be, for the message: "a model that exml explore saved".
    """
    try:
        # numpy takes any other file for a pickle, and advises to trust it.
        if path.is_file() and not zipfile.is_zipfile(path):
            raise ValueError("it is no archive of arrays")
        with np.load(path, allow_pickle=False) as file:
            if len(file.files) != _announced(path):
                raise ValueError("its list of arrays is not complete")
            yield file
    except FileNotFoundError:
        raise ValueError(f"there is no file {path}") from None
    except OSError as error:
        raise ValueError(f"cannot read {path}: {error.strerror or error}") from None
    except _DAMAGE as error:
        words = " ".join(str(error).split())[:200]
        raise ValueError(f"{path} is damaged, or is not {expected}: {words}") from None


def _announced(path: Path) -> int:
    """Number of arrays by the last record of an archive, which readers of archives do not compare with its list.

    A single wrong length in an entry of the list hides all entries behind it.
    """
    with path.open("rb") as file:
        file.seek(-_END.size, 2)
        mark, *_, total, _, _, _ = _END.unpack(file.read())
    if mark != b"PK\x05\x06":
        raise ValueError("it has something behind its end")
    return int(total)
