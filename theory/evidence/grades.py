"""Grade the evidence for every claim of the registry, as printed and as corrected.

A grade names the strongest evidence that exists for the statement. A statement that its own check refutes has no
grade, whatever proof is named for it.
"""

from __future__ import annotations

import json
from dataclasses import dataclass
from enum import StrEnum
from functools import cache
from importlib.resources import files
from typing import Any

from theory.claims import Claim, get, read_own
from theory.evidence.refutations import REFUTATIONS, Replay, replay
from theory.verdicts import Verdict

__all__ = ["Grade", "Graded", "grade", "read_library", "replay_claim"]


class Grade(StrEnum):
    """The strongest evidence for a statement, from the strongest kind to the weakest."""

    COQ = "proved in Coq"
    REFUTED = "refuted rigorously"
    PAPER = "proved on paper and attacked"
    EVIDENCE = "supported by evidence"


@dataclass(frozen=True, slots=True)
class Graded:
    """The grades of the printed and of the corrected statement, with reasons.

    Attributes
    ----------
    grade, corrected : Grade, optional
        None if the check refutes the statement against the record, or if there is no corrected statement.
    reason, corrected_reason : str
    """

    grade: Grade | None
    reason: str
    corrected: Grade | None = None
    corrected_reason: str = ""


@cache
def read_library() -> dict[str, dict[str, Any]]:
    """Return the theorems of `theory/coq` by name ``file.theorem``; `make coq` compares the data with the library.

    ``statement`` is what Coq prints for the compiled theorem, ``uses`` lists the theorems in its proof, ``instance`` is
    a closed instance whose hypotheses are proved.
    """
    library: dict[str, dict[str, Any]] = json.loads((files("theory") / "coq/library.json").read_text(encoding="utf-8"))
    return library


@cache
def replay_claim(claim_id: str) -> Replay | None:
    """Replay the counterexample of a claim, if it has one."""
    return next((replay(refutation) for refutation in REFUTATIONS if refutation.claim == claim_id), None)


def grade(claim: Claim, verdict: Verdict | None = None, corrected: Verdict | None = None) -> Graded:
    """Grade a claim from its refutation, its proofs and the verdicts of its checks.

    Parameters
    ----------
    claim : Claim
        A claim that is not the registry's own object gets no credit for the registry's proofs; one of another paper has
        none.
    verdict, corrected : Verdict, optional
        Outcomes of the checks of the printed and the corrected statement; the recorded outcomes if not given.
    """
    if claim.id not in read_own().claims:
        # Another paper has no proofs here: the check alone decides.
        printed = _grade_proofs(verdict, (), "")
        if verdict is None and claim.expected == "refuted":
            printed = (None, "Its check refutes it.")
        return Graded(*printed, *(_grade_proofs(corrected, (), "") if claim.repaired else ()))
    own = claim is get(claim.id)
    printed = _grade_printed(claim, verdict, own)
    if claim.repaired is None:
        return Graded(*printed)
    proofs = (claim.corrected_coq, claim.corrected_proof) if own else ((), "")
    return Graded(*printed, *_grade_proofs(corrected, *proofs))


def _grade_printed(claim: Claim, verdict: Verdict | None, own: bool) -> tuple[Grade | None, str]:
    if claim.expected != "refuted":
        return _grade_proofs(verdict, *((claim.coq, claim.proof) if own else ((), "")))
    replayed = replay_claim(claim.id) if own else None
    if replayed is not None and replayed.refuted:
        return Grade.REFUTED, f"Fails {replayed.sentence}."
    return None, "No counterexample was replayed."


def _grade_proofs(verdict: Verdict | None, coq: tuple[str, ...], paper: str) -> tuple[Grade | None, str]:
    """Take the best proof that exists; a check that refutes the statement outweighs every proof."""
    if verdict is not None and verdict.outcome == "refuted":
        return None, f"Refuted by its check: {verdict.sentence}"
    if coq and read_library().keys() >= set(coq):
        return Grade.COQ, f"theory/coq: {', '.join(coq)}."
    if paper:
        return Grade.PAPER, f"{paper} of docs/theorems.md."
    return Grade.EVIDENCE, verdict.sentence if verdict is not None else "The check found no violation."
