"""Report of a verification: a table for people, JSON for programs.

``verify.json`` (schema 5)::

    schema, software {exml_sim, python, numpy, ...}, source (digest), depth, seed, started
    seconds {claims, total}   total from the start of the command, imports included
    violation_factor      a bound is decided when a violation by this factor would have been seen
    alpha {per_claim, claims, total}   probability of refuting true claims by chance
    summary {claims, as_recorded, problems [[claim, text]], checks {outcome: number},
             monte_carlo {claims, held, decided, share, undecided [ids],
                          distinct {cells, informative, decided, exact, trials, share}}}    each question and trial once
    claims [{id, place, family, kind, printed, inferred, grade, corrected_grade, as_recorded, problems,
             checks {printed, corrected, mutant: {outcome, sentence, margin}},
             slack {log10, at_least}, decided,
             cells [{reading, pool, strategy, budget, delta, event, limit, bound, method, must_hold, outcome, sentence,
                     failures, trials, rate, lower, upper, detectable_factor, slack {log10, at_least}, extra}]}]

`claims` of monte_carlo are those about trials, `held` those with a guarantee in some cell, and `share` is decided /
claims. A rate is null when no failure was seen; `upper` then bounds it. A slack is log10(bound / probability), at least
that much where the probability is only known from above, and null in undecided cells. The slack of a claim is that of
its tightest decided cell that must hold: a bound too small by less than this factor would not have been noticed. nan
and inf are written as null.
"""

from __future__ import annotations

import json
import math
from collections import Counter
from collections.abc import Mapping
from dataclasses import asdict
from fractions import Fraction
from pathlib import Path
from typing import Any

from exml_sim._internal.files import write_file
from exml_sim.engine._schema import manifest
from simulations.verification._cells import ALPHA, FACTOR, CellEvidence, count_distinct
from simulations.verification._claim_trials import source_digest
from simulations.verification.run import Result, Verification
from theory.claims import Reading
from theory.claims.document import grades
from theory.verdicts import Verdict

SCHEMA = 5
#: Factor between bound and rate beyond which a rate is weak evidence about errors of the bound.
WEAK_FACTOR = 10.0
#: Facts of `manifest` that do not change between runs on one machine.
SOFTWARE = ("exml_sim", "python", "numpy", "scipy", "numba", "joblib", "scikit-learn")
#: What a cell is, and its verdict, in the order of verify.json.
CELL = ("reading", "pool", "strategy", "budget", "delta", "event", "limit", "bound", "method", "must_hold")
VERDICT = ("outcome", "sentence", "failures", "trials", "rate", "lower", "upper", "detectable_factor")


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
    claim, checked = result.claim, result.checked
    if checked.corrected is not None and claim.repaired is not None:
        margin = compute_margin(claim.repaired, checked.corrected)
    else:
        margin = compute_margin(claim.reading, checked.verdict)
    return None if margin is None else (margin, False)


def compute_margin(reading: Reading, verdict: Verdict) -> float | None:
    """Return log10(right / left) of the instance that a verdict quotes, with the sides swapped for ">" and ">=".

    It is positive for room to spare, negative for a violation, and None for sides that cannot be divided.
    """
    numbers = dict(verdict.evidence)
    sides = [numbers.get("left"), numbers.get("right")]
    if reading.relation == "==" or not all(_is_number(side) for side in sides):
        return None
    left, right = (float(side) for side in sides)  # type: ignore[arg-type]
    if reading.relation in (">", ">="):
        left, right = right, left
    if reading.log:
        return (right - left) / math.log(10)
    return math.log10(right / left) if left > 0 and right > 0 else None


def _is_number(value: Any) -> bool:
    return isinstance(value, int | float | Fraction) and not isinstance(value, bool) and math.isfinite(value)


def format_slack(slack: tuple[float, bool] | None) -> str:
    """Format a slack as a factor, or an order of magnitude."""
    if slack is None:
        return "-"
    value, at_least = slack
    factor = f"{10**value:.3g}" if abs(value) < 4 else f"1e{value:+.0f}"
    return f"{'>= ' if at_least else ''}{factor}"


