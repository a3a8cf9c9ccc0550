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
from theory.proofs import claim_proofs, grades, lemma_proofs, prove
from theory.proofs.balls import digits
from theory.proofs.bridge import loose_end, mismatch
from theory.proofs.derivation import Derivation, shortfall
from theory.proofs.derived import DERIVATIONS
from theory.proofs.formulas import c, theta_of
from theory.proofs.grades import GRADES, grade
from theory.proofs.kept_grades import grades_of, keep
from theory.proofs.kernel.certificate import combine
from theory.proofs.kernel.language import at, const
from theory.proofs.kernel.theorem import assume
from theory.proofs.paper_proofs import CORRECTED, PRINTED
from theory.proofs.refutations import BITS, REFUTATIONS, Refutation, replay
from theory.proofs.statement import Cell, Orthant, Part, Proof

from theory.claims import Claim, all_claims, get

THEOREMS = Path(__file__).parents[3] / "docs" / "theorems.md"
IDS = [claim.id for claim in all_claims()]
MACHINE, PARTS = "proved by machine", "joined on paper from machine-proved parts"
#: Statements that are themselves a part of their proof: as printed, and corrected.
PRINTED_BY_MACHINE = {
    *("surrogate-affine", "eq-2-upper-bound", "r-ap", "a2-quarter", "a3-quarter", "a3-numerator", "thm-1-decay"),
    *("a5-pairs-line-2", "a6-condition", "a2-step-1", "a3-step-1", "a4-identity", "a6-split", "sl-rate", "a2-sum"),
    *("a3-sum", "a4-sum", "remark-6-sqrt-k", "remark-7-sqrt-log", "a2-delta-line-3", "a3-delta", "a6-conclusion"),
}
CORRECTED_BY_MACHINE = {"a2-absolute-constant", "thm-1-delta-order", "a2-delta-line-2", "a2-delta-line-1", "eq-8"}
#: Statements that the kernel derives, and those of which it takes something for granted.
TAKING = {"a2-term-c", "a6-drop", "hypothesis-ball", "eq-3-representer"}
PRINTED_BY_KERNEL = {one.of for one in DERIVATIONS if not one.corrected} - TAKING
CORRECTED_BY_KERNEL = {one.of for one in DERIVATIONS if one.corrected}
TAUTOLOGY = Part("x = x", Orthant(("x",), lambda m, x: {"x": x}, "x > 0"), lambda m, x: x, "==", lambda m, x: x)


@pytest.fixture(scope="module")
def graded():
    """Fresh grades, whatever is kept of these sources; reports of other tests read them afterwards."""
    found = {claim.id: grade(claim) for claim in all_claims()}
    keep(found)
    return found


def test_kept_grades_are_the_fresh_ones(graded):
    assert grades_of(all_claims()) == graded


def test_every_claim_has_a_grade(graded):
    assert len(graded) == len(IDS)
    assert all(one.grade in GRADES for one in graded.values())
    for claim in all_claims():
        assert (graded[claim.id].corrected is not None) == (claim.repaired is not None)


def test_the_numbers_that_the_page_states(graded):
    """Of the 56 identities and inequalities: which are proved by machine, and which in parts."""
    kinds = [claim for claim in all_claims() if claim.kind in ("identity", "inequality")]
    assert len(kinds) == 56
    assert Counter(_best(claim, graded[claim.id]) for claim in kinds) == {
        MACHINE: 48,
        PARTS: 6,
        "held against evidence": 2,
    }
    refuted = [claim for claim in all_claims() if claim.expected == "refuted"]
    assert all(graded[claim.id].grade == "refuted rigorously" for claim in refuted)


def _best(claim: Claim, one):
    """The grade of the statement that stands: as printed, or corrected if the printed one is refuted."""
    return one.corrected if claim.expected == "refuted" else one.grade


def test_the_claims_that_are_proved_by_machine_are_known(graded):
    assert len(DERIVATIONS) == 27
    assert {one.of for one in DERIVATIONS if one.takes} == TAKING
    assert not PRINTED_BY_MACHINE & PRINTED_BY_KERNEL
    assert {name for name, one in graded.items() if one.grade == MACHINE} == PRINTED_BY_MACHINE | PRINTED_BY_KERNEL
    corrected = {name for name, one in graded.items() if one.corrected == MACHINE}
    assert corrected == CORRECTED_BY_MACHINE | CORRECTED_BY_KERNEL


