"""What a verification found, as a table for people, JSON for programs, and CSV for spreadsheets.

``verify.json`` (schema 2)::

    schema, software {exml_sim, python, numpy, ...}, source (digest), depth, seed, started
    seconds {claims, figures, total}   total from the start of the command, imports included; figures null without them
    violation_factor      a bound is decided when a violation by this factor would have been seen
    alarm {per_claim, claims, total}   probability of refuting true claims by bad luck
    summary {claims, as_recorded, problems [[claim, words]], checks {outcome: number},
             monte_carlo {claims, held, decided, share, undecided [ids],
                          summed {cells, informative, decided, exact, trials, share}    over claims,
                          distinct {the same, every question and every trial once},
                          repeats {claim: the claim that has all of its cells},
                          own {claims, decided, share}    without those,
                          closest {claim, seen, limit}}}
    claims [{id, place, family, kind, printed, inferred, grade, corrected_grade, as_recorded, problems,
             checks {printed, corrected, mutant: {outcome, sentence, margin}},
             slack {log10, at_least}, decided, closeness {seen, limit},
             cells [{reading, pool, strategy, budget, delta, event, limit, bound, method, must_hold, outcome, sentence,
                     failures, trials, rate, lower, upper, detectable_factor, slack {log10, at_least}, extra}]}]

`claims` of monte_carlo are those about trials, `held` those of them that promise anything in some cell, and `share` is
decided / claims. A rate is null when no failure was seen: `upper` is then what is known. A slack is log10(bound /
probability), at least that much where the probability is only known from above, and null in cells that are not decided.
Closeness is the largest rate / bound (seen) and the largest upper limit / bound of the decided cells that must hold: a
bound too small by less than the inverse would not have been noticed. Numbers that JSON has not (nan, inf) are written
as null.
"""

from __future__ import annotations

import json
import math
from collections import Counter
from collections.abc import Mapping
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from exml_sim.engine.manifest import manifest
from simulations.tables import csv_table, markdown_table
from simulations.verification.depths import ALARM, FACTOR
from simulations.verification.probes import Evidence
from simulations.verification.run import Result, Verification
from simulations.verification.tally import Closeness, Tally, closeness, closest, distinct, repeats, summed
from simulations.verification.workbench import source_digest
from theory.claims import Claim, section_titles
from theory.claims.document import grades
from theory.evidence.grades import Graded, grade

SCHEMA = 2
#: Share of a bound below which a rate says little about errors of the bound.
FAR = 0.1
#: Facts of `manifest` that do not change between runs on one machine.
SOFTWARE = ("exml_sim", "python", "numpy", "scipy", "numba", "joblib", "scikit-learn")

#: Family of claims -> its name; a family is a module of the ledger.
FAMILIES = section_titles()


def family_of(claim: Claim) -> str:
    """Return the family of a claim: its section of the paper."""
    return claim.group or "section_3_1"


def title_of(family: str) -> str:
    """Return the title of a family."""
    return FAMILIES[family]


def slack(one: Evidence) -> tuple[float, bool] | None:
    """(log10(bound / probability), whether it is at least that much); None where nothing was counted."""
    verdict = one.verdict
    if verdict.rate is None or not 0 < one.bound < 1 or one.method == "paired":
        return None
    if verdict.rate > 0:
        return math.log10(one.bound / verdict.rate), False
    if verdict.upper is None or verdict.upper <= 0:
        return None
    return math.log10(one.bound / verdict.upper), True


def least_slack(result: Result) -> tuple[float, bool] | None:
    """The smallest slack of the decided cells that must hold: how tight the claim is at best.

    Without any cell that must hold, that of the checks; None where there are such cells and none is decided.
    """
    asked = [one for one in result.findings if one.must_hold]
    if asked:
        known = [slack(one) for one in asked if one.informative and one.decided]
        return min((pair for pair in known if pair is not None), default=None)
    check = result.checks.corrected or result.checks.printed
    return None if check.margin is None else (check.margin, False)


def words_of_slack(pair: tuple[float, bool] | None) -> str:
    """A slack in a table: a factor, or an order of magnitude."""
    if pair is None:
        return "-"
    value, at_least = pair
    shown = f"{10**value:.3g}" if abs(value) < 4 else f"1e{value:+.0f}"
    return f"{'>= ' if at_least else ''}{shown}"


