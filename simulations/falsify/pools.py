"""Small pools with a budget: a few kinds of rows, small whole numbers as features, any number of arms."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from fractions import Fraction
from functools import cached_property
from typing import Any

import numpy as np

from simulations.falsify.axes import complexity, plain, read_number
from theory.constants import halving_schedule
from theory.exact import AffinePool

F = Fraction
THETAS = tuple(F(*pair) for pair in ((1, 1000), (1, 100), (1, 50), (1, 20), (1, 10), (1, 5), (3, 10), (2, 5), (9, 20)))
#: Features are whole numbers from -STEPS to STEPS.
STEPS = 2
LARGEST_WEIGHT = 20


@dataclass(frozen=True)
class PoolInstance:
    """K arms over a few kinds of rows (atoms), and a budget.

    Attributes
    ----------
    weights
        How many of the population's rows are of each kind.
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
        if not any(value for arm in self.features for value in arm):
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
        return AffinePool(
            weights=tuple(F(weight, total) for weight in self.weights),
            labels=self.labels,
            features=tuple(tuple(F(value) for value in arm) for arm in self.features),
            radius=self.radius,
            theta=self.theta,
        )

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

    def table(self) -> dict[str, Any]:
        """As the table of a TOML file."""
        return {
            "weights": list(self.weights),
            "labels": list(self.labels),
            "features": [list(arm) for arm in self.features],
            "theta": plain(self.theta),
            "fill": plain(self.fill),
            "budget": self.budget,
        }

    def words(self) -> str:
        """For people."""
        return (
            f"K = {self.arms} with features {self.features}, weights {self.weights}, labels {self.labels}, "
            f"theta = {self.theta}, kappa Lambda = {self.kappa_lambda}, B = {self.budget}"
        )

    def size(self) -> tuple[float, ...]:
        """Arms, then kinds of rows, then the length of all numbers."""
        values = [value for arm in self.features for value in arm]
        digits = sum(map(complexity, (*self.weights, *values))) + 0.5 * sum(value < 0 for value in values)
        digits += 0.5 * sum(label < 0 for label in self.labels)
        return (
            self.arms,
            len(self.weights),
            digits + complexity(self.theta) + complexity(self.fill) + 3 * math.log2(self.budget) + len(_figures(self)),
        )