def test_a_grade_is_never_better_than_its_check(graded):
    """Run the engine afresh for every claim that carries one of the two best grades, without the grading code."""
    for claim in all_claims():
        one = graded[claim.id]
        proofs = [proof for proof in (*claim_proofs(), *DERIVATIONS) if proof.of == claim.id]
        printed = [proof for proof in proofs if not proof.corrected]
        if one.grade in (MACHINE, PARTS):
            assert claim.check().outcome == claim.expected != "refuted"
            assert any(_stands(claim, proof, one.grade) for proof in printed)
        if one.grade == "refuted rigorously":
            assert claim.expected == "refuted"
            (counterexample,) = (one for one in REFUTATIONS if one.claim == claim.id)
            assert replay(counterexample).refuted
        if one.corrected in (MACHINE, PARTS):
            assert claim.check_corrected().outcome == "consistent"
            assert any(_stands(claim, proof, one.corrected) for proof in proofs if proof.corrected)
        if one.grade == "proved on paper and attacked":
            assert PRINTED[claim.id]
            assert claim.check().outcome == "consistent"
        if one.corrected == "proved on paper and attacked":
            assert CORRECTED[claim.id]


@pytest.mark.parametrize("name", ["a6-condition", "a3-numerator", "a2-quarter"])
def test_a_grid_of_points_is_not_a_region(name):
    """A box of no width around every case: all parts are true, and nothing is said between the cases."""
    claim = get(name)
    (proof,) = (one for one in claim_proofs() if one.of == name and not loose_end(claim, one))
    boxes = []
    for case in claim.cases:
        at = {key: Fraction(value) for key, value in proof.adapt(**case).items()}
        sides = tuple((key, value, value) for key, value in at.items())
        boxes += [dataclasses.replace(one, region=Cell(sides, "a point")) for one in proof.parts if one.reads == "both"]
    assert "between the cases" in loose_end(claim, dataclasses.replace(proof, parts=tuple(boxes)))


@pytest.mark.parametrize("name", ["eq-7", "a2-quarter", "a3-numerator"])
def test_a_translation_that_hands_the_sides_over_proves_nothing(name):
    """l <= l + d with d >= 0 is true of every inequality, if its sides may be passed as numbers, or as lists of one."""
    claim = get(name)
    reading = claim.reading

    def sides(**case):
        left, right = (Fraction(side(**case)) for side in (reading.left, reading.right))
        return (left, right - left) if reading.relation == "<=" else (right, left - right)

    lower, apart = at("l", 1), at("d", 1)
    forged = Derivation(
        name,
        "",
        lambda: (combine(lower <= lower + apart, assume(const(0) <= apart)), ()),
        reads=lambda **case: [dict(zip(("l", "d"), ((one,) for one in sides(**case)), strict=True))],
    )
    assert "evaluates a side" in shortfall(claim, forged)
    region = Orthant(("low", "gap"), lambda m, low, gap: {"low": low, "gap": gap}, "low, gap >= 0", plain=True)
    part = Part("forged", region, lambda m, low, gap: low, "<=", lambda m, low, gap: low + gap, reads="both")
    proof = Proof(name, "", (part,), adapt=lambda **case: dict(zip(("low", "gap"), sides(**case), strict=True)))
    assert "evaluates a side" in mismatch(claim, proof)


def _stands(claim: Claim, proof, wanted) -> bool:
    if isinstance(proof, Derivation):
        return wanted == (PARTS if proof.takes else MACHINE) and not shortfall(claim, proof)
    if not proof.parts or prove(proof).outcome != "proved" or mismatch(claim, proof):
        return False
    return wanted == PARTS or not loose_end(claim, proof)


def planted(monkeypatch, name, change):
    """The grade of a claim after its proofs have been changed."""
    changed = tuple(change(proof) for proof in claim_proofs() if proof.of == name)
    monkeypatch.setattr(grades, "proofs_of", lambda _: changed)
    without_memory(monkeypatch, "_proved")
    try:
        return grade(get(name))
    finally:
        monkeypatch.undo()


def without_memory(monkeypatch, *names):
    """Find these afresh, and leave what is remembered to later tests: it is about the ledger as it is."""
    for name in names:
        monkeypatch.setattr(grades, name, getattr(grades, name).__wrapped__)


def with_parts(change):
    return lambda proof: dataclasses.replace(proof, parts=tuple(change(part) for part in proof.parts))


def with_region(**changes):
    return with_parts(lambda part: dataclasses.replace(part, region=dataclasses.replace(part.region, **changes)))


