"""Run a study: cells x blocks of trials on any joblib backend, streamed into the store by the driver.

`merge` combines shards that ran elsewhere. A cell that fails does not stop the others: its reason is recorded, they are
finished and stored, and then the error is raised.

Smoke tests run before anything is stored (`exml_sim.engine._smoke_test`).
"""

from __future__ import annotations

import os
from collections.abc import Container, Iterator, Mapping, Sequence
from concurrent.futures import BrokenExecutor
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from joblib import Parallel, delayed, effective_n_jobs, parallel_config
from joblib.parallel import get_active_backend
from threadpoolctl import threadpool_limits

from exml_sim._internal.progress import Progress
from exml_sim._internal.threads import one_thread
from exml_sim._internal.validation import check_count, check_jobs
from exml_sim.engine._files import DriverLock, check_place
from exml_sim.engine._smoke_test import run_checked, smoke_test
from exml_sim.engine._specs import Stop
from exml_sim.engine._trials import Block
from exml_sim.engine.modes import Mode, mode_of
from exml_sim.engine.result import StudyResult
from exml_sim.engine.store import Store, StoreError
from exml_sim.engine.study import Cell, Study
from exml_sim.plugins import MissingPackage, PluginError, guard_calls

#: Seconds that one task should take: long against the cost of handing it out, short against a lost worker.
TASK_SECONDS = 0.7
FIRST_TRIALS = 32

_BACKENDS = {"threads": "threading", "processes": "loky"}

Range = tuple[int, int]


def run(
    study: Study,
    *,
    store: str | Path | None = None,
    n_jobs: int = -1,
    backend: str | None = None,
    progress: bool = True,
    shard: tuple[int, int] | None = None,
    block: int | None = None,
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
    strict
        Raise an error at the end if a cell failed; otherwise `StudyResult.failures` has the reasons.

    Raises
    ------
    ValueError
        For a budget that pays for no strategy's first round, before anything is run. If it pays for some strategies,
        the other cells are left out: `StudyResult.skipped`.
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
    parallel = _parallel(n_jobs, backend)
    if store is not None:
        check_place(Path(store))
    # One BLAS thread per worker: the workers themselves use the cores.
    with one_thread():
        new = store is None or not Path(store).exists()
        if new:
            smoke_test(study, cells)
        metadata = [mode_of(study).metadata(study, cell) for cell in cells] if new else []
        opened = Store.create_or_open(store, study, cells, metadata)
        try:
            if not new:
                begun = {c.index for c in cells if opened.ranges(c.index) or opened.has_distribution(c.index)}
                smoke_test(study, [cell for cell in cells if cell.index not in begun])
            if mode_of(study).distribution is not None:
                failed = _enumerate(study, mode_of(study), cells, opened, shard, progress)
            else:
                failed = _sample(study, cells, opened, parallel, progress, shard, block)
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
            if _is_lost(error):
                words = "the dask scheduler was lost; finished trials are kept: run it again with another one"
                raise StoreError(words) from None
            raise
    if store is None:
        return StudyResult(opened, study)
    opened.close()
    return StudyResult(Store.read(store, check=False), study)


def _is_lost(error: BaseException) -> bool:
    """Whether an error says that the scheduler has gone: its futures are cancelled, or nobody listens any more."""
    home = type(error).__module__.partition(".")[0]
    names = {kind.__name__ for kind in type(error).__mro__}
    if home in ("distributed", "dask") and names & {"CommClosedError", "FutureCancelledError", "KilledWorker"}:
        return True
    return "CancelledError" in names and type(get_active_backend()[0]).__name__ == "DaskDistributedBackend"


@contextmanager
def dask_workers(address: str, *, timeout: float = 30.0) -> Iterator[int]:
    """Send the blocks of every `run` inside to the workers of a scheduler; yields the number of their threads.

    A worker that is lost does not matter: the scheduler gives its blocks to another one, and a block's results do not
    depend on who computes it. The driver alone writes the store. If the scheduler is lost the run ends with a
    `StoreError`; finished trials are kept.

    Parameters
    ----------
    address
        The scheduler, for example "tcp://10.0.0.1:8786".
    timeout
        Seconds to wait for it, and for its first worker.

    Raises
    ------
    ValueError
        If `distributed` is not installed, or the scheduler does not answer or has no workers.
    """
    try:
        from distributed import Client
    except ImportError:
        raise ValueError(
            "the backend 'dask' needs the package distributed, which is not installed: pip install 'exml-sim[dask]'"
        ) from None
    try:
        connect: Any = Client
        client = connect(address, timeout=timeout, set_as_default=False)
    except (OSError, TimeoutError, ValueError) as error:
        raise ValueError(f"no dask scheduler answers at {address}: {' '.join(str(error).split())}") from None
    with client:
        try:
            client.wait_for_workers(1, timeout=timeout)
        except TimeoutError:
            raise ValueError(f"the dask scheduler at {address} has no workers") from None
        threads = int(sum(client.nthreads().values()))
        with client.as_current(), parallel_config(backend="dask", n_jobs=threads):
            yield threads


def _summarise_failures(failed: Mapping[int, Exception], cells: Sequence[Cell]) -> Exception:
    """Say in one line which cells failed, and the first reason."""
    index, error = next(iter(failed.items()))
    more = f" and {len(failed) - 1} more" if len(failed) > 1 else ""
    kind = type(error) if isinstance(error, PluginError) else ValueError
    cell = next(cell for cell in cells if cell.index == index)
    return kind(f"{error}; failed: cell {index} ({cell}){more}; trials of other cells are kept")


def _check_options(study: Study, n_jobs: int, shard: tuple[int, int] | None, block: int | None) -> None:
    check_jobs(n_jobs)
    if block is not None:
        check_count(block, "block")
    if shard is not None:
        whole = isinstance(shard, Sequence) and len(shard) == 2 and all(type(number) is int for number in shard)
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
            for done in parallel(sizes.tasks(study, todo, failed)):
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
            if study.stop is not None:
                undecided = [c for c in undecided if not _is_decided(study.stop, store, c, seen, before, after)]
            before = after
    finally:
        line.close()
    return failed


def _is_decided(
    stop: Stop, store: Store, cell: Cell, seen: dict[int, tuple[int, int]], before: int, after: int
) -> bool:
    """Whether a cell is decided at an interim analysis; trials and failures since the last one are added to `seen`."""
    new = store.counts(cell.index, after, before)
    trials, failures = (old + more for old, more in zip(seen[cell.index], new, strict=True))
    seen[cell.index] = trials, failures
    return stop.is_decided(failures, trials)


def _missing(stored: Sequence[Range], low: int, high: int) -> list[Range]:
    """Trials low … high - 1 that are not stored, as ranges."""
    edges = [low, *(edge for part in stored for edge in part), high]
    gaps = ((max(first, low), min(stop, high)) for first, stop in zip(edges[::2], edges[1::2], strict=True))
    return [(first, stop) for first, stop in gaps if first < stop]


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

    def tasks(self, study: Study, todo: Sequence[tuple[Cell, Range]], failed: Container[int]) -> Iterator[Any]:
        """Yield the calls for joblib, when it asks for them; none for cells that failed."""
        driver = os.getpid()
        left = _size([part for _, part in todo])
        for cell, (first, stop) in todo:
            while first < stop and cell.index not in failed:
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