@dataclass(frozen=True, slots=True)
class PoolSpace:
    """Pools with limits on their size.

    Attributes
    ----------
    arms, atoms
        Fewest and most.
    budget
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

    def sample(self, rng: np.random.Generator) -> PoolInstance:
        """A random pool: half of them with positive labels only, where gaps are largest."""
        arms = int(rng.integers(self.arms[0], self.arms[1] + 1))
        atoms = int(rng.integers(self.atoms[0], self.atoms[1] + 1))
        labels = np.ones(atoms, int) if rng.random() < 0.5 else rng.choice([-1, 1], atoms)
        features = rng.integers(-STEPS, STEPS + 1, (arms, atoms))
        if not features.any():
            features[0, 0] = STEPS
        return self._settled(
            PoolInstance(
                weights=tuple(rng.integers(1, LARGEST_WEIGHT + 1, atoms).tolist()),
                labels=tuple(labels.tolist()),
                features=tuple(tuple(row) for row in features.tolist()),
                theta=THETAS[int(rng.integers(len(THETAS)))],
                fill=self._fill(rng),
                budget=round(math.exp(rng.uniform(math.log(self.budget[0]), math.log(self.budget[1])))),
            )
        )

    def mutate(self, instance: PoolInstance, rng: np.random.Generator) -> PoolInstance:
        """One to three changes."""
        for _ in range(int(rng.integers(1, 4))):
            change = self._CHANGES[int(rng.integers(len(self._CHANGES)))]
            instance = change(self, instance, rng)
        return self._settled(instance)

    def simpler(self, instance: PoolInstance) -> Iterator[PoolInstance]:
        """Fewer arms, fewer kinds of rows, smaller and rounder numbers."""
        for one in self._candidates(instance):
            if self._allowed(one):
                yield _first_best(one)

    def read(self, table: Mapping[str, Any]) -> PoolInstance:
        """The pool of a table."""
        names = {"weights", "labels", "features", "theta", "fill", "budget"}
        if set(table) != names:
            raise ValueError(f"a pool needs exactly {', '.join(sorted(names))}, got {', '.join(table) or 'nothing'}")
        read = PoolInstance(
            weights=tuple(int(weight) for weight in table["weights"]),
            labels=tuple(int(label) for label in table["labels"]),
            features=tuple(tuple(int(value) for value in arm) for arm in table["features"]),
            theta=F(read_number(table["theta"], "theta")),
            fill=F(read_number(table["fill"], "fill")),
            budget=int(table["budget"]),
        )
        if not self._allowed(read):
            raise ValueError(f"the space of this claim does not hold the pool {read.words()}")
        return read

    def _allowed(self, one: PoolInstance) -> bool:
        return (
            self.arms[0] <= one.arms <= self.arms[1]
            and self.atoms[0] <= len(one.weights) <= self.atoms[1]
            and self._least(one.arms) <= one.budget <= self.budget[1]
            and 0 < one.fill <= 1
            and 0 < one.theta < F(1, 2)
        )

    def _least(self, arms: int) -> int:
        """The smallest budget that buys a row of every arm (in every round)."""
        return arms * (max(arms - 1, 1)).bit_length() if self.median else arms

    def _fill(self, rng: np.random.Generator) -> Fraction:
        return F(int(rng.integers(1, 11)), 10) if rng.random() < 0.6 else F(1)

    def _settled(self, one: PoolInstance) -> PoolInstance:
        """A best arm first (the lemmas number arms so), the budget within its limits."""
        budget = min(max(one.budget, self._least(one.arms), self.budget[0]), self.budget[1])
        while budget > self._least(one.arms) and self._cost(one, budget) > self.states:
            budget = max(int(budget * 0.8), self._least(one.arms))
        return _first_best(replace(one, budget=budget))

    def _cost(self, one: PoolInstance, budget: int) -> int:
        """Samples that the costliest round of a strategy has."""
        rows = budget // one.arms
        if self.median:
            rows = int(halving_schedule(budget, one.arms).accumulated[-1])
        return math.comb(rows + len(one.weights) - 1, len(one.weights) - 1)

    def _new_weight(self, one: PoolInstance, rng: np.random.Generator) -> PoolInstance:
        at = int(rng.integers(len(one.weights)))
        old = one.weights[at]
        new = int(rng.integers(1, LARGEST_WEIGHT + 1)) if rng.random() < 0.3 else old + int(rng.choice([-1, 1]))
        return replace(one, weights=_put(one.weights, at, min(max(new, 1), LARGEST_WEIGHT)))

    def _new_feature(self, one: PoolInstance, rng: np.random.Generator) -> PoolInstance:
        arm, atom = int(rng.integers(one.arms)), int(rng.integers(len(one.weights)))
        value = int(rng.integers(-STEPS, STEPS + 1))
        features = _put(one.features, arm, _put(one.features[arm], atom, value))
        return replace(one, features=features) if any(map(any, features)) else one

    def _copied_arm(self, one: PoolInstance, rng: np.random.Generator) -> PoolInstance:
        source, arm = (int(rng.integers(one.arms)) for _ in range(2))
        copy = list(one.features[source])
        if rng.random() < 0.5:
            rng.shuffle(copy)
        features = _put(one.features, arm, tuple(copy))
        return replace(one, features=features) if any(map(any, features)) else one

    def _other_count(self, one: PoolInstance, rng: np.random.Generator) -> PoolInstance:
        """An arm or a kind of row more or less."""
        grow = rng.random() < 0.5
        if rng.random() < 0.5:
            if grow and one.arms < self.arms[1]:
                added = tuple(rng.integers(-STEPS, STEPS + 1, len(one.weights)).tolist())
                return replace(one, features=(*one.features, added))
            if not grow and one.arms > self.arms[0]:
                return _without_arm(one, int(rng.integers(one.arms))) or one
            return one
        if grow and len(one.weights) < self.atoms[1]:
            return replace(
                one,
                weights=(*one.weights, int(rng.integers(1, LARGEST_WEIGHT + 1))),
                labels=(*one.labels, int(rng.choice([-1, 1]))),
                features=tuple((*arm, int(rng.integers(-STEPS, STEPS + 1))) for arm in one.features),
            )
        if not grow and len(one.weights) > self.atoms[0]:
            return _without_atom(one, int(rng.integers(len(one.weights)))) or one
        return one

    def _new_label(self, one: PoolInstance, rng: np.random.Generator) -> PoolInstance:
        at = int(rng.integers(len(one.labels)))
        return replace(one, labels=_put(one.labels, at, -one.labels[at]))

    def _new_loss(self, one: PoolInstance, rng: np.random.Generator) -> PoolInstance:
        if rng.random() < 0.5:
            return replace(one, theta=THETAS[int(rng.integers(len(THETAS)))])
        return replace(one, fill=self._fill(rng))

    def _new_budget(self, one: PoolInstance, rng: np.random.Generator) -> PoolInstance:
        factor = math.exp(rng.normal() * rng.choice([0.05, 0.3, 1.0]))
        return replace(one, budget=max(round(one.budget * factor), 1))

    _CHANGES = (
        _new_weight,
        _new_feature,
        _new_feature,
        _copied_arm,
        _other_count,
        _new_label,
        _new_loss,
        _new_budget,
        _new_budget,
    )

    def _candidates(self, one: PoolInstance) -> Iterator[PoolInstance]:
        for arm in range(one.arms):
            smaller = _without_arm(one, arm)
            if smaller is not None:
                yield smaller
                # Fewer arms at the same number of rows per arm.
                yield replace(smaller, budget=max(one.budget * smaller.arms // one.arms, 1))
        for atom in range(len(one.weights)):
            fewer = _without_atom(one, atom)
            if fewer is not None:
                yield fewer
        for arm, values in enumerate(one.features):
            if any(values):
                blank = _put(one.features, arm, (0,) * len(values))
                if any(map(any, blank)):
                    yield replace(one, features=blank)
        common = math.gcd(*one.weights)
        if common > 1:
            yield replace(one, weights=tuple(weight // common for weight in one.weights))
        yield replace(one, weights=(1,) * len(one.weights))
        for at, weight in enumerate(one.weights):
            for value in sorted({1, 2, weight // 2, weight - 1}):
                if 1 <= value < weight:
                    yield replace(one, weights=_put(one.weights, at, value))
        yield from self._smaller_features(one)
        for at, label in enumerate(one.labels):
            if label < 0:
                yield replace(one, labels=_put(one.labels, at, 1))
        yield from (replace(one, budget=budget) for budget in _rounder(one.budget))
        for theta in (F(1, 10), F(1, 100)):
            yield replace(one, theta=theta)
        for fill in (F(1), F(1, 2)):
            yield replace(one, fill=fill)

    def _smaller_features(self, one: PoolInstance) -> Iterator[PoolInstance]:
        if all(value % 2 == 0 for arm in one.features for value in arm):
            yield replace(one, features=tuple(tuple(value // 2 for value in arm) for arm in one.features))
        for arm, values in enumerate(one.features):
            for atom, value in enumerate(values):
                for new in (0, 1, abs(value)):
                    features = _put(one.features, arm, _put(values, atom, new))
                    if new != value and any(map(any, features)):
                        yield replace(one, features=features)


def _put(items: tuple[Any, ...], at: int, value: Any) -> tuple[Any, ...]:
    return (*items[:at], value, *items[at + 1 :])


def _without_arm(one: PoolInstance, arm: int) -> PoolInstance | None:
    features = one.features[:arm] + one.features[arm + 1 :]
    return replace(one, features=features) if features and any(map(any, features)) else None


def _without_atom(one: PoolInstance, atom: int) -> PoolInstance | None:
    features = tuple(arm[:atom] + arm[atom + 1 :] for arm in one.features)
    if len(one.weights) < 2 or not any(map(any, features)):
        return None
    return replace(
        one,
        weights=one.weights[:atom] + one.weights[atom + 1 :],
        labels=one.labels[:atom] + one.labels[atom + 1 :],
        features=features,
    )


def _first_best(one: PoolInstance) -> PoolInstance:
    """The same pool with a best arm first."""
    best = one.best
    if 0 in best:
        return one
    order = [best[0], *(arm for arm in range(one.arms) if arm != best[0])]
    return replace(one, features=tuple(one.features[arm] for arm in order))


def _figures(one: PoolInstance) -> str:
    """The budget without trailing zeros: round budgets are simpler than others of their size."""
    return str(one.budget).rstrip("0")


def _rounder(budget: int) -> list[int]:
    """Smaller or rounder budgets, the smallest first."""
    tried = {budget // 2, budget * 3 // 4, budget * 9 // 10, budget * 19 // 20, budget - 1}
    for digits in (1, 2):
        scale = 10 ** max(len(str(budget)) - digits, 0)
        tried |= {budget // scale * scale, -(-budget // scale) * scale}
    return sorted(value for value in tried if 0 < value != budget)
