r"""Failure paths: which rivals pass which best arms, in which rounds.

A rule with rounds of fixed lengths fails iff the last of the best arms leaves. Look at the rounds in which best arms
leave. If the best arms L leave in round t while the best arms H stay, then the arms that survive the round are H and
s_t - |H| rivals P, and every rival in P has passed every arm in L on the rows of that round. What the best arms do
among each other needs nothing unlikely. So the failure is contained in the union, over the partitions of the best arms
into rounds and the nested choices of P, of the events

.. math:: C = \{\text{in round } t \text{ rival } j \text{ is no worse than best arm } i, \text{ for all steps } (t, j,
i)\},

and this module lists these paths. Uniform allocation that selects k arms is one round: it fails iff some rival j passes
|G| - k + 1 of the arms G that are worth selecting.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from itertools import combinations

from exml_sim.bandit.trial import Exploration
from exml_sim.money import Prices
from exml_sim.strategies import MedianElimination, Strategy, SuccessiveRejects, UniformAllocation


@dataclass(frozen=True, slots=True)
class Passing:
    """In a round (counted from 0) a rival scores no worse than a best arm."""

    round: int
    rival: int
    best: int


Path = tuple[Passing, ...]


@dataclass(frozen=True, slots=True)
class Schedule:
    """The rounds of a rule as one trial shows them.

    Attributes
    ----------
    bounds
        Positions of the orders at which rounds begin and end: 0, N_1, N_2, …; round t buys segment t, N_t … N_{t+1} -
        1.
    windows
        For every round the segments that it scores on, first … stop - 1: all so far, or its own.
    keeps
        How many arms survive every round.
    top
        How many arms are selected.
    fixed
        Whether all of this is the same in all trials, and all active arms read equally many rows.
    """

    bounds: tuple[int, ...]
    windows: tuple[tuple[int, int], ...]
    keeps: tuple[int, ...]
    top: int
    fixed: bool

    def length(self, segment: int) -> int:
        """Return the number of positions of a segment."""
        return self.bounds[segment + 1] - self.bounds[segment]

    def rows(self, turn: int) -> int:
        """Return the number of rows that a round scores on."""
        first, stop = self.windows[turn]
        return self.bounds[stop] - self.bounds[first]


def read_schedule(rule: Strategy, prices: Prices, trial: Exploration) -> Schedule:
    """Return the schedule of a rule, from one recorded trial."""
    bounds = [0]
    for turn in trial.rounds:
        bounds.append(bounds[-1] + int(turn.pulls.max()))
    fresh = not getattr(rule, "accumulate", True)
    windows = tuple((turn if fresh else 0, turn + 1) for turn in range(len(trial.rounds)))
    keeps = tuple(len(turn.survivors) for turn in trial.rounds)
    level = all(len({int(turn.pulls[arm]) for arm in turn.active}) == 1 for turn in trial.rounds)
    lasting = len(keeps) == 1 or len(set(prices.exact_costs)) == 1
    known = isinstance(rule, UniformAllocation | MedianElimination | SuccessiveRejects)
    return Schedule(tuple(bounds), windows, keeps, len(trial.accepted), known and level and lasting)


def list_paths(
    schedule: Schedule, good: Sequence[int], bad: Sequence[int], likely: Callable[[Passing], bool] = lambda _: True
) -> Iterator[Path]:
    """Yield the failure paths that are made of likely steps alone.

    Parameters
    ----------
    good, bad
        Arms that are right to select, and the others, the nearest first.
    likely
        Steps that are worth looking at; paths with another step are left out.
    """
    if not schedule.fixed:
        # Where rounds differ from trial to trial, every single step is the start of some failure.
        steps = (Passing(t, j, i) for t in range(len(schedule.keeps)) for j in bad for i in good)
        yield from ((step,) for step in steps if likely(step))
    elif schedule.top > 1:
        for j in bad:
            for passed in combinations(good, len(good) - schedule.top + 1):
                path = tuple(Passing(0, j, i) for i in passed)
                if all(map(likely, path)):
                    yield path
    else:
        yield from _list_paths(schedule, 0, tuple(good), tuple(bad), (), likely)


def _list_paths(
    schedule: Schedule,
    turn: int,
    good: tuple[int, ...],
    bad: tuple[int, ...],
    so_far: Path,
    likely: Callable[[Passing], bool],
) -> Iterator[Path]:
    if not good:
        yield so_far
        return
    if turn == len(schedule.keeps):
        return
    for number in range(len(good) + 1):
        rivals = schedule.keeps[turn] - (len(good) - number)
        if not 0 <= rivals <= len(bad):
            continue
        if number == 0:
            # Nobody of the best leaves: nothing is asked of the rivals, and any of them may stay, if there is room.
            yield from _list_paths(schedule, turn + 1, good, bad if rivals else (), so_far, likely)
            continue
        for leaving in combinations(good, number):
            staying = tuple(arm for arm in good if arm not in leaving)
            able = [j for j in bad if all(likely(Passing(turn, j, i)) for i in leaving)]
            for passing in combinations(able, rivals):
                steps = tuple(Passing(turn, j, i) for j in passing for i in leaving)
                yield from _list_paths(schedule, turn + 1, staying, passing, so_far + steps, likely)
