"""The recipe for a cluster, as its page says: a scheduler and workers that are processes of their own, and array jobs.

A worker that is lost does not matter. A scheduler that is lost ends the run with one line; finished trials are kept,
and the same command with another scheduler goes on.
"""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from exml_sim.engine import Store, StoreError, merge, run
from exml_sim.engine.cluster import dask_workers
from tests.engine.studies import features, known

pytest.importorskip("distributed")


def process(*arguments: str) -> subprocess.Popen[bytes]:
    return subprocess.Popen([sys.executable, "-m", *arguments], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)


@contextmanager
def cluster(folder: Path, workers: int) -> Iterator[tuple[str, subprocess.Popen[bytes], list[subprocess.Popen[bytes]]]]:
    """A scheduler and workers as a batch system starts them: they find each other by a file."""
    import json

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


def kill_when(path: Path, done: int, victim: subprocess.Popen[bytes], result: list[int]) -> threading.Thread:
    """Kill a process as soon as that many trials are stored."""

    def watch() -> None:
        deadline = time.monotonic() + 120
        while time.monotonic() < deadline and not result:
            time.sleep(0.02)
            try:
                with Store.read(path, check=False) as store:
                    stored = int(store.rows("SELECT count(*) FROM trials").fetchone()[0])
            except ValueError:
                continue
            if stored >= done:
                os.kill(victim.pid, signal.SIGKILL)
                result.append(stored)

    thread = threading.Thread(target=watch)
    thread.start()
    return thread


@pytest.mark.long
def test_a_worker_and_a_scheduler_are_lost(tmp_path: Path) -> None:
    study, path = features(trials=600), tmp_path / "study.sqlite"
    lost_worker: list[int] = []
    lost_head: list[int] = []
    with cluster(tmp_path, 2) as (address, head, hands):
        with dask_workers(address, timeout=120) as threads:
            assert threads >= 1
            watchers = [kill_when(path, 200, hands[0], lost_worker), kill_when(path, 900, head, lost_head)]
            with pytest.raises(StoreError, match="the dask scheduler was lost; finished trials are kept"):
                run(study, n_jobs=2, block=10, store=path, progress=False)
        for watcher in watchers:
            watcher.join()
    assert lost_worker
    assert lost_head
    with Store.read(path) as store:
        kept = int(store.rows("SELECT count(*) FROM trials").fetchone()[0])
    assert 900 <= kept < 2400
    with cluster(tmp_path, 1) as (address, _, _), dask_workers(address, timeout=120):
        result = run(study, n_jobs=1, block=100, store=path, progress=False)
    assert result.complete
    assert result.store.digest() == run(study, n_jobs=1, backend="threads", progress=False).store.digest()
    result.close()


def test_array_jobs_are_the_study(tmp_path: Path) -> None:
    """Eight shards, each a process of its own as in the script for SLURM; the million is in benchmarks.shards."""
    study = known(trials=400)
    (tmp_path / "study.toml").write_text(study.to_toml(), encoding="utf-8")
    script = (Path(__file__).parents[2] / "docs" / "how-to" / "clusters.md").read_text(encoding="utf-8")
    assert 'exml study study.toml --shard "$SLURM_ARRAY_TASK_ID/$SLURM_ARRAY_TASK_COUNT"' in script
    jobs = [
        subprocess.Popen(
            [sys.executable, "-m", "exml_sim", "study", "study.toml", "--shard", f"{i}/8", "--out", f"part-{i}",
             "--n-jobs", "1", "--quiet"], cwd=tmp_path, stdout=subprocess.DEVNULL,
            env={**os.environ, "PYTHONPATH": str(Path(__file__).parents[2])},
        )
        for i in (3, 8)
    ]  # fmt: skip
    for i in (1, 2, 4, 5, 6, 7):
        (tmp_path / f"part-{i}").mkdir()
        run(study, shard=(i, 8), store=tmp_path / f"part-{i}" / "study.sqlite", n_jobs=1, progress=False).close()
    assert [job.wait() for job in jobs] == [0, 0]
    parts = [tmp_path / f"part-{i}" / "study.sqlite" for i in range(1, 9)]
    with merge(parts, tmp_path / "all.sqlite") as result:
        assert result.complete
        assert result.store.digest() == run(study, n_jobs=1, progress=False).store.digest()
