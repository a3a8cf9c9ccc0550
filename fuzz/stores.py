"""Stores and other files under damage, kills, second writers and full disks: nothing is lost, nothing changes."""

from __future__ import annotations

import logging
import pickle
import resource
import shutil
import signal
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from multiprocessing.context import ForkProcess
from pathlib import Path
from typing import Any

import numpy as np
from hypothesis import seed as seeded
from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, rule, run_state_machine_as_test

from exml_sim.classifier import ExMLClassifier
from exml_sim.classifier._saved_model import SavedModel, load, save
from exml_sim.datasets.realdisp import CHANNELS, SENSORS, load_realdisp
from exml_sim.engine import Store, StoreError, Study, StudyResult, merge, run
from exml_sim.oracle import ArrayOracle
from fuzz.fuzzer import Finding, Fuzzer, expect, limit_time, mix

_ROWS = {"kind": "finite_support", "values": [[1, 0.5], [0.25, 0.75]], "y": [1, 1], "copies": [6, 4]}
_PAIR: dict[str, Any] = {
    "strategies": ["uniform_allocation", "median_elimination"],
    "pools": [{"kind": "parametric", "means": [0.4, 0.5, 0.6]}],
    "budgets": {"per_arm": [4]},
    "trials": 8,
}
_SAMPLED = {"pools": [_ROWS], "scores": [{"ball": 0.3}], "sampling": {"rows": "independent"}}
STUDIES: dict[str, dict[str, Any]] = {
    "monte_carlo": _PAIR,
    "exact": _PAIR | {"mode": "exact"},
    "importance_sampling": {**_PAIR, **_SAMPLED, "strategies": ["uniform_allocation"], "mode": "importance_sampling"},
}


def _run(table: Mapping[str, Any], path: Path) -> None:
    run(Study.from_table(table), store=path, n_jobs=1, block=10, progress=False).close()


def _read_store(path: Path) -> Any:
    with StudyResult.open(path) as result:
        facts = result.store.metadata, result.store.sessions(), result.cells, result.study, result.complete
        return (result.store.digest(), result.summary(), list(result.rows()), facts)


def _write_model(path: Path) -> None:
    rng = np.random.default_rng(0)
    X, y = rng.normal(size=(30, 2)), rng.integers(0, 2, 30)
    model = ExMLClassifier.paper(budget=20, explore="always", random_state=0)
    save(SavedModel.of(model.fit(X, y, ArrayOracle({"extra": rng.normal(size=30)}))), path)


def _write_rows(path: Path) -> None:
    rng = np.random.default_rng(2)
    views = {name: rng.normal(size=(3, len(CHANNELS))) for name in SENSORS[:2]}
    # To a file: numpy would add .npz to a name.
    with path.open("wb") as file:
        np.savez_compressed(file, y=np.array([1, 2, 3]), t=np.array([0.0, 0.02, 0.04]), **views)  # type: ignore[arg-type]


#: How a file of each kind is written and read.
KINDS: Mapping[str, tuple[Callable[[Path], object], Callable[[Path], Any]]] = {
    **{mode: (partial(_run, table), _read_store) for mode, table in STUDIES.items()},
    "model": (_write_model, load),
    "rows": (_write_rows, load_realdisp),
}


