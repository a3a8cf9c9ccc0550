"""Report how confident a selection is: differences to every other candidate, with approximate and proven limits.

Approximate limits for bought rows come from the jackknife with Student's quantile (or, for a fixed-confidence strategy,
from the asymptotic confidence sequence); proven ones from bets on pairs of rows that were drawn at random.

For held-out losses the approximate limit is Student's for the mean of the paired differences d_i = rival_i - chosen_i.
Held-out losses share the rows that their models were fitted to, so their means vary more than their rows say; few rows
may leave two models alike by chance; and a kind of row that the chosen one gets wrong may not have been met. So the
error is

    e^2 = (2.5 var d + 0.04 (var chosen + var rival) + L^2 / n) / n

with the largest loss L = 2: the last part is one more row, wholly against the chosen one. Below 40 rows even that is
too little, and no limit is given. `benchmarks/confidence.py` measures how often the limit holds. The proven limit is
for rows whose losses come from models that were fitted to earlier rows alone: there the mean of d given the past is a
difference of risks, and a product of bets on it a supermartingale (docs/theorems.md, C5).
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass, replace
from itertools import pairwise
from typing import Any, Protocol

import numpy as np
from scipy.special import bdtrc, stdtrit

from exml_sim._internal.arrays import CountArray, FloatArray, IntArray
from exml_sim.bandit._evidence import Evidence, Pairs, log_wealth, paired_log_wealth
from exml_sim.bandit._jackknife import AffineJackknife, Differences, half_widths, jackknife_groups, log_mixture

#: Orders in which a fixed number of rows is paired, and their seed: chosen before any value is seen.
PAIRINGS = 64
_SEED = 20_20
#: Groups of rows that are left out, at most.
GROUPS = 16
#: Multiple of the present rows above which an outlook is no help.
FAR_AWAY = 100
#: Differences below which two candidates are the same, but for rounding.
ALIKE = 1e-9

#: Factor on the variance of the differences, and the part of the losses' own variances that is added to it.
INFLATED, SHARED = 2.5, 0.04
#: Rows below which no limit is given, and rows from which bets on later rows are worth their fits.
FEWEST_ROWS, ROWS_FOR_BETS = 40, 80
#: Bets are placed only where the other one is this many plain standard errors behind on held-out rows: a proof among
#: two candidates at 95 % already needs wealth 20, which a difference of fewer than about 2.4 deviations does not bring.
WORTH_A_BET = 1.5
#: Squared errors of probabilities are in [0, 2], so their differences in [-2, 2].
LARGEST_LOSS = 2.0
#: Fractions of the largest bet that are mixed.
STAKES = (0.02, 0.05, 0.1, 0.2, 0.4, 0.6, 0.8, 0.95)
#: Parts of the rows: each is predicted by models that were fitted to the parts before it.
PARTS = 4
#: Rows of a cycle of a balanced order (`exml_sim.classifier._bought_arms`): bets are settled at the end of one.
CYCLE = 16


@dataclass(frozen=True, slots=True)
class Comparison:
    """The selected candidate against another one.

    Attributes
    ----------
    name
        The other one.
    difference
        Its risk less that of the selected one, estimated without optimism.
    at_least
        Lower limit of the difference, by a level that is shared among all others. Approximate.
    rows
        Rows that both were compared on.
    more_rows
        Further rows that would exclude it if the difference is as estimated; 0 if it is excluded, inf if none would.
    proven_at_least
        Proven lower limit of the difference; None if it is not proven that the selected one is better. A pair's limit
        is wrong with probability (1 - level) / (K - 1) at most, so the best candidate is excluded by any other with
        probability 1 - level at most.
    """

    name: str
    difference: float
    at_least: float
    rows: int
    more_rows: float
    proven_at_least: float | None = None

    @classmethod
    def of(cls, name: str, difference: float, half: float, rows: int, proven: float | None) -> Comparison:
        """Compare by an estimate and the half width of its limit."""
        at_least = difference - half
        more = rows * ((half / difference) ** 2 - 1.0) if difference > 0.0 else math.inf
        return cls(name, difference, at_least, rows, 0.0 if at_least > 0.0 else max(more, 1.0), proven)

    @property
    def is_significantly_better(self) -> bool:
        """Whether the other one is better, by an upper limit as far from the difference as the lower one."""
        return math.isfinite(self.at_least) and 2.0 * self.difference - self.at_least < 0.0

    @property
    def excluded(self) -> bool:
        """Whether the candidate is excluded from being the best one (approximate)."""
        return self.at_least > 0.0


@dataclass(frozen=True, slots=True)
class SelectionReport:
    """Confidence in a selection at one level.

    Attributes
    ----------
    selected, level
        The selected candidate, and the probability with which the limits hold.
    comparisons
        Every other candidate, the closest first.
    method
        How the approximate limits were computed.
    proof
        What the proven limits rest on, or why there are none.
    noun
        What is compared.
    rows_left
        Further rows that exist; None if that is not known.
    """

    selected: str
    level: float
    comparisons: tuple[Comparison, ...]
    method: str
    proof: str
    noun: str = "candidates"
    rows_left: int | None = None

    @property
    def cannot_be_excluded(self) -> tuple[str, ...]:
        """The candidates that may be the best one, the selected one first (approximate)."""
        return (self.selected, *(other.name for other in self.comparisons if not other.excluded))

    @property
    def proven_worse(self) -> tuple[str, ...]:
        """The candidates that are proven not to be the best one."""
        return tuple(other.name for other in self.comparisons if other.proven_at_least is not None)

    @property
    def more_rows(self) -> float:
        """Further rows that would exclude all others if the differences are as estimated."""
        return max((other.more_rows for other in self.comparisons), default=0.0)

    def sentence(self) -> str:
        """Write the approximate result for people."""
        if not self.comparisons:
            return f"{self.selected} is the only candidate."
        # Counted among the others, as in the table of comparisons: the selected one is no rival of itself.
        left, others = len(self.cannot_be_excluded) - 1, len(self.comparisons)
        if left == 0:
            return f"{self._compare_closest()} All other {self.noun} are excluded."
        rivals = self.comparisons[0].name if others == 1 else f"{left} of the {others} other {self.noun}"
        return f"{self._compare_closest()} {rivals} cannot be excluded. {self._outlook()}."

    def _compare_closest(self) -> str:
        closest, level = self.comparisons[0], f"{100.0 * self.level:g} %"
        if closest.excluded:
            limit = f"at least {closest.at_least:.2g} with {level}"
            return f"{self.selected} is better than {closest.name} by {closest.difference:.3g} ({limit})."
        if abs(closest.difference) < ALIKE:
            return f"{self.selected} and {closest.name} do not differ on these rows."
        if closest.difference > 0.0:
            advantage = f"Estimated advantage of {self.selected} over {closest.name}: {closest.difference:.2g}"
            return f"{advantage}, not significant at {level}."
        text = (
            f"{self.selected} was selected, but by labels alone {closest.name} is better by {-closest.difference:.2g}"
        )
        if closest.is_significantly_better:
            return f"{text}, significant at {level}: consider {closest.name}."
        return f"{text}, not significant at {level}."

    def _outlook(self) -> str:
        if self.more_rows > FAR_AWAY * max(other.rows for other in self.comparisons):
            return "No realistic number of further rows would settle it"
        more = _round_rows(self.more_rows)
        text = f"About {more} more {'row' if more == 1 else 'rows'} would settle it"
        if self.rows_left is None or self.more_rows <= self.rows_left:
            return text
        return "The table has too few rows left to settle it"

    def lines(self) -> list[str]:
        """Write the result, its method, and what of it is proven."""
        names = " or ".join(self.proven_worse)
        proven = (
            f"Proven with {100.0 * self.level:g} %, the best candidate is not {names}" if names else "Nothing is proven"
        )
        return [self.sentence(), f"Approximate: {self.method}.", f"{proven}: {self.proof}."]

    def to_dict(self) -> dict[str, Any]:
        """Convert to plain values, for JSON; infinite numbers of rows are null."""
        table = asdict(self) | {
            "sentence": self.sentence(),
            "cannot_be_excluded": list(self.cannot_be_excluded),
            "proven_worse": list(self.proven_worse),
            "more_rows": _finite(self.more_rows),
        }
        table["comparisons"] = [
            asdict(other)
            | {"excluded": other.excluded, "at_least": _finite(other.at_least), "more_rows": _finite(other.more_rows)}
            for other in self.comparisons
        ]
        return table


def _finite(value: float) -> float | None:
    return value if math.isfinite(value) else None


def _round_rows(rows: float) -> int:
    """Round to two digits: an estimate has no more."""
    digits = max(0, math.floor(math.log10(max(rows, 1.0))) - 1)
    return max(1, int(round(rows / 10**digits) * 10**digits))


def check_level(level: object) -> float:
    """Check for a level strictly between 0 and 1."""
    if isinstance(level, bool) or not isinstance(level, int | float | np.number) or not 0.0 < float(level) < 1.0:
        raise ValueError(f"level must be between 0 and 1, both excluded, got {level!r}")
    return float(level)


class ComparisonData(Protocol):
    """What an exploration leaves for a report."""

    def report(self, names: Sequence[str], selected: int, level: float) -> SelectionReport:
        """Compare the selected arm with the others."""
        ...

    def intervals(self, level: float) -> list[tuple[float, float]]:
        """Compute an approximate interval of every arm's score, for other rows of the same source."""
        ...


