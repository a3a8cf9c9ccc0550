"""docs/verdicts.md says what the code does: examples run, tables are those of the tests, names exist."""

from __future__ import annotations

import doctest
import re
from pathlib import Path

import pytest

from tests.statistical import instances, test_planted_bounds, test_planted_bugs
from tests.statistical.bounds import BOUNDS
from tests.statistical.planted_table import tables
from tests.statistical.wrong_bounds import PLANTED
from tests.statistical.wrong_strategies import BUGS

ROOT = Path(__file__).parents[2]
TEXT = (ROOT / "docs" / "verdicts.md").read_text(encoding="utf-8")


def test_the_examples_run():
    found = doctest.testfile(str(ROOT / "docs" / "verdicts.md"), module_relative=False)
    assert found.attempted >= 2
    assert found.failed == 0


@pytest.mark.parametrize("heading", ["Planted wrong bounds", "Planted bugs"])
def test_the_tables_are_those_of_the_tests(heading):
    section = TEXT.split(f"### {heading}\n\n")[1].split("\n\n")[0]
    assert section.splitlines() == tables()[heading]


def test_there_are_enough_planted_errors_and_every_named_test_exists():
    assert len(PLANTED) + 3 >= 12
    assert len(BUGS) >= 6
    named = set(re.findall(r"`(test_\w+)`", TEXT))
    assert len(named) >= 9
    modules = (test_planted_bounds, test_planted_bugs)
    assert all(any(hasattr(module, name) for module in modules) for name in named)


def test_every_named_file_exists():
    for name in re.findall(r"`((?:tests|theory|docs)/[\w/.]+)`", TEXT):
        assert (ROOT / name).exists(), name


def test_the_largest_ratio_on_the_opposed_pair():
    found = [instances.opposed(n, 0.02) for n in (*range(500, 1000, 25), *range(1000, 12_000, 1000))]
    ratios = [one.least / bound for one in found if (bound := BOUNDS["uniform"]["tighter"](one.point, one.budget)) < 1]
    assert max(ratios) == pytest.approx(0.31, abs=0.005)
