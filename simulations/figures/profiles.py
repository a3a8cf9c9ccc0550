"""Draw performance profiles and mean ranks of strategies over many pools and budgets.

A problem is one pool at one budget. The profile of a strategy at t is the share of problems on which its failure rate
is at most t times the best one (Dolan and More 2002); half a failure is added to every count. Bands are percentile
intervals of a parametric bootstrap over trials: counts are redrawn from binomial distributions, strategies separately.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from exml_sim.engine.result import StudyResult
from simulations.figures import style
from simulations.panels import CONFIDENCE, Panel, make_panels

if TYPE_CHECKING:
    import pandas as pd
    from matplotlib.figure import Figure

#: Redrawn tables of counts, and points of a profile.
DRAWS, POINTS = 1000, 60


def _count_problems(panels: Sequence[Panel]) -> tuple[list[str], NDArray[np.float64], NDArray[np.int64]]:
    """Return strategies, failure rates and trials, one row per problem that all of these strategies have.

    Not every study has every strategy: strategies and problems are chosen such that most rates can be compared.

    Raises
    ------
    ValueError
        If fewer than two strategies or no problem can be compared.
    """
    titles = list(dict.fromkeys(panel.title for panel in panels))
    cells: dict[tuple[str, float], dict[str, tuple[float, int]]] = {}
    for panel in panels:
        for cell, budget in zip(panel.cells, panel.budgets, strict=True):
            cells.setdefault((panel.place, budget), {})[panel.title] = (cell.failure_rate, cell.trials)
    groups = {frozenset(problem) for problem in cells.values()}
    groups |= {first & second for first in groups for second in groups}

    def count_rates(group: frozenset[str]) -> tuple[int, int, list[str]]:
        """Count the rates beside that of a first strategy; of equals, more strategies are better."""
        problems = sum(group <= problem.keys() for problem in cells.values())
        return (len(group) - 1) * problems, len(group), sorted(group)

    best = max(groups, key=count_rates, default=frozenset())
    titles = [title for title in titles if title in best]
    rows = [[problem[title] for title in titles] for problem in cells.values() if best <= problem.keys()]
    if len(titles) < 2 or not rows:
        raise ValueError("profiles compare at least two strategies on the same pools and budgets")
    table = np.array(rows)
    return titles, table[..., 0], table[..., 1].astype(np.int64)


def _summarise_ranks(rates: NDArray[np.float64], trials: NDArray[np.int64], seed: int = 0) -> dict[str, Any]:
    """Return ratios to the best strategy, mean ranks, and bootstrap draws of both.

    Parameters
    ----------
    rates, trials : array of shape (problems, strategies)
        Failure rates, and trials behind them (0 for exact rates).
    seed : int
        Seed of the bootstrap.
    """
    rng = np.random.default_rng(seed)
    drawn = np.where(trials > 0, rng.binomial(trials, rates, (DRAWS, *rates.shape)) / np.maximum(trials, 1), rates)
    low, high = (1.0 - CONFIDENCE) / 2.0, (1.0 + CONFIDENCE) / 2.0
    ranks = _rank(drawn).mean(axis=1)
    return {
        "ratios": _divide(rates, trials),
        "drawn_ratios": _divide(drawn, trials),
        "ranks": _rank(rates).mean(axis=0),
        "lower": np.quantile(ranks, low, axis=0),
        "upper": np.quantile(ranks, high, axis=0),
    }


def _divide(rates: NDArray[np.float64], trials: NDArray[np.int64]) -> NDArray[np.float64]:
    counts = np.where(trials > 0, rates * trials + 0.5, np.maximum(rates, 1e-300))
    return np.asarray(counts / counts.min(axis=-1, keepdims=True))


def _rank(rates: NDArray[np.float64]) -> NDArray[np.float64]:
    """Rank along the last axis, 1 for the lowest rate; ties share their mean rank."""
    below = (rates[..., :, None] > rates[..., None, :]).sum(axis=-1)
    tied = (rates[..., :, None] == rates[..., None, :]).sum(axis=-1)
    return np.asarray(below + (tied + 1) / 2.0)


def compute_profiles(panels: Sequence[Panel], points: int = POINTS) -> dict[str, Any]:
    """Return the profiles of all strategies on a grid of so many ratios, and their ranks, with intervals."""
    titles, rates, trials = _count_problems(panels)
    summary = _summarise_ranks(rates, trials)
    grid = np.geomspace(1.0, float(min(max(summary["ratios"].max(), 2.0), 100.0)), points)
    levels = [(1.0 - CONFIDENCE) / 2.0, (1.0 + CONFIDENCE) / 2.0]
    shares = [(summary["ratios"][:, i, None] <= grid).mean(axis=0) for i in range(len(titles))]
    draws = [(summary["drawn_ratios"][:, :, i, None] <= grid).mean(axis=1) for i in range(len(titles))]
    ends = [np.quantile(drawn, levels, axis=0) for drawn in draws]
    return {**summary, "titles": titles, "grid": grid, "shares": shares, "ends": ends, "problems": len(rates)}


def _figure(panels: Sequence[Panel], name: str, colours: Mapping[str, str] | None) -> Figure:
    """Draw profiles on the left and mean ranks on the right."""
    summary = compute_profiles(panels)
    titles, grid = summary["titles"], summary["grid"]
    with style.context():
        picture, (left, right) = style.make_axes(2, (3.6, 3.2), extra=0.6)
        for i, title in enumerate(titles):
            colour = (colours or {}).get(title, style.CYCLE[i % len(style.CYCLE)])
            left.fill_between(grid, *summary["ends"][i], color=colour, alpha=0.15, linewidth=0)
            marks: dict[str, Any] = {"marker": style.MARKERS[i % len(style.MARKERS)], "markevery": 10}
            left.plot(grid, summary["shares"][i], color=colour, label=title, **marks)
            rank, low, high = (summary[key][i] for key in ("ranks", "lower", "upper"))
            right.plot([low, high], [i, i], color=colour, linewidth=3, alpha=0.5)
            right.plot(rank, i, marker=marks["marker"], color=colour)
        left.set(xscale="log", ylim=(0, 1.03), xlabel="failure rate / best failure rate", ylabel="share of problems")
        style.plain_ticks(left.xaxis, 1.0, grid[-1])
        right.set_yticks(range(len(titles)), [])
        right.set(ylim=(len(titles) - 0.5, -0.5), xlabel=f"mean rank ({CONFIDENCE:.0%} interval)")
        number = summary["problems"]
        style.finish(picture, f"{name}: {number} problem{'' if number == 1 else 's'}")
    return picture


def _tabulate_ranks(panels: Sequence[Panel]) -> pd.DataFrame:
    """Tabulate mean ranks with intervals, and the share of problems on which a strategy is best."""
    import pandas as pd

    summary = compute_profiles(panels)
    best = (summary["ratios"] <= 1.0).mean(axis=0)
    columns = {"strategy": summary["titles"], "mean_rank": summary["ranks"]}
    columns |= {end: summary[end] for end in ("lower", "upper")}
    return pd.DataFrame({**columns, "level": CONFIDENCE, "share_best": best, "problems": summary["problems"]})


def figures(
    result: StudyResult,
    panels: Sequence[Panel] | None = None,
    *,
    colours: Mapping[str, str] | None = None,
    bounds: object = None,
) -> Iterator[tuple[str, Figure, pd.DataFrame]]:
    """Yield one picture for the whole store, with its ranks; there are no bounds to draw."""
    shown = make_panels(result) if panels is None else panels
    yield "profiles", _figure(shown, result.study.name, colours), _tabulate_ranks(shown)
