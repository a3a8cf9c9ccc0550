"""Plug-ins whose results cannot be reproduced are refused, whatever the values that they happened to draw."""

from __future__ import annotations

import gc
import time
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from exml_sim._internal.determinism import DeterminismGuard
from exml_sim.engine import Study, StudyResult, run
from exml_sim.engine._smoke_test import SMOKE_TRIALS
from exml_sim.plugins import PluginError

FILE = """
import datetime, os, random, secrets, time, uuid
from dataclasses import dataclass
from time import perf_counter as hidden_clock
import numpy as np
from exml_sim.engine import bound
from tests.bandit.losses import LossPool
from exml_sim.plugins import pool
from exml_sim.strategies import BaseStrategy
SEEDED = np.random.default_rng(3)
{at_import}


@dataclass(frozen=True, slots=True, kw_only=True)
class Mine(BaseStrategy):
    def first_round_cost(self, budget, prices):
        return budget

    def explore(self, batch, own=np.random.default_rng(4)):
        batch.buy(batch.budget)
        selected = batch.keep_best(1)
        {in_call}
        return selected


@pool
def arms():
    {in_pool}
    return LossPool.bernoulli([0.3, 0.5, 0.6])


@bound("Mine")
def half(budget, context):
    {in_bound}
    return 0.5
"""
BASE: dict[str, Any] = {
    "strategies": ["Mine"], "pools": [{"kind": "arms"}], "bounds": ["half"], "budgets": {"per_arm": [20]}, "trials": 60
}  # fmt: skip

#: A call that is wrong once in a hundred, and what is refused: the call itself, not its value.
CALLS = {
    "python, rarely wrong": ("if random.random() < 0.01: selected[:] = 0", "random.random"),
    "python, mostly wrong": ("selected[:] = int(batch.n_arms * random.random())", "random.random"),
    "python, other functions": ("random.shuffle([1, 2, 3])", "random"),
    "numpy's global generator": ("if np.random.random() < 0.01: selected[:] = 0", "numpy's global generator"),
    "numpy's global seed": ("np.random.seed(5)", "numpy's global generator"),
    "unseeded numpy generator": ("np.random.default_rng().random()", "os.urandom"),
    "unseeded legacy generator": ("np.random.RandomState().rand()", "os.urandom"),
    "unseeded python generator": ("random.Random().random()", "without a seed"),
    "system generator": ("random.SystemRandom().random()", "os.urandom"),
    "entropy": ("os.urandom(1)", "os.urandom"),
    "secrets": ("secrets.token_bytes(2)", "os.urandom"),
    "uuid": ("uuid.uuid4()", "os.urandom"),
    "clock": ("if time.time() % 100 < 1: selected[:] = 0", "time.time"),
    "clock in whole numbers": ("time.monotonic_ns()", "time.monotonic_ns"),
    "clock that was imported by name": ("hidden_clock()", "time.perf_counter"),
    "date": ("datetime.datetime.now()", "datetime.now"),
    "day": ("datetime.date.today()", "date.today"),
    "process": ("os.getpid()", "os.getpid"),
    "seeded generator of the module": ("SEEDED.random()", "SEEDED, which keeps its state"),
    "seeded generator as a default": ("own.random()", "default 0, which keeps its state"),
    "in a nested function": ("sorted([2, 1], key=lambda _: time.time())", "time.time"),
    "swallowed errors": ("try:\n            time.time()\n        except BaseException: pass", "time.time"),
}  # fmt: skip


def study_of(folder: Path, *, in_call: str = "", at_import: str = "", in_pool: str = "", in_bound: str = "") -> Study:
    file = folder / "mine.py"
    parts = {"in_call": in_call, "in_pool": in_pool, "in_bound": in_bound}
    file.write_text(
        FILE.format(at_import=at_import, **{name: text or "pass" for name, text in parts.items()}), encoding="utf-8"
    )
    return Study.from_table(BASE, [file])


def catch_error(study: Study, folder: Path, message: str, **options: Any) -> str:
    with pytest.raises(PluginError, match=message) as caught:
        run(study, store=folder / "out.sqlite", n_jobs=1, progress=False, **options)
    assert "\n" not in str(caught.value)
    if (folder / "out.sqlite").exists():
        # Found out in a later block: no trial of the plug-in stays.
        with StudyResult.open(folder / "out.sqlite") as result:
            assert not any(summary.strategy.startswith("Mine") for summary in result.summary())
    return str(caught.value)


