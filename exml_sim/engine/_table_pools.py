"""Pools from the user's files: rows of a table (CSV, Parquet, npz), and observed rewards.

A file is named relative to the study's. Its contents have a digest, so that a store refuses a file that has changed.
"""

from __future__ import annotations

import csv
import io
from collections.abc import Mapping, Sequence
from dataclasses import field
from typing import Annotated, Any, ClassVar, Literal

import numpy as np
from pydantic import AfterValidator, BeforeValidator, Field

from exml_sim._internal.arrays import FloatArray
from exml_sim._internal.validation import shown
from exml_sim.bandit._arms import BaseArm
from exml_sim.bandit.parametric import BoundedArm, JointArm, ParametricPool
from exml_sim.engine._fields import MAX_LIST, Amounts, Gamma, Kernel, Text, Texts, label_from, spec
from exml_sim.plugins import Plugin, Plugins, read_data
from exml_sim.population import Candidate, Population

SUFFIXES = (".csv", ".parquet", ".npz")


def _check_suffix(value: str) -> str:
    if not value.lower().endswith(SUFFIXES):
        raise ValueError(f"must be a {', '.join(SUFFIXES[:-1])} or {SUFFIXES[-1]} file, got {shown(value)}")
    return value


File = Annotated[Text, AfterValidator(_check_suffix)]
#: A column, or several that are bought together.
Columns = Annotated[Texts, BeforeValidator(lambda value: (value,) if isinstance(value, str) else value)]


def match_costs(costs: Sequence[str] | None, number: int, label: str, what: str) -> Sequence[str]:
    """Return one cost for each arm; all are 1 if none are given."""
    if costs is not None and len(costs) != number:
        raise ValueError(f"costs of pool {label!r} must be one for each of {number} {what}, got {len(costs)}")
    return costs or ("1",) * number


def read_columns(name: str, plugin: Plugin | None) -> dict[str, Any]:
    """Read the columns of a file by name, as they are written: texts, or numbers.

    Raises
    ------
    ValueError
        If the file is not what its name says.
    """
    data = read_data(plugin or Plugins().find_data(name))
    try:
        if name.lower().endswith(".csv"):
            return _read_csv(data)
        if name.lower().endswith(".npz"):
            with np.load(io.BytesIO(data), allow_pickle=False) as arrays:
                return {key: arrays[key] for key in arrays.files}
        return _read_parquet(data)
    except ImportError:
        raise ValueError(f"{name} needs the package pyarrow, which is not installed") from None
    except (ValueError, OSError, EOFError, csv.Error) as error:
        raise ValueError(f"{name} cannot be read: {' '.join(str(error).split())}") from None


def _read_csv(data: bytes) -> dict[str, Any]:
    lines = list(csv.reader(io.StringIO(data.decode("utf-8-sig"))))
    if len(lines) < 2:
        raise ValueError("it has no rows")
    header, rows = lines[0], [line for line in lines[1:] if line]
    wrong = next((number for number, line in enumerate(rows, 2) if len(line) != len(header)), None)
    if wrong is not None or len(set(header)) != len(header):
        raise ValueError(f"row {wrong} has another number of cells" if wrong else "two columns have one name")
    return {name.strip(): [line[place].strip() for line in rows] for place, name in enumerate(header)}


def _read_parquet(data: bytes) -> dict[str, Any]:
    from pyarrow import ArrowException, parquet

    try:
        table = parquet.read_table(io.BytesIO(data))
    except ArrowException as error:
        raise ValueError(error) from None
    return {column: table[column].to_pylist() for column in table.column_names}


def _find_column(columns: Mapping[str, Any], name: str, file: str) -> Any:
    if name not in columns:
        raise ValueError(f"{file} has no column {name!r}: it has {', '.join(map(str, list(columns)[:20]))}")
    return columns[name]


def _read_numbers(columns: Mapping[str, Any], name: str, file: str) -> FloatArray:
    """Read a column of finite numbers (of an npz file, perhaps a matrix)."""
    values = _find_column(columns, name, file)
    try:
        # Python reads 1_000 as a number; in a table it is a text.
        if any(isinstance(value, str) and "_" in value for value in values):
            raise ValueError
        numbers = np.asarray(values, dtype=np.float64)
    except (TypeError, ValueError):
        bad = next((n for n, value in enumerate(values) if not _is_number(value)), 0)
        raise ValueError(f"column {name!r} of {file} has {shown(values[bad])} in row {bad + 1}: no number") from None
    if not np.isfinite(numbers).all():
        raise ValueError(f"column {name!r} of {file} has a value that is missing or not finite")
    return numbers


