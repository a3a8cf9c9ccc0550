"""Comparison of strategies in Python: numbers, tables, exports, figure."""

from __future__ import annotations

import math
import re
from dataclasses import replace

import matplotlib as mpl
import numpy as np
import pytest
from click.testing import CliRunner
from scipy import stats

import exml_sim
from exml_sim.bandit.parametric import RandomInstancePool, RandomMeanArm
from exml_sim.cli import cli
from exml_sim.engine import run
from exml_sim.engine.bound_context import search_budget
from exml_sim.strategies import MedianElimination
from simulations.compare import Comparison, compare, plot
from simulations.figures import facets, failure_rate, style
from tests.engine.studies import known
from theory import BoundProblem

mpl.use("Agg")

NAMES = ["uniform_allocation", "median_elimination", "successive_rejects", "ocba"]
POOL = exml_sim.ParametricPool.bernoulli([0.2, 0.5, 0.6, 0.7], direction="minimise")


@pytest.fixture(scope="module")
def comparison() -> Comparison:
    return POOL.compare(NAMES, [40, 80, 400, 2000], 300, progress=False)


def test_rates_are_those_of_explore_many_with_exact_intervals(comparison: Comparison) -> None:
    frame = comparison.to_frame()
    assert list(dict.fromkeys(frame["strategy"])) == [*(name.replace("_", " ") for name in NAMES[:3]), "OCBA"]
    assert len(frame) == len(NAMES) * 4
    for row in frame.itertuples():
        name = row.strategy.replace(" ", "_").lower()
        failures = POOL.explore_many(name, row.budget, 300).failures(POOL.best_arms()).sum()
        assert row.failures == failures
        interval = stats.binomtest(int(failures), 300).proportion_ci(0.99, "exact")
        assert (row.lower, row.upper) == pytest.approx((interval.low, interval.high))
        assert row.regret_lower <= row.mean_regret <= row.regret_upper


def test_bounds_stand_beside_the_rates_of_their_strategy_only(comparison: Comparison) -> None:
    frame = comparison.to_frame().set_index(["strategy", "budget"])
    n, gaps = 400 // 4, np.array([0.3, 0.4, 0.5])
    assert frame["bound_hoeffding"]["uniform allocation", 400] == pytest.approx(np.exp(-n * gaps**2).sum())
    assert frame["bound_hoeffding"].drop("uniform allocation", level=0).isna().all()
    assert frame.loc["OCBA"].filter(like="bound_").isna().all(axis=None)


def test_tables_for_notebooks_and_papers(comparison: Comparison) -> None:
    html, latex = comparison._repr_html_(), comparison.to_latex()
    assert html.count("<tr") == 4 + 2
    assert "\\toprule" in latex
    assert re.search(r"^2,000 & ", latex, re.M)
    assert "99%" in repr(comparison)


def test_labels_are_text_in_html_and_latex() -> None:
    comparison = POOL.compare({"<b>A_1 & B%</b>": "ocba"}, [40], 20, progress=False)
    assert "<b>" not in comparison._repr_html_()
    assert r"A\_1 \& B\%" in comparison.to_latex()


def test_one_axes_with_all_strategies_and_no_line_to_an_upper_limit(comparison: Comparison) -> None:
    ax = comparison.plot()
    lines = {line.get_label(): line for line in ax.lines}
    for panel in comparison.panels:
        budgets = [budget for budget, cell in zip(panel.budgets, panel.cells, strict=True) if cell.failures]
        assert lines[panel.title].get_xdata().tolist() == budgets
        assert np.all(np.diff(lines[panel.title].get_ydata()) <= 0), "curves of this pool fall"
    limits = [line for line in ax.lines if line.get_marker() == "v" and line.get_label().startswith("_")]
    unseen = sum(cell.failures == 0 for panel in comparison.panels for cell in panel.cells)
    assert unseen
    assert sum(len(line.get_xdata()) for line in limits) == unseen
    assert all(line.get_linestyle() == "None" for line in limits)
    curve = lines["_uniform allocation: Hoeffding and union bound"]
    assert curve.get_color() == lines["uniform allocation"].get_color()
    assert np.all(curve.get_ydata() < 1)


