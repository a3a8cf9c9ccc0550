"""Pools from the user's files: rows of a table (CSV, Parquet), and observed rewards.

A file is named relative to the study's. Its contents have a digest, so that a store refuses a file that has changed.
"""

from __future__ import annotations

import io
from collections.abc import Sequence
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


def _check_suffix(value: str) -> str:
    if not value.lower().endswith((".csv", ".parquet")):
        raise ValueError(f"must be a .csv or .parquet file, got {shown(value)}")
    return value


File = Annotated[Text, AfterValidator(_check_suffix)]
#: A column, or several that are bought together.
Names = Annotated[Texts, BeforeValidator(lambda value: (value,) if isinstance(value, str) else value)]


def match_costs(costs: Sequence[str] | None, number: int, label: str, what: str) -> Sequence[str]:
    """Return one cost for each arm; all are 1 if none are given."""
    if costs is not None and len(costs) != number:
        raise ValueError(f"costs of pool {label!r} must be one for each of {number} {what}, got {len(costs)}")
    return costs or ("1",) * number


class Columns:
    """The columns of a file by name, as they are written: texts, or numbers.

    Raises
    ------
    ValueError
        If the file is not what its name says.
    """

    def __init__(self, file: str, plugin: Plugin | None) -> None:
        import pandas as pd

        data = io.BytesIO(read_data(plugin or Plugins().find_data(file)))
        try:
            if file.lower().endswith(".parquet"):
                frame = pd.read_parquet(data)
            else:
                # The header is a row like the others: pandas would rename a column that occurs twice.
                lines = pd.read_csv(data, header=None, dtype=str, keep_default_na=False, encoding="utf-8-sig")
                frame = lines[1:].set_axis(lines.iloc[0].str.strip(), axis=1)
        except ImportError:
            raise ValueError(f"{file} needs the package pyarrow, which is not installed") from None
        except (ValueError, OSError) as error:
            raise ValueError(f"{file} cannot be read: {' '.join(str(error).split())}") from None
        if frame.empty or not frame.columns.is_unique:
            reason = "it has no rows" if frame.empty else "two columns have one name"
            raise ValueError(f"{file} cannot be read: {reason}")
        self._frame = frame
        self._file = file
        self.names = tuple(map(str, frame.columns))

    def values(self, name: str) -> list[Any]:
        """Return the values of a column."""
        if name not in self.names:
            raise ValueError(f"{self._file} has no column {name!r}: it has {', '.join(self.names[:20])}")
        return [value.strip() if isinstance(value, str) else value for value in self._frame[name]]

    def numbers(self, name: str) -> FloatArray:
        """Return a column of finite numbers."""
        values = self.values(name)
        for row, value in enumerate(values, 1):
            if not _is_number(value):
                raise ValueError(f"column {name!r} of {self._file} has {shown(value)} in row {row}: no number")
        numbers = np.array(values, dtype=np.float64)
        if not np.isfinite(numbers).all():
            raise ValueError(f"column {name!r} of {self._file} has a value that is missing or not finite")
        return numbers


def _is_number(value: Any) -> bool:
    try:
        float(value)
    except (TypeError, ValueError):
        return False
    # Python reads 1_000 as a number; in a table it is a text.
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
    candidates: Annotated[tuple[Names, ...], Field(min_length=1, max_length=MAX_LIST)]
    observed: tuple[Text, ...] = ()
    costs: Amounts | None = None
    positive: Text | None = None
    label: Annotated[Text, label_from("file")] = ""
    kernel: Kernel = "gaussian"
    gamma: Gamma = "median"

    def population(self) -> Population:
        """Read the rows."""
        columns = Columns(self.file, self.plugin)
        y = self._read_labels(columns)
        costs = match_costs(self.costs, len(self.candidates), self.label, "candidates")
        candidates = [
            Candidate(" + ".join(names), np.column_stack([columns.numbers(name) for name in names]), cost)
            for names, cost in zip(self.candidates, costs, strict=True)
        ]
        observed = [columns.numbers(name) for name in self.observed] or [np.zeros(len(y))]
        return Population(np.column_stack(observed), y, candidates)

    def _read_labels(self, columns: Columns) -> FloatArray:
        # 1.0 is 1.
        values = [f"{float(value):g}" if _is_number(value) else str(value) for value in columns.values(self.target)]
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
        columns = Columns(self.file, self.plugin)
        names = self.arms or columns.names
        pairs = zip(map(columns.numbers, names), match_costs(self.costs, len(names), self.label, "arms"), strict=True)
        if self.rows == "same":
            arms: list[BaseArm] = [JointArm(tuple(column.tolist()), cost) for column, cost in pairs]
        else:
            arms = [_make_empirical(column, cost) for column, cost in pairs]
        return ParametricPool(arms, names, direction=self.direction)


def _make_empirical(values: FloatArray, cost: str) -> BoundedArm:
    support, counts = np.unique(values, return_counts=True)
    return BoundedArm(tuple(support.tolist()), tuple((counts / counts.sum()).tolist()), cost)
