"""Pools from a person's own files, arms that go together, arms drawn anew, grids, and precision in place of trials."""

from __future__ import annotations

from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from exml_sim.bandit._arms import Pulls, add_bernoulli
from exml_sim.bandit.parametric import RandomInstancePool, RandomMeanArm
from exml_sim.engine import Study, run
from exml_sim.engine.pools import FAMILIES, FamilyPool
from exml_sim.seeds import Seeds
from exml_sim.testing._properties import agrees

ALPHA = 1e-7
SPARSE = {"kind": "family", "direction": "minimise", "best": 0.3, "family": "sparse"}
BASE: dict[str, Any] = {"strategies": ["uniform_allocation"], "budgets": {"per_arm": [8]}, "trials": 40}


def table(rows: int = 24) -> dict[str, Any]:
    rng = np.random.default_rng(0)
    y = np.tile([1, 0], rows // 2)
    return {
        "age": rng.normal(size=rows).round(3), "test a": (y + rng.normal(size=rows)).round(3),
        "test b": rng.normal(size=rows).round(3), "sick": y,
    }  # fmt: skip


def written(folder: Path, suffix: str, columns: dict[str, Any]) -> None:
    file = folder / f"people.{suffix}"
    if suffix == "csv":
        lines = [",".join(columns), *(",".join(map(str, row)) for row in zip(*columns.values(), strict=True))]
        file.write_text("\n".join(lines) + "\n", encoding="utf-8")
    else:
        pa = pytest.importorskip("pyarrow")
        import pyarrow.parquet as pq

        pq.write_table(pa.table(columns), file)


POOL = """
strategies = ["median_elimination"]
trials = 20
[[pools]]
kind = "table"
file = "people.SUFFIX"
target = "sick"
observed = ["age"]
candidates = ["test a", ["test b", "age"]]
costs = ["1", "2.5"]
[[scores]]
theta = 0.3
ball = 0.4
[budgets]
per_arm = [6]
"""


@pytest.mark.parametrize("suffix", ["csv", "parquet"])
def test_a_table_needs_no_python(suffix: str, tmp_path: Path) -> None:
    columns = table()
    written(tmp_path, suffix, columns)
    (tmp_path / "study.toml").write_text(POOL.replace("SUFFIX", suffix), encoding="utf-8")
    study = Study.from_toml(tmp_path / "study.toml")
    pool: Any = study.pool(study.cells()[0])
    assert pool.names == ("test a", "test b + age")
    assert [float(cost) for cost in pool.costs] == [1.0, 2.5]
    np.testing.assert_array_equal(pool.population.y, 2 * columns["sick"] - 1)
    np.testing.assert_array_equal(pool.population.X[:, 0], columns["age"])
    np.testing.assert_array_equal(
        pool.population.candidates[1].values, np.column_stack([columns["test b"], columns["age"]])
    )
    path = tmp_path / "store.sqlite"
    run(study, store=path, progress=False, n_jobs=1).close()
    written(tmp_path, suffix, table() | {"age": np.zeros(24)})
    with pytest.raises(ValueError, match="has changed"):
        run(Study.from_toml(tmp_path / "study.toml"), store=path, progress=False)


BAD: dict[str, tuple[dict[str, Any], str]] = {
    "no file": ({"file": "none.csv"}, "there is no file 'none.csv'"),
    "suffix": ({"file": "people.txt"}, "must be a .csv or .parquet file"),
    "column": ({"candidates": ["nothing"]}, "has no column 'nothing'"),
    "label": ({"target": "age"}, "must have two values"),
    "text": ({"candidates": ["word"]}, "has 'x' in row 1: no number"),
    "twice": ({"file": "twice.csv"}, "two columns have one name"),
    "longer": ({"file": "longer.csv"}, "longer.csv cannot be read"),
    "shorter": ({"file": "shorter.csv", "candidates": ["b"], "costs": None}, "has '' in row 2: no number"),
    "empty": ({"file": "empty.csv"}, "empty.csv cannot be read"),
    "no rows": ({"file": "header.csv"}, "it has no rows"),
    "underscore": ({"candidates": ["code"]}, "has '1_000' in row 1: no number"),
    "costs": ({"costs": ["1"]}, "must be one for each of 2 candidates"),
}


@pytest.mark.parametrize("case", BAD)
def test_bad_tables_are_told_in_one_line(case: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    written(tmp_path, "csv", table() | {"word": ["x"] * 24, "code": ["1_000"] * 24})
    texts = {"twice": "sick,b,b\n1,2,3\n", "longer": "sick,b\n1,2\n0,1,5\n", "shorter": "sick,b\n1,2\n0\n"}
    for name, text in (texts | {"empty": "", "header": "sick,b\n"}).items():
        (tmp_path / f"{name}.csv").write_text(text, encoding="utf-8")
    change, message = BAD[case]
    pool = {"kind": "table", "file": "people.csv", "target": "sick", "candidates": ["test a", "test b"]} | change
    with pytest.raises(ValueError, match=message) as caught:
        Study.from_table(BASE | {"pools": [pool], "scores": [{"theta": 0.3, "ball": 0.4}]}).cells()
    assert "\n" not in str(caught.value)


def test_rewards_that_were_seen(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Three rows: independent arms tie or cross, arms that read the same row never do."""
    monkeypatch.chdir(tmp_path)
    (tmp_path / "seen.csv").write_text("a,b\n1,0.5\n0,-0.5\n0.5,0\n", encoding="utf-8")
    pools = [{"kind": "rewards", "file": "seen.csv", "rows": rows, "label": rows} for rows in ("independent", "same")]
    study = Study.from_table(BASE | {"pools": pools, "trials": 400, "budgets": {"per_arm": [2]}})
    with run(study, progress=False, n_jobs=1) as result:
        apart, together = result.summary()
    assert together.failures == 0
    # Exactly: sums of two draws each from {1, 0, 0.5} and {0.5, -0.5, 0}; the first arm wins ties and is the best.
    seen = [(a, b) for a in (1, 0, 0.5) for b in (1, 0, 0.5)]
    lost = sum(sum(x) < sum(y) - 1 for x in seen for y in seen) / 81
    assert agrees(apart.failures, 400, lost, ALPHA)


def test_correlated_arms_are_told_apart_sooner() -> None:
    from scipy.stats import norm

    arms = {"kind": "parametric", "direction": "minimise", "means": [0.5, 0.0], "sd": 1.0}
    pools = [arms | {"correlation": c, "label": str(c)} for c in (0.0, 0.75)]
    study = Study.from_table(BASE | {"pools": pools, "trials": 4000})
    with run(study, progress=False, n_jobs=1) as result:
        for entry, correlation in zip(result.summary(), (0.0, 0.75), strict=True):
            p = float(norm.sf(0.5 * np.sqrt(8) / np.sqrt(2 * (1 - correlation))))
            assert agrees(entry.failures, 4000, p, ALPHA)


def test_arms_drawn_anew_are_judged_on_their_own_means() -> None:
    """The slow path: the pulls of every trial alone, with the means that it drew."""
    pool = RandomInstancePool([RandomMeanArm(0.0, 1.0) for _ in range(3)], direction="minimise")
    batch = pool.explore_many("uniform_allocation", 30, 50, seed=4)
    success, regret = pool.outcomes(batch.seeds, batch.selected, "risk")
    for trial in range(50):
        seeds = Seeds.of(4, trial)
        means = [float(arm.means(seeds.key, seeds.trials, i + 1)[0]) for i, arm in enumerate(pool.arms)]
        sums = np.zeros((3, 1))
        for i, mean in enumerate(means):
            pulls = Pulls(seeds.key, seeds.trials, np.uint64(i + 1), np.array([0]), np.array([10]))
            add_bernoulli(pulls, np.array([int(Fraction(mean) * 2**64)], dtype=np.uint64), sums[i])
        selected = batch.selected[trial, 0]
        assert sums[selected] == sums.min()
        assert success[trial] == (means[selected] == min(means))
        assert regret[trial] == pytest.approx(means[selected] - min(means), abs=1e-15)
    study = Study.from_table(
        BASE | {"pools": [{"kind": "random_instance", "direction": "minimise", "K": 3}], "seed": 4}
    )
    assert 0.0 <= run(study, progress=False, n_jobs=1).summary()[0].failure_rate < 0.7


@pytest.mark.parametrize("family", FAMILIES)
def test_families_have_the_gap_they_are_told(family: str) -> None:
    for K in (1, 2, 3, 8, 128):
        pool = FamilyPool(family, K, 0.05, cost_ratio="3").pool()
        assert pool.best_arms() == (K - 1,)
        assert K == 1 or pool.gap == pytest.approx(0.05)
        assert pool.costs[-1] == (3 if K > 1 else 1)


def test_a_grid_is_written_out_with_readable_names() -> None:
    study = Study.from_table(BASE | {"pools": [SPARSE | {"sweep": {"K": [4, 8], "gap": [0.05, 0.08]}}]})
    points = [(K, gap, f"sparse, K = {K}, gap = {gap}") for K in (4, 8) for gap in (0.05, 0.08)]
    assert [pool.label for pool in study.pools] == [label for _, _, label in points]
    long = [{**SPARSE, "K": K, "gap": gap, "label": label} for K, gap, label in points]
    assert Study.from_table(BASE | {"pools": long}).hash == study.hash
    rows = {"pools": [{"kind": "synthetic", "per_class": 8}]}
    swept = Study.from_table(BASE | rows | {"scores": [{"sweep": {"theta": [0.1, 0.3], "ball": [0.4]}}]})
    assert [score.label for score in swept.scores] == ["ball 0.4, theta 0.1", "ball 0.4, theta 0.3"]


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"pools": [SPARSE | {"sweep": {"arms": [4]}}]}, "unknown option of family pool 'arms'"),
        ({"pools": [SPARSE | {"sweep": {"K": 4}}]}, "K of sweep must be a list"),
        ({"pools": [SPARSE | {"sweep": {"family": ["sparse"]}}]}, "family is both in the sweep and beside it"),
        ({"strategy": "top_two"}, "give strategy or strategies"),
    ],
)
def test_short_forms_that_make_no_sense(change: dict[str, Any], message: str) -> None:
    with pytest.raises(ValueError, match=message):
        Study.from_table(BASE | {"pools": [SPARSE]} | change)


@pytest.mark.parametrize("distribution", ["bernoulli", "gaussian"])
def test_random_instances_with_a_fixed_confidence_strategy(distribution: str) -> None:
    pool = {"kind": "random_instance", "K": 5, "distribution": distribution}
    study = Study.from_table(BASE | {"pools": [pool], "strategies": ["kl_lucb"], "mode": "fixed_confidence"})
    with run(study, progress=False, n_jobs=1) as result:
        assert 0.0 <= result.summary()[0].failure_rate <= 0.2
