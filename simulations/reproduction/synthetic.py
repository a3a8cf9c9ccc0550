"""Section 5.1: three Gaussians, the third coordinate missing, nine candidates at angles from 10 to 90 degrees."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from exml_sim.arrays import FloatArray
from exml_sim.datasets.synthetic import SyntheticRows, candidate_values, draw_rows
from simulations.reproduction import learner
from simulations.reproduction.experiment import Experiment, Exploring, stream
from simulations.reproduction.task import Task

ANGLES = tuple(range(10, 91, 10))
OBSERVED = "observed"
BUDGET = 20


def name_of(angle: int) -> str:
    """Name of a candidate."""
    return f"{angle}°"


@dataclass(frozen=True, slots=True)
class SyntheticSource:
    """Repetitions of Section 5.1: fresh training rows and as many fresh testing rows in each."""

    per_class: int = 100

    @property
    def observed(self) -> tuple[str, ...]:
        """The first two coordinates."""
        return (OBSERVED,)

    def candidates(self, observed: str) -> tuple[str, ...]:
        """One per angle."""
        return tuple(name_of(angle) for angle in ANGLES)

    def rows(self, seed: int, number: int) -> tuple[SyntheticRows, SyntheticRows]:
        """Training and testing rows."""
        rng = stream(seed, 1, number)
        return draw_rows(self.per_class, rng=rng), draw_rows(self.per_class, rng=rng)

    def task(self, seed: int, number: int) -> Task:
        """The task of one repetition."""
        train, test = self.rows(seed, number)
        y = (train.y > 0).astype(np.int64)
        return Task.of(groups(train), groups(test), y, test.classes - 1)

    def identity(self) -> Mapping[str, Any]:
        """The generator's parameters."""
        return {"per_class": self.per_class, "angles": list(ANGLES)}


def groups(rows: SyntheticRows) -> dict[str, FloatArray]:
    """Observed coordinates and candidates."""
    values = candidate_values(rows.points, np.array(ANGLES, dtype=np.float64))
    return {OBSERVED: rows.points[:, :2], **{name_of(a): values[:, [k]] for k, a in enumerate(ANGLES)}}


def figures_4_and_5(hindsight: bool, C: float, *, loss: str = "sum", seed: int = 0) -> Experiment:
    """The experiment behind Figures 4 and 5: SL and ExML at a budget ratio of 20 %."""
    source = SyntheticSource()
    protocol = learner.Protocol(hindsight)
    return Experiment("synthetic", source, (Exploring("ME"),), (BUDGET,), protocol, C, loss, seed, attainable=False)