def summarise_verdict(result: Result) -> str:
    """Summarise the verdict on the printed statement, and on its correction."""
    checked, claim = result.checked, result.claim
    if result.problems:
        return "PROBLEM"
    holds, undecided = "holds", ""
    if result.is_undecided:
        holds, undecided = f"holds on {_count(len(claim.cases), 'instance')}, not decided by trials", ":"
    if claim.printed == "holds-corrected":
        return f"printed {checked.verdict.outcome}, corrected{undecided} {holds}"
    if claim.printed == "refuted":
        return "refuted" if checked.corrected is None else f"refuted, corrected{undecided} {holds}"
    rest = ", not decided by trials" if result.is_undecided else ""
    return {"holds": holds, "definition": f"definition, consistent{rest}", "vacuous": f"vacuous{rest}"}[claim.printed]


def _count(number: int, thing: str) -> str:
    return f"{number:,} {thing}{'' if number == 1 else 's'}"


def summarise_evidence(result: Result) -> str:
    """Summarise instances, cells and trials."""
    parts = [_count(len(result.claim.cases), "instance")]
    if result.checked.mutant is not None:
        parts.append("planted error caught" if result.checked.mutant.outcome == "refuted" else "PLANTED ERROR PASSES")
    if result.evidence and not result.has_guarantee:
        parts.append("no guarantee in any cell of trials")
    elif result.evidence:
        count = count_distinct(result.evidence)
        exact = f" and {count.exact} exact" if count.exact else ""
        cells = f"{count.decided} of {_count(count.informative, 'cell')} decided"
        parts.append(f"{cells} ({_count(count.trials, 'trial')}{exact})")
        refuted = sum(cell.verdict.outcome == "refuted" for cell in result.evidence if cell.informative)
        if refuted:
            parts.append(f"{refuted} refute{'s' if refuted == 1 else ''} the printed statement")
    return ", ".join(parts)


def format_report(verification: Verification) -> str:
    """Return the summary, and one line per claim: verdict, evidence, slack."""
    rows = [("claim", "verdict", "evidence", "slack")]
    for result in verification.results:
        slack = format_slack(compute_least_slack(result))
        rows.append((result.claim.id, summarise_verdict(result), summarise_evidence(result), slack))
    widths = [*(max(len(row[i]) for row in rows) for i in range(3)), 0]
    table = "\n".join("  ".join(text.ljust(w) for text, w in zip(row, widths, strict=True)) for row in rows)
    note = "Slack is bound / probability in the tightest decided cell that must hold, or in the closest instance."
    return f"{conclude(verification)}\n\n{table}\n\n{note} >= is a lower limit, from cells without any failure.\n"


def conclude(verification: Verification) -> str:
    """Return the summary: the number of problems first, then what was verified and decided."""
    number = len(verification.problems)
    text = [f"{_count(number, 'problem')}." if number else "Nothing that should hold is refuted."]
    text += [f"{claim}: {problem}." for claim, problem in verification.problems]
    text += [
        f"{_count(len(verification.results), 'claim')} checked at depth {verification.depth.name}.",
        f"Grades of evidence: {grades(result.checked.graded for result in verification.results)}.",
    ]
    return "\n".join([*text, *(_conclude_trials(verification) if verification.monte_carlo else [])])


