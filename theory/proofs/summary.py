"""What `exml claims --prove` prints: one answer per proof and per refutation."""

from __future__ import annotations

import time
from dataclasses import asdict, dataclass
from typing import Any

from theory.claims import all_claims, get
from theory.proofs import Proof, claim_proofs, lemma_proofs, proofs_of, prove
from theory.proofs.bridge import bridged, mismatch
from theory.proofs.refutations import REFUTATIONS, Refutation, replay
from theory.proofs.statement import Finding

__all__ = ["Answer", "answer", "answers", "lemma_names"]


@dataclass(frozen=True, slots=True)
class Answer:
    """One proof or one replay, run just now.

    Attributes
    ----------
    name : claim or lemma
    which : "printed", "corrected", "vacuous" or "lemma"
    outcome : "proved", "refuted", "not decided", or "no match" for a proof of something else
    good : whether the outcome is what it must be
    lines : the parts, in words
    """

    name: str
    which: str
    outcome: str
    good: bool
    parts: int
    boxes: int
    seconds: float
    argument: str
    lines: tuple[str, ...]

    def in_full(self) -> str:
        """All parts with their least margins."""
        head = f"{self.name} ({self.which}): {self.outcome}. {self.argument}"
        foot = f"{self.parts} parts, {self.boxes} boxes, {self.seconds:.3f} s."
        return "\n".join((head, *self.lines, foot))

    def plain(self) -> dict[str, Any]:
        """As values that JSON has."""
        return asdict(self)


def lemma_names() -> list[str]:
    """The lemmas of docs/theorems.md that have a machine proof."""
    return [proof.of for proof in lemma_proofs()]


def answers() -> list[Answer]:
    """Everything: claims in the order of the paper, then the lemmas."""
    found = [one for claim in all_claims() for one in answer(claim.id)]
    return found + [_of_proof(proof) for proof in lemma_proofs()]


def answer(name: str) -> list[Answer]:
    """The refutation and the proofs of one statement."""
    refuted = [_of_refutation(one) for one in REFUTATIONS if one.claim == name]
    return refuted + [_of_proof(proof) for proof in proofs_of(name)]


def _of_proof(proof: Proof) -> Answer:
    start = time.process_time()
    found = prove(proof)
    lemma = proof not in claim_proofs()
    other = "" if lemma else mismatch(get(proof.of), proof)
    which = (
        "lemma" if lemma else "corrected" if proof.corrected else "vacuous" if proof.says == "vacuous" else "printed"
    )
    held = "" if lemma or bridged(proof) else " The parts are a chain; no part repeats the ledger's own formula."
    return Answer(
        proof.of,
        which,
        "no match" if other else found.outcome,
        not other and found.outcome == "proved",
        len(found.findings),
        found.pieces,
        time.process_time() - start,
        (f"It is not the claim: {other}. " if other else "") + proof.argument + held,
        tuple(_line(one) for one in found.findings),
    )


def _line(found: Finding) -> str:
    region = found.part.region.words or "no condition"
    margin = "" if found.margin != found.margin else f" least margin {found.margin:.3g} at {found.where}"
    if found.outcome == "not decided":
        margin = f" {found.where}"
    boxes = f"{found.pieces} box" + ("" if found.pieces == 1 else "es")
    return f"  {found.part.words}\n    [{region}] {found.outcome} ({found.method}, {boxes});{margin}"


def _of_refutation(one: Refutation) -> Answer:
    found = replay(one)
    outcome = "refuted" if found.refuted else "not decided"
    return Answer(one.claim, "printed", outcome, found.refuted, 1, 1, found.seconds, f"Fails {found.sentence}.", ())
