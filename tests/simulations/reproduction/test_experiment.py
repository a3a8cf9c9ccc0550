"""Results depend on the settings alone: not on workers, on resuming, or on a kill; other settings are refused."""

from __future__ import annotations

import json
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
    kept(path).map(truth.__getitem__, {str(number): number for number in (1, 4)})
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
