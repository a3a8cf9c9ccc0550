"""Clusters as their page says: dask workers give the same bits, also when a process is lost in mid-run.

A worker that is lost does not matter. A scheduler that is lost ends the run with one line; finished trials are kept,
and the same command with another scheduler goes on.
"""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from types import ModuleType

import pytest
from click.testing import CliRunner

from exml_sim.cli import cli
from exml_sim.engine import Store, StoreError, Study, StudyResult, run
from exml_sim.engine.runner import dask_workers
from exml_sim.plugins import PluginError
from tests.engine.studies import features, known

distributed = pytest.importorskip("distributed")


@pytest.fixture(scope="module")
def local():
    """A scheduler and two worker processes: one can be lost."""
    with distributed.LocalCluster(
        n_workers=2, threads_per_worker=1, processes=True, dashboard_address=None, memory_limit=0, host="127.0.0.1"
    ) as cluster:
        yield cluster


def kill_when(path: Path, done: int, victim: int, killed_at: list[int]) -> threading.Thread:
    """Kill a process as soon as that many trials are stored."""

    def watch() -> None:
        deadline = time.monotonic() + 120
        while time.monotonic() < deadline and not killed_at:
            time.sleep(0.02)
            try:
                with Store.read(path, check=False) as store:
                    stored = int(store.rows("SELECT count(*) FROM trials").fetchone()[0])
            except ValueError:
                continue
            if stored >= done:
                os.kill(victim, signal.SIGKILL)
                killed_at.append(stored)

    thread = threading.Thread(target=watch)
    thread.start()
    return thread


def digest_here(study: Study) -> str:
    """The results of threads of this process."""
    return run(study, n_jobs=1, backend="threads", progress=False).store.digest()


def test_command(local, tmp_path):
    study, file = features(), tmp_path / "study.toml"
    file.write_text(study.to_toml(), encoding="utf-8")
    options = ["--backend", "dask", "--scheduler", local.scheduler_address, "--out", str(tmp_path)]
    done = CliRunner().invoke(cli, ["study", str(file), *options, "--quiet", "--no-bounds", "--no-report"])
    assert done.exit_code == 0, done.output
    with StudyResult.open(tmp_path / "study.sqlite") as result:
        assert result.store.digest() == digest_here(study)


PLUG_IN = """
from dataclasses import dataclass
import os
{extra}
from exml_sim.strategies import BaseStrategy


@dataclass(frozen=True, slots=True, kw_only=True)
class Once(BaseStrategy):
    def first_round_cost(self, budget, prices):
        return budget

    def explore(self, batch):
        batch.buy(batch.budget)
        {use}
        return batch.keep_best(1)
"""


def plugged(folder, extra="", use=""):
    (folder / "once.py").write_text(PLUG_IN.format(extra=extra, use=use), encoding="utf-8")
    both = ("uniform_allocation", "once:Once")
    return replace(known(trials=200), strategies=both, plugins=[folder / "once.py"])


def test_a_plug_in_travels_to_the_workers(local, tmp_path):
    study = plugged(tmp_path)
    with dask_workers(local.scheduler_address) as threads:
        assert threads == 2
        with run(study, n_jobs=threads, block=20, store=tmp_path / "study.sqlite", progress=False) as result:
            assert result.store.digest() == digest_here(study)


def test_a_worker_that_lacks_a_package(local, tmp_path, monkeypatch):
    monkeypatch.setitem(sys.modules, "no_such_package", ModuleType("no_such_package"))
    study, path = plugged(tmp_path, "import no_such_package", "no_such_package"), tmp_path / "study.sqlite"
    words = "plug-in 'once:Once' needs the package 'no_such_package', which is not installed here; failed: cell"
    with dask_workers(local.scheduler_address) as threads, pytest.raises(PluginError, match=words):
        run(study, n_jobs=threads, block=20, store=path, progress=False)
    with StudyResult.open(path) as result:
        assert {summary.strategy for summary in result.summary()} == {"uniform_allocation"}


def test_loss_of_a_worker_in_mid_run(local, tmp_path):
    """One worker process is killed while it has work; its blocks are run by the others."""
    study, path, killed_at = features(trials=1000), tmp_path / "study.sqlite", list[int]()
    victim = next(iter(local.workers.values())).pid
    watcher = kill_when(path, 300, victim, killed_at)
    with dask_workers(local.scheduler_address) as threads:
        result = run(study, n_jobs=threads, block=20, store=path)
    watcher.join()
    assert killed_at
    assert killed_at[0] < 4_000, "the worker was lost in mid-run"
    with pytest.raises(ProcessLookupError):
        os.kill(victim, 0)
    assert result.complete
    assert result.store.digest() == digest_here(study)
    result.close()


def test_no_scheduler():
    with pytest.raises(ValueError, match="no dask scheduler answers"), dask_workers("tcp://127.0.0.1:1", timeout=0.5):
        pass


Process = subprocess.Popen[bytes]


def process(*arguments: str) -> Process:
    return subprocess.Popen([sys.executable, "-m", *arguments], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)


@contextmanager
def batch_cluster(folder: Path, workers: int) -> Iterator[tuple[str, Process, list[Process]]]:
    """A scheduler and workers as a batch system starts them: they find each other by a file."""
    file = folder / "scheduler.json"
    file.unlink(missing_ok=True)
    head = process(
        "distributed.cli.dask_scheduler", "--host", "127.0.0.1", "--port", "0", "--no-dashboard", "--no-show",
        "--scheduler-file", str(file),
    )  # fmt: skip
    deadline = time.monotonic() + 120
    while not file.exists() and time.monotonic() < deadline:
        time.sleep(0.1)
    options = ["--nthreads", "1", "--no-nanny", "--no-dashboard", "--memory-limit", "0", "--death-timeout", "60"]
    hands = [process("distributed.cli.dask_worker", "--scheduler-file", str(file), *options) for _ in range(workers)]
    try:
        yield json.loads(file.read_text(encoding="utf-8"))["address"], head, hands
    finally:
        for value in (*hands, head):
            value.kill()
            value.wait()


@pytest.mark.long
def test_a_worker_and_a_scheduler_are_lost(tmp_path: Path) -> None:
    study, path = features(trials=600), tmp_path / "study.sqlite"
    lost_worker: list[int] = []
    lost_head: list[int] = []
    with batch_cluster(tmp_path, 2) as (address, head, hands):
        with dask_workers(address, timeout=120):
            watchers = [kill_when(path, 200, hands[0].pid, lost_worker), kill_when(path, 900, head.pid, lost_head)]
            with pytest.raises(StoreError, match="the dask scheduler was lost; finished trials are kept"):
                run(study, n_jobs=2, block=10, store=path, progress=False)
        for watcher in watchers:
            watcher.join()
    assert lost_worker
    assert lost_head
    with Store.read(path) as store:
        kept = int(store.rows("SELECT count(*) FROM trials").fetchone()[0])
    assert 900 <= kept < 2400
    with batch_cluster(tmp_path, 1) as (address, _, _), dask_workers(address, timeout=120):
        result = run(study, n_jobs=1, block=100, store=path, progress=False)
    assert result.complete
    assert result.store.digest() == digest_here(study)
    result.close()
