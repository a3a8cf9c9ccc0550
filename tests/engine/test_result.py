"""What is reported: intervals, paired comparisons, allocations, and files."""

from __future__ import annotations

import csv
from collections.abc import Iterator
from math import comb

import numpy as np
import pytest
from scipy.stats import binom

from exml_sim._internal.binomial import clopper_pearson
from exml_sim.engine import Study, StudyResult, run
from exml_sim.engine._statistics import bounded_interval, bounded_sequence, mean_interval, paired
from exml_sim.engine.modes import mode_of
from tests.engine.studies import features, known


@pytest.fixture(scope="module")
def result() -> StudyResult:
    return run(known(trials=500), n_jobs=2)


def test_summary_against_the_rows(result):
    rows = list(result.rows())
    for entry in result.summary():
        trials = [row for row in rows if row["cell"] == entry.cell]
        failures = sum(not row["success"] for row in trials)
        assert (entry.trials, entry.failures) == (500, failures)
        assert entry.failure_rate == failures / 500
        assert (entry.lower, entry.upper) == clopper_pearson(failures, 500)
        regret = np.array([row["regret"] for row in trials])
        assert entry.mean_regret == pytest.approx(regret.mean())
        low, high = bounded_interval(regret.mean(), regret.std(ddof=1), 500, 0.2)
        assert entry.regret_interval == "bounded"
        assert (entry.regret_lower, entry.regret_upper) == pytest.approx((low, high))
        assert entry.mean_spend == pytest.approx(np.mean([float(row["spent"]) for row in trials]))
        assert sum(entry.allocation.values()) == pytest.approx(entry.mean_spend)


def test_allocation_against_the_ledgers():
    study = features(trials=10)
    done = run(study, n_jobs=1)
    for entry in done.summary():
        pulls = np.mean([sum(r.pulls for r in done.replay(entry.cell, t).rounds) for t in range(10)], axis=0)
        assert list(entry.allocation.values()) == pytest.approx(pulls.tolist())


def test_paired_comparison_by_hand(result):
    rows = {(row["cell"], row["trial"]): row["success"] for row in result.rows()}
    only_first = sum(not rows[0, t] and rows[1, t] for t in range(500))
    only_second = sum(rows[0, t] and not rows[1, t] for t in range(500))
    outcome = result.compare(0, 1)
    assert (outcome.trials, outcome.only_first, outcome.only_second) == (500, only_first, only_second)
    n = only_first + only_second
    tail = sum(comb(n, k) for k in range(min(only_first, only_second) + 1)) / 2**n
    assert outcome.p_value == pytest.approx(min(1.0, 2 * tail))
    assert outcome.lower <= outcome.difference <= outcome.upper


def multinomial(trials: int, distribution: tuple[float, ...]) -> Iterator[tuple[float, tuple[int, ...]]]:
    """All counts of three outcomes with their probabilities."""
    for a in range(trials + 1):
        for b in range(trials + 1 - a):
            mass = binom.pmf(a, trials, distribution[0]) * binom.pmf(
                b, trials - a, distribution[1] / (1 - distribution[0])
            )
            yield mass, (a, b, trials - a - b)


def test_paired_interval_covers():
    """Exact coverage over all tables of 30 trials: at least the level, and pairing is what makes it narrow."""
    inside = 0.0
    for mass, (a, b, _) in multinomial(30, (0.15, 0.05, 0.8)):
        entry = paired(30, a, b, 0.9)
        inside += mass * (entry.lower <= 0.1 <= entry.upper)
    assert inside >= 0.9
    assert paired(100, 0, 0).p_value == 1.0


def test_cells_without_common_random_numbers_are_not_paired(result):
    with pytest.raises(ValueError, match="do not share random numbers"):
        result.compare(0, 2)
    with pytest.raises(ValueError, match="without early stopping"):
        run(known(stop={"bound": 0.2})).compare(0, 1)
    with pytest.raises(ValueError, match="cell 9 does not exist"):
        result.compare(0, 9)


def test_replay_of_a_stored_trial(result):
    row = next(row for row in result.rows() if row["cell"] == 3 and row["trial"] == 123)
    alone = result.replay(3, 123)
    assert alone.selected_name == row["selected"]
    assert "selected" in alone.table()
    assert str(alone.ledger)
    with pytest.raises(ValueError, match="trial 500 does not exist"):
        result.replay(3, 500)
    with pytest.raises(ValueError, match="cell 4 does not exist"):
        result.replay(4, 0)


def test_csv(result, tmp_path):
    result.to_csv(tmp_path / "cells.csv")
    with (tmp_path / "cells.csv").open(encoding="utf-8") as file:
        lines = list(csv.DictReader(file))
    assert [float(line["failure_rate"]) for line in lines] == [entry.failure_rate for entry in result.summary()]
    assert "pulls arm 0" in lines[0]
    result.to_csv(tmp_path / "trials.csv", trials=True)
    with (tmp_path / "trials.csv").open(encoding="utf-8") as file:
        assert sum(1 for _ in csv.DictReader(file)) == 2000