def verdict_of(result: Result) -> str:
    """The verdict in a few words: on the printed statement, and on what repairs it."""
    checks, claim = result.checks, result.claim
    if result.problems:
        return "PROBLEM"
    held = "holds"
    if result.silent:
        held = f"holds on {_number(len(claim.cases), 'instance')}, not decided by trials"
    if claim.printed == "holds-corrected":
        return f"printed {checks.printed.outcome}, corrected{':' if result.silent else ''} {held}"
    if claim.printed == "refuted":
        return "refuted" if checks.corrected is None else f"refuted, corrected{':' if result.silent else ''} {held}"
    other = ", not decided by trials" if result.silent else ""
    return {"holds": held, "definition": f"definition, consistent{other}", "vacuous": f"vacuous{other}"}[claim.printed]


def _number(count: int, thing: str) -> str:
    return f"{count:,} {thing}{'' if count == 1 else 's'}"


def evidence_of(result: Result) -> str:
    """What stands behind the verdict: instances, cells, trials, and how close they come to the bound."""
    parts = [_number(len(result.claim.cases), "instance")]
    if result.checks.mutant is not None:
        parts.append("planted error caught" if result.checks.mutant.outcome == "refuted" else "PLANTED ERROR PASSES")
    if result.findings and not result.held:
        parts.append("promises nothing in any cell of trials")
    elif result.findings:
        parts.append(words_of_tally(distinct(result.findings)))
        refuted = sum(one.verdict.outcome == "refuted" for one in result.findings if one.informative)
        if refuted:
            parts.append(f"{refuted} refute{'s' if refuted == 1 else ''} the printed statement")
        near = closeness(result.findings)
        if near is not None:
            parts.append(words_of_closeness(near))
    return ", ".join(parts)


def words_of_tally(count: Tally) -> str:
    """Cells and trials of a table's line."""
    exact = f" and {count.exact} exact" if count.exact else ""
    return f"{count.decided} of {_number(count.informative, 'cell')} decided ({_number(count.trials, 'trial')}{exact})"


def words_of_closeness(near: Closeness) -> str:
    """How far the evidence is from the bound."""
    if near.seen is None:
        return f"no failure seen, rate/bound below {near.limit:.2g}"
    more = f" (limits up to {near.limit:.2g})" if near.limit > near.seen * 1.01 else ""
    return f"largest rate/bound {near.seen:.2g}{more}"


def lines(found: Verification) -> list[tuple[str, ...]]:
    """Claim, place, verdict, evidence, slack: what the table and the document say of every claim."""
    return [
        (one.claim.id, str(one.claim.where), verdict_of(one), evidence_of(one), words_of_slack(least_slack(one)))
        for one in found.results
    ]


def table(found: Verification) -> str:
    """Claim, verdict, evidence, slack; one line each. Statements about selections have no slack."""
    said = [
        (claim, verdict, f"{place}: wrong in {wrong}, promised {most}", "")
        for claim, place, verdict, wrong, most in coverage_lines(found)
    ]
    cells = [("claim", "verdict", "evidence", "slack"), *((id, *rest) for id, _, *rest in lines(found)), *said]
    widths = [*(max(len(line[i]) for line in cells) for i in range(3)), 0]
    return "\n".join("  ".join(text.ljust(w) for text, w in zip(line, widths, strict=True)) for line in cells)


def graded_of(one: Result) -> Graded:
    """Grade the evidence of the claim, from its proofs or its replayed refutation."""
    return grade(one.claim)


def conclusion(found: Verification) -> str:
    """The last text of the output: what was verified, how much was decided, what is wrong."""
    text = [
        f"{_number(len(found.results), 'claim')} checked at depth {found.depth.name}.",
        f"Grades of evidence: {grades(graded_of(one) for one in found.results)}.",
    ]
    if found.monte_carlo:
        text += _about_trials(found)
    text += [f"{claim}: {text}." for claim, text in found.problems]
    wrong = len(found.problems)
    text.append(f"{_number(wrong, 'problem')}." if wrong else "Nothing that should hold is refuted.")
    return "\n".join(text)


