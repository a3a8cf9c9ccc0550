"""Render one HTML page with all claims of the registry, without scripts."""

from __future__ import annotations

from collections.abc import Sequence

from simulations.report._render import fill_template
from theory.claims import Claim
from theory.claims.document import MATTERS, count_errata, grades, summary
from theory.evidence.grades import grade


def render_claims(claims: Sequence[Claim]) -> str:
    """Return the page of these claims as the text of one HTML file."""
    graded = [grade(claim) for claim in claims]
    counts = f"{len(claims)} claims: {summary(claims)}. {count_errata(claims)}. Grades: {grades(graded)}."
    return fill_template("claims.html", summary=counts, rows=list(zip(claims, graded, strict=True)), matters=MATTERS)
