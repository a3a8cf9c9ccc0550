"""The grades of the whole ledger, kept on disk: they follow from the sources alone, and finding them takes seconds.

`theory.proofs.grades` grades a claim afresh. A report that lists all claims needs no fresh run of what has not changed:
the grades are kept beside the compiled bytecode, under a digest of every source file of `theory` and of the versions of
what it computes with. Whatever cannot be read, does not fit the digest of itself in its first line, or is not about
the claims of today, is found again.
"""

from __future__ import annotations

import hashlib
import json
import os
import platform
import sys
import tempfile
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import asdict
from pathlib import Path

import flint
import numpy
import scipy

import theory
from theory.claims import Claim, all_claims
from theory.proofs.grades import GRADES, Graded, grade

__all__ = ["grades_of", "keep"]

HOME = Path(theory.__file__).parent
#: Files of older sources that stay: another branch, or a copy that shares the folder, need not begin again.
_OLDER = 3


def grades_of(claims: Sequence[Claim]) -> dict[str, Graded]:
    """The grades by id: read if these sources have been graded before, else found; those of the whole ledger are kept.

    A claim that is not the ledger's own object is graded afresh, whatever its id.
    """
    file = _file()
    known = _read(file) or {}
    ledger = all_claims()
    found = {one.id: known[one.id] if known and one in ledger else grade(one) for one in claims}
    # Sources that were changed meanwhile, or since they were imported, are not those that were graded.
    if not known and list(claims) == ledger and file == _file() and _as_imported(file):
        keep(found)
    return found


def keep(found: dict[str, Graded]) -> None:
    """Write the grades that were found with the sources of now; a place that cannot be written to keeps nothing."""
    file = _file()
    text = sealed(json.dumps({name: asdict(one) for name, one in found.items()}))
    with suppress(OSError):
        file.parent.mkdir(exist_ok=True)
        # Another process may read or write the same file: it must never see a part of it.
        handle, part = tempfile.mkstemp(dir=file.parent)
        with os.fdopen(handle, "w", encoding="utf-8") as out:
            out.write(text)
        os.replace(part, file)
        for old in sorted(file.parent.glob("grades-*.json"), key=lambda one: -one.stat().st_mtime_ns)[1 + _OLDER :]:
            old.unlink(missing_ok=True)


def sealed(table: str) -> str:
    """A table behind a line with its digest."""
    return f"{hashlib.sha256(table.encode()).hexdigest()}\n{table}"


def _file() -> Path:
    """Where the grades of these sources are kept."""
    digest = hashlib.sha256()
    for part in (sys.version, platform.machine(), flint.__version__, numpy.__version__, scipy.__version__):
        digest.update(part.encode() + b"\0")
    for path in sorted(HOME.rglob("*.py")):
        digest.update(path.relative_to(HOME).as_posix().encode() + b"\0" + path.read_bytes() + b"\0")
    return HOME / "__pycache__" / f"grades-{digest.hexdigest()[:32]}.json"


def _read(file: Path) -> dict[str, Graded] | None:
    """What the file says, if it is a grade for each claim of the ledger."""
    try:
        text = file.read_text(encoding="utf-8")
        table = text.partition("\n")[2]
        if text != sealed(table):
            return None
        found = {name: Graded(**one) for name, one in json.loads(table).items()}
    except (OSError, ValueError, TypeError, AttributeError, RecursionError):
        return None
    good = all(one.grade in GRADES and one.corrected in (*GRADES, None) for one in found.values())
    return found if good and list(found) == [claim.id for claim in all_claims()] else None


#: Where the grades of the sources that this process imported belong.
_IMPORTED = _file()


def _as_imported(file: Path) -> bool:
    """Whether this is the place of the sources that this process runs."""
    return file == _IMPORTED