def _about_trials(found: Verification) -> list[str]:
    numbers = _monte_carlo(found)
    once, own, top = numbers["distinct"], numbers["own"], numbers["closest"]
    text = [
        f"{_number(numbers['claims'], 'claim')} are about trials, {numbers['held']} of them promise anything at this "
        f"depth, and {numbers['decided']} ({numbers['share']:.0%}) are decided at the violation factor "
        f"{FACTOR:g}; a true claim is refuted by bad luck with probability at most {ALARM:g} each.",
        f"Distinct evidence: {once['decided']} of {_number(once['informative'], 'cell')} decided "
        f"({once['share']:.0%}), {once['exact']} of them exact, the others in {_number(once['trials'], 'trial')}. "
        f"Claims share cells: summed over claims there are {_number(numbers['summed']['informative'], 'cell')}.",
    ]
    if numbers["repeats"]:
        words = ", ".join(f"{claim} in {other}" for claim, other in numbers["repeats"].items())
        text.append(
            f"Without evidence of their own, all their cells being in another claim's: {words}; of the other "
            f"{own['claims']} claims {own['decided']} ({own['share']:.0%}) are decided."
        )
    if top is not None:
        near = [close.seen for one in found.monte_carlo if (close := closeness(one.findings)) is not None]
        far = sum(seen is None or seen < FAR for seen in near)
        text.append(
            f"Closest to its bound is {top['claim']}, with rate/bound {top['seen']:.2g}; for {far} of {len(near)} "
            f"claims no rate above {FAR:g} of a bound was seen: a bound too small by less than a factor {1 / FAR:g} "
            "passes there."
        )
    if numbers["undecided"]:
        text.append(f"Not decided at this depth: {', '.join(numbers['undecided'])}.")
    return text


@dataclass(frozen=True, slots=True)
class Clock:
    """Seconds that a command took: for checks and trials, for figures (None without any), and in all."""

    claims: float
    figures: float | None
    total: float

    def plain(self) -> dict[str, float | None]:
        """Rounded, as values that JSON has."""
        return {name: None if value is None else round(value, 1) for name, value in asdict(self).items()}


def to_json(found: Verification, started: str, clock: Clock) -> dict[str, Any]:
    """The document `verify.json`; everything but `started` and `seconds` is the same for the same source and seed."""
    facts = manifest()
    tried = found.monte_carlo
    document = {
        "schema": SCHEMA,
        "software": {name: facts[name] for name in SOFTWARE},
        "source": source_digest(),
        "depth": found.depth.name,
        "seed": found.seed,
        "started": started,
        "seconds": clock.plain(),
        "violation_factor": FACTOR,
        "alarm": {"per_claim": ALARM, "claims": len(tried), "total": ALARM * len(tried)},
        "summary": {
            "claims": len(found.results),
            "as_recorded": sum(not one.problems for one in found.results),
            "problems": [list(pair) for pair in found.problems],
            "checks": dict(sorted(Counter(one.checks.printed.outcome for one in found.results).items())),
            "monte_carlo": _monte_carlo(found),
        },
        "claims": [_claim(one) for one in found.results],
        "coverage": [{"claim": one.claim, **_cell(one)} for one in found.coverage],
    }
    plain: dict[str, Any] = _plain(document)
    return plain


def _monte_carlo(found: Verification) -> dict[str, Any]:
    tried = found.monte_carlo
    cells = [cell for one in tried for cell in one.findings]
    near, same = closest(tried), repeats(tried)
    own = [one.decided for one in tried if one.claim.id not in same]
    return {
        "claims": len(tried),
        "held": sum(one.held for one in tried),
        "decided": sum(one.decided for one in tried),
        "share": found.decided_share,
        "undecided": [one.claim.id for one in tried if not one.decided],
        "summed": _counts(summed(cells)),
        "distinct": _counts(distinct(cells)),
        "repeats": same,
        "own": {"claims": len(own), "decided": sum(own), "share": sum(own) / len(own) if own else 1.0},
        "closest": None if near is None else {"claim": near[0], **asdict(near[1])},
    }


def _counts(count: Tally) -> dict[str, float]:
    return {**asdict(count), "share": count.share}


