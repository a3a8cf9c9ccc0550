"""Write files of results: in one step, never through a symbolic link, with errors that name the file."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import BinaryIO


def refuse_link(path: Path) -> None:
    """Refuse a symbolic link as an output file: a folder of somebody else could lead it anywhere."""
    if path.is_symlink():
        raise ValueError(f"{path} is a symbolic link, and results are not written through links: remove it")


@contextmanager
def replace_file(path: Path) -> Iterator[BinaryIO]:
    """Open a file that gets its name when the block ends without an error.

    Raises
    ------
    ValueError
        If the name is a symbolic link.
    OSError
        If the file cannot be written; its `filename` is the path.
    """
    refuse_link(path)
    is_device = path.exists() and not path.is_file() and not path.is_dir()
    aside = path if is_device else path.with_name(f".{path.name}.part")
    try:
        if not is_device:
            aside.unlink(missing_ok=True)
        # Mode x never follows a link.
        with aside.open("wb" if is_device else "xb") as file:
            yield file
            file.flush()
            if not is_device:
                os.fsync(file.fileno())
        if not is_device:
            os.replace(aside, path)
    except OSError as error:
        # Errors of writing, such as a full disk, do not name the file.
        raise type(error)(error.errno, error.strerror or str(error), str(path)) from None
    finally:
        if not is_device:
            aside.unlink(missing_ok=True)


def write_file(path: Path, content: str | bytes) -> None:
    """Replace a file in one step: a reader sees all of the new content or the old file."""
    with replace_file(path) as file:
        file.write(content.encode("utf-8") if isinstance(content, str) else content)
