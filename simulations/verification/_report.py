"""Report of a verification: a table for people, JSON for programs, CSV for spreadsheets.

``verify.json`` (schema 4)::

    schema, software {exml_sim, python, numpy, ...}, source (digest), depth, seed, started
    seconds {claims, total}   total from the start of the command, imports included
    violation_factor      a bound is decided when a violation by this factor would have been seen
    alpha {per_claim, claims, total}   probability of refuting true claims by chance
    summary {claims, as_recorded, problems [[claim, text]], checks {outcome: number},
             monte_carlo {claims, held, decided, share, undecided [ids],
                          distinct {cells, informative, decided, exact, trials, share}}}    each question and trial once
    claims [{id, place, family, kind, printed, inferred, grade, corrected_grade, as_recorded, problems,
             checks {printed, corrected, mutant: {outcome, sentence, margin}},
             slack {log10, at_least}, decided, closeness {seen, limit},
             cells [{reading, pool, strategy, budget, delta, event, limit, bound, method, must_hold, outcome, sentence,
                     failures, trials, rate, lower, upper, detectable_factor, slack {log10, at_least}, extra}]}]

`claims` of monte_carlo are those about trials, `held` those with a guarantee in some cell, and `share` is decided /
claims. A rate is null when no failure was seen; `upper` then bounds it. A slack is log10(bound / probability), at least
that much where the probability is only known from above, and null in undecided cells. Closeness is the largest rate /
bound (seen) and the largest upper limit / bound of the decided cells that must hold: a bound too small by less than the
inverse would not have been noticed. nan and inf are written as null.
"""

from __future__ import annotations

import json
import math
from collections import Counter
from collections.abc import Mapping
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from exml_sim._internal.spreadsheets import write_frame
from exml_sim.engine._manifest import manifest
from simulations import markdown_table
from simulations.verification._cells import (
    CellEvidence,
    Closeness,
    EvidenceCount,
    compute_closeness,
    count_distinct,
)
from simulations.verification._claim_trials import source_digest
from simulations.verification._plans import ALPHA, FACTOR
from simulations.verification.run import Result, Verification
from theory.claims import Claim, section_titles
from theory.claims.document import grades
from theory.evidence.grades import grade

SCHEMA = 4
#: Share of a bound below which a rate is weak evidence about errors of the bound.
WEAK_SHARE = 0.1
#: Facts of `manifest` that do not change between runs on one machine.
SOFTWARE = ("exml_sim", "python", "numpy", "scipy", "numba", "joblib", "scikit-learn")
#: What a cell is, and its verdict, in the order of verify.json; `CSV` is the part with single values.
CELL = ("reading", "pool", "strategy", "budget", "delta", "event", "limit", "bound", "method", "must_hold")
VERDICT = ("outcome", "sentence", "failures", "trials", "rate", "lower", "upper", "detectable_factor")
CSV = ("claim", *(name for name in CELL + VERDICT if name not in ("must_hold", "sentence", "lower")))

#: Family of claims -> its name; a family is a section of the paper.
FAMILIES = section_titles()


def family_of(claim: Claim) -> str:
    """Return the family of a claim: its section of the paper."""
    return claim.group or "section_3_1"


def group_by_family(verification: Verification) -> dict[str, list[Result]]:
    """Return the results of every family that has claims, in the order of the paper."""
    families = [family_of(result.claim) for result in verification.results]
    pairs = list(zip(families, verification.results, strict=True))
    names = [name for name in dict.fromkeys([*FAMILIES, *families]) if name in families]
    return {name: [result for family, result in pairs if family == name] for name in names}


def compute_slack(cell: CellEvidence) -> tuple[float, bool] | None:
    """Return (log10(bound / probability), whether it is at least that much); None where nothing was counted."""
    verdict = cell.verdict
    if verdict.rate is None or not 0 < cell.bound < 1 or cell.method == "paired":
        return None
    if verdict.rate > 0:
        return math.log10(cell.bound / verdict.rate), False
    if verdict.upper is None or verdict.upper <= 0:
        return None
    return math.log10(cell.bound / verdict.upper), True


