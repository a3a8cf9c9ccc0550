"""The picture of failure rate against budget."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from exml_sim.engine import run
from simulations import budget_vs_failure
from simulations.figures import failure_rate, style
from simulations.panels import make_panels, name_bound
from tests.engine.studies import known
from theory.versions import VERSIONS


@pytest.fixture(scope="module")
def panels():
    study = budget_vs_failure.make_study(100, budgets=(24, 128, 2048))
    with run(study, n_jobs=2, progress=False) as result:
        return make_panels(result)


def lines(ax, word: str):
    return [line for line in ax.lines if word in str(line.get_label())]


def test_axes_in_axes_out_with_all_curves(panels) -> None:
    ax = style.blank().subplots()
    assert failure_rate.draw(ax, panels[0]) is ax
    assert ax.get_xscale() == ax.get_yscale() == "log"
    for level in ("tighter", "corrected", "paper"):
        (curve,) = lines(ax, name_bound(level))
        budgets, values = curve.get_data()
        # It begins exactly where the bound begins to say something.
        assert budgets[0] == panels[0].problem.informative(level, "uniform")
        assert np.all(values < 1.0)
        assert np.allclose(values, panels[0].problem.bound(level, "uniform", budgets))


def test_no_failure_is_an_upper_limit(panels) -> None:
    ax = style.blank().subplots()
    failure_rate.draw(ax, panels[0])
    (limits,) = lines(ax, "upper limit")
    unseen = [cell for cell in panels[0].cells if cell.failures == 0]
    assert unseen
    assert limits.get_ydata().tolist() == [cell.upper for cell in unseen]
    (seen,) = [line for line in ax.lines if line.get_marker() == "o"]
    assert seen.get_ydata().tolist() == [cell.failure_rate for cell in panels[0].cells if cell.failures]


def test_a_panel_without_bounds(tmp_path) -> None:
    with run(known(trials=30, strategies=["ocba", "top_two"]), n_jobs=1, progress=False) as result:
        panels = make_panels(result)
    picture = failure_rate.figure(panels, failure_rate.heading(panels, "known arms"))
    assert len(picture.axes) == 2
    assert not [line for ax in picture.axes for line in lines(ax, "bound")]
    assert [file.suffix for file in style.save(picture, tmp_path / "known")] == [".png", ".svg"]


def test_labels_lie_on_no_curve_and_launch_marks_apart(panels) -> None:
    picture = failure_rate.figure(panels, "x")
    picture.draw_without_rendering()
    for ax in picture.axes:
        names = {name_bound(name) for name in VERSIONS}
        drawn = [line for line in ax.lines if line.get_label() in names and len(line.get_xdata())]
        curves = [ax.transData.transform(np.column_stack(line.get_data())) for line in drawn]
        assert len(curves) == 4
        labels = [text for text in ax.texts if "vacuous below" in text.get_text()]
        assert len(labels) == 4
        for label in labels:
            box = label.get_window_extent()
            assert not any(box.contains(*place) for curve in curves for place in dense(curve))
        marks = [line.get_window_extent() for line in ax.lines if line.get_marker() == "|" and len(line.get_xdata())]
        heights = [line.get_ydata()[0] for line in ax.lines if line.get_marker() == "|" and len(line.get_xdata())]
        # The pool's bound has no condition: it speaks from the first row on.
        assert len(marks) == 3
        # The corrected and the paper's launch budgets are the same here.
        assert marks[1].x0 == pytest.approx(marks[2].x0, abs=1.0)
        size = 8 * picture.dpi / 72 / ax.get_window_extent().height
        assert abs(heights[1] - heights[2]) >= size


def dense(curve):
    """Points of a curve less than a pixel apart."""
    steps = np.arange(len(curve))
    fine = np.linspace(0, len(curve) - 1, 4000)
    return np.column_stack([np.interp(fine, steps, curve[:, i]) for i in (0, 1)])


@pytest.mark.parametrize(
    ("low", "high", "wanted"),
    [
        (30, 120, ["50", "100"]),
        (30, 300, ["50", "100", "200"]),
        (7, 1200, None),
        (1000, 9000, ["1,000", "2,000", "5,000"]),
        (0.5, 3, ["0.5", "1", "2"]),
        (100, 110, ["100", "102", "104", "106", "108", "110"]),
    ],
)
def test_budgets_are_plain_numbers(low, high, wanted) -> None:
    ax = style.blank().subplots()
    ax.set(xscale="log", xlim=(low, high))
    style.plain_ticks(ax.xaxis, low, high)
    ax.figure.draw_without_rendering()
    shown = [label.get_text() for kind in ("major", "minor") for label in ax.get_xticklabels(which=kind)]
    if wanted is None:
        assert [text for text in shown if "10^{2}" in text]
    elif (low, high) == (30, 120):
        assert len(shown) >= 3
        assert all(text.isdigit() for text in shown)
    else:
        assert shown == wanted


def test_the_same_picture_gives_the_same_file(panels, tmp_path) -> None:
    files = []
    for name in ("first", "second"):
        picture = failure_rate.figure(panels, failure_rate.heading(panels, "x"))
        files.append([file.read_bytes() for file in style.save(picture, tmp_path / name)])
    assert files[0] == files[1]
    assert "smallest gap" in failure_rate.heading(panels, "x")


def test_nothing_to_draw() -> None:
    with pytest.raises(ValueError, match="no results yet"):
        failure_rate.figure([], "x")


def test_several_pools_are_named(panels) -> None:
    other = replace(panels[0], pool="another pool")
    titles = [ax.get_title() for ax in failure_rate.figure([panels[0], other], "x").axes]
    assert "another pool" in titles[1]
