"""A version that is added to the table appears everywhere, and nothing else has to be told about it."""

from __future__ import annotations

import json
import math
from fractions import Fraction

import numpy as np
import pytest

import theory
from exml_sim.engine import StudyResult, run
from simulations import budget_vs_failure
from simulations.compare import Comparison
from simulations.figures import facets, failure_rate
from simulations.panels import Needs, find_needs, make_panels
from simulations.report._findings import judge_panels, write_needs
from simulations.report._page import make_page
from tests.cli.test_main import call
from theory import tighter
from theory.versions import VERSIONS, Version


def halved(B, *, strict=True, log=False, **given):
    """Half of our bound, in the place of a new theorem."""
    value = np.asarray(tighter.delta_fail_uniform(B, strict=strict, log=True, **given)) - math.log(2)
    return theory.BoundValue("", value).log_value if log else np.exp(value)


@pytest.fixture
def halved_version(monkeypatch) -> None:
    """One entry of the table; there is no such theorem for median elimination."""
    entry = Version("halved", {"uniform": halved}, VERSIONS["tighter"].arguments, label="half of ours")
    monkeypatch.setitem(VERSIONS, "halved", entry)


@pytest.fixture(scope="module")
def store(tmp_path_factory):
    path = tmp_path_factory.mktemp("versions") / "study.sqlite"
    run(budget_vs_failure.make_study(100, budgets=(128, 49_152)), store=path, n_jobs=1, progress=False).close()
    return path


@pytest.fixture
def panels(store, halved_version):
    with StudyResult.open(store) as result:
        return make_panels(result)


def test_panels_sentence_table_and_judge_panels(panels) -> None:
    uniform, median = panels
    assert uniform.versions == (*median.versions, "halved")
    cell = uniform.cells[1]
    assert uniform.bound_at("halved", cell) == pytest.approx(uniform.bound_at("tighter", cell) / 2)
    assert math.isnan(median.bound_at("halved", cell))
    asked = find_needs(uniform).bounds
    assert asked["halved"] < asked["tighter"]
    sentence = write_needs(Needs("uniform allocation", Fraction(128), asked))
    assert f"half of ours {asked['halved']:,} (" in sentence
    assert Comparison(panels).to_frame()["bound_halved"][1] == uniform.bound_at("halved", cell)
    assert {name for _, _, name, _ in judge_panels(panels)} == set(VERSIONS)


def test_report_gets_points_of_the_curve(store, halved_version) -> None:
    with StudyResult.open(store) as result:
        panels = make_panels(result)
        page, point = make_page(result, panels=panels), panels[0].problem
    json.dumps(page, allow_nan=False)
    chart = page["groups"][0]["chart"]
    dash = chart["dashes"].index("half of ours")
    (curve,) = [series for series in chart["series"] if series["dash"] == dash]
    assert curve["colour"] == 0
    budgets = np.array([sample[0] for sample in curve["points"]])
    assert budgets[0] == point.informative("halved", "uniform")
    values = [sample[1] for sample in curve["points"]]
    np.testing.assert_array_equal(values, point.bound("halved", "uniform", budgets))
    assert page["needs"]["columns"] == ["simulation", "bounds"], "not all strategies have all bounds"
    row = page["needs"]["rows"][0]["cells"][1]
    assert f"half of ours {point.required('halved', 'uniform', page['target']):,}" in row


def test_bounds_and_commands(halved_version, capsys) -> None:
    point = ("--K", "8", "--theta", "0.1", "--kappa-lambda", "0.5", "--gap", "0.2")
    code, out, _ = call(capsys, "bound", *point, "--budget", "16000", "--json")
    assert code == 0
    bounds = json.loads(out)["bounds"]
    assert [versions[-1]["name"] for versions in bounds.values()] == ["halved", "halved"]
    ours = {bound["name"]: bound["value"] for bound in bounds["uniform"]}
    assert ours["halved"] == pytest.approx(ours["tighter"] / 2)
    assert bounds["median"][-1]["note"] == "there is no halved bound for median"
    code, out, _ = call(capsys, "plan", *point, "--json")
    uniform, median = json.loads(out)["budgets"]
    assert uniform["bounds"]["halved"] <= uniform["bounds"]["tighter"]
    missing = {"population": "the population bound needs data, which this problem does not have"}
    assert uniform["declined"] == missing
    assert median["declined"] == {**missing, "halved": "there is no halved bound for median"}


def level(B, *, strict=True, log=False, **given):
    """A lower bound that is the same for all strategies."""
    return np.full(np.shape(B), math.log(0.01) if log else 0.01)


def test_a_lower_bound_is_drawn_dotted_once_and_judges_nothing(store, monkeypatch) -> None:
    entry = Version("level", {"uniform": level, "median": level}, VERSIONS["paper"].arguments, kind="lower")
    monkeypatch.setitem(VERSIONS, "level", entry)
    with StudyResult.open(store) as result:
        panels = make_panels(result)
        page = make_page(result, panels=panels)
    assert "level" not in {name for _, _, name, _ in judge_panels(panels)} | find_needs(panels[0]).bounds.keys()
    chart = page["groups"][0]["chart"]
    dash = chart["styles"].index("lower")
    assert chart["dashes"][dash] == "level bound (lower)"
    (curve,) = [series for series in chart["series"] if series["dash"] == dash]
    assert curve["colour"] is None, "it is the same for both strategies"
    assert {point[1] for point in curve["points"]} == {0.01}
    assert [curve["points"][i][0] for i in (0, -1)] == [128, int(chart["x"]["ends"][1])]
    for picture in (failure_rate.figure(panels, "x"), facets.figure(panels, "x")):
        (line,) = [line for line in picture.axes[0].lines if line.get_label() == "level bound (lower)"]
        assert (line.get_linestyle(), line.get_color()) == (":", "black")


@pytest.mark.parametrize("delta", [0.05, float(np.nextafter(1.0, 0.0)), pytest.param(1e-9, marks=pytest.mark.long)])
def test_required_budgets_are_those_of_a_search_without_the_cells(panels, delta) -> None:
    """The cells of the study enclose the answer, and the slow path does not know them."""
    for panel in panels:
        assert panel.required("population", delta) == panel.problem.required("population", panel.kind, delta)
