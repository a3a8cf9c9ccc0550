"""Pointwise claims on random parameters: the grids of the registry are not lucky."""

import dataclasses
import math
from fractions import Fraction

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from theory.claims import get

F = Fraction


def fractions(low, high):
    return st.fractions(min_value=low, max_value=high, max_denominator=60)


THETA = st.fractions(min_value=F(1, 100), max_value=F(49, 100), max_denominator=100)
SHARE = fractions(0, 1)
BALL = fractions(F(1, 20), 4)
POINT = {"h": fractions(-5, 5), "g": fractions(-5, 5), "y": st.sampled_from((-1, 1)), "theta": THETA}
SPLIT = {"sampled": SHARE, "train": SHARE, "theta": THETA, "radius": BALL}
DECOMPOSITION = {"eta": SHARE, **SPLIT}
BUDGET = {"B": st.integers(2000, 10**6), "K": st.integers(2, 300)}


@st.composite
def affine(draw, factor, power_of_two=False):
    """(n, K, gap, theta, r) in the affine regime, with the identification condition met."""
    theta = draw(st.floats(0.01, 0.45))
    r = draw(st.floats(0.05, 1)) * (1 - 2 * theta)
    gap = draw(st.floats(0.05, 1)) * r
    launch = factor * ((1 - theta) / (1 - 2 * theta) * r / gap) ** 2
    n = math.floor(launch * draw(st.floats(1, 50))) + 1
    K = 2 ** draw(st.integers(1, 6)) if power_of_two else draw(st.integers(2, 64))
    return {"n": n, "K": K, "gap": gap, "theta": theta, "r": r}


def drop(strategy, *names):
    return strategy.map(lambda case: {key: value for key, value in case.items() if key not in names})


def extend(strategy, **more):
    return st.tuples(strategy, st.fixed_dictionaries(more)).map(lambda pair: {**pair[0], **pair[1]})


AS_PRINTED = {
    "eq-2-upper-bound": st.fixed_dictionaries(POINT),
    "eq-3-quadratic-program": st.fixed_dictionaries(POINT),
    "r-ap": st.fixed_dictionaries({"eta": SHARE, "theta": THETA, "radius": BALL}),
    "a2-step-1": st.fixed_dictionaries(DECOMPOSITION),
    "a2-term-c": st.fixed_dictionaries(DECOMPOSITION),
    "a4-identity": st.fixed_dictionaries(SPLIT),
    "a6-split": st.fixed_dictionaries(SPLIT),
    "a6-drop": st.fixed_dictionaries(SPLIT),
    "ua-allocation": st.fixed_dictionaries(BUDGET),
    "me-spend": st.fixed_dictionaries(BUDGET),
    "me-largest-sample": st.fixed_dictionaries(BUDGET),
    "thm-1-decay": affine(64),
    "a2-quarter": affine(64),
    "a3-numerator": affine(64),
    "a3-quarter": affine(64, power_of_two=True),
    "a3-delta": affine(64, power_of_two=True),
    "a3-denominator-1": affine(64),
    "a3-denominator-2": affine(64),
    "a5-series-1": st.fixed_dictionaries({"T": st.integers(1, 12), "q": st.floats(1e-6, 0.999)}),
    "a5-series-2": st.fixed_dictionaries({"T": st.integers(1, 60), "q": st.floats(1e-6, 0.999)}),
    "a2-step-4": st.fixed_dictionaries({"m": st.just(1), "theta": st.floats(0.001, 0.49), "r": st.floats(0.01, 50)}),
    "a6-conclusion": drop(affine(16), "K"),
    "hypothesis-ball": st.fixed_dictionaries(
        {"features": st.lists(fractions(-3, 3), min_size=1, max_size=4).map(tuple), "radius": BALL}
    ),
    "a3-absolute-constant": affine(64),
}
CORRECTED = {
    "surrogate-does-no-harm": st.fixed_dictionaries({"eta": SHARE, "theta": THETA}),
    "eq-8": st.fixed_dictionaries(DECOMPOSITION),
    "eq-8-term-c": st.fixed_dictionaries(DECOMPOSITION),
    "eq-4-value": st.fixed_dictionaries({"eta": SHARE, "theta": THETA}),
    "me-one-left": st.fixed_dictionaries({"K": st.integers(2, 10**6)}),
    "me-sample-count": st.fixed_dictionaries(BUDGET),
    "thm-1-delta-order": affine(64),
    "a2-delta-line-2": affine(64),
    "a2-step-4": AS_PRINTED["a2-step-4"],
    "a5-wlog": st.fixed_dictionaries({"B": st.just(10**7), "K": st.integers(2, 300), "q": st.floats(1e-6, 1 / 9)}),
    "me-draw": st.fixed_dictionaries(
        {"K": st.integers(2, 40), "m": st.integers(10, 900), "ratio": fractions(F(1, 10), 1)}
    ),
}


@pytest.mark.parametrize("claim_id", sorted(AS_PRINTED))
def test_holds_as_printed_on_random_parameters(claim_id):
    examine(claim_id, AS_PRINTED[claim_id], "check")


@pytest.mark.parametrize("claim_id", sorted(CORRECTED))
def test_corrected_statement_holds_on_random_parameters(claim_id):
    examine(claim_id, CORRECTED[claim_id], "check_corrected")


def examine(claim_id, cases, check):
    claim = get(claim_id)

    @given(case=cases)
    @settings(max_examples=60)
    def prop(case):
        verdict = getattr(dataclasses.replace(claim, cases=(case,)), check)()
        assert verdict.outcome == "consistent", verdict.sentence

    prop()
