"""A point asks the right functions with the right arguments, and says why it does not ask."""

from __future__ import annotations

import re
from dataclasses import replace

import numpy as np
import pytest

from theory import BoundProblem, compare_bounds, corrected, paper, tighter
from theory.budgets import launch_budget, required_budget
from theory.versions import VERSIONS, Version, version_of

B = np.array([400, 40_000])


def test_bounds_are_those_of_the_theory() -> None:
    problem = BoundProblem(
        4, None, 0.1, 0.5, gaps=(0.0, 0.1, 0.2), kernel="nonnegative", rows="fresh", pairing="independent"
    )  # fmt: skip
    point = {"K": 4, "theta": 0.1, "kappa_lambda": 0.5}
    wanted = {
        "paper": paper.delta_fail_median(B, gap=0.1, **point, strict=False),
        "corrected": corrected.delta_fail_median(B, gap=0.1, best_count=2, rows="fresh", **point, strict=False),
        "tighter": tighter.delta_fail_median(
            B, gap=None, gaps=[0.0, 0.1, 0.2], rows="fresh", pairing="independent", kernel="nonnegative", **point
        ),
    }
    assert (*wanted, "population") == tuple(VERSIONS)
    assert problem.declined("population", "median")
    for version, values in wanted.items():
        np.testing.assert_array_equal(problem.bound(version, "median", B), values)
        np.testing.assert_allclose(problem.bound(version, "median", B, log=True), np.log(values), rtol=1e-12)
        assert np.isfinite(problem.bound(version, "median", problem.launch_budget(version, "median")))
    assert [float(value.value) for value in problem.compare("median", 40_000)][-1] == wanted["tighter"][1]
    assert np.isnan(problem.bound("paper", "median", problem.launch_budget("paper", "median") - 1))


def test_inverses_are_those_of_the_theory() -> None:
    problem = BoundProblem(8, 0.2, 0.1, 0.5, best_count=2, population=3000)
    given = {"K": 8, "gap": 0.2, "theta": 0.1, "kappa_lambda": 0.5, "best_count": 2}
    assert problem.required("corrected", "uniform", 0.01) == required_budget(
        corrected.delta_fail_uniform, 0.01, **given
    )
    ours = {**given, "population": 3000}
    assert problem.required("tighter", "uniform", 0.01) == required_budget(tighter.delta_fail_uniform, 0.01, **ours)
    assert problem.launch_budget("tighter", "median") == launch_budget(tighter.delta_fail_median, **ours)
    assert problem.informative("tighter", "uniform") < problem.required("tighter", "uniform", 0.01)
    # More pulls than a whole number of them is exact for.
    assert BoundProblem(8, 1e-9, 0.1, 0.5).required("paper", "uniform", 0.05) is None


def test_no_bound_is_about_a_pool_that_cannot_exist() -> None:
    """The smallest gap is below the ceiling 0.06, the largest is not: the first two versions see only the former."""
    problem = BoundProblem(3, None, 0.1, 0.06, gaps=(0.054, 0.08))
    assert not problem.possible
    assert corrected.delta_fail_uniform(50_000, 3, 0.054, 0.1, 0.06) < 1e-100
    for version in VERSIONS:
        assert np.isnan(problem.bound(version, "uniform", [50_000])).all()
        budgets = (problem.required(version, "uniform", 0.05), problem.launch_budget(version, "uniform"))
        assert (*budgets, problem.informative(version, "uniform")) == (None, None, None)
    assert BoundProblem(3, None, 0.1, 0.06, gaps=(0.054, 0.06)).required("corrected", "uniform", 0.05) is not None


@pytest.mark.parametrize("strategy", ["uniform", "median"])
def test_one_gap_for_all_is_the_same_gap_for_each(strategy) -> None:
    each = BoundProblem(8, None, 0.1, 0.5, gaps=(0.2,) * 7, population=2000)
    same = BoundProblem(8, 0.2, 0.1, 0.5, population=2000)
    assert each.one_gap == same
    for version in VERSIONS:
        assert same.launch_budget(version, strategy) == each.launch_budget(version, strategy)
        assert same.required(version, strategy, 0.05) == each.required(version, strategy, 0.05)
        bounds = [point.bound(version, strategy, [9000]) for point in (same, each)]
        np.testing.assert_allclose(*bounds, rtol=1e-9)


def test_gaps_count_ties_and_the_smallest() -> None:
    problem = BoundProblem(4, None, 0.1, 0.5, gaps=[0.3, 0.0, 0.1])
    assert (problem.gap, problem.best_count, problem.gaps) == (0.1, 2, (0.3, 0.0, 0.1))
    assert (problem.one_gap.gap, problem.one_gap.best_count, problem.one_gap.gaps) == (0.1, 2, None)
    assert replace(problem, theta=0.2).gap == 0.1


@pytest.mark.parametrize(
    ("call", "word"),
    [
        (lambda: BoundProblem(3, None, 0.1, 0.5), "either gap"),
        (lambda: compare_bounds(9, 3, 0.2, 0.1, 0.5, gaps=[0.2, 0.2]), "either gap"),
        (lambda: BoundProblem(3, 0.3, 0.1, 0.5, gaps=(0.1, 0.3)), "smallest positive of gaps, 0.1, got 0.3"),
        (lambda: BoundProblem(3, None, 0.1, 0.5, gaps=(0.0, 0.0)), "at least one of them positive"),
        (
            lambda: BoundProblem(3, 0.1, 0.1, 0.5).bound("newest", "uniform", 9),
            "one of paper, corrected, tighter, population, got 'newest'",
        ),
        (lambda: BoundProblem(3, 0.1, 0.1, 0.5).bound("paper", "halving", 9), '"uniform" or "median", got \'halving\''),
        (lambda: BoundProblem(3, 0.1, 0.7, 0.5).check(), "theta < 1/2"),
        (lambda: BoundProblem(3, None, 0.1, 0.5, gaps=(0.1, 0.9)).check(), "gap <= Delta_max"),
    ],
)
def test_bad_input_is_one_line(call, word) -> None:
    with pytest.raises(ValueError, match=re.escape(word)) as error:
        call()
    assert "\n" not in str(error.value)


def test_a_version_declines_with_a_reason(monkeypatch) -> None:
    entry = Version(
        "shy",
        {"uniform": tighter.delta_fail_uniform},
        VERSIONS["corrected"].arguments,
        needs=("data",),
        declines=lambda point, strategy: "" if point.data == "rows" else "these data are no rows",
    )
    monkeypatch.setitem(VERSIONS, "shy", entry)
    assert version_of("shy").title == "shy bound"
    bare = BoundProblem(8, 0.2, 0.1, 0.5)
    assert bare.declined("shy", "uniform") == "the shy bound needs data, which this problem does not have"
    assert bare.declined("shy", "median") == "there is no shy bound for median"
    assert replace(bare, data="columns").declined("shy", "uniform") == "these data are no rows"
    assert np.isnan(bare.bound("shy", "uniform", B)).all()
    assert bare.required("shy", "uniform", 0.05) is None
    assert "shy" not in {value.name for value in bare.compare("uniform", 16_000)}
    last = replace(bare, data="columns").compare("uniform", 16_000)[-1]
    assert (last.name, last.vacuous, last.note) == ("shy", True, "these data are no rows")
    known = replace(bare, data="rows")
    assert known.declined("shy", "uniform") == ""
    assert known.bound("shy", "uniform", 16_000) == bare.bound("tighter", "uniform", 16_000)