def compute_least_slack(result: Result) -> tuple[float, bool] | None:
    """Return the smallest slack of the decided cells that must hold: how tight the claim is at best.

    Without any cell that must hold, that of the checks; None where there are such cells and none is decided.
    """
    cells = [cell for cell in result.evidence if cell.must_hold]
    if cells:
        slacks = [compute_slack(cell) for cell in cells if cell.informative and cell.decided]
        return min((slack for slack in slacks if slack is not None), default=None)
    check = result.checks.corrected or result.checks.printed
    return None if check.margin is None else (check.margin, False)


def format_slack(slack: tuple[float, bool] | None) -> str:
    """Format a slack as a factor, or an order of magnitude."""
    if slack is None:
        return "-"
    value, at_least = slack
    factor = f"{10**value:.3g}" if abs(value) < 4 else f"1e{value:+.0f}"
    return f"{'>= ' if at_least else ''}{factor}"


def summarise_verdict(result: Result) -> str:
    """Summarise the verdict on the printed statement, and on its correction."""
    checks, claim = result.checks, result.claim
    if result.problems:
        return "PROBLEM"
    holds, undecided = "holds", ""
    if result.is_undecided:
        holds, undecided = f"holds on {_count(len(claim.cases), 'instance')}, not decided by trials", ":"
    if claim.printed == "holds-corrected":
        return f"printed {checks.printed.outcome}, corrected{undecided} {holds}"
    if claim.printed == "refuted":
        return "refuted" if checks.corrected is None else f"refuted, corrected{undecided} {holds}"
    rest = ", not decided by trials" if result.is_undecided else ""
    return {"holds": holds, "definition": f"definition, consistent{rest}", "vacuous": f"vacuous{rest}"}[claim.printed]


def _count(number: int, thing: str) -> str:
    return f"{number:,} {thing}{'' if number == 1 else 's'}"


def summarise_evidence(result: Result) -> str:
    """Summarise instances, cells, trials, and how close they come to the bound."""
    parts = [_count(len(result.claim.cases), "instance")]
    if result.checks.mutant is not None:
        parts.append("planted error caught" if result.checks.mutant.outcome == "refuted" else "PLANTED ERROR PASSES")
    if result.evidence and not result.has_guarantee:
        parts.append("no guarantee in any cell of trials")
    elif result.evidence:
        parts.append(format_count(count_distinct(result.evidence)))
        refuted = sum(cell.verdict.outcome == "refuted" for cell in result.evidence if cell.informative)
        if refuted:
            parts.append(f"{refuted} refute{'s' if refuted == 1 else ''} the printed statement")
        near = compute_closeness(result.evidence)
        if near is not None:
            parts.append(format_closeness(near))
    return ", ".join(parts)


def format_count(count: EvidenceCount) -> str:
    """Format cells and trials."""
    exact = f" and {count.exact} exact" if count.exact else ""
    return f"{count.decided} of {_count(count.informative, 'cell')} decided ({_count(count.trials, 'trial')}{exact})"


def format_closeness(near: Closeness) -> str:
    """Format how far the evidence is from the bound."""
    if near.seen is None:
        return f"no failure seen, rate/bound below {near.limit:.2g}"
    more = f" (limits up to {near.limit:.2g})" if near.limit > near.seen * 1.01 else ""
    return f"largest rate/bound {near.seen:.2g}{more}"


def _row(result: Result) -> tuple[str, ...]:
    """Return claim, place, verdict, evidence, slack."""
    slack = format_slack(compute_least_slack(result))
    return (result.claim.id, str(result.claim.where), summarise_verdict(result), summarise_evidence(result), slack)


def coverage_rows(verification: Verification) -> list[tuple[str, ...]]:
    """Return one row per statement about selections: what, where, verdict, how often it was wrong, guarantee."""
    return [
        (
            cell.claim,
            f"{cell.pool}, {cell.strategy}, {cell.budget}",
            cell.verdict.outcome,
            f"{cell.verdict.failures} of {cell.verdict.trials:,}",
            f"{cell.bound:g}",
        )
        for cell in verification.coverage
    ]


