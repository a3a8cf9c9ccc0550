"""The ledger is complete: every displayed statement and every erratum has a claim, and no claim is loose."""

from itertools import pairwise

from theory.claims import all_claims, get
from theory.claims.coverage import DISPLAYS, ERRATA, passages

PASSAGES = passages()
BY_LINE = {passage.line: passage for passage in PASSAGES}


def test_every_display_has_a_claim():
    missing = [line for line in DISPLAYS if line not in BY_LINE or not BY_LINE[line].claims]
    assert missing == []


def test_the_table_of_displays_is_that_of_the_source():
    # 6 in Sections 3.1 and 3.2, 9 in Section 4, 33 in Appendix A.
    assert sum(line < 280 for line in DISPLAYS) == 6
    assert sum(280 <= line < 404 for line in DISPLAYS) == 9
    assert sum(line >= 677 for line in DISPLAYS) == 33
    assert list(DISPLAYS) == sorted(set(DISPLAYS))


def test_passages_name_existing_claims_and_every_claim_is_named():
    named = {claim for passage in PASSAGES for claim in passage.claims}
    assert named == {claim.id for claim in all_claims()}


def test_passages_are_in_order():
    assert all(first.line < second.line for first, second in pairwise(PASSAGES))


def test_a_claim_lies_within_its_passage():
    """The rows of a display follow its first line; running text is at the line itself."""
    for passage in PASSAGES:
        for claim_id in passage.claims:
            line = get(claim_id).where.line
            own = [other.line for other in PASSAGES if claim_id in other.claims]
            assert any(0 <= line - start <= 5 for start in own), (claim_id, line, own)


def test_every_erratum_is_shown_by_a_claim():
    shown = {erratum for claim in all_claims() for erratum in claim.errata}
    assert shown == set(ERRATA)


def test_every_erratum_but_one_is_shown_by_a_failing_statement():
    # E14 says that a constant is right but not the smallest; the others say that something is wrong.
    failing = {
        erratum
        for claim in all_claims()
        if claim.printed in ("refuted", "holds-corrected", "vacuous")
        for erratum in claim.errata
    }
    assert set(ERRATA) - failing == {"E14"}
