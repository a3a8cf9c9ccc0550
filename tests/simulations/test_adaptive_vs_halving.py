"""The paired study: it finds what is there, and does not find what is not."""

import csv

import numpy as np

from exml_sim.strategies import MedianElimination, TopTwo
from simulations.adaptive_vs_halving import (
    close_rival,
    close_rival_features,
    compare,
    equal_gaps,
    main,
    save_figure,
    save_table,
)


def test_top_two_beats_median_elimination_with_one_close_rival():
    pool = close_rival(16)
    cell = compare("close rival", pool, pool.best_set(), 1600, 8_000)
    assert cell.verdict == "top two better"
    assert cell.adaptive_failures < 0.7 * cell.halving_failures


def test_it_does_not_with_equal_gaps_and_little_money():
    pool = equal_gaps(16)
    assert compare("equal gaps", pool, pool.best_set(), 800, 8_000).verdict == "median elimination better"


def test_a_rule_against_itself_is_never_discordant():
    pool = close_rival(8)
    cell = compare("same", pool, pool.best_set(), 200, 2_000, adaptive=MedianElimination())
    assert (cell.only_halving, cell.only_adaptive, cell.p_value, cell.verdict) == (0, 0, 1.0, "undecided")


def test_counts_are_those_of_the_two_runs():
    pool = close_rival(8)
    cell = compare("close rival", pool, (0,), 400, 1_000, seed=5)
    halving = pool.explore_many(MedianElimination(), 400, 1_000, seed=5).selected[:, 0] != 0
    adaptive = pool.explore_many(TopTwo(), 400, 1_000, seed=5).selected[:, 0] != 0
    assert (cell.halving_failures, cell.adaptive_failures) == (halving.sum(), adaptive.sum())
    assert (cell.only_halving, cell.only_adaptive) == (
        (halving & ~adaptive).sum(),
        (adaptive & ~halving).sum(),
    )


def test_feature_pool_has_one_close_rival():
    pool = close_rival_features(16)
    gaps = np.sort(pool.gaps)
    assert pool.best_set() == (0,)
    assert gaps[1] < 0.5 * gaps[2]


def test_leaves_a_table_and_a_figure(tmp_path):
    pool = close_rival(8)
    cells = [compare("close rival", pool, (0,), budget, 200) for budget in (100, 200)]
    save_table(cells, tmp_path / "summary.csv")
    save_figure(cells, tmp_path / "figure.png")
    lines = list(csv.DictReader((tmp_path / "summary.csv").open()))
    assert [line["budget"] for line in lines] == ["100", "200"]
    assert (tmp_path / "figure.png").stat().st_size > 1000


def test_runs_from_the_command_line(tmp_path, capsys):
    main(["--out", str(tmp_path), "--trials", "20", "--feature-trials", "2"])
    assert (tmp_path / "summary.csv").exists()
    assert (tmp_path / "failure_rates.png").exists()
    assert "median elimination fails" in capsys.readouterr().out
