"""What `exml claims --prove` prints: one answer per proof and per refutation."""

from __future__ import annotations

import time
from collections import Counter
from dataclasses import asdict, dataclass
from typing import Any

from theory.claims import all_claims, get
from theory.proofs import Derivation, Proof, claim_proofs, derivations_of, lemma_proofs, proofs_of, prove
from theory.proofs.bridge import loose_end, mismatch
from theory.proofs.derivation import built, closest, shortfall
from theory.proofs.kernel.language import Refused
from theory.proofs.kernel.theorem import Theorem
from theory.proofs.refutations import REFUTATIONS, Refutation, replay
from theory.proofs.statement import Finding, counted

__all__ = ["Answer", "Step", "answer", "answers", "lemma_names"]


@dataclass(frozen=True, slots=True)
class Step:
    """One part of a proof.

    Attributes
    ----------
    boxes : boxes of branch and bound, 0 for algebra
    margin : a lower bound over all boxes; for algebra the smallest relative margin of the sampled points
    points : how many points were sampled (algebra)
    where : the box or point of the margin, or the counterexample
    """

    words: str
    region: str
    outcome: str
    method: str
    boxes: int
    margin: float
    points: int
    where: str

    def line(self) -> str:
        """The part in two lines."""
        how = f"{self.method}, {counted(self.boxes, 'box', 'boxes')}" if self.boxes else self.method
        return f"  {self.words}\n    [{self.region}] {self.outcome} ({how}){self._margin()}"

    def _margin(self) -> str:
        if self.outcome == "not decided":
            return f"; {self.where}"
        if self.margin != self.margin:
            return ""
        if self.outcome == "refuted":
            return f"; margin {self.margin:.3g} at {self.where}"
        if self.boxes:
            return f"; least margin {self.margin:.3g} at {self.where}"
        sampled = counted(self.points, "sampled point", "sampled points")
        return f"; smallest relative margin of {sampled}: {self.margin:.3g} at {self.where}"


@dataclass(frozen=True, slots=True)
class Answer:
    """One proof or one replay, run just now.

    Attributes
    ----------
    name : claim or lemma
    which : "printed", "corrected", "vacuous" or "lemma"
    outcome : "proved", "refuted", "not decided", or "no match" for a proof of something else
    good : whether the outcome is what it must be
    joined : "by machine" if a part is the statement itself or the kernel joins, else what joins the parts on paper
    steps : the parts
    derived : hypotheses, conclusion and rules of a derivation, in lines
    """

    name: str
    which: str
    outcome: str
    good: bool
    parts: int
    boxes: int
    seconds: float
    argument: str
    joined: str
    steps: tuple[Step, ...]
    derived: tuple[str, ...] = ()

    def in_full(self) -> str:
        """All parts with their margins."""
        head = f"{self.name} ({self.which}): {self.outcome}. {self.argument}"
        boxes = f", {counted(self.boxes, 'box', 'boxes')}" if self.boxes else ""
        joined = f"Joined {self.joined}.\n" if self.joined else ""
        foot = f"{joined}{counted(self.parts, 'part', 'parts')}{boxes}, {self.seconds:.3f} s."
        return "\n".join((head, *(step.line() for step in self.steps), *(f"  {line}" for line in self.derived), foot))

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
    derived = [_of_derivation(one) for one in derivations_of(name)]
    return refuted + derived + [_of_proof(proof) for proof in proofs_of(name)]


def _of_proof(proof: Proof) -> Answer:
    start = time.process_time()
    found = prove(proof)
    lemma = proof not in claim_proofs()
    other = "" if lemma else mismatch(get(proof.of), proof)
    which = (
        "lemma" if lemma else "corrected" if proof.corrected else "vacuous" if proof.says == "vacuous" else "printed"
    )
    missing = "the argument from the parts to the lemma" if lemma else loose_end(get(proof.of), proof)
    return Answer(
        proof.of,
        which,
        "no match" if other else found.outcome,
        not other and found.outcome == "proved",
        len(found.findings),
        found.pieces,
        time.process_time() - start,
        (f"It is not the claim: {other}. " if other else "") + proof.argument,
        f"on paper: {missing}" if missing else "by machine: a part is the statement itself",
        tuple(_step(one) for one in found.findings),
    )


def _of_derivation(one: Derivation) -> Answer:
    start = time.process_time()
    missing = shortfall(get(one.of), one)
    which = "vacuous" if one.says == "vacuous" else "corrected" if one.corrected else "printed"
    try:
        theorem = built.__wrapped__(one)[0]
        count, lines = len(theorem.steps()), _lines(theorem, closest(get(one.of), one))
    except Refused as refusal:
        count, lines = 0, (str(refusal),)
    return Answer(
        one.of,
        which,
        "not decided" if missing else "proved",
        not missing,
        count,
        0,
        time.process_time() - start,
        one.argument,
        _joined(one, missing),
        (),
        lines,
    )


def _joined(one: Derivation, missing: str) -> str:
    if missing:
        return f"not: {missing}"
    return f"on paper: {one.takes}" if one.takes else "by machine: every join is a rule of the kernel"


def _lines(theorem: Theorem, margin: str) -> tuple[str, ...]:
    """What was derived, from what, by which rules, and how tight it is at the ledger's cases."""
    rules = Counter(step.rule.split(" on ")[0].split(" (")[0] for step in theorem.steps())
    kinds = ", ".join(f"{name} {number}" for name, number in sorted(rules.items()))
    given = (f"if {formula}" for formula in sorted(map(str, theorem.hypotheses)))
    return (*given, f"then {theorem.conclusion}", f"rules: {kinds}", margin)


def _step(found: Finding) -> Step:
    region = found.part.region.words or "no condition"
    words = found.part.words
    return Step(words, region, found.outcome, found.method, found.pieces, found.margin, found.points, found.where)


def _of_refutation(one: Refutation) -> Answer:
    found = replay(one)
    outcome = "refuted" if found.refuted else "not decided"
    return Answer(one.claim, "printed", outcome, found.refuted, 1, 0, found.seconds, f"Fails {found.sentence}.", "", ())
