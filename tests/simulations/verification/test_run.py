"""A whole verification at small scale: what is decided, what is a problem, and what a killed run leaves."""

from __future__ import annotations

import dataclasses
import json

import numpy as np
import pytest

from simulations.cache import Cache
from simulations.verification import comparison, excess_risk, report, run, workbench
from simulations.verification.checks import Check, Checks, margin, run_checks
from simulations.verification.depths import DEPTHS
from simulations.verification.plans import COMPARED, EXCESS, tried
from simulations.verification.promises import Promise
from simulations.verification.run import Result, Verification, chosen, verify
from simulations.verification.workbench import Workbench
from theory.claims import Reading, all_claims, get
from theory.verdicts import refuted

SMALL = dataclasses.replace(
    DEPTHS["quick"], targets=(0.1,), least=1, most=2_000, pairs=600, excess=4, rows=8, slack_trials=40
)
FEW = ("a5-count-1", "lemma-3", "a6-term-b")


def results(ids, depth=SMALL, **options):
    return verify(chosen(ids), depth, n_jobs=1, **options)


def test_four_fifths_of_the_claims_about_trials_are_decided(monkeypatch):
    """The share that verify.json reports, on every claim that is tried, with the fewest trials that decide."""
    said = Check("consistent", "Not run here.", None)
    monkeypatch.setattr(run, "run_checks", lambda claim, cache: Checks(said, None, None))
    found = results(tried())
    document = report.to_json(found, "", report.Clock(0.0, None, 0.0))["summary"]["monte_carlo"]
    assert document["claims"] == len(tried()) >= 20
    assert document["held"] <= document["claims"]
    assert document["share"] >= 0.8
    assert document["distinct"]["share"] >= 0.8
    assert document["own"]["share"] >= 0.8
    assert document["repeats"] == {"a4-term-c": "term-d", "a5-regret": "lemma-2-ii"}
    assert document["distinct"]["informative"] < document["summed"]["informative"]
    assert document["distinct"]["trials"] < document["summed"]["trials"]
    assert document["closest"]["seen"] > 0.2
    assert set(document["undecided"]) <= {*EXCESS, COMPARED}
    assert not [cell for one in found.results for cell in one.findings if cell.must_hold and not _fine(cell)]


def _fine(cell):
    return cell.verdict.outcome != "refuted"


def test_an_undecided_cell_makes_its_claim_undecided():
    found = results(("lemma-3",), dataclasses.replace(SMALL, most=20))
    assert found.decided_share == 0.0
    assert "lemma-3" in report.conclusion(found)
    assert results(("lemma-3",)).decided_share == 1.0


def test_claims_come_in_the_order_of_the_paper():
    assert [claim.id for claim in chosen(("a5-count-1", "eq-1"))] == ["eq-1", "a5-count-1"]
    assert len(chosen(())) == len(all_claims())
    with pytest.raises(ValueError, match="did you mean"):
        chosen(("lemma-1i",))


def problems(claim, **changes):
    with Cache() as cache:
        broken = dataclasses.replace(claim, **changes)
        return Result(broken, run_checks(broken, cache)).problems


def test_every_kind_of_wrong_check_is_a_problem():
    right, wrong = get("a5-series-3"), get("a5-count-1")
    assert problems(right) == problems(wrong) == []
    assert "refuted, where consistent is recorded" in problems(right, reading=right.mutant)[0]
    assert "planted error pass" in problems(right, mutant=right.reading)[0]
    assert "consistent, where refuted is recorded" in problems(wrong, reading=wrong.repaired)[0]
    assert "corrected statement says refuted" in problems(wrong, repaired=wrong.reading)[0]