def test_labels_order_colours_and_bounds_are_the_users(comparison: Comparison) -> None:
    ax = style.blank().subplots()
    labels, colours = {"ocba": "CBA", "uniform allocation": "UA"}, {"UA": "#123456"}
    options = {"labels": labels, "order": ["CBA", "uniform_allocation"], "colours": colours, "bounds": False}
    assert comparison.plot(ax, **options) is ax
    assert ax.get_legend_handles_labels()[1] == ["CBA", "UA", "no failure seen: upper limit"]
    assert next(line for line in ax.lines if line.get_label() == "UA").get_color() == "#123456"
    ax = comparison.plot(style.blank().subplots(), quantity="regret")
    assert "regret" in ax.get_ylabel()
    with pytest.raises(ValueError, match="no strategy 'ucb'"):
        comparison.plot(ax, order=["ucb"])
    with pytest.raises(ValueError, match="quantity must be one of"):
        comparison.plot(ax, quantity="speed")


def test_a_study_is_drawn_by_the_same_function() -> None:
    with run(known(trials=30), n_jobs=1, progress=False) as result:
        ax = plot(result, style.blank().subplots(), bounds=["hoeffding"])
        frame = Comparison.from_study(result).to_frame()
    texts = ax.get_legend_handles_labels()[1]
    assert [text for text in texts if "bound" in text] == ["Hoeffding and union bound (vacuous here)"]
    assert {"bound_hoeffding", "bound_accumulated_sum"} < set(frame)


def test_every_bound_has_a_dash_and_a_narrow_legend_names_visible_curves() -> None:
    """Two lower bounds and all upper bounds differ by their dashes; the narrow legend has no vacuous bound."""
    names = ["uniform_allocation", "successive_rejects"]
    result = compare(exml_sim.ParametricPool.bernoulli([0.5, 0.6, 0.5]), names, [60, 270], 50, n_jobs=1, progress=False)
    ax = facets.draw(style.blank().subplots(), result.panels)
    shown = {text: line for line, text in zip(*ax.get_legend_handles_labels(), strict=True) if "bound" in text}
    assert {"lower bound, any strategy", "lower bound, equal pulls"} < set(shown)
    bounds = [line for line in ax.lines if "bound" in line.get_label() or "et al." in line.get_label()]
    dashes = {line.get_label().split(": ")[-1]: str(line.get_linestyle()) for line in bounds}
    patterns = {str(line._unscaled_dash_pattern) for line in bounds}
    assert len(patterns) >= len({label.removesuffix(style.VACUOUS) for label in dashes}) >= 4
    wide = _list_legend(facets.figure(result.panels))
    with style.customise(width=3.3):
        narrow = _list_legend(facets.figure(result.panels))
    assert "lower bound, any strategy" not in wide, "below the axes"
    assert [text for text in wide if text not in narrow] == ["Audibert et al. (2010) (vacuous here)"]
    assert "lower_bound_exchange" in result.to_frame()


@pytest.mark.parametrize("width", [3.3, 6.0])
def test_the_legend_leaves_out_curves_below_the_axes(width) -> None:
    for depth, expected in ((1e-9, ["seen"]), (0.5, ["seen", "deep"])):
        with style.customise(width=width), style.context():
            picture, (ax,) = style.make_axes(1, facets.SIZE)
            ax.plot([1, 2], [1.0, 0.1], label="seen")
            ax.plot([1, 2], [depth, depth / 2], label="deep")
            ax.set(yscale="log", ylim=(0.01, 1))
            style.finish(picture)
        assert _list_legend(picture) == expected


def _list_legend(picture) -> list[str]:
    return [" ".join(text.get_text().split()) for legend in picture.legends for text in legend.get_texts()]


def test_arms_that_are_drawn_anew_have_rates_and_no_bounds() -> None:
    pool = RandomInstancePool([RandomMeanArm(0.0, 1.0) for _ in range(3)])
    frame = compare(pool, ["uniform_allocation"], [30], 50, progress=False).to_frame()
    assert 0 <= frame["failure_rate"][0] <= 1
    assert not list(frame.filter(like="bound_"))


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (([], [40]), "at least one budget and one strategy"),
        ((["ocba"], []), "at least one budget and one strategy"),
        (("ocba", [40]), "must be a list or a mapping"),
        ((["no such"], [40]), "unknown strategy 'no such'"),
        (([MedianElimination(), "median_elimination"], [40]), "label of its own"),
        ((["ocba"], [40], 0), "trials"),
    ],
)
def test_bad_input(arguments: tuple, message: str) -> None:
    with pytest.raises(ValueError, match=message):
        POOL.compare(*arguments, progress=False)


