"""How sure is a choice by held-out losses? Paired differences row by row, and bets on rows that no model had seen.

The approximate limit is Student's for the mean of the differences d_i = theirs_i - mine_i. Held-out losses share the
rows that their models were fitted to, so their means vary more than their rows say; few rows may leave two models
alike by chance; and a kind of row that the chosen one gets wrong may not have been met. So the error is

    e^2 = (2.5 var d + 0.04 (var mine + var theirs) + L^2 / n) / n

with the largest loss L = 2: the last part is one more row, wholly against the chosen one. Below 40 rows even that is
too little, and no limit is given. `benchmarks/confidence.py` measures how often the limit holds.

The proven limit is for rows whose losses come from models that were fitted to earlier rows alone: there the mean of d
given the past is a difference of risks, and a product of bets on it a supermartingale (docs/theorems.md, C5).
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from itertools import pairwise

import numpy as np
from scipy.special import bdtrc, stdtrit

from exml_sim.arrays import FloatArray, IntArray
from exml_sim.bandit.evidence import Evidence
from exml_sim.bandit.jackknife import Differences, log_mixture
from exml_sim.bandit.statements import Comparison, Statement, check_level, compared, half_widths

#: Factor on the variance of the differences, and the part of the losses' own variances that is added to it.
INFLATED, SHARED = 2.5, 0.04

#: Rows below which no limit is given, and rows from which bets on later rows are worth their fits.
FEWEST_ROWS, ROWS_FOR_BETS = 40, 80

#: Bets are placed only where the other one is so many plain standard errors behind on held-out rows: a proof among two
#: candidates at 95 % already needs wealth 20, which a difference of fewer than about 2.4 deviations does not bring.
WORTH_A_BET = 1.5

#: Squared errors of probabilities are in [0, 2], so their differences in [-2, 2].
LARGEST_LOSS = 2.0

#: Parts of the largest bet that are mixed.
STAKES = (0.02, 0.05, 0.1, 0.2, 0.4, 0.6, 0.8, 0.95)

#: Parts of the rows: each is predicted by models that were fitted to the parts before it.
PARTS = 4

#: Rows of a cycle of a balanced order (`exml_sim.classifier.bought_arms`): bets are settled at the end of one.
CYCLE = 16


@dataclass(frozen=True, slots=True, eq=False)
class Pair:
    """The chosen one and another one on the same rows.

    Attributes
    ----------
    name
        The other one.
    mine, theirs
        Held-out losses of the chosen and of the other one, row by row.
    later
        Differences theirs - mine on rows that models had not seen that were fitted to earlier rows; None where a bet
        is not worth its fits (`worth_betting`).
    """

    name: str
    mine: FloatArray
    theirs: FloatArray
    later: FloatArray | None = None

    @property
    def rows(self) -> int:
        """Rows that both have."""
        return len(self.mine)


def error_of(mine: FloatArray, theirs: FloatArray) -> tuple[float, float]:
    """The mean difference theirs - mine, and its standard error e of the module; infinite for fewer than two rows."""
    n = len(mine)
    if n < 2:
        return 0.0, math.inf
    apart = theirs - mine
    spread = INFLATED * apart.var(ddof=1) + SHARED * (mine.var(ddof=1) + theirs.var(ddof=1)) + LARGEST_LOSS**2 / n
    return float(apart.mean()), float(np.sqrt(spread / n))


def worth_betting(mine: FloatArray, theirs: FloatArray) -> bool:
    """Whether bets on later rows could prove that the other one is worse.

    The level of a proof is shared among all others, those without a bet included, so leaving some out, for whatever
    reason, makes no proof weaker.
    """
    n = len(mine)
    if n < ROWS_FOR_BETS:
        return False
    apart = theirs - mine
    return bool(apart.mean() >= WORTH_A_BET * apart.std(ddof=1) / math.sqrt(n))


def interval_of(losses: FloatArray, level: float = 0.95) -> tuple[float, float]:
    """Student's interval of a mean held-out loss, approximate; infinite ends for fewer than two rows."""
    n = len(losses)
    if n < 2:
        return -math.inf, math.inf
    error = float(np.sqrt(INFLATED * losses.var(ddof=1) / n))
    half = float(stdtrit(n - 1, 0.5 + level / 2.0)) * error
    return float(losses.mean()) - half, float(losses.mean()) + half


def statement_of(
    chosen: str, pairs: Sequence[Pair], level: float = 0.95, looks: int = 1, anytime: bool = False, noun: str = ""
) -> Statement:
    """What can be said of a choice.

    Parameters
    ----------
    chosen, pairs
        Its name, and all others against it.
    level
        Probability with which all limits hold together.
    looks
        How often the choice could have been made: the level is shared among them.
    anytime
        Whether a rule looked until it was sure: then the limits are those of an asymptotic confidence sequence.
    noun
        What the chosen ones are, if not candidates.
    """
    level = check_level(level)
    shared = 1.0 - (1.0 - level) / max(looks, 1)
    bar = math.log(max(len(pairs), 1) / (1.0 - level))
    comparisons = []
    for one in pairs:
        value, error = error_of(one.mine, one.theirs)
        # K columns, because the level is shared among all K candidates.
        shape = (1, len(pairs) + 1)
        found = Differences(np.full(shape, value), np.full(shape, error), np.full(shape, one.rows, dtype=np.int64))
        half = float(half_widths(found, shared, anytime=anytime)[0, 0]) if one.rows > 1 else math.inf
        proven = None if one.later is None else proven_limit(one.later, bar)
        told = compared(one.name, value, half, one.rows, proven)
        if told.more_rows and math.isfinite(told.more_rows):
            told = replace(told, more_rows=max(rows_to_settle(value, error, half, one.rows) - one.rows, 1.0))
        comparisons.append(_held_back(told))
    comparisons.sort(key=lambda one: one.difference)
    kind = "an asymptotic confidence sequence" if anytime else "Student's limits"
    method = f"{kind} for paired squared errors of probabilities on held-out rows, from {FEWEST_ROWS} common rows on"
    return Statement(chosen, level, tuple(comparisons), method, _proof(pairs, comparisons), noun or "candidates")


