"""The suite's false-alarm budget is kept, and its book-keeping is complete."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from tests.quality.alpha_budget import AlphaAllotment, AlphaBudget, PlannedTests
from tests.statistical.alarms import BUDGET, DRAWN, STATED, TOTAL, planned

ROOT = Path(__file__).parents[2]


def test_the_whole_suite_stays_within_its_budget():
    BUDGET.check()
    assert BUDGET.sum <= TOTAL == 1e-4
    assert all(item.each <= 1e-6 for item in (*DRAWN.values(), *STATED.values()))


def test_an_allotment_refuses_more_verdicts_than_were_planned():
    allotment = AlphaAllotment("test_planted_bugs", DRAWN["test_planted_bugs"])
    spent = [allotment.alpha() for _ in range(DRAWN["test_planted_bugs"].verdicts)]
    assert sum(spent) == pytest.approx(DRAWN["test_planted_bugs"].sum)
    with pytest.raises(ValueError, match="asks for more than its"):
        allotment.alpha()
    with pytest.raises(ValueError, match="has a plan for 20 verdicts, not for 21"):
        planned("test_planted_bugs", 21)


def test_every_file_that_states_a_false_alarm_rate_is_in_the_book():
    """A file says so by a constant ALARM or ALPHA, or in words."""
    words = re.compile(r"^(ALARM|ALPHA) = |alarm below|probability below 1e-|5\.5 standard errors", re.MULTILINE)
    own = ROOT / "tests" / "statistical"
    files = {
        file.relative_to(ROOT).as_posix()
        for file in (ROOT / "tests").rglob("test_*.py")
        if own not in file.parents and words.search(file.read_text(encoding="utf-8"))
    }
    assert files == set(STATED)


def test_every_allotment_is_planned_and_every_plan_is_used():
    text = "\n".join(file.read_text(encoding="utf-8") for file in (ROOT / "tests").rglob("test_*.py"))
    assert set(re.findall(r'(?:allot|planned)\("(\w+)"', text)) == set(DRAWN)


def test_an_overdrawn_budget_is_refused():
    with pytest.raises(ValueError, match="the plans come to 3e-06, and the budget allows 2e-06"):
        AlphaBudget(2e-6, {"one": PlannedTests(1e-6, 3)}).check()
    with pytest.raises(ValueError, match="has no plan in the budget"):
        AlphaBudget(1.0, {"one": PlannedTests(1e-6, 3)}).allot(str(2))
