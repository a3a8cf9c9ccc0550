"""Read the user's download of the UCI REALDISP logs (Section 5.3), which may not be shipped.

Every log is a text file with 120 columns: seconds, microseconds, nine sensors with 13 channels each, and the activity.
A subject's log under ideal placement is called ``subject1_ideal.log``. Source: O. Banos and others, REALDISP Activity
Recognition Dataset, UCI Machine Learning Repository.
"""

from __future__ import annotations

import zipfile
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import IO

import numpy as np

from exml_sim._internal import archives
from exml_sim._internal.arrays import FloatArray, IntArray
from exml_sim._internal.validation import check_random_state

#: The sensors in the order of their columns: lower and upper arms, back, calves and thighs.
SENSORS = ("RLA", "RUA", "BACK", "LUA", "LLA", "RC", "RT", "LT", "LC")

#: The channels of one sensor in the order of their columns.
CHANNELS = (*(f"{kind}{axis}" for kind in ("acc", "gyr", "mag") for axis in "xyz"), "qw", "qx", "qy", "qz")

#: Activities of the paper's experiment, as the logs number them.
ACTIVITIES: Mapping[str, int] = {"walking": 1, "jogging": 2, "running": 3}

COLUMNS = 2 + len(SENSORS) * len(CHANNELS) + 1


@dataclass(frozen=True, slots=True, eq=False)
class RealDisp:
    """Rows of one subject.

    Attributes
    ----------
    views
        Sensor -> channels, shape (n, 13).
    y
        Activity number, shape (n,).
    t
        Seconds, shape (n,), ascending.
    """

    views: dict[str, FloatArray]
    y: IntArray
    t: FloatArray

    def __len__(self) -> int:
        return len(self.y)


def read_realdisp(path: Path, *, subject: int = 1) -> RealDisp:
    """Read the rows of one subject under ideal placement that have one of `ACTIVITIES`.

    Parameters
    ----------
    path
        The downloaded zip file, a directory that holds the logs, or one log file.
    subject
        Which log: ``subject{subject}_ideal.log``.

    Raises
    ------
    ValueError
        If there is no such log, it is no table of 120 numbers per row, or no row has one of the activities.
    """
    name, activities = f"subject{subject}_ideal.log", list(ACTIVITIES.values())
    with _open_log(path, name) as file:
        table = _read_table(file, f"{path}: {name}")
    table = table[np.isin(table[:, -1], activities)]
    if not len(table):
        raise ValueError(f"{path}: {name} has no row of the activities {', '.join(map(str, activities))}")
    width = len(CHANNELS)
    views = {sensor: table[:, 2 + k * width : 2 + (k + 1) * width] for k, sensor in enumerate(SENSORS)}
    return RealDisp(views, table[:, -1].astype(np.int64), table[:, 0] + table[:, 1] * 1e-6)


def _read_table(file: IO[bytes], where: str) -> FloatArray:
    """Read a log as a matrix of finite numbers."""
    try:
        table = np.loadtxt(file, ndmin=2)
    except ValueError as error:
        raise ValueError(f"{where} is no table of numbers: {error}") from None
    if table.shape[1] != COLUMNS:
        raise ValueError(f"{where} has {table.shape[1]} columns, expected {COLUMNS}")
    if not np.isfinite(table).all():
        row = int(np.isfinite(table).all(axis=1).argmin())
        raise ValueError(f"{where}, row {row + 1} has a cell that is not a finite number")
    return table


@contextmanager
def _open_log(path: Path, name: str) -> Iterator[IO[bytes]]:
    """Open one log in a zip file, in a directory, or given itself."""
    if path.is_dir():
        logs = sorted(path.rglob(name))
        if not logs:
            raise ValueError(f"{path} holds no {name}")
        path = logs[0]
    if not path.exists():
        raise ValueError(f"there is no file or directory {path}")
    if zipfile.is_zipfile(path):
        with zipfile.ZipFile(path) as archive:
            inside = [entry for entry in archive.namelist() if entry.rpartition("/")[2] == name]
            if not inside:
                raise ValueError(f"{path} holds no {name}")
            with archive.open(inside[0]) as file:
                yield file
    elif path.name == name:
        with path.open("rb") as file:
            yield file
    else:
        raise ValueError(f"{path} is neither a zip file nor a directory nor {name}")


def load_realdisp(path: Path) -> RealDisp:
    """Read rows from an .npz file: activities ``y``, seconds ``t`` and one table per sensor.

    Raises
    ------
    ValueError
        If it is something else, or damaged.
    """
    with archives.open_archive(path, "an archive of RealDisp rows") as file:
        # Views may be missing, but another name is a damaged one.
        if not set(file.files) <= {*SENSORS, "y", "t"}:
            raise ValueError("it holds arrays of other names")
        views = {sensor: file[sensor].astype(np.float64) for sensor in SENSORS if sensor in file}
        return RealDisp(views, file["y"].astype(np.int64), file["t"].astype(np.float64))


def blocked_split(
    y: IntArray,
    share: float = 0.3,
    *,
    block: int = 100,
    gap: int = 25,
    rng: np.random.Generator | int | None = None,
) -> tuple[IntArray, IntArray]:
    """Take whole blocks of neighbouring rows for training, other blocks for testing, nothing near a border.

    Parameters
    ----------
    y
        Activities in order of time.
    share
        Share of the blocks of every activity that is for training; at least one block is on each side.
    block
        Rows of a block (100 rows are two seconds).
    gap
        Training rows closer than this to a testing row are dropped.

    Returns
    -------
    Training and testing rows, ascending; no two of them are closer than `gap` rows across the split.
    """
    if not 0.0 < share < 1.0 or block < 1 or gap < 0:
        raise ValueError(f"share must be in (0, 1), block >= 1 and gap >= 0, got {share}, {block} and {gap}")
    generator = check_random_state(rng, "rng")
    training = np.zeros(len(y), dtype=np.bool_)
    for activity in np.unique(y):
        rows = np.flatnonzero(y == activity)
        blocks = np.array_split(rows, max(1, len(rows) // block))
        if len(blocks) < 2:
            raise ValueError(f"activity {activity} has {len(rows)} rows, too few for two blocks of {block}")
        number = min(max(1, round(share * len(blocks))), len(blocks) - 1)
        for chosen in generator.choice(len(blocks), size=number, replace=False):
            training[blocks[chosen]] = True
    testing = np.flatnonzero(~training)
    rows = np.flatnonzero(training)
    after = np.searchsorted(testing, rows)
    before = rows - np.where(after > 0, testing[np.maximum(after - 1, 0)], -len(y))
    behind = np.where(after < len(testing), testing[np.minimum(after, len(testing) - 1)], 2 * len(y)) - rows
    return rows[np.minimum(before, behind) > gap], testing
