"""The grade of evidence of a claim: it follows from what ran, never from a label.

*proved by machine*: every part of a proof of the statement was decided "proved" by the engine, and the proof speaks
about the ledger's formula (`theory.proofs.bridge`). *refuted rigorously*: the counterexample was replayed in exact or
ball arithmetic, and its premises hold. *proved on paper and attacked*: the proof is in docs/theorems.md, and the check
of the ledger, which attacks it by exact enumeration, found no violation. *held against evidence*: everything else.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache
from typing import Literal, get_args

from theory.claims import Claim, get
from theory.proofs import Proof, proofs_of, result
from theory.proofs.bridge import mismatch
from theory.proofs.paper_proofs import CORRECTED, PRINTED
from theory.proofs.refutations import REFUTATIONS, Replay, replay
from theory.verdicts import Verdict

__all__ = ["GRADES", "Grade", "Graded", "grade", "replayed"]

Grade = Literal["proved by machine", "refuted rigorously", "proved on paper and attacked", "held against evidence"]
GRADES: tuple[Grade, ...] = get_args(Grade)


@dataclass(frozen=True, slots=True)
class Graded:
    """The grade of the statement as printed, that of the corrected one, and why."""

    grade: Grade
    why: str
    corrected: Grade | None = None
    corrected_why: str = ""


@cache
def replayed(claim_id: str) -> Replay | None:
    """The replay of the claim's counterexample."""
    for refutation in REFUTATIONS:
        if refutation.claim == claim_id:
            return replay(refutation)
    return None


def grade(claim: Claim, verdict: Verdict | None = None, corrected: Verdict | None = None) -> Graded:
    """Grade a claim; the verdicts of its checks are taken if given, and found (once per process) if they are needed."""
    known = claim is get(claim.id)
    first = _printed(claim, verdict, known)
    if claim.repaired is None:
        return Graded(*first)
    second = _proved(claim, corrected=True) if known else None
    if second is None:
        found = corrected or _checked(claim, corrected=True)
        second = _on_paper(CORRECTED.get(claim.id) if known else None, found, "consistent")
    return Graded(*first, *second)


def _printed(claim: Claim, verdict: Verdict | None, known: bool) -> tuple[Grade, str]:
    if known and claim.expected == "refuted":
        again = replayed(claim.id)
        if again is not None and again.refuted:
            return "refuted rigorously", f"Fails {again.sentence}."
    elif known and (proof := _proved(claim, corrected=False)) is not None:
        return proof
    found = verdict or _checked(claim, corrected=False)
    return _on_paper(PRINTED.get(claim.id) if known else None, found, "consistent")


@cache
def _checked(claim: Claim, *, corrected: bool) -> Verdict:
    return claim.check_corrected() if corrected else claim.check()


@cache
def _proved(claim: Claim, *, corrected: bool) -> tuple[Grade, str] | None:
    """The machine's answer, if there is a proof, it is about this claim, and every part is proved."""
    says = "vacuous" if claim.expected == "vacuous" and not corrected else "holds"
    for proof in proofs_of(claim.id):
        if proof.corrected != corrected or proof.says != says:
            continue
        if result(proof).outcome == "proved" and not mismatch(claim, proof):
            return "proved by machine", _sentence(proof)
    return None


def _sentence(proof: Proof) -> str:
    found = result(proof)
    parts = f"{len(found.findings)} part" + ("" if len(found.findings) == 1 else "s")
    return f"{parts}, {found.pieces} {'box' if found.pieces == 1 else 'boxes'}. {proof.argument}"


def _on_paper(place: str | None, verdict: Verdict, wanted: str) -> tuple[Grade, str]:
    if place is not None and verdict.outcome == wanted:
        return "proved on paper and attacked", f"{place} of docs/theorems.md."
    return "held against evidence", verdict.sentence
