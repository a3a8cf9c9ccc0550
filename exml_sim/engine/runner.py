"""Running a study: cells x blocks of trials on any joblib backend, streamed into the store by the driver.

Parts of a study that ran elsewhere are put together by `merge`.
"""

from __future__ import annotations

import logging
import math
import os
from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import BrokenExecutor
from contextlib import ExitStack
from numbers import Integral
from pathlib import Path
from typing import Any

from joblib import Parallel, delayed, effective_n_jobs
from threadpoolctl import threadpool_limits

from exml_sim.engine.bound_context import context_of, evaluate, find_reason
from exml_sim.engine.cluster import is_lost
from exml_sim.engine.files import DriverLock, check_place, is_blank
from exml_sim.engine.forecast import forecast
from exml_sim.engine.modes import Mode, mode_of
from exml_sim.engine.result import StudyResult
from exml_sim.engine.smoke_test import run_checked, smoke_test
from exml_sim.engine.store import Store, StoreError
from exml_sim.engine.study import Cell, Stop, Study
from exml_sim.engine.trials import Block
from exml_sim.money import exact
from exml_sim.plugins import MissingPackage, PluginError, guard_calls
from exml_sim.progress import Progress
from exml_sim.threads import one_thread
from exml_sim.validation import check_jobs

#: Seconds that one task should take: long against the cost of handing it out, short against a lost worker.
TASK_SECONDS = 0.7
FIRST_TRIALS = 32

logger = logging.getLogger(__name__)

_BACKENDS = {"threads": "threading", "processes": "loky"}

