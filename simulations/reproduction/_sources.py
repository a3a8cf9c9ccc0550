r"""Tasks of the experiments of Section 5: synthetic data (5.1), Multiple Features (5.2, 5.4) and RealDisp (5.3).

A task is ready for many runs: it has squared distances per group of features. All features are normalised before
training (Section 5.2), so squared distances of groups of features add up,

.. math:: |(x, z) - (x', z')|^2 = |x - x'|^2 + |z - z'|^2,

and every Gram matrix of every pair of groups, on any rows, is one sum, one median and one exponential.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np

from exml_sim._internal.arrays import FloatArray, IntArray
from exml_sim.datasets.mfeat import VIEWS, checksum, load_mfeat, scale_to_unit
from exml_sim.datasets.realdisp import ACTIVITIES, RealDisp, blocked_split, load_realdisp, read_realdisp
from exml_sim.datasets.synthetic import SyntheticRows, candidate_values, draw_rows
from exml_sim.kernels import squared_distances

#: Section 5.1.
ANGLES = tuple(range(10, 91, 10))
OBSERVED = "observed"
#: Divisions of the digits into classes in the paper, with 10 training sets each.
DIVISIONS = 5
#: Training rows of Sections 5.2 to 5.4, and all rows of Section 5.3.
TRAINING, REALDISP_ROWS = 600, 2000
#: Section 5.4.
PAPER_COSTS = {
    name: Fraction(cost)
    for name, cost in {"fac": "5.0", "pix": "1.2", "kar": "1.0", "zer": "0.95", "fou": "1.5", "mor": "0.9"}.items()
}
#: Views that Section 5.2 calls good, and the ones it calls uninformative.
GOOD, POOR = ("fac", "pix", "kar"), ("zer", "fou", "mor")
SPLITS = ("random", "blocked")


@dataclass(frozen=True, slots=True)
class SyntheticSource:
    """Repetitions of Section 5.1: new training rows and as many new testing rows in each."""

    per_class: int = 100

    @property
    def observed(self) -> tuple[str, ...]:
        """The first two coordinates."""
        return (OBSERVED,)

    def candidates(self, observed: str) -> tuple[str, ...]:
        """List one candidate per angle."""
        return tuple(f"{angle}°" for angle in ANGLES)

    def rows(self, seed: int, number: int) -> tuple[SyntheticRows, SyntheticRows]:
        """Draw training and testing rows."""
        rng = stream(seed, 1, number)
        return draw_rows(self.per_class, rng=rng), draw_rows(self.per_class, rng=rng)

    def groups(self, rows: SyntheticRows) -> dict[str, FloatArray]:
        """Split rows into observed coordinates and candidates."""
        values = candidate_values(rows.points, np.array(ANGLES, dtype=np.float64))
        columns = {name: values[:, [k]] for k, name in enumerate(self.candidates(OBSERVED))}
        return {OBSERVED: rows.points[:, :2], **columns}

    def task(self, seed: int, number: int) -> Task:
        """Make the task of one repetition."""
        train, test = self.rows(seed, number)
        y = (train.y > 0).astype(np.int64)
        return Task.of(self.groups(train), self.groups(test), y, test.classes - 1)

    def identity(self) -> Mapping[str, Any]:
        """Return the generator's parameters."""
        return {"per_class": self.per_class, "angles": list(ANGLES)}


@dataclass(frozen=True, slots=True)
class MfeatSource:
    """Configurations of Section 5.2.

    Configuration c uses division c mod `divisions` of the digits and its own split, so that the first ones use all
    divisions. Three digits are known class 0, three class 1, three hidden, and one is left out: 1800 rows, of which
    600 are for training. Rows of hidden digits carry one of the known classes by a fair coin.

    Attributes
    ----------
    costs
        View -> cost.
    divisions
        Different divisions of the digits: 5 in the paper, which does not say which ones. Accuracies differ more between
        divisions than between splits, so 50 tell more about the mean.
    """

    costs: tuple[tuple[str, Fraction], ...] = tuple((view, Fraction(1)) for view in VIEWS)
    divisions: int = DIVISIONS

    @property
    def observed(self) -> tuple[str, ...]:
        """All views in turn."""
        return VIEWS

    def candidates(self, observed: str) -> tuple[str, ...]:
        """List all other groups."""
        return tuple(name for name in self.observed if name != observed)

    def task(self, seed: int, number: int) -> Task:
        """Make the task of one configuration."""
        digits = stream(seed, 0, number % self.divisions).permutation(10)
        of_digit = np.full(10, -1)
        of_digit[digits[:9]] = np.repeat([0, 1, HIDDEN], 3)
        data = load_mfeat()
        classes = of_digit[data.y]
        rng = stream(seed, 1, number)
        rows = rng.permutation(np.flatnonzero(classes >= 0))
        return _make_task(data.views, classes, rows[:TRAINING], rows[TRAINING:], rng, dict(self.costs))

    def identity(self) -> Mapping[str, Any]:
        """Return checksums of the data, and the costs."""
        costs = {name: str(cost) for name, cost in self.costs}
        return {"data": checksum(load_mfeat().y), "training": TRAINING, "divisions": self.divisions, "costs": costs}


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
        if len(self.data) < REALDISP_ROWS:
            raise ValueError(f"the experiment takes {REALDISP_ROWS} rows; the data have {len(self.data)}")

    @property
    def observed(self) -> tuple[str, ...]:
        """All sensors in turn."""
        return tuple(self.data.views)

    def rows(self, seed: int, number: int) -> tuple[IntArray, IntArray]:
        """Draw training and testing rows."""
        rng, testing = stream(seed, 1, number), REALDISP_ROWS - TRAINING
        if self.split == "random":
            order = rng.permutation(stream(seed, 0).permutation(len(self.data))[:REALDISP_ROWS])
            return order[:TRAINING], order[TRAINING:]
        train, test = blocked_split(self.data.y, 0.4, rng=rng)
        if len(train) < TRAINING or len(test) < testing:
            raise ValueError(
                f"blocked splits of these data leave {len(train)} rows for training and {len(test)} for testing; "
                f"the experiment takes {TRAINING} and {testing}"
            )
        return rng.permutation(train)[:TRAINING], rng.permutation(test)[:testing]

    def candidates(self, observed: str) -> tuple[str, ...]:
        """List all other groups."""
        return tuple(name for name in self.observed if name != observed)

    def task(self, seed: int, number: int) -> Task:
        """Make the task of one repetition."""
        of_activity = {ACTIVITIES["walking"]: 0, ACTIVITIES["running"]: 1, ACTIVITIES["jogging"]: HIDDEN}
        classes = np.array([of_activity[int(activity)] for activity in self.data.y])
        return _make_task(self.data.views, classes, *self.rows(seed, number), stream(seed, 3, number))

    def identity(self) -> Mapping[str, Any]:
        """Return the checksum of the data, and the split."""
        numbers = [*self.data.views.values(), self.data.y[:, None].astype(np.float64)]
        return {"data": checksum(np.hstack(numbers)), "sensors": list(self.data.views), "split": self.split}


