"""Running a study: cells x blocks of trials on any joblib backend, streamed into the store by the driver."""

from __future__ import annotations

import os
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

from joblib import Parallel, delayed, effective_n_jobs
from threadpoolctl import threadpool_limits

from exml_sim.engine.progress import Progress
from exml_sim.engine.result import StudyResult
from exml_sim.engine.stopping import decided, looks
from exml_sim.engine.store import Store
from exml_sim.engine.study import Cell, Study
from exml_sim.engine.trials import Block, run_block
from exml_sim.validation import check_jobs

#: Seconds that one task should take: long against the cost of handing it out, short against a lost worker.
TASK_SECONDS = 0.7
FIRST_TRIALS = 32

_BACKENDS = {"threads": "threading", "processes": "loky"}

Stretch = tuple[int, int]


def run(
    study: Study,
    *,
    store: str | Path | None = None,
    n_jobs: int = -1,
    backend: str | None = None,
    progress: bool = True,
    shard: tuple[int, int] | None = None,
    block: int | None = None,
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
        (i, n): only the i-th of n parts of every cell's trials, i from 1, to be merged by `merge`.
    block
        Trials per task; by default tasks take about 0.7 s.

    Raises
    ------
    ValueError
        For a budget that does not pay for an opening round, before anything is run.
    StoreError
        If the store cannot be used.
    """
    cells = study.check()
    _check_options(study, n_jobs, shard, block)
    opened = Store.create_or_open(store, study, cells)
    try:
        # One BLAS thread per worker: the workers themselves use the cores.
        with threadpool_limits(limits=1):
            if study.mode == "exact":
                _enumerate(study, cells, opened)
            else:
                _sample(study, cells, opened, _parallel(n_jobs, backend), progress, shard, block)
    except BaseException:
        opened.close()
        raise
    if store is None:
        return StudyResult(opened)
    opened.close()
    return StudyResult(Store.read(store))


def _check_options(study: Study, n_jobs: int, shard: tuple[int, int] | None, block: int | None) -> None:
    check_jobs(n_jobs)
    if block is not None and block < 1:
        raise ValueError(f"block must be at least 1, got {block}")
    if shard is not None:
        if not 1 <= shard[0] <= shard[1]:
            raise ValueError(f"shard must be i/n with 1 <= i <= n, got {shard[0]}/{shard[1]}")
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


def _enumerate(study: Study, cells: Sequence[Cell], store: Store) -> None:
    from exml_sim.engine.enumeration import exact_law

    for cell in cells:
        if not store.has_law(cell.index):
            store.add_law(cell.index, exact_law(study, cell))


def _sample(
    study: Study,
    cells: Sequence[Cell],
    store: Store,
    parallel: Parallel,
    wanted: bool,
    shard: tuple[int, int] | None,
    block: int | None,
) -> None:
    """Run all missing trials, look by look (one look unless cells may stop early)."""
    part, parts = shard or (1, 1)
    low, high = (part - 1) * study.trials // parts, part * study.trials // parts
    _rehearse(study, [cell for cell in cells if not store.stretches(cell.index)])
    undecided = list(cells)
    line = Progress(sum(_size(_missing(store, cell, low, high)) for cell in cells), wanted)
    try:
        for look in looks(study):
            todo = [(cell, stretch) for cell in undecided for stretch in _missing(store, cell, low, min(look, high))]
            sizes = BlockSizes(effective_n_jobs(parallel.n_jobs), block)
            for done in parallel(sizes.tasks(study, todo)):
                store.add(done)
                sizes.learn(done)
                line.add(len(done), int((~done.success).sum()))
            if study.stop is not None:
                stop = study.stop
                undecided = [c for c in undecided if not decided(stop, *reversed(store.counts(c.index, look)))]
    finally:
        line.close()


def _rehearse(study: Study, cells: Sequence[Cell]) -> None:
    """Run one trial of every new cell: what cannot run at all fails before anything is stored."""
    for cell in cells:
        try:
            run_block(study, cell, 0, 1)
        except ValueError as error:
            raise ValueError(f"cell {cell.index} ({cell}) cannot run: {error}; nothing was run") from None


def _missing(store: Store, cell: Cell, low: int, high: int) -> list[Stretch]:
    """Trials low … high - 1 that are not stored, as stretches."""
    found = []
    at = low
    for first, stop in store.stretches(cell.index):
        if first > at:
            found.append((at, min(first, high)))
        at = max(at, stop)
    found.append((at, high))
    return [(first, stop) for first, stop in found if first < stop]


def _size(stretches: Sequence[Stretch]) -> int:
    return sum(stop - first for first, stop in stretches)


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
                yield delayed(run_block)(study, cell, first, after, driver)
                left -= after - first
                first = after