class Damage(Fuzzer):
    """Flip bits and cut ends: the file is refused in one line, or read as if nothing had happened."""

    name, share = "damage", 0.3

    def __init__(self, kinds: Sequence[str] = tuple(KINDS)) -> None:
        super().__init__()
        self._folder = Path(tempfile.mkdtemp(prefix="fuzz-"))
        self._whole: dict[str, bytes] = {}
        for kind in kinds:
            path = self._folder / "whole"
            KINDS[kind][0](path)
            self._whole[kind] = path.read_bytes()
            path.unlink()
        self._truth = {kind: self._answer(kind, data) for kind, data in self._whole.items()}
        self.cases = st.sampled_from(kinds).flatmap(self._damages)

    def _damages(self, kind: str) -> st.SearchStrategy[dict[str, Any]]:
        """Draw flipped bits, more often near the beginning, or now and then the place of a cut."""
        size = len(self._whole[kind])
        bits = st.integers(0, 8 * size - 1) | st.integers(0, 8 * min(4096, size) - 1)
        # One bit is the hardest damage to notice.
        lists = mix(st.lists(bits, min_size=1, max_size=1), st.lists(bits, min_size=1, max_size=8), 4)
        flips = st.fixed_dictionaries({"kind": st.just(kind), "bits": lists})
        # An empty file is a new store, not a damaged one.
        cut = st.fixed_dictionaries({"kind": st.just(kind), "cut": st.integers(1, size - 1)})
        return mix(flips, cut, 24)

    def _answer(self, kind: str, data: bytes) -> bytes:
        """Write a file and return all that its reader learns from it."""
        for file in self._folder.glob("*"):
            file.unlink()
        (self._folder / kind).write_bytes(data)
        return pickle.dumps(KINDS[kind][1](self._folder / kind))

    def judge(self, case: Mapping[str, Any]) -> Counter[str]:
        """Check that the file is refused or unchanged, and that no byte of it is touched."""
        kind, path = case["kind"], self._folder / case["kind"]
        damaged = bytearray(self._whole[kind])
        for bit in case.get("bits", ()):
            damaged[bit // 8] ^= 1 << bit % 8
        data = bytes(damaged[: case.get("cut")])
        outcome = expect(ValueError, lambda: self._answer(kind, data), self._truth[kind])
        if kind in STUDIES and outcome == "refused":
            # An unreadable store can be neither merged nor continued.
            expect(StoreError, lambda: merge([path], self._folder / "merged"), "refused")
            expect(StoreError, lambda: _run(STUDIES[kind], path), "refused")
        if path.read_bytes() != data:
            raise Finding("the damaged file was changed")
        return Counter({f"{kind} {outcome}": 1})


class Life(RuleBasedStateMachine):
    """A run that is killed, meets a second writer or a full disk, in any order, and is continued at the end.

    The continued store is the same to the bit as that of a run without interruption, and no other file is left.
    """

    fuzzer: Processes

    @initialize(mode=st.runner().flatmap(lambda life: st.sampled_from(list(life.fuzzer.digests))))
    def begin(self, mode: str) -> None:
        self.mode, self.folder = mode, Path(tempfile.mkdtemp(prefix="fuzz-"))
        self.path = self.folder / "store"

    @rule(moment=st.floats(0, 1.1))
    def kill(self, moment: float) -> None:
        process = self._start(moment)
        process.kill()
        self._wait("kill", process, -signal.SIGKILL)

    @rule(moment=st.floats(0, 1.1))
    def meet_second_writer(self, moment: float) -> None:
        if 0 not in [self._wait("second", process) for process in (self._start(moment), self._start())]:
            raise Finding("both writers were refused")

    @rule(power=st.integers(0, 18))
    def meet_full_disk(self, power: int) -> None:
        self._wait("full", self._start(file_size=3 * 2**power))

    def teardown(self) -> None:
        with limit_time():
            if self.fuzzer.finish(self.mode, self.path) != self.fuzzer.digests[self.mode]:
                raise Finding("the continued store differs from one that was never interrupted")
        left = [file.name for file in self.folder.iterdir() if file != self.path]
        if left:
            raise Finding(f"files are left behind: {left}")
        shutil.rmtree(self.folder)

    def _start(self, moment: float = 0.0, file_size: int = resource.RLIM_INFINITY) -> ForkProcess:
        """Start a run in a copy of this process, and wait for a part of the seconds that it takes."""
        process = ForkProcess(target=self._run, args=(file_size,))
        process.start()
        time.sleep(moment * self.fuzzer.seconds[self.mode])
        return process

    def _run(self, file_size: int) -> None:
        """Run and exit with 0, or with 2 for a refusal."""
        signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
        resource.setrlimit(resource.RLIMIT_FSIZE, (file_size, resource.RLIM_INFINITY))
        if expect(StoreError, lambda: self.fuzzer.run_study(self.mode, self.path), None) == "refused":
            sys.exit(2)

    def _wait(self, event: str, process: ForkProcess, *allowed: int) -> int:
        """Return the exit code of a copy, or minus its signal."""
        process.join()
        code = process.exitcode
        if code not in (0, 2, *allowed):
            raise Finding(f"{event}: a process ended with {code}")
        self.fuzzer.outcomes[f"{event}: {'stopped' if code else 'finished'}"] += 1
        return code


class Processes(Fuzzer):
    """Lives of stores, with the digest of each whole store, and the seconds that its run takes."""

    name, share, batch = "processes", 0.2, 5

    def __init__(self, modes: Sequence[str] = tuple(STUDIES), trials: int = 150) -> None:
        super().__init__()
        logging.disable(logging.WARNING)
        self.trials, self.digests, self.seconds = trials, {}, {}
        for mode in modes:
            with tempfile.TemporaryDirectory() as folder:
                self.run_study(mode, Path(folder) / "warm-up")
                start = time.monotonic()
                self.digests[mode] = self.finish(mode, Path(folder) / "store")
                self.seconds[mode] = time.monotonic() - start
        self.life = type("StoreLife", (Life,), {"fuzzer": self})

    def run_study(self, mode: str, path: Path) -> None:
        """Run what the store lacks."""
        _run(STUDIES[mode] | ({} if mode == "exact" else {"trials": self.trials}), path)

    def finish(self, mode: str, path: Path) -> str:
        """Run what the store lacks and return its digest."""
        self.run_study(mode, path)
        with Store.read(path) as store:
            return store.digest()

    def run_batch(self, options: settings, seed: int) -> None:
        """Live a number of lives."""
        run_state_machine_as_test(seeded(seed)(self.life), settings=settings(options, stateful_step_count=4))
