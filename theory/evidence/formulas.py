"""Formulas of the paper on balls; `theory.paper` has the same in floats."""

from __future__ import annotations

from typing import Any

from theory.evidence.balls import ball

__all__ = ["c", "hoeffding", "log_q", "slope"]


def slope(theta: Any) -> Any:
    """Return b = theta / (1 - 2 theta)."""
    return theta / (1 - 2 * theta)


def c(theta: Any) -> Any:
    """Return the paper's constant c = (1 - theta) / (1 - 2 theta)."""
    return (1 - theta) / (1 - 2 * theta)


def log_q(n: Any, gap: Any, theta: Any, r: Any, factor: Any = 1) -> Any:
    """Return log(factor) - (2/9) n (Delta/2 - 2 c r / sqrt n)^2."""
    n, gap, theta, r = map(ball, (n, gap, theta, r))
    margin = gap / 2 - 2 * c(theta) * r / n.sqrt()
    return ball(factor).log() - ball(2) / 9 * n * margin**2


def hoeffding(rows: Any, argument: Any) -> Any:
    """Return sqrt(log(argument) / (2 rows))."""
    return (ball(argument).log() / 2).sqrt() / ball(rows).sqrt()
