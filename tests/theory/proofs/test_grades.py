"""Grades follow from what ran: no claim has a better grade than its check, and no proof is of something else."""

from __future__ import annotations

import dataclasses
import math
import re
from collections import Counter
from fractions import Fraction
from pathlib import Path

import pytest
from flint import arb

from theory.claims import Claim, all_claims, get
from theory.proofs import claim_proofs, grades, lemma_proofs, prove
from theory.proofs.balls import digits
from theory.proofs.bridge import bridged, mismatch
from theory.proofs.grades import GRADES, grade
from theory.proofs.paper_proofs import CORRECTED, PRINTED
from theory.proofs.refutations import BITS, REFUTATIONS, Refutation, replay

THEOREMS = Path(__file__).parents[3] / "docs" / "theorems.md"
IDS = [claim.id for claim in all_claims()]
#: Proofs whose parts are lemmas about vectors, events, laws or sets; no part repeats the ledger's instance.
CHAINS = {
    "eq-3",
    "eq-3-representer",
    "hypothesis-ball",
    "eq-7",
    "a2-step-4",
    "a6-rademacher",
    "me-one-left",
    "a5-doubling",
    "a6-inclusion",
    "a6-gap",
    "a4-union",
    "a6-union",
    "a4-conclusion",
    "a4-conditioning",
    "a5-markov",
    "a5-sum",
    "remark-7-low-order",
    "eq-2",
    "eq-4-value",
    "quality-order",
    "surrogate-does-no-harm",
    "sample-alignment",
    "budget-alignment",
    "remark-7-launch-budget",
    "a3-constant",
    "a4-min-gap",
    "me-draw",
    "eq-7-optimality-gap",
}


@pytest.fixture(scope="module")
def graded():
    return {claim.id: grade(claim) for claim in all_claims()}


def test_every_claim_has_a_grade(graded):
    assert len(graded) == len(IDS)
    assert all(one.grade in GRADES for one in graded.values())
    for claim in all_claims():
        assert (graded[claim.id].corrected is not None) == (claim.repaired is not None)


def test_the_numbers_that_the_page_states(graded):
    """At least 50 of the 56 identities and inequalities, and every refutation."""
    kinds = [claim for claim in all_claims() if claim.kind in ("identity", "inequality")]
    assert len(kinds) == 56
    proved = [
        claim
        for claim in kinds
        if graded[claim.id].grade == "proved by machine"
        or (claim.expected == "refuted" and graded[claim.id].corrected == "proved by machine")
    ]
    assert len(proved) >= 50
    refuted = [claim for claim in all_claims() if claim.expected == "refuted"]
    assert all(graded[claim.id].grade == "refuted rigorously" for claim in refuted)


def test_a_grade_is_never_better_than_its_check(graded):
    """Run the engine afresh for every claim that carries one of the two best grades, without the grading code."""
    for claim in all_claims():
        one = graded[claim.id]
        proofs = [proof for proof in claim_proofs() if proof.of == claim.id]
        printed = [proof for proof in proofs if not proof.corrected]
        if one.grade == "proved by machine":
            assert claim.expected != "refuted"
            assert any(_stands(claim, proof) for proof in printed)
        if one.grade == "refuted rigorously":
            assert claim.expected == "refuted"
            (counterexample,) = (one for one in REFUTATIONS if one.claim == claim.id)
            assert replay(counterexample).refuted
        if one.corrected == "proved by machine":
            assert any(_stands(claim, proof) for proof in proofs if proof.corrected)
        if one.grade == "proved on paper and attacked":
            assert PRINTED[claim.id]
            assert claim.check().outcome == "consistent"
        if one.corrected == "proved on paper and attacked":
            assert CORRECTED[claim.id]


def _stands(claim: Claim, proof) -> bool:
    return bool(proof.parts) and prove(proof).outcome == "proved" and not mismatch(claim, proof)


def test_papers_are_cited_by_headings_that_exist():
    text = THEOREMS.read_text(encoding="utf-8")
    headings = re.findall(r"^(?:\*\*|### )(.+?)(?:\.?\*\*| \(|$)", text, flags=re.MULTILINE)
    for place in {*PRINTED.values(), *CORRECTED.values()}:
        assert any(heading.startswith(place) for heading in headings) or f"**{place}" in text, place
    assert set(PRINTED) | set(CORRECTED) <= set(IDS)


def test_a_label_gives_no_grade(monkeypatch):
    """Planted: a claim with the same id and another reading, and a proof that does not prove."""
    claim = get("a2-quarter")
    forged = dataclasses.replace(claim, reading=claim.mutant)
    assert grade(claim).grade == "proved by machine"
    assert grade(forged).grade == "held against evidence"
    proof = next(one for one in claim_proofs() if one.of == "a2-quarter")
    false = dataclasses.replace(proof.parts[0], right=lambda m, gap, **_: gap / 3)
    empty = dataclasses.replace(proof, parts=())
    for planted in (dataclasses.replace(proof, parts=(false,)), empty):
        monkeypatch.setattr(grades, "proofs_of", lambda name, planted=planted: (planted,))
        grades._proved.cache_clear()
        assert grade(claim).grade == "held against evidence"
    grades._proved.cache_clear()