Stretch = tuple[int, int]
#: Evaluates a bound of ours, by its version, at a cell: `simulations.pool_bounds.value_at`.
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
        Evaluates the bound that `stop.verdict` names, if it is one of `theory`: `simulations.pool_bounds.value_at`.

    Raises
    ------
    ValueError
        For a budget that does not pay for an opening round, before anything is run.
    StoreError
        If the store cannot be used.
    """
    cells = study.check()
    _check_options(study, n_jobs, shard, block)
    asked = {cell.index: _verdict_bound(study, cell, bound_value) for cell in cells}
    parallel = _parallel(n_jobs, backend)
    if store is not None:
        check_place(Path(store))
    # One BLAS thread per worker: the workers themselves use the cores.
    with one_thread():
        new = store is None or is_blank(Path(store))
        if new:
            smoke_test(study, cells)
        facts = [mode_of(study).facts(study, cell) for cell in cells] if new else []
        opened = Store.create_or_open(store, study, cells, facts)
        try:
            if not new:
                begun = {cell.index for cell in cells if opened.stretches(cell.index) or opened.has_law(cell.index)}
                smoke_test(study, [cell for cell in cells if cell.index not in begun])
            if mode_of(study).law is not None:
                _enumerate(study, mode_of(study), cells, opened, shard)
            else:
                _sample(study, cells, opened, parallel, progress, shard, block, asked)
        except BrokenExecutor:
            opened.close()
            raise StoreError(
                "a worker process was killed, most likely for lack of memory; finished trials are kept: "
                "run it again with fewer workers, or with the backend threads"
            ) from None
        except PluginError as error:
            raise _refused(error, study, opened, new) from None
        except BaseException as error:
            opened.close()
            if is_lost(error):
                words = "the dask scheduler was lost; finished trials are kept: run it again with another one"
                raise StoreError(words) from None
            raise
    if store is None:
        return StudyResult(opened, study)
    opened.close()
    return StudyResult(Store.read_own(store), study)


def _refused(error: PluginError, study: Study, store: Store, new: bool) -> PluginError:
    """The error of a plug-in in mid-run. A store that was begun by this run does not stay.

    Nothing is lost by that: a plug-in that was mended has another digest and could not go on with the store. Only where
    a worker lacks a package that others have the plug-in stays as it is, and so do its trials.
    """
    others = {cell.index for cell in study.cells() if study.cell_plugins(cell)}
    worked = isinstance(error, MissingPackage) and any(store.stretches(cell) for cell in others)
    if not new or worked:
        store.close()
        return type(error)(f"{error}; finished trials are kept")
    store.discard()
    return type(error)(f"{error}; nothing was stored")


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


def _enumerate(study: Study, mode: Mode, cells: Sequence[Cell], store: Store, shard: tuple[int, int] | None) -> None:
    """Find the laws that are missing; a shard of an exact study is every n-th cell.

    The largest cell comes first: if there is one that is too large after all, nothing has been stored.
    """
    law, size = mode.law, mode.size
    assert law is not None
    assert size is not None
    part, parts = shard or (1, 1)
    missing = [cell for cell in cells[part - 1 :: parts] if not store.has_law(cell.index)]
    for cell in sorted(missing, key=lambda cell: -size(study, cell)):
        with guard_calls(*study.cell_plugins(cell)):
            exact_law = law(study, cell)
        store.add_law(cell.index, exact_law)


def _sample(
    study: Study,
    cells: Sequence[Cell],
    store: Store,
    parallel: Parallel,
    wanted: bool,
    shard: tuple[int, int] | None,
    block: int | None,
    asked: Mapping[int, float | None],
) -> None:
    """Run all missing trials, look by look (one look unless cells may stop early)."""
    part, parts = shard or (1, 1)
    low, high = (part - 1) * study.trials // parts, part * study.trials // parts
    stored = {cell.index: store.stretches(cell.index) for cell in cells}
    seen = {cell.index: (0, 0) for cell in cells}
    undecided = list(cells)
    left = [(cell, _size(_missing(stored[cell.index], low, high))) for cell in cells]
    foreseen = forecast(study, left, effective_n_jobs(parallel.n_jobs), store.path)
    if foreseen is not None:
        logger.warning(foreseen)
    line = Progress(sum(trials for _, trials in left), wanted)
    try:
        before = low
        for look in study.looks():
            after = min(look, high)
            todo = [(cell, part) for cell in undecided for part in _missing(stored[cell.index], before, after)]
            sizes = BlockSizes(effective_n_jobs(parallel.n_jobs), block)
            for done in parallel(sizes.tasks(study, todo)):
                store.add(done)
                sizes.learn(done)
                line.add(len(done), int((~done.success).sum()))
            if study.stop is not None:
                undecided = [c for c in undecided if not _decided(study.stop, store, c, seen, asked, before, after)]
            before = after
    finally:
        line.close()


def _verdict_bound(study: Study, cell: Cell, bound_value: BoundValue | None) -> float | None:
    """Evaluate the bound that the verdict of a cell is about; NaN where it does not apply, None if there is none."""
    name = None if study.stop is None else study.stop.verdict
    if name is None:
        return None
    spec = next((spec for spec in study.bounds if name in (spec.name, spec.label)), None)
    if spec is None:
        if bound_value is None:
            known = ", ".join(spec.label for spec in study.bounds) or "none"
            raise ValueError(f"stop.verdict {name!r} is no bound of the study ({known}): give bound_value for ours")
        return float(bound_value(name, study, cell))
    context = context_of(study, cell)
    if isinstance(context, str) or find_reason(spec, context):
        return math.nan
    return evaluate(spec, float(exact(cell.budget)), context)


def _decided(
    stop: Stop,
    store: Store,
    cell: Cell,
    seen: dict[int, tuple[int, int]],
    asked: Mapping[int, float | None],
    before: int,
    after: int,
) -> bool:
    """Whether a cell is decided at a look; `seen` holds its trials and failures, to which those since are added."""
    new = store.counts(cell.index, after, before)
    trials, failures = (old + more for old, more in zip(seen[cell.index], new, strict=True))
    seen[cell.index] = trials, failures
    return stop.decided(failures, trials, asked[cell.index])


def _missing(stored: Sequence[Stretch], low: int, high: int) -> list[Stretch]:
    """Trials low … high - 1 that are not stored, as stretches."""
    found = []
    at = low
    for first, stop in stored:
        if first > at:
            found.append((at, min(first, high)))
        at = max(at, stop)
    found.append((at, high))
    return [(first, stop) for first, stop in found if first < stop]


def is_whole(value: Any) -> bool:
    """Whether something is a whole number by type."""
    return isinstance(value, Integral) and not isinstance(value, bool)


def _size(stretches: Sequence[Stretch]) -> int:
    return sum(stop - first for first, stop in stretches)


def _work(study: Study, cell: Cell, first: int, stop: int, driver: int) -> Block:
    """One task. A worker that is another process pins its BLAS to one thread; in threads the driver has done so."""
    if driver != os.getpid() and not _PINNED:
        _PINNED.append(threadpool_limits(limits=1))
    return run_checked(study, cell, first, stop)


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
        """Trials of the next task of a cell, when so many are left in all: the last ones are shared out."""
        if self._fixed is not None:
            return self._fixed
        seconds = self._seconds.get(cell.index, self._any)
        if seconds <= 0.0:
            return FIRST_TRIALS
        return max(1, min(int(TASK_SECONDS / seconds), max(-(-left // self._workers), FIRST_TRIALS)))

    def tasks(self, study: Study, todo: Sequence[tuple[Cell, Stretch]]) -> Iterator[Any]:
        """Calls for joblib, made when it asks for them."""
        driver = os.getpid()
        left = _size([stretch for _, stretch in todo])
        for cell, (first, stop) in todo:
            while first < stop:
                after = min(stop, first + self.size(cell, left))
                yield delayed(_work)(study, cell, first, after, driver)
                left -= after - first
                first = after


def merge(stores: Sequence[str | Path], out: str | Path) -> StudyResult:
    """Put the stores of a study's shards together in a new one.

    The new store is built under another name and gets its own when it is complete; a file that has that name by then,
    whoever made it, is left alone.

    Raises
    ------
    StoreError
        If the new file exists, the stores belong to different studies, or two of them hold the same trial; nothing is
        then left behind.
    """
    target = Path(out)
    if not stores:
        raise StoreError("merge needs at least one store, got none")
    _check_free(target)
    with ExitStack() as opened:
        parts = [opened.enter_context(Store.read(path)) for path in stores]
        for one in parts[1:]:
            if one.hash != parts[0].hash:
                raise StoreError(
                    f"{one.path} ({one.hash[:12]}) and {parts[0].path} ({parts[0].hash[:12]}) belong to different "
                    "studies; nothing was merged"
                )
            one.check_plugins(parts[0].plugins, "nothing was merged")
        check_place(target)
        lock = DriverLock(target)
        opened.callback(lock.release)
        _check_free(target)
        Store.make_from(target, parts)
    return StudyResult(Store.read(target))


def _check_free(target: Path) -> None:
    if target.exists():
        raise StoreError(f"{target} exists already; nothing was changed: give another file")
