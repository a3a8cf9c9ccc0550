"""The formulas of the theory, each written once for every backend (`Symbols`, `Balls`, jets), and their regions.

theta in (0, 1/2) is b / (1 + 2 b) with b = theta / (1 - 2 theta) > 0; then 1 - 2 theta = 1 / (1 + 2 b) and
c = (1 - theta) / (1 - 2 theta) = 1 + b. Under the condition n > f c^2 r^2 / Delta^2 the root of n is
sqrt(f) c r / Delta + e with e > 0. So no region needs a bound, and no number of rows needs to be whole.
"""

from __future__ import annotations

from typing import Any

from theory.proofs.statement import Orthant

__all__ = [
    "c",
    "hoeffding",
    "launch",
    "log_q",
    "margin",
    "pieces",
    "slope",
    "theta_of",
]


def theta_of(b: Any) -> Any:
    """theta as a function of b."""
    return b / (1 + 2 * b)


def slope(theta: Any) -> Any:
    """b."""
    return theta / (1 - 2 * theta)


def c(theta: Any) -> Any:
    """The paper's constant."""
    return (1 - theta) / (1 - 2 * theta)


def pieces(h: Any, g: Any, y: int, theta: Any) -> tuple[Any, Any, int]:
    """The three pieces of Eq. 2; the surrogate is the largest."""
    return 1 + (g - y * h) / 2, theta * (1 - g / (1 - 2 * theta)), 0


def margin(m: Any, n: Any, gap: Any, theta: Any, r: Any) -> Any:
    """Delta/2 - 2 c r / sqrt n."""
    return gap / 2 - 2 * c(theta) * r / m.sqrt(n)


def log_q(m: Any, n: Any, gap: Any, theta: Any, r: Any) -> Any:
    """-(2/9) n (Delta/2 - 2 c r / sqrt n)^2."""
    return m.q(-2, 9) * n * margin(m, n, gap, theta, r) ** 2


def hoeffding(m: Any, rows: Any, argument: Any) -> Any:
    """sqrt(log(argument) / 2) / sqrt(rows)."""
    return m.sqrt(m.log(argument) / 2) / m.sqrt(rows)


def launch(
    factor_root: int, *, arms: bool = False, more: tuple[str, ...] = (), closed: tuple[str, ...] = ()
) -> Orthant:
    """theta in (0, 1/2), r > 0, Delta > 0 and n > factor_root^2 c^2 r^2 / Delta^2, with K >= 2 on demand.

    ``more`` are further parameters > 0, or >= 0 if also in ``closed``.
    """

    def point(m: Any, b: Any, r: Any, gap: Any, e: Any, k: Any = None, **others: Any) -> dict[str, Any]:
        theta = theta_of(b)
        root = factor_root * c(theta) * r / gap + e
        parameters = {"n": root * root, "gap": gap, "theta": theta, "r": r, **others}
        return parameters if k is None else {**parameters, "K": 2 + k}

    def coordinates(m: Any, n: Any, gap: Any, theta: Any, r: Any, K: Any = None, **others: Any) -> dict[str, Any]:
        found = {"b": slope(theta), "r": r, "gap": gap, "e": m.sqrt(n) - factor_root * c(theta) * r / gap}
        found |= {name: others[name] for name in more}
        return found if not arms else {**found, "k": K - 2}

    variables = ("b", "r", "gap", "e", *(("k",) if arms else ()), *more)
    words = f"0 < theta < 1/2, r > 0, Delta > 0, n > {factor_root**2} c^2 r^2 / Delta^2" + (", K >= 2" if arms else "")
    return Orthant(variables, point, words, frozenset((*(("k",) if arms else ()), *closed)), coordinates=coordinates)