def format_table(verification: Verification) -> str:
    """Return one line per claim: verdict, evidence, slack. Statements about selections have no slack."""
    statements = [
        (claim, verdict, f"{place}: wrong in {wrong}, at most {most} guaranteed", "")
        for claim, place, verdict, wrong, most in coverage_rows(verification)
    ]
    rows = [("claim", "verdict", "evidence", "slack")]
    rows += [(id, verdict, evidence, slack) for id, _, verdict, evidence, slack in map(_row, verification.results)]
    rows += statements
    widths = [*(max(len(row[i]) for row in rows) for i in range(3)), 0]
    return "\n".join("  ".join(text.ljust(w) for text, w in zip(row, widths, strict=True)) for row in rows)


def conclude(verification: Verification) -> str:
    """Return the summary: the number of problems first, then what was verified and decided."""
    number = len(verification.problems)
    text = [f"{_count(number, 'problem')}." if number else "Nothing that should hold is refuted."]
    text += [f"{claim}: {problem}." for claim, problem in verification.problems]
    text += [
        f"{_count(len(verification.results), 'claim')} checked at depth {verification.depth.name}.",
        f"Grades of evidence: {grades(grade(result.claim) for result in verification.results)}.",
    ]
    return "\n".join([*text, *(_conclude_trials(verification) if verification.monte_carlo else [])])


def _conclude_trials(verification: Verification) -> list[str]:
    numbers = _monte_carlo(verification)
    once = numbers["distinct"]
    text = [
        f"{_count(numbers['claims'], 'claim')} are about trials; {numbers['held']} of them have a guarantee at this "
        f"depth, and {numbers['decided']} ({numbers['share']:.0%}) are decided at the violation factor {FACTOR:g}. "
        f"A true claim is refuted by chance with probability at most {ALPHA:g}.",
        f"Distinct evidence: {once['decided']} of {_count(once['informative'], 'cell')} decided "
        f"({once['share']:.0%}), {once['exact']} of them exact, the others in {_count(once['trials'], 'trial')}.",
    ]
    ratios = [near.seen for result in verification.monte_carlo if (near := compute_closeness(result.evidence))]
    if any(ratios):
        weak = sum(seen is None or seen < WEAK_SHARE for seen in ratios)
        text.append(
            f"For {weak} of {len(ratios)} claims no rate above {WEAK_SHARE:g} of a bound was seen; a bound too small "
            f"by less than a factor {1 / WEAK_SHARE:g} passes there."
        )
    if numbers["undecided"]:
        text.append(f"Not decided at this depth: {', '.join(numbers['undecided'])}.")
    return text


@dataclass(frozen=True, slots=True)
class Clock:
    """Seconds of a command: for checks and trials, and in all."""

    claims: float
    total: float


def to_json(verification: Verification, started: str, clock: Clock) -> dict[str, Any]:
    """Return the document verify.json; all but `started` and `seconds` is the same for the same source and seed."""
    facts, results, tested = manifest(), verification.results, verification.monte_carlo
    seconds = {name: round(value, 1) for name, value in asdict(clock).items()}
    document = {
        "schema": SCHEMA,
        "software": {name: facts[name] for name in SOFTWARE},
        "source": source_digest(),
        "depth": verification.depth.name,
        "seed": verification.seed,
        "started": started,
        "seconds": seconds,
        "violation_factor": FACTOR,
        "alpha": {"per_claim": ALPHA, "claims": len(tested), "total": ALPHA * len(tested)},
        "summary": {
            "claims": len(results),
            "as_recorded": sum(not result.problems for result in results),
            "problems": [list(pair) for pair in verification.problems],
            "checks": dict(sorted(Counter(result.checks.printed.outcome for result in results).items())),
            "monte_carlo": _monte_carlo(verification),
        },
        "claims": [_claim(result) for result in results],
        "coverage": [{"claim": cell.claim, **_cell(cell)} for cell in verification.coverage],
    }
    plain: dict[str, Any] = _plain(document)
    return plain


