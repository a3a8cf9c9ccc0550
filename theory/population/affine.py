"""P[one of some rivals beats the best arm on n rows] in the affine regime, same rows for all arms."""

from __future__ import annotations

from functools import partial
from typing import NamedTuple

import numpy as np

from theory.population.draws import Draws
from theory.population.forms import BestForms
from theory.population.graphs import Floats
from theory.population.majorant import psd_majorant
from theory.population.model import PopulationModel
from theory.population.windows import Law, Window, choose_windows, quadratic_law

__all__ = ["AffineEvents"]

#: Multiples of the population's ratio at which forms are made.
_RATIOS = (0.6, 1.0, 1.8)
#: Above this many rows eigenvalues take too long, and rivals are summed.
_MAJORANT_ROWS = 1000


class _Plan(NamedTuple):
    """Forms of one set of rivals: t, M and its certified slack at some nodes, and the moments of the M, A and B.

    The forms of a single rival are not kept.
    """

    nodes: tuple[float, ...]
    forms: tuple[Floats, ...]
    slack: float
    law: Law


class AffineEvents:
    """Events of one pool and one best arm; what does not depend on n is computed once.

    Parameters
    ----------
    pool
        In the affine regime.
    best
        The arm that the rivals must beat.
    draws
        How the rows are drawn.
    """

    def __init__(self, pool: PopulationModel, best: int, draws: Draws) -> None:
        self.pool = pool
        self._draws = draws
        self._forms = BestForms(pool, best)
        self._plans: dict[tuple[int, ...], _Plan] = {}
        self._windows: dict[tuple[tuple[int, ...], int, int], tuple[Window, ...]] = {}
        self._ways: dict[tuple[tuple[int, ...], int, int], tuple[tuple[int, ...], ...]] = {}

    def beaten(self, rivals: tuple[int, ...], n: int, order: int) -> float:
        """Upper bound on P[V_i <= V_best for some i of the rivals] on n rows, by one form for all or a sum."""
        return self._bound(self._way(rivals, n, order), n, order) if rivals else 0.0

    def _way(self, rivals: tuple[int, ...], n: int, order: int) -> tuple[tuple[int, ...], ...]:
        """One group of all rivals, or one of each: what the approximation prefers at about this n."""
        each: tuple[tuple[int, ...], ...] = tuple((i,) for i in rivals)
        if len(rivals) == 1 or self.pool.n_rows > _MAJORANT_ROWS:
            return each
        key = (rivals, order, n.bit_length())
        if key not in self._ways:
            options = ((rivals,), each)
            self._ways[key] = min(options, key=lambda way: sum(self._estimate(group, n, order) for group in way))
        return self._ways[key]

    def _estimate(self, group: tuple[int, ...], n: int, order: int) -> float:
        return sum(window.estimate for window in self.windows(group, n, order))

    def windows(self, group: tuple[int, ...], n: int, order: int) -> tuple[Window, ...]:
        """The windows of one group of rivals that share a form; an estimate and the bound ask for the same ones."""
        key = (group, n, order)
        if key not in self._windows:
            plan = self._plan(group)
            self._windows[key] = choose_windows(plan.law, plan.nodes, n, self._forms.top, order)
        return self._windows[key]

    def _bound(self, groups: tuple[tuple[int, ...], ...], n: int, order: int) -> float:
        total = 0.0
        for group in groups:
            for window in self.windows(group, n, order):
                total += self._draws(self.form(group, window), n, order)
                if total >= 1.0:
                    return 1.0
        return min(1.0, total * (1.0 + 1e-12))

    def form(self, group: tuple[int, ...], window: Window) -> Floats:
        """S such that failure of the group inside the window implies p^' S p^ >= 0."""
        plan = self._plan(group)
        M = self._mixed(plan, group, window.on_forms)
        slack = plan.slack + self._forms.slack(M, window.on_a, window.on_b)
        return np.asarray(M + self._forms.own(window.on_a, window.on_b) + slack)

    def _mixed(self, plan: _Plan, group: tuple[int, ...], weights: tuple[float, ...]) -> Floats:
        if len(group) == 1:
            return self._forms.rival(group[0], sum(weight * t for weight, t in zip(weights, plan.nodes, strict=True)))
        return np.asarray(sum(weight * form for weight, form in zip(weights, plan.forms, strict=True)))

    def _plan(self, group: tuple[int, ...]) -> _Plan:
        if group not in self._plans:
            ratios = _RATIOS if len(group) > 1 else (_RATIOS[0], _RATIOS[-1])
            nodes = tuple(ratio * self._forms.ratio(group) for ratio in ratios)
            pairs = [psd_majorant([partial(self._forms.rival, i, t) for i in group], self.pool.p) for t in nodes]
            forms = tuple(M for M, _ in pairs)
            law = quadratic_law((*forms, self._forms.signed, self._forms.plain), self.pool.p)
            # The form of one rival is linear in t and made again when it is needed: many rivals would fill the memory.
            kept = forms if len(group) > 1 else ()
            self._plans[group] = _Plan(nodes, kept, max(e for _, e in pairs), law)
        return self._plans[group]
