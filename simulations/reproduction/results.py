"""What one configuration leaves behind, as plain numbers that go through JSON unchanged."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from simulations.reproduction.learner import Explored, Predicted
from simulations.reproduction.task import HIDDEN, Task


@dataclass(frozen=True, slots=True)
class Supervised:
    """SL with one theta."""

    theta: float
    accuracy: float


@dataclass(frozen=True, slots=True)
class Run:
    """One exploration with one theta.

    Attributes
    ----------
    strategy, alignment, budget
        "ME" or "UA", "sample" or "budget", the budget ratio in per cent.
    theta, cascade_theta, selected, rows
        Rejection cost of the augmented layer alone and behind the initial one, its candidate and training rows.
    pulls
        Values bought of each candidate.
    augmented, cascaded
        Test accuracy of the augmented layer alone, and behind the initial one.
    rescued, confused, lost
        Testing rows that the initial layer gives up and the augmented one accepts: known ones with the right class,
        known ones with the wrong class, hidden ones. cascaded - initial = (rescued - lost) / testing rows.
    """

    strategy: str
    alignment: str
    budget: int
    theta: float
    cascade_theta: float
    selected: str
    rows: int
    pulls: dict[str, int]
    augmented: float
    cascaded: float
    rescued: int
    confused: int
    lost: int


@dataclass(frozen=True, slots=True)
class Case:
    """All runs of one configuration with one observed group of features.

    Attributes
    ----------
    observed
        The group.
    initial_theta, initial, initial_accepted
        The initial layer: its theta, its accuracy alone, the share of rows that it accepts.
    supervised
        SL, for every theta of the protocol.
    attainable
        Accuracy of the augmented model with each candidate known for all training rows, best theta; may be empty.
    runs
        The explorations.
    """

    observed: str
    initial_theta: float
    initial: float
    initial_accepted: float
    supervised: tuple[Supervised, ...]
    attainable: dict[str, float]
    runs: tuple[Run, ...]


@dataclass(frozen=True, slots=True)
class Configuration:
    """The results of one configuration."""

    number: int
    cases: tuple[Case, ...]

    @classmethod
    def of(cls, data: Mapping[str, Any]) -> Configuration:
        """Read back what `dataclasses.asdict` made of a configuration."""
        return cls(data["number"], tuple(_case(one) for one in data["cases"]))


def _case(data: dict[str, Any]) -> Case:
    supervised = tuple(Supervised(**one) for one in data["supervised"])
    runs = tuple(Run(**one) for one in data["runs"])
    return Case(**{**data, "supervised": supervised, "runs": runs})


def accuracy(predicted: Predicted, task: Task) -> float:
    """Share of testing rows whose true class, known or hidden, is predicted."""
    return float(np.mean(predicted.labels() == task.truth))


def best(tried: Sequence[tuple[float, Predicted]], task: Task) -> float:
    """The best accuracy of some thetas."""
    return max(accuracy(predicted, task) for _, predicted in tried)


def run_record(strategy: str, alignment: str, budget: int, found: Explored, initial: Predicted, task: Task) -> Run:
    """Count what an exploration did for the testing rows."""
    layer = found.behind
    passed = ~initial.accepted & layer.accepted
    hidden = task.truth == HIDDEN
    right = layer.winner == task.truth
    return Run(
        strategy,
        alignment,
        budget,
        found.theta,
        found.cascade_theta,
        found.selected,
        found.rows,
        found.pulls,
        accuracy(found.predicted, task),
        accuracy(initial.then(layer), task),
        int((passed & right).sum()),
        int((passed & ~hidden & ~right).sum()),
        int((passed & hidden).sum()),
    )
