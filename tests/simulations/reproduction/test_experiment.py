"""Results depend on the settings alone: not on workers, on resuming, or on a kill; other settings are refused."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from dataclasses import replace
from pathlib import Path

import pytest

from simulations._cache import Cache
from simulations.reproduction._sources import SyntheticSource
from simulations.reproduction.experiment import Experiment, run

COUNT = 6


def kept(path: Path) -> Cache:
    """The folder in which a run of `small` keeps its results."""
    return Cache(path, json.loads(small().identity()))


def small(seed: int = 0) -> Experiment:
    """Section 5.1 with few rows."""
    ways = (("ME", "sample"), ("UA", "sample"))
    return Experiment("synthetic", SyntheticSource(15), ways, (30,), False, 0.5, seed=seed)


@pytest.fixture(scope="module")
def truth() -> list[dict]:
    return [small().run(number) for number in range(COUNT)]


@pytest.mark.parametrize("n_jobs", [1, 2])
def test_workers_change_nothing(truth, tmp_path, n_jobs):
    assert run(small(), COUNT, tmp_path / "store", n_jobs=n_jobs) == truth


def test_results_go_through_json_unchanged(truth):
    assert json.loads(json.dumps(truth)) == truth


def test_resume_runs_only_what_is_missing(truth, tmp_path, monkeypatch):
    path = tmp_path / "store"
    with kept(path) as cache:
        for number in (1, 4):
            cache.run(str(number), dict, truth[number])
    ran = []
    original = Experiment.run

    def noted(self: Experiment, number: int) -> dict:
        ran.append(number)
        return original(self, number)

    monkeypatch.setattr(Experiment, "run", noted)
    assert run(small(), COUNT, path, n_jobs=1) == truth
    assert ran == [0, 2, 3, 5]
    assert run(small(), 3, path, n_jobs=1) == truth[:3]
    assert ran == [0, 2, 3, 5]


def test_another_seed_is_another_result(truth):
    assert small(seed=1).run(0) != truth[0]


def test_other_settings_are_refused_and_named(truth, tmp_path):
    path = tmp_path / "store"
    with kept(path) as cache:
        cache.run("0", dict, truth[0])
    with pytest.raises(ValueError, match=r"other settings \(C, seed differ\); nothing was changed"):
        run(replace(small(), C=0.25, seed=3), COUNT, path)


def test_every_setting_is_part_of_the_identity():
    base = small()
    others = [
        replace(base, budgets=(20,)),
        replace(base, loss="mean"),
        replace(base, attainable=False),
        replace(base, explorings=(("ME", "budget"),)),
        replace(base, source=SyntheticSource(16)),
        replace(base, test_labels=True),
    ]
    assert len({value.identity() for value in (base, *others)}) == 1 + len(others)


CHILD = """
import sys
from pathlib import Path
from tests.simulations.reproduction.test_experiment import small
from simulations.reproduction.experiment import run
run(small(), 40, Path(sys.argv[1]), n_jobs=1)
"""


def test_a_killed_run_is_continued(truth, tmp_path):
    path = tmp_path / "store"
    child = subprocess.Popen([sys.executable, "-c", CHILD, str(path)], env={**os.environ, "PYTHONPATH": os.getcwd()})
    try:
        deadline = time.monotonic() + 900.0
        while _stored(path) < 2:
            assert child.poll() is None, "the run ended before it could be killed"
            assert time.monotonic() < deadline, "no configuration was stored"
            time.sleep(0.02)
    finally:
        child.send_signal(signal.SIGKILL)
        child.wait()
    assert 2 <= _stored(path) < 40
    assert run(small(), COUNT, path, n_jobs=1) == truth


def _stored(path: Path) -> int:
    return len([file for file in path.glob("*.json") if file.name != "settings.json"]) if path.exists() else 0
