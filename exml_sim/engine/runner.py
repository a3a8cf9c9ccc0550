"""Run a study: cells x blocks of trials on any joblib backend, streamed into the store by the driver.

`merge` combines shards that ran elsewhere. A cell that fails does not stop the others: its reason is recorded, they are
finished and stored, and then the error is raised.
"""

from __future__ import annotations

import math
import os
import time
from collections.abc import Callable, Container, Iterator, Mapping, Sequence
from concurrent.futures import BrokenExecutor
from contextlib import ExitStack
from dataclasses import dataclass
from numbers import Integral
from pathlib import Path
from typing import Any

from joblib import Parallel, delayed, effective_n_jobs
from threadpoolctl import threadpool_limits

from exml_sim._internal.progress import Progress
from exml_sim._internal.threads import one_thread
from exml_sim._internal.validation import check_jobs
from exml_sim.engine._files import DriverLock, check_place, is_blank
from exml_sim.engine._smoke_test import run_checked, smoke_test
from exml_sim.engine._specs import Stop
from exml_sim.engine._trials import Block
from exml_sim.engine.bound_context import context_of, evaluate, find_reason
from exml_sim.engine.cluster import is_lost
from exml_sim.engine.modes import Mode, mode_of
from exml_sim.engine.result import StudyResult
from exml_sim.engine.store import Store, StoreError
from exml_sim.engine.study import Cell, Study
from exml_sim.money import exact
from exml_sim.plugins import MissingPackage, PluginError, guard_calls

#: Seconds that one task should take: long against the cost of handing it out, short against a lost worker.
TASK_SECONDS = 0.7
FIRST_TRIALS = 32

_BACKENDS = {"threads": "threading", "processes": "loky"}

Range = tuple[int, int]
#: Evaluates a bound of ours, by its version, at a cell: `simulations._pool_bounds.value_at`.
BoundValue = Callable[[str, Study, Cell], float]


def run(
    study: Study,
    *,
    store: str | Path | None = None,
    n_jobs: int = -1,
    backend: str | None = None,
    progress: bool = True,
    shard: tuple[int, int] | None = None,
    block: int | None = None,
    bound_value: BoundValue | None = None,
    timeout: float | None = None,
    strict: bool = True,
) -> StudyResult:
    """Run what is missing of a study, and return its results.

    Results depend on the study alone: not on `n_jobs`, `backend`, `block`, or on how often a run was interrupted.

    Parameters
    ----------
    study
        What to run.
    store
        SQLite file for the results. If it exists it must belong to this study, and only missing trials are run. Without
        one, results live in a temporary file as long as the returned object.
    n_jobs
        Workers; -1 is one per core.
    backend
        "threads" (the default: the kernels run without the interpreter lock), "processes", or any backend that joblib
        knows by name. Without one, a surrounding `joblib.parallel_config` decides.
    progress
        Show a line on a terminal.
    shard
        (i, n): only the i-th of n parts of every cell's trials (of an exact study: of the cells), i from 1, to be
        merged by `merge`.
    block
        Trials per task; by default tasks take about 0.7 s.
    bound_value
        Evaluates the bound that `stop.verdict` names, if it is one of `theory`: `simulations._pool_bounds.value_at`.
    timeout
        Seconds after which no further block of trials is started; the next run continues.
    strict
        Raise an error at the end if a cell failed; otherwise `StudyResult.failures` has the reasons.

    Raises
    ------
    ValueError
        For a budget that does not pay for a first round, before anything is run.
    PluginError
        If a cell fails in a trial, after the other cells are finished and stored.
    StoreError
        If the store cannot be used.

    Examples
    --------
    >>> from exml_sim import Study
    >>> study = Study.from_table({
    ...     "pools": [{"kind": "parametric", "means": [0.9, 0.1]}],
    ...     "strategies": ["uniform_allocation"], "budgets": {"per_arm": [10]}, "trials": 100,
    ... })
    >>> [cell.failures for cell in run(study, progress=False, n_jobs=1).summary()]
    [0]
    """
    cells = study.check()
    _check_options(study, n_jobs, shard, block)
    if timeout is not None and not timeout > 0:
        raise ValueError(f"timeout must be a positive number of seconds, got {timeout!r}")
    deadline = math.inf if timeout is None else time.monotonic() + timeout
    bounds = {cell.index: _evaluate_verdict_bound(study, cell, bound_value) for cell in cells}
    parallel = _parallel(n_jobs, backend)
    if store is not None:
        check_place(Path(store))
    # One BLAS thread per worker: the workers themselves use the cores.
    with one_thread():
        new = store is None or is_blank(Path(store))
        if new:
            smoke_test(study, cells)
        metadata = [mode_of(study).metadata(study, cell) for cell in cells] if new else []
        opened = Store.create_or_open(store, study, cells, metadata)
        try:
            if not new:
                begun = {c.index for c in cells if opened.ranges(c.index) or opened.has_distribution(c.index)}
                smoke_test(study, [cell for cell in cells if cell.index not in begun])
            if mode_of(study).distribution is not None:
                failed = _enumerate(study, mode_of(study), cells, opened, shard, deadline, progress)
            else:
                failed = _sample(study, cells, opened, parallel, progress, shard, block, bounds, deadline)
            opened.record_failures({index: str(error) for index, error in failed.items()})
            if failed and strict:
                raise _summarise_failures(failed, cells)
        except BrokenExecutor:
            opened.close()
            raise StoreError(
                "a worker process was killed, most likely for lack of memory; finished trials are kept: "
                "run it again with fewer workers, or with the backend threads"
            ) from None
        except BaseException as error:
            opened.close()
            if is_lost(error):
                words = "the dask scheduler was lost; finished trials are kept: run it again with another one"
                raise StoreError(words) from None
            raise
    if store is None:
        return StudyResult(opened, study)
    opened.close()
    return StudyResult(Store.read(store, check=False), study)


