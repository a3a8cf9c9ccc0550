"""The tightness report."""

import csv
import io
import math

from simulations.falsify.pools import PoolInstance
from simulations.falsify.targets import get, known_pools
from simulations.falsify.targets.selection import UNIFORM_FAILURE, target
from simulations.falsify.tightness import LEVEL, table, to_csv, to_markdown
from theory.population import delta_fail_uniform


def test_the_report_gives_the_largest_ratio_where_the_bound_is_informative():
    told = []
    rows = table([get("tighter.lemma_4"), get("a5-count-3")], evaluations=250, done=told.append)
    assert told == rows
    ours, count = rows
    assert not ours.violated
    assert 0 < ours.ratio < 1
    assert float(ours.bound) <= LEVEL
    assert math.isclose(ours.ratio, float(ours.observed) / float(ours.bound), rel_tol=1e-3)
    assert count.violated
    assert count.ratio == 2
    lines = to_markdown(rows).splitlines()
    assert lines[2].startswith("| `tighter.lemma_4` | holds | ")
    assert lines[3].startswith("| `a5-count-3` | violated | 2 | ")
    lines = list(csv.DictReader(io.StringIO(to_csv(rows))))
    assert [row["id"] for row in lines] == ["tighter.lemma_4", "a5-count-3"]
    assert float(lines[0]["ratio"]) == ours.ratio
    assert lines[0]["where"] == ours.where


def test_no_informative_instance_is_said_so():
    rows = table([get("lemma-4-kappa/repaired")], evaluations=5)
    assert math.isnan(rows[0].ratio) or rows[0].ratio <= 1


def test_a_bound_of_the_pool_that_is_too_small_is_found():
    right = get("pool.delta_fail_uniform")

    def bound(one: PoolInstance) -> float:
        return math.log(delta_fail_uniform(known_pools.known(one), one.budget)) - math.log(20.0)

    wrong = target("planted", "a twentieth", known_pools.UNIFORM, UNIFORM_FAILURE, bound, True, first=False)
    ours, planted = table([right, wrong], evaluations=60)
    assert not ours.violated
    assert ours.ratio > 0.05
    assert planted.violated
