"""Running an experiment: configurations on worker processes, stored one by one by the driver."""

from __future__ import annotations

import sys
import time
from pathlib import Path
from typing import TextIO

from joblib import Parallel, delayed

from exml_sim.validation import check_count, check_jobs
from simulations.reproduction.experiment import Experiment
from simulations.reproduction.results import Configuration
from simulations.reproduction.store import Store


def run(
    experiment: Experiment,
    configurations: int,
    store: Path,
    *,
    n_jobs: int = -1,
    progress: bool = True,
    stream: TextIO | None = None,
) -> list[Configuration]:
    """Run what is missing of the first configurations, and return the results of all of them.

    Results depend on the experiment alone, not on `n_jobs` or on how often a run was interrupted.

    Parameters
    ----------
    store
        SQLite file that keeps what is finished.
    n_jobs
        Worker processes; -1 is one per core.
    progress
        Show a line on a terminal (`stream`, standard error by default).
    """
    count = check_count(configurations, "configurations")
    workers = check_jobs(n_jobs)
    with Store(store, experiment) as opened:
        missing = [number for number in range(count) if number not in opened.numbers()]
        if missing:
            opened.note_session()
            line = _Line(experiment.name, count, count - len(missing), progress, stream or sys.stderr)
            options = {"batch_size": 1, "return_as": "generator_unordered"}
            parallel = Parallel(n_jobs=min(workers, len(missing)), **options)
            try:
                for done in parallel(delayed(experiment.run)(number) for number in missing):
                    opened.add(done)
                    line.add()
            finally:
                line.close()
        return opened.read(count)


class _Line:
    """Configurations done and the time that the rest will take; silent when not on a terminal."""

    def __init__(self, name: str, total: int, there: int, wanted: bool, stream: TextIO) -> None:
        self._name, self._total, self._there, self._done = name, total, there, 0
        self._stream, self._shown = stream, wanted and stream.isatty()
        self._start = time.monotonic()
        self._write(f"{name}: {there} of {total} configurations")

    def add(self) -> None:
        """Count one more."""
        self._done += 1
        seconds = (time.monotonic() - self._start) / self._done * (self._total - self._there - self._done)
        left = f"{int(seconds) // 60}:{int(seconds) % 60:02d} left"
        self._write(f"{self._name}: {self._there + self._done} of {self._total} configurations, {left}")

    def _write(self, text: str) -> None:
        if self._shown:
            self._stream.write(f"\r{text.ljust(60)}")
            self._stream.flush()

    def close(self) -> None:
        """End the line."""
        if self._shown:
            self._stream.write("\n")
            self._stream.flush()
