"""The benchmark of purchases: situations are what they say, the judgement counts right, and a short form runs."""

import sys
from dataclasses import replace
from fractions import Fraction

import numpy as np
import pytest

from benchmarks.practice import __main__ as command
from benchmarks.practice.judgement import bars, complete, table, values, worse
from benchmarks.practice.situations import SETTINGS, Setting, situation
from benchmarks.practice.tables import TABLES
from benchmarks.practice.ways import NAIVE, ONE

SMALL = [one for one in SETTINGS if one.table in ("iris", "wine")]


def test_enough_tables_and_settings():
    assert len(TABLES) >= 10
    assert sum(TABLES[name]().generated for name in TABLES) <= len(TABLES) // 4
    assert len(SETTINGS) >= 20
    assert len({one.name for one in SETTINGS}) == len(SETTINGS)
    assert {one.known for one in SETTINGS} >= {2, 3, 4}
    assert {one.ratio for one in SETTINGS} >= {Fraction(1, 10), Fraction(1, 5), Fraction(3, 10)}


@pytest.mark.parametrize("setting", [*SMALL, SETTINGS[-1], SETTINGS[-7]], ids=lambda s: s.name)
def test_situations(setting):
    one, again, other = situation(setting, 3), situation(setting, 3), situation(setting, 4)
    np.testing.assert_array_equal(one.X, again.X)
    assert not np.array_equal(one.y, other.y)
    assert set(np.unique(one.y)) == set(range(setting.known))
    assert set(np.unique(one.truth)) == set(range(setting.known + 1))
    assert setting.observed not in one.candidates
    assert one.budget == setting.ratio * len(one.y) * sum(one.costs.values())


def planted(mine, naive):
    """Runs in which the defaults have the accuracy `mine`, every naive way `naive`, candidates 0.5 and 0.7."""
    setting = Setting("iris", "sepal", 2, Fraction(1, 10))
    runs = {}
    for seed in range(4):
        noise = 0.01 * (seed % 2)
        for way, accuracy in {
            "defaults": mine,
            "paper": 0.4,
            ONE + "a": 0.5,
            ONE + "b": 0.7,
            **dict.fromkeys(NAIVE, naive),
        }.items():
            runs[setting.name, seed, way] = accuracy + (noise if way == "defaults" else 0.0)
    return setting, runs


def test_the_bars_count():
    setting, runs = planted(0.65, 0.55)
    assert complete(setting, runs) == [0, 1, 2, 3]
    np.testing.assert_allclose(values(setting, "random candidate", runs, [0, 1]), 0.6)
    text = bars([setting], runs)
    assert "random candidate: 100% of 1 settings, significantly worse in 0" in text
    assert "best naive way: 100%, mean difference +5.50 points" in text
    assert "budget of 10%: 4.50 points" in text
    assert "| 65.5 |" in table([setting], runs)
    setting, runs = planted(0.5, 0.55)
    text = bars([setting], runs)
    assert "random candidate: 0% of 1 settings, significantly worse in 1" in text
    assert "best naive way: 0%" in text


def test_worse_needs_evidence():
    rng = np.random.default_rng(0)
    noise = 0.1 * rng.normal(size=10)
    assert worse(noise - 1.0, noise + 0.1 * rng.normal(size=10))
    assert not worse(noise, noise)
    assert not worse(noise, noise + 0.01 * rng.normal(size=10))
    assert not worse(np.zeros(2), np.ones(2))


def test_the_short_form(tmp_path, monkeypatch, capsys):
    monkeypatch.setattr(command, "SETTINGS", tuple(one for one in SMALL if one.name == "iris/sepal 2+1, 10%"))
    monkeypatch.setattr(sys, "argv", ["practice", "--quick", "--out", str(tmp_path)])
    command.main()
    text = capsys.readouterr().out
    assert "| iris/sepal 2+1, 10% | 2 |" in text
    assert "mean regret to the best candidate" in text
    assert (tmp_path / "practice.png").exists()
    # A second run finds everything done.
    before = (tmp_path / "runs.csv").read_text()
    command.main()
    assert (tmp_path / "runs.csv").read_text() == before


def test_naive_ways_live_with_rows_that_all_carry_one_label():
    task = situation(next(one for one in SETTINGS if one.table == "iris"), 0)
    alike = replace(task, y=np.zeros_like(task.y))
    for way in NAIVE.values():
        assert way(alike, 0) == np.mean(task.truth == 0)
