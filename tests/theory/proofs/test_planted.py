"""Slightly false variants of true statements: the engine must reject every one and name a point."""

from __future__ import annotations

from dataclasses import replace
from fractions import Fraction

import pytest

from theory.proofs import calibration, counts, events, lemmas, losses, margins, vectors
from theory.proofs.balls import digits
from theory.proofs.formulas import c, theta_of
from theory.proofs.statement import BITS, Cell, Orthant, Part, decide, prove

F = Fraction
EXP = Part(
    "exp(x) >= 1 + x up to one per cent of x",
    Cell((("x", F(1, 100), F(1)),), "0.01 <= x <= 1"),
    lambda m, x: m.exp(x),
    ">=",
    lambda m, x: 1 + x,
)
FIRST_ROW = Part(
    "Delta <= r and c >= 1 give 4 c r / Delta >= 4",
    Orthant(
        ("b", "gap", "p"),
        lambda m, b, gap, p: {"theta": theta_of(b), "gap": gap, "r": gap + p},
        "0 < Delta <= r",
        frozenset(("p",)),
    ),
    lambda m, theta, gap, r: 4 * c(theta) * r / gap,
    ">=",
    lambda m, **_: m.q(4),
)


def proof(module, name, index=0):
    return next(one for one in module.PROOFS if one.of == name).parts[index]


#: True statements that are tight somewhere.
TIGHT = {
    "a2-quarter": proof(margins, "a2-quarter"),
    "a3-numerator": proof(margins, "a3-numerator"),
    "a3-denominator-2": margins.ENOUGH,
    "a3-quarter": proof(margins, "a3-quarter"),
    "thm-1-decay": proof(margins, "thm-1-decay"),
    "a5-pairs-line-2": proof(margins, "a5-pairs-line-2"),
    "a6-condition": proof(margins, "a6-condition"),
    "lemma-1-condition": FIRST_ROW,
    "eq-2-upper-bound, reject": proof(losses, "eq-2-upper-bound", 0),
    "eq-2-upper-bound, wrong": proof(losses, "eq-2-upper-bound", 2),
    "r-ap, rare positives": losses.MINIMUM[0],
    "r-ap, rare negatives": losses.MINIMUM[1],
    "r-ap, middle": losses.MINIMUM[2],
    "lemma A, small ball": losses.FALL_BELOW[0],
    "a2-step-4": vectors.RADEMACHER_ONE[0],
    "ua-allocation": counts.FLOOR,
    "me-spend": counts.SHARE,
    "budget-alignment-spend": counts.SUM,
    "a4-union": events.UNION,
    "c_d": proof(lemmas, "theorem-1-maximum"),
    "corrected below paper": proof(lemmas, "corrected-below-paper"),
    "monotone in n": proof(lemmas, "monotone-in-n"),
    "c* <= c": proof(lemmas, "lemma-e-rademacher", 1),
    "lemma F, wrong label": calibration.CALIBRATION[1],
    "exp": EXP,
}


def sharpened(part: Part) -> Part:
    """The side that must be smaller, one per cent larger (in absolute value, on the wrong side)."""

    def worse(m, **p):
        value = part.right(m, **p)
        small = value[0] if isinstance(value, tuple) else value
        return small + m.q(1, 100) * (small if part.relation in (">=", ">") or not negative else -small)

    negative = part in (TIGHT["a3-numerator"], TIGHT["thm-1-decay"], TIGHT["a5-pairs-line-2"])
    if part.relation in ("<=", "<") and not negative:

        def larger(m, **p):
            value = part.left(m, **p)
            return tuple(m.q(101, 100) * one for one in value) if isinstance(value, tuple) else m.q(101, 100) * value

        return replace(part, left=larger, reads="")
    if negative:
        return replace(part, right=lambda m, **p: m.q(101, 100) * part.right(m, **p), reads="")
    return replace(part, right=worse, reads="")


def test_there_are_more_than_twenty():
    assert len(TIGHT) >= 20


@pytest.mark.parametrize("name", TIGHT)
def test_the_true_statement_is_proved(name):
    with digits(BITS):
        assert decide(TIGHT[name]).outcome == "proved"


@pytest.mark.parametrize("name", TIGHT)
def test_one_per_cent_more_is_refuted_at_a_point_that_is_printed(name):
    with digits(BITS):
        found = decide(sharpened(TIGHT[name]))
    assert found.outcome == "refuted"
    assert " against " in found.where
    assert "=" in found.where
    assert found.margin <= 0


def test_a_proof_with_one_false_part_is_refuted():
    true = next(one for one in margins.PROOFS if one.of == "a3-order")
    false = replace(true, parts=(*true.parts, sharpened(TIGHT["a2-quarter"])))
    assert prove(true).outcome == "proved"
    assert prove(false).outcome == "refuted"


def test_a_proof_without_parts_proves_nothing():
    assert prove(replace(next(iter(margins.PROOFS)), parts=())).outcome == "not decided"
