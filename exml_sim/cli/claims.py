"""``exml claims``: every statement of the paper's theory: true, in need of a correction, or false."""

from __future__ import annotations

import dataclasses
import difflib
import json
import math
from fractions import Fraction
from typing import Any

import click

from theory.claims import Claim, all_claims, get
from theory.claims.document import Checked, grades, markdown, run, summary
from theory.proofs.grades import Graded, grade
from theory.proofs.kept_grades import grades_of
from theory.proofs.summary import Answer, answer, answers, lemma_names


@click.command(name="claims")
@click.argument("claim_id", metavar="[ID]", required=False)
@click.option("--check", is_flag=True, help="Run the checks; exit code 1 if one differs from the record.")
@click.option("--prove", is_flag=True, help="Run the machine proofs and replay the refutations; ID may name a lemma.")
@click.option("--json", "as_json", is_flag=True, help="Print JSON instead of text.")
@click.option("--markdown", "as_markdown", is_flag=True, help="Print the document docs/CLAIMS.md.")
def command(claim_id: str | None, check: bool, prove: bool, as_json: bool, as_markdown: bool) -> None:
    """Every statement of the paper's theory, with a verdict, a grade of evidence and an executable check.

    Without ID the ledger is listed; with ID one claim is printed in full and checked. With --prove the engine of
    machine proofs runs: for one claim it prints every part of the proof, its margin and where it is.

    Example: exml claims lemma-1-i
    """
    if prove:
        if check or as_markdown:
            raise _BadInput("--prove runs alone: leave out --check and --markdown.")
        _prove(claim_id, as_json)
        return
    if as_markdown and (claim_id or as_json):
        raise _BadInput("--markdown prints the whole ledger: leave out ID and --json.")
    claims = all_claims() if claim_id is None else [_find(claim_id)]
    if as_markdown:
        click.echo(markdown(run(claim) for claim in claims), nl=False)
        return
    entries = [run(claim) for claim in claims] if check or claim_id else []
    if as_json:
        graded = grades_of(claims) if not entries else {}
        click.echo(json.dumps(_json(claims, entries, graded), indent=2))
    elif claim_id:
        click.echo(_in_full(entries[0]))
    elif check:
        _print_checks(entries)
    else:
        _print_ledger(claims)
    if not all(entry.as_recorded for entry in entries):
        raise SystemExit(1)


def _find(claim_id: str) -> Claim:
    """The claim, whatever the case of the letters."""
    try:
        return get(claim_id.lower())
    except ValueError as error:
        raise _BadInput(str(error)) from None


class _BadInput(click.ClickException):
    """One line and exit code 2, without the usage text."""

    exit_code = 2


def _print_ledger(claims: list[Claim]) -> None:
    width = max(len(claim.id) for claim in claims)
    place = max(len(str(claim.where)) for claim in claims)
    click.echo(f"{'claim':{width}}  {'place':{place}}  {'as printed':15}  {'grade':41}  how checked")
    found = grades_of(claims)
    for claim in claims:
        click.echo(
            f"{claim.id:{width}}  {claim.where!s:{place}}  {claim.printed:15}  {found[claim.id].grade:41}  {claim.kind}"
        )
    click.echo(f"\nGrades: {grades(list(found.values()))}.")
    click.echo(f"{len(claims)} claims: {summary(claims)}.")


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
    click.echo(f"\n{len(entries)} claims checked in {seconds:.1f} s, {different} differ from the record.")


