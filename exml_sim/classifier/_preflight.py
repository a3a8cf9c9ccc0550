"""Check data before any money is spent, and return diagnostics.

Only free information is used: labels, observed columns, costs, and which values could be bought.
"""

from __future__ import annotations

import difflib
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from fractions import Fraction
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from exml_sim._internal.arrays import BoolArray, FloatArray
from exml_sim._internal.encoding import MISSING, Encodings
from exml_sim._internal.memory import free_memory, in_bytes
from exml_sim._internal.validation import check_alike, counted
from exml_sim.classifier import constants
from exml_sim.classifier._groups import group_duplicates
from exml_sim.classifier._tariff import Tariff
from exml_sim.classifier.acquisition import AcquisitionManager
from exml_sim.classifier.evaluation import Diagnostic
from exml_sim.money import show

ERROR, WARNING, NOTE = "error", "warning", "note"


@dataclass(frozen=True, slots=True, eq=False)
class DataSummary:
    """All that the preflight checks use.

    Attributes
    ----------
    X, y
        Observed features and labels.
    names, costs, available
        Candidates, their costs, and how many rows of each can be bought.
    budget
        The money.
    columns
        Names of the observed columns; numbered if empty.
    first_rows
        Rows that the first round buys of the candidate that gets fewest; None if unknown.
    memory
        Bytes that may be used; None for what is free.
    max_kernel_rows
        Rows above which models do not compare all pairs of rows; None if they always do.
    """

    X: FloatArray
    y: NDArray[Any]
    names: Sequence[str]
    costs: Sequence[Fraction]
    available: Sequence[int]
    budget: Fraction
    columns: Sequence[str] = field(default=())
    first_rows: int | None = None
    memory: int | None = None
    max_kernel_rows: int | None = None


def check_data(summary: DataSummary) -> tuple[Diagnostic, ...]:
    """Return all diagnostics, errors first."""
    checks: tuple[Callable[[DataSummary], list[Diagnostic]], ...] = (
        lambda data: diagnose_labels(data.y),
        _check_classes,
        _check_columns,
        lambda data: diagnose_duplicates(data.X, data.y),
        _check_money,
        _check_size,
    )
    blank = count_blank(summary.y)
    if not blank:
        check_alike(summary.y)
    diagnostics = [diagnostic for check in checks[: 1 if blank else None] for diagnostic in check(summary)]
    return tuple(sorted(diagnostics, key=lambda diagnostic: (ERROR, WARNING, NOTE).index(diagnostic.severity)))


def raise_errors(diagnostics: Sequence[Diagnostic]) -> None:
    """Raise a ValueError with the errors, if there are any."""
    errors = [diagnostic.message for diagnostic in diagnostics if diagnostic.severity == ERROR]
    if errors:
        raise ValueError("; ".join(errors))


def count_blank(y: ArrayLike) -> int:
    """Count labels that are None or NaN."""
    labels = np.asarray(y)
    return sum(v is None or (isinstance(v, float | np.floating) and bool(np.isnan(v))) for v in labels)


def count_classes(y: NDArray[Any]) -> list[tuple[Any, int]]:
    """Return classes with their numbers of rows, most rows first."""
    classes, counts = np.unique(y, return_counts=True)
    order = np.argsort(-counts, kind="stable")
    return [(classes[i].item() if isinstance(classes[i], np.generic) else classes[i], int(counts[i])) for i in order]


def diagnose_labels(y: NDArray[Any]) -> list[Diagnostic]:
    """Return errors in labels; otherwise a note with the classes and their numbers of rows."""
    blank = count_blank(y)
    if blank:
        text = f"{blank} of {len(y)} labels are blank: every row needs a label"
        return [Diagnostic("blank_labels", text, ERROR, "labels")]
    counts = count_classes(y)
    if len(counts) < 2:
        text = f"all labels are {counts[0][0]!r}: at least 2 classes are needed"
        return [Diagnostic("single_class", text, ERROR, "labels")]
    if len(counts) > constants.MAX_PLAIN_CLASSES and (
        len(y) < constants.MIN_MEAN_ROWS_PER_CLASS * len(counts) or _has_fractions(y)
    ):
        text = f"{len(counts)} different labels in {len(y)} rows: this looks like a measurement, not a class"
        return [Diagnostic("labels_like_measurement", text, ERROR, "labels")]
    listed = ", ".join(f"{name} {count}" for name, count in counts[: constants.MAX_PLAIN_CLASSES])
    more = f" and {len(counts) - constants.MAX_PLAIN_CLASSES} more" if len(counts) > constants.MAX_PLAIN_CLASSES else ""
    text = f"{len(y)} rows, {len(counts)} classes: {listed}{more}"
    return [Diagnostic("classes", text, NOTE, "labels")]


