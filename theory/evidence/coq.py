"""The Coq library `theory/coq` as text: which theorems it states, and which claims they prove.

Nothing here runs Coq. `make coq` compiles the library and checks the axioms of every theorem named here.
"""

from __future__ import annotations

import re
from functools import cache
from importlib.resources import files

from theory.claims import all_claims

__all__ = ["missing_theorems", "read_theorems"]

_STATEMENT = re.compile(r"^\s*(?:Theorem|Lemma|Corollary)\s+(\w+)", re.MULTILINE)
_COMMENT = re.compile(r"\(\*.*?\*\)", re.DOTALL)


@cache
def read_theorems() -> frozenset[str]:
    """Return the names ``file.theorem`` of all theorems and lemmas of the library."""
    sources = (entry for entry in (files("theory") / "coq").iterdir() if entry.name.endswith(".v"))
    return frozenset(
        f"{source.name.removesuffix('.v')}.{name}"
        for source in sources
        for name in _STATEMENT.findall(_COMMENT.sub("", source.read_text(encoding="utf-8")))
    )


def missing_theorems() -> list[str]:
    """Return the theorems that a claim names and the library lacks."""
    named = {name for claim in all_claims() for name in (*claim.coq, *claim.corrected_coq)}
    return sorted(named - read_theorems())
