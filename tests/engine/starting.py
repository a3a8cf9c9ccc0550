"""Processes for tests that kill them: a server that has loaded the engine forks them, so that none has to import it."""

from __future__ import annotations

import multiprocessing
import os
from collections.abc import Callable
from multiprocessing.context import ForkServerProcess
from pathlib import Path

from exml_sim.engine import Store, Study, run
from exml_sim.engine.modes import run_block


def begin(job: Callable[[Path], None], path: Path) -> ForkServerProcess:
    """A process of its own, with its own number, that does the job."""
    server = multiprocessing.get_context("forkserver")
    server.set_forkserver_preload([__name__])
    process = server.Process(target=job, args=(path,))
    process.start()
    return process


def run_the_file_beside(store: Path) -> None:
    """A study by two threads, in blocks of three trials."""
    run(Study.from_toml(store.with_suffix(".toml")), store=store, n_jobs=2, block=3)


def store_five_blocks_and_die(store: Path) -> None:
    """Nothing is closed: what was written is in the log of the database."""
    study = Study.from_toml(store.with_suffix(".toml"))
    opened = Store.create_or_open(store, study, study.cells())
    for first in range(0, 100, 20):
        opened.add(run_block(study, study.cells()[0], first, first + 20))
    os._exit(9)
