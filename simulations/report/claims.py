"""Render one HTML page with all claims of the registry: statements, verdicts, evidence and a map of the paper."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from typing import Any

from simulations.report._render import fill_template
from theory.claims import Claim
from theory.claims.claim import PRINTED
from theory.claims.document import MATTERS, count_errata, grades, summary
from theory.claims.registry import read_errata, section_titles
from theory.evidence.grades import Grade, grade, replay_claim


def render_claims(claims: Sequence[Claim]) -> str:
    """Return the page of these claims as the text of one HTML file."""
    entries = [_describe_claim(claim) for claim in claims]
    titles = section_titles()
    sections = []
    for group in dict.fromkeys(claim.group for claim in claims):
        shown = [entry for entry in entries if entry["claim"].group == group]
        counts = Counter(entry["claim"].printed for entry in shown)
        sections.append({"name": group, "title": titles[group], "entries": shown, "counts": counts})
    return fill_template(
        "claims.html",
        sections=sections,
        total=len(claims),
        summary=summary(claims),
        errata_count=count_errata(claims),
        grade_count=grades(entry["graded"] for entry in entries),
        conclusions=[claim for claim in claims if claim.matters == "conclusion"],
        errata=read_errata(),
        verdicts=PRINTED,
        grades=list(Grade),
        matters=MATTERS,
    )


def _describe_claim(claim: Claim) -> dict[str, Any]:
    graded = grade(claim)
    replayed = replay_claim(claim.id)
    return {
        "claim": claim,
        "graded": graded,
        "grades": [str(value) for value in (graded.grade, graded.corrected) if value],
        "counterexample": f"Fails {replayed.sentence}." if replayed is not None and replayed.refuted else "",
    }
