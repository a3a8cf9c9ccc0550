"""The tasks: divisions, splits, coins and classes as Section 5 describes them."""

from __future__ import annotations

import numpy as np
import pytest

from exml_sim.datasets.realdisp import SENSORS, RealDisp
from simulations.reproduction._sources import (
    ANGLES,
    HIDDEN,
    MfeatSource,
    RealDispSource,
    SyntheticSource,
    observe_labels,
    read_source,
)
from simulations.reproduction.experiment import make_experiment


def test_mfeat_tasks():
    source = MfeatSource()
    task = source.task(0, 3)
    assert len(task.y) == 600
    assert len(task.truth) == 1200
    assert set(task.y.tolist()) == {0, 1}
    counts = np.bincount(task.truth, minlength=3)
    # 600 rows of each class in all, some of them for training.
    assert counts.sum() == 1200
    assert counts.max() < 600
    again = source.task(0, 3)
    assert np.array_equal(task.train["mor"], again.train["mor"])
    same_division, other_division = source.task(0, 8), source.task(0, 4)
    assert not np.array_equal(task.truth, same_division.truth)
    assert not np.array_equal(task.train["mor"], other_division.train["mor"])


def test_hidden_rows_are_labelled_by_a_coin():
    rng = np.random.default_rng(0)
    classes = np.repeat([0, 1, HIDDEN], 400)
    y = observe_labels(classes, rng)
    assert np.array_equal(y[:800], classes[:800])
    # 400 fair coins: outside of [140, 260] with probability 1.5e-9.
    assert 140 <= int(y[800:].sum()) <= 260


def test_costs_are_the_papers():
    task = make_experiment("costs", True, 0.1).source.task(0, 0)
    assert {view: float(cost) for view, cost in task.costs.items()} == {
        "fac": 5, "pix": 1.2, "kar": 1, "zer": 0.95, "fou": 1.5, "mor": 0.9,
    }  # fmt: skip


def test_synthetic_tasks():
    source = SyntheticSource()
    task = source.task(0, 0)
    assert (len(task.y), len(task.truth)) == (300, 300)
    assert np.bincount(task.truth).tolist() == [100, 100, 100]
    assert source.candidates("observed") == tuple(f"{angle}°" for angle in ANGLES)


@pytest.fixture
def walk() -> RealDisp:
    """Slow waves, another one for each activity, 3600 rows."""
    rng = np.random.default_rng(0)
    y = np.repeat([1, 2, 3], 1200)
    t = np.arange(len(y)) / 50.0
    views = {
        name: np.column_stack([np.sin(t * (k + y)), rng.standard_normal(len(y))]) for k, name in enumerate(SENSORS)
    }
    return RealDisp(views, y, t)


@pytest.mark.parametrize("split", ["random", "blocked"])
def test_realdisp_tasks(walk, split):
    source = RealDispSource(walk, split)
    train, test = source.rows(0, 1)
    assert (len(train), len(test)) == (600, 1400)
    nearest = np.abs(train[:, None] - test[None, :]).min()
    assert nearest > 25 if split == "blocked" else nearest == 1
    task = source.task(0, 1)
    assert np.array_equal(task.truth == HIDDEN, walk.y[test] == 2)
    assert np.array_equal(task.y[walk.y[train] == 3], np.ones(int((walk.y[train] == 3).sum())))


def test_realdisp_input(walk, tmp_path):
    np.savez(tmp_path / "walk.npz", y=walk.y, t=walk.t, **walk.views)
    assert len(read_source(tmp_path / "walk.npz")) == 3600
    with pytest.raises(ValueError, match="split must be one of random, blocked"):
        RealDispSource(walk, "by hand")
    few = RealDisp({name: values[:10] for name, values in walk.views.items()}, walk.y[:10], walk.t[:10])
    with pytest.raises(ValueError, match="takes 2000 rows; the data have 10"):
        RealDispSource(few)
    np.savez(tmp_path / "few.npz", y=few.y, t=few.t, **few.views)
    with pytest.raises(ValueError, match="needs at least 3 sensors and the activities 1, 2, 3"):
        read_source(tmp_path / "few.npz")
