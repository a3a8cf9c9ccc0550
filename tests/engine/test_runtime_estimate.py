"""A long run says beforehand how long it takes and where it will stop; a short one says nothing."""

from __future__ import annotations

import shutil
from collections import namedtuple
from concurrent.futures.process import BrokenProcessPool

import pytest

from exml_sim.engine import StoreError, Study, run, runner
from exml_sim.engine import _runtime_estimate as runtime_estimate
from exml_sim.engine._runtime_estimate import TERMS_BYTES, TRIAL_BYTES, estimate_runtime, format_duration
from tests.engine.studies import known

Usage = namedtuple("Usage", "total used free")


def estimate(study: Study, trials: int, store=None, workers: int = 2) -> str | None:
    return estimate_runtime(study, [(cell, trials) for cell in study.cells()], workers, store)


def test_a_short_run_is_not_spoken_of(tmp_path, monkeypatch) -> None:
    monkeypatch.setattr(runtime_estimate, "_time_trial", lambda study, cells: 1e-5)
    assert estimate(known(), 200) is None
    assert estimate(known(), 10**6, tmp_path / "s") is None


def test_a_long_run_says_how_long(tmp_path, monkeypatch) -> None:
    monkeypatch.setattr(runtime_estimate, "_time_trial", lambda study, cells: 1e-3)
    monkeypatch.setattr(shutil, "disk_usage", lambda _: Usage(0, 0, 10**15))
    said = estimate(known(), 10**9, tmp_path / "s")
    assert said is not None
    assert said.startswith("4,000,000,000 trials take about 23 days with 2 workers and 120.0 GB on the disk: ")
    assert said.endswith("; it may be stopped, and continues")
    assert "they are lost" in str(estimate(known(), 10**9))


def test_a_disk_that_is_too_small_says_where_it_stops(tmp_path, monkeypatch) -> None:
    monkeypatch.setattr(runtime_estimate, "_time_trial", lambda study, cells: 1e-3)
    monkeypatch.setattr(shutil, "disk_usage", lambda _: Usage(0, 0, 21 * 10**9))
    said = estimate(known(), 10**9, tmp_path / "s")
    assert said is not None
    assert "of which 21.0 GB are free: the run will stop after about 17.5% of them, in about 4 days" in said


def test_the_timing_is_that_of_the_trials() -> None:
    study = known()
    assert 0 < runtime_estimate._time_trial(study, study.cells()) < 1.0


def test_the_bytes_of_a_trial(tmp_path) -> None:
    study = known(trials=3000)
    run(study, store=tmp_path / "s", n_jobs=1).close()
    size = (tmp_path / "s").stat().st_size / (study.trials * len(study.cells()))
    assert TRIAL_BYTES / 1.5 < size < 1.5 * TRIAL_BYTES
    assert TERMS_BYTES >= 10 * 8


def test_the_runner_says_it_once(monkeypatch) -> None:
    said: list[str] = []
    # Not through the log itself: other tests of the same worker may have configured it.
    monkeypatch.setattr(runner.logger, "warning", said.append)
    monkeypatch.setattr(runtime_estimate, "MIN_TRIALS", 1)
    monkeypatch.setattr(runtime_estimate, "MIN_SECONDS", 0.0)
    monkeypatch.setattr(runtime_estimate, "_time_trial", lambda study, cells: 1e-5)
    with run(known(trials=20), n_jobs=1) as result:
        digest = result.store.digest()
    assert len(said) == 1
    assert said[0].startswith("80 trials take about 1 seconds with 1 workers")
    monkeypatch.setattr(runtime_estimate, "MIN_TRIALS", 10**6)
    with run(known(trials=20), n_jobs=1) as result:
        assert result.store.digest() == digest
    assert len(said) == 1


def test_durations() -> None:
    assert [format_duration(s) for s in (0.2, 90, 7200, 86400 * 400, 1e12)] == [
        "1 seconds",
        "90 seconds",
        "2 hours",
        "400 days",
        "31,688 years",
    ]


def test_a_worker_that_was_killed_is_one_line_and_costs_nothing(tmp_path, monkeypatch) -> None:
    study, path = known(trials=40), tmp_path / "s"

    def killed(*_: object) -> None:
        raise BrokenProcessPool("a process was terminated abruptly")

    with monkeypatch.context() as patched:
        patched.setattr(runner.BlockSizes, "learn", killed)
        with pytest.raises(StoreError, match="lack of memory; finished trials are kept"):
            run(study, store=path, n_jobs=1)
    with run(study, n_jobs=1) as whole, run(study, store=path, n_jobs=1) as continued:
        assert continued.store.digest() == whole.store.digest()
