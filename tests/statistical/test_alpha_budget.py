"""The suite's alpha budget is kept, and the table of it is complete."""

from __future__ import annotations

import re
from pathlib import Path

from tests.statistical.alpha_budget import STATED, TOTAL

ROOT = Path(__file__).parents[2]


def test_the_whole_suite_stays_within_its_budget():
    """By the union bound."""
    assert sum(plan.each * plan.verdicts for plan in STATED.values()) <= TOTAL == 1e-4
    assert all(plan.each <= 1e-6 for plan in STATED.values())


def test_every_file_that_states_a_false_alarm_rate_is_in_the_table():
    """A file says so by a constant ALPHA, or in words."""
    words = re.compile(r"^ALPHA = |false alarm below|probability below 1e-|5\.5 standard errors", re.MULTILINE)
    files = {
        file.relative_to(ROOT).as_posix()
        for file in (ROOT / "tests").rglob("test_*.py")
        if file.name != Path(__file__).name and words.search(file.read_text(encoding="utf-8"))
    }
    assert files == set(STATED)
