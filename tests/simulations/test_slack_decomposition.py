"""The slack decomposition."""

from __future__ import annotations

from dataclasses import replace
from itertools import pairwise

import pytest

from exml_sim.engine import run
from simulations import budget_vs_failure
from simulations.figures import failure_rate, style
from simulations.panels import SLACK_CAUSES, affine_model, decompose_slack, make_panels, needed_in_simulation
from simulations.report._findings import write_slack
from theory.population import chernoff


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


def test_with_prices_nothing_is_drawn_from_rows_per_arm(result) -> None:
    uniform = make_panels(result)[0]
    assert affine_model(uniform) is not None
    priced = replace(uniform, problem=replace(uniform.problem, costs=(5,) * uniform.problem.K))
    assert affine_model(priced) is None
    assert decompose_slack(priced) == ()
