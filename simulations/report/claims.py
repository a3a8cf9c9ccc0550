"""Render one HTML page with all claims of the registry: statements, verdicts, evidence and a map of the paper."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from typing import Any

from simulations.report._render import fill_template
from theory.claims import Claim, Registry, read_own
from theory.claims.claim import PRINTED
from theory.claims.document import MATTERS, SETTING, count_errata, grades, summary
from theory.evidence.grades import Grade, grade, read_library, replay_claim


def render_claims(claims: Sequence[Claim], registry: Registry | None = None) -> str:
    """Return the page of these claims as the text of one HTML file; their registry is this project's by default."""
    registry = registry or read_own()
    entries = [_describe_claim(claim) for claim in claims]
    titles = registry.titles
    sections = []
    for group in dict.fromkeys(claim.group for claim in claims):
        shown = [entry for entry in entries if entry["claim"].group == group]
        counts = Counter(entry["claim"].printed for entry in shown)
        sections.append({"name": group, "title": titles[group], "entries": shown, "counts": counts})
    own = registry is read_own()
    return fill_template(
        "claims.html",
        paper="Exploratory Machine Learning with Unknown Unknowns" if own else ", ".join(titles.values()),
        sections=sections,
        total=len(claims),
        summary=summary(claims),
        errata_count=count_errata(claims),
        grade_count=grades(entry["graded"] for entry in entries),
        conclusions=[claim for claim in claims if claim.matters == "conclusion"],
        errata=registry.errata,
        verdicts=PRINTED,
        grades=list(Grade),
        matters=MATTERS,
        setting=SETTING if own else "",
    )


def _describe_claim(claim: Claim) -> dict[str, Any]:
    graded, library = grade(claim), read_library()
    replayed = replay_claim(claim.id)
    return {
        "claim": claim,
        "graded": graded,
        "grades": [str(value) for value in (graded.grade, graded.corrected) if value],
        "theorems": [(name, library[name]) for name in (*claim.coq, *claim.corrected_coq) if name in library],
        "counterexample": f"Fails {replayed.sentence}." if replayed is not None and replayed.refuted else "",
    }
