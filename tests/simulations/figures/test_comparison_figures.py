"""Figures that compare strategies: ranks over pools, and the settings of a paper."""

from __future__ import annotations

import re
from pathlib import Path

import numpy as np
import pytest

from exml_sim.engine import Study, run
from exml_sim.engine.result import StudyResult
from simulations.figures import facets, failure_rate, profiles, regret, style
from simulations.panels import make_panels
from tests.cli.test_main import call

POOLS = [
    {"kind": "parametric", "direction": "minimise", "means": [0.2, 0.5, gap], "label": f"third {gap}"}
    for gap in (0.5, 0.7, 0.9)
]


@pytest.fixture(scope="module")
def store(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("figures") / "study.sqlite"
    study = Study(
        pools=POOLS,
        strategies=["uniform_allocation", "median_elimination", "ocba"],
        budgets={"per_arm": [4, 12, 60]},
        trials=200,
    )
    run(study, store=path, n_jobs=1, progress=False).close()
    return path


def test_ranks_are_counted_and_their_intervals_come_from_the_trials() -> None:
    rates = np.array([[0.1, 0.2, 0.2], [0.0, 0.3, 0.1]])
    summary = profiles._summarise_ranks(rates, np.full(rates.shape, 400))
    assert summary["ranks"].tolist() == [1.0, 2.75, 2.25]
    assert summary["ratios"][0].tolist() == pytest.approx([1.0, 80.5 / 40.5, 80.5 / 40.5])
    assert summary["lower"][0] == summary["upper"][0] == 1.0, "first on every redrawn table"
    assert summary["lower"][1] < 2.75 < summary["upper"][1]
    exact = profiles._summarise_ranks(rates, np.zeros(rates.shape, dtype=int))
    assert exact["lower"].tolist() == exact["upper"].tolist() == exact["ranks"].tolist()


def test_pictures_of_several_pools_share_axes_and_keep_their_labels(store: Path) -> None:
    with StudyResult.open(store) as result:
        panels = make_panels(result)
        (stem, picture, frame) = next(iter(regret.figures(result)))
    assert stem == "regret"
    assert len(frame) == 27
    picture.draw_without_rendering()
    shown = [ax for ax in picture.axes if ax.get_visible()]
    assert [bool(ax.get_xlabel()) for ax in shown] == [False, True, True]
    assert len({ax.get_ylim() for ax in shown}) == 1
    rates = facets.figure(panels, "x").axes[0]
    smallest = min(cell.failure_rate or cell.upper for panel in panels for cell in panel.cells)
    assert rates.get_ylim()[0] < smallest


@pytest.mark.parametrize("figure", ["failure_rate", "profiles"])
def test_a_paper_gets_its_format_width_font_labels_and_data(
    capsys: pytest.CaptureFixture[str], tmp_path: Path, store: Path, figure: str
) -> None:
    options = ["--format", "pdf", "--format", "svg", "--width", "3.3", "--font-size", "7", "--no-bounds"]
    options += ["--label", "ocba=OCBA", "--order", "OCBA,uniform_allocation", "--colour", "OCBA=#aa0011"]
    code, out, _ = call(capsys, "plot", str(store), "--figure", figure, "--out", str(tmp_path), *options)
    assert code == 0
    files = [Path(name) for name in out.split()]
    assert {file.suffix for file in files} == {".pdf", ".svg", ".csv"}
    drawn = next(file for file in files if file.suffix == ".svg").read_text(encoding="utf-8")
    assert re.search(r'width="237\.\d+pt"|width="237.6pt"', drawn), "3.3 inches are 237.6 points"
    assert "OCBA" in drawn
    assert "#aa0011" in drawn
    assert "median elimination" not in drawn
    data = next(file for file in files if file.suffix == ".csv").read_text(encoding="utf-8")
    assert "OCBA" in data
    assert ("bound_hoeffding" in data) == (figure == "failure_rate")


def test_style_files_and_bad_settings(capsys: pytest.CaptureFixture[str], tmp_path: Path, store: Path) -> None:
    style_file = tmp_path / "mine.mplstyle"
    style_file.write_text("axes.facecolor: ffeedd\n", encoding="utf-8")
    with style.customise(style_file=style_file), style.context():
        assert style.blank().subplots().get_facecolor()[:3] == pytest.approx((1.0, 0xEE / 255, 0xDD / 255))
    for options, message in (
        (["--width", "0.1"], "a width must be 1 to 40 inches"),
        (["--label", "ocba"], "NAME=VALUE"),
        (["--label", "ucb=UCB"], "there is no strategy 'ucb'"),
        (["--figure", "nothing"], "figure must be one of"),
    ):
        code, _, error = call(capsys, "plot", str(store), *options)
        assert code == 2
        assert message in error
        assert error.count("\n") == 1


@pytest.mark.parametrize("figure", ["failure_rate", "regret", "profiles"])
@pytest.mark.parametrize("width", [2.0, 3.3, 12.0])
def test_nothing_is_cut_or_crushed_at_any_width(store: Path, figure: str, width: float) -> None:
    """Every text lies inside the picture, and every axes keeps some size."""
    module = {"failure_rate": failure_rate, "regret": regret, "profiles": profiles}[figure]
    with StudyResult.open(store) as result, style.customise(width=width), style.context():
        picture = next(iter(module.figures(result)))[1]
        picture.draw_without_rendering()
    assert picture.get_figwidth() == width
    legend = [text for legend in picture.legends for text in legend.get_texts()]
    texts = [*legend, *picture.texts, *(ax.title for ax in picture.axes)]
    for text in filter(lambda text: text.get_text(), texts):
        box = text.get_window_extent()
        assert -1 <= box.x0 < box.x1 <= picture.bbox.x1 + 1, text.get_text()
        assert -1 <= box.y0 < box.y1 <= picture.bbox.y1 + 1, text.get_text()
    assert all(min(ax.get_window_extent().size) > 0.6 * picture.dpi for ax in picture.axes if ax.get_visible())
