"""A study: a grid of cells, trials per cell, one root seed; all that is needed to reproduce a result."""

from __future__ import annotations

import hashlib
import threading
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, fields, replace
from fractions import Fraction
from functools import lru_cache
from pathlib import Path
from typing import Annotated, Any, ClassVar

import tomli_w
from pydantic import BeforeValidator, ValidationInfo, model_validator

from exml_sim._internal.threads import one_thread
from exml_sim._internal.validation import shown
from exml_sim.bandit.pool import Pool
from exml_sim.bandit.trial_batch import check_budget, pays_first_round
from exml_sim.engine._fields import (
    MAX_CELLS,
    MAX_LIST,
    MAX_TRIALS,
    Choice,
    Seed,
    Text,
    expand,
    read_spec,
    read_toml,
    spec,
    to_canonical,
    to_plain,
    whole,
)
from exml_sim.engine._specs import Budgets, Sampling, Score, Stop, StrategySpec
from exml_sim.engine.bound_context import BoundSpec
from exml_sim.engine.pools import PluginPool, PoolSpec, build_pool, is_scored, read_pool
from exml_sim.money import exact, show
from exml_sim.plugins import BOUNDS, DATA, Plugin, Plugins, files_beside, guard_calls
from exml_sim.strategies import Strategy

#: Raised when the meaning of a stored number changes: old stores then belong to another study.
FORMAT = 1
MODES = ("monte_carlo", "exact", "importance_sampling", "excess_risk", "fixed_confidence")
#: Version of the random draws of a mode, 1 if it is not listed. It is raised when the same study would draw other
#: trials, so that no store holds trials of both. Importance sampling has its second: tilts are found by half steps.
DRAWS: Mapping[str, int] = {"importance_sampling": 2}
#: Keys of a study file, in the order in which they are written.
_ORDER = ("name", "mode", "trials", "seed", "budgets", "sampling", "strategies", "pools", "scores", "stop", "bounds")


