"""The door check: what can be seen to go wrong before any money is spent, one plain line each.

Only what is known for nothing is looked at: labels, observed columns, prices, and which values could be bought.
"""

from __future__ import annotations

import difflib
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from fractions import Fraction
from itertools import combinations
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from exml_sim.arrays import FloatArray
from exml_sim.bandit.selection_report import CYCLE
from exml_sim.classifier.outliers import told
from exml_sim.memory import free_memory, in_bytes
from exml_sim.money import show
from exml_sim.validation import check_alike, counted

REFUSE, WARN, NOTE = "refuse", "warn", "note"

#: Rows of a class below which it is called rare, and the share of two classes below which accuracy is blind to it.
FEW_ROWS, RARE_SHARE = 10, 0.1

#: Classes above which a label looks like a measurement, if there are fewer rows than this of each on average.
MANY_CLASSES, ROWS_PER_CLASS = 10, 5

#: Rows of every candidate in the first round below which a choice is mostly luck.
OPENING_ROWS = CYCLE

#: Share of rows that are copies of others from which held-out figures are in doubt; chance must explain less of them.
COPIED_SHARE = 0.05

#: Arrays of m x m numbers that rejection models hold at once, their seconds at 3,000 rows, and how these grow.
COPIES, SECONDS_AT_3000, GROWTH = 4.3, 28.0, 2.1

#: The same of kernels in the default models, then bytes and seconds of a forest per row. All are measured, and rough.
KERNEL_COPIES, FOREST_BYTES, FOREST_SECONDS = 11.0, 5_000, 0.0003


@dataclass(frozen=True, slots=True)
class Finding:
    """One remark: `severity` is "refuse", "warn" or "note", `about` what it concerns, `line` says it."""

    severity: str
    about: str
    line: str


@dataclass(frozen=True, slots=True, eq=False)
class Visit:
    """All that the door check looks at.

    Attributes
    ----------
    X, y
        Observed features and perceived labels.
    names, costs, available
        Candidates, their costs, and how many rows of each can be bought.
    budget
        The money.
    columns
        Names of the observed columns; numbered if empty.
    opening
        Rows that the first round buys of the candidate that gets fewest; None if it is not known.
    folds
        Folds of the cross-validations.
    memory
        Bytes that may be used; None for what is free.
    largest
        Rows above which models do not compare all pairs of rows; None if they always do.
    """

    X: FloatArray
    y: NDArray[Any]
    names: Sequence[str]
    costs: Sequence[Fraction]
    available: Sequence[int]
    budget: Fraction
    columns: Sequence[str] = field(default=())
    opening: int | None = None
    folds: int = 5
    memory: int | None = None
    largest: int | None = None


def inspect(visit: Visit) -> tuple[Finding, ...]:
    """All findings, what must be refused first."""
    checks: tuple[Callable[[Visit], list[Finding]], ...] = (_labels, _classes, _columns, _copies, _money, _size)
    blank = blank_labels(visit.y)
    if not blank:
        check_alike(visit.y)
    found = [one for check in checks[: 1 if blank else None] for one in check(visit)]
    return tuple(sorted(found, key=lambda one: (REFUSE, WARN, NOTE).index(one.severity)))


def refuse(findings: Sequence[Finding]) -> None:
    """Raise the first reason to refuse, if there is one."""
    bad = [one.line for one in findings if one.severity == REFUSE]
    if bad:
        raise ValueError("; ".join(bad))


def blank_labels(y: ArrayLike) -> int:
    """Number of labels that are None or NaN."""
    return sum(one is None or (isinstance(one, float | np.floating) and bool(np.isnan(one))) for one in np.asarray(y))


def class_counts(y: NDArray[Any]) -> list[tuple[Any, int]]:
    """Classes with their numbers of rows, most rows first."""
    classes, counts = np.unique(y, return_counts=True)
    order = np.argsort(-counts, kind="stable")
    return [(classes[i].item() if isinstance(classes[i], np.generic) else classes[i], int(counts[i])) for i in order]


