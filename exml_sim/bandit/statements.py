"""How sure is a selection? What bought rows say about the selected candidate against every other one, in words.

Two statements stand side by side. The approximate one is the jackknife with Student's quantile (or, where a rule
stopped when it was sure, the asymptotic confidence sequence). The proven one bets on pairs of rows and holds for every
number of rows, if rows were drawn at random.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass
from typing import Any, Protocol

import numpy as np
from scipy.special import stdtrit

from exml_sim.arrays import CountArray, FloatArray, IntArray
from exml_sim.bandit.betting import Pairs, log_wealth, paired_log_wealth
from exml_sim.bandit.jackknife import AffineJackknife, Differences, log_mixture

#: Orders in which a fixed number of rows is paired, and their seed: chosen before any value is seen.
PAIRINGS = 64
#: Groups of rows that are left out, at most.
GROUPS = 16
_SEED = 20_20


#: Times the rows that there are, above which an outlook is no help.
FAR_AWAY = 100

#: Differences below which two candidates are the same, but for rounding.
ALIKE = 1e-9


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
        Rows on top that would exclude it if the difference is as estimated; 0 if it is excluded, inf if none would.
    proven_at_least
        Proven lower limit of the difference; None if it is not proven that the selected one is better. A pair's limit
        is wrong with probability (1 - level) / (K - 1) at most, so the best candidate is excluded by anybody with
        probability 1 - level at most.
    """

    name: str
    difference: float
    at_least: float
    rows: int
    more_rows: float
    proven_at_least: float | None = None

    @property
    def surely_worse(self) -> bool:
        """Whether it is the selected one that is worse, by a limit as far above the difference as the lower is below.

        That limit is approximate, too.
        """
        return math.isfinite(self.at_least) and 2.0 * self.difference - self.at_least < 0.0

    @property
    def excluded(self) -> bool:
        """Whether the candidate is excluded from being the best one (approximate)."""
        return self.at_least > 0.0