@dataclass(frozen=True, slots=True)
class Cell:
    """One point of a study's grid.

    Attributes
    ----------
    index
        Position in `study.cells()`.
    pool, score, strategy
        Positions in the study's lists; `score` is -1 for arms that bring their own.
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


def _read_list(read: Callable[[Any, Plugins], Any], *, empty: bool = False) -> BeforeValidator:
    """Read the parts of a list, each with the plug-ins that names may refer to."""

    def read_parts(values: Any, info: ValidationInfo) -> tuple[Any, ...]:
        if isinstance(values, str | Mapping) or not isinstance(values, Sequence):
            raise ValueError(f"{info.field_name} must be a list, got {shown(values)}")
        if len(values) > MAX_LIST:
            raise ValueError(f"{info.field_name} must have at most {MAX_LIST:,} entries, got {len(values):,}")
        if not values and not empty:
            raise ValueError(f"{info.field_name} must not be empty")
        return tuple(read(value, info.data.get("plugins", Plugins())) for value in values)

    return BeforeValidator(read_parts)


def _read_table(cls: type[Any]) -> BeforeValidator:
    return BeforeValidator(lambda value: None if value is None else read_spec(cls, value, cls.what))


def _read_bound(given: Any, offer: Plugins) -> BoundSpec:
    bound = BoundSpec.read(given)
    return bound if bound.plugin is not None else replace(bound, plugin=offer.resolve(BOUNDS, bound.name))


@spec
class Study:
    """A grid of cells (pools x scores x budgets x strategies) with trials per cell and one root seed.

    Parts may be given as objects or as the tables that a TOML file has.

    Attributes
    ----------
    pools
        Where arms come from, see `exml_sim.engine.pools`.
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
        "monte_carlo": count failures. "exact": enumerate all outcomes, no randomness. "importance_sampling": sample
        rows from tilted distributions and weight, for failure probabilities that counting cannot see. "excess_risk":
        redraw the population in every trial and measure the excess risk of the returned model (Eq. 8).
        "fixed_confidence": run strategies with a confidence to their stop; a failure is to be confident and wrong, and
        `StudyResult.costs` has the money.
    stop
        Early stopping of cells; off by default.
    bounds
        Bounds of plug-ins that are drawn over the results; they are no part of the study's identity.
    plugins
        Files of plug-ins that names in the study may refer to; they are executed. See `exml_sim.plugins`.

    Examples
    --------
    >>> study = Study(
    ...     pools=[{"kind": "parametric", "means": [0.7, 0.5]}], strategies=["uniform_allocation"],
    ...     budgets={"per_arm": [10, 20]}, trials=100)
    >>> [str(cell) for cell in study.cells()]
    ['uniform_allocation on parametric with budget 20', 'uniform_allocation on parametric with budget 40']
    >>> Study.from_toml(study.to_toml()).hash == study.hash
    True
    """

    what: ClassVar[str] = ""
    # The first field, so that the readers of the others know it.
    plugins: Annotated[Plugins, BeforeValidator(Plugins.of)] = field(
        default=Plugins(), compare=False, repr=False, kw_only=True
    )
    pools: Annotated[tuple[PoolSpec, ...], _read_list(read_pool)] = field(kw_only=True)
    strategies: Annotated[tuple[StrategySpec, ...], _read_list(StrategySpec.read)] = field(kw_only=True)
    budgets: Annotated[Budgets, _read_table(Budgets)] = field(kw_only=True)
    scores: Annotated[tuple[Score, ...], _read_list(Score.read, empty=True)] = field(default=(), kw_only=True)
    sampling: Annotated[Sampling, _read_table(Sampling)] = field(default=Sampling(), kw_only=True)
    trials: Annotated[int, whole(1, MAX_TRIALS)] = field(default=1000, kw_only=True)
    seed: Seed = field(default=0, kw_only=True)
    mode: Annotated[str, Choice(MODES)] = field(default="monte_carlo", kw_only=True)
    stop: Annotated[Stop | None, _read_table(Stop)] = field(default=None, kw_only=True)
    name: Text = field(default="study", kw_only=True)
    bounds: Annotated[tuple[BoundSpec, ...], _read_list(_read_bound, empty=True)] = field(default=(), kw_only=True)

    @model_validator(mode="after")
    def _check(self) -> Any:
        parts = {"pool": self.pools, "score": self.scores, "strategy": self.strategies}
        for what, specs in parts.items():
            label, number = Counter(part.label for part in specs).most_common(1)[0] if specs else ("", 0)
            if number > 1:
                raise ValueError(f"{what} {label!r} is given more than once: give it another label or leave it out")
        crossed = sum(len(self.scores) if self.scores and is_scored(pool) else 1 for pool in self.pools)
        cells = crossed * len(self.budgets) * len(self.strategies)
        if cells > MAX_CELLS:
            raise ValueError(f"the study has {cells:,} cells, at most {MAX_CELLS:,} are allowed")
        if self.stop is not None and self.mode not in ("monte_carlo", "fixed_confidence"):
            raise ValueError(f"early stopping counts failures, so it does not go with mode {self.mode!r}")
        return self

    @property
    def used_plugins(self) -> tuple[Plugin, ...]:
        """The plug-ins and data files that the study names, each once."""
        parts: tuple[Any, ...] = (*self.strategies, *self.pools, *self.scores, *self.bounds)
        return tuple(dict.fromkeys(_list_plugins(parts)))

    def cell_plugins(self, cell: Cell) -> tuple[Plugin, ...]:
        """Return the plug-ins whose code runs in the trials of a cell."""
        pool = self.pools[cell.pool]
        code = pool if isinstance(pool, PluginPool) else None
        return tuple(_list_plugins((self.strategies[cell.strategy], code, self._score(cell.score))))

    def missing_plugin(self, cell: Cell) -> str:
        """Say which plug-in of a cell was not loaded because results are only read; empty if there is none."""
        data = getattr(self.pools[cell.pool], "plugin", None)
        if data is not None and data.group == DATA and not data.loaded:
            return f"the file {data.name!r} is not here"
        names = [plugin.name for plugin in self.cell_plugins(cell) if not plugin.loaded]
        return f"plug-in {names[0]!r} is not loaded (--plugins FILE loads it)" if names else ""

    @property
    def hash(self) -> str:
        """The study's identity: SHA-256 of its canonical form, without its name and the bounds beside it."""
        table = {key: value for key, value in self.table().items() if key not in ("name", "bounds")}
        return hashlib.sha256(to_canonical({"format": FORMAT, **table}).encode()).hexdigest()

    def table(self) -> dict[str, Any]:
        """Return the study as plain values."""
        parts = to_plain(self) | {"strategies": [to_plain(strategy.table()) for strategy in self.strategies]}
        return {key: parts[key] for key in _ORDER if parts.get(key, []) != []}

    def to_toml(self) -> str:
        """Return the study as TOML text."""
        return tomli_w.dumps(self.table())

    @classmethod
    def from_table(cls, table: Mapping[str, Any], plugins: Plugins | Sequence[Path] = ()) -> Study:
        """Read plain values; `strategy`, `sweep` and ranges of budgets are abbreviations."""
        allowed = [entry.name for entry in fields(cls) if entry.compare]
        table = expand(table, allowed)
        missing = [name for name in ("pools", "strategies", "budgets") if name not in table]
        if missing:
            raise ValueError(f"a study needs pools, strategies and budgets, but there is no {missing[0]!r}")
        return cls(**table, plugins=plugins)  # type: ignore[arg-type]

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
        table = read_toml(source)
        if isinstance(source, Path) and not isinstance(plugins, Plugins):
            folder = source.resolve().parent
            beside = files_beside(folder, table) if trust else ()
            plugins = Plugins.of((*plugins, *beside), [folder])
        return cls.from_table(table, plugins)

    def interim_analyses(self) -> Iterator[int]:
        """Yield the numbers of trials after which cells may stop; the last one is all trials."""
        if self.stop is not None:
            yield from range(self.stop.check_every, self.trials, self.stop.check_every)
        yield self.trials

    def pool(self, cell: Cell) -> Pool:
        """Return the pool of a cell, built once and kept for a while."""
        return self._build(self.pools[cell.pool], self._score(cell.score))

    def strategy(self, cell: Cell) -> Strategy:
        """Build the strategy of a cell."""
        return self.strategies[cell.strategy].build()

    def _build(self, pool: PoolSpec, score: Score | None) -> Pool:
        # Threads that ask for a pool at the same time wait for the first one to build it.
        with _LOCK:
            return _build_once(pool, score, self.sampling, tuple(plugin.digest for plugin in self.used_plugins))

    def _score(self, index: int) -> Score | None:
        return self.scores[index] if index >= 0 else None

    def cells(self) -> tuple[Cell, ...]:
        """Return all cells: for each pool, score and budget the strategies in their order."""
        cells: list[Cell] = []
        for p, pool in enumerate(self.pools):
            for s in range(len(self.scores)) if self.scores and is_scored(pool) else [-1]:
                score = self._score(s)
                for budget in self.budgets.amounts(self._build(pool, score)):
                    stream = _stream(pool, self.sampling, budget)
                    for r, strategy in enumerate(self.strategies):
                        labels = (pool.label, score.label if score else "", strategy.label)
                        cells.append(Cell(len(cells), p, s, r, show(budget), stream, labels))
        return tuple(cells)

    def cell(self, number: int | Cell) -> Cell:
        """Return the cell of a number."""
        if isinstance(number, Cell):
            return number
        cells = self.cells()
        if not 0 <= number < len(cells):
            raise ValueError(f"cell {number} does not exist: the study has {len(cells)}, counted from 0")
        return cells[number]

    def check(self) -> tuple[Cell, ...]:
        """Return all cells but those that cannot pay for their first round where another strategy can.

        A ValueError names what else cannot be run.
        """
        cells = self.cells()
        reasons = {cell: reason for cell in cells if (reason := self._find_reason(cell))}
        # Strategies are the last axis of the grid, so cells of one row share pool, score and budget.
        usable = {cell.index // len(self.strategies) for cell in cells if cell not in reasons}
        errors = [
            f"cell {cell.index} ({cell}): {reason}"
            for cell, reason in reasons.items()
            if cell.index // len(self.strategies) not in usable or self._can_pay(cell)
        ]
        if errors:
            more = f" (and {len(errors) - 1} more cells)" if len(errors) > 1 else ""
            raise ValueError(f"{errors[0]}{more}; nothing was run")
        return tuple(cell for cell in cells if cell not in reasons)

    def _can_pay(self, cell: Cell) -> bool:
        """Tell whether the budget is not the reason why a cell cannot be run."""
        try:
            with guard_calls(*self.cell_plugins(cell)):
                return pays_first_round(exact(cell.budget), self.strategy(cell), self.pool(cell).prices)
        except ValueError:
            return True

    def _find_reason(self, cell: Cell) -> str:
        """Say why the budget of a cell cannot be run; empty if it can."""
        prices, budget = self.pool(cell).prices, exact(cell.budget)
        try:
            with guard_calls(*self.cell_plugins(cell)):
                check_budget(budget, self.strategy(cell), prices)
        except ValueError as error:
            return str(error)
        return ""


def _list_plugins(parts: Sequence[Any]) -> Iterator[Plugin]:
    return (part.plugin for part in parts if getattr(part, "plugin", None) is not None)


def _stream(pool: PoolSpec, sampling: Sampling, budget: Fraction) -> int:
    """Derive a number from (pool, sampling, budget): a grid can grow without changing the trials it already had."""
    table = {key: value for key, value in to_plain(pool).items() if key not in ("kind", "label")}
    text = to_canonical([pool.kind, table, to_plain(sampling), show(budget)])
    return int.from_bytes(hashlib.sha256(text.encode()).digest()[:7], "big")


_LOCK = threading.Lock()


@lru_cache(maxsize=8)
def _build_once(pool: PoolSpec, score: Score | None, sampling: Sampling, digests: tuple[str, ...]) -> Pool:
    """Build a pool once; under one BLAS thread, so that its matrices are the same bits in every worker."""
    with one_thread():
        built = build_pool(pool, score, sampling)
        # What a pool computes on first use: threads would each do it again.
        built.best_arms()
    return built