def test_a_proof_of_a_weaker_claim_does_not_match():
    """Planted: the same proof with a weaker right side, and with a smaller region."""
    claim = get("a2-quarter")
    proof = next(one for one in claim_proofs() if one.of == "a2-quarter")
    (part,) = proof.parts
    weaker = dataclasses.replace(part, right=lambda m, gap, **_: gap / 5)
    assert prove(dataclasses.replace(proof, parts=(weaker,))).outcome == "proved"
    assert "the right side is" in mismatch(claim, dataclasses.replace(proof, parts=(weaker,)))
    smaller = dataclasses.replace(
        part.region,
        coordinates=lambda m, **p: {**part.region.coordinates(m, **p), "e": p["gap"] - 1},
    )
    narrow = dataclasses.replace(part, region=smaller)
    assert "lies in no region" in mismatch(claim, dataclasses.replace(proof, parts=(narrow,)))


def test_all_proofs_match_the_ledger_and_the_chains_are_known():
    for proof in claim_proofs():
        assert mismatch(get(proof.of), proof) == "", proof.of
    assert {proof.of for proof in claim_proofs() if not bridged(proof)} == CHAINS


def test_every_lemma_is_proved():
    assert len(lemma_proofs()) == 10
    for proof in lemma_proofs():
        assert prove(proof).outcome == "proved", proof.of


# --- refutations ------------------------------------------------------------------------------------------------


def test_there_is_one_counterexample_per_refuted_claim():
    wanted = Counter(claim.id for claim in all_claims() if claim.expected == "refuted")
    assert Counter(one.claim for one in REFUTATIONS) == wanted


def _float(value):
    return float(value.mid()) if isinstance(value, arb) else float(value)


def _plain(case):
    return {name: float(value) if isinstance(value, Fraction) else value for name, value in case.items()}


@pytest.mark.parametrize("one", [one for one in REFUTATIONS if one.left or one.right], ids=lambda one: one.claim)
def test_the_rigorous_sides_are_those_of_the_ledger(one: Refutation):
    """A probability from below may be a little smaller; everything else agrees."""
    reading = get(one.claim).reading
    case = one.case if _takes_fractions(one.claim) else _plain(one.case)
    if one.claim == "a3-constant":
        case = {name: tuple(map(float, v)) if isinstance(v, tuple) else v for name, v in case.items()}
    found = replay(one)
    left, right = float(reading.left(**case)), float(reading.right(**case))
    loose = one.claim in ("lemma-1-ii", "a2-term-b", "a5-regret", "lemma-2-ii", "a3-term-b")
    assert _float(found.right) == pytest.approx(right, rel=1e-6, abs=1e-12)
    if loose:
        assert 0.85 * left <= _float(found.left) <= left * (1 + 1e-9)
    else:
        assert _float(found.left) == pytest.approx(left, rel=1e-6, abs=1e-12)


def _takes_fractions(name: str) -> bool:
    exact = (
        "thm-1",
        "thm-2",
        "eq-6",
        "lemma-3-theta",
        "lemma-4-kappa",
        "a2-step-3",
        "term-d",
        "a4-term-a",
        "a4-term-c",
    )
    return name in (*exact, "a6-generalisation", "a6-index")


def test_a_counterexample_that_is_none_is_not_decided():
    """Planted: numbers at which the statement holds, premises that fail, and a side in floats."""
    assert not replay(
        Refutation("eq-1", {"eta": Fraction(1, 2), "theta": Fraction(1, 4)}, lambda **_: Fraction(1, 2))
    ).refuted
    floats = Refutation("eq-1", {"eta": Fraction(1, 2), "theta": Fraction(1, 4)}, lambda **_: 0.0)
    assert not replay(floats).refuted
    with digits(BITS):
        wide = Refutation("eq-1", {"eta": Fraction(1, 2), "theta": Fraction(1, 4)}, lambda **_: arb(0, 1))
    assert not replay(wide).refuted
    with pytest.raises(ValueError, match="breaks"):
        replay(Refutation("eq-1", {"eta": Fraction(1, 2), "theta": Fraction(2)}))


def test_counterexamples_are_simple():
    """Fractions with at most seven digits, and no count above 10^12."""
    for one in REFUTATIONS:
        for value in one.case.values():
            if isinstance(value, Fraction) and one.claim not in ("lemma-1-ii", "a2-term-b", "a5-regret"):
                assert value.denominator <= 10**7
            if isinstance(value, int):
                assert abs(value) <= 10**12
            assert not (isinstance(value, float) and math.isfinite(value))
