"""Targets about the losses of Section 3.1: the 0/1 loss, its surrogate, and the Bayes risk."""

from __future__ import annotations

from collections.abc import Callable
from fractions import Fraction
from typing import Any

from simulations.hunt.axes import Point, axis, box
from simulations.hunt.judging import exact_log, judge_logs
from simulations.hunt.target import Measured, Target
from theory.claims.exact_losses import repaired_loss, strict_loss, surrogate
from theory.verdicts import Verdict

F = Fraction
Sides = Callable[[Point], tuple[Fraction, Fraction]]

_OUTPUT = axis(-3, 3, grid=4)
#: A model of two kinds of rows: its outputs there, the share of the first kind, and P(y = +1) of both.
MODELS = box(
    h1=_OUTPUT, g1=_OUTPUT, h2=_OUTPUT, g2=_OUTPUT,
    share=axis("1/10", "9/10", grid=10),
    eta1=axis("1/20", "19/20", grid=20), eta2=axis("1/20", "19/20", grid=20),
    theta=axis("1/50", "24/50", grid=50),
)  # fmt: skip
COIN = box(h=_OUTPUT, g=axis("1/4", 3, grid=4), theta=axis("1/50", "24/50", grid=50))
_LABEL = axis(0, 1)
ROWS = box(h=_OUTPUT, g=_OUTPUT, label=_LABEL, theta=axis("1/50", "24/50", grid=50))
ANY_THETA = box(h=_OUTPUT, g=_OUTPUT, label=_LABEL, theta=axis("1/25", "24/25", grid=25))


def _risk(loss: Any, h: Any, g: Any, eta: Any, theta: Any) -> Fraction:
    return F(eta * loss(h, g, 1, theta) + (1 - eta) * loss(h, g, -1, theta))


def _bayes(loss: Any) -> Sides:
    """E min(eta, 1 - eta, theta) <= risk of the model."""

    def sides(one: Point) -> tuple[Fraction, Fraction]:
        theta, share = one.exact("theta"), one.exact("share")
        floor = risk = F(0)
        for part, weight in (("1", share), ("2", 1 - share)):
            eta = one.exact(f"eta{part}")
            floor += weight * min(eta, 1 - eta, theta)
            risk += weight * _risk(loss, one[f"h{part}"], one[f"g{part}"], eta, theta)
        return floor, risk

    return sides


def _coin(loss: Any) -> Sides:
    """theta <= risk of a model that accepts, when labels are coin flips."""
    return lambda one: (one.exact("theta"), _risk(loss, one["h"], one["g"], F(1, 2), one["theta"]))


def _majorises(one: Point) -> tuple[Fraction, Fraction]:
    """0/1 loss <= surrogate at one row."""
    y = 1 if one["label"] else -1
    return tuple(F(loss(one["h"], one["g"], y, one["theta"])) for loss in (repaired_loss, surrogate))  # type: ignore[return-value]


def _direct(id: str, says: str, space: Any, sides: Sides, holds: bool | None) -> Target:
    """Sides that are exact fractions; the confirmation computes the 0/1 loss from its definition once more."""

    def measure(one: Point, seed: int) -> Measured:
        left, right = sides(one)
        return Measured(exact_log(left), exact_log(right))

    def confirm(one: Point, seed: int) -> Verdict:
        left, right = sides(one)
        # Fractions are compared as such; the logarithms are for the sentence.
        shown = exact_log(left) if left > right else min(exact_log(left), exact_log(right))
        return judge_logs(shown, exact_log(right), how="exact fractions", probability=False)

    return Target(id, says, space, measure, confirm, holds, probability=False)


def targets() -> list[Target]:
    """All targets about losses."""
    bayes = "E min(eta, 1 - eta, theta) <= 0/1 risk of every model"
    coin = "theta <= 0/1 risk of a model that accepts rows whose labels are coin flips"
    above = "0/1 loss <= surrogate loss at every row"
    return [
        _direct("eq-1", coin, COIN, _coin(strict_loss), False),
        _direct("eq-1/repaired", coin, COIN, _coin(repaired_loss), True),
        _direct("eq-4-value", bayes, MODELS, _bayes(strict_loss), False),
        _direct("eq-4-value/repaired", bayes, MODELS, _bayes(repaired_loss), True),
        _direct("eq-2", f"{above}, theta in (0, 1)", ANY_THETA, _majorises, False),
        _direct("eq-2-upper-bound", f"{above}, theta in (0, 1/2)", ROWS, _majorises, True),
    ]
