"""One HTML page with all claims of the registry, without scripts."""

from __future__ import annotations

from collections.abc import Sequence
from html import escape
from string import Template

from simulations.report.render import asset, hashes
from theory.claims import Claim
from theory.claims.document import MATTERS, count_errata, grades, summary
from theory.evidence.grades import Graded, grade


def render_claims(claims: Sequence[Claim]) -> str:
    """Return the page of these claims as the text of one HTML file."""
    style = asset("page.css")
    graded = [grade(claim) for claim in claims]
    policy = f"default-src 'none'; style-src {hashes([style])}; base-uri 'none'; form-action 'none'"
    return Template(asset("claims.html")).substitute(
        policy=escape(policy),
        style=style,
        summary=escape(f"{len(claims)} claims: {summary(claims)}. {count_errata(claims)}. Grades: {grades(graded)}."),
        rows="\n".join(_row(claim, entry) for claim, entry in zip(claims, graded, strict=True)),
    )


def _row(claim: Claim, graded: Graded) -> str:
    identifier = f"{claim.id} (inferred)" if claim.inferred else claim.id
    instead = f"<p>Say instead: {escape(claim.instead)}</p>" if claim.instead else ""
    formulas = _formula("", claim.statement) + (_formula("Corrected: ", claim.corrected) if claim.corrected else "")
    grade_text = str(graded.grade or "none")
    if graded.corrected:
        grade_text += f"; corrected: {graded.corrected}"
    cells = (
        f'<span class="claim-id">{escape(identifier)}</span>',
        escape(str(claim.where)),
        f'<span class="badge {escape(claim.printed)}">{escape(claim.printed)}</span>',
        escape(grade_text),
        escape(MATTERS[claim.matters] if claim.matters else ""),
        f"<p>{escape(claim.plain)}</p>{formulas}{instead}",
    )
    return f'<tr id="{escape(claim.id)}">' + "".join(f"<td>{cell}</td>" for cell in cells) + "</tr>"


def _formula(label: str, latex: str) -> str:
    return f"<p>{label}<code>{escape(latex)}</code></p>"
