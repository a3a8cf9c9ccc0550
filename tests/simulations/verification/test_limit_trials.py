"""Limits of the risk: trials in which they hold, and a planted error."""

from __future__ import annotations

import numpy as np
import pytest

from simulations.verification import _limit_trials as limit_trials
from simulations.verification._limit_trials import run_trials
from theory.verdicts import critical_count


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
    fit = limit_trials.fitted

    def fitted(spec, score, arm, points, y, counts=None):
        whole = points.base if points.base is not None else points
        labels = y.base if y.base is not None else y
        return fit(spec, score, arm, whole, labels, counts)

    honest = next(iter(run_trials("uniform", 0.3, 400.0, 120, range(1), delta=0.5)))
    monkeypatch.setattr(limit_trials, "fitted", fitted)
    planted = next(iter(run_trials("uniform", 0.3, 400.0, 120, range(1), delta=0.5)))
    assert honest.tested_risk <= honest.limit
    assert planted.tested_risk > planted.limit
    assert np.isfinite(planted.limit)