def _labels(visit: Visit) -> list[Finding]:
    return label_findings(visit.y)


def label_findings(y: NDArray[Any]) -> list[Finding]:
    """Why labels must be refused; otherwise the classes with their numbers of rows."""
    blank = blank_labels(y)
    if blank:
        return [Finding(REFUSE, "labels", f"{blank} of {len(y)} labels are blank: every row needs one")]
    counts = class_counts(y)
    if len(counts) < 2:
        return [Finding(REFUSE, "labels", f"all labels are {counts[0][0]!r}: at least 2 classes are needed")]
    if len(counts) > MANY_CLASSES and (len(y) < ROWS_PER_CLASS * len(counts) or _fractions(y)):
        line = f"{len(counts)} different labels in {len(y)} rows: this looks like a measurement, not a class"
        return [Finding(REFUSE, "labels", line)]
    listed = ", ".join(f"{name} {count}" for name, count in counts[:MANY_CLASSES])
    more = f" and {len(counts) - MANY_CLASSES} more" if len(counts) > MANY_CLASSES else ""
    return [Finding(NOTE, "labels", f"{len(y)} rows, {len(counts)} classes: {listed}{more}")]


def _fractions(y: NDArray[Any]) -> bool:
    """Whether labels are numbers that are not all whole."""
    try:
        numbers = np.asarray(y, dtype=np.float64)
    except (TypeError, ValueError):
        return False
    return bool((numbers != np.round(numbers)).any())


def _classes(visit: Visit) -> list[Finding]:
    counts = class_counts(visit.y)
    if len(counts) < 2 or len(counts) > visit.y.size / ROWS_PER_CLASS:
        return []
    out = []
    for name, count in counts:
        twin = _twin(str(name), [str(other) for other, rows in counts if rows > count])
        if count < FEW_ROWS:
            hint = f": is it a slip for {twin!r}?" if twin else ""
            out.append(Finding(WARN, "labels", f"class {str(name)!r} has {counted(count, 'row')}{hint}"))
        elif twin and _plain(str(name)) == _plain(twin):
            out.append(Finding(WARN, "labels", f"classes {str(name)!r} and {twin!r} differ in spelling only"))
        elif count * len(counts) < 2 * RARE_SHARE * len(visit.y):
            share = f"{count / len(visit.y):.1%}"
            line = (
                f"class {str(name)!r} is {share} of the rows: accuracy is nearly blind to it, see the balanced figures"
            )
            out.append(Finding(WARN, "labels", line))
    return out


def _twin(name: str, others: Sequence[str]) -> str | None:
    """A class with more rows that is spelled nearly the same."""
    same = [other for other in others if _plain(other) == _plain(name)]
    near = difflib.get_close_matches(name, others, n=1, cutoff=0.75) if len(name) > 2 else []
    return same[0] if same else near[0] if near else None


def _plain(name: str) -> str:
    return " ".join(name.casefold().split())


def _columns(visit: Visit) -> list[Finding]:
    X = visit.X
    called = list(visit.columns) or [f"column {i}" for i in range(X.shape[1])]
    constant = [called[j] for j in range(X.shape[1]) if np.ptp(X[:, j]) == 0.0]
    out = [Finding(WARN, "columns", f"observed {name} is the same in every row") for name in constant]
    groups: dict[bytes, list[int]] = {}
    for j in range(X.shape[1]):
        groups.setdefault((X[:, j] + 0.0).tobytes(), []).append(j)
    for twins in groups.values():
        for i, j in list(combinations(twins, 2))[:1]:
            if called[i] not in constant:
                out.append(Finding(WARN, "columns", f"observed {called[i]} and {called[j]} are the same"))
    for j in range(X.shape[1]):
        if line := told(f"observed {called[j]}", X[:, j]):
            out.append(Finding(WARN, "columns", line))
    return out


def _copies(visit: Visit) -> list[Finding]:
    line = copied_rows(visit.X, visit.y)
    return [Finding(WARN, "rows", line)] if line else []


