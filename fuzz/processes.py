"""Kills at random moments, two writers, a full disk: nothing is lost, and the end is the same to the bit."""

from __future__ import annotations

import logging
import os
import resource
import signal
import tempfile
import time
from collections import Counter
from collections.abc import Callable
from pathlib import Path

import numpy as np

from exml_sim.engine import Store, StoreError, Study, run
from fuzz.case import HANG, Case, Finding, one_line

RULES = ["uniform_allocation", "median_elimination"]
POOL = {"kind": "parametric", "means": [0.4, 0.5, 0.6]}
ATOMS = {"kind": "finite_support", "values": [[1, 0.5], [0.25, 0.75]], "y": [1, 1], "copies": [6, 4]}
MODES = ("monte_carlo", "exact", "importance_sampling")
TRIALS = 150


def study(mode: str) -> Study:
    """A study of many small blocks."""
    pools = [POOL] if mode != "importance_sampling" else [ATOMS]
    budgets = {"per_arm": [4, 6, 8] if mode == "exact" else [10, 20]}
    return Study(
        pools=pools,
        scores=[{"ball": 0.3}],
        strategies=RULES,
        budgets=budgets,
        sampling={"rows": "independent"} if mode == "importance_sampling" else {},
        trials=TRIALS,
        mode=mode,
    )


def child(action: Callable[[], object]) -> int:
    """Run something in a copy of this process; the copy ends with 0, with 2 for a refusal, with 3 for anything else."""
    number = os.fork()
    if number:
        return number
    signal.setitimer(signal.ITIMER_PROF, 0)
    code = 3
    try:
        action()
        code = 0
    except StoreError as error:
        one_line(error)
        code = 2
    finally:
        os._exit(code)


def ended(number: int) -> int:
    """How a copy ended: its exit code, or minus the signal."""
    return os.waitstatus_to_exitcode(os.waitpid(number, 0)[1])


class _Stores:
    """What the attacks on running processes share."""

    def __init__(self) -> None:
        logging.disable(logging.WARNING)
        self._truth, self._seconds = {}, {}
        for mode in MODES:
            with tempfile.TemporaryDirectory() as folder:
                self._truth[mode] = self._finish(mode, Path(folder) / "s")
                start = time.monotonic()
                self._run(mode, Path(folder) / "t")
                self._seconds[mode] = time.monotonic() - start

    def _run(self, mode: str, path: Path) -> None:
        run(study(mode), store=path, n_jobs=1, block=10, progress=False).close()

    def _finish(self, mode: str, path: Path) -> str:
        self._run(mode, path)
        with Store.read(path) as store:
            return store.digest()

    def _same(self, mode: str, path: Path) -> None:
        if self._finish(mode, path) != self._truth[mode]:
            raise Finding("the continued store differs from one that was never interrupted")
        left = [file.name for file in path.parent.iterdir() if file != path]
        if left:
            raise Finding(f"files are left behind: {left}")


class Kills(_Stores):
    """A run that is killed several times and then continued."""

    name, share, patience = "kills", 0.16, HANG

    def draw(self, rng: np.random.Generator) -> Case:
        """Moments from the first to the last instant of a run."""
        return {"mode": str(rng.choice(MODES)), "moments": rng.uniform(0, 1.1, size=int(rng.integers(1, 4))).tolist()}

    def judge(self, case: Case) -> Counter[str]:
        """The end is the same to the bit."""
        seen: Counter[str] = Counter()
        with tempfile.TemporaryDirectory() as folder:
            path = Path(folder) / "s"
            for moment in case["moments"]:
                number = child(lambda: self._run(case["mode"], path))
                time.sleep(moment * self._seconds[case["mode"]])
                os.kill(number, signal.SIGKILL)
                seen["killed" if ended(number) == -signal.SIGKILL else "was done"] += 1
            self._same(case["mode"], path)
        return seen + Counter({"identical after all": 1})


class Writers(_Stores):
    """Several runs with one store."""

    name, share, patience = "writers", 0.03, HANG

    def draw(self, rng: np.random.Generator) -> Case:
        """Two or three, one after the other within a run's time."""
        return {"mode": str(rng.choice(MODES)), "delays": rng.uniform(0, 0.7, size=int(rng.integers(1, 3))).tolist()}

    def judge(self, case: Case) -> Counter[str]:
        """Some finish, others are refused in one line, and every trial is there once."""
        with tempfile.TemporaryDirectory() as folder:
            path = Path(folder) / "s"
            numbers = [child(lambda: self._run(case["mode"], path))]
            for delay in case["delays"]:
                time.sleep(delay * self._seconds[case["mode"]])
                numbers.append(child(lambda: self._run(case["mode"], path)))
            codes = [ended(number) for number in numbers]
            if not set(codes) <= {0, 2} or 0 not in codes:
                raise Finding(f"the writers ended with {codes}")
            self._same(case["mode"], path)
        return Counter(finished=codes.count(0), refused=codes.count(2))


class FullDisk(_Stores):
    """A limit on the size of files, which a full disk is to a writer."""

    name, share, patience = "disk", 0.03, HANG

    def draw(self, rng: np.random.Generator) -> Case:
        """From a single byte to more than is needed."""
        return {"mode": str(rng.choice(MODES)), "bytes": int(np.exp(rng.uniform(0, np.log(400_000))))}

    def judge(self, case: Case) -> Counter[str]:
        """Refused in one line; the next run continues from what was stored."""

        def crowded() -> None:
            signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
            resource.setrlimit(resource.RLIMIT_FSIZE, (case["bytes"], resource.RLIM_INFINITY))
            self._run(case["mode"], path)

        with tempfile.TemporaryDirectory() as folder:
            path = Path(folder) / "s"
            code = ended(child(crowded))
            if code not in (0, 2):
                raise Finding(f"with {case['bytes']} bytes the run ended with {code}")
            self._same(case["mode"], path)
        return Counter({"fitted" if code == 0 else "refused": 1})
