"""Pools from a person's own files: rows of a table (CSV, Parquet, npz), and rewards that were seen.

A file is named relative to the study's; its contents have a digest, so that a store refuses a file that has changed.
"""

from __future__ import annotations

import csv
import io
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, ClassVar

import numpy as np

from exml_sim.arrays import FloatArray
from exml_sim.bandit.parametric import BoundedArm, JointArm, ParametricPool
from exml_sim.engine import limits
from exml_sim.engine.fields import (
    Fields,
    amount,
    bandwidth,
    entry,
    kernel_name,
    one_of,
    optional,
    several,
    text,
)
from exml_sim.plugins import Plugin, Plugins, read_data
from exml_sim.population import Candidate, Population
from exml_sim.validation import shown

SUFFIXES = (".csv", ".parquet", ".npz")


def _file(value: Any, what: str) -> str:
    name = text(value, what)
    if not name.lower().endswith(SUFFIXES):
        raise ValueError(f"{what} must be a {', '.join(SUFFIXES[:-1])} or {SUFFIXES[-1]} file, got {shown(value)}")
    return name


def _columns(value: Any, what: str) -> tuple[str, ...]:
    return (text(value, what),) if isinstance(value, str) else tuple(several(text)(value, what))


def read_columns(name: str, found: Plugin | None) -> dict[str, Any]:
    """Columns of a file by name, as they are written: texts, or numbers.

    Raises
    ------
    ValueError
        If the file is not what its name says.
    """
    data = read_data(found or Plugins().find_data(name))
    try:
        if name.lower().endswith(".csv"):
            return _from_csv(data)
        if name.lower().endswith(".npz"):
            with np.load(io.BytesIO(data), allow_pickle=False) as arrays:
                return {key: arrays[key] for key in arrays.files}
    except (ValueError, OSError, EOFError, csv.Error) as error:
        raise ValueError(f"{name} cannot be read: {' '.join(str(error).split())}") from None
    return _from_parquet(name, data)


def _from_csv(data: bytes) -> dict[str, Any]:
    lines = list(csv.reader(io.StringIO(data.decode("utf-8-sig"))))
    if len(lines) < 2:
        raise ValueError("it has no rows")
    header, rows = lines[0], [line for line in lines[1:] if line]
    wrong = next((number for number, line in enumerate(rows, 2) if len(line) != len(header)), None)
    if wrong is not None or len(set(header)) != len(header):
        raise ValueError(f"row {wrong} has another number of cells" if wrong else "two columns have one name")
    return {name.strip(): [line[place].strip() for line in rows] for place, name in enumerate(header)}


def _from_parquet(name: str, data: bytes) -> dict[str, Any]:
    try:
        from pyarrow import ArrowException, parquet
    except ImportError:
        raise ValueError(f"{name} needs the package pyarrow, which is not installed") from None
    try:
        table = parquet.read_table(io.BytesIO(data))
    except (ArrowException, OSError) as error:
        raise ValueError(f"{name} cannot be read: {' '.join(str(error).split())}") from None
    return {column: table[column].to_pylist() for column in table.column_names}


def _numbers(columns: Mapping[str, Any], name: str, file: str) -> FloatArray:
    """One column as finite numbers (of an npz file, perhaps a matrix)."""
    if name not in columns:
        raise ValueError(f"{file} has no column {name!r}: it has {', '.join(map(str, list(columns)[:20]))}")
    values = columns[name]
    try:
        # Python reads 1_000 as a number; in a table it is a text.
        if any(isinstance(one, str) and "_" in one for one in values):
            raise ValueError
        found = np.asarray(values, dtype=np.float64)
    except (TypeError, ValueError):
        bad = next((n for n, one in enumerate(values) if not _is_number(one)), 0)
        raise ValueError(f"column {name!r} of {file} has {shown(values[bad])} in row {bad + 1}: no number") from None
    if not np.isfinite(found).all():
        raise ValueError(f"column {name!r} of {file} has a value that is missing or not finite")
    return found


def _is_number(value: Any) -> bool:
    try:
        float(value)
    except (TypeError, ValueError):
        return False
    return not (isinstance(value, str) and "_" in value)