def _claim(one: Result) -> dict[str, Any]:
    return {
        "id": one.claim.id,
        "place": str(one.claim.where),
        "family": title_of(family_of(one.claim)),
        "kind": one.claim.kind,
        "printed": one.claim.printed,
        "inferred": one.claim.inferred,
        "grade": (graded := graded_of(one)).grade,
        "corrected_grade": graded.corrected,
        "as_recorded": not one.problems,
        "problems": one.problems,
        "checks": one.checks.plain(),
        "slack": _slack(least_slack(one)),
        "decided": one.decided if one.findings else None,
        "closeness": None if (near := closeness(one.findings)) is None else asdict(near),
        "cells": [_cell(cell) for cell in one.findings],
    }


#: What a cell is, and what came out, in the order of verify.json; `CSV` is the part that is one value each.
CELL = ("reading", "pool", "strategy", "budget", "delta", "event", "limit", "bound", "method", "must_hold")
VERDICT = ("outcome", "sentence", "failures", "trials", "rate", "lower", "upper", "detectable_factor")
CSV = ("claim", *(name for name in CELL + VERDICT if name not in ("must_hold", "sentence", "lower")))


def _cell(one: Evidence) -> dict[str, Any]:
    line = {name: getattr(one, name) for name in CELL} | {name: getattr(one.verdict, name) for name in VERDICT}
    slack_of_cell = _slack(slack(one)) if one.decided else None
    return line | {"rate": one.verdict.rate or None, "slack": slack_of_cell, "extra": dict(one.extra)}


def _slack(pair: tuple[float, bool] | None) -> dict[str, Any] | None:
    return None if pair is None else {"log10": pair[0], "at_least": pair[1]}


def _plain(value: Any) -> Any:
    if isinstance(value, Mapping):
        return {key: _plain(entry) for key, entry in value.items()}
    if isinstance(value, list | tuple):
        return [_plain(entry) for entry in value]
    return None if isinstance(value, float) and not math.isfinite(value) else value


def coverage_lines(found: Verification) -> list[tuple[str, ...]]:
    """One line per statement about selections: what, where, how often it was wrong, and what it promises."""
    return [
        (
            one.claim,
            f"{one.pool}, {one.strategy}, {one.budget}",
            one.verdict.outcome,
            f"{one.verdict.failures} of {one.verdict.trials:,}",
            f"{one.bound:g}",
        )
        for one in found.coverage
    ]


def markdown(found: Verification) -> str:
    """The table and the conclusion as a document."""
    text = ["# Verification", "", conclusion(found).replace("\n", "\n\n"), ""]
    families = [family_of(one.claim) for one in found.results]
    for key in dict.fromkeys([*FAMILIES, *families]):
        here = [line for line, family in zip(lines(found), families, strict=True) if family == key]
        if here:
            text += [
                f"## {title_of(key)}",
                "",
                markdown_table(("claim", "place", "verdict", "evidence", "slack"), here),
            ]
    if found.coverage:
        head = ("statement", "place", "verdict", "wrong", "promised at most")
        text += ["## Statements about selections", "", markdown_table(head, coverage_lines(found))]
    text += [
        "Slack is bound / probability, of the tightest decided cell that must hold where trials were run, of the "
        "closest instance elsewhere. A slack of at least (>=) so much comes from cells without any failure. Rate/bound "
        "is of decided cells that must hold; limits are upper limits of the rate over the bound.",
    ]
    return "\n".join(text) + "\n"


def cells_csv(found: Verification) -> str:
    """One line per cell; no rate where no failure was seen."""
    return csv_table(
        CSV,
        ({"claim": result.claim.id, **_plain(_cell(one))} for result in found.results for one in result.findings),
    )


def write(found: Verification, out: Path, started: str, clock: Clock) -> dict[str, Any]:
    """Leave verify.json, verify.md and verify.csv in a folder; returns the JSON document."""
    out.mkdir(parents=True, exist_ok=True)
    document = to_json(found, started, clock)
    (out / "verify.json").write_text(json.dumps(document, indent=1, allow_nan=False) + "\n", encoding="utf-8")
    (out / "verify.md").write_text(markdown(found), encoding="utf-8")
    (out / "verify.csv").write_text(cells_csv(found), encoding="utf-8")
    return document
