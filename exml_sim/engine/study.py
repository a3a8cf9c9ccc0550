"""A study: a grid of cells, trials per cell, one root seed; all that is needed to reproduce a result."""

from __future__ import annotations

import hashlib
import threading
import tomllib
from collections import Counter, OrderedDict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from fractions import Fraction
from pathlib import Path
from typing import Any, ClassVar

from exml_sim.bandit.pool import Pool
from exml_sim.bandit.strategy import check_budget
from exml_sim.engine import limits
from exml_sim.engine.bound_context import BoundSpec
from exml_sim.engine.fields import Fields, between, canonical, entry, one_of, optional, text, to_toml, whole
from exml_sim.engine.grids import expanded
from exml_sim.engine.intervals import confidence_sequence
from exml_sim.engine.plugin_pools import PluginPool
from exml_sim.engine.specs import Budgets, PoolSpec, Sampling, Score, StrategySpec, build_pool, read_pool, scored
from exml_sim.money import exact, show
from exml_sim.plugins import BOUNDS, DATA, Plugin, Plugins, files_beside, guard_calls
from exml_sim.strategies import Strategy
from exml_sim.threads import one_thread
from exml_sim.validation import shown

#: Raised when the meaning of a stored number changes: old stores then belong to another study.
FORMAT = 1

MODES: Sequence[str] = ("monte_carlo", "exact", "importance_sampling", "excess_risk", "fixed_confidence")


@dataclass(frozen=True, slots=True)
class Stop(Fields):
    """When a cell may stop before its last trial: when its question is decided, at looks that are fixed beforehand.

    Looks are at multiples of `every` trials, and a decision uses exactly the trials before the look. So the number of
    trials of a cell depends on the study alone, not on workers or blocks. What is then reported is the confidence
    sequence, which is valid at a stopping time; a Clopper-Pearson interval would not be.

    Attributes
    ----------
    bound
        Stop when the failure rate is decided to be above or below this number.
    width
        Stop when the confidence sequence is at most this wide.
    verdict
        Stop a cell when it is decided whether its failure rate is above or below this bound there: a version of ours
        ("tighter") or a bound of the study's. Where the bound says nothing a cell stops at the first look.
    alarm
        Error probability of the confidence sequence, over all looks together.
    every
        Look after this many trials, and again after as many more.
    """

    what: ClassVar[str] = "stop"
    bound: float | None = entry(optional(between(0.0, 1.0)), default=None)
    width: float | None = entry(optional(between(0.0, 1.0)), default=None)
    verdict: str | None = entry(optional(text), default=None)
    alarm: float = entry(between(0.0, 1.0), default=0.05)
    every: int = entry(whole(1, limits.TRIALS), default=1000)

    def __post_init__(self) -> None:
        Fields.__post_init__(self)
        if self.bound is None and self.width is None and self.verdict is None:
            raise ValueError("stop needs a bound or a verdict to decide, or an interval width to reach, got neither")

    def decided(self, failures: int, trials: int, bound: float | None = None) -> bool:
        """Whether the question of a cell is decided after so many trials; `bound` is that of its verdict."""
        low, high = confidence_sequence(failures, trials, self.alarm)
        asked = [one for one in (self.bound, bound) if one is not None]
        clear = any(not one < 1.0 or not low <= one <= high for one in asked)
        narrow = self.width is not None and high - low <= self.width
        return clear or narrow


@dataclass(frozen=True, slots=True)
class Cell:
    """One point of a study's grid.

    Attributes
    ----------
    index
        Position in `study.cells()`.
    pool, score, strategy
        Positions in the study's lists; `score` is -1 for known arms, which bring their own.
    budget
        Exact money as text.
    stream
        The stream of random numbers, shared by all strategies and scores on this pool and budget.
    labels
        Pool, score and strategy for people.
    """

    index: int
    pool: int
    score: int
    strategy: int
    budget: str
    stream: int
    labels: tuple[str, str, str]

    def __str__(self) -> str:
        pool, score, strategy = self.labels
        return f"{strategy} on {pool}{f' ({score})' if score else ''} with budget {self.budget}"