@dataclass(frozen=True, slots=True)
class Statement:
    """What can be said of a selection at a level.

    Attributes
    ----------
    selected, level
        The selected candidate, and the probability with which the limits hold.
    comparisons
        Every other candidate, the closest first.
    method
        How the approximate limits were found.
    proof
        What the proven limits rest on, or why there are none.
    noun
        What is compared.
    rows_left
        Rows that there are on top of those that were compared; None if that is not known.
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
        return (self.selected, *(one.name for one in self.comparisons if not one.excluded))

    @property
    def proven_worse(self) -> tuple[str, ...]:
        """The candidates that are proven not to be the best one."""
        return tuple(one.name for one in self.comparisons if one.proven_at_least is not None)

    @property
    def more_rows(self) -> float:
        """Rows on top that would exclude all others if the differences are as estimated."""
        return max((one.more_rows for one in self.comparisons), default=0.0)

    def sentence(self) -> str:
        """The approximate statement for people."""
        if not self.comparisons:
            return f"{self.selected} is the only candidate."
        closest, sure = self.comparisons[0], f"{100.0 * self.level:g} %"
        if closest.excluded:
            text = (
                f"{self.selected} is better than {closest.name} by {closest.difference:.3g} "
                f"(at least {closest.at_least:.2g} with {sure})"
            )
        elif abs(closest.difference) < ALIKE:
            text = f"{self.selected} and {closest.name} do not differ on these rows"
        elif closest.difference > 0.0:
            text = (
                f"{self.selected} seems better than {closest.name} by {closest.difference:.2g}, "
                f"but that is not sure with {sure}"
            )
        else:
            text = f"{self.selected} was chosen; on labels alone {closest.name} looks better by "
            text += f"{-closest.difference:.2g}, " + (
                f"and with {sure} that is no chance: think of taking {closest.name}"
                if closest.surely_worse
                else "and the data cannot tell them apart"
            )
        # Counted among the others, as in the table of comparisons: the selected one is no rival of itself.
        left, others = len(self.cannot_be_excluded) - 1, len(self.comparisons)
        if left == 0:
            return f"{text}; all other {self.noun} are excluded."
        who = closest.name if others == 1 else f"{left} of the {others} other {self.noun}"
        return f"{text}; {who} cannot be excluded; {self._outlook()}."

    def _outlook(self) -> str:
        if self.more_rows > FAR_AWAY * max(one.rows for one in self.comparisons):
            return "no number of rows is in sight that would settle it"
        more = _rounded(self.more_rows)
        said = f"about {more} more {'row' if more == 1 else 'rows'} would settle it"
        if self.rows_left is None or self.more_rows <= self.rows_left:
            return said
        return f"{said}, more than the {self.rows_left} that the table has left"

    def lines(self) -> list[str]:
        """The statement, how it was found, and what of it is proven."""
        names = " or ".join(self.proven_worse)
        told = (
            f"Proven with {100.0 * self.level:g} %, the best candidate is not {names}" if names else "Nothing is proven"
        )
        return [self.sentence(), f"Approximate: {self.method}.", f"{told}: {self.proof}."]

    def to_dict(self) -> dict[str, Any]:
        """Plain values, for JSON; infinite numbers of rows are null."""
        table = asdict(self) | {
            "sentence": self.sentence(),
            "cannot_be_excluded": list(self.cannot_be_excluded),
            "proven_worse": list(self.proven_worse),
            "more_rows": _finite(self.more_rows),
        }
        table["comparisons"] = [
            asdict(one)
            | {"excluded": one.excluded, "at_least": _finite(one.at_least), "more_rows": _finite(one.more_rows)}
            for one in self.comparisons
        ]
        return table


def _finite(value: float) -> float | None:
    return value if math.isfinite(value) else None


def _rounded(rows: float) -> int:
    """Two digits: an estimate has no more."""
    digits = max(0, math.floor(math.log10(max(rows, 1.0))) - 1)
    return max(1, int(round(rows / 10**digits) * 10**digits))


def check_level(level: object) -> float:
    """A level strictly between 0 and 1."""
    if isinstance(level, bool) or not isinstance(level, int | float | np.number) or not 0.0 < float(level) < 1.0:
        raise ValueError(f"level must be between 0 and 1, both excluded, got {level!r}")
    return float(level)


def group_jackknife(values: FloatArray, leader: int, rows: int) -> tuple[Differences, int]:
    """Differences of any scores from leaving out groups of rows, for one trial; degrees of freedom come along.

    Parameters
    ----------
    values
        Scores of the K arms on all rows (first line), then without each of g groups of equal size, shape (g + 1, K).
    rows
        Rows that the arms were scored on.

    With T the difference, T_j without group j, and g groups, the estimate is g T - (g - 1) mean T_j, which takes the
    optimism of order 1 / n away, and its variance (g - 1) / g sum (T_j - mean T_j)^2.
    """
    gap = values - values[:, leader : leader + 1]
    full, left = gap[0], gap[1:]
    groups = left.shape[0]
    mean = left.mean(axis=0)
    error = np.sqrt((groups - 1) / groups * ((left - mean) ** 2).sum(axis=0))
    estimate = groups * full - (groups - 1) * mean
    where = np.full((1, values.shape[1]), rows, dtype=np.int64)
    return Differences(estimate[None], error[None], where), groups - 1


def half_widths(found: Differences, level: float, freedom: int | None = None, anytime: bool = False) -> FloatArray:
    """Half widths of the approximate limits, shape (trials, K).

    Student's quantile at 1 - delta / K, or the quantile of the asymptotic confidence sequence. K, not K - 1, because
    the rows have also said who is compared with the others: with two arms the wrong one may be selected either way.
    """
    alarm = (1.0 - level) / found.rows.shape[1]
    sizes, place = np.unique(found.rows, return_inverse=True)
    if anytime:
        quantiles = np.array([_crossing(int(n), -math.log(alarm)) for n in sizes])
    else:
        degrees = np.maximum(sizes - 1, 1) if freedom is None else np.full(sizes.shape, freedom)
        quantiles = stdtrit(degrees.astype(np.float64), 1.0 - alarm)
    return np.asarray(quantiles[place].reshape(found.rows.shape) * found.error, dtype=np.float64)


def _crossing(rows: int, bar: float) -> float:
    """The z at which the mixture reaches the bar."""
    low, high = 0.0, 100.0
    for _ in range(60):
        z = 0.5 * (low + high)
        low, high = (z, high) if float(log_mixture(np.array(z), np.array(rows))) < bar else (low, z)
    return high


class Questioned(Protocol):
    """What an exploration leaves for a statement."""

    def state(self, names: Sequence[str], selected: int, level: float) -> Statement:
        """The statement about the selected arm."""
        ...

    def intervals(self, level: float) -> list[tuple[float, float]]:
        """Approximate interval of every arm's score, for other rows of the same source."""
        ...