def _is_number(value: Any) -> bool:
    try:
        float(value)
    except (TypeError, ValueError):
        return False
    return not (isinstance(value, str) and "_" in value)


@spec
class TablePool:
    """Rows of the user's table: what is observed, the label, and the candidates with their costs.

    A candidate is a column or a list of columns that are bought together. The label has two values; `positive` says
    which one is +1 if they are not -1 and 1 or 0 and 1. Without `observed`, a constant is observed.
    """

    what: ClassVar[str] = "table pool"
    kind: Literal["table"] = field(default="table", kw_only=True, repr=False)
    plugin: Plugin | None = field(default=None, compare=False, repr=False, kw_only=True)
    file: File
    target: Text
    candidates: Annotated[tuple[Columns, ...], Field(min_length=1, max_length=MAX_LIST)]
    observed: tuple[Text, ...] = ()
    costs: Amounts | None = None
    positive: Text | None = None
    label: Annotated[Text, label_from("file")] = ""
    kernel: Kernel = "gaussian"
    gamma: Gamma = "median"

    def population(self) -> Population:
        """Read the rows."""
        columns = read_columns(self.file, self.plugin)
        y = self._read_labels(columns)
        costs = match_costs(self.costs, len(self.candidates), self.label, "candidates")
        candidates = [
            Candidate(" + ".join(names), self._read_matrix(columns, names), cost)
            for names, cost in zip(self.candidates, costs, strict=True)
        ]
        X = self._read_matrix(columns, self.observed) if self.observed else np.zeros((len(y), 1))
        return Population(X, y, candidates)

    def _read_matrix(self, columns: Mapping[str, Any], names: Sequence[str]) -> FloatArray:
        return np.column_stack([_read_numbers(columns, name, self.file) for name in names])

    def _read_labels(self, columns: Mapping[str, Any]) -> FloatArray:
        raw = _find_column(columns, self.target, self.file)
        # 1.0 is 1.
        values = [f"{float(value):g}" if _is_number(value) else str(value) for value in raw]
        labels = sorted(set(values))
        positive = self.positive if self.positive is not None else "1"
        if len(labels) != 2 or positive not in labels or (self.positive is None and labels[0] not in ("-1", "0")):
            raise ValueError(
                f"the label {self.target!r} of {self.file} must have two values, -1 and 1 or 0 and 1, or one that is "
                f"named by positive; it has {', '.join(labels[:5])}"
            )
        return np.where(np.array(values) == positive, 1.0, -1.0)


@spec
class RewardsPool:
    """Arms whose pulls are drawn from observed rewards: one column per arm, one row per occasion.

    A pull draws one of the rows. `rows = "independent"`: every arm draws for itself. `rows = "same"`: pull j of all
    arms is one row, so that arms are as correlated as in the file. `direction = "minimise"` for losses.
    """

    what: ClassVar[str] = "rewards pool"
    kind: Literal["rewards"] = field(default="rewards", kw_only=True, repr=False)
    plugin: Plugin | None = field(default=None, compare=False, repr=False, kw_only=True)
    file: File
    arms: Texts | None = None
    rows: Literal["independent", "same"] = "independent"
    direction: Literal["maximise", "minimise"] = "maximise"
    costs: Amounts | None = None
    label: Annotated[Text, label_from("file")] = ""

    def pool(self) -> ParametricPool:
        """Build the arms."""
        columns = read_columns(self.file, self.plugin)
        names = self.arms or tuple(columns)
        values = [_read_numbers(columns, name, self.file) for name in names]
        if len({column.shape for column in values}) != 1 or values[0].ndim != 1:
            raise ValueError(f"the arms of {self.file} must be columns of one length, got shapes {values[0].shape}, …")
        pairs = zip(values, match_costs(self.costs, len(names), self.label, "arms"), strict=True)
        if self.rows == "same":
            arms: list[BaseArm] = [JointArm(tuple(column.tolist()), cost) for column, cost in pairs]
        else:
            arms = [_make_empirical(column, cost) for column, cost in pairs]
        return ParametricPool(arms, names, direction=self.direction)


def _make_empirical(values: FloatArray, cost: str) -> BoundedArm:
    support, counts = np.unique(values, return_counts=True)
    return BoundedArm(tuple(support.tolist()), tuple((counts / counts.sum()).tolist()), cost)
