"""``exml claims``: list every statement of the paper's theory: true, in need of a correction, or false."""

from __future__ import annotations

import dataclasses
import json
import math
from fractions import Fraction
from typing import Any

import click

from exml_sim._internal.validation import counted
from exml_sim.cli import _options as options
from theory.claims import Claim, read_own
from theory.claims.document import SETTING, Checked, count_errata, explain_no_mutant, grades, run, summary
from theory.evidence.grades import grade


@click.command(name="claims")
@click.argument("claim_id", metavar="[ID]", required=False)
@click.option("--check", is_flag=True, help="Run the checks; exit code 1 if one differs from the record.")
@click.option("--html", "as_html", is_flag=True, help="Print one HTML page with all claims.")
@options.as_json
@options.paper
def command(claim_id: str | None, check: bool, as_json: bool, as_html: bool, source: str | None) -> None:
    """List every statement of the paper's theory with its verdict, grade of evidence and executable check.

    Without ID all claims are listed; with ID one claim is printed in full and checked.

    Example: exml claims lemma-1-i
    """
    if as_html and (claim_id or check or as_json):
        raise click.UsageError("--html prints all claims: leave out ID and the other options.")
    registry = None
    if source is not None:
        from simulations.papers import load_paper

        registry = load_paper(source).registry
    known = registry or read_own()
    # Upper and lower case are the same.
    claims = list(known.claims.values()) if claim_id is None else [known.get(claim_id.lower())]
    if as_html:
        from simulations.report.claims import render_claims

        click.echo(render_claims(claims, registry), nl=False)
        return
    entries = [run(claim) for claim in claims] if check or claim_id else []
    if as_json:
        checked = {entry.claim.id: entry for entry in entries}
        click.echo(json.dumps([_claim_json(claim, checked.get(claim.id)) for claim in claims], indent=2))
    elif claim_id:
        click.echo(_in_full(entries[0]))
    elif check:
        _print_checks(entries)
    else:
        _print_list(claims)
    if not all(entry.as_recorded for entry in entries):
        raise SystemExit(1)


def _print_list(claims: list[Claim]) -> None:
    width = max(len(claim.id) for claim in claims)
    place = max(len(str(claim.where)) for claim in claims)
    graded = [grade(claim) for claim in claims]
    click.echo(f"{counted(len(claims), 'claim')}: {summary(claims)}.")
    click.echo(f"Grades: {grades(graded)}.\n")
    click.echo(f"{'claim':{width}}  {'place':{place}}  {'as printed':15}  {'grade':28}  how checked")
    for claim, entry in zip(claims, graded, strict=True):
        text = str(entry.grade or "none")
        click.echo(f"{claim.id:{width}}  {claim.where!s:{place}}  {claim.printed:15}  {text:28}  {claim.kind}")
    click.echo(f"\nErrata: {count_errata(claims)}.")
    if conclusions := [claim.id for claim in claims if claim.matters == "conclusion"]:
        click.echo(f"Change the conclusion: {', '.join(conclusions)}.")


def _print_checks(entries: list[Checked]) -> None:
    width = max(len(entry.claim.id) for entry in entries)
    click.echo(f"{'claim':{width}}  {'as printed':15}  {'check':10}  {'corrected':10}  {'mutant':8}  record")
    for entry in entries:
        corrected = entry.corrected.outcome if entry.corrected else "-"
        mutant = entry.mutant.outcome if entry.mutant else "-"
        record = "as recorded" if entry.as_recorded else "DIFFERS"
        click.echo(
            f"{entry.claim.id:{width}}  {entry.claim.printed:15}  {entry.verdict.outcome:10}  "
            f"{corrected:10}  {mutant:8}  {record}"
        )
    different = sum(not entry.as_recorded for entry in entries)
    seconds = sum(entry.seconds for entry in entries)
    click.echo(f"\n{counted(len(entries), 'claim')} checked in {seconds:.1f} s, {different} differ from the record.")


def _in_full(entry: Checked) -> str:
    claim, graded, plan = entry.claim, entry.graded, entry.claim.experiment
    corrected, mutant, cases = entry.corrected, entry.mutant, counted(len(claim.cases), "case")
    parts = {
        "claim": claim.id,
        "place": str(claim.where),
        "as printed": claim.printed,
        "statement": claim.statement,
        "in words": claim.plain,
        "corrected": claim.corrected,
        "say instead": claim.instead,
        "matters": claim.matters,
        "hypotheses": "; ".join(claim.needs),
        "setting": SETTING if claim.coq or claim.corrected_coq else "",
        "checked on": "; ".join(claim.checked_on),
        "errata": ", ".join(claim.errata),
        "grade": f"{graded.grade or 'none'}. {graded.reason}",
        "corrected grade": claim.repaired and f"{graded.corrected or 'none'}. {graded.corrected_reason}",
        "check": f"{claim.kind}, {cases}: {entry.verdict.outcome}. {entry.verdict.sentence}",
        "corrected check": corrected and f"{corrected.outcome}. {corrected.sentence}",
        "planted error": f"{mutant.outcome}. {mutant.sentence}" if mutant else explain_no_mutant(claim),
        "experiment": plan and f"{plan.statistic}; {', '.join(plan.pools)}; bound {plan.bound}",
    }
    return "\n".join(f"{name + ':':16} {text}" for name, text in parts.items() if text)


def _claim_json(claim: Claim, entry: Checked | None) -> dict[str, Any]:
    graded = grade(claim) if entry is None else entry.graded
    names = ("id", "statement", "plain", "printed", "kind", "corrected", "instead", "matters")
    record: dict[str, Any] = {name: getattr(claim, name) for name in names} | {
        "where": dataclasses.asdict(claim.where),
        "hypotheses": list(claim.needs),
        "checked_on": list(claim.checked_on),
        "errata": list(claim.errata),
        "cases": len(claim.cases),
        "grade": graded.grade,
        "corrected_grade": graded.corrected,
        "experiment": dataclasses.asdict(claim.experiment) if claim.experiment else None,
    }
    if entry is not None:
        record["as_recorded"] = entry.as_recorded
        verdicts = {"check": entry.verdict, "corrected_check": entry.corrected, "planted_error": entry.mutant}
        for name, verdict in verdicts.items():
            record[name] = _safe(dataclasses.asdict(verdict)) if verdict else None
    return record


def _safe(value: Any) -> Any:
    """Write fractions and infinities, which JSON lacks, as strings."""
    if isinstance(value, dict):
        return {key: _safe(entry) for key, entry in value.items()}
    if isinstance(value, list | tuple):
        return [_safe(entry) for entry in value]
    if isinstance(value, Fraction) or (isinstance(value, float) and not math.isfinite(value)):
        return str(value)
    return value
