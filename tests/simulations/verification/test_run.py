"""A whole verification at small scale: what is decided, what is a problem, and what a killed run leaves."""

from __future__ import annotations

import dataclasses
import json

import numpy as np
import pytest

from simulations.verification import _claim_trials as trials
from simulations.verification import _report as report
from simulations.verification import run
from simulations.verification._cells import COMPARED, DEPTHS, EXCESS, PLANS, list_tested_claims
from simulations.verification._claim_trials import make_context
from simulations.verification._guarantees import Guarantee
from simulations.verification.run import (
    Result,
    verify,
)
from theory.claims import Reading, get
from theory.claims import document as documents
from theory.claims.document import Checked
from theory.evidence.grades import Grade, Graded
from theory.verdicts import Verdict, judge, refuted

SMALL = dataclasses.replace(DEPTHS["quick"], targets=(0.1,), least=1, most=2_000, pairs=600, excess=4)
FEW = ("a5-count-1", "lemma-3", "lemma-4")


def results(ids, depth=SMALL, **options):
    return verify(ids, depth, n_jobs=1, **options)


def recorded(claim):
    """The outcomes that the registry records, without running a check."""
    corrected = claim.repaired and Verdict("consistent", "Not run here.")
    graded = Graded(Grade.EVIDENCE, "Not run here.")
    return Checked(claim, Verdict(claim.expected, "Not run here."), corrected, None, 0.0, graded)


def test_claims_about_trials_are_decided(monkeypatch):
    """All but those that need newly drawn training sets or pairs of trials, with the fewest trials that decide."""
    monkeypatch.setattr(run, "run_checks", recorded)
    verified = results(list_tested_claims())
    document = report.to_json(verified, "", {})["summary"]["monte_carlo"]
    assert document["claims"] == len(list_tested_claims()) >= 12
    assert document["held"] <= document["claims"]
    assert document["distinct"]["share"] >= 0.8
    assert set(document["undecided"]) <= {*EXCESS, COMPARED}
    assert not [cell for entry in verified.results for cell in entry.evidence if cell.must_hold and not _fine(cell)]


def _fine(cell):
    return cell.verdict.outcome != "refuted"


def test_claims_come_in_the_order_of_the_paper():
    assert [result.claim.id for result in results(("a5-count-1", "eq-1")).results] == ["eq-1", "a5-count-1"]
    with pytest.raises(ValueError, match="did you mean"):
        results(("lemma-1i",))


def problems(claim, **changes):
    return Result(documents.run(dataclasses.replace(claim, **changes))).problems


def test_every_kind_of_wrong_check_is_a_problem():
    right, wrong = get("a5-series-3"), get("a5-count-1")
    assert problems(right) == problems(wrong) == []
    assert "refuted, where consistent is recorded" in problems(right, reading=right.mutant)[0]
    assert "planted error pass" in problems(right, mutant=right.reading)[0]
    assert "consistent, where refuted is recorded" in problems(wrong, reading=wrong.repaired)[0]
    assert "corrected statement says refuted" in problems(wrong, repaired=wrong.reading)[0]


def test_trials_that_refute_what_must_hold_are_a_problem():
    plan = next(p for p in PLANS if p.claim == "a4-term-c")

    def too_small(case):
        right = plan.guarantee(case)
        return None if right is None else Guarantee(right.probability, right.limit / 50)

    verified = results(("a4-term-c",), plans=[dataclasses.replace(plan, guarantee=too_small, pools=("opposed",))])
    assert any("the corrected statement is refuted on opposed" in text for _, text in verified.problems)
    assert report.summarise_verdict(verified.results[0]) == "PROBLEM"


def test_instances_that_do_not_refute_are_a_problem():
    plan = dataclasses.replace(next(p for p in PLANS if p.claim == "remark-5-launch-budget"), budgets=(4,))
    assert "no trial contradicts" in results(("remark-5-launch-budget",), plans=[plan]).problems[0][1]


def document(verified):
    text = json.dumps(report.to_json(verified, "then", {}), allow_nan=False)
    return json.loads(text)


def test_a_changed_source_repeats_all_work(tmp_path, monkeypatch):
    for _ in range(2):
        cache = make_context(0, 1, tmp_path).cache
        assert cache.map(lambda value: value, {"check x": {"a": 1}}) == [{"a": 1}]
        assert "check x" in cache
    assert len(trials.source_digest()) == 64
    monkeypatch.setattr(trials, "source_digest", lambda: "other")
    assert "check x" not in make_context(0, 1, tmp_path).cache


def test_margins_are_signed_decades():
    claim = get("a5-series-3")

    def room(reading, **numbers):
        return report.compute_margin(reading, refuted("Fails.", **numbers))

    side = claim.reading.left
    assert room(Reading(side, "<=", side), left=1.0, right=100.0) == pytest.approx(2.0)
    assert room(Reading(side, ">=", side), left=1.0, right=100.0) == pytest.approx(-2.0)
    assert room(Reading(side, "<=", side, log=True), left=-30.0, right=-20.0) == pytest.approx(10 / np.log(10))
    assert room(Reading(side, "==", side), left=1.0, right=1.0) is None
    assert room(Reading(side, "<=", side), left=0, right=1.0) is None


def test_reports_never_show_a_rate_of_zero():
    verified = results(("lemma-3", "lemma-4"))
    cells = [cell for claim in document(verified)["claims"] for cell in claim["cells"]]
    silent = [cell for cell in cells if cell["failures"] == 0]
    assert silent
    for cell in silent:
        assert cell["rate"] is None
        assert cell["upper"] > 0
        assert cell["slack"]["at_least"]
        assert cell["sentence"].startswith("No failure in")
    assert any(cell["rate"] for cell in cells)
    assert "  >= " in report.format_report(verified)


def test_paired_trials_say_who_fails_alone():
    evidence = trials.compare(dataclasses.replace(SMALL, pairs=3000), make_context(0, 1))
    refuting = [entry for entry in evidence if entry.verdict.outcome == "refuted"]
    assert {entry.pool for entry in refuting} >= {"one-rival-8"}
    for entry in refuting:
        assert entry.extra["uniform_alone"] > entry.extra["median_alone"]
        assert entry.verdict.trials == entry.extra["uniform_alone"] + entry.extra["median_alone"]


# --- evidence that does not speak is not a success -----------------------------------------------------------------


def test_theorems_that_trials_did_not_decide_say_so():
    """With four trials nothing is decided, and the table does not read as if it were."""
    verified = results(EXCESS)
    for entry in verified.results:
        assert entry.is_undecided
        assert not entry.decided
        assert report.summarise_verdict(entry).endswith("corrected: holds on 2 instances, not decided by trials")
        assert report.format_slack(report.compute_least_slack(entry)) == "-"
        assert all(
            cell["slack"] is None
            for cell in report._claim(entry, verified.registry.titles)["cells"]
            if cell["outcome"] != "consistent"
        )
    text = report.conclude(verified)
    with_guarantee = sum(entry.has_guarantee for entry in verified.results)
    assert (
        f"2 claims are about trials; {with_guarantee} of them have a guarantee at this depth, and 0 (0%) are decided"
        in text
    )
    vacuous = tuple(dataclasses.replace(cell, verdict=judge(0, 9, 2.0)) for cell in verified.results[0].evidence)
    nothing = dataclasses.replace(verified.results[0], evidence=vacuous)
    assert "no guarantee in any cell of trials" in report.summarise_evidence(nothing)
