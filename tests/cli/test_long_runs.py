"""Long runs: failing cells, labels, sweeps, ranges of budgets, and slow bounds."""

from __future__ import annotations

from pathlib import Path

import pytest
import tomli_w

from exml_sim.engine import Study, run
from exml_sim.engine.result import StudyResult
from simulations.panels import make_panels
from tests.cli.test_main import call
from tests.engine.studies import KNOWN, RULES, known

LATE = '''
from dataclasses import dataclass
from exml_sim.strategies import UniformAllocation


@dataclass(frozen=True, slots=True, kw_only=True)
class Late(UniformAllocation):
    """Fails in blocks that are larger than those of the smoke test."""

    def explore(self, batch):
        if len(batch.active) > 12:
            raise RuntimeError("late failure")
        return UniformAllocation.explore(self, batch)
'''


def test_a_cell_that_fails_late_is_recorded_and_the_others_are_reported(
    capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    plugin, file, out = tmp_path / "late.py", tmp_path / "s.toml", tmp_path / "out"
    plugin.write_text(LATE, encoding="utf-8")
    table = {"strategies": [{"name": "late:Late"}, *RULES], "pools": KNOWN["pools"], "trials": 300}
    file.write_text(tomli_w.dumps({**table, "budgets": {"per_arm": [10, 20]}}), encoding="utf-8")
    options = ["study", str(file), "--plugins", str(plugin), "--out", str(out), "--quiet", "--no-report"]
    code, printed, _ = call(capsys, *options)
    assert code == 1
    assert printed.count("Failed: cell") == 2
    assert "late failure" in printed
    assert "uniform allocation" in printed
    with StudyResult.open(out / "study.sqlite") as result:
        assert set(result.failures) == {0, 3}
        assert {cell.strategy for cell in result.summary()} == {"uniform_allocation", "median_elimination"}
        assert all(cell.trials == 300 for cell in result.summary())
    # A strict run of the same store names the cell, and keeps the others.
    study = Study.from_toml(file, plugins=[plugin])
    with pytest.raises(ValueError, match=r"late failure.*trials of other cells are kept"):
        run(study, store=out / "study.sqlite", n_jobs=1, progress=False)
    with StudyResult.open(out / "study.sqlite") as result:
        assert len(result.summary()) == 4


def test_neither_report_nor_bounds_if_they_are_not_wanted(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    file, out = tmp_path / "s.toml", tmp_path / "out"
    file.write_text(known(trials=30).to_toml(), encoding="utf-8")
    code, printed, _ = call(capsys, "study", str(file), "--out", str(out), "--quiet", "--no-report", "--no-bounds")
    assert code == 0
    assert not (out / "report.html").exists()
    assert "bounds were not asked for" in printed


def test_labels_sweeps_and_ranges_of_budgets() -> None:
    study = Study.from_table(
        {
            "pools": [{"kind": "parametric", "means": [0.4, 0.6]}],
            "strategies": [
                {"name": "median_elimination", "label": "SH_1", "accumulate": False},
                {"name": "top_two", "sweep": {"rounds": [4, 8]}},
                {"name": "ocba", "label": "OCBA", "sweep": {"rounds": [4, 8]}},
            ],
            "budgets": {"per_arm": {"from": 10, "to": 1000, "number": 5}},
            "trials": 10,
        }
    )
    labels = [strategy.label for strategy in study.strategies]
    assert labels == ["SH_1", "top_two(rounds=4)", "top_two(rounds=8)", "OCBA, rounds = 4", "OCBA, rounds = 8"]
    assert study.budgets.per_arm == ("10", "32", "100", "316", "1000")
    assert Study.from_toml(study.to_toml()).hash == study.hash
    with run(study, n_jobs=1, progress=False) as result:
        assert make_panels(result)[0].title == "SH_1", "a label is shown as it is written"


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"strategies": [{"name": "top_two", "sweep": {}}]}, "table of lists"),
        ({"strategies": [{"name": "top_two", "sweep": {"rounds": 4}}]}, "must be a list that is not empty"),
        (
            {"strategies": [{"name": "top_two", "rounds": 4, "sweep": {"rounds": [4]}}]},
            "in the sweep and beside it",
        ),
        ({"strategies": [{"name": "top_two", "label": 7}]}, "title"),
        ({"budgets": {"per_arm": {"from": 10, "to": 5, "number": 3}}}, "1 <= from < to"),
        ({"budgets": {"per_arm": {"from": 10, "to": 50}}}, "from = 10, to = 1000, number = 7"),
        ({"budgets": {"per_arm": {"from": 10, "to": 50, "number": 10**9}}}, "2 <= number"),
    ],
)
def test_bad_sweeps_and_ranges_are_one_line(change: dict, message: str) -> None:
    with pytest.raises(ValueError, match=message):
        known(**change)


def test_slow_bounds_are_evaluated_at_budgets_of_the_study() -> None:
    study = Study(
        pools=[{"kind": "synthetic", "per_class": 8, "angles": [10, 90], "kernel": "gaussian"}],
        scores=[{"score": "objective", "theta": 0.3}],
        strategies=["uniform_allocation"],
        budgets={"per_arm": [4, 400]},
        trials=5,
    )
    with run(study, n_jobs=1, progress=False) as result:
        (panel,) = make_panels(result)
    assert panel.is_slow("population")
    assert panel.required("population", 0.99) in (None, *panel.budgets)