@dataclass(frozen=True, slots=True, kw_only=True)
class Study:
    """A grid of cells (pools x scores x budgets x strategies) with trials per cell and one root seed.

    Parts may be given as objects or as the tables that a TOML file has.

    Attributes
    ----------
    pools
        Where arms come from: `SyntheticPool`, `MfeatPool`, `AtomPool` or `ParametricArms`.
    strategies
        Names, or tables with a name and options.
    budgets
        `Budgets(absolute=..., per_arm=..., ratio=...)`.
    scores
        Scores of feature arms; every feature pool is crossed with all of them.
    sampling
        Which rows a pull buys.
    trials, seed
        Trials per cell, and the root seed.
    mode
        "count": count failures. "exact": enumerate all outcomes, no randomness. "rare": sample rows from tilted
        distributions and weight, for failure probabilities that counting cannot see. "excess": redraw the population in
        every trial and measure the excess risk of the returned model (Eq. 8). "sure": run rules with a confidence to
        their stop; a failure is to be sure and wrong, and `StudyResult.costs` has the money.
    stop
        Early stopping of cells; off by default.
    bounds
        Bounds of plug-ins that are laid over the results; they are no part of the study's identity.
    plugins
        Files of plug-ins that names in the study may refer to; they are executed. See `exml_sim.plugins`.

    Examples
    --------
    >>> study = Study(
    ...     pools=[{"kind": "parametric", "means": [0.3, 0.5]}], strategies=["uniform_allocation"],
    ...     budgets={"per_arm": [10, 20]}, trials=100)
    >>> [str(cell) for cell in study.cells()]
    ['uniform_allocation on known with budget 20', 'uniform_allocation on known with budget 40']
    >>> Study.from_toml(study.to_toml()).hash == study.hash
    True
    """

    pools: tuple[PoolSpec, ...]
    strategies: tuple[StrategySpec, ...]
    budgets: Budgets
    scores: tuple[Score, ...] = ()
    sampling: Sampling = Sampling()  # noqa: RUF009 - frozen, and empty of state
    trials: int = 1000
    seed: int = 0
    mode: str = "monte_carlo"
    stop: Stop | None = None
    name: str = "study"
    bounds: tuple[BoundSpec, ...] = ()
    plugins: Plugins | Sequence[Path] = field(default=(), compare=False, repr=False)

    def __post_init__(self) -> None:
        settle = object.__setattr__
        offer = Plugins.of(self.plugins)
        settle(self, "plugins", offer)
        settle(self, "pools", _parts(self.pools, "pools", lambda part: read_pool(part, offer)))
        settle(self, "strategies", _parts(self.strategies, "strategies", lambda part: StrategySpec.of(part, offer)))
        settle(self, "scores", _parts(self.scores, "scores", lambda part: Score.read(part, offer), empty=True))
        settle(self, "budgets", _part(self.budgets, Budgets))
        settle(self, "sampling", _part(self.sampling, Sampling))
        settle(self, "stop", None if self.stop is None else _part(self.stop, Stop))
        settle(self, "trials", whole(1, limits.TRIALS)(self.trials, "trials"))
        settle(self, "seed", whole(0, limits.SEED)(self.seed, "seed"))
        settle(self, "mode", one_of(MODES)(self.mode, "mode"))
        settle(self, "name", text(self.name, "name"))
        settle(self, "bounds", _parts(self.bounds, "bounds", lambda part: _bound(part, offer), empty=True))
        for what, labels in (
            ("pool", [pool.label for pool in self.pools]),
            ("score", [score.label for score in self.scores]),
            ("strategy", [strategy.label for strategy in self.strategies]),
        ):
            twice = next((label for label, number in Counter(labels).items() if number > 1), None)
            if twice is not None:
                raise ValueError(f"{what} {twice!r} is given more than once: give it another label or leave it out")
        self._check_size()
        if self.stop is not None and self.mode not in ("monte_carlo", "fixed_confidence"):
            raise ValueError(f"early stopping counts failures, so it does not go with mode {self.mode!r}")

    @property
    def used_plugins(self) -> tuple[Plugin, ...]:
        """The plug-ins and data files that the study names, each once."""
        parts: tuple[Any, ...] = (*self.strategies, *self.pools, *self.scores, *self.bounds)
        found = (getattr(part, "plugin", None) for part in parts)
        return tuple(dict.fromkeys(plugin for plugin in found if plugin is not None))

    def cell_plugins(self, cell: Cell) -> tuple[Plugin, ...]:
        """The plug-ins whose code runs in the trials of a cell."""
        score = self._score(cell.score)
        pool = self.pools[cell.pool]
        parts = (self.strategies[cell.strategy], pool if isinstance(pool, PluginPool) else None, score)
        found = (getattr(part, "plugin", None) for part in parts)
        return tuple(plugin for plugin in found if plugin is not None)

    def missing_plugin(self, cell: Cell) -> str:
        """Say which plug-in of a cell was not loaded because results are only read; empty if there is none."""
        data = getattr(self.pools[cell.pool], "plugin", None)
        if data is not None and data.group == DATA and not data.loaded:
            return f"the file {data.name!r} is not here"
        names = [plugin.name for plugin in self.cell_plugins(cell) if not plugin.loaded]
        return f"plug-in {names[0]!r} is not loaded (--plugins FILE loads it)" if names else ""

    def _check_size(self) -> None:
        budgets = len(self.budgets.absolute) + len(self.budgets.per_arm) + len(self.budgets.ratio)
        crossed = sum(len(self.scores) if self.scores and scored(pool) else 1 for pool in self.pools)
        cells = crossed * budgets * len(self.strategies)
        if cells > limits.CELLS:
            raise ValueError(f"the study has {cells:,} cells, at most {limits.CELLS:,} are allowed")

    @property
    def hash(self) -> str:
        """The study's identity: SHA-256 of its canonical form, without its name and the bounds beside it."""
        table = {key: value for key, value in self.table().items() if key not in ("name", "bounds")}
        return hashlib.sha256(canonical({"format": FORMAT, **table}).encode()).hexdigest()

    def table(self) -> dict[str, Any]:
        """The study as plain values."""
        table: dict[str, Any] = {
            "name": self.name,
            "mode": self.mode,
            "trials": self.trials,
            "seed": self.seed,
            "budgets": self.budgets.table(),
            "sampling": self.sampling.table(),
            "strategies": [strategy.table() for strategy in self.strategies],
            "pools": [{"kind": pool.kind, **pool.table()} for pool in self.pools],
        }
        if self.scores:
            table["scores"] = [score.table() for score in self.scores]
        if self.stop is not None:
            table["stop"] = self.stop.table()
        if self.bounds:
            table["bounds"] = [one.table() for one in self.bounds]
        return table

    def to_toml(self) -> str:
        """The study as TOML text."""
        return to_toml(self.table())

    @classmethod
    def from_table(cls, table: Mapping[str, Any], plugins: Plugins | Sequence[Path] = ()) -> Study:
        """Read plain values; `strategy`, `half_width` and `grid` are shorter ways to write what they stand for."""
        table = expanded(table)
        allowed = tuple(name for name in cls.__dataclass_fields__ if name != "plugins")
        for key in table:
            if key not in allowed:
                raise ValueError(f"unknown part of a study {shown(key)}: allowed are {', '.join(allowed)}")
        for key in ("pools", "strategies", "budgets"):
            if key not in table:
                raise ValueError(f"a study needs pools, strategies and budgets, but there is no {key!r}")
        return cls(**table, plugins=plugins)

    @classmethod
    def from_toml(cls, source: str | Path, *, plugins: Plugins | Sequence[Path] = (), trust: bool = False) -> Study:
        """Read TOML from a path, or from text.

        Parameters
        ----------
        source
            A file, or the text itself.
        plugins
            Files of plug-ins that names in the study may refer to; they are executed.
        trust
            Execute also files beside the study that it names, like my_rules.py for "my_rules:Final".
        """
        name = source if isinstance(source, Path) else "this"
        text = _text(source) if isinstance(source, Path) else source
        try:
            table = tomllib.loads(text)
        except RecursionError:
            raise ValueError(f"{name} is no study: its lists or tables are nested too deeply") from None
        except tomllib.TOMLDecodeError as error:
            raise ValueError(f"{name} is no study: the TOML is wrong: {shown(str(error), 300)[1:-1]}") from None
        except ValueError as error:
            raise ValueError(f"{name} is no study: a number in it has too many digits ({error})") from None
        if not isinstance(source, Path):
            return cls.from_table(table, plugins)
        folder = source.resolve().parent
        if not isinstance(plugins, Plugins):
            beside = files_beside(folder, table) if trust else ()
            plugins = Plugins.of((*plugins, *beside), [folder])
        return cls.from_table(table, plugins)

    def looks(self) -> Iterator[int]:
        """Numbers of trials after which cells may stop; the last one is all trials."""
        if self.stop is not None:
            yield from range(self.stop.every, self.trials, self.stop.every)
        yield self.trials

    def pool(self, cell: Cell) -> Pool:
        """The pool of a cell, built once and kept for a while."""
        return self._built(self.pools[cell.pool], self._score(cell.score), self.sampling)

    def strategy(self, cell: Cell) -> Strategy:
        """The strategy of a cell."""
        return self.strategies[cell.strategy].build()

    def _built(self, spec: PoolSpec, score: Score | None, sampling: Sampling) -> Pool:
        return _built(spec, score, sampling, tuple(plugin.digest for plugin in self.used_plugins))

    def _score(self, index: int) -> Score | None:
        return self.scores[index] if index >= 0 else None

    def cells(self) -> tuple[Cell, ...]:
        """All cells: for each pool, score and budget the strategies in their order."""
        found: list[Cell] = []
        for p, spec in enumerate(self.pools):
            for s in range(len(self.scores)) if self.scores and scored(spec) else [-1]:
                score = self._score(s)
                pool = self._built(spec, score, self.sampling)
                for budget in self.budgets.amounts(pool):
                    stream = _stream(spec, self.sampling, budget)
                    for r, strategy in enumerate(self.strategies):
                        labels = (spec.label, score.label if score else "", strategy.label)
                        found.append(Cell(len(found), p, s, r, show(budget), stream, labels))
        return tuple(found)

    def check(self) -> tuple[Cell, ...]:
        """All cells, or a ValueError that names every budget that does not pay for its opening round."""
        cells = self.cells()
        wrong = []
        for cell in cells:
            rule, pool = self.strategy(cell), self.pool(cell)
            try:
                with guard_calls(*self.cell_plugins(cell)):
                    check_budget(exact(cell.budget), rule, pool.prices)
                pulls = exact(cell.budget) / min(pool.prices.exact_costs)
                if pulls > limits.PULLS:
                    most = f"at most {limits.PULLS:.0e} are allowed"
                    raise ValueError(f"a budget of {cell.budget} buys {float(pulls):.3g} pulls, {most}")
            except ValueError as error:
                wrong.append(f"cell {cell.index} ({cell}): {error}")
        if wrong:
            more = f" (and {len(wrong) - 1} more cells)" if len(wrong) > 1 else ""
            raise ValueError(f"{wrong[0]}{more}; nothing was run")
        return cells


