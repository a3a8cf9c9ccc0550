"""Proofs of the displays that repeat others or add them up."""

from __future__ import annotations

from typing import Any

from theory.proofs.balls import ball
from theory.proofs.formulas import c, hoeffding, launch, log_q, slope, theta_of
from theory.proofs.statement import Orthant, Part, Proof

__all__ = ["PROOFS"]


# --- displays -------------------------------------------------------------------------------------------------


def _display(words: str, names: tuple[str, ...], **roots: str) -> Orthant:
    """theta = b/(1 + 2b), delta = 1/(1 + x), r on demand, and numbers of rows that are squares of the variables."""

    def point(m: Any, b: Any, x: Any, r: Any = None, **others: Any) -> dict[str, Any]:
        found = {"theta": theta_of(b), "delta": 1 / (1 + x)} | ({} if r is None else {"r": r})
        return found | {name: others[root] ** 2 for name, root in roots.items()}

    def coordinates(m: Any, theta: Any, delta: Any, **others: Any) -> dict[str, Any]:
        found = {"b": slope(theta), "x": 1 / delta - 1, "r": others["r"]}
        return found | {root: m.sqrt(others[name]) for name, root in roots.items()}

    return Orthant(("b", "x", *names), point, words, coordinates=coordinates)


def _regret_bound(m: Any, n: Any, r: Any, theta: Any, delta: Any) -> Any:
    """4 c r / sqrt n + 2 sqrt(log(2/delta) / 2n): Lemma 1 (ii), and Eq. 6 opened."""
    return 4 * c(theta) * r / m.sqrt(n) + 2 * hoeffding(m, n, 2 / delta)


def _lemma_3(m: Any, rows: Any, r: Any, theta: Any, delta: Any) -> Any:
    return 2 * c(theta) * r / m.sqrt(rows) + hoeffding(m, rows, 1 / delta)


def _opened(m: Any, n: Any, rows: Any, r: Any, theta: Any, delta: Any) -> Any:
    """The four terms of Theorem 1."""
    over_rows = 4 * c(theta) * r / m.sqrt(rows) + 2 * hoeffding(m, rows, 3 / delta)
    return over_rows + 4 * c(theta) * r / m.sqrt(n) + 2 * hoeffding(m, n, 6 / delta)


_ANY = "0 < theta < 1/2, 0 < delta < 1, r > 0, any numbers of rows"
_L64 = launch(8, arms=True)


def _retyped(m: Any, n: Any, K: Any, gap: Any, theta: Any, r: Any) -> Any:
    rate = gap / 2 - (2 - 2 * theta) / (1 - 2 * theta) * m.sqrt(r**2 / n)
    return m.log(4) + m.log(K - 1) - m.q(2, 9) * n * rate**2


def _eq_11(m: Any, log_of_q: Any) -> Any:
    """8 q / (1 - q), from log q."""
    q = m.exp(log_of_q)
    return 8 * q / (1 - q)


