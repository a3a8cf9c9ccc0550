"""docs/CLAIMS.md is what the registry writes today."""

from theory.claims import get
from theory.claims.document import count_errata, grades, summary
from tools.claims_page import DOCUMENT, markdown


def test_the_document_is_up_to_date(entries):
    written = DOCUMENT.read_text(encoding="utf-8")
    assert written == markdown(entries.values()), "run: python -m tools.claims_page"


def test_the_page_of_proofs_states_the_grades_of_today(entries):
    page = " ".join((DOCUMENT.parent / "proofs.md").read_text(encoding="utf-8").split())
    assert grades(entry.graded for entry in entries.values()) in page
    # Ten minutes of reading.
    assert sum(any(map(str.isalnum, word)) for word in page.split()) <= 1200


INFERRED = {
    "surrogate-does-no-harm",
    "surrogate-affine",
    "me-draw-replacement",
    "remark-5-launch-budget",
    "r-ap-classical",
    "r-ap-trivial",
    "eq-3-parameters",
    "a5-count-4",
}
#: The assertion itself is wrong; everything else that fails is repaired by a constant, premise, index or rounding.
REFUTED = {"me-fails-more", "assumption-necessary", "a4-conditioning", "eq-3-ball"}


def test_what_the_paper_does_not_state_is_marked_and_counted_apart(entries):
    claims = [entry.claim for entry in entries.values()]
    assert {claim.id for claim in claims if claim.inferred} == INFERRED
    stated = [claim for claim in claims if not claim.inferred]
    line = summary(claims)
    assert line.startswith(f"{len(stated)} stated in the paper (")
    assert {claim.id for claim in stated if claim.printed == "refuted"} == REFUTED
    assert f", {len(REFUTED)} refuted" in line.split(") and ")[0]
    assert line.endswith("8 inferred from it (3 holds, 2 holds-corrected, 3 refuted)")
    written = DOCUMENT.read_text(encoding="utf-8")
    assert written.count("Inferred, not stated in the paper: **") == len(INFERRED)
    assert written.count(", inferred |") == len(INFERRED)
    assert summary([get("a5-count-1")]) == "1 stated in the paper (1 holds-corrected)"


def test_errata_are_counted_once(entries):
    claims = [entry.claim for entry in entries.values()]
    orders = [get(name) for name in ("thm-1-delta-order", "thm-2-delta-order", "a2-delta-line-4", "a3-order")]
    assert count_errata(orders).startswith(
        "4 statements that do not hold as printed show 1 erratum (4 change a constant"
    )
    assert count_errata(orders[:1]).startswith("1 statement that does not hold as printed shows 1 erratum (1 change")
    assert count_errata([get("eq-3")]) == "all statements hold as printed"
    written = DOCUMENT.read_text(encoding="utf-8")
    assert f"**Errata**: {count_errata(claims)}." in written
    assert get("me-fails-more").instead in written
