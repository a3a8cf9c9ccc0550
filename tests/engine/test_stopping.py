"""Early stopping: decisions that may be looked at again and again, and do not depend on workers."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.special import betaln

from exml_sim._internal.binomial import clopper_pearson
from exml_sim.engine import Store, run
from exml_sim.engine._statistics import bounded_sequence, confidence_sequence
from tests.bandit.exact_distributions import uniform_selection_probabilities
from tests.engine.studies import known

MEANS = (0.4, 0.5, 0.6)


def failure(pulls: int) -> float:
    return float(uniform_selection_probabilities(MEANS, pulls)[1:].sum())


@pytest.mark.parametrize(("failures", "trials"), [(0, 1), (0, 50), (3, 50), (50, 50), (1, 1), (499, 1000), (2, 10**6)])
def test_the_interval_is_a_level_set(failures, trials):
    """A rate is inside iff the mixture's likelihood ratio against it is below 1/alpha; checked on a fine grid."""
    low, high = confidence_sequence(failures, trials, 0.05)
    grid = np.linspace(1e-9, 1 - 1e-9, 20_001)
    log_e = (
        betaln(failures + 1, trials - failures + 1) - failures * np.log(grid) - (trials - failures) * np.log1p(-grid)
    )
    inside = log_e < np.log(20.0)
    far = (np.abs(grid - low) > 1e-8) & (np.abs(grid - high) > 1e-8)
    np.testing.assert_array_equal(inside[far], ((grid > low) & (grid < high))[far])


def crossing(rate: float, trials: int, alpha: float, interval) -> float:
    """Probability that the interval ever excludes the true rate within that many trials, by dynamic programming."""
    alive = np.array([1.0])
    lost = 0.0
    for n in range(1, trials + 1):
        alive = np.append(alive * (1 - rate), 0.0) + np.append(0.0, alive * rate)
        for k in np.flatnonzero(alive > 0):
            low, high = interval(int(k), n, alpha)
            if not low <= rate <= high:
                lost += alive[k]
                alive[k] = 0.0
    return lost


def test_looking_after_every_trial_keeps_the_error_rate():
    """Exact: the confidence sequence errs at most at its level; Clopper-Pearson, looked at every time, does not."""
    for rate in (0.1, 0.5):
        assert crossing(rate, 80, 0.05, confidence_sequence) <= 0.05
    assert crossing(0.5, 80, 0.05, lambda k, n, alpha: clopper_pearson(k, n, 1 - alpha)) > 0.05


def test_cells_stop_when_decided_whatever_the_workers():
    stop = {"bound": 0.2, "alpha": 0.01, "check_every": 100}
    study = known(trials=5000, strategies=["uniform_allocation"], budgets={"per_arm": [5, 25, 60]}, stop=stop)
    results = [run(study, n_jobs=n, block=b) for n, b in ((1, None), (2, 30), (2, 1000))]
    assert len({result.store.digest() for result in results}) == 1
    for entry, pulls in zip(results[0].summary(), (5, 25, 60), strict=True):
        assert entry.interval == "confidence sequence"
        assert entry.trials % 100 == 0
        low, high = confidence_sequence(entry.failures, entry.trials, 0.01)
        assert (entry.lower, entry.upper) == (low, high)
        assert entry.trials == 5000 or not low <= 0.2 <= high
        # Decided rightly; each of three cells errs with probability 0.01, and the seed is fixed.
        if entry.trials < 5000:
            assert (low > 0.2) == (failure(pulls) > 0.2)
    assert results[0].summary()[0].trials < 5000


def test_a_target_width_is_reached_at_the_first_analysis_that_has_it():
    study = known(trials=10_000, strategies=["uniform_allocation"], stop={"width": 0.1, "check_every": 50})
    result = run(study, n_jobs=2)
    for entry in result.summary():
        assert entry.upper - entry.lower <= 0.1
        trials, failures = result.store.counts(entry.cell, entry.trials - 50)
        low, high = confidence_sequence(failures, trials, 0.05)
        assert high - low > 0.1


def test_resume_of_a_stopped_study_runs_nothing(tmp_path):
    study = known(trials=5000, stop={"bound": 0.2, "check_every": 100})
    with run(study, store=tmp_path / "study.sqlite") as result:
        digest = result.store.digest()
    with run(study, store=tmp_path / "study.sqlite", n_jobs=1) as result:
        assert result.store.digest() == digest


def test_regret_at_the_stopping_time_is_anytime_valid():
    """Exact, over all paths of 16 trials with three values: the sequence errs at most at its level, at any time."""
    values, distribution, alpha = (0.0, 0.1, 0.4), (0.7, 0.2, 0.1), 0.5
    truth = float(np.dot(values, distribution))
    alive, lost = {(0, 0): 1.0}, 0.0
    for n in range(1, 17):
        following: dict[tuple[int, int], float] = {}
        for (a, b), mass in alive.items():
            for (da, db), p in zip(((0, 0), (1, 0), (0, 1)), distribution, strict=True):
                following[a + da, b + db] = following.get((a + da, b + db), 0.0) + mass * p
        alive = following
        if n % 4 == 0:
            for (a, b), mass in list(alive.items()):
                low, high = bounded_sequence([(0.0, n - a - b), (0.1, a), (0.4, b)], 0.4, alpha)
                if not low <= truth <= high:
                    lost += mass
                    del alive[a, b]
    assert 0.0 < lost <= alpha


def test_the_width_is_that_of_the_reported_interval():
    """At an alpha of 0.2 intervals are reported at 80 % unless asked otherwise, and there they are narrow enough."""
    study = known(trials=5000, strategies=["uniform_allocation"], stop={"width": 0.1, "check_every": 50, "alpha": 0.2})
    for entry in run(study, n_jobs=1).summary():
        assert entry.level == pytest.approx(0.8)
        assert entry.upper - entry.lower <= 0.1
        assert entry.regret_interval == "bounded sequence"
        assert entry.regret_lower <= entry.mean_regret <= entry.regret_upper


def test_analyses_are_linear(monkeypatch, tmp_path):
    """Every trial is counted once for the decisions, however many interim analyses there are; so are the ranges."""
    counted, listed = [], []
    count, ranges = Store.counts, Store.ranges

    def counts(self, cell, stop=None, first=0):
        result = count(self, cell, stop, first)
        counted.append(result[0])
        return result

    monkeypatch.setattr(Store, "counts", counts)
    monkeypatch.setattr(Store, "ranges", lambda self, cell: listed.append(cell) or ranges(self, cell))
    study = known(trials=600, strategies=["uniform_allocation"], stop={"width": 1e-4, "check_every": 5})
    run(study, store=tmp_path / "study.sqlite", n_jobs=1).close()
    assert 600 <= sum(counted) <= 2 * 600
    assert len(listed) == 2