PROOFS: tuple[Proof, ...] = (
    Proof(
        "sl-rate",
        "sqrt(4B) = 2 sqrt B.",
        (
            Part(
                "four times the rows halve the bound",
                _display(_ANY, ("r", "s"), B="s"),
                lambda m, B, theta, r, delta: _regret_bound(m, 4 * B, r, theta, delta),
                "==",
                lambda m, B, theta, r, delta: _regret_bound(m, B, r, theta, delta) / 2,
                "both",
            ),
        ),
    ),
    Proof(
        "remark-6-sqrt-k",
        "K divides B, so the rows per arm are B/K without a floor.",
        (
            Part(
                "the regret at B/K rows is sqrt K times that at B rows",
                _display(_ANY, ("r", "s", "k"), B="s", K="k"),
                lambda m, B, K, theta, r, delta, **_: _regret_bound(m, B / K, r, theta, delta),
                "==",
                lambda m, B, K, theta, r, delta, **_: m.sqrt(K) * _regret_bound(m, B, r, theta, delta),
                "both",
            ),
        ),
    ),
    Proof(
        "remark-7-sqrt-log",
        "log2 K divides B, so the printed rows are B/log2 K without a floor.",
        (
            Part(
                "the regret at B/T rows is sqrt T times that at B rows, T = log2 K",
                _display(_ANY, ("r", "s", "k"), B="s", T="k"),
                lambda m, B, T, theta, r, delta, **_: _regret_bound(m, B / T, r, theta, delta),
                "==",
                lambda m, B, T, theta, r, delta, **_: m.sqrt(T) * _regret_bound(m, B, r, theta, delta),
                "both",
            ),
        ),
        adapt=lambda K, **case: {**case, "T": K.bit_length() - 1},
    ),
    Proof(
        "a2-sum",
        "The same functions at the same arguments: 1/(delta/3) = 3/delta and 2/(delta/3) = 6/delta.",
        (
            Part(
                "terms (a), (d) and (b) at delta/3 are the four terms",
                _display(_ANY, ("r", "s", "k"), n="s", m_="k"),
                lambda m, n, m_, theta, r, delta: (
                    2 * _lemma_3(m, m_, r, theta, delta / 3) + _regret_bound(m, n, r, theta, delta / 3)
                ),
                "==",
                lambda m, n, m_, theta, r, delta: _opened(m, n, m_, r, theta, delta),
                "both",
            ),
        ),
        adapt=lambda m, **case: {**case, "m_": m},
    ),
    Proof(
        "a3-sum",
        "The same with n K rows: floor(B/log2 K) = n K for B = n K log2 K.",
        (
            Part(
                "terms (a), (d) and (b) at delta/3 are the four terms",
                _display(_ANY, ("r", "s", "k", "l"), n="s", m_="k", K="l"),
                lambda m, n, m_, K, theta, r, delta: (
                    2 * _lemma_3(m, m_, r, theta, delta / 3) + _regret_bound(m, n * K, r, theta, delta / 3)
                ),
                "==",
                lambda m, n, m_, K, theta, r, delta: _opened(m, n * K, m_, r, theta, delta),
                "both",
            ),
        ),
        adapt=lambda m, **case: {**case, "m_": m},
    ),
    Proof(
        "a4-sum",
        "Twice the bound of one term, at r = 1 - 2 theta as in the ledger and at every other r.",
        (
            Part(
                "2 (2 c r/sqrt n + sqrt(log(2/delta)/2n)) is the display",
                _display(_ANY, ("r", "s"), n="s"),
                lambda m, n, theta, r, delta: 2 * (2 * c(theta) * r / m.sqrt(n) + hoeffding(m, n, 2 / delta)),
                "==",
                lambda m, n, theta, r, delta: _regret_bound(m, n, r, theta, delta),
                "both",
            ),
        ),
        adapt=lambda theta, **case: {**case, "theta": theta, "r": 1 - 2 * ball(theta)},
    ),
    Proof(
        "a2-delta-line-1",
        "With 2 - 2 theta, sqrt(r^2/n) = r/sqrt n and log 4(K-1) = log 4 + log(K-1).",
        (
            Part(
                "Eq. 9 and the retyped display",
                _L64,
                lambda m, n, K, gap, theta, r: m.log(4 * (K - 1)) + log_q(m, n, gap, theta, r),
                "==",
                _retyped,
                "both",
            ),
        ),
        corrected=True,
    ),
    Proof(
        "a2-delta-line-3",
        "2/(9 * 16) = 1/72.",
        (
            Part(
                "the constants of the exponent",
                Orthant(("gap", "n"), lambda m, **p: p, "Delta, n >= 0", frozenset(("gap", "n")), plain=True),
                lambda m, gap, n: m.q(2, 9) * n * (gap / 4) ** 2,
                "==",
                lambda m, gap, n: gap**2 * n / 72,
                "both",
            ),
        ),
    ),
    Proof(
        "a3-delta",
        "Eq. 11 and the display of A.3 have the same q.",
        (
            Part(
                "log 8 q/(1-q) with q from 2 c r/sqrt n and from (2 - 2 theta)/(1 - 2 theta) sqrt(r^2/n)",
                _L64,
                lambda m, n, K, gap, theta, r: m.log(_eq_11(m, log_q(m, n, gap, theta, r))),
                "==",
                lambda m, n, K, gap, theta, r: m.log(
                    _eq_11(m, m.q(-2, 9) * n * (gap / 2 - (2 - 2 * theta) / (1 - 2 * theta) * m.sqrt(r**2 / n)) ** 2)
                ),
                "both",
            ),
        ),
    ),
    Proof(
        "a6-conclusion",
        "2 + 2 = 4.",
        (
            Part(
                "two equal tails add up to Lemma 4",
                launch(4),
                lambda m, n, gap, theta, r: 2 * (2 * m.exp(log_q(m, n, gap, theta, r))),
                "==",
                lambda m, n, gap, theta, r: 4 * m.exp(log_q(m, n, gap, theta, r)),
                "both",
            ),
        ),
    ),
)