def _monte_carlo(verification: Verification) -> dict[str, Any]:
    tested = verification.monte_carlo
    once = count_distinct(cell for result in tested for cell in result.evidence)
    return {
        "claims": len(tested),
        "held": sum(result.has_guarantee for result in tested),
        "decided": sum(result.decided for result in tested),
        "share": verification.decided_share,
        "undecided": [result.claim.id for result in tested if not result.decided],
        "distinct": {**asdict(once), "share": once.share},
    }


def _claim(result: Result) -> dict[str, Any]:
    claim, graded, near = result.claim, grade(result.claim), compute_closeness(result.evidence)
    return {
        "id": claim.id,
        "place": str(claim.where),
        "family": FAMILIES[family_of(claim)],
        "kind": claim.kind,
        "printed": claim.printed,
        "inferred": claim.inferred,
        "grade": graded.grade,
        "corrected_grade": graded.corrected,
        "as_recorded": not result.problems,
        "problems": result.problems,
        "checks": asdict(result.checks),
        "slack": _slack(compute_least_slack(result)),
        "decided": result.decided if result.evidence else None,
        "closeness": None if near is None else asdict(near),
        "cells": [_cell(cell) for cell in result.evidence],
    }


def _cell(cell: CellEvidence) -> dict[str, Any]:
    values = {name: getattr(cell, name) for name in CELL} | {name: getattr(cell.verdict, name) for name in VERDICT}
    slack = _slack(compute_slack(cell)) if cell.decided else None
    return values | {"rate": cell.verdict.rate or None, "slack": slack, "extra": dict(cell.extra)}


def _slack(slack: tuple[float, bool] | None) -> dict[str, Any] | None:
    return None if slack is None else {"log10": slack[0], "at_least": slack[1]}


def _plain(value: Any) -> Any:
    if isinstance(value, Mapping):
        return {key: _plain(entry) for key, entry in value.items()}
    if isinstance(value, list | tuple):
        return [_plain(entry) for entry in value]
    return None if isinstance(value, float) and not math.isfinite(value) else value


def to_markdown(verification: Verification) -> str:
    """Return the summary and one table per family as a document."""
    text = ["# Verification", "", conclude(verification).replace("\n", "\n\n"), ""]
    header = ("claim", "place", "verdict", "evidence", "slack")
    for family, results in group_by_family(verification).items():
        text += [f"## {FAMILIES[family]}", "", markdown_table(header, map(_row, results))]
    if verification.coverage:
        header = ("statement", "place", "verdict", "wrong", "guaranteed at most")
        text += ["## Statements about selections", "", markdown_table(header, coverage_rows(verification))]
    text += [
        "Slack is bound / probability: of the tightest decided cell that must hold where trials were run, of the "
        "closest instance elsewhere. `>=` marks a lower limit, from cells without any failure. Rate/bound is of "
        "decided cells that must hold; limits are upper limits of the rate over the bound.",
    ]
    return "\n".join(text) + "\n"


def to_csv(verification: Verification) -> str:
    """Return one line per cell; the rate is empty where no failure was seen."""
    import pandas as pd

    rows = [
        {"claim": result.claim.id, **_plain(_cell(cell))} for result in verification.results for cell in result.evidence
    ]
    return write_frame(pd.DataFrame(rows, columns=list(CSV), dtype=object))


def write(verification: Verification, out: Path, started: str, clock: Clock) -> dict[str, Any]:
    """Write verify.json, verify.md and verify.csv to a folder; return the JSON document."""
    out.mkdir(parents=True, exist_ok=True)
    document = to_json(verification, started, clock)
    (out / "verify.json").write_text(json.dumps(document, indent=1, allow_nan=False) + "\n", encoding="utf-8")
    (out / "verify.md").write_text(to_markdown(verification), encoding="utf-8")
    (out / "verify.csv").write_text(to_csv(verification), encoding="utf-8")
    return document