def _conclude_trials(verification: Verification) -> list[str]:
    numbers = _monte_carlo(verification)
    once = numbers["distinct"]
    verb = "is" if numbers["claims"] == 1 else "are"
    text = [
        f"{_count(numbers['claims'], 'claim')} {verb} about trials; {numbers['held']} of them have a guarantee at this "
        f"depth, and {numbers['decided']} ({numbers['share']:.0%}) are decided at the violation factor {FACTOR:g}. "
        f"A true claim is refuted by chance with probability at most {ALPHA:g}.",
        f"Distinct evidence: {once['decided']} of {_count(once['informative'], 'cell')} decided "
        f"({once['share']:.0%}), {once['exact']} of them exact, the others in {_count(once['trials'], 'trial')}.",
    ]
    slacks = [compute_least_slack(result) for result in verification.monte_carlo]
    known = [slack for slack in slacks if slack is not None]
    if any(not at_least for _, at_least in known):
        weak = sum(at_least or value > math.log10(WEAK_FACTOR) for value, at_least in known)
        text.append(
            f"For {weak} of {len(known)} claims no rate above {1 / WEAK_FACTOR:g} of a bound was seen; "
            f"a bound too small by less than a factor {WEAK_FACTOR:g} passes there."
        )
    if numbers["undecided"]:
        text.append(f"Not decided at this depth: {', '.join(numbers['undecided'])}.")
    return text


def to_json(verification: Verification, started: str, seconds: Mapping[str, float]) -> dict[str, Any]:
    """Return the document verify.json; all but `started` and `seconds` is the same for the same source and seed."""
    facts, results, tested = manifest(), verification.results, verification.monte_carlo
    titles = verification.registry.titles
    document = {
        "schema": SCHEMA,
        "software": {name: facts[name] for name in SOFTWARE},
        "source": source_digest(),
        "depth": verification.depth.name,
        "seed": verification.seed,
        "started": started,
        "seconds": {name: round(value, 1) for name, value in seconds.items()},
        "violation_factor": FACTOR,
        "alpha": {"per_claim": ALPHA, "claims": len(tested), "total": ALPHA * len(tested)},
        "summary": {
            "claims": len(results),
            "as_recorded": sum(not result.problems for result in results),
            "problems": [list(pair) for pair in verification.problems],
            "checks": dict(sorted(Counter(result.checked.verdict.outcome for result in results).items())),
            "monte_carlo": _monte_carlo(verification),
        },
        "claims": [_claim(result, titles) for result in results],
    }
    plain: dict[str, Any] = _plain(document)
    return plain


def _monte_carlo(verification: Verification) -> dict[str, Any]:
    tested = verification.monte_carlo
    once = count_distinct(cell for result in tested for cell in result.evidence)
    decided = sum(result.decided for result in tested)
    return {
        "claims": len(tested),
        "held": sum(result.has_guarantee for result in tested),
        "decided": decided,
        "share": decided / len(tested) if tested else 1.0,
        "undecided": [result.claim.id for result in tested if not result.decided],
        "distinct": {**asdict(once), "share": once.share},
    }


def _claim(result: Result, titles: Mapping[str, str]) -> dict[str, Any]:
    claim, checked, graded = result.claim, result.checked, result.checked.graded
    return {
        "id": claim.id,
        "place": str(claim.where),
        "family": titles[claim.group],
        "kind": claim.kind,
        "printed": claim.printed,
        "inferred": claim.inferred,
        "grade": graded.grade,
        "corrected_grade": graded.corrected,
        "as_recorded": not result.problems,
        "problems": result.problems,
        "checks": {
            "printed": _check(claim.reading, checked.verdict),
            "corrected": _check(claim.repaired, checked.corrected),
            "mutant": _check(claim.mutant, checked.mutant),
        },
        "slack": _slack(compute_least_slack(result)),
        "decided": result.decided if result.evidence else None,
        "cells": [_cell(cell) for cell in result.evidence],
    }


def _check(reading: Reading | None, verdict: Verdict | None) -> dict[str, Any] | None:
    if reading is None or verdict is None:
        return None
    return {"outcome": verdict.outcome, "sentence": verdict.sentence, "margin": compute_margin(reading, verdict)}


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


def write(verification: Verification, out: Path, started: str, seconds: Mapping[str, float]) -> dict[str, Any]:
    """Write verify.json and verify.txt to a folder; return the JSON document."""
    out.mkdir(parents=True, exist_ok=True)
    document = to_json(verification, started, seconds)
    write_file(out / "verify.json", json.dumps(document, indent=1, allow_nan=False) + "\n")
    write_file(out / "verify.txt", format_report(verification))
    return document
