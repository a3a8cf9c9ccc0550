"""Machine proofs of claims and lemmas, rigorous refutations, and the grade of evidence of every claim.

>>> from theory.proofs import proofs_of, prove
>>> prove(proofs_of("a2-quarter")[0]).outcome
'proved'
"""

from __future__ import annotations

from functools import cache

from theory.proofs import (
    conditions,
    corrections,
    counts,
    decompositions,
    events,
    experiments,
    lemmas,
    losses,
    margins,
    small_corrections,
    sums,
)
from theory.proofs.derivation import Derivation
from theory.proofs.derived import DERIVATIONS
from theory.proofs.statement import Finding, Part, Proof, Result, prove

__all__ = [
    "Derivation",
    "Finding",
    "Part",
    "Proof",
    "Result",
    "claim_proofs",
    "derivations_of",
    "lemma_proofs",
    "proofs_of",
    "prove",
    "result",
]


def claim_proofs() -> tuple[Proof, ...]:
    """All proofs of claims of the ledger."""
    rooms = (losses, counts, margins, conditions, decompositions, sums, events, experiments)
    repaired = (corrections, small_corrections)
    return tuple(proof for room in (*rooms, *repaired) for proof in room.PROOFS)


def derivations_of(name: str) -> tuple[Derivation, ...]:
    """The derivations of one claim by the kernel: as printed, corrected, or none."""
    return tuple(one for one in DERIVATIONS if one.of == name)


def lemma_proofs() -> tuple[Proof, ...]:
    """The proofs of the deterministic lemmas of docs/theorems.md."""
    return lemmas.PROOFS


def proofs_of(name: str) -> tuple[Proof, ...]:
    """The proofs of one claim or lemma: of the statement as printed, of the corrected one, or none."""
    return tuple(proof for proof in (*claim_proofs(), *lemma_proofs()) if proof.of == name)


@cache
def result(proof: Proof) -> Result:
    """What the engine says of a proof; it is asked once per process."""
    return prove(proof)