def _in_full(entry: Checked) -> str:
    claim = entry.claim
    parts = [
        ("claim", claim.id),
        ("place", str(claim.where)),
        ("as printed", claim.printed),
        ("statement", claim.statement),
        ("in words", claim.plain),
        ("corrected", claim.corrected),
        ("premises", "; ".join(premise.name for premise in claim.assumptions)),
        ("errata", ", ".join(claim.errata)),
        ("grade", f"{entry.graded.grade}. {entry.graded.why}"),
        (
            "corrected grade",
            f"{entry.graded.corrected}. {entry.graded.corrected_why}" if entry.graded.corrected else "",
        ),
        (
            "check",
            f"{claim.kind}, {len(claim.cases)} cases: {entry.verdict.outcome}. {entry.verdict.sentence}",
        ),
    ]
    if entry.corrected:
        parts.append(("corrected check", f"{entry.corrected.outcome}. {entry.corrected.sentence}"))
    if entry.mutant:
        parts.append(("planted error", f"{entry.mutant.outcome}. {entry.mutant.sentence}"))
    if claim.experiment:
        plan = claim.experiment
        parts.append(("experiment", f"{plan.statistic}; {', '.join(plan.pools)}; bound {plan.bound}"))
    return "\n".join(f"{name + ':':16} {text}" for name, text in parts if text)


def _prove(name: str | None, as_json: bool) -> None:
    """Run the proofs and the replays of one statement, or of all; exit code 1 if one is not what it must be."""
    if name is not None:
        name = _proved_name(name.lower())
    found = answers() if name is None else answer(name)
    if name is not None and not found:
        raise _BadInput(f"no machine proof and no refutation of {name}: its grade is {grade(get(name)).grade}.")
    if as_json:
        click.echo(json.dumps([_safe(one.plain()) for one in found], indent=2))
    elif name is None:
        _print_answers(found)
    else:
        click.echo("\n\n".join(one.in_full() for one in found))
    if not all(one.good for one in found):
        raise SystemExit(1)


def _proved_name(name: str) -> str:
    """The id of a claim or a lemma; an unknown one is answered with the nearest lemmas or claims."""
    if name in lemma_names():
        return name
    near = difflib.get_close_matches(name, lemma_names(), n=3, cutoff=0.75)
    if near and name not in {claim.id for claim in all_claims()}:
        raise _BadInput(f"there is no claim or lemma {name!r}; did you mean {' or '.join(near)}?")
    return _find(name).id


def _print_answers(found: list[Answer]) -> None:
    width = max(len(one.name) for one in found)
    click.echo(f"{'statement':{width}}  {'which':9}  {'answer':11}  {'parts':>5}  {'boxes':>6}  seconds  joined")
    for one in found:
        click.echo(
            f"{one.name:{width}}  {one.which:9}  {one.outcome:11}  {one.parts:5}  {one.boxes:6}  {one.seconds:7.3f}  "
            f"{one.joined.partition(':')[0]}"
        )
    bad = sum(not one.good for one in found)
    seconds = sum(one.seconds for one in found)
    click.echo(f"\n{len(found)} answers in {seconds:.1f} s of processor time, {bad} not as they must be.")
    click.echo(f"Grades: {grades([grade(claim) for claim in all_claims()])}.")


def _json(claims: list[Claim], entries: list[Checked], graded: dict[str, Graded]) -> list[dict[str, Any]]:
    checked = {entry.claim.id: entry for entry in entries}
    return [
        _claim_json(claim, checked.get(claim.id), checked[claim.id].graded if checked else graded[claim.id])
        for claim in claims
    ]


def _claim_json(claim: Claim, entry: Checked | None, graded: Graded) -> dict[str, Any]:
    record: dict[str, Any] = {
        "id": claim.id,
        "where": dataclasses.asdict(claim.where),
        "statement": claim.statement,
        "plain": claim.plain,
        "printed": claim.printed,
        "kind": claim.kind,
        "corrected": claim.corrected,
        "assumptions": [premise.name for premise in claim.assumptions],
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
    """JSON has no fractions and no infinities: write them as strings, exactly."""
    if isinstance(value, dict):
        return {key: _safe(entry) for key, entry in value.items()}
    if isinstance(value, list | tuple):
        return [_safe(entry) for entry in value]
    if isinstance(value, Fraction) or (isinstance(value, float) and not math.isfinite(value)):
        return str(value)
    return value
