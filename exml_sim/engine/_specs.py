"""Parts of a study: scores, strategies, budgets, sampling and early stopping, each as data."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import MISSING, field, fields, is_dataclass
from fractions import Fraction
from functools import cached_property
from inspect import isfunction
from typing import Annotated, Any, ClassVar

from pydantic import Field, model_validator

from exml_sim import plugins
from exml_sim._internal.validation import check_choice, shown
from exml_sim.bandit._sampling import REPLACEMENT, ROWS, SHORTFALL
from exml_sim.bandit.pool import Pool
from exml_sim.bandit.scoring import LOSSES, SCORES, Scoring
from exml_sim.engine._fields import (
    MAX_LIST,
    MAX_NAME,
    MAX_OPTION,
    MAX_TRIALS,
    Amount,
    Choice,
    Number,
    Probability,
    Share,
    Text,
    name_values,
    read_pairs,
    read_spec,
    spec,
    whole,
    without_module,
)
from exml_sim.engine._statistics import confidence_sequence
from exml_sim.money import exact, short, show
from exml_sim.plugins import Plugin, Plugins, of_object
from exml_sim.strategies import STRATEGIES, PlainLoop, Strategy, build_plugin, by_name


@spec
class Score:
    """What the score of a feature arm is; see `exml_sim.bandit.scoring.Scoring`."""

    what: ClassVar[str] = "score"
    plugin: Plugin | None = field(default=None, compare=False, repr=False, kw_only=True)
    score: Text = "ball"
    theta: Number = 0.3
    ball: Number | None = None
    penalty: tuple[Number, Number] | None = None
    loss: Annotated[str, Choice(LOSSES)] = "sum"

    @model_validator(mode="before")
    @classmethod
    def _set_penalty(cls, given: Any) -> Any:
        values = name_values(cls, given)
        plugin, name = values.get("plugin"), values.get("score", "ball")
        own = SCORES.get(name) if isinstance(name, str) else None
        score = own if plugin is None else plugin.load() if plugin.loaded else None
        if values.get("penalty") is None and score is not None and score.PENALISED:
            values["penalty"] = (1.0, 1.0)
        return values

    @model_validator(mode="after")
    def _check(self) -> Any:
        if self.plugin is None:
            check_choice(self.score, "score", SCORES)
        if self.plugin is None or self.plugin.loaded:
            Scoring(self.theta, self.plugin or self.score, self.ball, self.penalty, self.loss)
        return self

    @classmethod
    def read(cls, given: Any, offer: Plugins) -> Score:
        """Read a table; a score that is not part of this package is resolved among the plug-ins."""
        name = given.get("score", "ball") if isinstance(given, Mapping) else None
        foreign = isinstance(name, str) and name not in SCORES
        plugin = offer.resolve(plugins.SCORES, str(name), SCORES) if foreign else None
        return read_spec(cls, given, "score", plugin=plugin)

    @property
    def label(self) -> str:
        """A short name."""
        if self.ball is not None:
            return f"ball {short(self.ball)}, theta {short(self.theta)}"
        C_h, C_g = map(short, self.penalty or (1.0, 1.0))
        return f"{self.score} C {C_h}:{C_g} ({self.loss}), theta {short(self.theta)}"


@spec
class Sampling:
    """Which rows a pull buys; see `exml_sim.bandit._sampling.RowOptions`."""

    what: ClassVar[str] = "sampling"
    rows: Annotated[str, Choice(ROWS)] = "same"
    replacement: Annotated[str, Choice(REPLACEMENT)] = "always"
    shortfall: Annotated[str, Choice(SHORTFALL)] = "error"


@spec
class StrategySpec:
    """A strategy by name, with all its options in canonical form, and a title for readers if it is given."""

    what: ClassVar[str] = "strategy"
    name: Text
    plugin: Plugin | None = field(default=None, compare=False, repr=False, kw_only=True)
    options: tuple[tuple[str, Any], ...] = ()
    title: Text | None = None

    @model_validator(mode="before")
    @classmethod
    def _complete(cls, given: Any) -> Any:
        """Add the options that are at their default."""
        values = name_values(cls, given)
        plugin, name = values.get("plugin"), values.get("name")
        options = read_pairs(values.get("options", ()), MAX_OPTION)
        built = None
        if isinstance(name, str) and len(name) <= MAX_NAME and (plugin is None or plugin.loaded):
            built = _build(name, plugin, options)
        complete = tuple(sorted(_options_of(built).items())) if is_dataclass(built) else options
        return values | {"options": complete}

    @classmethod
    def read(cls, given: Any, offer: Plugins | None = None) -> StrategySpec:
        """Read a name, a table with `name` and options, or a strategy as an object or class."""
        if isinstance(given, StrategySpec):
            return given
        if hasattr(given, "explore") or isfunction(given):
            return _read_object(given.loop if isinstance(given, PlainLoop) else given)
        table = {"name": given} if isinstance(given, str) else given
        if not isinstance(table, Mapping) or not isinstance(table.get("name"), str):
            raise ValueError(f"a strategy must be a name, or a table with a name and options; got {shown(given)}")
        rest = {key: value for key, value in table.items() if key not in ("name", "options", "label")}
        options = table.get("options", {})
        if not isinstance(options, Mapping):
            raise ValueError(f"options of strategy {shown(table['name'])} must be a table, got {shown(options)}")
        name = table["name"]
        foreign = len(name) <= MAX_NAME and name not in STRATEGIES
        plugin = (offer or Plugins()).resolve(plugins.STRATEGIES, name, STRATEGIES) if foreign else None
        return cls(name, tuple({**rest, **options}.items()), table.get("label"), plugin=plugin)

    def build(self) -> Strategy:
        """Build the strategy."""
        return _build(self.name, self.plugin, self.options)

    @cached_property
    def label(self) -> str:
        """The title, or the name with the options that are not at their default."""
        if self.title is not None:
            return self.title
        default: dict[str, Any] = {}
        built: Any = self.build() if self.plugin is None or self.plugin.loaded else None
        if is_dataclass(built):
            required = {
                entry.name for entry in fields(built) if entry.default is MISSING and entry.default_factory is MISSING
            }
            given = tuple(pair for pair in self.options if pair[0] in required)
            default = _options_of(_build(self.name, self.plugin, given))
            default = {name: value for name, value in default.items() if name not in required}
        changed = [f"{name}={value}" for name, value in self.options if name not in default or default[name] != value]
        short_name = without_module(self.name)
        return f"{short_name}({', '.join(sorted(changed))})" if changed else short_name

    def table(self) -> dict[str, Any]:
        """Return name, options and title, without those that are None."""
        title = {} if self.title is None else {"label": self.title}
        return {"name": self.name, **{name: value for name, value in self.options if value is not None}, **title}


def _build(name: str, plugin: Plugin | None, options: tuple[tuple[str, Any], ...]) -> Strategy:
    return by_name(name, **dict(options)) if plugin is None else build_plugin(plugin, dict(options))


def _options_of(strategy: Any) -> dict[str, Any]:
    """Return the options of a strategy that is a dataclass, except those that are None; money as exact text."""
    pairs = ((entry.name, getattr(strategy, entry.name)) for entry in fields(strategy) if entry.init)
    return {name: show(value) if isinstance(value, Fraction) else value for name, value in pairs if value is not None}


def _read_object(given: Any) -> StrategySpec:
    """Return name and options of a strategy that is given as an object or a class."""
    cls = given if isinstance(given, type) or isfunction(given) else type(given)
    own = next((name for name, strategy in STRATEGIES.items() if strategy is cls), None)
    plugin = None if own else of_object(cls, plugins.STRATEGIES)
    name = own or (plugin.name if plugin else "")
    if cls is given:
        return StrategySpec(name, (), plugin=plugin)
    if not is_dataclass(given):
        raise ValueError(f"the strategy {shown(given)} is no dataclass, so its options are not known: give its class")
    return StrategySpec(name, tuple(_options_of(given).items()), plugin=plugin)


@spec
class Budgets:
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
    absolute: Annotated[tuple[Amount, ...], Field(max_length=MAX_LIST)] = ()
    per_arm: Annotated[tuple[Amount, ...], Field(max_length=MAX_LIST)] = ()
    ratio: Annotated[tuple[Share, ...], Field(max_length=MAX_LIST)] = ()

    @model_validator(mode="after")
    def _check(self) -> Any:
        if not len(self):
            raise ValueError("budgets must name at least one budget: absolute, per_arm or ratio")
        return self

    def __len__(self) -> int:
        return len(self.absolute) + len(self.per_arm) + len(self.ratio)

    def amounts(self, pool: Pool) -> tuple[Fraction, ...]:
        """Return the budgets as money for one pool, each once, in the order given."""
        total = sum(pool.prices.exact_costs, Fraction(0))
        amounts = [exact(value) for value in self.absolute]
        amounts += [exact(value) * total for value in self.per_arm]
        if self.ratio:
            rows = getattr(pool, "n_rows", None)
            if rows is None:
                raise ValueError("a budget ratio needs a pool with rows; parametric arms have none")
            amounts += [exact(value) * rows * total for value in self.ratio]
        return tuple(dict.fromkeys(amounts))


@spec
class Stop:
    """When a cell may stop before its last trial: at interim analyses whose places are fixed in advance.

    A decision uses exactly the trials before the interim analysis. So the number of trials of a cell depends on the
    study alone, not on workers or blocks. The reported interval is the confidence sequence, which is valid at a
    stopping time; a Clopper-Pearson interval is not.

    Attributes
    ----------
    bound
        Stop when the failure rate is decided to be above or below this number.
    width
        Stop when the confidence sequence is at most this wide.
    alpha
        Error probability of the confidence sequence, over all interim analyses together.
    check_every
        Trials between two interim analyses.
    """

    what: ClassVar[str] = "stop"
    bound: Probability | None = None
    width: Probability | None = None
    alpha: Probability = 0.05
    check_every: Annotated[int, whole(1, MAX_TRIALS)] = 1000

    @model_validator(mode="after")
    def _check(self) -> Any:
        if self.bound is None and self.width is None:
            raise ValueError("stop needs a bound to decide, or an interval width to reach, got neither")
        return self

    def is_decided(self, failures: int, trials: int) -> bool:
        """Whether the question of a cell is decided after `trials` trials."""
        low, high = confidence_sequence(failures, trials, self.alpha)
        is_clear = self.bound is not None and not low <= self.bound <= high
        return is_clear or (self.width is not None and high - low <= self.width)
