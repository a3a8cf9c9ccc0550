"""Draw mean pulls per arm and round, one axes per strategy, at the largest budget of every pool."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

import numpy as np

from exml_sim.engine.result import StudyResult
from exml_sim.engine.study import Cell
from exml_sim.money import exact
from exml_sim.seeds import Seeds
from simulations.figures import style
from simulations.panels import name_strategy

if TYPE_CHECKING:
    import pandas as pd
    from matplotlib.figure import Figure

#: Trials that are run again, from the first on.
TRIALS = 200
#: Rounds with a name in the legend.
MAX_NAMED_ROUNDS = 8


def average_rounds(result: StudyResult, cell: Cell, trials: int = TRIALS) -> pd.DataFrame:
    """Run the first trials of a cell again; return mean pulls, one row per arm and one column per round."""
    import pandas as pd

    pool, strategy = result.study.pool(cell), result.study.strategy(cell)
    seeds = Seeds.of(result.study.seed, range(min(trials, result.study.trials)), cell.stream)
    batch, _ = pool.run(strategy, exact(cell.budget), seeds, record=True)
    rounds = [batch.ledger.round_pulls(number).mean(axis=0) for number in range(1, batch.ledger.rounds + 1)]
    names = [f"round {number}" for number in range(1, len(rounds) + 1)]
    return pd.DataFrame(np.array(rounds).T.reshape(pool.n_arms, len(rounds)), index=list(pool.names), columns=names)


def figures(result: StudyResult) -> Iterator[tuple[str, Figure, pd.DataFrame]]:
    """Yield one picture per pool, with its data."""
    import pandas as pd

    if result.study.mode == "excess_risk":
        raise ValueError("the population is redrawn in every trial, so there is no mean allocation of its arms")
    places: dict[tuple[str, str], list[Cell]] = {}
    for cell in result.study_cells:
        if missing := result.study.missing_plugin(cell):
            raise ValueError(f"allocations are run again, but {missing}")
        places.setdefault(cell.labels[:2], []).append(cell)
    for number, (place, cells) in enumerate(places.items(), 1):
        largest = max(exact(cell.budget) for cell in cells)
        tables = {c.labels[2]: average_rounds(result, c) for c in cells if exact(c.budget) == largest}
        stem = "allocation" if len(places) == 1 else f"allocation_{number}"
        title = f"{', '.join(filter(None, place))}: mean pulls at budget {float(largest):,g}"
        yield stem, _figure(tables, title), pd.concat(tables, names=["strategy", "arm"]).reset_index()


def _figure(tables: dict[str, pd.DataFrame], title: str) -> Figure:
    """Draw stacked bars of rounds, one axes per strategy, from mean pulls by strategy."""
    import matplotlib as mpl

    most = max(table.shape[1] for table in tables.values())
    arms = max(len(table) for table in tables.values())
    with style.context():
        size = (2.8, 0.22 * arms + 0.9)
        picture, axes = style.make_axes(len(tables), size, extra=0.8, sharex=True, sharey=True)
        for ax, (name, table) in zip(axes, tables.items(), strict=True):
            left = np.zeros(len(table))
            number = most if most <= MAX_NAMED_ROUNDS else table.shape[1]
            shades = mpl.colormaps["viridis"](np.linspace(0.1, 0.95, max(number, 2)))
            for shade, column in zip(shades, table, strict=False):
                label = column if most <= MAX_NAMED_ROUNDS else None
                ax.barh(range(len(table)), table[column], left=left, color=shade, label=label)
                left = left + table[column].to_numpy()
            ax.set_title(name_strategy(name))
            ax.set_yticks(range(len(table)), list(table.index))
            ax.set_xlabel("mean pulls")
            ax.label_outer()
        axes[0].invert_yaxis()
        shaded = "" if most <= MAX_NAMED_ROUNDS else " (first round dark, last round light)"
        style.finish(picture, f"{title}{shaded}")
    return picture
