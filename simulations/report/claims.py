"""Render one HTML page with all claims of the registry: statements, verdicts, evidence and a map of the paper."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from functools import cache
from typing import Any

from simulations.report._render import fill_template
from theory.claims import Claim, Registry, read_own
from theory.claims.claim import PRINTED
from theory.claims.document import MATTERS, SETTING, count_errata, grades, summary
from theory.evidence.grades import Grade, grade, read_library, replay_claim

#: Pixels of the graph of dependencies: a column holds the longest name.
COLUMN_WIDTH, ROW_HEIGHT = 200, 22


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
        graph=lay_out_dependencies(claims),
        conclusions=[claim for claim in claims if claim.matters == "conclusion"],
        errata=registry.errata,
        verdicts=PRINTED,
        grades=list(Grade),
        matters=MATTERS,
        setting=SETTING if own else "",
    )


def lay_out_dependencies(claims: Sequence[Claim]) -> dict[str, Any]:
    """Place which proved claims the Coq proofs of other claims use, each column after those it depends on."""
    owners = {name: claim for claim in claims for name in (*claim.coq, *claim.corrected_coq)}
    library = read_library()

    @cache
    def find_used(name: str) -> frozenset[str]:
        """Find the nearest theorems below that are claims themselves."""
        return frozenset(
            entry
            for used in library.get(name, {"uses": ()})["uses"]
            for entry in ([used] if used in owners else find_used(used))
        )

    @cache
    def measure_depth(name: str) -> int:
        return 1 + max((measure_depth(used) for used in find_used(name)), default=-1)

    edges = {(owners[used].id, owners[name].id) for name in owners for used in find_used(name)}
    edges = {edge for edge in edges if edge[0] != edge[1]}
    linked = {claim_id for edge in edges for claim_id in edge}
    columns: dict[int, list[Claim]] = {}
    for claim in dict.fromkeys(owners.values()):
        if claim.id in linked:
            depth = max(measure_depth(name) for name in (*claim.coq, *claim.corrected_coq) if name in owners)
            columns.setdefault(depth, []).append(claim)
    if not columns:
        return {}
    places = {
        claim.id: (COLUMN_WIDTH * column + 8, ROW_HEIGHT * row + 22)
        for column, (_, members) in enumerate(sorted(columns.items()))
        for row, claim in enumerate(members)
    }
    return {
        "width": COLUMN_WIDTH * len(columns),
        "height": ROW_HEIGHT * max(map(len, columns.values())) + 20,
        # A curve from the end of a name to the start of another.
        "edges": [
            (x + COLUMN_WIDTH - 40, y - 4, (x + COLUMN_WIDTH + to_x) // 2 - 22, to_y - 4, to_x - 4)
            for (x, y), (to_x, to_y) in ((places[start], places[end]) for start, end in sorted(edges))
        ],
        "nodes": [
            (claim.id, "printed" if claim.coq else "corrected", *places[claim.id])
            for members in columns.values()
            for claim in members
        ],
    }


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
