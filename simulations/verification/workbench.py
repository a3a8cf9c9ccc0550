"""What running takes: seed, workers, and a folder of finished work, every file of which belongs to one source."""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from typing import Any

import exml_sim
import simulations
import theory
from exml_sim import engine
from exml_sim.engine.result import StudyResult
from exml_sim.engine.study import Study
from simulations.cache import Cache


@lru_cache(maxsize=1)
def source_digest() -> str:
    """SHA-256 of the Python files that results depend on: both packages without the command line, and this one."""
    digest = hashlib.sha256()
    for package in (exml_sim, theory, simulations):
        home = Path(package.__path__[0])
        for file in sorted(home.rglob("*.py")):
            part = file.relative_to(home).as_posix()
            if package is simulations and not part.startswith(("verification/", "cache", "atoms")):
                continue
            if not part.startswith(("cli/", "verification/report")):
                digest.update(part.encode() + b"\0" + file.read_bytes() + b"\0")
    return digest.hexdigest()


@dataclass(frozen=True, slots=True)
class Workbench:
    """Seed, workers, finished work, the folder of the engine's stores, and who is told what is being done."""

    seed: int
    n_jobs: int
    cache: Cache
    folder: Path | None = None
    tick: Callable[[str], None] = lambda _: None

    def run(self, study: Study) -> StudyResult:
        """Run a study, or what is missing of it."""
        store = None if self.folder is None else self.folder / _file(study.name, study.hash)
        found: StudyResult = engine.run(study, store=store, n_jobs=self.n_jobs, progress=False)
        return found

    def blocks(self, name: str, trials: int, size: int, job: Callable[[int, int], Any], doing: str = "") -> list[Any]:
        """job(first, stop) of all blocks of so many trials; blocks that are kept under this name are not run again."""
        parts = [(first, min(first + size, trials)) for first in range(0, trials, size)]
        return self.cache.map(
            lambda part: job(*part),
            {f"{name} trials {first}-{stop}": (first, stop) for first, stop in parts},
            n_jobs=self.n_jobs,
            done=lambda: self.tick(doing) if doing else None,
        )


@contextmanager
def workbench(
    seed: int, n_jobs: int, folder: Path | None = None, tick: Callable[[str], None] = lambda _: None
) -> Iterator[Workbench]:
    """A workbench whose finished work is in a folder, which is made if it is not there; in memory without one."""
    if folder is None:
        path, settings = None, {}
    else:
        folder.mkdir(parents=True, exist_ok=True)
        path, settings = folder / _file("finished"), {"source": source_digest()}
    with Cache(path, settings) as cache:
        yield Workbench(seed, n_jobs, cache, folder, tick)


def _file(name: str, identity: str = "") -> str:
    """A name that no other study, seed or source has: after a change of the code all work is done again."""
    digest = hashlib.sha256(f"{identity} {source_digest()}".encode()).hexdigest()[:16]
    return f"{name}-{digest}.sqlite"
