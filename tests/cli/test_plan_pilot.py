"""exml plan with a table: from a pilot, from an exploration's folder, and one line for what cannot be."""

from __future__ import annotations

import json

import numpy as np
import pytest

from exml_sim.bandit.rows import FeaturePool
from exml_sim.cli import main
from exml_sim.datasets import make_synthetic
from simulations.panels import name_bound
from simulations.pilot import SCORE, PilotPlan, best_last, check_pilot, drawn, in_order, interval, needed, plan
from theory.versions import VERSIONS

ROLES = ["--label", "y", "--observed", "x1,x2"]
OFFERS = ["--candidate", "low=a10:1", "--candidate", "high=a90:1"]


@pytest.fixture(scope="module")
def table(tmp_path_factory):
    place = tmp_path_factory.mktemp("plan") / "synthetic.csv"
    write(place, 0)
    return place


def write(place, seed):
    """Section 5.1 as a file."""
    rows = make_synthetic(100, angles=[10, 90], rng=seed)
    low, high = (one.values[:, 0] for one in rows.candidates)
    lines = ["x1,x2,a10,a90,y"]
    lines += [
        f"{a},{b},{c},{d},{'two' if y > 0 else 'one'}"
        for (a, b), c, d, y in zip(rows.X, low, high, rows.y, strict=True)
    ]
    place.write_text("\n".join(lines) + "\n", encoding="utf-8")


def run(capsys, *words):
    with pytest.raises(SystemExit) as stop:
        main([str(word) for word in words])
    out = capsys.readouterr()
    return stop.value.code, out.out, out.err


def test_a_pilot_plans_a_budget_with_an_interval_next_to_the_bounds(table, capsys):
    size = ["--worlds", 10, "--trials", 60]
    code, out, _ = run(capsys, "plan", table, "--pilot", 40, *ROLES, *OFFERS, *size, "--json")
    assert code == 0
    found = json.loads(out)["budgets"]
    assert [one["strategy"] for one in found] == ["uniform allocation", "median elimination"]
    for one in found:
        assert one["pilot"] == 40
        assert one["best"] == "high"
        assert one["interval"][0] <= one["budget"]
        assert one["bounds"]["paper"] > one["budget"]
    again = run(capsys, "plan", table, "--pilot", 40, *ROLES, *OFFERS, *size)[1]
    assert "by a pilot of 40 rows; high is best in" in again
    assert f"bounds at the pilot's parameters: {name_bound(list(VERSIONS)[-1])}" in again


def test_an_exploration_is_a_pilot(table, capsys, tmp_path):
    out = tmp_path / "out"
    money = ["--budget", 120, "--model", "kernel"]
    assert run(capsys, "explore", table, *ROLES, *OFFERS, *money, "--out", out, "--quiet")[0] == 0
    more = ["--worlds", 10, "--trials", 60]
    code, text, _ = run(capsys, "plan", table, "--exploration", out, "--label", "y", *more)
    assert code == 0
    assert "by a pilot of 16" in text
    other = tmp_path / "other.csv"
    write(other, 1)
    code, _, error = run(capsys, "plan", other, "--exploration", out, "--label", "y")
    assert (code, "is an exploration of another table" in error) == (2, True)


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (["--pilot", 400, *ROLES, *OFFERS], "a pilot needs 10 to 300 complete rows of the table, got 400"),
        (["--pilot", 4, *ROLES, *OFFERS], "a pilot needs 10 to 300 complete rows of the table, got 4"),
        (["--pilot", 40, *ROLES, *OFFERS[:2]], "at least 2 candidates to choose from, got 1"),
        (["--pilot", 40, *ROLES[2:], *OFFERS], "needs --label"),
        (["--pilot", 40, *ROLES[:2], *OFFERS], "needs --observed and --candidate"),
        (["--pilot", 40, "--delta", "1.5", *ROLES, *OFFERS], "delta must be strictly between 0 and 1"),
        ([*ROLES], "goes with a plan from a table"),
        (["--exploration", "nowhere", "--label", "y"], "was anything explored there?"),
        (["--pilot", 40, "--K", 3, *ROLES, *OFFERS], "go with a table, not with parameters"),
    ],
)
def test_what_cannot_be_planned_is_one_line(table, capsys, words, said):
    code, _, error = run(capsys, "plan", table, *words)
    assert code == 2
    assert said in error
    assert len(error.strip().split("\n")) == 1


def test_planned_budgets_hold_the_needed_one():
    """The quick form of the calibration, with fixed seeds; benchmarks/confidence.py has the full one."""
    population = make_synthetic(100, angles=(0, 90), rng=0)
    pool = FeaturePool(population, **SCORE)
    truth = needed(pool, "uniform_allocation", 0.05, 4000)
    held = 0
    for number in range(12):
        rows = np.random.default_rng(number).permutation(300)[:40]
        found = plan(drawn(population, rows), worlds=20, trials=100, seed=number)
        held += found.lower <= truth <= found.upper
    assert held >= 11


def test_the_needed_budget_is_where_trials_fail_as_often_as_wanted():
    pool = FeaturePool(make_synthetic(100, angles=(0, 90), rng=0), **SCORE)
    budget = needed(pool, "uniform_allocation", 0.05, 2000)
    assert pool.explore_many("uniform_allocation", int(budget), 4000, seed=7).failures(pool.best_arms()).mean() < 0.07
    assert (
        pool.explore_many("uniform_allocation", int(budget / 2), 4000, seed=7).failures(pool.best_arms()).mean() > 0.05
    )


def test_the_order_of_candidates_does_not_matter(table, capsys):
    size = ["--worlds", 10, "--trials", 60]
    swapped = [*OFFERS[2:], *OFFERS[:2]]
    plans = [
        run(capsys, "plan", table, "--pilot", 40, *ROLES, *offers, *size, "--json")[1] for offers in (OFFERS, swapped)
    ]
    assert json.loads(plans[0])["budgets"] == json.loads(plans[1])["budgets"]


def test_a_tie_is_no_success():
    """One row each: all scores are alike, and the first arm wins. That must not look like a good plan."""
    population = make_synthetic(100, angles=(0, 90), rng=0)
    for order in ((0, 1), (1, 0)):
        pool = best_last(in_order(population, order))
        assert pool.best_arms() == (1,)
        assert pool.explore_many("uniform_allocation", 2, 200, seed=1).failures(pool.best_arms()).all()
        assert needed(pool, "uniform_allocation", 0.05, 200) > 2.0
    best_first = FeaturePool(in_order(population, (1, 0)), **SCORE)
    assert not best_first.explore_many("uniform_allocation", 2, 200, seed=1).failures(best_first.best_arms()).any()


def test_ends_of_intervals_and_words():
    assert interval([3.0, 1.0, float("inf"), 2.0], 0.9) == (1.0, float("inf"))
    assert check_pilot(10, 10) == 10
    said = PilotPlan(
        "successive_elimination", 0.05, 40, float("inf"), 10.0, float("inf"), 0.95, 60, 400, "a", 0.5
    ).sentence()
    assert "no tried budget is enough" in said
    assert "at least 10" in said
