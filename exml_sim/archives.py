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
            yield file
    except FileNotFoundError:
        raise ValueError(f"there is no file {path}") from None
    except OSError as error:
        raise ValueError(f"cannot read {path}: {error.strerror or error}") from None
    except _DAMAGE as error:
        words = " ".join(str(error).split())[:200]
        raise ValueError(f"{path} is damaged, or is not {expected}: {words}") from None