def _summarise_failures(failed: Mapping[int, Exception], cells: Sequence[Cell]) -> Exception:
    """Say in one line which cells failed, and the first reason."""
    index, error = next(iter(failed.items()))
    more = f" and {len(failed) - 1} more" if len(failed) > 1 else ""
    kind = type(error) if isinstance(error, PluginError) else ValueError
    return kind(f"{error}; failed: cell {index} ({cells[index]}){more}; trials of other cells are kept")


def _check_options(study: Study, n_jobs: int, shard: tuple[int, int] | None, block: int | None) -> None:
    check_jobs(n_jobs)
    if block is not None and not (is_whole(block) and block >= 1):
        raise ValueError(f"block must be a whole number of at least 1, got {block!r}")
    if shard is not None:
        whole = isinstance(shard, Sequence) and len(shard) == 2 and all(is_whole(number) for number in shard)
        if not whole or not 1 <= shard[0] <= shard[1]:
            raise ValueError(f"shard must be two whole numbers (i, n) with 1 <= i <= n, got {shard!r}")
        if study.stop is not None:
            raise ValueError("a study with early stopping cannot be cut into shards: a shard cannot take the decision")


def _parallel(n_jobs: int, backend: str | None) -> Parallel:
    """Workers whose results come back one by one, as they finish."""
    options: dict[str, Any] = {"n_jobs": n_jobs, "batch_size": 1, "return_as": "generator_unordered"}
    if backend is None:
        return Parallel(prefer="threads", **options)
    try:
        return Parallel(backend=_BACKENDS.get(backend, backend), **options)
    except ValueError as error:
        raise ValueError(f"unknown backend {backend!r}: {error}") from None


def _enumerate(
    study: Study,
    mode: Mode,
    cells: Sequence[Cell],
    store: Store,
    shard: tuple[int, int] | None,
    deadline: float,
    show_progress: bool,
) -> dict[int, Exception]:
    """Enumerate the missing distributions; a shard of an exact study is every n-th cell. Return what failed, and why.

    The largest cell comes first: if it is too large, nothing has been stored.
    """
    enumerate_cell, size = mode.distribution, mode.size
    assert enumerate_cell is not None
    assert size is not None
    part, parts = shard or (1, 1)
    missing = [cell for cell in cells[part - 1 :: parts] if not store.has_distribution(cell.index)]
    failed: dict[int, Exception] = {}
    line = Progress(len(missing), show_progress, what="cells")
    try:
        for cell in sorted(missing, key=lambda cell: -size(study, cell)):
            if time.monotonic() > deadline:
                break
            try:
                with guard_calls(*study.cell_plugins(cell)):
                    distribution = enumerate_cell(study, cell)
            except PluginError as error:
                failed[cell.index] = error
                continue
            store.add_distribution(cell.index, distribution)
            line.add()
    finally:
        line.close()
    return failed