def _text(file: Path) -> str:
    """The text of a file, which is not read beyond the limit."""
    with file.open("rb") as opened:
        data = opened.read(limits.FILE + 1)
    if len(data) > limits.FILE:
        raise ValueError(f"{file} is no study: it has more than {limits.FILE:,} bytes")
    try:
        return data.decode("utf-8")
    except UnicodeDecodeError:
        raise ValueError(f"{file} is no study: it is not UTF-8 text") from None


def _part(value: Any, cls: type[Any]) -> Any:
    if isinstance(value, cls):
        return value
    if not isinstance(value, Mapping):
        raise ValueError(f"{cls.what} must be a table, got {shown(value)}")
    return cls.of(value)


def _parts(values: Any, what: str, read: Any, *, empty: bool = False) -> tuple[Any, ...]:
    if isinstance(values, str | Mapping) or not isinstance(values, Sequence):
        raise ValueError(f"{what} must be a list, got {shown(values)}")
    if len(values) > limits.LIST:
        raise ValueError(f"{what} must have at most {limits.LIST:,} entries, got {len(values):,}")
    if not values and not empty:
        raise ValueError(f"{what} must not be empty")
    return tuple(read(one) for one in values)


def _bound(given: Any, offer: Plugins) -> BoundSpec:
    spec = BoundSpec.read(given)
    return spec if spec.plugin is not None else replace(spec, plugin=offer.resolve(BOUNDS, spec.name))


def _stream(spec: PoolSpec, sampling: Sampling, budget: Fraction) -> int:
    """A number for (pool, sampling, budget): a grid can grow without changing the trials it already had."""
    table = {key: value for key, value in spec.table().items() if key != "label"}
    seen = canonical([spec.kind, table, sampling.table(), show(budget)])
    return int.from_bytes(hashlib.sha256(seen.encode()).digest()[:7], "big")


_POOLS: OrderedDict[tuple[PoolSpec, Score | None, Sampling, tuple[str, ...]], Pool] = OrderedDict()
_KEPT = 8
_LOCK = threading.Lock()


def _built(spec: PoolSpec, score: Score | None, sampling: Sampling, digests: tuple[str, ...]) -> Pool:
    """Build a pool once; under one BLAS thread, so that its matrices are the same bits in every worker."""
    key = (spec, score, sampling, digests)
    with _LOCK:
        if key in _POOLS:
            _POOLS.move_to_end(key)
            return _POOLS[key]
        with one_thread():
            pool = build_pool(spec, score, sampling)
            # What a pool computes on first use: threads would each do it again.
            pool.best_arms()
        _POOLS[key] = pool
        while len(_POOLS) > _KEPT:
            _POOLS.popitem(last=False)
        return pool