#: Where the tasks of an experiment come from.
Source = SyntheticSource | MfeatSource | RealDispSource


def _make_task(
    views: Mapping[str, FloatArray],
    classes: IntArray,
    train: IntArray,
    test: IntArray,
    rng: np.random.Generator,
    costs: Mapping[str, Fraction] | None = None,
) -> Task:
    """Make a task from training and testing rows of scaled views."""
    scaled = {name: scale_to_unit(values) for name, values in views.items()}
    training, testing = ({name: values[rows] for name, values in scaled.items()} for rows in (train, test))
    return Task.of(training, testing, observe_labels(classes[train], rng), classes[test], costs)


def observe_labels(classes: IntArray, rng: np.random.Generator) -> IntArray:
    """Give rows of the hidden class one of the known labels, by a fair coin."""
    coin = rng.integers(0, 2, size=len(classes))
    return np.where(classes == HIDDEN, coin, classes)


def read_source(path: Path) -> RealDisp:
    """Read the user's download (zip, directory or log), or an .npz file.

    An .npz file has y, t and one table per sensor; tables may have fewer than 13 channels.
    """
    data = load_realdisp(path) if path.suffix == ".npz" and path.is_file() else read_realdisp(path)
    if len(data.views) < 3 or not set(np.unique(data.y)) == set(ACTIVITIES.values()):
        raise ValueError(
            f"{path} has {len(data.views)} sensors and the activities {', '.join(map(str, np.unique(data.y)))}; "
            "the experiment needs at least 3 sensors and the activities 1, 2, 3"
        )
    return data


#: Number of the hidden class among the true classes; the known ones are 0 and 1.
HIDDEN = 2


@dataclass(frozen=True, slots=True, eq=False)
class Task:
    """Training and testing rows of one configuration.

    Attributes
    ----------
    train
        Group of features -> squared distances between training rows, shape (m, m).
    test
        Group of features -> squared distances from testing to training rows, shape (t, m).
    y
        Observed labels of the training rows, 0 or 1.
    truth
        True classes of the testing rows: 0, 1 or `HIDDEN`.
    costs
        Cost of one value of each group.
    """

    train: dict[str, FloatArray]
    test: dict[str, FloatArray]
    y: IntArray
    truth: IntArray
    costs: dict[str, Fraction]

    @classmethod
    def of(
        cls,
        train: Mapping[str, FloatArray],
        test: Mapping[str, FloatArray],
        y: IntArray,
        truth: IntArray,
        costs: Mapping[str, Fraction] | None = None,
    ) -> Task:
        """Compute all distances."""
        prices = {name: Fraction(1) for name in train} if costs is None else dict(costs)
        return cls(
            {name: squared_distances(values) for name, values in train.items()},
            {name: squared_distances(test[name], values) for name, values in train.items()},
            y,
            truth,
            prices,
        )

    def gram(self, groups: tuple[str, ...], rows: IntArray) -> tuple[FloatArray, float]:
        """Compute the Gaussian Gram matrix of training rows and its bandwidth, the median squared distance."""
        at = np.ix_(rows, rows)
        squares = np.sum([self.train[name][at] for name in groups], axis=0)
        gamma = _median(squares)
        return np.exp(squares / -gamma), gamma

    def cross(self, groups: tuple[str, ...], rows: IntArray, gamma: float) -> FloatArray:
        """Compute kernel values between all testing rows and some training rows."""
        squares: FloatArray = np.sum([self.test[name][:, rows] for name in groups], axis=0)
        values: FloatArray = np.exp(squares / -gamma)
        return values


def stream(seed: int, *address: int) -> np.random.Generator:
    """Return the random numbers at one address below the root seed."""
    return np.random.default_rng(np.random.SeedSequence(seed, spawn_key=address))


def _median(squares: FloatArray) -> float:
    """Return the paper's bandwidth; 1 for one row, or if most rows are equal, as in `Frame` of the classifier."""
    if len(squares) < 2:
        return 1.0
    gamma = float(np.median(squares[np.triu_indices(len(squares), 1)]))
    return gamma if gamma > 1e-14 * float(squares.max()) else 1.0