def _has_fractions(y: NDArray[Any]) -> bool:
    try:
        numbers = np.asarray(y, dtype=np.float64)
    except (TypeError, ValueError):
        return False
    return bool((numbers != np.round(numbers)).any())


def _check_classes(data: DataSummary) -> list[Diagnostic]:
    counts = count_classes(data.y)
    if len(counts) < 2 or len(counts) > data.y.size / constants.MIN_MEAN_ROWS_PER_CLASS:
        return []
    warnings = []
    for label, count in counts:
        name, larger = str(label), [str(other) for other, rows in counts if rows > count]
        similar = _find_similar(name, larger)
        if count < constants.MIN_ROWS_PER_CLASS:
            hint = f"; possible typo of {similar!r}" if similar else ""
            warnings.append(("rare_class", f"class {name!r} has {counted(count, 'row')}{hint}"))
        elif similar and _fold_case(name) == _fold_case(similar):
            warnings.append(("similar_classes", f"classes {name!r} and {similar!r} differ in spelling only"))
        elif count * len(counts) < 2 * constants.RARE_CLASS_FRACTION * len(data.y):
            text = f"class {name!r} is {count / len(data.y):.1%} of the rows: see the balanced accuracy"
            warnings.append(("small_class", text))
    return [Diagnostic(code, text, WARNING, "labels") for code, text in warnings]


def _find_similar(name: str, others: Sequence[str]) -> str | None:
    """Return a class with more rows that is spelled nearly the same."""
    same = [other for other in others if _fold_case(other) == _fold_case(name)]
    near = difflib.get_close_matches(name, others, n=1, cutoff=0.75) if len(name) > 2 else []
    return same[0] if same else near[0] if near else None


def _fold_case(name: str) -> str:
    return " ".join(name.casefold().split())


def _check_columns(data: DataSummary) -> list[Diagnostic]:
    X = data.X
    names = list(data.columns) or [f"column {i}" for i in range(X.shape[1])]
    warnings, first_of = [], dict[bytes, int]()
    reported = set[int]()
    for j, name in enumerate(names):
        if name.endswith(MISSING):
            continue
        if np.ptp(X[:, j]) == 0.0:
            warnings.append(("constant_column", f"observed {name} is the same in every row; leave it out", name))
            continue
        twin = first_of.setdefault((X[:, j] + 0.0).tobytes(), j)
        if twin != j and twin not in reported:
            reported.add(twin)
            warnings.append(("duplicated_column", f"observed {names[twin]} and {name} are the same", name))
    diagnostics = [Diagnostic(code, text, WARNING, name) for code, text, name in warnings]
    return diagnostics + [d for j, name in enumerate(names) for d in diagnose_far(f"observed {name}", X[:, j])]


def far_cells(column: FloatArray) -> BoolArray:
    """Return which cells are far from the others; none where the quartiles are equal."""
    low, middle, high = np.quantile(column, [0.25, 0.5, 0.75])
    far = np.abs(column - middle) > constants.FAR_QUARTILE_DISTANCES * (high - low)
    return np.asarray(far & (high > low), dtype=np.bool_)


def diagnose_far(name: str, column: FloatArray) -> list[Diagnostic]:
    """Report far cells of a column, such as codes like 9999."""
    far = far_cells(column)
    if not far.any():
        return []
    worst = column[np.abs(column - np.median(column)).argmax()]
    text = f"{name} has {counted(int(far.sum()), 'value')} far from the others, like {worst:g}, perhaps a code"
    return [Diagnostic("far_values", text, WARNING, name)]


