"""The picture of failure rate against budget."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from matplotlib.figure import Figure

from exml_sim.engine import run
from simulations import budget_vs_failure
from simulations.figures import failure_rate, style
from simulations.panels import make_panels, name_bound
from tests.engine.studies import known


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


@pytest.mark.parametrize(
    ("low", "high", "wanted"),
    [
        (30, 300, ["50", "100", "200"]),
        (1000, 9000, ["1,000", "2,000", "5,000"]),
        (100, 110, ["100", "102", "104", "106", "108", "110"]),
    ],
)
def test_budgets_are_plain_numbers(low, high, wanted) -> None:
    ax = style.blank().subplots()
    ax.set(xscale="log", xlim=(low, high))
    style.plain_ticks(ax.xaxis, low, high)
    ax.figure.draw_without_rendering()
    shown = [label.get_text() for kind in ("major", "minor") for label in ax.get_xticklabels(which=kind)]
    assert shown == wanted


@pytest.mark.parametrize("draw", [failure_rate.figure, failure_rate.choose_figure])
def test_nothing_to_draw(draw) -> None:
    with pytest.raises(ValueError, match="no results yet"):
        draw([], "x")


def test_several_pools_are_named(panels) -> None:
    other = replace(panels[0], pool="another pool")
    titles = [ax.get_title() for ax in failure_rate.figure([panels[0], other], "x").axes]
    assert "another pool" in titles[1]


def nudged(picture: Figure) -> Figure:
    """The same picture in a process whose layout comes out differently in the last bit."""
    engine = picture.get_layout_engine()
    assert engine is not None
    place = engine.execute

    def execute(fig: Figure) -> None:
        place(fig)
        for axes in fig.axes:
            axes.set_position([np.nextafter(length, 1.0) for length in axes.get_position().bounds])

    engine.execute = execute  # type: ignore[method-assign]
    return picture


def draw() -> Figure:
    """Draw a picture with a layout to solve."""
    with style.context():
        picture = style.blank(6, 3)
        for axes in picture.subplots(1, 3, width_ratios=(4, 3, 2)):
            axes.plot([1, 2], [3, 5], "o-", label="a")
            axes.set_title("a title")
        picture.legend(*axes.get_legend_handles_labels(), loc="outside lower center")
    return picture


def test_the_same_picture_gives_the_same_bytes_whatever_the_last_bit_of_its_layout(tmp_path: Path) -> None:
    first = style.save(draw(), tmp_path / "first")
    second = style.save(nudged(draw()), tmp_path / "second")
    assert [file.read_bytes() for file in first] == [file.read_bytes() for file in second]