def test_pandas(result):
    frame = result.to_pandas(trials=True)
    assert len(frame) == 2000
    rates = 1 - frame.groupby("cell")["success"].mean()
    assert rates.tolist() == pytest.approx(result.to_pandas()["failure_rate"].tolist())


def test_nothing_run_yet_is_an_empty_summary(tmp_path):
    study = known()
    from exml_sim.engine import Store

    metadata = [mode_of(study).metadata(study, cell) for cell in study.cells()]
    with StudyResult(Store.create_or_open(tmp_path / "study.sqlite", study, study.cells(), metadata)) as empty:
        assert empty.summary() == []
        assert "0 trials" in repr(empty)
        with pytest.raises(ValueError, match="no trial in common"):
            empty.compare(0, 1)


@pytest.mark.parametrize(
    "distribution", [(0.9, 0.08, 0.02), (0.98, 0.015, 0.005), (0.3, 0.4, 0.3), (0.99, 0.001, 0.009)]
)
def test_regret_intervals_cover_by_exact_enumeration(distribution):
    """Values 0, 0.1 and 0.4 in 40 trials: the bounded interval keeps its 90 %, Student's with few failures does not."""
    values = np.array([0.0, 0.1, 0.4])
    truth, inside, student = float(np.dot(distribution, values)), 0.0, 0.0
    for mass, counts in multinomial(40, distribution):
        mean = float(np.dot(counts, values)) / 40
        deviation = float(np.sqrt(np.dot(counts, (values - mean) ** 2) / 39))
        low, high = bounded_interval(mean, deviation, 40, 0.4, 0.9)
        inside += mass * (low <= truth <= high)
        low, high = mean_interval(mean, deviation, 40, 0.9)
        student += mass * (low <= truth <= high)
    assert inside >= 0.9
    if distribution[0] >= 0.98:
        assert student < 0.9


def test_no_failure_is_not_no_regret():
    pool = {"kind": "parametric", "direction": "minimise", "means": [0.1, 0.9]}
    (entry,) = run(known(100, pools=[pool], strategies=["uniform_allocation"], budgets={"per_arm": [8]})).summary()
    assert (entry.failures, entry.mean_regret, entry.regret_lower) == (0, 0.0, 0.0)
    # 0.8 is the largest regret; Clopper-Pearson for the failures, at a quarter of the error, is the same up to
    # rounding.
    assert entry.regret_upper == pytest.approx(0.8 * (1 - 0.0125 ** (1 / 100)), rel=1e-6)


def test_bounded_intervals_of_constants_and_edges():
    assert bounded_interval(0.0, 0.0, 10, 0.0) == (0.0, 0.0)
    assert bounded_interval(1.0, 0.0, 10, 1.0)[1] == 1.0
    assert bounded_interval(0.3, 0.1, 1, 1.0)[0] < 0.3
    assert bounded_sequence([(0.0, 10)], 0.0) == (0.0, 0.0)
    wide, narrow = (bounded_interval(0.01, 0.02, 100_000, 1.0, level) for level in (0.99, 0.9))
    assert wide[0] < narrow[0] < 0.01 < narrow[1] < wide[1]
    # Many trials: empirical Bernstein knows the spread, which Hoeffding's bound does not.
    assert narrow[1] - narrow[0] < 2 * 5 * 0.02 / np.sqrt(100_000)


@pytest.mark.parametrize("level", [5, 0, 1, -0.1, "high", True])
def test_bad_levels(result, level):
    for read in (lambda: result.summary(level=level), lambda: result.compare(0, 1, level=level)):
        with pytest.raises(ValueError, match="level"):
            read()
    with pytest.raises(ValueError, match="a level must be"):
        run(known(mode="exact", budgets={"per_arm": [4]})).summary(level=level)


def test_a_folder_that_is_not_there(result, tmp_path):
    with pytest.raises(ValueError, match=r"cannot write .*No such file"):
        result.to_csv(tmp_path / "nowhere" / "cells.csv")


def test_a_summary_is_a_function_of_the_store(tmp_path, monkeypatch):
    """No pool and no tilt is built again."""
    atoms = {"kind": "finite_support", "values": [[1, 0.5], [0.25, 0.75]], "y": [1, 1], "copies": [3, 1]}
    for mode in ("monte_carlo", "importance_sampling", "exact"):
        path = tmp_path / f"{mode}.sqlite"
        study = features(50, pools=[atoms], scores=[{"ball": 0.3}], budgets={"per_arm": [6]}, mode=mode)
        with run(study, store=path, n_jobs=1, progress=False) as result:
            slow = [mode_of(study).metadata(study, cell) for cell in study.cells()]
            assert result.store.metadata == slow
        with monkeypatch.context() as patched:
            patched.setattr(Study, "pool", lambda *_: pytest.fail("a pool was built"))
            patched.setattr(Study, "cells", lambda *_: pytest.fail("pools were built"))
            with StudyResult.open(path) as result:
                fast = result.summary()
            assert len(fast) == len(slow)
