"""The page that compares several studies, and certified budgets, without a browser."""

from __future__ import annotations

import re
from contextlib import ExitStack

import pytest

from exml_sim.engine import StudyResult, run
from simulations.certificates import Attempt, Certificate
from simulations.panels import make_panels
from simulations.report import _page
from simulations.report._comparison import make_comparison, render_comparison
from simulations.report._render import render
from tests.engine.studies import known


@pytest.fixture(scope="module")
def results(tmp_path_factory):
    """Two studies with pools of the same name."""
    opened = [
        run(known(name=name, trials=200, seed=seed, strategies=strategies), n_jobs=1, progress=False)
        for name, seed, strategies in (
            ("first", 1, ["uniform_allocation", "median_elimination"]),
            ("second", 2, ["median_elimination", "uniform_allocation"]),
        )
    ]
    yield opened
    for result in opened:
        result.close()


def test_pools_of_several_studies_are_told_apart_and_colours_are_common(results) -> None:
    comparison = make_comparison(results)
    places = [group["place"] for group in comparison["groups"]]
    assert len(set(places)) == len(places) == 2
    assert ["first" in places[0], "second" in places[1]] == [True, True]
    titles = comparison["strategies"]
    for group, result in zip(comparison["groups"], results, strict=True):
        for panel in make_panels(result):
            (series,) = [
                entry
                for entry in group["chart"]["series"]
                if entry["dash"] == 0 and titles[entry["colour"]] == panel.title
            ]
            assert [point[0] for point in series["points"]] == panel.budgets
    text = render_comparison(comparison)
    assert text.count('data-chart="') == 3
    assert len(comparison["cells"]) == sum(len(panel.cells) for result in results for panel in make_panels(result))


def test_studies_with_other_strategies_are_ranked_by_those_they_share(results) -> None:
    with run(known(name="third", trials=20, strategies=["uniform_allocation", "ocba"]), n_jobs=1, progress=False) as r:
        comparison = make_comparison([*results, r])
        alone = make_comparison([r])
    assert sorted(comparison["ranks"]["chart"]["colours"]) == ["median elimination", "uniform allocation"]
    assert comparison["left_out"] == ["OCBA"]
    assert "Not ranked, because they share too few problems: OCBA" in render_comparison(comparison)
    assert (sorted(alone["ranks"]["chart"]["colours"]), alone["left_out"]) == (["OCBA", "uniform allocation"], [])


def test_a_study_counts_once(tmp_path) -> None:
    """The same store, or a copy of it, is refused; another seed is another study."""
    first, second, copy = tmp_path / "s.sqlite", tmp_path / "t.sqlite", tmp_path / "c.sqlite"
    for store, seed in ((first, 1), (second, 2)):
        run(known(trials=20, seed=seed), store=store, n_jobs=1, progress=False).close()
    copy.write_bytes(first.read_bytes())
    (tmp_path / "sub").mkdir()

    def compare(*stores):
        with ExitStack() as stack:
            return make_comparison([stack.enter_context(StudyResult.open(store)) for store in stores])

    with pytest.raises(ValueError, match=r"s\.sqlite is given twice: give every store once$"):
        compare(first, second, tmp_path / "sub" / ".." / "s.sqlite")
    with pytest.raises(ValueError, match=r"s\.sqlite and \S*c\.sqlite hold the same study: give one of them"):
        compare(first, copy)
    comparison = compare(first, second)
    assert comparison["ranks"]["problems"] == 4


def test_one_strategy_has_no_ranks_and_one_budget_no_curve() -> None:
    options = {"strategies": ["uniform_allocation"], "budgets": {"absolute": ["40"]}}
    with run(known(trials=20, **options), n_jobs=1, progress=False) as result:
        comparison = make_comparison([result])
        (panel,) = make_panels(result)
    assert comparison["ranks"] is None
    text = render_comparison(comparison)
    assert "no ranks" in text
    assert 'data-chart="' not in text
    assert comparison["rates"]["rows"] == [[panel.place, "40", f"{panel.cells[0].failure_rate:.2%}"]]


def test_the_caption_says_for_whom_a_lower_bound_holds(results) -> None:
    page = _page.make_page(results[0])
    chart = page["groups"][0]["chart"]
    kinds = dict(zip(chart["dashes"], chart["styles"], strict=True))
    assert {kinds["lower bound, any strategy"], kinds["lower bound, equal pulls"]} == {"lower", "lower2"}
    meaning = r'<span class="meaning".*?</span>|<[^>]*>'
    assert "the one for equal pulls for uniform allocation only." in re.sub(meaning, "", render(page))
    assert ".lower2 { stroke-dasharray" in render(page)


def test_certified_budgets_are_in_table_and_chart(results, monkeypatch) -> None:
    attempt = Attempt("40", 1e-9, "0" * 64, 1000, 3, 0, certified=True, estimate=0.003)
    certificates = [Certificate({}, delta, 1e-9, (attempt,), "budget", 1000) for delta in (0.05, 0.01, 0.2)]
    monkeypatch.setattr(Certificate, "concerns", lambda self, study, cell: cell.labels[2] == "uniform_allocation")
    page = _page.make_page(results[0], certificates)
    assert page["needs"]["columns"][1] == "certified by simulation"
    assert [row["cells"][1] for row in page["needs"]["rows"]] == ["40", "none"]
    assert page["headline"][0].endswith("; certified by simulation with confidence 1 - 1e-09: uniform allocation 40.")
    assert "certified" not in _page.make_page(results[0])["headline"][0]
    chart = page["groups"][0]["chart"]
    place = chart["styles"].index("star")
    (stars,) = [series for series in chart["series"] if series["dash"] == place]
    assert [point[:2] for point in stars["points"]] == [[40.0, 0.05], [40.0, 0.01], [40.0, 0.2]]
    assert chart["dashes"][place] == "certified by simulation"
    text = render(page)
    assert "confidence 1 - 1e-09" in text
    assert _page.make_page(results[0])["groups"][0]["chart"]["styles"].count("star") == 0
