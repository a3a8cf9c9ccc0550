"""Lemma F, second half: the excess 0-1 risk is at most the excess surrogate risk over 1 - theta, for every (h, g)."""

from __future__ import annotations

from typing import Any

from theory.proofs.formulas import pieces, theta_of
from theory.proofs.losses import combined, product_weights
from theory.proofs.statement import Orthant, Part

__all__ = ["CALIBRATION"]


def _eta(kind: str, theta: Any, k: Any, rest: Any) -> Any:
    """eta in (0, theta] or in [theta, 1/2]; k and rest are not negative and not both zero."""
    return theta * rest / (k + rest) if kind == "rare" else (theta * rest + k / 2) / (k + rest)


def _region(kind: str, decision: str, edge: str) -> Orthant:
    """``edge`` is the variable that may vanish, so that both ends of the range of eta are covered."""

    def point(m: Any, b: Any, k: Any, rest: Any, x: Any, z: Any) -> dict[str, Any]:
        theta = theta_of(b)
        h, g = {"reject": (x, -z), "wrong": (x, z), "right": (-x, z)}[decision]
        return {"eta": _eta(kind, theta, k, rest), "theta": theta, "h": h, "g": g}

    free = frozenset("x") if decision == "reject" else frozenset[str]()
    return Orthant(("b", "k", "rest", "x", "z"), point, f"{kind} eta, {decision}", frozenset((edge, "x", "z")), free)


def _first_bound(m: Any, eta: Any, theta: Any, **_: Any) -> tuple[Any, ...]:
    """Inequality (1): piece 1 for y = 1, and the mixture eta/(1-eta) of pieces 1 and 2 for y = -1."""
    mu = eta / (1 - eta)
    return product_weights((1, 0, 0), (mu, 1 - mu, 0))


def _both_first(m: Any, **_: Any) -> tuple[Any, ...]:
    return product_weights((1, 0, 0), (1, 0, 0))


def _needed(kind: str, decision: str) -> Any:
    """(3 - 2 theta) B + (1 - theta) (excess 0-1 risk)."""

    def right(m: Any, eta: Any, theta: Any, **_: Any) -> Any:
        bayes = eta if kind == "rare" else theta
        risk = {"reject": theta, "wrong": 1 - eta, "right": eta}[decision]
        return (3 - 2 * theta) * bayes + (1 - theta) * (risk - bayes)

    return right


_CASES = (
    ("rare", "reject", _first_bound),
    ("rare", "wrong", _both_first),
    ("middle", "wrong", _both_first),
    ("middle", "right", _first_bound),
)
# "middle, reject" and "rare, right" have no excess: there the minimum is enough.
CALIBRATION = (
    *(
        Part(
            f"risk >= (3 - 2 theta) B + (1 - theta) excess: {kind} eta, {decision}",
            _region(kind, decision, edge),
            combined,
            ">=",
            _needed(kind, decision),
            weights=weights,
        )
        for kind, decision, weights in _CASES
        for edge in (("k",) if kind == "rare" else ("k", "rest"))
    ),
    Part(
        "the minimum is attained for eta <= theta at h = -(3 - 2 theta), g = 1 - 2 theta",
        Orthant(
            ("b", "k"),
            lambda m, b, k: {"theta": theta_of(b), "eta": theta_of(b) / (1 + k)},
            "eta <= theta",
            frozenset("k"),
        ),
        lambda m, eta, theta: (
            eta * pieces(-(3 - 2 * theta), 1 - 2 * theta, 1, theta)[0]
            + (1 - eta) * m.max(*pieces(-(3 - 2 * theta), 1 - 2 * theta, -1, theta))
        ),
        "==",
        lambda m, eta, theta: (3 - 2 * theta) * eta,
    ),
    Part(
        "the minimum is attained for eta >= theta at h = 0, g = -2 (1 - theta) (1 - 2 theta)",
        Orthant(("b",), lambda m, b: {"theta": theta_of(b)}, "eta >= theta"),
        lambda m, theta: m.max(*pieces(0 * theta, -2 * (1 - theta) * (1 - 2 * theta), 1, theta)),
        "==",
        lambda m, theta: (3 - 2 * theta) * theta,
    ),
    Part(
        "1 - theta cannot be improved: at eta = theta, h = g = 0+ the excess is 1 - 2 theta, and for the surrogate "
        "(1 - 2 theta) (1 - theta)",
        Orthant(("b",), lambda m, b: {"theta": theta_of(b)}, "eta = theta"),
        lambda m, theta: 1 - (3 - 2 * theta) * theta,
        "==",
        lambda m, theta: (1 - theta) * (1 - 2 * theta),
    ),
)
