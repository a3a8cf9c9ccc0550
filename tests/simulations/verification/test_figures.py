"""The pictures of a verification: they draw where they are told to, and say what is in them."""

from __future__ import annotations

import dataclasses
import math
from fractions import Fraction

import numpy as np
import pytest

from simulations._cache import Cache
from simulations.figures import style
from simulations.verification import _budget_slack as budget_slack
from simulations.verification import _excess_risk as excess_risk
from simulations.verification import _figures as figures
from simulations.verification._budget_slack import RequiredBudget
from simulations.verification._claim_trials import RunContext
from simulations.verification._guarantees import READINGS, failure_probability
from simulations.verification.run import select_claims, verify
from tests.simulations.verification.test_run import SMALL
from theory.claims._instances import failure_uniform


@pytest.fixture
def ax():
    return style.blank().subplots()


@pytest.fixture(scope="module")
def found():
    return verify(select_claims(("a4-term-c", "a4-lemma-4", "a4-step-1")), SMALL, n_jobs=1)


def test_claims_are_drawn_on_the_axes_given(ax, found):
    assert figures.draw_claims(ax, found.results) is ax
    assert [label.get_text() for label in ax.get_yticklabels()] == [one.claim.id for one in found.results]
    markers = {line.get_marker() for line in ax.get_lines()}
    assert {"s", "o", ">"} <= markers


def test_cells_without_failures_are_triangles_at_a_lower_limit(ax, found):
    row = [one.claim.id for one in found.results].index("a4-term-c")
    figures.draw_claims(ax, found.results)
    drawn = sum(line.get_marker() == ">" and round(line.get_ydata()[0]) == row for line in ax.get_lines())
    silent = [one for one in found.results[row].evidence if one.verdict.failures == 0]
    assert drawn == len(silent) > 0


def test_one_figure_per_family(found, tmp_path):
    (only,) = figures.draw_families(found)
    assert only[0] == "claims-appendix-a4"
    assert {file.suffix for file in style.save(only[1], tmp_path / only[0])} == {".png", ".svg"}


def measured(rows, terms):
    return excess_risk.RandomInstanceTrials(
        "uniform", 4 * rows, rows, 300, True, np.tile(terms, (5, 1)), np.full(5, 0.07)
    )


def test_terms_are_stacked_from_zero(ax):
    one = measured(60_000, [0.06, -0.4, 0.01, -0.01, -0.02, 0.48])
    assert figures.draw_excess(ax, [one]) is ax
    solid = [bar for bar in ax.patches if not bar.get_hatch()]
    hatched = [bar for bar in ax.patches if bar.get_hatch()]
    assert sum(bar.get_height() for bar in solid) == pytest.approx(0.06)
    assert sum(bar.get_height() for bar in hatched) == pytest.approx(sum(figures.bound_terms(one).values()))
    assert min(bar.get_y() + min(bar.get_height(), 0) for bar in solid) == pytest.approx(-0.43)


def test_below_the_launch_budget_the_regret_has_no_bound(ax):
    one = measured(100, [0.06, -0.4, 0.0, 0.0, -0.02, 0.48])
    assert math.isnan(figures.bound_terms(one)["b"])
    figures.draw_excess(ax, [one, measured(60_000, [0.06, -0.4, 0.01, -0.01, -0.02, 0.48])])
    (words,) = [text for text in ax.texts if "below launch" in text.get_text()]
    # The open part is higher than every bar with an end, and the words are inside of the panel.
    ends = [bar.get_y() + bar.get_height() for bar in ax.patches if hasattr(bar, "get_height") and bar.get_hatch()]
    opened = [bar.get_y() + bar.get_height() for bar in ax.patches if hasattr(bar, "get_height")]
    assert max(opened) > 1.1 * max(ends)
    assert words.get_position()[1] < 0.9 * ax.get_ylim()[1]