def test_trials_that_refute_what_must_hold_are_a_problem(monkeypatch):
    plan = next(p for p in run.PLANS if p.claim == "a6-term-b")

    def too_small(*cell):
        right = plan.says(*cell)
        return None if right is None else Promise(right.probability, right.limit / 20)

    monkeypatch.setattr(run, "PLANS", (dataclasses.replace(plan, says=too_small),))
    found = results(("a6-term-b",))
    assert any("the corrected statement is refuted on opposed" in text for _, text in found.problems)
    assert report.verdict_of(found.results[0]) == "PROBLEM"


def test_instances_that_do_not_refute_are_a_problem(monkeypatch):
    plan = dataclasses.replace(next(p for p in run.PLANS if p.claim == "remark-5-launch-budget"), budgets=(4,))
    monkeypatch.setattr(run, "PLANS", (plan,))
    assert "no trial contradicts" in results(("remark-5-launch-budget",)).problems[0][1]


def document(found):
    text = json.dumps(report.to_json(found, "then", report.Clock(1.0, None, 1.0)), allow_nan=False)
    return json.loads(text)


class Killed(BaseException):
    """The process is gone."""


@pytest.mark.parametrize("last", [0, 1, 3])
def test_a_killed_run_continues_and_ends_with_the_same_document(tmp_path, monkeypatch, last):
    whole = document(results(FEW))
    put, seen = Cache.put, []

    def dying(self, key, value):
        if len(seen) == last:
            raise Killed
        seen.append(key)
        put(self, key, value)

    monkeypatch.setattr(Cache, "put", dying)
    with pytest.raises(Killed):
        results(FEW, store=tmp_path)
    again = []
    monkeypatch.setattr(Cache, "put", lambda self, key, value: (again.append(key), put(self, key, value))[1])
    assert document(results(FEW, store=tmp_path)) == whole
    assert not set(seen) & set(again)
    third = len(again)
    assert document(results(FEW, store=tmp_path)) == whole
    assert len(again) == third


def test_a_changed_source_finds_nothing(tmp_path, monkeypatch):
    with workbench.workbench(0, 1, tmp_path) as bench:
        bench.cache.put("check x", {"a": 1})
    with workbench.workbench(0, 1, tmp_path) as bench:
        assert bench.cache.get("check x") == {"a": 1}
    assert len(workbench.source_digest()) == 64
    monkeypatch.setattr(workbench, "source_digest", lambda: "other")
    with workbench.workbench(0, 1, tmp_path) as bench:
        assert "check x" not in bench.cache


def test_a_folder_with_somebody_elses_file_is_refused(tmp_path):
    with workbench.workbench(0, 1, tmp_path) as bench:
        file = bench.cache.path
    file.write_text("no database at all, but long enough to be looked at as one " * 20)
    before = file.read_bytes()
    with pytest.raises(ValueError, match="no store at all"):
        results(FEW, store=tmp_path)
    assert file.read_bytes() == before


def test_margins_are_signed_decades():
    claim = get("a5-series-3")

    def room(reading, **numbers):
        return margin(reading, refuted("Fails.", **numbers))

    side = claim.reading.left
    assert room(Reading(side, "<=", side), left=1.0, right=100.0) == pytest.approx(2.0)
    assert room(Reading(side, ">=", side), left=1.0, right=100.0) == pytest.approx(-2.0)
    assert room(Reading(side, "<=", side, log=True), left=-30.0, right=-20.0) == pytest.approx(10 / np.log(10))
    assert room(Reading(side, "==", side), left=1.0, right=1.0) is None
    assert room(Reading(side, "<=", side), left=0, right=1.0) is None


def test_reports_never_show_a_rate_of_zero():
    found = results(("lemma-3", "a6-term-b"))
    cells = [cell for claim in document(found)["claims"] for cell in claim["cells"]]
    silent = [cell for cell in cells if cell["failures"] == 0]
    assert silent
    for cell in silent:
        assert cell["rate"] is None
        assert cell["upper"] > 0
        assert cell["slack"]["at_least"]
        assert cell["sentence"].startswith("No failure in")
    assert any(cell["rate"] for cell in cells)
    lines = report.cells_csv(found).splitlines()
    assert len(lines) == 1 + len(cells)
    assert not any(",0.0," in line for line in lines)
    assert ">= " in report.table(found)
    assert "| lemma-3 |" in report.markdown(found)


