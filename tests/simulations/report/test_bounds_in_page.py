"""The bounds that the page computes are those of `theory`, in a real browser."""

from __future__ import annotations

import math
from importlib.resources import files

import numpy as np
import pytest

from tests.simulations.report.grid import (
    EVALUATE,
    THEORY,
    arguments,
    cases,
    differences,
    expected,
    only_the_largest_gap_is_impossible,
    points,
    possible,
    read,
)
from theory.budgets import launch_budget, required_budget
from theory.formulas import first_round_pulls


@pytest.fixture(scope="module")
def source() -> str:
    return (files("simulations.report") / "assets" / "bounds.js").read_text(encoding="utf-8")


@pytest.fixture(scope="module")
def small():
    chosen = cases(120, seed=1)
    return chosen, expected(chosen)


def test_every_bound_is_equal_over_a_grid(visit, html) -> None:
    chosen = cases(600)
    wanted = expected(chosen)
    told = np.array(wanted)
    # Neither side may win by saying nothing: every bound must be informative, vacuous and NaN often enough.
    for pair in THEORY:
        mine = told[[i for i, case in enumerate(chosen) if case[:2] == pair]]
        assert np.sum(mine < 0) > 60
        assert np.sum(mine >= 0) > 20
        assert np.sum(np.isnan(mine)) > 60
    assert sum(only_the_largest_gap_is_impossible(point) for _, _, point in chosen) > 60
    wrong = differences(read(visit(html).evaluate(EVALUATE, chosen)), wanted)
    assert [chosen[i] for i in wrong] == []


MUTANTS = {
    "const PAPER_RATE = 2 / 9": "const PAPER_RATE = 2 / 8",
    "Math.log(PAPER_PREFACTOR * (point.K - 1))": "Math.log(PAPER_PREFACTOR * point.K)",
    "(2 * rademacher(point.theta) * point.r) / Math.sqrt(n)": "(rademacher(point.theta) * point.r) / Math.sqrt(n)",
    "const LAUNCH_LEMMAS = 16": "const LAUNCH_LEMMAS = 64",
    "Math.max(margin, 0) / spread(point.theta, point.r)": "Math.max(margin, 0) / rise(point.theta, point.r)",
    "point.K - bestArms(point)": "point.K - 1",
    "accumulated += pulls": "accumulated = pulls",
    "const kept = Math.floor((active + 1) / 2)": "const kept = Math.max(1, Math.floor(active / 2))",
    "const steep = Math.max(slope(theta) ** 2, 0.5)": "const steep = 0.5",
    "Math.SQRT2 * Math.max(1, slope(theta)) * r": "2 * Math.max(1, slope(theta)) * r",
    'tail.pairing === "independent" ? 1 : 0.5': "0.5",
    "stiffness *= permutationGain(rows, m)": "stiffness *= 1",
    "const logWeight = -Math.log(kept - dropped)": "const logWeight = -Math.log(kept)",
    "tail.rows * entropy": "0",
    "CEILING_TOLERANCE) - largestGap(point)": "CEILING_TOLERANCE) - smallestGap(point)",
}


@pytest.mark.parametrize("right", MUTANTS)
def test_a_planted_error_is_seen(browser, source, small, right) -> None:
    assert right in source
    tab = browser.new_page()
    try:
        tab.evaluate(source.replace(right, MUTANTS[right]))
        assert differences(read(tab.evaluate(EVALUATE, small[0])), small[1])
    finally:
        tab.close()


def test_the_unplanted_source_passes_the_same_cases(browser, source, small) -> None:
    tab = browser.new_page()
    tab.evaluate(source)
    assert differences(read(tab.evaluate(EVALUATE, small[0])), small[1]) == []
    tab.close()


def test_rows_of_the_first_round_are_exact(visit, html) -> None:
    """Next to a convergent of log2 K the quotient is closer to a whole number than floating point can tell."""
    pairs = [[B, K] for K in range(2, 65) for B in (K, 1000, 10**6 + 7, 10**12 + 1)]
    # Convergents p/q of log2 K give budgets q K log2 K that are nearly whole.
    for K in (3, 5, 6, 7, 11, 60):
        fraction, high, low, top, bottom = math.log2(K), 1, 0, 0, 1
        for _ in range(14):
            whole = math.floor(fraction)
            top, high = high, whole * high + top
            bottom, low = low, whole * low + bottom
            pairs += [[K * high + shift, K] for shift in (-1, 0, 1)]
            if fraction == whole:
                break
            fraction = 1 / (fraction - whole)
    pairs = [pair for pair in pairs if 0 < pair[0] < 2**52]
    found = visit(html).evaluate("pairs => pairs.map(([B, K]) => exml.bounds.firstRoundPulls(B, K))", pairs)
    assert found == [int(first_round_pulls(B, K)) for B, K in pairs]


def test_required_and_launch_budgets_are_equal(visit, html) -> None:
    tab = visit(html)
    count = 0
    for point in points(8, seed=2):
        for level, strategy in THEORY:
            parameters = arguments(level, strategy, point)
            for question, ask in (
                ("requiredBudget", lambda b, p: required_budget(b, 0.05, **p)),
                ("launchBudget", lambda b, p: launch_budget(b, **p)),
            ):
                try:
                    wanted = ask(THEORY[level, strategy], parameters) if possible(point) else None
                except ValueError:
                    wanted = None
                code = f"([l, s, p]) => exml.bounds.{question}(l, s, p, 0.05)"
                found = tab.evaluate(code, [level, strategy, point])
                assert (None if found is None or math.isnan(found) else found) == wanted, (level, strategy, point)
                count += wanted is not None
    assert count > 40