def test_the_interval_is_students_and_is_written_out(ax):
    one = dataclasses.replace(measured(60_000, [0.06, 0, 0, 0, 0, 0.06]), terms=np.tile(np.arange(4.0)[:, None], 6))
    mean, spread = figures.compute_interval(one)
    # Four trials 0, 1, 2, 3: t(0.995, 3) = 5.841, standard deviation 1.291.
    assert (mean, spread) == pytest.approx((1.5, 5.841 * 1.291 / 2), rel=1e-3)
    figures.draw_excess(ax, [one])
    assert ax.get_xticklabels()[0].get_text().endswith("n = 4\n1.500 ± 4")
    figures.draw_excess(ax, [measured(60_000, [0.06, -0.4, 0.01, -0.01, -0.02, 0.48])])
    assert ax.get_xticklabels()[0].get_text().endswith("n = 5\nall 0.060")


def test_one_cell_is_not_many(ax):
    found = verify(select_claims(("lemma-3",)), dataclasses.replace(SMALL, most=20), n_jobs=1)
    (one,) = found.results
    for number, words in ((1, "1 cell not decided"), (2, "2 cells not decided")):
        figures.draw_claims(ax, [dataclasses.replace(one, evidence=one.evidence[:number])])
        assert words in [text.get_text() for text in ax.texts]
    assert not [line for line in ax.get_lines() if line.get_marker() == ">"]


def test_bounds_of_the_terms_add_up_to_the_corrected_theorem():
    one = measured(60_000, [0.06, -0.4, 0.01, -0.01, -0.02, 0.48])
    limit, _ = excess_risk.compute_guarantee("corrected", one, figures.DELTA)
    assert sum(figures.bound_terms(one).values()) == pytest.approx(limit)


NEEDS = [
    RequiredBudget(
        "K", K, 0.1, 0.2, strategy, practice, dict(zip(READINGS, (6000 * K, 2000 * K, 500 * K), strict=True))
    )
    for K, practice in ((2, 50), (4, None))
    for strategy in ("uniform", "median-accumulated")
]


def test_budget_slack_is_drawn_where_practice_is_known(ax):
    assert figures.draw_needs(ax, NEEDS, "K") is ax
    ratios = ax.get_lines()[0].get_ydata()
    assert ratios[0] == pytest.approx(12000 / 50)
    assert math.isnan(ratios[1])
    assert figures.draw_budget_figure(NEEDS, 40).axes


def test_needs_by_bounds_are_the_smallest_budgets():
    place = budget_slack.shifted_pool(4, Fraction(1, 10), 12)
    assert place.gaps == pytest.approx((0.216,) * 3)
    found = budget_slack.required_by_bounds(place, "uniform")
    assert tuple(found) == READINGS
    for reading in READINGS:
        budget = found[reading]
        assert failure_probability(reading, place, "uniform", budget) <= budget_slack.TARGET
        assert not failure_probability(reading, place, "uniform", budget - 1) <= budget_slack.TARGET


def test_practice_is_below_every_bound():
    with Cache() as cache:
        found = budget_slack.measure(150, RunContext(0, 1, cache), (("K", 2, Fraction(1, 10), 18),))
    assert [one.strategy for one in found] == list(budget_slack.WANTED)
    for one in found:
        assert one.practice is not None
        assert one.practice < one.bounds["tighter"] < one.bounds["corrected"] < one.bounds["paper"]


def test_slack_decomposition_goes_from_the_bound_to_the_truth(ax):
    with Cache() as cache:
        one = budget_slack.measure_slack("uniform", RunContext(0, 1, cache), trials=300)
    assert figures.draw_decomposition(ax, one) is ax
    total = sum(factor.log for factor in one.slack.factors)
    assert one.slack.log_bound - total == pytest.approx(one.slack.log_truth)
    ends = [bar.get_x() + bar.get_width() for bar in ax.patches]
    assert ends[-1] == pytest.approx(one.slack.log_truth / math.log(10))
    assert figures.draw_slack_figure([one]).axes


def test_the_truth_of_the_slack_decomposition_agrees_with_enumeration():
    """Importance sampling on the same pool where the outcomes can be enumerated, within its own interval."""
    with Cache() as cache:
        context = RunContext(0, 1, cache)
        study = budget_slack.rival_pool().study(
            "slack-decomposition-uniform", ["uniform"], [120], 4000, 0, "importance_sampling"
        )
        with context.run(study) as result:
            (found,) = result.summary(level=1 - 1e-6)
    with context.run(dataclasses.replace(study, mode="exact")) as law:
        truth = law.summary()[0].failure_rate
    assert found.lower <= truth <= found.upper
    assert 0 < truth < failure_uniform("one-rival-8", 240)
