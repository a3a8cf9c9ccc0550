"""Draw mean simple regret against budget, all strategies on one axes per pool."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Any

from exml_sim.engine.result import StudyResult
from simulations.figures import facets
from simulations.panels import Panel

if TYPE_CHECKING:
    import pandas as pd
    from matplotlib.figure import Figure


def figures(
    result: StudyResult, panels: Sequence[Panel] | None = None, **options: Any
) -> Iterator[tuple[str, Figure, pd.DataFrame]]:
    """Yield one picture for the whole store, with its data; options as in `facets.figures`."""
    for _, picture, frame in facets.figures(result, panels, **options | {"quantity": "regret"}):
        yield "regret", picture, frame
