"""Many cells at once: one false-alarm rate for the whole family."""

from __future__ import annotations

from collections.abc import Iterable

from theory.verdicts.counting import check_bound, check_options, judge, tail
from theory.verdicts.verdict import Verdict, check_counts, is_vacuous

Cell = tuple[int, int, float]


def judge_family(cells: Iterable[Cell], *, alarm: float = 1e-6, factor: float = 2.0) -> list[Verdict]:
    r"""Judge (failures, trials, bound) of every cell, so that ``alarm`` holds for all of them together.

    This is Holm's step-down test.  Let m be the number of cells whose bound says something, and
    p_i = P(Bin(trials_i, bound_i) >= failures_i).  The cell with the smallest p is refuted if p <= alarm / m,
    the next one if p <= alarm / (m - 1), and so on until one is not.

    *At most* ``alarm``, *whatever the cells have to do with each other.*  Let H be the h >= 1 cells whose bounds
    hold, and suppose one of them is refuted.  Take the first one in the order of refutations.  Before it only
    cells outside H were refuted, at most m - h of them, so its p is at most alarm / (m - (m - h)) = alarm / h.
    For a bound that holds P(p_i <= x) <= x, so by the union bound over H this happens with probability at most
    h * alarm / h.  No independence is used: cells may share random numbers, as the strategies of a study do.

    *Never weaker than Bonferroni*, which compares every p with alarm / m: Holm's levels are at least that.

    A vacuous bound is left out of m; which ones these are does not depend on the counts.

    Parameters
    ----------
    cells : iterable of (failures, trials, bound)
    alarm : float
        Largest allowed probability that any bound that holds is refuted.
    factor : float
        See `judge`.

    Returns
    -------
    list of Verdict
        In the order of the cells.  ``Verdict.alarm`` is the level at which the cell was judged: alarm / m, or
        Holm's level where only that refuted the cell.  Limits and the detectable factor belong to that level; the
        power at alarm / m is had whatever the other cells do.
    """
    alarm, factor = check_options(alarm, factor)
    family: list[Cell] = [(*check_counts(failures, trials), check_bound(bound)) for failures, trials, bound in cells]
    spoken = [i for i, (_, _, bound) in enumerate(family) if not is_vacuous(bound)]
    levels = [alarm / max(1, len(spoken))] * len(family)
    p_values = {i: tail(family[i][0], family[i][1], family[i][2]) for i in spoken}
    for rank, i in enumerate(sorted(spoken, key=p_values.__getitem__)):
        level = alarm / (len(spoken) - rank)
        if p_values[i] > level:
            break
        if p_values[i] > levels[i]:
            levels[i] = level
    return [judge(*cell, alarm=level, factor=factor) for cell, level in zip(family, levels, strict=True)]
