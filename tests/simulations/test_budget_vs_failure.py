"""The main study, small."""

from __future__ import annotations

import csv
import io

import numpy as np
import pytest
from scipy import stats

from simulations import budget_vs_failure as study


@pytest.fixture(scope="module")
def pool():
    return study.make_pool()


@pytest.fixture(scope="module")
def cells():
    return study.run(300, n_jobs=2, budgets=(24, 128, 1024))


def test_every_cell_is_there_and_does_not_depend_on_threads(cells) -> None:
    assert [(c.strategy, c.budget) for c in cells] == [(s, b) for b in (24, 128, 1024) for s in ("uniform", "median")]
    assert study.run(300, n_jobs=1, budgets=(24, 128, 1024)) == cells


def test_failures_become_rare(cells) -> None:
    """At 1024 the rates are below 0.002; more than 15 failures in 300 trials then has probability below 1e-15."""
    assert stats.binom.sf(15, 300, 0.002) < 1e-15
    assert all(c.failures <= 15 for c in cells if c.budget == 1024)


def test_intervals() -> None:
    assert study.Cell("uniform", 8, 100, 0).interval()[0] == 0.0
    low, high = study.Cell("uniform", 8, 100, 7).interval()
    assert stats.binom.sf(6, 100, low) == pytest.approx(0.005)
    assert stats.binom.cdf(7, 100, high) == pytest.approx(0.005)
    assert study.Cell("uniform", 8, 5, 5).interval()[1] == 1.0


def test_required_budgets_are_the_smallest(pool, cells) -> None:
    found = study.needs(cells, pool, "uniform")
    for level in ("paper", "corrected", "tighter"):
        at = getattr(found, level)
        here, before = study.bound(level, "uniform", pool, np.array([at, at - 8]))
        assert here <= study.TARGET
        assert not before <= study.TARGET
    assert found.tighter < found.corrected < found.paper


def test_practice_is_none_when_nothing_is_below_the_target(pool) -> None:
    poor = [study.Cell("uniform", 24, 10, 0), study.Cell("uniform", 48, 10, 9)]
    assert study.needs(poor, pool, "uniform").practice is None
    assert "did not reach" in study.sentence([study.needs(poor, pool, "uniform")])


def test_csv_and_picture(pool, cells, tmp_path) -> None:
    rows = list(csv.DictReader(io.StringIO(study.to_csv(cells, pool))))
    assert len(rows) == len(cells)
    assert float(rows[0]["rate"]) == cells[0].rate
    picture = study.figure(cells, pool)
    picture.savefig(tmp_path / "x.png")
    assert len(picture.axes) == 2
