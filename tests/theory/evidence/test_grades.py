"""Grades name evidence that exists: replayed refutations, theorems of the Coq library, proofs in docs/theorems.md."""

from __future__ import annotations

import dataclasses
import re
from collections import Counter
from fractions import Fraction
from pathlib import Path

import pytest
from flint import arb

from theory.claims import all_claims, get
from theory.claims.document import SETTING
from theory.evidence import grades
from theory.evidence._balls import digits
from theory.evidence.grades import Grade, grade, read_library
from theory.evidence.refutations import BITS, REFUTATIONS, Refutation, replay

ROOT = Path(__file__).parents[3]
IDS = {claim.id for claim in all_claims()}


def test_every_statement_has_one_of_four_grades():
    assert [str(value) for value in Grade] == [
        "proved in Coq",
        "refuted rigorously",
        "proved on paper and attacked",
        "supported by evidence",
    ]
    for claim in all_claims():
        graded = grade(claim)
        assert graded.grade in Grade
        assert (graded.grade is Grade.REFUTED) == (claim.expected == "refuted")
        assert (graded.corrected is not None) == (claim.repaired is not None)
        assert graded.corrected is not Grade.REFUTED


def test_proofs_are_named_for_statements_that_may_be_true():
    for claim in all_claims():
        assert not (claim.coq or claim.proof) or claim.expected != "refuted", claim.id
        assert not (claim.corrected_coq or claim.corrected_proof) or claim.repaired is not None, claim.id
        assert not (claim.coq and claim.proof), claim.id
        assert not (claim.corrected_coq and claim.corrected_proof), claim.id


def test_the_library_states_every_theorem_that_a_claim_names(monkeypatch):
    named = {name for claim in all_claims() for name in (*claim.coq, *claim.corrected_coq)}
    assert named <= read_library().keys()
    planted = dataclasses.replace(get("eq-5"), coq=("registry.no_such_theorem",))
    monkeypatch.setattr(grades, "get", lambda claim_id: planted)
    assert grade(planted).grade is Grade.EVIDENCE


def test_theorems_of_the_registry_name_their_claims():
    """The comment above a theorem has the id of every claim that names the theorem."""
    comments = {}
    for source in sorted((ROOT / "theory" / "coq").glob("*.v")):
        comment = ""
        for block in re.findall(r"\(\*\*.*?\*\)|Theorem \w+", source.read_text(encoding="utf-8"), re.DOTALL):
            if block.startswith("Theorem"):
                comments[f"{source.stem}.{block.split()[1]}"] = comment
            else:
                comment = " ".join(block.split())
    for claim in all_claims():
        for names in filter(None, (claim.coq, claim.corrected_coq)):
            own = [comments[name] for name in names if name in comments and not name.endswith("_printed")]
            shared = {"uniform_allocation.lemma_4", "uniform_allocation.lemma_1_i"} & set(names)
            assert shared or any(re.search(rf"\b{claim.id}\b(?!-)", comment) for comment in own), claim.id


# Hypotheses of theorems, and the words that the registry has for them.
HYPOTHESES = {
    r"launched |identified \d|conditions theta|16 \* \(": "identification condition",
    r"learned .* <= .*Varm theta Lam s \+ eps": "eps above the smallest",
    r"Varm theta Lam \(X (tr )?\(sel": "the selected feature has the smallest score",
    r"keep v A": "better half",
}


def find_missing_hypotheses(claim):
    """Hypotheses of the theorems of a claim that neither the claim nor the common setting states."""
    names = claim.corrected_coq or claim.coq
    text = " ".join(re.sub(r"\w+\.(?=[a-zA-Z])", "", read_library()[name]["statement"]) for name in names)
    stated = " ".join((*claim.needs, SETTING))
    return [words for pattern, words in HYPOTHESES.items() if re.search(pattern, text) and words not in stated]


