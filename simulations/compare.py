"""Compare strategies: failure rates over budgets with intervals and bounds, as a table, a figure or LaTeX."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import replace
from fractions import Fraction
from typing import TYPE_CHECKING, Any

import numpy as np

from exml_sim._internal.binomial import clopper_pearson
from exml_sim._internal.progress import Progress
from exml_sim._internal.validation import check_count, counted
from exml_sim.bandit.parametric import RandomInstancePool
from exml_sim.bandit.pool import Pool, resolve_strategy
from exml_sim.bandit.trial_batch import Strategy, pays_first_round
from exml_sim.engine import StrategySpec, StudyResult
from exml_sim.engine._statistics import bounded_interval, check_level
from exml_sim.engine._trials import aims, outcomes
from exml_sim.engine.result import CellSummary
from exml_sim.money import Money, exact, show
from simulations._pool_bounds import match_bounds, match_classical
from simulations.figures import facets, style
from simulations.panels import CONFIDENCE, Panel, arrange, make_panels, name_strategy, to_frame

if TYPE_CHECKING:
    import pandas as pd
    from matplotlib.axes import Axes

__all__ = ["Comparison", "compare", "plot"]


class Comparison:
    """Strategies over budgets on one pool or several: rates, intervals, simple regret, allocations and bounds.

    Parameters
    ----------
    panels : sequence of Panel
        One per strategy and pool.
    name : str
        Title of the figure.
    skipped : sequence of str
        Strategies and budgets that were not run, because the budget does not pay for the first round.
    """

    def __init__(self, panels: Sequence[Panel], name: str = "", skipped: Sequence[str] = ()) -> None:
        self.panels = tuple(panels)
        self.name = name
        self.skipped = tuple(skipped)

    @classmethod
    def from_study(cls, result: StudyResult) -> Comparison:
        """Read the results of a study."""
        return cls(make_panels(result), result.study.name, result.skipped)

    def __repr__(self) -> str:
        skipped = f"\nSkipped, because the first round costs more: {', '.join(self.skipped)}" if self.skipped else ""
        return f"<Comparison: {counted(len(self.panels), 'curve')}>\n{self._tabulate().to_string()}{skipped}"

    def _repr_html_(self) -> str:
        return str(self._tabulate().to_html())

    def to_frame(self) -> pd.DataFrame:
        """Return one row per strategy, pool and budget, with intervals, bounds and mean pulls.

        A bound is NaN where it does not apply; from 1 on it says nothing.
        """
        return to_frame(self.panels)

    def to_latex(self) -> str:
        """Return a booktabs table of failure rates in percent, budgets down and strategies across."""
        return str(self._tabulate().to_latex(escape=True))

    def _tabulate(self) -> pd.DataFrame:
        """Tabulate failure rates in percent with their intervals."""
        import pandas as pd

        several = len({panel.place for panel in self.panels}) > 1
        columns = {
            f"{panel.title}, {panel.place}" if several else panel.title: {
                budget: _format_rate(cell) for cell, budget in zip(panel.cells, panel.budgets, strict=True)
            }
            for panel in self.panels
        }
        frame = pd.DataFrame(columns).sort_index().fillna("")
        frame.index = pd.Index([f"{budget:,g}" for budget in frame.index], name="budget")
        return frame.rename_axis(columns=f"failures in % [{self._level:.0%} interval]")

    @property
    def _level(self) -> float:
        return next((cell.level for panel in self.panels for cell in panel.cells), CONFIDENCE)

    def plot(
        self,
        ax: Axes | None = None,
        *,
        quantity: str = "failure_rate",
        bounds: bool | Collection[str] = True,
        labels: Mapping[str, str] | None = None,
        order: Sequence[str] | None = None,
        colours: Mapping[str, str] | None = None,
    ) -> Axes:
        """Draw all strategies on one axes, with intervals and bounds, and return the axes.

        Parameters
        ----------
        ax : Axes, optional
            Where to draw; a new figure without it.
        quantity : {"failure_rate", "regret"}
            What to draw.
        bounds : bool or collection of str
            Draw the sharpest bounds, none, or those with these names.
        labels : mapping, optional
            Names of strategies in the legend.
        order : sequence of str, optional
            Strategies in this order; others are left out.
        colours : mapping, optional
            Colours by name in the legend.
        """
        panels = arrange(self.panels, labels, order)
        places = list(dict.fromkeys(panel.place for panel in panels))
        if len(places) > 1:
            raise ValueError(f"one axes shows one pool, and these are {len(places)}: use simulations.figures.facets")
        if ax is not None:
            facets.draw(ax, panels, quantity=quantity, bounds=bounds, colours=colours).legend(fontsize="small")
            return ax
        import matplotlib.pyplot as plt

        with style.context():
            picture, axes = plt.subplots(figsize=(facets.SIZE[0], facets.SIZE[1] + 0.6), layout="constrained")
            facets.draw(axes, panels, quantity=quantity, bounds=bounds, colours=colours)
            style.finish(picture, self.name)
        drawn: Axes = axes
        return drawn


def compare(
    pool: Pool,
    strategies: Mapping[str, Strategy | str] | Iterable[Strategy | str],
    budgets: Iterable[Money],
    trials: int = 10_000,
    *,
    seed: int = 0,
    level: float = CONFIDENCE,
    n_jobs: int = -1,
    progress: bool = True,
) -> Comparison:
    """Run strategies on a pool at several budgets, on the same random numbers.

    Parameters
    ----------
    pool : Pool
        The arms.
    strategies : iterable or mapping
        Names or strategies; a mapping gives each a label.
    budgets : iterable of Money
        Budgets, each the money of one trial.
    trials : int
        Trials of every strategy at every budget.
    seed : int
        Root seed; trial i is ``pool.explore(strategy, budget, Seeds.of(seed, i))``.
    level : float
        Of the intervals.
    n_jobs : int
        Threads; -1 for all cores.
    progress : bool
        Show progress on a terminal.

    Returns
    -------
    Comparison
        Table, figure and export of the results.
    """
    check_level(level)
    number = check_count(trials, "trials")
    amounts = sorted({exact(budget, "budget") for budget in budgets})
    named = _name_strategies(strategies)
    if not amounts or not named:
        raise ValueError("a comparison needs at least one budget and one strategy")
    place = f"{pool.n_arms} arms"
    skipped = _find_skipped(pool, named, amounts)
    with_progress = Progress((len(named) * len(amounts) - len(skipped)) * number, progress, name="compare")
    panels: list[Panel] = []
    try:
        for label, strategy in named.items():
            cells: list[CellSummary] = []
            for budget in amounts:
                if (label, budget) in skipped:
                    continue
                cell = _run_cell(pool, strategy, (place, label, show(budget)), number, seed, level, n_jobs)
                cells.append(replace(cell, cell=sum(len(panel.cells) for panel in panels) + len(cells)))
                with_progress.add(number, cell.failures)
            if cells:
                panels.append(_make_panel(pool, strategy, place, label, cells))
    finally:
        with_progress.close()
    return Comparison(panels, skipped=[f"{label} at budget {show(budget)}" for label, budget in skipped])


def _find_skipped(
    pool: Pool, strategies: Mapping[str, Strategy], budgets: Sequence[Fraction]
) -> list[tuple[str, Fraction]]:
    """List the budgets that do not pay for a strategy's first round, but for that of another strategy."""
    poor = {
        budget: [label for label, strategy in strategies.items() if not pays_first_round(budget, strategy, pool.prices)]
        for budget in budgets
        if budget > 0
    }
    return [(label, budget) for budget, labels in poor.items() if len(labels) < len(strategies) for label in labels]