def diagnose_far_purchases(acquisition: AcquisitionManager) -> list[Diagnostic]:
    """Report bought values that are far from the others; of many candidates, of a few."""
    diagnostics = []
    for arm, name in enumerate(acquisition.names):
        rows = np.flatnonzero(acquisition.bought[arm])
        columns = acquisition.values(arm, rows).T if len(rows) else ()
        diagnostics += [item for column in columns for item in diagnose_far(f"candidate {name}", column)]
    more = len(diagnostics) - constants.MAX_FAR_COLUMNS
    rest = [Diagnostic("far_values", f"{more} further columns have such values", WARNING)] if more > 0 else []
    return [*diagnostics[: constants.MAX_FAR_COLUMNS], *rest]


def diagnose_duplicates(X: FloatArray, y: NDArray[Any]) -> list[Diagnostic]:
    """Report duplicated rows, label included, if they are more than expected by chance."""
    groups = group_duplicates(X, np.unique(y, return_inverse=True)[1])
    if groups is None:
        return []
    times = np.bincount(groups)
    duplicated = int(times[times > 1].sum())
    if duplicated < constants.MIN_DUPLICATED_FRACTION * len(X):
        return []
    text = (
        f"{duplicated} of {len(X)} are duplicated rows, more than expected by chance; they are kept together in "
        "out-of-fold predictions; remove duplicates that are no independent rows"
    )
    return [Diagnostic("duplicated_rows", text, WARNING, "rows")]


def diagnose_levels(encodings: Mapping[str, Encodings]) -> list[Diagnostic]:
    """Report candidates of which all columns have a single level: nothing can be learned from them."""
    return [
        Diagnostic(
            "single_level", f"candidate {name} has the single level {own[0].levels[0]!r}: leave it out", ERROR, name
        )
        for name, own in encodings.items()
        if all(encoding.column_type == "category" and len(encoding.levels) == 1 for encoding in own)
    ]


def _check_money(data: DataSummary) -> list[Diagnostic]:
    diagnostics = [
        Diagnostic("candidate_unavailable", f"no row of candidate {name} can be bought", WARNING, name)
        for name, count in zip(data.names, data.available, strict=True)
        if not count
    ]
    everything = Tariff(data.names, data.costs).total(data.available)
    if data.budget >= everything > 0:
        text = f"the budget of {show(data.budget)} buys everything there is ({show(everything)})"
        diagnostics.append(Diagnostic("budget_buys_everything", text, NOTE, "money"))
    elif data.first_rows is not None and data.first_rows < constants.MIN_FIRST_ROWS and len(data.names) > 1:
        text = (
            f"the first round buys {counted(data.first_rows, 'row')} of a candidate; below {constants.MIN_FIRST_ROWS} "
            "the selection is mostly chance: increase the budget or give fewer candidates"
        )
        diagnostics.append(Diagnostic("small_first_round", text, WARNING, "money"))
    return diagnostics


def _check_size(data: DataSummary) -> list[Diagnostic]:
    rows, limit = len(data.X), data.max_kernel_rows
    need = estimate_bytes(rows, limit)
    have = free_memory() if data.memory is None else data.memory
    if have is not None and need > have:
        text = (
            f"{rows} rows need about {in_bytes(need)} of memory, {in_bytes(have)} are available: "
            f"at most about {max_rows(have, limit)} rows fit"
        )
        return [Diagnostic("too_little_memory", text, ERROR, "size")]
    return []


def estimate_bytes(rows: int, max_kernel_rows: int | None = None) -> int:
    """Estimate the memory of a run; models compare all pairs of rows, up to `max_kernel_rows` if given."""
    if max_kernel_rows is None:
        return int(constants.REJECTION_COPIES * 8 * rows * rows)
    return int(constants.KERNEL_COPIES * 8 * min(rows, max_kernel_rows) ** 2) + constants.FOREST_BYTES_PER_ROW * rows


def check_memory(rows: int) -> None:
    """Raise a MemoryError, before anything is bought, if not even two matrices of all pairs fit."""
    need, have = 16 * rows * rows, free_memory()
    if have is not None and need > have:
        raise MemoryError(
            f"rejection models of {rows} rows need at least {in_bytes(need)} of memory, {in_bytes(have)} are "
            'available: use model="auto", or fewer rows'
        )


def max_rows(memory: int, max_kernel_rows: int | None = None) -> int:
    """Return the largest number of rows that fits into the memory."""
    low, high = 0, 2**40
    while high - low > 1:
        middle = (low + high) // 2
        low, high = (middle, high) if estimate_bytes(middle, max_kernel_rows) <= memory else (low, middle)
    return low
