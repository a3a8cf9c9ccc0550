"""The tightness report."""

import math

from benchmarks.tightness import LEVEL, measure_tightness, to_markdown
from simulations.falsify._target import PoolInstance, log
from simulations.falsify.targets import get
from simulations.falsify.targets._selection import (
    KNOWN_UNIFORM,
    UNIFORM_FAILURE,
    build_target,
    to_population_model,
)
from theory.population import delta_fail_uniform


def test_the_report_gives_the_largest_ratio_where_the_bound_is_informative():
    rows = measure_tightness([get("tighter.lemma_4"), get("a5-count-3")], evaluations=250)
    assert list(rows["over this space"]) == ["holds", "violated"]
    ours, count = rows.itertuples()
    assert 0 < ours.ratio < 1
    assert float(ours.bound) <= LEVEL
    assert math.isclose(ours.ratio, float(ours.observed) / float(ours.bound), rel_tol=1e-3)
    assert math.isclose(count.ratio, 2)
    lines = to_markdown(rows).splitlines()
    assert lines[2].startswith("| `tighter.lemma_4` | holds | ")
    assert lines[3].startswith("| `a5-count-3` | violated | 2 | ")


def test_a_bound_of_the_pool_that_is_too_small_is_found():
    right = get("pool.delta_fail_uniform")

    def bound(pool: PoolInstance) -> float:
        return log(delta_fail_uniform(to_population_model(pool), pool.budget)) - math.log(20.0)

    wrong = build_target("planted", "a twentieth", KNOWN_UNIFORM, UNIFORM_FAILURE, bound)
    rows = measure_tightness([right, wrong], evaluations=60)
    assert list(rows["over this space"]) == ["holds", "VIOLATED"]
    assert rows["ratio"][0] > 0.05