def rows_to_settle(value: float, error: float, half: float, n: int) -> float:
    """Rows N with which the limit would reach 0: d^2 = q^2 (V / N + L^2 / N^2), with V and q as they are on n rows."""
    q2 = (half / error) ** 2
    part = q2 * (error**2 * n - LARGEST_LOSS**2 / n)
    return (part + math.sqrt(part**2 + 4.0 * value**2 * q2 * LARGEST_LOSS**2)) / (2.0 * value**2)


def _held_back(found: Comparison) -> Comparison:
    """The comparison without a limit where rows are too few for one."""
    if found.rows >= FEWEST_ROWS:
        return found
    return replace(found, at_least=-math.inf, more_rows=max(found.more_rows, float(FEWEST_ROWS - found.rows)))


def _proof(pairs: Sequence[Pair], comparisons: Sequence[Comparison]) -> str:
    tried = [one for one in pairs if one.later is not None]
    if not tried:
        most = max((one.rows for one in pairs), default=0)
        if most >= ROWS_FOR_BETS:
            return "no other one is far enough behind for bets on later rows to prove it"
        return f"a proof needs at least {ROWS_FOR_BETS} rows that both have, and there are {most}"
    rows = max(len(one.later) for one in tried if one.later is not None)
    hint = "" if any(one.proven_at_least is not None for one in comparisons) else "; the rows are too few for more"
    return f"bets on {rows} rows, drawn at random, that models fitted to earlier rows predict{hint}"


def log_wealth(apart: FloatArray, shift: float) -> float:
    """Log of the mixed product of bets that the mean difference is above the shift; both in [-LARGEST_LOSS, ...].

    With x = d / L and m = shift / L the bet is 1 + k (x - m) / (1 + m) >= 1 - k.
    """
    x, m = apart / LARGEST_LOSS, shift / LARGEST_LOSS
    gains = (x - m) / (1.0 + m)
    totals = [np.log1p(stake * gains).sum() for stake in STAKES]
    return float(np.logaddexp.reduce(totals) - math.log(len(STAKES)))


def proven_limit(apart: FloatArray, bar: float) -> float | None:
    """The largest shift that the bets exclude; None if not even 0."""
    if log_wealth(apart, 0.0) < bar:
        return None
    low, high = 0.0, LARGEST_LOSS
    for _ in range(30):
        middle = 0.5 * (low + high)
        low, high = (middle, high) if log_wealth(apart, middle) >= bar else (low, middle)
    return low


def later_rows(n: int, parts: int = PARTS) -> list[tuple[IntArray, IntArray]]:
    """Positions to fit to, and positions to predict: every part by all parts before it.

    Where there are rows enough parts are whole cycles, and rows of a cycle that was begun are left out.
    """
    step = CYCLE if n >= parts * CYCLE else 1
    cuts = [n * part // parts // step * step for part in range(1, parts + 1)]
    return [(np.arange(start, dtype=np.int64), np.arange(start, end, dtype=np.int64)) for start, end in pairwise(cuts)]


def later_losses(n: int, loss: Callable[[IntArray, IntArray], FloatArray]) -> FloatArray:
    """Losses of the rows of `later_rows`; `loss` fits to some positions and judges others."""
    return np.concatenate([loss(known, new) for known, new in later_rows(n)])


def evidence_of(pairs: Sequence[Pair | None], threshold: float, epsilon: float) -> Evidence:
    """The asymptotic confidence sequence of every difference, for one trial; None stands for the leader."""
    against, lower = np.full((1, len(pairs)), np.inf), np.zeros((1, len(pairs)))
    for place, one in enumerate(pairs):
        if one is None:
            continue
        value, error = error_of(one.mine, one.theirs)
        lower[0, place] = value - error * math.sqrt(2.0 * threshold + 2.0) if math.isfinite(error) else -math.inf
        z = np.array((value + epsilon) / max(error, 1e-150))
        enough = one.rows >= FEWEST_ROWS
        against[0, place] = float(log_mixture(z, np.array(one.rows))) if enough else -math.inf
    return Evidence(against, lower)


def sign_test(first: int, second: int) -> float:
    """Exact two-sided p-value of two counts, if either side were as likely every time; 1 without any."""
    larger = max(first, second)
    return float(min(1.0, 2.0 * bdtrc(larger - 1, first + second, 0.5))) if larger else 1.0
