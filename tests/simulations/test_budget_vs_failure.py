"""The main study, small: panels, needs, sentences, table."""

from __future__ import annotations

import math
from dataclasses import replace
from fractions import Fraction

import numpy as np
import pytest

from exml_sim.engine import run
from simulations import budget_vs_failure as study
from simulations.panels import TARGET, find_needs, make_panels, needed_in_simulation
from simulations.report._findings import find_gains, judge_panels, write_needs
from theory.versions import VERSIONS

SMALL = (24, 128, 1024, 49_152)


@pytest.fixture(scope="module")
def panels():
    with run(study.make_study(400, budgets=SMALL), n_jobs=2, progress=False) as result:
        return make_panels(result)


def test_required_budgets_are_the_smallest(panels) -> None:
    for panel in panels:
        needs = find_needs(panel)
        for level in VERSIONS:
            at = needs.bounds[level]
            here, before = panel.problem.bound(level, panel.kind, np.array([at, at - 1]))
            assert here <= TARGET
            assert not before <= TARGET
            assert needs.factor(level) == at / needs.simulated
        assert needs.bounds["tighter"] < needs.bounds["corrected"] < needs.bounds["paper"]


def test_the_default_budgets_show_the_gain() -> None:
    """At three budgets per strategy ours is below 5 %, the paper's vacuous, and 10,000 trials can be below both."""
    limit = 1.0 - 0.005 ** (1 / 10_000)  # upper limit of the rate after 10,000 trials without a failure
    entry = study.make_study(1, budgets=(48,))
    with run(entry, n_jobs=1, progress=False) as result:
        for panel in make_panels(result):
            budgets = np.array(study.LARGE_BUDGETS)
            ours, printed = (panel.problem.bound(name, panel.kind, budgets) for name in ("tighter", "paper"))
            assert np.sum((ours < TARGET) & (ours > limit) & ~(printed < 1.0)) >= 3


def test_gained_needs_the_upper_limit_below_our_bound(panels) -> None:
    uniform = panels[0]
    last = uniform.cells[-1]
    ours = uniform.bound_at("tighter", last)
    assert last.upper < ours < TARGET
    assert find_gains(uniform) == [last]
    assert find_gains(replace(uniform, cells=(replace(last, upper=2 * ours),))) == []


def test_practice_is_none_when_nothing_is_below_the_target(panels) -> None:
    bad = replace(panels[0].cells[-1], upper=0.5)
    poor = replace(panels[0], cells=(*panels[0].cells[:-1], bad))
    assert needed_in_simulation(poor.cells, TARGET) is None
    assert math.isnan(find_needs(poor).factor("paper"))
    assert "no budget has an upper limit of at most 5%" in write_needs(find_needs(poor))
    assert needed_in_simulation(panels[0].cells, TARGET) == Fraction(1024)  # not yet at 128, with 400 trials


def test_verdicts_see_a_bound_that_is_too_small(panels) -> None:
    result = judge_panels(panels)
    assert len(result) == 2 * len(SMALL) * len(VERSIONS)
    assert not [entry for entry in result if entry[3].outcome == "refuted"]
    # A failure rate of one half where our bound promises less than 5 %.
    wrong = replace(panels[0], cells=(*panels[0].cells[:-1], replace(panels[0].cells[-1], failures=200)))
    refuted = [(level, cell.budget) for _, cell, level, entry in judge_panels([wrong]) if entry.outcome == "refuted"]
    assert refuted == [("tighter", "49152"), (list(VERSIONS)[-1], "49152")]
