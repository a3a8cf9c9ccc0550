"""Statements about selections and limits of the risk: entries that hold, and planted ones that do not."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pytest

from exml_sim.bandit import _evidence as evidence
from exml_sim.bandit import selection_report
from simulations.verification import _coverage as coverage
from simulations.verification import _report as report
from simulations.verification._cells import DEPTHS
from simulations.verification._coverage import run_trials
from simulations.verification.run import verify
from theory.verdicts import critical_count

QUICK = replace(DEPTHS["quick"], least=300, most=300)


def test_the_entries_hold_and_are_shown(tmp_path: Path) -> None:
    verified = verify(["coverage"], QUICK, n_jobs=1)
    assert not verified.results
    assert [entry.claim for entry in verified.coverage] == ["C2", "C2", "C4", "C4", "C5", "jackknife", "jackknife"]
    assert not verified.problems
    assert all(entry.verdict.outcome != "refuted" for entry in verified.coverage)
    document = report.write(verified, tmp_path, "", {})
    assert [entry["claim"] for entry in document["coverage"]] == [entry.claim for entry in verified.coverage]
    assert "at most 0.2 guaranteed" in (tmp_path / "verify.txt").read_text(encoding="utf-8")
    assert json.loads((tmp_path / "verify.json").read_text(encoding="utf-8"))["coverage"]


def test_planted_bets_that_do_not_pay_for_the_mean_are_refuted(monkeypatch: pytest.MonkeyPatch) -> None:
    """Differences that are too large by 0.9, as on rows that the models have seen: the trials notice."""
    honest = coverage.later_wealth
    monkeypatch.setattr(coverage, "later_wealth", lambda line, edge: honest(line + 0.9, edge))
    cells = coverage.collect_evidence(QUICK, SimpleNamespace(seed=0, notify=str))
    assert [cell.verdict.outcome for cell in cells if cell.claim == "C5"] == ["refuted"]


def test_planted_limits_without_a_width_are_refuted(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(coverage, "half_widths", lambda differences, level: 0.0 * differences.error)
    assert coverage.count_uncovered((70, 90), 300, 0) > 60


def test_planted_a_bar_of_one_half_excludes_the_best_too_often(monkeypatch: pytest.MonkeyPatch) -> None:
    honest = evidence.log_wealth
    monkeypatch.setattr(coverage, "log_wealth", lambda pairs, running: honest(pairs, running=running) + 4.0)
    assert coverage.count_excluded_best((70, 90), 0.2, 200, 0) > 100
    assert selection_report.LARGEST_LOSS == 2.0


@pytest.mark.parametrize("strategy", ["uniform", "median"])
def test_rows_are_accepted_and_risks_are_below_their_limits(strategy: str) -> None:
    trials = list(run_trials(strategy, 0.3, 4.0, 60, range(4)))
    assert all(0.3 < trial.accepted < 0.9 for trial in trials)
    assert all(trial.risk < 0.25 for trial in trials)
    failures = sum(trial.tested_risk > trial.limit for trial in trials)
    failures += sum(trial.mean_risk > trial.mean_limit for trial in trials)
    # Of 8 statements at delta = 0.05, false alarm below 1e-6 by a union over strategies.
    assert failures < critical_count(8, 0.05, 5e-7)


def test_trials_do_not_depend_on_their_range() -> None:
    (second,) = run_trials("uniform", 0.3, 4.0, 40, range(1, 2))
    assert list(run_trials("uniform", 0.3, 4.0, 40, range(2)))[1] == second


def test_counts_on_seen_rows_are_caught(monkeypatch) -> None:
    """Planted error: the model is fitted to the rows that test it, with a ball so large that it fits all of them."""
    fit = coverage.fitted

    def fitted(spec, score, arm, points, y, counts=None):
        whole = points.base if points.base is not None else points
        labels = y.base if y.base is not None else y
        return fit(spec, score, arm, whole, labels, counts)

    honest = next(iter(run_trials("uniform", 0.3, 400.0, 120, range(1), delta=0.5)))
    monkeypatch.setattr(coverage, "fitted", fitted)
    planted = next(iter(run_trials("uniform", 0.3, 400.0, 120, range(1), delta=0.5)))
    assert honest.tested_risk <= honest.limit
    assert planted.tested_risk > planted.limit
    assert np.isfinite(planted.limit)
