"""Section 5.3: walking, running and hidden jogging, one of nine sensors observed."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from exml_sim.arrays import IntArray
from exml_sim.datasets.mfeat import checksum, scale_to_unit
from exml_sim.datasets.realdisp import ACTIVITIES, RealDisp, blocked_split, load_realdisp, read_realdisp
from simulations.reproduction import learner
from simulations.reproduction.experiment import BUDGETS, Experiment, Exploring, stream
from simulations.reproduction.mfeat import perceived
from simulations.reproduction.task import HIDDEN, Task

ROWS, TRAINING = 2000, 600
SPLITS = ("random", "blocked")


@dataclass(frozen=True, slots=True, eq=False)
class RealDispSource:
    """Repetitions of Section 5.3.

    Random splits (the paper's): 2000 rows of the subject, the same in every repetition, 600 of them drawn for training.
    Neighbouring samples are a fiftieth of a second apart, so test rows have near copies among the training rows.
    Blocked splits: whole blocks of two seconds are for training or for testing with a gap between, and 600 and 1400
    rows are drawn from the two sides.
    """

    data: RealDisp
    split: str = "random"

    def __post_init__(self) -> None:
        if self.split not in SPLITS:
            raise ValueError(f"split must be one of {', '.join(SPLITS)}; got {self.split!r}")
        if len(self.data) < ROWS:
            raise ValueError(f"the experiment takes {ROWS} rows; the data have {len(self.data)}")

    @property
    def observed(self) -> tuple[str, ...]:
        """All sensors in turn."""
        return tuple(self.data.views)

    def candidates(self, observed: str) -> tuple[str, ...]:
        """The other eight."""
        return tuple(name for name in self.data.views if name != observed)

    def rows(self, seed: int, number: int) -> tuple[IntArray, IntArray]:
        """Training and testing rows."""
        rng = stream(seed, 1, number)
        if self.split == "random":
            taken = stream(seed, 0).permutation(len(self.data))[:ROWS]
            order = rng.permutation(taken)
            return order[:TRAINING], order[TRAINING:]
        train, test = blocked_split(self.data.y, 0.4, rng=rng)
        if len(train) < TRAINING or len(test) < ROWS - TRAINING:
            raise ValueError(
                f"blocked splits of these data leave {len(train)} rows for training and {len(test)} for testing; "
                f"the experiment takes {TRAINING} and {ROWS - TRAINING}"
            )
        return rng.permutation(train)[:TRAINING], rng.permutation(test)[: ROWS - TRAINING]

    def task(self, seed: int, number: int) -> Task:
        """The task of one repetition."""
        train, test = self.rows(seed, number)
        of_activity = {ACTIVITIES["walking"]: 0, ACTIVITIES["running"]: 1, ACTIVITIES["jogging"]: HIDDEN}
        classes = np.array([of_activity[int(number)] for number in self.data.y])
        views = {name: scale_to_unit(values) for name, values in self.data.views.items()}
        return Task.of(
            {name: values[train] for name, values in views.items()},
            {name: values[test] for name, values in views.items()},
            perceived(classes[train], stream(seed, 3, number)),
            classes[test],
        )

    def identity(self) -> Mapping[str, Any]:
        """Checksum of the data, and the split."""
        numbers = [*self.data.views.values(), self.data.y[:, None].astype(np.float64)]
        return {"data": checksum(np.hstack(numbers)), "sensors": list(self.data.views), "split": self.split}


def read(path: Path) -> RealDisp:
    """The user's download (zip, directory or log), or arrays: an .npz file with y, t and one table per sensor.

    The latter is what ``exml data realdisp`` writes; tables may have fewer than 13 channels.
    """
    data = load_realdisp(path) if path.suffix == ".npz" and path.is_file() else read_realdisp(path)
    if len(data.views) < 3 or not set(np.unique(data.y)) == set(ACTIVITIES.values()):
        raise ValueError(
            f"{path} has {len(data.views)} sensors and the activities {', '.join(map(str, np.unique(data.y)))}; "
            "the experiment needs at least 3 sensors and the activities 1, 2, 3"
        )
    return data


def figures_6_and_7(
    data: RealDisp, split: str, hindsight: bool, C: float, *, loss: str = "sum", seed: int = 0
) -> Experiment:
    """The experiment behind the accuracy figure and the allocation matrix."""
    ways = (Exploring("ME"), Exploring("UA"))
    source = RealDispSource(data, split)
    return Experiment("realdisp", source, ways, BUDGETS, learner.Protocol(hindsight), C, loss, seed)
