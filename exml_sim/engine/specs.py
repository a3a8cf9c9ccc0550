"""What a study is made of: pools, scores, strategies, budgets and sampling, each as data."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, fields, is_dataclass, replace
from fractions import Fraction
from typing import Any, ClassVar, cast

import numpy as np

from exml_sim import datasets, plugins
from exml_sim.bandit.parametric import BoundedArm, CorrelatedArm, GaussianArm, ParametricPool
from exml_sim.bandit.pool import Pool
from exml_sim.bandit.rows import FeaturePool
from exml_sim.bandit.sampling import REPLACEMENT, ROWS, SHORTFALL
from exml_sim.bandit.scoring import LOSSES, SCORES, Scoring
from exml_sim.datasets import DATASETS, make_synthetic
from exml_sim.datasets.mfeat import VIEWS, make_mfeat
from exml_sim.engine import limits
from exml_sim.engine.families import FamilyPool, RedrawnArms
from exml_sim.engine.fields import (
    Fields,
    amount,
    bandwidth,
    entry,
    frozen,
    kernel_name,
    number,
    one_of,
    optional,
    pairs,
    required,
    several,
    share,
    text,
    whole,
)
from exml_sim.engine.plugin_pools import PluginPool
from exml_sim.engine.table_pools import RewardsPool, TablePool
from exml_sim.money import exact, short, show
from exml_sim.plugins import Plugin, Plugins, of_object
from exml_sim.population import Candidate, Population
from exml_sim.strategies import STRATEGIES, Strategy, build_plugin, by_name
from exml_sim.validation import check_choice, shown


def _pair(value: Any, what: str) -> tuple[float, ...]:
    found = several(number)(value, what)
    if len(found) != 2:
        raise ValueError(f"{what} must be two numbers (C_h, C_g), got {shown(value)}")
    return cast("tuple[float, ...]", found)


@dataclass(frozen=True, slots=True)
class Score(Fields):
    """What the score of a feature arm is; see `exml_sim.bandit.scoring.Scoring`."""

    what: ClassVar[str] = "score"
    score: str = entry(text, default="ball")
    theta: float = entry(number, default=0.3)
    ball: float | None = entry(optional(number), default=None)
    penalty: tuple[float, float] | None = entry(optional(_pair), default=None)
    loss: str = entry(one_of(LOSSES), default="sum")
    plugin: Plugin | None = field(default=None, compare=False, repr=False, kw_only=True)

    def __post_init__(self) -> None:
        Fields.__post_init__(self)
        if self.plugin is None:
            check_choice(self.score, "score", SCORES)
        elif not self.plugin.loaded:
            return
        module = SCORES[self.score] if self.plugin is None else self.plugin.load()
        if self.penalty is None and module.PENALISED:
            object.__setattr__(self, "penalty", (1.0, 1.0))
        Scoring(self.theta, self.plugin or self.score, self.ball, self.penalty, self.loss)

    @classmethod
    def read(cls, given: Any, offer: Plugins) -> Score:
        """Read a table; a score that is not ours is resolved among the plug-ins."""
        if isinstance(given, Score):
            return given
        if not isinstance(given, Mapping):
            raise ValueError(f"score must be a table, got {shown(given)}")
        name = given.get("score", "ball")
        foreign = isinstance(name, str) and name not in SCORES
        return cls.of(given, plugin=offer.resolve(plugins.SCORES, name, SCORES) if foreign else None)

    @property
    def label(self) -> str:
        """A short name."""
        if self.ball is not None:
            return f"ball {short(self.ball)}, theta {short(self.theta)}"
        C_h, C_g = map(short, self.penalty or (1.0, 1.0))
        return f"{self.score} C {C_h}:{C_g} ({self.loss}), theta {short(self.theta)}"


@dataclass(frozen=True, slots=True)
class Sampling(Fields):
    """Which rows a pull buys; see `exml_sim.bandit.sampling.RowOptions`."""

    what: ClassVar[str] = "sampling"
    rows: str = entry(one_of(ROWS), default="same")
    replacement: str = entry(one_of(REPLACEMENT), default="always")
    shortfall: str = entry(one_of(SHORTFALL), default="error")


@dataclass(frozen=True, slots=True)
class SyntheticPool(Fields):
    """The generator of Section 5.1; see `exml_sim.datasets.make_synthetic`."""

    what: ClassVar[str] = "synthetic pool"
    kind: ClassVar[str] = "synthetic"
    label: str = entry(text, default="synthetic")
    per_class: int = entry(whole(1, limits.ROWS), default=100)
    angles: tuple[float, ...] = entry(several(number), default=(10, 20, 30, 40, 50, 60, 70, 80, 90))
    costs: tuple[str, ...] | None = entry(optional(several(amount)), default=None)
    a: float = entry(number, default=1.0)
    sigma: float | None = entry(optional(number), default=None)
    z: float | None = entry(optional(number), default=None)
    seed: int = entry(whole(0, limits.SEED), default=0)
    kernel: str = entry(kernel_name, default="gaussian")
    gamma: float | str = entry(bandwidth, default="median")

    def population(self) -> Population:
        """Draw the rows."""
        limits.check_rows(3 * self.per_class, len(self.angles), self.label)
        return make_synthetic(
            self.per_class, angles=self.angles, costs=self.costs, a=self.a, sigma=self.sigma, z=self.z, rng=self.seed
        )


def _view(value: Any, what: str) -> str:
    return cast(str, one_of(VIEWS)(value, what))


@dataclass(frozen=True, slots=True)
class MfeatPool(Fields):
    """Three digits of the shipped Multiple Features data: two known, one hidden and mislabelled by a fair coin."""

    what: ClassVar[str] = "mfeat pool"
    kind: ClassVar[str] = "mfeat"
    label: str = entry(text, default="mfeat")
    negative: int = entry(whole(0), default=0)
    positive: int = entry(whole(0), default=1)
    hidden: int = entry(whole(0), default=2)
    observed: str = entry(_view, default="mor")
    candidates: tuple[str, ...] = entry(several(_view), default=("fac", "pix", "kar", "zer", "fou"))
    costs: tuple[str, ...] | None = entry(optional(several(amount)), default=None)
    per_class: int = entry(whole(1, limits.ROWS), default=100)
    seed: int = entry(whole(0, limits.SEED), default=0)
    kernel: str = entry(kernel_name, default="gaussian")
    gamma: float | str = entry(bandwidth, default="median")

    def population(self) -> Population:
        """Choose the rows and mislabel the hidden digit."""
        return make_mfeat(
            (self.negative, self.positive, self.hidden),
            self.per_class,
            observed=self.observed,
            candidates=self.candidates,
            costs=self.costs,
            rng=np.random.default_rng(self.seed),
        )


@dataclass(frozen=True, slots=True)
class AtomPool(Fields):
    """Rows written out: labels, one list of values per candidate, and how many copies of each row there are.

    Nothing is observed for free. With the linear kernel and a small ball this is the affine pool of the exact
    enumerations.
    """

    what: ClassVar[str] = "atoms pool"
    kind: ClassVar[str] = "finite_support"
    values: tuple[tuple[float, ...], ...] = entry(several(several(number, most=limits.ROWS)))
    y: tuple[float, ...] = entry(several(number, most=limits.ROWS))
    copies: tuple[int, ...] | None = entry(optional(several(whole(1), most=limits.ROWS)), default=None)
    costs: tuple[str, ...] | None = entry(optional(several(amount)), default=None)
    label: str = entry(text, default="atoms")
    kernel: str = entry(kernel_name, default="linear")
    gamma: float | str = entry(bandwidth, default="median")

    def population(self) -> Population:
        """Repeat every row as often as there are copies."""
        for values in self.values:
            if len(values) != len(self.y):
                raise ValueError(f"every candidate of {self.label!r} needs {len(self.y)} values, got {len(values)}")
        copies = self.copies or (1,) * len(self.y)
        prices = self.costs or ("1",) * len(self.values)
        if len(copies) != len(self.y) or len(prices) != len(self.values):
            raise ValueError(f"pool {self.label!r} needs one entry of copies per row and one of costs per candidate")
        limits.check_rows(sum(copies), len(self.values), self.label)
        rows = np.repeat(np.arange(len(self.y)), copies)
        candidates = [
            Candidate(f"arm {i}", np.array(values)[rows], price)
            for i, (values, price) in enumerate(zip(self.values, prices, strict=True))
        ]
        return Population(np.zeros((rows.size, 1)), np.array(self.y)[rows], candidates)


@dataclass(frozen=True, slots=True)
class ParametricArms(Fields):
    """Arms with known distributions: Bernoulli by means, Gaussian with `sd`, or finitely many values.

    With `correlation` pull j of every Gaussian arm shares a part of its noise with pull j of the others.
    """

    what: ClassVar[str] = "known pool"
    kind: ClassVar[str] = "parametric"
    scored: ClassVar[bool] = False
    means: tuple[float, ...] | None = entry(optional(several(number)), default=None)
    sd: float | None = entry(optional(number), default=None)
    correlation: float | None = entry(optional(number), default=None)
    values: tuple[float, ...] | None = entry(optional(several(number)), default=None)
    probabilities: tuple[tuple[float, ...], ...] | None = entry(optional(several(several(number))), default=None)
    costs: tuple[str, ...] | None = entry(optional(several(amount)), default=None)
    label: str = entry(text, default="known")

    def pool(self) -> ParametricPool:
        """Build the arms."""
        if (self.means is None) == (self.probabilities is None) or (self.values is None) != (
            self.probabilities is None
        ):
            raise ValueError(f"pool {self.label!r} needs either means (and sd), or values and probabilities")
        size = len(self.means or self.probabilities or ())
        prices = self.costs or ("1",) * size
        if len(prices) != size:
            raise ValueError(f"costs of pool {self.label!r} must be one for each of {size} arms, got {len(prices)}")
        if self.means is None:
            assert self.values is not None
            assert self.probabilities is not None
            laws = zip(self.probabilities, prices, strict=True)
            return ParametricPool([BoundedArm(self.values, law, price) for law, price in laws])
        if self.correlation is not None:
            if self.sd is None:
                raise ValueError(
                    f"pool {self.label!r} has a correlation, so it needs sd: only Gaussian arms share noise"
                )
            both = zip(self.means, prices, strict=True)
            return ParametricPool([CorrelatedArm(mean, self.sd, self.correlation, price) for mean, price in both])
        if self.sd is None:
            return ParametricPool.bernoulli(self.means, prices)
        return ParametricPool(
            [GaussianArm(mean, self.sd, price) for mean, price in zip(self.means, prices, strict=True)]
        )


@dataclass(frozen=True, slots=True)
class DatasetPool(Fields):
    """A population of any file in `exml_sim.datasets`, by name, with the options that its maker takes."""

    what: ClassVar[str] = "dataset pool"
    kind: ClassVar[str] = "dataset"
    name: str = entry(one_of(tuple(DATASETS)))
    options: Mapping[str, Any] = entry(pairs, default=())
    seed: int = entry(whole(0, limits.SEED), default=0)
    label: str = entry(text, default="")
    kernel: str = entry(kernel_name, default="gaussian")
    gamma: float | str = entry(bandwidth, default="median")

    def __post_init__(self) -> None:
        Fields.__post_init__(self)
        if "rng" in dict(self.options):
            raise ValueError("options of a dataset pool must not have rng: give seed beside them")
        if not self.label:
            object.__setattr__(self, "label", self.name)

    def population(self) -> Population:
        """Make it."""
        return datasets.by_name(self.name, **dict(self.options), rng=np.random.default_rng(self.seed))


RowSpec = SyntheticPool | MfeatPool | AtomPool | DatasetPool | TablePool | PluginPool
PoolSpec = RowSpec | ParametricArms | RewardsPool | FamilyPool | RedrawnArms
POOLS: Mapping[str, type[PoolSpec]] = {
    cls.kind: cls
    for cls in (
        SyntheticPool,
        MfeatPool,
        AtomPool,
        DatasetPool,
        TablePool,
        PluginPool,
        ParametricArms,
        RewardsPool,
        FamilyPool,
        RedrawnArms,
    )
}


def scored(spec: PoolSpec) -> bool:
    """Whether the arms are features, which need a score; other arms bring their own."""
    return spec.scored if isinstance(spec, PluginPool) else getattr(spec, "scored", True)


def read_pool(table: Mapping[str, Any] | PoolSpec, offer: Plugins) -> PoolSpec:
    """Read the table of one pool by its kind; names of plug-ins and of data files are resolved."""
    spec = table if isinstance(table, PoolSpec) else _read_table(table)
    if isinstance(spec, PluginPool) and spec.plugin is None:
        return replace(spec, plugin=offer.resolve(plugins.POOLS, spec.name, POOLS))
    if isinstance(spec, TablePool | RewardsPool) and spec.plugin is None:
        return replace(spec, plugin=offer.find_data(spec.file))
    return spec


def _read_table(table: Any) -> PoolSpec:
    if not isinstance(table, Mapping):
        raise ValueError(
            f'a pool must be a table with a kind ({", ".join(POOLS)}), like {{kind = "synthetic"}}; got {shown(table)}'
        )
    rest = dict(table)
    kind = rest.pop("kind", None)
    if isinstance(kind, str) and kind not in POOLS:
        return PluginPool.of({"name": kind, **rest})
    return POOLS[check_choice(kind, "kind of pool", POOLS)].of(rest)


def build_pool(spec: PoolSpec, score: Score | None, sampling: Sampling) -> Pool:
    """The pool of a spec; feature pools need a score."""
    if isinstance(spec, ParametricArms | RewardsPool | FamilyPool | RedrawnArms):
        return spec.pool()
    if isinstance(spec, PluginPool) and not spec.scored:
        return spec.arms()
    if score is None:
        raise ValueError(f"pool {spec.label!r} has features, so the study needs at least one score")
    population = spec.population()
    limits.check_rows(len(population.y), len(population.candidates), spec.label)
    return FeaturePool(
        population,
        theta=score.theta,
        score=score.plugin or score.score,
        ball=score.ball,
        penalty=score.penalty,
        loss=score.loss,
        kernel=spec.kernel,
        gamma=spec.gamma,
        rows=sampling.rows,
        replacement=sampling.replacement,
        shortfall=sampling.shortfall,
    )


def _option(value: Any, what: str) -> Any:
    return value if isinstance(value, Fraction) else frozen(value, what, limits.OPTION)


@dataclass(frozen=True, slots=True)
class StrategySpec:
    """A strategy by name, with all its options in canonical form.

    Attributes
    ----------
    label
        The name, with the options that are not at their default.
    """

    name: str
    options: tuple[tuple[str, Any], ...] = ()
    plugin: Plugin | None = field(default=None, compare=False, repr=False)
    label: str = field(default="", init=False, compare=False, repr=False)

    def __post_init__(self) -> None:
        options, default = dict(self.options), {}
        if self.plugin is None or self.plugin.loaded:
            built: Any = self.build()
            options = _settled(built) if is_dataclass(built) else options
            default = _settled(self._build({})) if is_dataclass(built) and not _demands(built) else {}
        changed = [f"{name}={value}" for name, value in options.items() if default.get(name, _NOTHING) != value]
        object.__setattr__(self, "options", tuple(sorted(options.items())))
        short = self.name.partition(":")[2] or self.name
        object.__setattr__(self, "label", f"{short}({', '.join(sorted(changed))})" if changed else short)

    @classmethod
    def of(cls, given: Any, offer: Plugins | None = None) -> StrategySpec:
        """Read a name, a table with `name` and options, or a strategy as an object or class."""
        if isinstance(given, StrategySpec):
            return given
        if isinstance(given, str):
            return cls(given, (), _find_strategy(given, offer))
        if hasattr(given, "explore"):
            return _of_object(given)
        if not isinstance(given, Mapping) or not isinstance(given.get("name"), str):
            raise ValueError(f"a strategy must be a name, or a table with a name and options; got {shown(given)}")
        rest = dict(given)
        name = text(rest.pop("name"), "name of a strategy")
        options = rest.pop("options", {})
        if not isinstance(options, Mapping):
            raise ValueError(f"options of strategy {name!r} must be a table, got {shown(options)}")
        both = {**rest, **options}
        read = tuple((text(key, "option"), _option(value, f"{key} of {name}")) for key, value in both.items())
        return cls(name, read, _find_strategy(name, offer))

    def build(self) -> Strategy:
        """The strategy."""
        return self._build(dict(self.options))

    def _build(self, options: Mapping[str, Any]) -> Strategy:
        return by_name(self.name, **options) if self.plugin is None else build_plugin(self.plugin, options)

    def table(self) -> dict[str, Any]:
        """Name and options, without those that are None."""
        return {"name": self.name, **{name: value for name, value in self.options if value is not None}}


_NOTHING = object()


def _settled(rule: Any) -> dict[str, Any]:
    """The options of a rule that is a dataclass; money as exact text."""
    found = ((one.name, getattr(rule, one.name)) for one in fields(rule) if one.init)
    return {name: show(value) if isinstance(value, Fraction) else value for name, value in found}


def _demands(rule: Any) -> bool:
    """Whether a rule has options without a default."""
    return any(required(one) for one in fields(rule) if one.init)


def _find_strategy(name: str, offer: Plugins | None) -> Plugin | None:
    if name in STRATEGIES:
        return None
    return (offer or Plugins()).resolve(plugins.STRATEGIES, name, STRATEGIES)


def _of_object(given: Any) -> StrategySpec:
    """Name and options of a strategy that is given as an object or a class."""
    kind = given if isinstance(given, type) else type(given)
    ours = next((name for name, strategy in STRATEGIES.items() if strategy is kind), None)
    plugin = None if ours else of_object(kind, plugins.STRATEGIES)
    name = ours or (plugin.name if plugin else "")
    if isinstance(given, type):
        return StrategySpec(name, (), plugin)
    if not is_dataclass(given):
        raise ValueError(f"the strategy {shown(given)} is no dataclass, so its options are not known: give its class")
    return StrategySpec(name, tuple(_settled(given).items()), plugin)


@dataclass(frozen=True, slots=True)
class Budgets(Fields):
    """The budgets of a study; all three lists together are the grid.

    Attributes
    ----------
    absolute
        Money.
    per_arm
        Pulls per arm n: B = n sum_i c_i, which is n K at unit costs.
    ratio
        Part b of the price of everything: B = b m sum_i c_i, which is b m K at unit costs (Section 5).
    """

    what: ClassVar[str] = "budgets"
    absolute: tuple[str, ...] = entry(several(amount, empty=True), default=())
    per_arm: tuple[str, ...] = entry(several(amount, empty=True), default=())
    ratio: tuple[str, ...] = entry(several(share, empty=True), default=())

    def __post_init__(self) -> None:
        Fields.__post_init__(self)
        if not (self.absolute or self.per_arm or self.ratio):
            raise ValueError("budgets must name at least one budget: absolute, per_arm or ratio")

    def amounts(self, pool: Pool) -> tuple[Fraction, ...]:
        """The budgets as money for one pool, each once, in the order given."""
        total = sum(pool.prices.exact_costs, Fraction(0))
        found = [exact(value) for value in self.absolute]
        found += [exact(value) * total for value in self.per_arm]
        if self.ratio:
            rows = getattr(pool, "n_rows", None)
            if rows is None:
                raise ValueError("a budget ratio needs a pool with rows; known arms have none")
            found += [exact(value) * rows * total for value in self.ratio]
        return tuple(dict.fromkeys(found))
