"""Pools of a study as data: generated rows, rows written out, and arms with parametric distributions."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Mapping, Sequence
from dataclasses import field, replace
from fractions import Fraction
from functools import lru_cache
from typing import Annotated, Any, ClassVar, Literal

import numpy as np
from pydantic import Field, field_validator

from exml_sim import datasets, plugins
from exml_sim._internal.memory import free_memory, in_bytes
from exml_sim._internal.validation import shown
from exml_sim.bandit._arms import BaseArm
from exml_sim.bandit.parametric import (
    BernoulliArm,
    BetaArm,
    BoundedArm,
    CorrelatedArm,
    ExponentialArm,
    GaussianArm,
    ParametricPool,
    RandomInstancePool,
    RandomMeanArm,
    StudentArm,
)
from exml_sim.bandit.pool import Pool
from exml_sim.datasets import DATASETS, make_synthetic
from exml_sim.engine._fields import (
    MAX_LIST,
    MAX_ROWS,
    Amount,
    Amounts,
    Choice,
    Gamma,
    Kernel,
    Number,
    Numbers,
    Options,
    Pairs,
    Seed,
    Text,
    label_from,
    read_spec,
    spec,
    whole,
)
from exml_sim.engine._specs import Sampling, Score
from exml_sim.engine._table_pools import RewardsPool, TablePool, match_costs
from exml_sim.money import exact, show
from exml_sim.plugins import Plugin, PluginError, Plugins, guard_calls
from exml_sim.population import Candidate, Population

DISTRIBUTIONS = ("bernoulli", "gaussian")
#: Distributions of parametric arms: the class of an arm, and its parameters between mean and cost with their defaults.
ARM_DISTRIBUTIONS: Mapping[str, tuple[Callable[..., BaseArm], Mapping[str, float]]] = {
    "bernoulli": (BernoulliArm, {}),
    "gaussian": (GaussianArm, {"sd": 1.0}),
    "beta": (BetaArm, {"concentration": 2.0}),
    "exponential": (ExponentialArm, {}),
    "student": (StudentArm, {"sd": 1.0, "df": 5.0}),
}
Direction = Literal["maximise", "minimise"]


def check_rows(rows: int, arms: int, label: str) -> None:
    """Refuse a pool whose rows, or kernel matrices of m x m numbers per arm, are beyond the limits or the memory."""
    if rows > MAX_ROWS:
        raise ValueError(f"pool {label!r} has {rows:,} rows, at most {MAX_ROWS:,} are allowed")
    from exml_sim.bandit._points import MATRIX_ROWS

    needed, free = 8 * arms * rows**2, free_memory()
    if rows <= MATRIX_ROWS and free is not None and needed > free:
        raise ValueError(
            f"pool {label!r} needs {in_bytes(needed)} for the kernel matrices of {arms} arms on {rows:,} rows, "
            f"and {in_bytes(free)} are free"
        )


@spec
class SyntheticPool:
    """The generator of Section 5.1; see `exml_sim.datasets.make_synthetic`."""

    what: ClassVar[str] = "synthetic pool"
    kind: Literal["synthetic"] = field(default="synthetic", kw_only=True, repr=False)
    label: Text = "synthetic"
    per_class: Annotated[int, whole(1, MAX_ROWS)] = 100
    angles: Numbers = (10, 20, 30, 40, 50, 60, 70, 80, 90)
    costs: Amounts | None = None
    a: Number = 1.0
    sigma: Number | None = None
    z: Number | None = None
    seed: Seed = 0
    kernel: Kernel = "gaussian"
    gamma: Gamma = "median"

    def population(self) -> Population:
        """Draw the rows."""
        check_rows(3 * self.per_class, len(self.angles), self.label)
        return make_synthetic(
            self.per_class, angles=self.angles, costs=self.costs, a=self.a, sigma=self.sigma, z=self.z, rng=self.seed
        )


_RowNumbers = Annotated[tuple[Number, ...], Field(min_length=1, max_length=MAX_ROWS)]


@spec
class AtomPool:
    """Rows written out: labels, one list of values per candidate, and the number of copies of each row.

    Nothing is observed for free. With the linear kernel and a small ball this is the affine pool of the exact
    enumerations.
    """

    what: ClassVar[str] = "finite_support pool"
    kind: Literal["finite_support"] = field(default="finite_support", kw_only=True, repr=False)
    values: Annotated[tuple[_RowNumbers, ...], Field(min_length=1, max_length=MAX_LIST)]
    y: _RowNumbers
    copies: Annotated[tuple[Annotated[int, whole(1)], ...], Field(min_length=1, max_length=MAX_ROWS)] | None = None
    costs: Amounts | None = None
    label: Text = "finite_support"
    kernel: Kernel = "linear"
    gamma: Gamma = "median"

    def population(self) -> Population:
        """Repeat every row as often as there are copies."""
        for values in self.values:
            if len(values) != len(self.y):
                raise ValueError(f"every candidate of {self.label!r} needs {len(self.y)} values, got {len(values)}")
        copies = self.copies or (1,) * len(self.y)
        if len(copies) != len(self.y):
            raise ValueError(f"copies of pool {self.label!r} must be one for each of {len(self.y)} rows")
        costs = match_costs(self.costs, len(self.values), self.label, "candidates")
        check_rows(sum(copies), len(self.values), self.label)
        rows = np.repeat(np.arange(len(self.y)), copies)
        candidates = [
            Candidate(f"arm {i}", np.array(values)[rows], cost)
            for i, (values, cost) in enumerate(zip(self.values, costs, strict=True))
        ]
        return Population(np.zeros((rows.size, 1)), np.array(self.y)[rows], candidates)


@spec
class ParametricArms:
    """Arms with known distributions, by means or by finitely many values; higher means are better by default.

    Means alone are Bernoulli arms, and means with `sd` Gaussian ones; `distribution` names others. `sd` (Gaussian, and
    the spread of Student arms) and `concentration` (of Beta arms) are one number, or one for every arm. With
    `correlation` pull j of every Gaussian arm shares a part of its noise with pull j of the others.
    """

    what: ClassVar[str] = "parametric pool"
    kind: Literal["parametric"] = field(default="parametric", kw_only=True, repr=False)
    means: Numbers | None = None
    direction: Direction = "maximise"
    distribution: Annotated[str, Choice(tuple(ARM_DISTRIBUTIONS))] | None = None
    sd: Number | Numbers | None = None
    correlation: Number | None = None
    df: Number | None = None
    concentration: Number | Numbers | None = None
    values: Numbers | None = None
    probabilities: Annotated[tuple[Numbers, ...], Field(min_length=1, max_length=MAX_LIST)] | None = None
    costs: Amounts | None = None
    label: Text = "parametric"

    def pool(self) -> ParametricPool:
        """Build the arms."""
        by_values = self.values is not None and self.probabilities is not None
        if (self.means is None) != by_values or (self.values is None) != (self.probabilities is None):
            raise ValueError(f"pool {self.label!r} needs either means (and sd), or values and probabilities")
        rows = self.means or self.probabilities or ()
        costs = match_costs(self.costs, len(rows), self.label, "arms")
        if self.means is None:
            self._refuse_others(())
            pairs = zip(self.probabilities or (), costs, strict=True)
            return ParametricPool([BoundedArm(self.values or (), *pair) for pair in pairs], direction=self.direction)
        kind = self.distribution or ("bernoulli" if self.sd is None else "gaussian")
        make_arm, parameters = ARM_DISTRIBUTIONS[kind]
        if kind == "gaussian" and self.correlation is not None:
            make_arm, parameters = CorrelatedArm, {**parameters, "correlation": self.correlation}
        self._refuse_others([*parameters, *(["correlation"] if kind == "gaussian" else [])], kind)
        columns = [self._per_arm(name, default, len(self.means)) for name, default in parameters.items()]
        return ParametricPool(list(map(make_arm, self.means, *columns, costs)), direction=self.direction)

    def _refuse_others(self, allowed: Sequence[str], kind: str = "arms with values") -> None:
        """Refuse a parameter that the distribution does not have."""
        for name in ("sd", "correlation", "df", "concentration"):
            if getattr(self, name) is not None and name not in allowed:
                has = f"; they have {', '.join(allowed)}" if allowed else ""
                raise ValueError(f"pool {self.label!r} has {name}, which {kind} arms do not have{has}")

    def _per_arm(self, name: str, default: float, size: int) -> tuple[float, ...]:
        """Return a parameter of every arm, given once or for each."""
        given = getattr(self, name)
        values = given if isinstance(given, tuple) else (default if given is None else given,) * size
        if len(values) != size:
            raise ValueError(f"{name} of pool {self.label!r} must be one number, or one for each of {size} arms")
        return tuple(values)


@spec
class DatasetPool:
    """A population of any file in `exml_sim.datasets`, by name, with the options that its function takes."""

    what: ClassVar[str] = "dataset pool"
    kind: Literal["dataset"] = field(default="dataset", kw_only=True, repr=False)
    name: Annotated[str, Choice(tuple(DATASETS))]
    options: Options = Pairs()
    seed: Seed = 0
    label: Annotated[Text, label_from("name")] = ""
    kernel: Kernel = "gaussian"
    gamma: Gamma = "median"

    @field_validator("options")
    @classmethod
    def _check_options(cls, value: Pairs) -> Pairs:
        if "rng" in dict(value):
            raise ValueError("options of a dataset pool must not have rng: give seed beside them")
        return value

    def population(self) -> Population:
        """Make it."""
        return datasets.by_name(self.name, **dict(self.options), rng=np.random.default_rng(self.seed))


def _spread(rivals: int) -> list[float]:
    """Return the numbers from 0 to 1 in equal steps, one per rival."""
    return [i / max(rivals - 1, 1) for i in range(rivals)]


def _group(rivals: int, sizes: tuple[float, ...]) -> list[float]:
    """Divide rivals into groups of about equal number, each with its multiple of the smallest gap."""
    return [sizes[i * len(sizes) // rivals] for i in range(rivals)]


#: Gaps of the K - 1 rivals in units of the smallest gap (after Audibert, Bubeck and Munos, 2010, Section 6).
FAMILIES: Mapping[str, Callable[[int], list[float]]] = {
    "one group": lambda rivals: [1.0] * rivals,
    "two groups": lambda rivals: _group(rivals, (1.0, 1.5, 1.5)),
    "arithmetic": lambda rivals: [1.0 + 7.0 * x for x in _spread(rivals)],
    "geometric": lambda rivals: [8.0**x for x in _spread(rivals)],
    "three groups": lambda rivals: _group(rivals, (1.0, 2.0, 4.0)),
    "sparse": lambda rivals: [1.0] + [8.0] * (rivals - 1),
}


def _ramp(K: int, ratio: Fraction) -> tuple[str, ...]:
    """Return costs from 1 to `ratio` in equal steps, exactly."""
    return tuple(show(1 + (ratio - 1) * Fraction(i, max(K - 1, 1))) for i in range(K))


@spec
class FamilyPool:
    """K arms of a family; the best one, with mean `best`, is the last. Higher means are better by default.

    The rival with the smallest gap comes first. Costs rise in equal steps from 1 to `cost_ratio`, the best arm's.
    """

    what: ClassVar[str] = "family pool"
    kind: Literal["family"] = field(default="family", kw_only=True, repr=False)
    family: Annotated[str, Choice(tuple(FAMILIES))]
    K: Annotated[int, whole(1, MAX_LIST)] = 8
    gap: Annotated[Number, Field(gt=0)] = 0.05
    distribution: Annotated[str, Choice(DISTRIBUTIONS)] = "bernoulli"
    best: Number = 0.7
    sd: Number = 0.5
    direction: Direction = "maximise"
    cost_ratio: Amount = "1"
    label: Annotated[Text, label_from("family", "distribution")] = ""

    @property
    def means(self) -> tuple[float, ...]:
        """Means of the arms."""
        rivals = FAMILIES[self.family](self.K - 1) if self.K > 1 else []
        step = -self.gap if self.direction == "maximise" else self.gap
        return (*(round(self.best + step * size, 12) for size in rivals), self.best)

    def pool(self) -> ParametricPool:
        """Build the arms."""
        costs = _ramp(self.K, exact(self.cost_ratio))
        pairs = zip(self.means, costs, strict=True)
        if self.distribution == "gaussian":
            return ParametricPool([GaussianArm(mean, self.sd, cost) for mean, cost in pairs], direction=self.direction)
        if not 0.0 <= min(self.means) <= max(self.means) <= 1.0:
            raise ValueError(
                f"pool {self.label!r} needs means in [0, 1], and best {self.best:g} with gap {self.gap:g} "
                f"({self.direction}) goes to {self.means[-2]:g}: take a smaller gap"
            )
        return ParametricPool([BernoulliArm(mean, cost) for mean, cost in pairs], direction=self.direction)


@spec
class RandomInstanceArms:
    """K arms whose means are drawn anew in every trial, uniformly between `low` and `high`."""

    what: ClassVar[str] = "random_instance pool"
    kind: Literal["random_instance"] = field(default="random_instance", kw_only=True, repr=False)
    K: Annotated[int, whole(1, MAX_LIST)] = 8
    low: Number = 0.0
    high: Number = 1.0
    distribution: Annotated[str, Choice(DISTRIBUTIONS)] = "bernoulli"
    sd: Number = 0.5
    direction: Direction = "maximise"
    cost_ratio: Amount = "1"
    label: Text = "random_instance"

    def pool(self) -> RandomInstancePool:
        """Build the arms."""
        sd = None if self.distribution == "bernoulli" else self.sd
        return RandomInstancePool(
            [RandomMeanArm(self.low, self.high, sd, c) for c in _ramp(self.K, exact(self.cost_ratio))],
            direction=self.direction,
        )


@spec
class PluginPool:
    """What a plug-in makes of the options (and of `rng`, if it takes one): a `Population`, or a `Pool` of arms."""

    what: ClassVar[str] = "plug-in pool"
    kind: Literal["plugin"] = field(default="plugin", kw_only=True, repr=False)
    plugin: Plugin | None = field(default=None, compare=False, repr=False, kw_only=True)
    name: Text
    options: Options = Pairs()
    seed: Seed = 0
    label: Annotated[Text, label_from("name")] = ""
    kernel: Kernel = "gaussian"
    gamma: Gamma = "median"

    @property
    def scored(self) -> bool:
        """Whether it makes rows, which need a score; assumed where the plug-in is not loaded."""
        return not self._plugin.loaded or isinstance(self.make_once(), Population)

    @property
    def _plugin(self) -> Plugin:
        return self.plugin or Plugin(plugins.POOLS, self.name)

    def make_once(self) -> Population | Pool:
        """Make it once and keep it for a while."""
        return _make_once(self, self._plugin.digest)

    def make(self) -> Population | Pool:
        """Call the plug-in.

        Raises
        ------
        PluginError
            If it raises, or returns neither rows nor arms with known risks.
        """
        function, options = self._plugin.load(), dict(self.options)
        with guard_calls(self._plugin):
            if "rng" in inspect.signature(function).parameters:
                options["rng"] = np.random.default_rng(self.seed)
            made = function(**options)
            if isinstance(made, Pool):
                made.best_arms()
        if not isinstance(made, Population | Pool):
            raise PluginError(f"plug-in {self.name!r} must make a Population or a Pool, got {type(made).__name__}")
        return made

    def check_same(self) -> None:
        """Refuse a plug-in that makes another pool the second time."""
        if _contents(self.make()) != _contents(self.make()):
            raise PluginError(f"plug-in {self.name!r} made another pool the second time: draw from the rng it is given")


@lru_cache(maxsize=8)
def _make_once(pool: PluginPool, digest: str) -> Population | Pool:
    """Make a pool once; the digest distinguishes a changed source."""
    return pool.make()


def _contents(made: Population | Pool) -> tuple[Any, ...]:
    """Return what two pools are compared by."""
    if isinstance(made, Pool):
        return made.names, tuple(made.costs), made.risks.tobytes()
    values = [(candidate.name, candidate.cost, candidate.values.tobytes()) for candidate in made.candidates]
    return made.X.tobytes(), np.asarray(made.y).tobytes(), *values


RowSpec = SyntheticPool | AtomPool | DatasetPool | TablePool | PluginPool
ArmSpec = ParametricArms | RewardsPool | FamilyPool | RandomInstanceArms
PoolSpec = RowSpec | ArmSpec
POOLS: Mapping[str, type[PoolSpec]] = {
    "synthetic": SyntheticPool,
    "finite_support": AtomPool,
    "dataset": DatasetPool,
    "table": TablePool,
    "plugin": PluginPool,
    "parametric": ParametricArms,
    "rewards": RewardsPool,
    "family": FamilyPool,
    "random_instance": RandomInstanceArms,
}


def is_scored(pool: PoolSpec) -> bool:
    """Whether the arms are features, which need a score; other arms bring their own."""
    return pool.scored if isinstance(pool, PluginPool) else not isinstance(pool, ArmSpec)


def read_pool(given: Any, offer: Plugins) -> PoolSpec:
    """Read the table of one pool by its kind; names of plug-ins and of data files are resolved."""
    pool = given if isinstance(given, PoolSpec) else _read_table(given)
    if isinstance(pool, PluginPool) and pool.plugin is None:
        return replace(pool, plugin=offer.resolve(plugins.POOLS, pool.name, POOLS))
    if isinstance(pool, TablePool | RewardsPool) and pool.plugin is None:
        return replace(pool, plugin=offer.find_data(pool.file))
    return pool


def _read_table(given: Any) -> PoolSpec:
    kind = given.get("kind") if isinstance(given, Mapping) else None
    if not isinstance(kind, str):
        raise ValueError(
            f'a pool must be a table with a kind ({", ".join(POOLS)}), like {{kind = "synthetic"}}; got {shown(given)}'
        )
    if kind not in POOLS:
        return read_spec(PluginPool, {**given, "kind": "plugin", "name": kind}, "pool")
    return read_spec(POOLS[kind], given, "pool")


def build_pool(pool: PoolSpec, score: Score | None, sampling: Sampling) -> Pool:
    """Build the pool of a spec; feature pools need a score."""
    if isinstance(pool, ArmSpec):
        return pool.pool()
    population = pool.make_once() if isinstance(pool, PluginPool) else None
    if isinstance(population, Pool):
        return population
    if score is None:
        raise ValueError(f"pool {pool.label!r} has features, so the study needs at least one score")
    if population is None:
        assert not isinstance(pool, PluginPool)
        population = pool.population()
    check_rows(len(population.y), len(population.candidates), pool.label)
    # Studies of parametric arms need neither scores nor the solver.
    from exml_sim.bandit.rows import FeaturePool

    return FeaturePool(
        population,
        theta=score.theta,
        score=score.plugin or score.score,
        ball=score.ball,
        penalty=score.penalty,
        loss=score.loss,
        kernel=pool.kernel,
        gamma=pool.gamma,
        rows=sampling.rows,
        replacement=sampling.replacement,
        shortfall=sampling.shortfall,
    )