def _sample(
    study: Study,
    cells: Sequence[Cell],
    store: Store,
    parallel: Parallel,
    show_progress: bool,
    shard: tuple[int, int] | None,
    block: int | None,
    bounds: Mapping[int, float | None],
    deadline: float,
) -> dict[int, Exception]:
    """Run all missing trials up to each interim analysis; return the cells that failed, and why."""
    part, parts = shard or (1, 1)
    low, high = (part - 1) * study.trials // parts, part * study.trials // parts
    stored = {cell.index: store.ranges(cell.index) for cell in cells}
    seen = {cell.index: (0, 0) for cell in cells}
    undecided = list(cells)
    left = [_size(_missing(stored[cell.index], low, high)) for cell in cells]
    workers = effective_n_jobs(parallel.n_jobs)
    line = Progress(sum(left), show_progress)
    failed: dict[int, Exception] = {}
    try:
        before = low
        for analysis in study.interim_analyses():
            after = min(analysis, high)
            todo = [(cell, part) for cell in undecided for part in _missing(stored[cell.index], before, after)]
            sizes = BlockSizes(workers, block)
            for done in parallel(sizes.tasks(study, todo, failed, deadline)):
                if isinstance(done, FailedBlock):
                    failed.setdefault(done.cell, done.error)
                    continue
                if done.cell in failed:
                    continue
                store.add(done)
                sizes.learn(done)
                line.add(len(done), int((~done.success).sum()))
            undecided = [cell for cell in undecided if cell.index not in failed]
            for index, error in failed.items():
                # Trials of a plug-in that was found out are not trusted, unless a worker only lacked a package.
                if not stored[index] and not isinstance(error, MissingPackage):
                    store.remove_trials(index)
            if time.monotonic() > deadline:
                break
            if study.stop is not None:
                undecided = [c for c in undecided if not _is_decided(study.stop, store, c, seen, bounds, before, after)]
            before = after
    finally:
        line.close()
    return failed


def _evaluate_verdict_bound(study: Study, cell: Cell, bound_value: BoundValue | None) -> float | None:
    """Evaluate the bound that the verdict of a cell is about; NaN where it does not apply, None if there is none."""
    name = None if study.stop is None else study.stop.verdict
    if name is None:
        return None
    spec = next((spec for spec in study.bounds if name in (spec.name, spec.label)), None)
    if spec is None:
        if bound_value is None:
            known = ", ".join(spec.label for spec in study.bounds) or "none"
            raise ValueError(f"stop.verdict {name!r} is no bound of the study ({known}): give bound_value for ours")
        try:
            return float(bound_value(name, study, cell))
        except ValueError as error:
            raise ValueError(f"stop.verdict: {error}") from None
    context = context_of(study, cell)
    if isinstance(context, str) or find_reason(spec, context):
        return math.nan
    return evaluate(spec, float(exact(cell.budget)), context)


def _is_decided(
    stop: Stop,
    store: Store,
    cell: Cell,
    seen: dict[int, tuple[int, int]],
    bounds: Mapping[int, float | None],
    before: int,
    after: int,
) -> bool:
    """Whether a cell is decided at an interim analysis; trials and failures since the last one are added to `seen`."""
    new = store.counts(cell.index, after, before)
    trials, failures = (old + more for old, more in zip(seen[cell.index], new, strict=True))
    seen[cell.index] = trials, failures
    return stop.is_decided(failures, trials, bounds[cell.index])


