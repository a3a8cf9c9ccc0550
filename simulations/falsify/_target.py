"""A claim as "observed <= bound" over a space of instances, and verdicts on its violations.

Both sides are natural logarithms: probabilities may be far below what a float holds. A space is a few named numbers, or
small pools with a budget. It encodes its instances as a fixed number of integers, each with a range. The search changes
these integers, and hypothesis shrinks them; integers near 0 encode small and round numbers.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from functools import cached_property
from itertools import islice
from typing import Any

from theory import verdicts
from theory.exact import AffinePool
from theory.formulas import halving_schedule
from theory.verdicts import Verdict

F = Fraction
Number = int | Fraction
THETAS = tuple(F(*pair) for pair in ((1, 10), (1, 100), (1, 5), (1, 50), (1, 20), (1, 1000), (3, 10), (2, 5), (9, 20)))
#: Features are whole numbers from -MAX_FEATURE to MAX_FEATURE.
MAX_FEATURE = 2
MAX_WEIGHT = 20


def read_number(value: object, what: str) -> Number:
    """Read a whole number, a fraction or a decimal exactly."""
    try:
        if isinstance(value, bool) or not isinstance(value, int | str | Fraction):
            raise ValueError
        return _shorten(Fraction(value))
    except (ValueError, ZeroDivisionError):
        raise ValueError(
            f'{what} must be a whole number or a fraction in quotes such as "3/10", got {value!r}'
        ) from None


def _shorten(number: Fraction) -> Number:
    return int(number) if number.denominator == 1 else number


def _to_toml(value: Number) -> int | str:
    return int(value) if Fraction(value).denominator == 1 else str(value)


@dataclass(frozen=True, slots=True)
class Axis:
    """Describe the values of one number.

    Attributes
    ----------
    low, high
        Both ends are allowed.
    grid
        Values are multiples of 1/grid; None for a logarithmic scale.
    digits
        Significant digits on a logarithmic scale.
    """

    low: Fraction
    high: Fraction
    grid: int | None = 1
    digits: int = 2

    @property
    def bounds(self) -> tuple[tuple[int, int], ...]:
        """Ranges of the integers that encode a value: a multiple of 1/grid, or exponent and mantissa."""
        if self.grid is not None:
            return ((math.ceil(self.low * self.grid), math.floor(self.high * self.grid)),)
        first, last = (math.floor(math.log10(end)) for end in (self.low, self.high))
        return ((first, last), (10 ** (self.digits - 1), 10**self.digits - 1))

    def decode(self, code: Sequence[int]) -> Number:
        """Return the value of a code."""
        if self.grid is not None:
            return _shorten(F(code[0], self.grid))
        number = F(code[1], 10 ** (self.digits - 1)) * F(10) ** code[0]
        return _shorten(min(max(number, self.low), self.high))


def axis(low: Any, high: Any, grid: int | None = 1, digits: int = 2) -> Axis:
    """Build an axis from anything that `Fraction` reads."""
    ends = Fraction(low), Fraction(high)
    if not ends[0] < ends[1]:
        raise ValueError(f"an axis needs low < high, got {low} and {high}")
    if grid is None and ends[0] <= 0:
        raise ValueError(f"a logarithmic axis needs low > 0, got {low}")
    return Axis(*ends, grid, digits)


@dataclass(frozen=True, slots=True)
class Numbers:
    """Hold named numbers."""

    names: tuple[str, ...]
    values: tuple[Number, ...]

    def __getitem__(self, name: str) -> Number:
        return self.values[self.names.index(name)]

    def integer(self, name: str) -> int:
        """Return a number that is whole."""
        return int(self[name])

    def fraction(self, name: str) -> Fraction:
        """Return a number as a fraction."""
        return Fraction(self[name])

    def to_table(self) -> dict[str, Any]:
        """Return the table of a TOML file."""
        return {name: _to_toml(value) for name, value in zip(self.names, self.values, strict=True)}

    def describe(self) -> str:
        """Describe the point in one line, without the means of arms beyond the number of arms."""
        pairs = dict(zip(self.names, self.values, strict=True))
        unused = {f"mean{i}" for i in range(int(pairs.get("arms", 0)) + 1, len(pairs))} if "arms" in pairs else set()
        return ", ".join(f"{name} = {value}" for name, value in pairs.items() if name not in unused)


@dataclass(frozen=True, slots=True)
class Box:
    """Space of named numbers, one axis each."""

    axes: tuple[tuple[str, Axis], ...]

    @property
    def bounds(self) -> tuple[tuple[int, int], ...]:
        """Ranges of the integers that encode a point."""
        return tuple(pair for _, axis in self.axes for pair in axis.bounds)

    def decode(self, code: Sequence[int]) -> Numbers:
        """Return the point of a code."""
        values, start = [], 0
        for _, axis in self.axes:
            stop = start + len(axis.bounds)
            values.append(axis.decode(code[start:stop]))
            start = stop
        return Numbers(tuple(name for name, _ in self.axes), tuple(values))

    def read(self, table: Mapping[str, Any]) -> Numbers:
        """Read the point of a table; values outside the box are errors."""
        names = tuple(name for name, _ in self.axes)
        if set(table) != set(names):
            raise ValueError(f"an instance needs exactly {', '.join(names)}, got {', '.join(table) or 'nothing'}")
        values = []
        for name, axis in self.axes:
            value = read_number(table[name], name)
            if not axis.low <= value <= axis.high:
                raise ValueError(f"{name} must lie between {axis.low} and {axis.high}, got {value}")
            values.append(value)
        return Numbers(names, tuple(values))


def box(**axes: Axis) -> Box:
    """Build a space from axes by name."""
    return Box(tuple(axes.items()))


@dataclass(frozen=True)
class PoolInstance:
    """K arms over a few kinds of rows (atoms), and a budget.

    Attributes
    ----------
    weights
        Rows of the population of each kind.
    labels
        Label of each kind, +1 or -1.
    features
        For each arm, the value at each kind of row.
    theta
        Rejection cost.
    fill
        kappa Lambda = fill (1 - 2 theta), with fill in (0, 1]: the affine regime.
    budget
        In pulls; every pull costs 1.
    """

    weights: tuple[int, ...]
    labels: tuple[int, ...]
    features: tuple[tuple[int, ...], ...]
    theta: Fraction
    fill: Fraction
    budget: int

    def __post_init__(self) -> None:
        atoms = len(self.weights)
        if len(self.labels) != atoms or not self.features or any(len(arm) != atoms for arm in self.features):
            raise ValueError(f"labels and the features of every arm need one entry for each of {atoms} weights")
        if not any(map(any, self.features)):
            raise ValueError("at least one feature must differ from 0")

    @property
    def arms(self) -> int:
        """K."""
        return len(self.features)

    @property
    def kappa(self) -> int:
        """The largest absolute feature; the kernel is linear."""
        return max(abs(value) for arm in self.features for value in arm)

    @property
    def kappa_lambda(self) -> Fraction:
        """kappa Lambda."""
        return self.fill * (1 - 2 * self.theta)

    @property
    def radius(self) -> Fraction:
        """Lambda."""
        return self.kappa_lambda / self.kappa

    @cached_property
    def pool(self) -> AffinePool:
        """The pool in exact arithmetic, for the affine regime."""
        total = sum(self.weights)
        weights = tuple(F(weight, total) for weight in self.weights)
        features = tuple(tuple(F(value) for value in arm) for arm in self.features)
        return AffinePool(weights, self.labels, features, self.radius, self.theta)

    @cached_property
    def gaps(self) -> tuple[Fraction, ...]:
        """Exact gaps."""
        return self.pool.gaps()

    @property
    def gap(self) -> Fraction:
        """The smallest positive gap, 0 if there is none."""
        return min((gap for gap in self.gaps if gap > 0), default=F(0))

    @property
    def best(self) -> tuple[int, ...]:
        """Arms with gap zero."""
        return tuple(arm for arm, gap in enumerate(self.gaps) if gap == 0)

    @property
    def rows(self) -> int:
        """Rows per arm of uniform allocation."""
        return self.budget // self.arms

    def to_table(self) -> dict[str, Any]:
        """Return the table of a TOML file."""
        return {
            "weights": list(self.weights),
            "labels": list(self.labels),
            "features": [list(arm) for arm in self.features],
            "theta": _to_toml(self.theta),
            "fill": _to_toml(self.fill),
            "budget": self.budget,
        }

    def describe(self) -> str:
        """Describe the pool in one line."""
        return (
            f"K = {self.arms} with features {self.features}, weights {self.weights}, labels {self.labels}, "
            f"theta = {self.theta}, kappa Lambda = {self.kappa_lambda}, B = {self.budget}"
        )


@dataclass(frozen=True, slots=True)
class PoolSpace:
    """Pools with limits on their size.

    Attributes
    ----------
    arms, atoms, budget
        Smallest and largest.
    states
        Most samples that one measurement may enumerate; the budget is lowered to fit.
    median
        Whether the budget must buy a row in every round of median elimination.
    """

    arms: tuple[int, int]
    atoms: tuple[int, int]
    budget: tuple[int, int]
    states: int = 60_000
    median: bool = False

    @property
    def bounds(self) -> tuple[tuple[int, int], ...]:
        """Ranges of the integers that encode a pool: budget, theta, fill, then all kinds of rows and all arms.

        A kind is its weight and its label, and weight 0 leaves it out. An arm is whether it is there and its features.
        """
        kinds = [(0, MAX_WEIGHT), (0, 1)] * self.atoms[1]
        arm = [(0, 1), *[(-MAX_FEATURE, MAX_FEATURE)] * self.atoms[1]]
        return (*self._budget_axis.bounds, (0, len(THETAS) - 1), (0, 9), *kinds, *arm * self.arms[1])

    @property
    def _budget_axis(self) -> Axis:
        return axis(*self.budget, grid=None)

    def decode(self, code: Sequence[int]) -> PoolInstance:
        """Return the pool of a code; where too few kinds or arms are present, the first ones are."""
        budget, theta, fill = int(self._budget_axis.decode(code[:2])), THETAS[code[2]], 1 - F(code[3], 10)
        width = self.atoms[1]
        kinds, arms = code[4 : 4 + 2 * width], code[4 + 2 * width :]
        weights = kinds[::2]
        atoms = _pick_present(weights, self.atoms[0])
        rows = [arms[start : start + width + 1] for start in range(0, len(arms), width + 1)]
        present = _pick_present([row[0] for row in rows], self.arms[0])
        features = [tuple(rows[arm][1 + atom] for atom in atoms) for arm in present]
        if not any(map(any, features)):
            features[0] = (1,) * len(atoms)
        labels = tuple(1 - 2 * kinds[2 * atom + 1] for atom in atoms)
        pool = PoolInstance(
            tuple(max(weights[atom], 1) for atom in atoms), labels, tuple(features), theta, fill, budget
        )
        return self._fit(pool)

    def read(self, table: Mapping[str, Any]) -> PoolInstance:
        """Read the pool of a table; pools outside the space are errors."""
        names = {"weights", "labels", "features", "theta", "fill", "budget"}
        if set(table) != names:
            raise ValueError(f"a pool needs exactly {', '.join(sorted(names))}, got {', '.join(table) or 'nothing'}")
        pool = PoolInstance(
            weights=tuple(int(weight) for weight in table["weights"]),
            labels=tuple(int(label) for label in table["labels"]),
            features=tuple(tuple(int(value) for value in arm) for arm in table["features"]),
            theta=F(read_number(table["theta"], "theta")),
            fill=F(read_number(table["fill"], "fill")),
            budget=int(table["budget"]),
        )
        if not (
            self.arms[0] <= pool.arms <= self.arms[1]
            and self.atoms[0] <= len(pool.weights) <= self.atoms[1]
            and self._min_budget(pool.arms) <= pool.budget <= self.budget[1]
            and 0 < pool.fill <= 1
            and 0 < pool.theta < F(1, 2)
        ):
            raise ValueError(f"the space of this claim does not contain the pool {pool.describe()}")
        return pool

    def _min_budget(self, arms: int) -> int:
        """Return the smallest budget that buys a row of every arm (in every round)."""
        return arms * (max(arms - 1, 1)).bit_length() if self.median else arms

    def _fit(self, pool: PoolInstance) -> PoolInstance:
        """Put a best arm first (the lemmas number arms so) and the budget within its limits."""
        least = self._min_budget(pool.arms)
        budget = min(max(pool.budget, least), self.budget[1])
        while budget > least and self._count_samples(pool, budget) > self.states:
            budget = max(int(budget * 0.8), least)
        first = pool.best[0]
        features = (pool.features[first], *pool.features[:first], *pool.features[first + 1 :])
        return replace(pool, features=features, budget=budget)

    def _count_samples(self, pool: PoolInstance, budget: int) -> int:
        """Count the samples of the largest round of a strategy."""
        rows = budget // pool.arms
        if self.median:
            rows = int(halving_schedule(budget, pool.arms).accumulated[-1])
        return math.comb(rows + len(pool.weights) - 1, len(pool.weights) - 1)


def _pick_present(flags: Sequence[int], least: int) -> list[int]:
    """Return the indices of positive flags, and of the first others if they are fewer than ``least``."""
    present = [index for index, flag in enumerate(flags) if flag]
    missing = (index for index, flag in enumerate(flags) if not flag)
    return sorted([*present, *islice(missing, max(least - len(present), 0))])


#: Tolerance for rounding of logarithms in a violation.
ROUNDING = 1e-9
#: Log of a side that is zero.
LOG_ZERO = -math.inf
#: Largest delta at which claims "with probability 1 - delta" are tested.
LARGEST_DELTA = 0.05
#: A point of a space, and the spaces that a search may visit; nothing in a space depends on a known counterexample.
Instance = Numbers | PoolInstance
Space = Box | PoolSpace
_UNMET = -1e9
_NOTHING = -1e6
_MOST = 1e6


@dataclass(frozen=True, slots=True)
class Measured:
    """Both sides of the claim "observed <= bound" at one instance.

    Attributes
    ----------
    log_observed, log_bound
        Natural logarithms of both sides; probabilities may be far below what a float holds.
    shortfall
        By how much a premise of the claim is missed; 0 if all hold. Such an instance is no evidence.
    hint
        Guides the search while nothing is observed: larger is closer.
    """

    log_observed: float
    log_bound: float
    shortfall: float = 0.0
    hint: float = 0.0

    @property
    def excess(self) -> float:
        """log(observed / bound); nothing observed is below every bound."""
        return self.log_observed - self.log_bound if self.log_observed > LOG_ZERO else LOG_ZERO

    @property
    def ratio(self) -> float:
        """observed / bound."""
        return math.exp(self.excess) if self.excess < 700 else math.inf

    @property
    def admissible(self) -> bool:
        """Whether the premises hold."""
        return self.shortfall <= 0

    @property
    def violates(self) -> bool:
        """Whether the instance contradicts the claim."""
        return self.admissible and self.excess > ROUNDING

    def fitness(self, relative: bool = False) -> float:
        """Return what the search climbs: towards the premises, then something observed, then the excess.

        ``relative`` divides the excess by 1 + |log bound|: it compares exponents instead of probabilities, and leads
        to violations that lie far out in the tails, where the excess alone gets worse before it gets better.
        """
        if not self.admissible:
            return _UNMET - min(self.shortfall, 1e6)
        if self.log_observed == LOG_ZERO:
            return _NOTHING + max(min(self.hint, 1e5), -1e5)
        scale = 1 + abs(self.log_bound) if relative and math.isfinite(self.log_bound) else 1.0
        return max(min(self.excess / scale, _MOST), _NOTHING / 2)


def unmet(shortfall: float) -> Measured:
    """Return the measurement of an instance that misses a premise."""
    return Measured(LOG_ZERO, 0.0, shortfall=max(shortfall, 1e-12))


def log(value: float) -> float:
    """Return the logarithm, `LOG_ZERO` for zero."""
    return math.log(value) if value > 0 else LOG_ZERO


@dataclass(frozen=True, slots=True)
class Target:
    """A claim whose violations can be searched.

    Attributes
    ----------
    id
        Id of the claim in the registry, or the dotted name of a bound, with ``/space`` after it if a claim has more
        than one space.
    says
        Meaning of "observed <= bound".
    space
        Instances to search.
    measure
        (instance, seed) -> `Measured`; fast, and deterministic given the seed. Exact measures ignore the seed.
    confirm
        (instance, seed) -> `Verdict`; by other means than `measure`: exact fractions, another code path, or fresh
        random numbers.
    holds
        What the registry or a proof says about the claim over this space; None where nothing is proved.
    probability
        Whether the bound is one on a probability, so that tightness is reported at informative bounds only.
    """

    id: str
    says: str
    space: Space
    measure: Callable[[Any, int], Measured]
    confirm: Callable[[Any, int], Verdict]
    holds: bool | None
    probability: bool = True


def exact_log(value: Fraction | float | int) -> float:
    """Return the natural logarithm of a fraction of any size."""
    number = Fraction(value)
    if number <= 0:
        return LOG_ZERO
    return math.log(number.numerator) - math.log(number.denominator)


def format_log(log_value: float) -> str:
    """Format exp of a logarithm, also when it underflows."""
    if not math.isfinite(log_value):
        return "0" if log_value < 0 else str(log_value)
    power = log_value / math.log(10)
    if -5 < power < 6:
        return f"{math.exp(log_value):.6g}"
    exponent = math.floor(power)
    return f"{10 ** (power - exponent):.3f}e{exponent:+03d}"


def judge_measured(measured: Measured, *, how: str, probability: bool = True) -> Verdict:
    """Compare the observed side with the bound; ``how`` names the independent method that observed it."""
    log_observed, log_bound = measured.log_observed, measured.log_bound
    if not measured.admissible or math.isnan(log_bound):
        return verdicts.vacuous(f"A premise of the claim does not hold ({how}).", log_bound=math.nan)
    values = f"the observed side is {format_log(log_observed)} and the bound {format_log(log_bound)} ({how})"
    numbers = {"log_observed": log_observed, "log_bound": log_bound}
    if probability and log_bound >= 0:
        return verdicts.vacuous(f"The bound excludes nothing: {values}.", **numbers)
    if log_observed > log_bound + ROUNDING:
        return verdicts.refuted(f"The claim fails: {values}.", **numbers)
    return verdicts.consistent(f"The claim holds: {values}.", **numbers)


def build_exact_target(
    id: str,
    says: str,
    space: Space,
    fast: Callable[[Any], Measured],
    slow: Callable[[Any], Measured],
    how: str,
    holds: bool | None,
    *,
    probability: bool = True,
) -> Target:
    """Build a target without random numbers: searched by a fast path, confirmed by a slow one that ``how`` names."""
    return Target(
        id,
        says,
        space,
        lambda instance, seed: fast(instance),
        lambda instance, seed: judge_measured(slow(instance), how=how, probability=probability),
        holds,
        probability=probability,
    )


def compare_sides(left: Fraction | float, right: Fraction | float) -> Measured:
    """Measure the claim "left <= right" on exact numbers."""
    return Measured(exact_log(left), exact_log(right))
