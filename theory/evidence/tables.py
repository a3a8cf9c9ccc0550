"""Where claims are proved: theorems of the Coq library `theory/coq`, and headings of docs/theorems.md.

A claim is listed under Coq only if the theorem is the statement, as printed or in the corrected form of the registry.
"""

from __future__ import annotations

__all__ = ["COQ_CORRECTED", "COQ_PRINTED", "PAPER_CORRECTED", "PAPER_PRINTED"]

#: Claims that hold as printed (or are empty as printed, which the theorem shows), with theorems of theory/coq.
COQ_PRINTED: dict[str, tuple[str, ...]] = {}

#: Corrected statements, with theorems of theory/coq.
COQ_CORRECTED: dict[str, tuple[str, ...]] = {}

_L4, _REGRET, _THEOREMS = "Lemma 4 repaired", "Lemmas 1 (ii), 2 (ii) repaired", "Theorems 1 and 2 repaired"
_MEDIAN = "Lemma 2 (i) repaired"

#: Claims that hold as printed, with headings of docs/theorems.md.
PAPER_PRINTED: dict[str, str] = {
    "lemma-3": _THEOREMS,
    "term-a": _THEOREMS,
    "a5-expectation-bound": _L4,
    "a2-step-4": "Lemma E",
    "a6-rademacher": "Lemma E",
}

#: Corrected statements, with headings of docs/theorems.md.
PAPER_CORRECTED: dict[str, str] = {
    "lemma-1-i": "Lemma 1 (i) repaired",
    "lemma-1-ii": _REGRET,
    "lemma-2-i": _MEDIAN,
    "lemma-2-ii": _REGRET,
    "lemma-3-theta": _THEOREMS,
    "lemma-4": _L4,
    "lemma-4-kappa": _L4,
    "thm-1": _THEOREMS,
    "thm-2": _THEOREMS,
    "remark-5-launch-budget": "Theorem 9",
    "assumption-necessary": "Theorem 6",
    "me-draw-replacement": _THEOREMS,
    "eq-3-ball": "Theorem 8",
    "a2-step-3": _REGRET,
    "a2-step-4": "Lemma E",
    "a4-step-1": "Lemma 1 (i) repaired",
    "a5-half": _MEDIAN,
    "term-d": _THEOREMS,
    "a2-term-b": _REGRET,
    "a3-term-b": _REGRET,
    "a4-lemma-4": _L4,
    "a4-term-a": _REGRET,
    "a4-term-c": _REGRET,
    "a5-pairs-line-1": _L4,
    "a5-expectation": _MEDIAN,
    "a5-regret": _REGRET,
    "a6-generalisation": _REGRET,
    "a6-index": _REGRET,
    "a6-tail": _L4,
    "a6-term-a": _L4,
    "a6-term-b": _L4,
}
