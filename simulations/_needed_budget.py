"""Search for the budget that a strategy needs in simulation, for any pool and strategy.

Pulls per arm are doubled until the failure rate is significantly below the target, then the last step is divided
geometrically. Every tried budget has the same number of trials and an interval of its own, and the answer is the
smallest tried budget from which on every interval is below the target.
"""

from __future__ import annotations

import math
from contextlib import suppress
from dataclasses import replace
from fractions import Fraction

from exml_sim.engine import Budgets
from exml_sim.engine.runner import run
from exml_sim.engine.study import Study
from exml_sim.money import show
from simulations.panels import Panel, make_panels, needed_in_simulation

#: Doublings after which the search gives up.
DOUBLINGS = 14
#: Divisions of the last doubling, and of the step that is left of it.
PARTS = 8


def enough_trials(delta: float) -> int:
    """Return trials that separate a rate of delta / 4 from delta: 40 expected failures at delta."""
    if not 0.0 < delta < 1.0:
        raise ValueError(f"delta must be strictly between 0 and 1, got {delta:g}")
    return max(1000, math.ceil(40 / delta))


def search(study: Study, delta: float, trials: int, *, n_jobs: int = -1, progress: bool = False) -> list[Panel]:
    """Return panels of the study's pools and strategies with as many budgets as the search needed.

    The budgets of the study itself play no role. Trials that cannot show a rate below delta are run at one budget only.
    """
    base = replace(study, trials=trials, mode="monte_carlo", stop=None)
    tried = [_first(base)]
    panels = _panels(base, tried, n_jobs, progress)
    if trials * delta < 1.0:
        return panels
    # Two budgets below the target: one alone may be chance.
    while len(tried) <= DOUBLINGS and not all(
        len(panel.cells) > 1 and all(cell.upper <= delta for cell in panel.cells[-2:]) for panel in panels
    ):
        tried.append(2 * tried[-1])
        panels = _joined(panels, _panels(base, tried[-1:], n_jobs, progress))
    finer = sorted(set(_between(panels, tried, delta)) - set(tried))
    return _joined(panels, _panels(base, finer, n_jobs, progress)) if finer else panels


def _joined(first: list[Panel], second: list[Panel]) -> list[Panel]:
    """Return the same panels with the cells of both."""
    return [
        replace(old, cells=tuple(sorted((*old.cells, *new.cells), key=lambda cell: Fraction(cell.budget))))
        for old, new in zip(first, second, strict=True)
    ]


def _first(study: Study) -> Fraction:
    """Find pulls per arm that pay for every strategy's first round."""
    pulls = Fraction(1)
    for _ in range(12):
        tried = replace(study, budgets=_budgets([pulls]))
        with suppress(ValueError):
            if len(tried.check()) == len(tried.cells()):
                return pulls
        pulls *= 2
    replace(study, budgets=_budgets([pulls])).check()
    return pulls


def _between(panels: list[Panel], tried: list[Fraction], delta: float) -> list[Fraction]:
    """Make finer steps below the first tried budget that is enough, for each panel."""
    finer = []
    for panel in panels:
        needed = needed_in_simulation(panel.cells, delta)
        if needed is None:
            continue
        first = sum(cell.upper > delta or Fraction(cell.budget) < needed for cell in panel.cells)
        if first == 0:
            continue
        low, high = tried[first - 1], tried[first]
        steps = [low * Fraction(round(1000 * 2 ** (part / PARTS)), 1000) for part in range(1, PARTS)]
        # Whole pulls per arm once there are many; a fraction of a pull buys nothing.
        finer += [step if high < 16 else Fraction(round(step)) for step in steps]
    return finer


def _budgets(pulls: list[Fraction]) -> Budgets:
    return Budgets(per_arm=tuple(show(number) for number in pulls))


def _panels(study: Study, pulls: list[Fraction], n_jobs: int, progress: bool) -> list[Panel]:
    with run(replace(study, budgets=_budgets(pulls)), n_jobs=n_jobs, progress=progress) as result:
        return make_panels(result)