def copied_rows(X: FloatArray, y: NDArray[Any]) -> str:
    """What to say of rows that are in the table more than once, label included; nothing if they are few or chance.

    Whole numbers and categories meet by chance. How often is read off the distinct rows, as if columns knew nothing of
    each other: the product over columns of the share of pairs that agree.
    """
    table = np.column_stack([X, np.unique(y, return_inverse=True)[1]])
    distinct, times = np.unique(table, axis=0, return_counts=True)
    copied = int(times[times > 1].sum())
    if len(distinct) < 2 or copied < COPIED_SHARE * len(X):
        return ""
    counts = [np.unique(column, return_counts=True)[1] for column in distinct.T]
    pairs = len(distinct) * (len(distinct) - 1)
    by_chance = (len(X) - 1) * float(np.prod([(some * (some - 1)).sum() / pairs for some in counts]))
    if by_chance >= COPIED_SHARE:
        return ""
    return (
        f"{copied} of {len(X)} rows are in the table more than once: figures on held-out rows are too good if a copy "
        "was learned from; leave copies out"
    )


def _money(visit: Visit) -> list[Finding]:
    out = []
    for name, count in zip(visit.names, visit.available, strict=True):
        if not count:
            out.append(Finding(WARN, "money", f"no row of candidate {name} can be bought"))
    everything = sum((c * n for c, n in zip(visit.costs, visit.available, strict=True)), Fraction(0))
    if visit.budget >= everything > 0:
        line = (
            f"the budget of {show(visit.budget)} buys everything there is ({show(everything)}): nothing needs choosing"
        )
        out.append(Finding(NOTE, "money", line))
    elif visit.opening is not None and visit.opening < OPENING_ROWS and len(visit.names) > 1:
        line = (
            f"the first round buys {counted(visit.opening, 'row')} of a candidate; below {OPENING_ROWS} the choice is "
            "mostly luck: more money or fewer candidates help"
        )
        out.append(Finding(WARN, "money", line))
    return out


def _size(visit: Visit) -> list[Finding]:
    rows = len(visit.X)
    need, seconds = bytes_needed(rows, visit.largest), seconds_needed(rows, visit.largest)
    have = free_memory() if visit.memory is None else visit.memory
    if have is not None and need > have:
        line = (
            f"{rows} rows need about {in_bytes(need)} of memory, {in_bytes(have)} are there: "
            f"at most about {most_rows(have, visit.largest)} rows fit"
        )
        return [Finding(REFUSE, "size", line)]
    if seconds > 60.0:
        line = f"{rows} rows take about {in_bytes(need)} of memory and some {seconds / 60:.0f} minutes"
        return [Finding(NOTE, "size", line)]
    return []


def bytes_needed(rows: int, largest: int | None = None) -> int:
    """Memory of a run: of models that compare all pairs of rows, if `largest` is given up to so many rows."""
    if largest is None:
        return int(COPIES * 8 * rows * rows)
    return int(KERNEL_COPIES * 8 * min(rows, largest) ** 2) + FOREST_BYTES * rows


def check_memory(rows: int) -> None:
    """Refuse, before anything is bought, pairs of rows of which not even two matrices can be had."""
    need, have = 16 * rows * rows, free_memory()
    if have is not None and need > have:
        raise MemoryError(
            f"rejection models of {rows} rows need at least {in_bytes(need)} of memory, {in_bytes(have)} are there: "
            'take model="auto", or fewer rows'
        )


def most_rows(memory: int, largest: int | None = None) -> int:
    """The largest number of rows that fits into so much memory."""
    low, high = 0, 2**40
    while high - low > 1:
        middle = (low + high) // 2
        low, high = (middle, high) if bytes_needed(middle, largest) <= memory else (low, middle)
    return low


def seconds_needed(rows: int, largest: int | None = None) -> float:
    """A rough guess of the time of a run."""
    if largest is None:
        return float(SECONDS_AT_3000 * (rows / 3000.0) ** GROWTH)
    return FOREST_SECONDS * rows