@dataclass(frozen=True, slots=True, eq=False)
class RowComparisonData:
    """What one exploration of rows leaves for a report.

    Attributes
    ----------
    counts
        How often each row was bought for each arm, shape (K, m).
    judge
        The jackknife in the affine regime; None for other scores.
    score
        Scores of one arm for lines of counts, for other scores.
    order
        The rows in the order in which all arms bought them; None without one order of independent rows.
    fixed
        Whether the number of rows was fixed in advance: one round.
    anytime
        Whether a fixed-confidence strategy decided when to stop.
    bounded
        Whether kernel values are known to be in [0, 1].
    """

    counts: CountArray
    judge: AffineJackknife | None
    score: Callable[[int, CountArray], FloatArray]
    order: IntArray | None
    fixed: bool
    anytime: bool
    bounded: bool

    def report(self, names: Sequence[str], selected: int, level: float) -> SelectionReport:
        """Compare the selected arm with the others."""
        level = check_level(level)
        differences, freedom, method = self._differences(selected)
        half = half_widths(differences, level, freedom, self.anytime)[0]
        proven, proof = self._proofs(selected, level)
        value, rows = differences.value[0], differences.rows[0]
        comparisons = [
            Comparison.of(names[v], float(value[v]), float(half[v]), int(rows[v]), proven.get(v))
            for v in range(len(names))
            if v != selected
        ]
        comparisons.sort(key=lambda other: other.difference)
        return SelectionReport(names[selected], level, tuple(comparisons), method, proof)

    def intervals(self, level: float) -> list[tuple[float, float]]:
        """Compute Student's interval of every arm's score, by the jackknife over groups of rows."""
        values, _ = self._leave_groups_out(range(self.counts.shape[0]))
        centre, error = jackknife_groups(values)
        half = float(stdtrit(len(values) - 2, 0.5 + check_level(level) / 2.0)) * error
        return [(float(a), float(b)) for a, b in zip(centre - half, centre + half, strict=True)]

    def _differences(self, selected: int) -> tuple[Differences, int | None, str]:
        if self.judge is not None:
            differences = self.judge.differences(self.counts[None], np.array([selected]))
            boundary = "an asymptotic confidence sequence" if self.anytime else "Student's limits"
            rows_compared = differences.rows.max()
            return differences, None, f"{boundary} for jackknifed differences of risks on {rows_compared} rows"
        arms = self.counts.shape[0]
        value, error, rows = np.zeros((1, arms)), np.zeros((1, arms)), np.zeros((1, arms), dtype=np.int64)
        freedom = GROUPS - 1
        for v in range(arms):
            if v != selected:
                # On the rows that these two have: survivors of more rounds are compared on more of them.
                values, rows[0, v] = self._leave_groups_out([selected, v])
                centre, spread = jackknife_groups(values - values[:, :1])
                value[0, v], error[0, v], freedom = centre[1], spread[1], min(freedom, len(values) - 2)
        how = f"Student's limits for score differences, {freedom + 1} groups of {rows.max()} rows left out"
        return Differences(value, error, rows), freedom, how

    def _leave_groups_out(self, arms: Sequence[int]) -> tuple[FloatArray, int]:
        """Score the arms on the rows that they all have, and without groups of them; count these rows."""
        common = self.counts[list(arms)].min(axis=0)
        draws = np.repeat(np.arange(common.size), common)
        if draws.size < 4:
            raise ValueError(f"a report needs at least 4 rows that all candidates have, got {draws.size}")
        draws = np.random.default_rng(_SEED).permutation(draws)
        lines = [common]
        for group in np.array_split(draws, min(GROUPS, draws.size // 2)):
            lines.append(common - np.bincount(group, minlength=common.size).astype(common.dtype))
        table = np.array(lines)
        return np.column_stack([self.score(k, table) for k in arms]), int(draws.size)

    def _proofs(self, selected: int, level: float) -> tuple[dict[int, float], str]:
        """Compute proven lower limits of differences, and say what they rest on."""
        if self.judge is None or not self.bounded:
            return {}, "bets on pairs need a score over a ball in the affine regime and a Gaussian kernel"
        if self.order is None:
            return {}, "bets on pairs need rows='same' and replacement='always', independent rows in one order"
        bar = math.log(max(self.counts.shape[0] - 1, 1) / (1.0 - level))
        proven = {}
        for v in range(self.counts.shape[0]):
            if v != selected:
                shift = _largest_shift(lambda s, v=v: self._wealth(selected, v, s) >= bar, 1.0, 12)  # type: ignore[misc]
                if shift is not None:
                    proven[v] = shift * self.judge.radius / 2.0
        rows = int(self.counts[selected].sum())
        kind = "a fixed number" if self.fixed else "any number"
        hint = "" if proven else "; it takes some hundred rows"
        return proven, f"bets on pairs of {rows} rows drawn at random, valid for {kind} of rows{hint}"

    def _wealth(self, u: int, v: int, shift: float) -> float:
        assert self.judge is not None
        assert self.order is not None
        rows = self.order[: int(min(self.counts[u].sum(), self.counts[v].sum()))]
        grams = self.judge.grams[u], self.judge.grams[v]
        if rows.size < 2:
            return -math.inf
        if not self.fixed:
            return float(log_wealth(Pairs.of(*grams, self.judge.y, rows), shift))
        rng = np.random.default_rng(_SEED)
        pairings = np.array([rng.permutation(rows.size) for _ in range(PAIRINGS)])
        return paired_log_wealth(*grams, self.judge.y, rows, pairings, shift)


def _largest_shift(holds: Callable[[float], bool], high: float, steps: int) -> float | None:
    """Bisect for the largest shift below `high` at which a proof holds, from below; None if it does not hold at 0."""
    if not holds(0.0):
        return None
    low = 0.0
    for _ in range(steps):
        middle = 0.5 * (low + high)
        low, high = (middle, high) if holds(middle) else (low, middle)
    return low


@dataclass(frozen=True, slots=True, eq=False)
class Pair:
    """The chosen one and another one on the same rows.

    Attributes
    ----------
    name
        The other one.
    chosen, rival
        Held-out losses of the chosen and of the other one, row by row.
    later
        Differences rival - chosen on rows that models had not seen that were fitted to earlier rows; None where a bet
        is not worth its fits (`is_worth_betting`).
    """

    name: str
    chosen: FloatArray
    rival: FloatArray
    later: FloatArray | None = None

    @property
    def rows(self) -> int:
        """Rows that both have."""
        return len(self.chosen)


def error_of(chosen: FloatArray, rival: FloatArray) -> tuple[float, float]:
    """Estimate the mean difference rival - chosen and its standard error e; infinite for fewer than two rows."""
    n = len(chosen)
    if n < 2:
        return 0.0, math.inf
    apart = rival - chosen
    spread = INFLATED * apart.var(ddof=1) + SHARED * (chosen.var(ddof=1) + rival.var(ddof=1)) + LARGEST_LOSS**2 / n
    return float(apart.mean()), float(np.sqrt(spread / n))


def is_worth_betting(chosen: FloatArray, rival: FloatArray) -> bool:
    """Decide whether bets on later rows could prove that the other one is worse.

    The level of a proof is shared among all others, those without a bet included, so leaving some out, for whatever
    reason, makes no proof weaker.
    """
    n = len(chosen)
    if n < ROWS_FOR_BETS:
        return False
    apart = rival - chosen
    return bool(apart.mean() >= WORTH_A_BET * apart.std(ddof=1) / math.sqrt(n))


def interval_of(losses: FloatArray, level: float = 0.95) -> tuple[float, float]:
    """Compute Student's interval of a mean held-out loss, approximate; infinite ends for fewer than two rows."""
    n = len(losses)
    if n < 2:
        return -math.inf, math.inf
    error = float(np.sqrt(INFLATED * losses.var(ddof=1) / n))
    half = float(stdtrit(n - 1, 0.5 + level / 2.0)) * error
    return float(losses.mean()) - half, float(losses.mean()) + half


def report_selection(
    chosen: str, pairs: Sequence[Pair], level: float = 0.95, analyses: int = 1, anytime: bool = False, noun: str = ""
) -> SelectionReport:
    """Report on a choice by held-out losses.

    Parameters
    ----------
    chosen, pairs
        Its name, and all others against it.
    level
        Probability with which all limits hold together.
    analyses
        How often the choice could have been made: the level is shared among these interim analyses.
    anytime
        Whether a fixed-confidence strategy decided when to stop: then the limits are those of an asymptotic confidence
        sequence.
    noun
        What the chosen ones are, if not candidates.
    """
    level = check_level(level)
    shared = 1.0 - (1.0 - level) / max(analyses, 1)
    bar = math.log(max(len(pairs), 1) / (1.0 - level))
    comparisons = [_compare_losses(pair, len(pairs) + 1, shared, bar, anytime) for pair in pairs]
    comparisons.sort(key=lambda other: other.difference)
    kind = "an asymptotic confidence sequence" if anytime else "Student's limits"
    method = f"{kind} for paired squared errors of probabilities on held-out rows, from {FEWEST_ROWS} common rows on"
    return SelectionReport(chosen, level, tuple(comparisons), method, _proof(pairs, comparisons), noun or "candidates")


def _compare_losses(pair: Pair, candidates: int, level: float, bar: float, anytime: bool) -> Comparison:
    """Compare by paired losses; without a limit where rows are too few for one."""
    value, error = error_of(pair.chosen, pair.rival)
    # K columns, because the level is shared among all K candidates.
    shape = (1, candidates)
    differences = Differences(np.full(shape, value), np.full(shape, error), np.full(shape, pair.rows, dtype=np.int64))
    half = float(half_widths(differences, level, anytime=anytime)[0, 0]) if pair.rows > 1 else math.inf
    proven = None if pair.later is None else proven_limit(pair.later, bar)
    comparison = Comparison.of(pair.name, value, half, pair.rows, proven)
    if comparison.more_rows and math.isfinite(comparison.more_rows):
        more = max(rows_to_settle(value, error, half, pair.rows) - pair.rows, 1.0)
        comparison = replace(comparison, more_rows=more)
    if pair.rows >= FEWEST_ROWS:
        return comparison
    return replace(comparison, at_least=-math.inf, more_rows=max(comparison.more_rows, float(FEWEST_ROWS - pair.rows)))


def rows_to_settle(value: float, error: float, half: float, n: int) -> float:
    """Solve d^2 = q^2 (V / N + L^2 / N^2) for the rows N at which the limit reaches 0, V and q as on n rows."""
    q2 = (half / error) ** 2
    part = q2 * (error**2 * n - LARGEST_LOSS**2 / n)
    return (part + math.sqrt(part**2 + 4.0 * value**2 * q2 * LARGEST_LOSS**2)) / (2.0 * value**2)


def _proof(pairs: Sequence[Pair], comparisons: Sequence[Comparison]) -> str:
    later = [len(pair.later) for pair in pairs if pair.later is not None]
    if not later:
        most = max((pair.rows for pair in pairs), default=0)
        if most >= ROWS_FOR_BETS:
            return "no other one is far enough behind for bets on later rows to prove it"
        return f"a proof needs at least {ROWS_FOR_BETS} rows that both have, and there are {most}"
    is_proven = any(other.proven_at_least is not None for other in comparisons)
    hint = "" if is_proven else "; the rows are too few for more"
    return f"bets on {max(later)} rows, drawn at random, that models fitted to earlier rows predict{hint}"


def log_row_wealth(apart: FloatArray, shift: float) -> float:
    """Compute the log of the mixed product of bets that the mean difference is above the shift.

    Both are at least -LARGEST_LOSS. With x = d / L and m = shift / L the bet is 1 + k (x - m) / (1 + m) >= 1 - k.
    """
    x, m = apart / LARGEST_LOSS, shift / LARGEST_LOSS
    gains = (x - m) / (1.0 + m)
    totals = [np.log1p(stake * gains).sum() for stake in STAKES]
    return float(np.logaddexp.reduce(totals) - math.log(len(STAKES)))


def proven_limit(apart: FloatArray, bar: float) -> float | None:
    """Find the largest shift that the bets exclude; None if not even 0."""
    return _largest_shift(lambda shift: log_row_wealth(apart, shift) >= bar, LARGEST_LOSS, 30)


def later_rows(n: int, parts: int = PARTS) -> list[tuple[IntArray, IntArray]]:
    """List positions to fit to, and positions to predict: every part by all parts before it.

    Where there are rows enough parts are whole cycles, and rows of a cycle that was begun are left out.
    """
    step = CYCLE if n >= parts * CYCLE else 1
    cuts = [n * part // parts // step * step for part in range(1, parts + 1)]
    return [(np.arange(start, dtype=np.int64), np.arange(start, end, dtype=np.int64)) for start, end in pairwise(cuts)]


def later_losses(n: int, loss: Callable[[IntArray, IntArray], FloatArray]) -> FloatArray:
    """Compute the losses of the rows of `later_rows`; `loss` fits to the first positions and judges the second."""
    return np.concatenate([loss(known, new) for known, new in later_rows(n)])


def evidence_of(pairs: Sequence[Pair | None], threshold: float, epsilon: float) -> Evidence:
    """Compute the asymptotic confidence sequence of every difference, for one trial; None stands for the leader."""
    against, lower = np.full((1, len(pairs)), np.inf), np.zeros((1, len(pairs)))
    for place, pair in enumerate(pairs):
        if pair is None:
            continue
        value, error = error_of(pair.chosen, pair.rival)
        lower[0, place] = value - error * math.sqrt(2.0 * threshold + 2.0) if math.isfinite(error) else -math.inf
        z = np.array((value + epsilon) / max(error, 1e-150))
        has_enough = pair.rows >= FEWEST_ROWS
        against[0, place] = float(log_mixture(z, np.array(pair.rows))) if has_enough else -math.inf
    return Evidence(against, lower)


def sign_test(first: int, second: int) -> float:
    """Compute the exact two-sided p-value of two counts, if either side were as likely every time; 1 without any."""
    larger = max(first, second)
    return float(min(1.0, 2.0 * bdtrc(larger - 1, first + second, 0.5))) if larger else 1.0