@pytest.mark.parametrize("kind", CALLS)
def test_calls_that_are_refused(kind: str, tmp_path: Path) -> None:
    text, message = CALLS[kind]
    assert "'Mine'" in catch_error(study_of(tmp_path, in_call=text), tmp_path, message)


@pytest.mark.parametrize("text", ["DICE = np.random.default_rng()", "DICE = random.Random()", "START = time.time()"])
def test_imports_that_are_refused(text: str, tmp_path: Path) -> None:
    with pytest.raises(PluginError, match="while it was imported"):
        study_of(tmp_path, at_import=text)


def test_pools_and_bounds_are_watched(tmp_path: Path) -> None:
    with pytest.raises(PluginError, match=r"'arms' called os.urandom"):
        study_of(tmp_path, in_pool="np.random.default_rng().random()").cells()
    catch_error(study_of(tmp_path, in_bound="random.random()"), tmp_path, "'half' called random.random")


@pytest.mark.parametrize(
    "text",
    [
        "np.random.default_rng(7).random()",
        "np.random.default_rng([batch.n_arms, 2]).random()",
        "random.Random(7).random()",
        "import colorsys, secrets",
        "np.sort(selected)",
    ],
)
def test_seeded_generators_and_imports_are_allowed(text: str, tmp_path: Path) -> None:
    study = study_of(tmp_path, in_call=text)
    with run(study, n_jobs=1, progress=False) as result:
        assert result.complete
        alone = result.store.digest()
    # Other threads may read clocks: the engine itself does.
    assert run(study, n_jobs=4, backend="threads", block=5, progress=False).store.digest() == alone


def test_other_answers_in_larger_blocks_are_found(tmp_path: Path) -> None:
    """The smoke test has no such block; the trial that every block runs again alone has another result."""
    study = study_of(tmp_path, in_call=f"if batch.ledger.trials > {SMOKE_TRIALS}: selected = (selected + 1) % 3")
    assert "trials of other cells are kept" in catch_error(study, tmp_path, "something else alone", block=30)
    # Where a quarter of the trials differ, the probability to miss it in 60 blocks is 0.75**60 < 1e-6.
    study = study_of(
        tmp_path, in_call=f"if batch.ledger.trials > {SMOKE_TRIALS}: selected[::4] = (selected[::4] + 1) % 3"
    )
    (tmp_path / "out.sqlite").unlink()
    catch_error(replace(study, trials=1200), tmp_path, "something else alone", block=20)
    study = study_of(tmp_path, in_call="if batch.ledger.trials < 10: selected = (selected + 1) % 3")
    (tmp_path / "out.sqlite").unlink()
    assert "nothing was run" in catch_error(study, tmp_path, "in smaller blocks")


def test_state_between_calls_is_found_where_it_changes_the_result(tmp_path: Path) -> None:
    text = "CALLS.append(0); selected = (selected + len(CALLS)) % 3"
    catch_error(study_of(tmp_path, in_call=text, at_import="CALLS = []"), tmp_path, "something else the second time")


def test_strategies_of_this_package_are_not_watched(monkeypatch: pytest.MonkeyPatch) -> None:
    from exml_sim import plugins

    monkeypatch.setattr(plugins, "DeterminismGuard", lambda _: pytest.fail("a guard was set"))
    pools = [{"kind": "parametric", "direction": "minimise", "means": [0.3, 0.5]}]
    study = Study.from_table(BASE | {"strategies": ["top_two"], "pools": pools, "bounds": []})
    with run(study, n_jobs=1, progress=False) as result:
        assert result.complete


def test_a_clock_of_the_garbage_collector_is_not_the_plug_ins() -> None:
    """Hypothesis and profilers measure collections, which begin wherever memory is asked for."""
    # A callback has globals of its own; this one only differs from hypothesis in its name.
    space: dict[str, Any] = {"__name__": "some_profiler", "time": time}
    exec("def measure(phase, info):\n    time.perf_counter()", space)
    gc.callbacks.append(space["measure"])
    try:
        with DeterminismGuard([test_a_clock_of_the_garbage_collector_is_not_the_plug_ins]) as guard:
            gc.collect()
        assert guard.violation == ""
        with DeterminismGuard([test_a_clock_of_the_garbage_collector_is_not_the_plug_ins]) as guard:
            space["measure"]("start", {})
            time.perf_counter()
        assert guard.violation == "called time.perf_counter"
    finally:
        gc.callbacks.remove(space["measure"])