@pytest.mark.parametrize("name", sorted(PRINTED_BY_MACHINE | CORRECTED_BY_MACHINE))
def test_a_tautology_is_no_proof_by_machine(monkeypatch, name):
    """Planted: the parts are x = x; with the label that it is the statement, it is a proof of something else."""
    found = planted(monkeypatch, name, lambda proof: dataclasses.replace(proof, parts=(TAUTOLOGY,)))
    assert MACHINE not in (found.grade, found.corrected)
    kept = planted(monkeypatch, name, with_parts(lambda part: dataclasses.replace(part, right=part.left)))
    weaker = get(name).repaired if name in CORRECTED_BY_MACHINE else get(name).reading
    if weaker.relation != "==":
        assert MACHINE not in (kept.grade, kept.corrected)


WEAKER = {"==": ">=", ">": ">="}


@pytest.mark.parametrize("name", ["a6-condition", "surrogate-affine", "a2-step-1", "a3-sum"])
def test_a_weaker_relation_is_not_the_statement(monkeypatch, name):
    weaker = with_parts(lambda part: dataclasses.replace(part, relation=WEAKER[part.relation]))
    assert planted(monkeypatch, name, weaker).grade == PARTS


@pytest.mark.parametrize("name", sorted(PRINTED_BY_MACHINE))
def test_a_region_that_does_not_say_what_it_covers_is_not_the_whole_space(monkeypatch, name):
    assert planted(monkeypatch, name, with_region(coordinates=None, plain=False)).grade != MACHINE


def test_a_smaller_region_with_the_same_coordinates_is_seen(monkeypatch):
    """Planted: only n > 10^6 c^2 r^2 / Delta^2, with the coordinates of n > 64 c^2 r^2 / Delta^2."""

    def point(m, b, r, gap, e):
        root = 1000 * c(theta_of(b)) * r / gap + e
        return {"n": root * root, "gap": gap, "theta": theta_of(b), "r": r}

    found = planted(monkeypatch, "a2-quarter", with_region(point=point))
    assert found.grade == PARTS
    assert "point and coordinates are not inverse in n" in found.why


def test_what_a_proof_takes_for_granted_lowers_it(monkeypatch):
    taken = planted(monkeypatch, "a2-quarter", lambda proof: dataclasses.replace(proof, takes="the conclusion"))
    assert taken.grade == PARTS
    assert "On paper: the conclusion." in taken.why


def test_no_proof_outweighs_a_check_that_refutes(monkeypatch):
    """Planted: every reading that has a proof is swapped for its mutant."""
    proved = {one.of for one in (*claim_proofs(), *DERIVATIONS)}
    swapped = [claim for claim in all_claims() if claim.mutant and claim.id in proved]
    assert len(swapped) > 40
    without_memory(monkeypatch, "_proved", "_checked")
    for claim in swapped:
        kept = claim.reading, claim.repaired
        for name, value in zip(("reading", "repaired"), kept, strict=True):
            object.__setattr__(claim, name, claim.mutant if value else None)
        try:
            found = grade(claim)
        finally:
            for name, value in zip(("reading", "repaired"), kept, strict=True):
                object.__setattr__(claim, name, value)
        if claim.expected != "refuted":
            assert found.grade == "refuted by its check", claim.id
        if claim.repaired:
            assert found.corrected == "refuted by its check", claim.id


def test_papers_are_cited_by_headings_that_exist():
    text = THEOREMS.read_text(encoding="utf-8")
    headings = re.findall(r"^(?:\*\*|### )(.+?)(?:\.?\*\*| \(|$)", text, flags=re.MULTILINE)
    for place in {*PRINTED.values(), *CORRECTED.values()}:
        assert any(heading.startswith(place) for heading in headings) or f"**{place}" in text, place
    assert set(PRINTED) | set(CORRECTED) <= set(IDS)


def test_a_label_gives_no_grade(monkeypatch):
    """Planted: a claim with the same id and another reading, and a proof that does not prove."""
    claim = get("a2-quarter")
    assert grade(claim).grade == MACHINE
    assert grade(dataclasses.replace(claim, reading=claim.mutant)).grade == "refuted by its check"
    assert grade(dataclasses.replace(claim)).grade == "held against evidence"
    proof = next(one for one in claim_proofs() if one.of == "a2-quarter")
    false = dataclasses.replace(proof.parts[0], right=lambda m, gap, **_: gap / 3)
    empty = dataclasses.replace(proof, parts=())
    without_memory(monkeypatch, "_proved")
    for planted in (dataclasses.replace(proof, parts=(false,)), empty):
        monkeypatch.setattr(grades, "proofs_of", lambda name, planted=planted: (planted,))
        assert grade(claim).grade == "held against evidence"


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


def test_all_proofs_match_the_ledger():
    for proof in claim_proofs():
        assert mismatch(get(proof.of), proof) == "", proof.of


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
