"""`exml plan`: budgets by the bounds and in practice."""

from __future__ import annotations

import json

import pytest

from exml_sim.engine import StudyResult, run
from simulations import _needed_budget as needed_budget
from simulations.panels import make_panels, needed_in_simulation
from tests.cli.test_main import call
from tests.engine.studies import features, known
from theory import corrected, paper, tighter
from theory.budgets import launch_budget, required_budget

POINT = ("--K", "8", "--theta", "0.1", "--kappa-lambda", "0.5", "--gap", "0.2")


def test_budgets_by_the_bounds(capsys) -> None:
    code, out, _ = call(capsys, "plan", "--delta", "0.01", *POINT, "--json")
    assert code == 0
    uniform, median = json.loads(out)["budgets"]
    point = {"K": 8, "gap": 0.2, "theta": 0.1, "kappa_lambda": 0.5}
    for line in (uniform, median):
        for level, module in (("paper", paper), ("corrected", corrected)):
            bound = getattr(module, f"delta_fail_{line['strategy']}")
            assert line["bounds"][level] == required_budget(bound, 0.01, **point)
            assert line["launch_budget"][level] == launch_budget(bound, **point)
        bound = getattr(tighter, f"delta_fail_{line['strategy']}")
        assert line["bounds"]["tighter"] <= required_budget(bound, 0.01, **point)
        assert line["launch_budget"]["tighter"] == launch_budget(bound, **point)
    code, out, _ = call(capsys, "plan", "--delta", "0.01", *POINT)
    assert code == 0
    assert f"{uniform['bounds']['paper']:,}" in out


def test_many_candidates_take_no_longer(capsys) -> None:
    """A gap that all others share is one number, not K - 1 of them, which would take minutes."""
    point = ("--K", "100000", "--theta", "0.1", "--kappa-lambda", "0.5", "--gap", "0.2")
    code, out, _ = call(capsys, "plan", *point, "--json")
    assert code == 0
    uniform = json.loads(out)["budgets"][0]["bounds"]
    wanted = required_budget(tighter.delta_fail_uniform, 0.05, K=100_000, gap=0.2, theta=0.1, kappa_lambda=0.5)
    assert uniform["tighter"] == wanted


def test_practice_on_the_pools_of_a_file(capsys, tmp_path) -> None:
    file = tmp_path / "mine.toml"
    file.write_text(features().to_toml(), encoding="utf-8")
    options = ("--delta", "0.2", "--trials", "300", "--n-jobs", "2", "--quiet", "--json")
    code, out, _ = call(capsys, "plan", str(file), *options)
    assert code == 0
    lines = json.loads(out)["budgets"]
    assert [line["strategy"] for line in lines] == ["uniform allocation", "median elimination"]
    for line in lines:
        assert line["simulation"] < line["bounds"]["tighter"] < line["bounds"]["corrected"]
        assert line["factors"]["tighter"] == pytest.approx(line["bounds"]["tighter"] / line["simulation"])
    assert call(capsys, "plan", str(file), *options, "--n-jobs", "1")[1] == out


def test_the_search_finds_where_the_rate_falls_below_the_target() -> None:
    """Two Bernoulli arms: the answer is the smallest tried budget from which on all upper limits are below delta."""
    study = known(
        pools=[{"kind": "parametric", "direction": "minimise", "means": [0.2, 0.8]}], strategies=["uniform_allocation"]
    )
    (panel,) = needed_budget.search(study, 0.05, 1000, n_jobs=1)
    outcome = needed_in_simulation(panel.cells, 0.05)
    budgets = [float(cell.budget) for cell in panel.cells]
    assert budgets == sorted(set(budgets))
    above = [cell for cell in panel.cells if cell.upper > 0.05]
    assert above
    assert max(float(cell.budget) for cell in above) < float(outcome)
    # The steps below the answer are finer than a doubling.
    assert float(outcome) / max(float(cell.budget) for cell in above) < 1.6
    # The cells are those of a study at exactly these budgets.
    with run(
        known(
            pools=study.pools,
            strategies=["uniform_allocation"],
            trials=1000,
            budgets={"absolute": [cell.budget for cell in panel.cells]},
        ),
        n_jobs=1,
        progress=False,
    ) as result:
        again = make_panels(result)[0]
    assert [cell.failures for cell in again.cells] == [cell.failures for cell in panel.cells]


def test_practice_from_a_store(capsys, tmp_path) -> None:
    store = tmp_path / "s.sqlite"
    study = known(trials=400, strategies=["ocba"], budgets={"per_arm": [10, 500]})
    run(study, store=store, n_jobs=1, progress=False).close()
    code, out, _ = call(capsys, "plan", "--store", str(store), "--delta", "0.1")
    assert code == 0
    assert "1,500" in out
    assert "no bound for OCBA: no bound covers this strategy on these arms" in out
    with StudyResult.open(store) as result:
        assert needed_in_simulation(make_panels(result)[0].cells, 0.1) == 1500


def test_a_store_with_stopped_cells_states_the_range_of_trials(capsys, tmp_path) -> None:
    store = tmp_path / "s.sqlite"
    stop = {"width": 0.3, "check_every": 50}
    study = known(trials=400, strategies=["ocba"], budgets={"per_arm": [10, 500]}, stop=stop)
    run(study, store=store, n_jobs=1, progress=False).close()
    with StudyResult.open(store) as result:
        trials = [cell.trials for cell in result.summary()]
    assert min(trials) < max(trials)
    code, out, _ = call(capsys, "plan", "--store", str(store), "--delta", "0.1")
    assert code == 0
    assert f"; {min(trials)} to {max(trials)} trials per budget" in out


def test_enough_trials() -> None:
    assert needed_budget.enough_trials(0.05) == 1000
    assert needed_budget.enough_trials(0.001) == 40_000
    with pytest.raises(ValueError, match="delta must be"):
        needed_budget.enough_trials(1.5)


def test_a_theta_is_printed_as_it_is(capsys) -> None:
    point = ("--K", "2", "--theta", "0.4999999", "--kappa-lambda", "0.0000001", "--gap", "0.00000001")
    assert "theta = 0.4999999," in call(capsys, "bound", *point, "--budget", "10")[1]
    assert "theta = 0.4999999," in call(capsys, "plan", *point)[1]