def test_paired_trials_say_who_fails_alone():
    with Cache() as cache:
        found = comparison.compare(dataclasses.replace(SMALL, pairs=3000), Workbench(0, 1, cache))
    refuting = [one for one in found if one.verdict.outcome == "refuted"]
    assert {one.pool for one in refuting} >= {"one-rival-8"}
    for one in refuting:
        assert one.extra["uniform_alone"] > one.extra["median_alone"]
        assert one.verdict.trials == one.extra["uniform_alone"] + one.extra["median_alone"]


def test_excess_risk_is_the_sum_of_its_terms_and_its_theorems_are_judged(monkeypatch):
    with Cache() as cache:
        bench = Workbench(0, 1, cache)
        one = excess_risk.measure("uniform", 100, SMALL, bench)
        assert one.terms[:, 0] == pytest.approx(one.terms[:, 1:].sum(axis=1), abs=1e-9)
        assert np.all(one.gaps > 0)
        monkeypatch.setattr(excess_risk, "_block", lambda *_: pytest.fail("run again"))
        assert np.array_equal(excess_risk.measure("uniform", 100, SMALL, bench).terms, one.terms)
    # Below its launch budget the theorem says nothing; far above, a model that always errs refutes it.
    assert excess_risk.judged("thm-1", "corrected", one, 0.2, 1e-7).verdict.outcome == "vacuous"
    terms = np.tile([0.95, 0.0, 0.0, 0.0, 0.0, 0.1], (300, 1))
    bad = excess_risk.RedrawnTrials("uniform", 4 * 60_000, 60_000, 300, True, terms, np.full(300, 0.07))
    assert excess_risk.judged("thm-1", "corrected", bad, 0.2, 1e-7).verdict.outcome == "refuted"
    good = dataclasses.replace(bad, terms=terms * [0.1, 1, 1, 1, 1, 1])
    assert excess_risk.judged("thm-1", "corrected", good, 0.2, 1e-7).verdict.outcome == "consistent"


def test_verification_without_trials_has_nothing_to_decide():
    assert Verification(SMALL, 0, ()).decided_share == 1.0


# --- evidence that does not speak is not a success -----------------------------------------------------------------


def test_theorems_that_trials_did_not_decide_say_so():
    """With four trials nothing is decided, and the table does not read as if it were."""
    found = results(EXCESS)
    for one in found.results:
        assert one.silent
        assert not one.decided
        assert report.verdict_of(one).endswith("corrected: holds on 2 instances, not decided by trials")
        assert report.words_of_slack(report.least_slack(one)) == "-"
        assert all(cell["slack"] is None for cell in report._claim(one)["cells"] if cell["outcome"] != "consistent")
    text = report.conclusion(found)
    held = sum(one.held for one in found.results)
    assert f"2 claims are about trials, {held} of them promise anything at this depth, and 0 (0%) are decided" in text
    nothing = [one for one in found.results if not one.held]
    assert all("promises nothing in any cell of trials" in report.evidence_of(one) for one in nothing)
    assert nothing


def test_an_undecided_claim_has_no_slack_and_one_that_is_decided_has():
    short = results(("lemma-3",), dataclasses.replace(SMALL, most=20)).results[0]
    assert report.verdict_of(short) == "holds on 20 instances, not decided by trials"
    assert report.least_slack(short) is None
    long = results(("lemma-3",)).results[0]
    assert report.verdict_of(long) == "holds"
    assert report.least_slack(long) is not None


def test_seconds_are_named():
    assert report.Clock(1.234, None, 2.0).plain() == {"claims": 1.2, "figures": None, "total": 2.0}
