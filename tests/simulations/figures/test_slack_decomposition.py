"""The slack decomposition, and the power of the tests of bounds."""

from __future__ import annotations

from dataclasses import replace
from itertools import pairwise

import pytest
from scipy.stats import binom

from exml_sim.engine import run
from simulations import budget_vs_failure
from simulations.figures import failure_rate, style
from simulations.panels import ALPHA, SLACK_CAUSES, affine_model, decompose_slack, make_panels, needed_in_simulation
from simulations.report._findings import find_power, write_slack
from theory.population import chernoff
from theory.versions import VERSIONS


@pytest.fixture(scope="module")
def result():
    study = budget_vs_failure.make_study(400, budgets=(128, 192, 256))
    with run(study, n_jobs=1, progress=False) as outcome:
        yield outcome


def test_the_steps_lead_from_the_gaps_to_practice(result) -> None:
    uniform, median = make_panels(result)
    steps = decompose_slack(uniform)
    assert len(steps) == len(SLACK_CAUSES) + 1
    assert steps[0].budget == uniform.problem.required("tighter", "uniform", 0.05)
    assert steps[-1].budget == needed_in_simulation(uniform.cells, 0.05)
    assert all(entry.budget > other.budget for entry, other in pairwise(steps[:-1]))
    # At the budget of the rate found the exponential is at the target.
    assert chernoff(uniform.problem.data, steps[-2].budget) == pytest.approx(0.05)
    assert decompose_slack(median) == ()
    assert write_slack(median) == ""
    assert all(cause in write_slack(uniform) for cause in SLACK_CAUSES)


def test_the_main_picture_shows_the_rate_found(result) -> None:
    uniform, median = make_panels(result)
    for panel, count in ((uniform, 1), (median, 0)):
        ax = style.blank().subplots()
        failure_rate._draw_limit(ax, panel, 128, 256, 1e-4)
        curves = [line for line in ax.lines if "large-deviation" in str(line.get_label())]
        assert len(curves) == count


def test_the_power_is_where_the_test_would_refute(result) -> None:
    panels = make_panels(result)
    seen = [(panel, cell) for panel in panels for cell in panel.cells if cell.failures > 0]
    power = find_power(panels)
    assert list(VERSIONS)[-1] in {entry.version for entry in power}
    for entry in power:
        ((panel, cell),) = [(p, c) for p, c in seen if (p.title, float(c.budget)) == (entry.title, float(entry.budget))]
        divided = panel.bound_at(entry.version, cell) / entry.factor
        level = ALPHA / sum(len(panel.versions) for panel, _ in seen)
        assert binom.sf(cell.failures - 1, cell.trials, divided) == pytest.approx(level, rel=1e-6)


def test_with_prices_nothing_is_drawn_from_rows_per_arm(result) -> None:
    uniform = make_panels(result)[0]
    assert affine_model(uniform) is not None
    priced = replace(uniform, problem=replace(uniform.problem, costs=(5,) * uniform.problem.K))
    assert affine_model(priced) is None
    assert decompose_slack(priced) == ()