@dataclass(frozen=True, slots=True)
class TablePool(Fields):
    """Rows of a person's table: what is observed, the label, and the candidates with their costs.

    A candidate is a column or a list of columns that are bought together. The label has two values; `positive` says
    which one is +1 if they are not -1 and 1 or 0 and 1. Nothing observed is a constant.
    """

    what: ClassVar[str] = "table pool"
    kind: ClassVar[str] = "table"
    file: str = entry(_file)
    target: str = entry(text)
    candidates: tuple[tuple[str, ...], ...] = entry(several(_columns))
    observed: tuple[str, ...] = entry(several(text, empty=True), default=())
    costs: tuple[str, ...] | None = entry(optional(several(amount)), default=None)
    positive: str | None = entry(optional(text), default=None)
    label: str = entry(text, default="")
    kernel: str = entry(kernel_name, default="gaussian")
    gamma: float | str = entry(bandwidth, default="median")
    plugin: Plugin | None = field(default=None, compare=False, repr=False, kw_only=True)

    def __post_init__(self) -> None:
        Fields.__post_init__(self)
        if not self.label:
            object.__setattr__(self, "label", self.file)

    def population(self) -> Population:
        """Read the rows."""
        columns = read_columns(self.file, self.plugin)
        y = self._labels(columns)
        limits.check_rows(len(y), len(self.candidates), self.label)
        prices = self.costs or ("1",) * len(self.candidates)
        if len(prices) != len(self.candidates):
            raise ValueError(f"costs of pool {self.label!r} must be one for each of {len(self.candidates)} candidates")
        candidates = [
            Candidate(" + ".join(names), self._matrix(columns, names), price)
            for names, price in zip(self.candidates, prices, strict=True)
        ]
        X = self._matrix(columns, self.observed) if self.observed else np.zeros((len(y), 1))
        return Population(X, y, candidates)

    def _matrix(self, columns: Mapping[str, Any], names: Sequence[str]) -> FloatArray:
        parts = [_numbers(columns, name, self.file) for name in names]
        return np.column_stack(parts)

    def _labels(self, columns: Mapping[str, Any]) -> FloatArray:
        if self.target not in columns:
            raise ValueError(f"{self.file} has no column {self.target!r}: it has {', '.join(map(str, columns))}")
        values = [_word(one) for one in columns[self.target]]
        found = sorted(set(values))
        positive = self.positive if self.positive is not None else "1"
        if len(found) != 2 or positive not in found or (self.positive is None and found[0] not in ("-1", "0")):
            raise ValueError(
                f"the label {self.target!r} of {self.file} must have two values, -1 and 1 or 0 and 1, or one that is "
                f"named by positive; it has {', '.join(found[:5])}"
            )
        return np.where(np.array(values) == positive, 1.0, -1.0)


def _word(value: Any) -> str:
    """A label as text; 1.0 is 1."""
    return f"{float(value):g}" if _is_number(value) else str(value)


@dataclass(frozen=True, slots=True)
class RewardsPool(Fields):
    """Arms whose pulls are drawn from rewards that were seen: one column per arm, one row per occasion.

    A pull draws one of the rows. `rows = "independent"`: every arm draws for itself. `rows = "same"`: pull j of all
    arms is one row, so that arms are as correlated as in the file. `better = "higher"` for rewards, "lower" for losses.
    """

    what: ClassVar[str] = "rewards pool"
    kind: ClassVar[str] = "rewards"
    scored: ClassVar[bool] = False
    file: str = entry(_file)
    arms: tuple[str, ...] | None = entry(optional(several(text)), default=None)
    rows: str = entry(one_of(("independent", "same")), default="independent")
    better: str = entry(one_of(("higher", "lower")), default="higher")
    costs: tuple[str, ...] | None = entry(optional(several(amount)), default=None)
    label: str = entry(text, default="")
    plugin: Plugin | None = field(default=None, compare=False, repr=False, kw_only=True)

    def __post_init__(self) -> None:
        Fields.__post_init__(self)
        if not self.label:
            object.__setattr__(self, "label", self.file)

    def pool(self) -> ParametricPool:
        """Build the arms."""
        columns = read_columns(self.file, self.plugin)
        names = self.arms or tuple(columns)
        sign = -1.0 if self.better == "higher" else 1.0
        values = [sign * _numbers(columns, name, self.file) for name in names]
        if len({one.shape for one in values}) != 1 or values[0].ndim != 1:
            raise ValueError(f"the arms of {self.file} must be columns of one length, got shapes {values[0].shape}, …")
        prices = self.costs or ("1",) * len(names)
        if len(prices) != len(names):
            raise ValueError(f"costs of pool {self.label!r} must be one for each of {len(names)} arms")
        if self.rows == "same":
            return ParametricPool([JointArm(tuple(v.tolist()), c) for v, c in zip(values, prices, strict=True)], names)
        return ParametricPool([_empirical(v, c) for v, c in zip(values, prices, strict=True)], names)


def _empirical(values: FloatArray, cost: str) -> BoundedArm:
    found, times = np.unique(values, return_counts=True)
    return BoundedArm(tuple(found.tolist()), tuple((times / times.sum()).tolist()), cost)
