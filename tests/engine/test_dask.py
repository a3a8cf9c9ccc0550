"""A real cluster of worker processes on loopback: the same bits, also when a worker is lost in mid-run."""

from __future__ import annotations

import os
import signal
import sys
import threading
import time
from dataclasses import replace
from functools import partial
from types import ModuleType

import pytest
from click.testing import CliRunner

from exml_sim.cli import cli
from exml_sim.engine import Store, StudyResult, run
from exml_sim.engine.runner import dask_workers
from exml_sim.plugins import PluginError
from simulations import budget_vs_failure
from tests.engine.studies import features, known

distributed = pytest.importorskip("distributed")


@pytest.fixture(scope="module")
def cluster():
    """A scheduler and two worker processes: one can be lost."""
    with distributed.LocalCluster(
        n_workers=2, threads_per_worker=1, processes=True, dashboard_address=None, memory_limit=0, host="127.0.0.1"
    ) as localcluster:
        yield localcluster


def test_the_same_bits(cluster, tmp_path):
    with dask_workers(cluster.scheduler_address) as threads:
        assert threads == 2
        with run(features(), n_jobs=threads, block=7, store=tmp_path / "study.sqlite") as result:
            assert result.store.digest() == run(features(), n_jobs=1, backend="threads").store.digest()


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


def test_a_plug_in_travels_to_the_workers(cluster, tmp_path):
    study = plugged(tmp_path)
    with dask_workers(cluster.scheduler_address) as threads:
        result = run(study, n_jobs=threads, block=20, store=tmp_path / "study.sqlite", progress=False)
    assert result.store.digest() == run(study, n_jobs=1, backend="threads", progress=False).store.digest()
    result.close()


def test_a_worker_that_lacks_a_package(cluster, tmp_path, monkeypatch):
    monkeypatch.setitem(sys.modules, "no_such_package", ModuleType("no_such_package"))
    study, path = plugged(tmp_path, "import no_such_package", "no_such_package"), tmp_path / "study.sqlite"
    words = "plug-in 'once:Once' needs the package 'no_such_package', which is not installed here; failed: cell"
    with dask_workers(cluster.scheduler_address) as threads, pytest.raises(PluginError, match=words):
        run(study, n_jobs=threads, block=20, store=path, progress=False)
    with StudyResult.open(path) as result:
        assert {summary.strategy for summary in result.summary()} == {"uniform_allocation"}


def test_loss_of_a_worker_in_mid_run(cluster, tmp_path):
    """One worker process is killed while it has work; its blocks are run by the others."""
    study = features(trials=1000)
    path = tmp_path / "study.sqlite"
    victim = next(iter(cluster.workers.values())).pid
    killed_at: list[int] = []

    def kill() -> None:
        deadline = time.monotonic() + 60
        while time.monotonic() < deadline:
            time.sleep(0.02)
            try:
                with Store.read(path) as store:
                    done = int(store.rows("SELECT count(*) FROM trials").fetchone()[0])
            except ValueError:
                continue
            if done >= 300:
                os.kill(victim, signal.SIGKILL)
                killed_at.append(done)
                return

    murder = threading.Thread(target=kill)
    murder.start()
    with dask_workers(cluster.scheduler_address) as threads:
        result = run(study, n_jobs=threads, block=20, store=path)
    murder.join()
    assert killed_at
    assert killed_at[0] < 4_000, "the worker was lost in mid-run"
    with pytest.raises(ProcessLookupError):
        os.kill(victim, 0)
    assert result.complete
    assert result.store.digest() == run(study, n_jobs=2, backend="threads").store.digest()
    result.close()


@pytest.mark.usefixtures("unseen_pictures")
def test_command(cluster, tmp_path, monkeypatch):
    from exml_sim.cli import study

    monkeypatch.setattr(study, "QUICK", 12)
    # Few budgets, and none at which bounds are laborious: it is the workers that are tested.
    monkeypatch.setattr(budget_vs_failure, "make_study", partial(budget_vs_failure.make_study, budgets=(24, 256)))
    options = ["study", "--quick", "--quiet", "--backend", "dask", "--scheduler", cluster.scheduler_address]
    done = CliRunner().invoke(cli, [*options, "--out", str(tmp_path)])
    assert done.exit_code == 0, done.output
    with StudyResult.open(tmp_path / "study.sqlite") as result:
        assert result.store.digest() == run(result.study, n_jobs=1, backend="threads").store.digest()


def test_no_scheduler():
    with pytest.raises(ValueError, match="no dask scheduler answers"), dask_workers("tcp://127.0.0.1:1", timeout=0.5):
        pass
