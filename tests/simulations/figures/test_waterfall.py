"""The picture of where the distance between bounds and practice goes."""

from __future__ import annotations

import math
from dataclasses import replace
from itertools import pairwise

import pytest
from scipy.stats import binom

from exml_sim.engine import run
from simulations import budget_vs_failure
from simulations.figures import failure_rate, style, waterfall
from simulations.panels import ALARM, account, account_sentence, known_data, panels_of, power
from tests.engine.studies import known
from theory.population import chernoff


@pytest.fixture(scope="module")
def result():
    study = budget_vs_failure.make_study(400, budgets=(128, 192, 256))
    with run(study, n_jobs=1, progress=False) as found:
        yield found


def test_the_steps_lead_from_the_gaps_to_practice(result) -> None:
    uniform, median = panels_of(result)
    steps = account(uniform)
    assert [step.name for step in steps[1:-1]] == ["optimism", "union over arms", "worst-case distribution"]
    assert steps[0].budget == uniform.point.required("tighter", "uniform", 0.05)
    assert steps[-1].budget == uniform.practice(0.05)
    assert all(one.budget > other.budget for one, other in pairwise(steps[:-1]))
    # At the budget of the rate found the exponential is at the target.
    assert chernoff(uniform.point.data, steps[-2].budget) == pytest.approx(0.05)
    assert account(median) == ()
    assert account_sentence(median) == ""
    assert "worst law" in account_sentence(uniform)


def test_the_bars_span_the_whole_distance(result) -> None:
    ((stem, picture),) = waterfall.figures(result)
    assert stem == "waterfall"
    (ax,) = picture.axes
    steps = account(panels_of(result)[0])
    product = math.prod(
        float(text.get_text().rstrip("×").replace(",", "")) for text in ax.texts if "×" in text.get_text()
    )
    assert product == pytest.approx(steps[0].budget / steps[-1].budget, rel=0.1)
    assert len(ax.patches) == len(steps) - 1


def test_the_main_picture_shows_the_rate_found(result) -> None:
    uniform, median = panels_of(result)
    for panel, count in ((uniform, 1), (median, 0)):
        ax = style.blank().subplots()
        failure_rate.draw(ax, panel)
        curves = [line for line in ax.lines if "large-deviation" in str(line.get_label())]
        assert len(curves) == count


def test_a_study_without_such_a_pool_is_refused() -> None:
    with run(known(trials=30), n_jobs=1, progress=False) as found, pytest.raises(ValueError, match="nothing to draw"):
        list(waterfall.figures(found))


def test_the_power_is_where_the_test_would_refute(result) -> None:
    panels = panels_of(result)
    seen = [(panel, cell) for panel in panels for cell in panel.cells if cell.failures > 0]
    found = power(panels)
    assert "population" in {one.version for one in found}
    for one in found:
        ((panel, cell),) = [(p, c) for p, c in seen if (p.title, float(c.budget)) == (one.title, float(one.budget))]
        divided = panel.bound_at(one.version, cell) / one.factor
        level = ALARM / sum(len(panel.versions) for panel, _ in seen)
        assert binom.sf(cell.failures - 1, cell.trials, divided) == pytest.approx(level, rel=1e-6)


def test_with_prices_nothing_is_drawn_from_rows_per_arm(result) -> None:
    uniform = panels_of(result)[0]
    assert known_data(uniform) is not None
    priced = replace(uniform, point=replace(uniform.point, costs=(5,) * uniform.point.K))
    assert known_data(priced) is None
    assert account(priced) == ()
