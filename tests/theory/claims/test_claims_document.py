"""docs/CLAIMS.md is what the ledger writes today."""

from pathlib import Path

from theory.claims.ledger import markdown

DOCUMENT = Path(__file__).parents[3] / "docs" / "CLAIMS.md"


def test_the_document_is_up_to_date(entries):
    written = DOCUMENT.read_text(encoding="utf-8")
    assert written == markdown(entries.values()), "run: python -m theory.claims > docs/CLAIMS.md"


def test_the_document_names_every_claim(entries):
    written = DOCUMENT.read_text(encoding="utf-8")
    assert all(f"### {claim_id}\n" in written for claim_id in entries)
