"""The paired study: it finds what is there, and does not find what is not."""

from __future__ import annotations

import csv
from dataclasses import replace

import numpy as np
from click.testing import CliRunner

from exml_sim.engine import Sampling, build_pool
from exml_sim.engine.runner import run
from exml_sim.strategies import MedianElimination, TopTwo
from simulations.adaptive_vs_halving import (
    STRATEGIES,
    close_rival,
    close_rival_features,
    comparisons,
    equal_gaps,
    main,
    make_study,
)


def small(pool, per_arm, trials, **options):
    return run(make_study("small", (pool,), (per_arm,), trials, **options), n_jobs=1, progress=False)


def test_top_two_beats_median_elimination_with_one_close_rival():
    with small(close_rival(16), 100, 8_000) as result:
        (line,) = comparisons(result)
        halving, adaptive = result.summary()
    assert line.endswith("top two better")
    assert line.startswith("close rival, K=16, B=1600: median elimination fails 0.0")
    assert adaptive.failures < 0.7 * halving.failures


def test_it_does_not_with_equal_gaps_and_little_money():
    with small(equal_gaps(16), 50, 8_000) as result:
        assert next(comparisons(result)).endswith(": median elimination better")


def test_a_few_trials_decide_nothing():
    with small(close_rival(8), 25, 50) as result:
        assert next(comparisons(result)).endswith(": undecided")


def test_a_rule_against_itself_is_never_discordant():
    study = make_study("same", (close_rival(8),), (25,), 2_000)
    other = replace(STRATEGIES[0], options=(("accumulate", not dict(STRATEGIES[0].options)["accumulate"]),))
    with run(replace(study, strategies=(STRATEGIES[0], other)), n_jobs=1, progress=False) as result:
        pair = result.compare(0, 0)
        assert (pair.only_first, pair.only_second, pair.p_value) == (0, 0, 1.0)
        assert result.compare(0, 1).p_value < 1.0


def test_counts_are_those_of_the_two_rules_on_the_same_pulls():
    with small(close_rival(8), 50, 300, seed=5) as result:
        pair, cells = result.compare(0, 1), result.study.cells()
        rules = [type(result.study.strategy(cell)) for cell in cells]
        first, second = (
            np.array([result.replay(cell.index, trial).selected != 0 for trial in range(300)]) for cell in cells
        )
        failures = [one.failures for one in result.summary()]
    assert rules == [MedianElimination, TopTwo]
    assert failures == [first.sum(), second.sum()]
    assert (pair.only_first, pair.only_second) == ((first & ~second).sum(), (second & ~first).sum())
    assert pair.only_first > 0


def test_feature_pool_has_one_close_rival():
    study = make_study("features", (close_rival_features(16),), (50,), 1)
    pool = build_pool(study.pools[0], study.scores[0], Sampling())
    gaps = np.sort(pool.gaps)
    assert pool.best_arms() == (0,)
    assert gaps[1] < 0.5 * gaps[2]


def test_leaves_tables_and_stores(tmp_path):
    done = CliRunner().invoke(main, ["--out", str(tmp_path), "--trials", "20", "--feature-trials", "2"])
    assert done.exit_code == 0, done.output
    assert done.output.count("median elimination fails") == 9 + 4 + 3
    for name, cells in (("close-rival", 18), ("equal-gaps", 8), ("close-rival-features", 6)):
        assert (tmp_path / f"{name}.sqlite").exists()
        assert len(list(csv.DictReader((tmp_path / f"{name}.csv").open()))) == cells
