"""The registry is complete: every display and erratum has a claim, every claim has data and a check."""

import dataclasses

import pytest

from theory.claims import all_claims, get
from theory.claims.registry import join, read_checks, read_own, read_sections

SECTIONS = read_sections()
DISPLAYS = [line for section in SECTIONS.values() for line in section.get("displays", ())]


def uncovered_displays() -> list[int]:
    """Return the lines of displays that no claim covers.

    A claim covers the display in or just after which it stands (at most five lines), and those it names.
    """
    displays = sorted(line for section in SECTIONS.values() for line in section.get("displays", ()))
    ends = [*displays[1:], 10**6]
    lines = [claim.where.line for claim in all_claims()]
    entries = [entry for section in SECTIONS.values() for entry in section["claim"]]
    named = {line for entry in entries for line in entry.get("also_covers", ())}
    return [
        start
        for start, end in zip(displays, ends, strict=True)
        if start not in named and not any(start <= line < min(start + 6, end) for line in lines)
    ]


def test_every_display_has_a_claim(monkeypatch):
    assert uncovered_displays() == []
    monkeypatch.setitem(SECTIONS["section_3_2"], "displays", [222, 229, 275])
    assert uncovered_displays() == [275]


def test_the_displays_are_those_of_the_source():
    # 6 in Sections 3.1 and 3.2, 9 in Section 4, 33 in Appendix A.
    assert sum(line < 280 for line in DISPLAYS) == 6
    assert sum(280 <= line < 404 for line in DISPLAYS) == 9
    assert sum(line >= 677 for line in DISPLAYS) == 33
    assert sorted(set(DISPLAYS)) == DISPLAYS


def test_every_claim_has_data_and_a_check():
    stated = [entry["id"] for section in SECTIONS.values() for entry in section["claim"]]
    assert len(stated) == len(set(stated))
    assert set(stated) == set(read_checks()) == {claim.id for claim in all_claims()}


def test_an_id_without_data_or_check_is_an_error():
    check = get("eq-1")
    entry = next(entry for entry in SECTIONS["section_3_1"]["claim"] if entry["id"] == "eq-1")
    sections, checks = {"planted": {"claim": [entry]}}, {"eq-1": read_checks()["eq-1"]}
    assert join(sections, checks)["eq-1"].statement == check.statement
    with pytest.raises(ValueError, match="'eq-1' of planted"):
        join(sections, {})
    with pytest.raises(ValueError, match=r"without a claim .* orphan"):
        join(sections, {**checks, "orphan": checks["eq-1"]})
    with pytest.raises(ValueError, match="'eq-1' is stated twice"):
        join({"planted": {"claim": [entry, entry]}}, checks)


def test_data_set_the_relation_of_every_reading():
    claim = get("eq-8-term-c")
    assert (claim.reading.relation, claim.repaired.relation) == ("<", "<=")
    claim = get("lemma-4")
    assert all(dataclasses.astuple(reading)[3:] == (0.0, True) for reading in (claim.reading, claim.repaired))


def test_every_file_holds_the_claims_of_its_own_section():
    sections = {name: {entry["section"] for entry in section["claim"]} for name, section in SECTIONS.items()}
    assert sections.pop("section_4_1") == {"4", "4.1", "4.2.1"}
    for name, numbers in sections.items():
        assert {name} == {
            f"appendix_a{n[2:]}" if n.startswith("A") else f"section_{n.replace('.', '_')}" for n in numbers
        }


def test_every_erratum_is_shown_by_a_claim():
    shown = {erratum for claim in all_claims() for erratum in claim.errata}
    assert shown == set(read_own().errata)


def test_every_erratum_but_one_is_shown_by_a_failing_statement():
    # E14 says that a constant is right but not the smallest; the others say that something is wrong.
    failing = {
        erratum
        for claim in all_claims()
        if claim.printed in ("refuted", "holds-corrected", "vacuous")
        for erratum in claim.errata
    }
    assert set(read_own().errata) - failing == {"E14"}
