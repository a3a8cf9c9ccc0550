"""The grade of evidence of a claim: it follows from what ran, never from a label, and is never better than its check.

*proved by machine*: a part of the proof IS the statement (`theory.proofs.bridge`: relation, sides and region are the
ledger's), and the engine decided every part "proved"; or the kernel derived a theorem that is the statement
(`theory.proofs.derivation`), every join being one of its rules.
*joined on paper from machine-proved parts*: every part is proved,
but a sentence joins them to the statement. *refuted rigorously*: the counterexample was replayed in exact or ball
arithmetic, and its premises hold. *proved on paper and attacked*: the proof is in docs/theorems.md, and the check of
the ledger, which attacks it by exact enumeration, found no violation. *held against evidence*: the check alone.
*refuted by its check*: the check found a violation, which no replay confirmed; whatever proof there is, it is wrong.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache
from typing import Literal, get_args

from theory.claims import Claim, get
from theory.proofs import Derivation, Proof, derivations_of, proofs_of, result
from theory.proofs.bridge import loose_end, mismatch
from theory.proofs.derivation import built, shortfall
from theory.proofs.paper_proofs import CORRECTED, PRINTED
from theory.proofs.refutations import REFUTATIONS, Replay, replay
from theory.verdicts import Verdict

__all__ = ["GRADES", "Grade", "Graded", "grade", "replayed"]

Grade = Literal[
    "proved by machine",
    "joined on paper from machine-proved parts",
    "refuted rigorously",
    "proved on paper and attacked",
    "held against evidence",
    "refuted by its check",
]
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
    found = corrected or _checked(claim, corrected=True)
    return Graded(*first, *_by_proof(claim, found, CORRECTED.get(claim.id), known, corrected=True))


def _printed(claim: Claim, verdict: Verdict | None, known: bool) -> tuple[Grade, str]:
    if known and claim.expected == "refuted":
        again = replayed(claim.id)
        if again is not None and again.refuted:
            return "refuted rigorously", f"Fails {again.sentence}."
    found = verdict or _checked(claim, corrected=False)
    return _by_proof(claim, found, PRINTED.get(claim.id), known, corrected=False)


def _by_proof(claim: Claim, verdict: Verdict, place: str | None, known: bool, *, corrected: bool) -> tuple[Grade, str]:
    """The best grade that the check allows: a statement that its check refutes has none."""
    if verdict.outcome == "refuted":
        return "refuted by its check", verdict.sentence
    if known and (proof := _proved(claim, corrected=corrected)) is not None:
        return proof
    if known and place is not None and verdict.outcome == "consistent":
        return "proved on paper and attacked", f"{place} of docs/theorems.md."
    return "held against evidence", verdict.sentence


@cache
def _checked(claim: Claim, *, corrected: bool) -> Verdict:
    return claim.check_corrected() if corrected else claim.check()


@cache
def _proved(claim: Claim, *, corrected: bool) -> tuple[Grade, str] | None:
    """The machine's answer, if there is a proof, it is not about something else, and every part is proved."""
    says = "vacuous" if claim.expected == "vacuous" and not corrected else "holds"
    best: tuple[Grade, str] | None = None
    for derivation in derivations_of(claim.id):
        if (derivation.corrected, derivation.says) == (corrected, says) and not shortfall(claim, derivation):
            if not derivation.takes:
                return "proved by machine", _derived(derivation)
            best = best or (
                "joined on paper from machine-proved parts",
                f"{_derived(derivation)} On paper: {derivation.takes}.",
            )
    for proof in proofs_of(claim.id):
        if proof.corrected != corrected or proof.says != says:
            continue
        if result(proof).outcome != "proved" or mismatch(claim, proof):
            continue
        missing = loose_end(claim, proof)
        if not missing:
            return "proved by machine", _sentence(proof)
        best = best or ("joined on paper from machine-proved parts", f"{_sentence(proof)} On paper: {missing}.")
    return best


def _sentence(proof: Proof) -> str:
    return f"{result(proof).size}. {proof.argument}"


def _derived(derivation: Derivation) -> str:
    return f"{len(built(derivation)[0].steps())} steps of the kernel. {derivation.argument}"
