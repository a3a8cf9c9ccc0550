"""Targets about the losses of Section 3.1: the 0/1 loss, its surrogate, and the Bayes risk."""

from __future__ import annotations

from collections.abc import Callable
from fractions import Fraction
from typing import Any

from simulations.falsify.axes import Numbers, axis, box
from simulations.falsify.judging import sides, two_paths
from simulations.falsify.target import Measured, Target
from theory.claims.exact_losses import repaired_loss, strict_loss, surrogate

F = Fraction
Sides = Callable[[Numbers], Measured]

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

    def compared(one: Numbers) -> Measured:
        theta, share = one.fraction("theta"), one.fraction("share")
        floor = risk = F(0)
        for part, weight in (("1", share), ("2", 1 - share)):
            eta = one.fraction(f"eta{part}")
            floor += weight * min(eta, 1 - eta, theta)
            risk += weight * _risk(loss, one[f"h{part}"], one[f"g{part}"], eta, theta)
        return sides(floor, risk)

    return compared


def _coin(loss: Any) -> Sides:
    """theta <= risk of a model that accepts, when labels are coin flips."""
    return lambda one: sides(one.fraction("theta"), _risk(loss, one["h"], one["g"], F(1, 2), one["theta"]))


def _majorises(one: Numbers) -> Measured:
    """0/1 loss <= surrogate at one row."""
    y = 1 if one["label"] else -1
    return sides(*(F(loss(one["h"], one["g"], y, one["theta"])) for loss in (repaired_loss, surrogate)))


def targets() -> list[Target]:
    """All targets about losses."""
    bayes = "E min(eta, 1 - eta, theta) <= 0/1 risk of every model"
    coin = "theta <= 0/1 risk of a model that accepts rows whose labels are coin flips"
    above = "0/1 loss <= surrogate loss at every row"
    # Both paths are the definitions in exact fractions.
    return [
        two_paths(id, says, space, compared, compared, "exact fractions", holds, probability=False)
        for id, says, space, compared, holds in (
            ("eq-1", coin, COIN, _coin(strict_loss), False),
            ("eq-1/repaired", coin, COIN, _coin(repaired_loss), True),
            ("eq-4-value", bayes, MODELS, _bayes(strict_loss), False),
            ("eq-4-value/repaired", bayes, MODELS, _bayes(repaired_loss), True),
            ("eq-2", f"{above}, theta in (0, 1)", ANY_THETA, _majorises, False),
            ("eq-2-upper-bound", f"{above}, theta in (0, 1/2)", ROWS, _majorises, True),
        )
    ]