@dataclass(frozen=True, slots=True, eq=False)
class Witness:
    """What one exploration of rows leaves for a statement.

    Attributes
    ----------
    counts
        How often each row was bought for each arm, shape (K, m).
    judge
        Who compares in the affine regime; None for other scores.
    score
        Scores of one arm for lines of counts, for other scores.
    order
        The rows in the order in which all arms bought them; None if arms have orders of their own or rows came twice.
    fixed
        Whether the number of rows was fixed beforehand: one round.
    anytime
        Whether a rule looked until it was sure.
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

    def state(self, names: Sequence[str], selected: int, level: float) -> Statement:
        """The statement about the selected arm."""
        level = check_level(level)
        found, freedom, method = self._found(selected)
        half = half_widths(found, level, freedom, self.anytime)[0]
        proven, proof = self._proofs(selected, level)
        comparisons = [
            compared(names[v], float(found.value[0, v]), float(half[v]), int(found.rows[0, v]), proven.get(v))
            for v in range(len(names))
            if v != selected
        ]
        comparisons.sort(key=lambda one: one.difference)
        return Statement(names[selected], level, tuple(comparisons), method, proof)

    def intervals(self, level: float) -> list[tuple[float, float]]:
        """Student's interval of every arm's score, its optimism of order 1 / n taken away, from groups left out."""
        values, _ = self._left_out()
        full, left = values[0], values[1:]
        groups = len(left)
        centre = groups * full - (groups - 1) * left.mean(axis=0)
        error = np.sqrt((groups - 1) / groups * ((left - left.mean(axis=0)) ** 2).sum(axis=0))
        half = float(stdtrit(groups - 1, 0.5 + check_level(level) / 2.0)) * error
        return [(float(a), float(b)) for a, b in zip(centre - half, centre + half, strict=True)]

    def _found(self, selected: int) -> tuple[Differences, int | None, str]:
        if self.judge is not None:
            found = self.judge.differences(self.counts[None], np.array([selected]))
            boundary = "an asymptotic confidence sequence" if self.anytime else "Student's limits"
            return found, None, f"{boundary} for jackknifed differences of risks on {found.rows.max()} rows"
        arms = self.counts.shape[0]
        value, error, rows = np.zeros((1, arms)), np.zeros((1, arms)), np.zeros((1, arms), dtype=np.int64)
        freedom = GROUPS - 1
        for v in range(arms):
            if v != selected:
                # On the rows that these two have: survivors of more rounds are compared on more of them.
                values, rows[0, v] = self._left_out([selected, v])
                found, degrees = group_jackknife(values, 0, int(rows[0, v]))
                value[0, v], error[0, v], freedom = found.value[0, 1], found.error[0, 1], min(freedom, degrees)
        how = f"Student's limits for score differences, {freedom + 1} groups of {rows.max()} rows left out"
        return Differences(value, error, rows), freedom, how

    def _left_out(self, arms: Sequence[int] | None = None) -> tuple[FloatArray, int]:
        """Scores of some arms (all of them by default) on the rows that they all have, and without groups of them."""
        chosen = range(self.counts.shape[0]) if arms is None else arms
        common = self.counts[list(chosen)].min(axis=0)
        draws = np.repeat(np.arange(common.size), common)
        if draws.size < 4:
            raise ValueError(f"a statement needs at least 4 rows that all candidates have, got {draws.size}")
        draws = np.random.default_rng(_SEED).permutation(draws)
        lines = [common]
        for part in np.array_split(draws, min(GROUPS, draws.size // 2)):
            lines.append(common - np.bincount(part, minlength=common.size).astype(common.dtype))
        table = np.array(lines)
        return np.column_stack([self.score(k, table) for k in chosen]), int(draws.size)

    def _proofs(self, selected: int, level: float) -> tuple[dict[int, float], str]:
        """Proven lower limits of differences, and what they rest on."""
        if self.judge is None or not self.bounded:
            return {}, "bets on pairs need a score over a ball in the affine regime and a Gaussian kernel"
        if self.order is None:
            return {}, "bets on pairs need rows='same' and rows that are drawn in one order"
        bar = math.log(max(self.counts.shape[0] - 1, 1) / (1.0 - level))
        proven = {}
        for v in range(self.counts.shape[0]):
            if v != selected:
                shift = _largest(lambda s, v=v: self._wealth(selected, v, s) >= bar)  # type: ignore[misc]
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


def compared(name: str, difference: float, half: float, rows: int, proven: float | None) -> Comparison:
    """A comparison by an estimate and the half width of its limit."""
    at_least = difference - half
    more = rows * ((half / difference) ** 2 - 1.0) if difference > 0.0 else math.inf
    return Comparison(name, difference, at_least, rows, 0.0 if at_least > 0.0 else max(more, 1.0), proven)


def _largest(holds: Callable[[float], bool]) -> float | None:
    """The largest shift at which a proof holds, from below; None if it does not hold at 0."""
    if not holds(0.0):
        return None
    low, high = 0.0, 1.0
    for _ in range(12):
        middle = 0.5 * (low + high)
        low, high = (middle, high) if holds(middle) else (low, middle)
    return low