def _name_strategies(strategies: Mapping[str, Strategy | str] | Iterable[Strategy | str]) -> dict[str, Strategy]:
    if isinstance(strategies, str):
        raise ValueError(f"strategies must be a list or a mapping, got the text {strategies!r}")
    if isinstance(strategies, Mapping):
        return {str(label): resolve_strategy(strategy) for label, strategy in strategies.items()}
    chosen = [resolve_strategy(strategy) for strategy in strategies]
    labels = [name_strategy(StrategySpec.read(strategy).label) for strategy in chosen]
    if len(set(labels)) < len(labels):
        raise ValueError(f"every strategy needs a label of its own, give a mapping; got {', '.join(labels)}")
    return dict(zip(labels, chosen, strict=True))


def _run_cell(
    pool: Pool, strategy: Strategy, labels: tuple[str, str, str], trials: int, seed: int, level: float, n_jobs: int
) -> CellSummary:
    """Run the trials of a strategy at a budget and summarise them."""
    place, label, budget = labels
    explored = pool.explore_many(strategy, exact(budget), trials, seed=seed, n_jobs=n_jobs)
    if isinstance(pool, RandomInstancePool):
        success, regret = pool.outcomes(explored.seeds, explored.selected, strategy.objective)
        largest = pool.largest_regret(strategy.objective)
    else:
        success, regret = outcomes(pool, explored.selected, strategy.objective)
        largest = float(np.ptp(aims(pool, strategy.objective)))
    failures, mean = int((~success).sum()), float(regret.mean())
    spread = float(regret.std(ddof=1)) if trials > 1 else 0.0
    return CellSummary(
        0,
        place,
        "",
        label,
        budget,
        trials,
        failures,
        failures / trials,
        *clopper_pearson(failures, trials, level),
        level,
        "clopper-pearson",
        mean,
        *bounded_interval(mean, spread, trials, largest, level),
        float(explored.spent_units.mean() * explored.unit),
        dict(zip(pool.names, explored.pulls.mean(axis=0).tolist(), strict=True)),
        "bounded",
    )


def _make_panel(pool: Pool, strategy: Strategy, place: str, label: str, cells: Sequence[CellSummary]) -> Panel:
    """Put the cells of a strategy beside the bounds that cover it."""
    name, known = StrategySpec.read(strategy).label, match_classical(pool, strategy)
    panel = Panel(place, "", name, tuple(pool.names), tuple(cells), arm_bounds=known, label=label)
    bounds = match_bounds(pool, strategy, label, is_gaussian=False)
    if isinstance(bounds, str):
        return replace(panel, reason="" if panel.arm_bounds else bounds)
    return replace(panel, kind=bounds[0], problem=bounds[1])


def _format_rate(cell: CellSummary) -> str:
    """Write a rate in percent with its interval."""
    if cell.interval == "exact":
        return f"{100 * cell.failure_rate:.4g}"
    return f"{100 * cell.failure_rate:.3g} [{100 * cell.lower:.2g}, {100 * cell.upper:.2g}]"


def plot(result: StudyResult | Comparison, ax: Axes | None = None, **options: Any) -> Axes:
    """Draw the strategies of a study or a comparison on one axes, with intervals and bounds.

    Parameters
    ----------
    result : StudyResult or Comparison
        What was run.
    ax : Axes, optional
        Where to draw; a new figure without it.
    **options
        Those of `Comparison.plot`.
    """
    comparison = result if isinstance(result, Comparison) else Comparison.from_study(result)
    return comparison.plot(ax, **options)