def _missing(stored: Sequence[Range], low: int, high: int) -> list[Range]:
    """Trials low … high - 1 that are not stored, as ranges."""
    edges = [low, *(edge for part in stored for edge in part), high]
    gaps = ((max(first, low), min(stop, high)) for first, stop in zip(edges[::2], edges[1::2], strict=True))
    return [(first, stop) for first, stop in gaps if first < stop]


def is_whole(value: Any) -> bool:
    """Whether something is a whole number by type."""
    return isinstance(value, Integral) and not isinstance(value, bool)


def _size(ranges: Sequence[Range]) -> int:
    return sum(stop - first for first, stop in ranges)


@dataclass(frozen=True, slots=True)
class FailedBlock:
    """A block that failed, and how."""

    cell: int
    error: Exception


def _work(study: Study, cell: Cell, first: int, stop: int, driver: int) -> Block | FailedBlock:
    """Run one block. A worker that is another process pins its BLAS to one thread; for threads the driver does."""
    if driver != os.getpid() and not _PINNED:
        _PINNED.append(threadpool_limits(limits=1))
    try:
        return run_checked(study, cell, first, stop)
    except MemoryError:
        raise
    except PluginError as error:
        return FailedBlock(cell.index, error)
    except (ValueError, TypeError, ArithmeticError, LookupError) as error:
        return FailedBlock(cell.index, ValueError(f"{type(error).__name__}: {error}"))


_PINNED: list[threadpool_limits] = []


class BlockSizes:
    """How many trials make a task: learnt from the blocks that are done, cell by cell.

    Parameters
    ----------
    workers
        Number of workers, so that the last trials of a study are shared out.
    fixed
        A block size to use instead.
    """

    def __init__(self, workers: int, fixed: int | None = None) -> None:
        self._workers = workers
        self._fixed = fixed
        self._seconds: dict[int, float] = {}
        self._any = 0.0

    def learn(self, done: Block) -> None:
        """Note the time per trial of a block."""
        self._seconds[done.cell] = self._any = done.seconds / len(done)

    def size(self, cell: Cell, left: int) -> int:
        """Trials of the next task of a cell, when `left` are left in all: the last ones are shared out."""
        if self._fixed is not None:
            return self._fixed
        seconds = self._seconds.get(cell.index, self._any)
        if seconds <= 0.0:
            return FIRST_TRIALS
        return max(1, min(int(TASK_SECONDS / seconds), max(-(-left // self._workers), FIRST_TRIALS)))

    def tasks(
        self, study: Study, todo: Sequence[tuple[Cell, Range]], failed: Container[int], deadline: float = math.inf
    ) -> Iterator[Any]:
        """Yield the calls for joblib, when it asks for them; none for cells that failed or after the deadline."""
        driver = os.getpid()
        left = _size([part for _, part in todo])
        for cell, (first, stop) in todo:
            while first < stop and cell.index not in failed and time.monotonic() < deadline:
                after = min(stop, first + self.size(cell, left))
                yield delayed(_work)(study, cell, first, after, driver)
                left -= after - first
                first = after


def merge(stores: Sequence[str | Path], out: str | Path) -> StudyResult:
    """Put the stores of a study's shards together in a new one.

    The new store is built under another name and gets its own when it is complete; a file that has that name by then
    is left alone, also if another program made it.

    Raises
    ------
    StoreError
        If the new file exists, the stores belong to different studies, or two of them hold the same trial; nothing is
        then left behind.
    """
    target = Path(out)
    if not stores:
        raise StoreError("merge needs at least one store, got none")
    check_place(target)
    _check_free(target)
    with ExitStack() as opened:
        parts = [opened.enter_context(Store.read(path)) for path in stores]
        for other in parts[1:]:
            if other.hash != parts[0].hash:
                raise StoreError(
                    f"{other.path} ({other.hash[:12]}) and {parts[0].path} ({parts[0].hash[:12]}) belong to different "
                    "studies; nothing was merged"
                )
            other.check_plugins(parts[0].plugins, "nothing was merged")
        lock = DriverLock(target)
        opened.callback(lock.release)
        _check_free(target)
        Store.make_from(target, parts)
    return StudyResult(Store.read(target))


def _check_free(target: Path) -> None:
    if target.exists():
        raise StoreError(f"{target} exists already; nothing was changed: give another file")