def test_the_registry_states_the_hypotheses_of_its_theorems():
    """Planted: claims without their hypotheses."""
    assert {claim.id: find_missing_hypotheses(claim) for claim in all_claims() if find_missing_hypotheses(claim)} == {}
    rows = "the rows of every feature are i.i.d. draws from the distribution to which R_i and R_i^surr refer"
    assert rows in get("assumption-necessary").needs
    bare = [dataclasses.replace(claim, assumptions=(), hypotheses=()) for claim in all_claims()]
    assert sum(bool(find_missing_hypotheses(claim)) for claim in bare) >= 30
    assert len(find_missing_hypotheses(next(claim for claim in bare if claim.id == "lemma-1-i"))) == 2


def test_a_refuted_statement_of_another_paper_has_no_grade():
    claim = dataclasses.replace(get("a5-count-1"), id="planted")
    assert grade(claim).grade is None
    assert grade(claim, claim.check()).grade is None
    assert grade(claim).corrected is Grade.EVIDENCE
    assert grade(dataclasses.replace(get("a5-series-1"), id="planted")).grade is Grade.EVIDENCE


def test_a_check_that_refutes_outweighs_every_proof():
    """Planted: the verdict of the statement with an error."""
    planted = 0
    for claim in all_claims():
        if claim.coq and claim.mutant is not None:
            planted += 1
            assert grade(claim, claim.check_mutant()).grade is None, claim.id
    assert planted > 30
    claim = get("lemma-4")
    assert grade(claim, corrected=claim.check()).corrected is None


def test_a_copy_of_a_claim_gets_no_credit():
    """Planted: a claim with the same id and another reading."""
    claim = get("a2-quarter")
    assert grade(claim).grade is Grade.COQ
    assert grade(dataclasses.replace(claim)).grade is Grade.EVIDENCE
    assert grade(dataclasses.replace(get("a5-count-1"))).grade is None


def test_a_counterexample_that_does_not_replay_gives_no_grade(monkeypatch):
    monkeypatch.setattr(grades, "replay_claim", lambda claim_id: None)
    assert grade(get("a5-count-1")).grade is None


def test_papers_are_cited_by_headings_that_exist():
    text = (ROOT / "docs" / "theorems.md").read_text(encoding="utf-8")
    headings = re.findall(r"^(?:\*\*|### )(.+?)(?:\.?\*\*| \(|$)", text, flags=re.MULTILINE)
    for place in {claim.proof for claim in all_claims()} | {claim.corrected_proof for claim in all_claims()} - {""}:
        assert any(heading.startswith(place) for heading in headings) or f"**{place}" in text, place


def test_there_is_one_counterexample_per_refuted_claim():
    wanted = Counter(claim.id for claim in all_claims() if claim.expected == "refuted")
    assert Counter(refutation.claim for refutation in REFUTATIONS) == wanted


def _float(value):
    return float(value.mid()) if isinstance(value, arb) else float(value)


def _plain(case):
    return {name: float(value) if isinstance(value, Fraction) else value for name, value in case.items()}


@pytest.mark.parametrize(
    "refutation",
    [refutation for refutation in REFUTATIONS if refutation.left or refutation.right],
    ids=lambda refutation: refutation.claim,
)
def test_the_rigorous_sides_are_those_of_the_registry(refutation: Refutation):
    """A probability from below may be a little smaller; everything else agrees."""
    reading = get(refutation.claim).reading
    case = refutation.case if _takes_fractions(refutation.claim) else _plain(refutation.case)
    replayed = replay(refutation)
    left, right = float(reading.left(**case)), float(reading.right(**case))
    loose = refutation.claim in ("lemma-1-ii", "a2-term-b", "a5-regret", "lemma-2-ii", "a3-term-b")
    assert _float(replayed.right) == pytest.approx(right, rel=1e-6, abs=1e-12)
    if loose:
        assert 0.85 * left <= _float(replayed.left) <= left * (1 + 1e-9)
    else:
        assert _float(replayed.left) == pytest.approx(left, rel=1e-6, abs=1e-12)


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
