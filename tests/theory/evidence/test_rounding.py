"""Floating-point bounds are never below their exact values by more than the stated rounding."""

from __future__ import annotations

import dataclasses

import numpy as np
import pytest

from benchmarks.rounding_checks import ALLOWED, CHECKS, compare


@pytest.mark.parametrize("check", CHECKS, ids=lambda check: check.name)
def test_a_few_hundred_points(check):
    deficit = compare(check, 400, np.random.default_rng(7))
    assert deficit.points > 250
    assert deficit.worst <= ALLOWED


@pytest.mark.long
@pytest.mark.parametrize("check", CHECKS, ids=lambda check: check.name)
def test_a_hundred_thousand_points(check):
    assert compare(check, 100_000, np.random.default_rng(8)).worst <= ALLOWED


def test_a_bound_that_is_slightly_too_small_is_caught():
    """Planted: eleven correct digits are not enough."""
    true = next(check for check in CHECKS if check.name == "corrected.lemma_4")
    low = dataclasses.replace(true, floats=lambda p: np.asarray(true.floats(p)) * (1 + 1e-11))
    assert compare(true, 200, np.random.default_rng(9)).worst <= ALLOWED
    assert compare(low, 200, np.random.default_rng(9)).worst > ALLOWED
