"""The Coq library `theory/coq` as data: its theorems, what they use, and which claims they prove.

Nothing here runs Coq. `make coq` compiles the library, checks its axioms and compares ``library.json`` with it.
"""

from __future__ import annotations

import json
from functools import cache
from importlib.resources import files
from typing import Any

__all__ = ["read_library"]


@cache
def read_library() -> dict[str, dict[str, Any]]:
    """Return the theorems of the library by name ``file.theorem``.

    Returns
    -------
    dict
        ``statement`` is what Coq prints for the compiled theorem, ``uses`` lists the theorems in its proof,
        ``instance`` is a closed instance whose hypotheses are proved.
    """
    text = (files("theory") / "coq" / "library.json").read_text(encoding="utf-8")
    library: dict[str, dict[str, Any]] = json.loads(text)
    return library