def test_a_bound_that_rises_again_is_not_trusted_too_early() -> None:
    """Planted: below 0.01 from 1,000 on, above it again from 3,000,000 to 5,000,000."""

    def rise(budget: float) -> float:
        return 0.001 if 1000 <= budget < 3_000_000 or budget > 5_000_000 else 0.5

    assert search_budget(rise, 0.01) == 5_000_001
    assert search_budget(lambda budget: 2.0 / budget, 0.01) == 200
    assert search_budget(lambda budget: 0.5, 0.01) is None
    assert search_budget(lambda budget: math.nan if budget < 7 else 0.0, 0.01) == 7


def test_budgets_below_one_pull_per_arm_are_run_where_a_strategy_can_use_them(tmp_path) -> None:
    """A comparison and a study skip the same cells and say so; a budget that is too small for all is refused."""
    pool = exml_sim.ParametricPool.bernoulli([0.7, *7 * [0.5]])
    names = ["sequential_halving", "random_subset"]
    comparison = pool.compare(names, [8, 64], 200, progress=False)
    assert comparison.skipped == ("sequential halving at budget 8",)
    assert "Skipped, because the first round costs more: sequential halving at budget 8" in repr(comparison)
    assert [panel.budgets for panel in comparison.panels] == [[64.0], [8.0, 64.0]]
    assert list(comparison.to_frame()["cell"]) == [0, 1, 2]
    table = {"kind": "parametric", "label": "eight", "means": [0.7, *7 * [0.5]]}
    settings = {"pools": [table], "trials": 200, "strategies": names}
    study = exml_sim.Study.from_table({**settings, "budgets": {"absolute": [8, 64]}})
    path = tmp_path / "study.toml"
    path.write_text(study.to_toml(), encoding="utf-8")
    done = CliRunner().invoke(cli, ["study", str(path), "--out", str(tmp_path), "--quiet"])
    assert done.exit_code == 0, done.output
    assert "Skipped: sequential_halving on eight with budget 8, which does not pay" in done.output
    with exml_sim.StudyResult.open(tmp_path / "study.sqlite") as result:
        assert result.complete
        assert [cell.cell for cell in result.summary()] == [1, 2, 3]
        assert result.skipped == ["sequential_halving on eight with budget 8"]
        assert Comparison.from_study(result).skipped == tuple(result.skipped)
        assert result.compare(2, 3).trials == 200
        with pytest.raises(ValueError, match="cell 0 does not exist or was skipped"):
            result.compare(0, 1)
    assert "skipped, because the budget does not pay for the first round: sequential_halving on eight" in (
        tmp_path / "report.html"
    ).read_text(encoding="utf-8")
    small = {"absolute": ["0.5", 64]}
    with pytest.raises(ValueError, match=r"cell 0 .*and 1 more cells.*nothing was run"):
        exml_sim.Study.from_table({**settings, "budgets": small}).check()
    with pytest.raises(ValueError, match="does not pay for one pull of each of 8 arms"):
        pool.compare(names, ["0.5", 64], 5, progress=False)
    table["costs"] = [2, *7 * [1]]
    other = {**settings, "strategies": ["uniform_allocation", "oracle_allocation"], "budgets": {"absolute": [64]}}
    with pytest.raises(ValueError, match="oracle_allocation needs equal costs"):
        exml_sim.Study.from_table(other).check()


def test_small_gaps_keep_their_digits() -> None:
    comparison = POOL.compare(["uniform_allocation"], [40], 5, progress=False)
    assert repr(comparison).startswith("<Comparison: 1 curve>")
    panel = comparison.panels[0]
    problem = BoundProblem(4, 0.000554, 0.1, 0.5)
    assert "= 0.000554)" in failure_rate.heading([replace(panel, problem=problem)], "x")
