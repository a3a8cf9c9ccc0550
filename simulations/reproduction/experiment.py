"""An experiment of Section 5 as data: where tasks come from, which runs are made, how thresholds are chosen."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import asdict, dataclass
from fractions import Fraction
from functools import partial
from pathlib import Path
from typing import Any, TextIO
from typing import Protocol as Interface

import numpy as np

from exml_sim.classifier.rejection_model import ModelOptions
from exml_sim.progress import Progress
from exml_sim.strategies import MedianElimination, Strategy, UniformAllocation
from exml_sim.threads import one_thread
from exml_sim.validation import check_count, check_jobs
from simulations.cache import Cache
from simulations.reproduction.learner import Learner, Protocol
from simulations.reproduction.results import Case, Configuration, Supervised, accuracy, best, run_record
from simulations.reproduction.task import Task

#: The budget ratios of Tables 1 and 2, in per cent.
BUDGETS = (10, 20, 30)


class Source(Interface):
    """Where the tasks of an experiment come from."""

    @property
    def observed(self) -> tuple[str, ...]:
        """Groups of features that are taken as the observed one in turn."""

    def candidates(self, observed: str) -> tuple[str, ...]:
        """Groups that can be bought then."""

    def task(self, seed: int, number: int) -> Task:
        """The task of one configuration."""

    def identity(self) -> Mapping[str, Any]:
        """Plain values that tell this source from any other."""


@dataclass(frozen=True, slots=True)
class Exploring:
    """One way to explore: "ME" or "UA", "sample" or "budget" alignment."""

    strategy: str
    alignment: str = "sample"

    def build(self) -> Strategy:
        """The strategy."""
        if self.strategy == "ME":
            return MedianElimination(alignment=self.alignment)
        return UniformAllocation(alignment=self.alignment)


@dataclass(frozen=True, slots=True)
class Experiment:
    """Everything that decides the results of an experiment, except the number of configurations.

    Attributes
    ----------
    name
        "synthetic", "mfeat", "costs" or "realdisp".
    source
        Its tasks.
    explorings
        The ways to explore.
    budgets
        Budget ratios in per cent.
    protocol
        Thresholds in hindsight or automatic.
    C, loss
        C_h = C_g = C, and whether losses are added up or averaged (see docs/explanation/conventions.md).
    seed
        Root seed.
    attainable
        Whether the accuracy with each candidate known for all rows is measured, to tell which are the best two.
    """

    name: str
    source: Source
    explorings: tuple[Exploring, ...]
    budgets: tuple[int, ...]
    protocol: Protocol
    C: float
    loss: str = "sum"
    seed: int = 0
    attainable: bool = True

    def __post_init__(self) -> None:
        # The options check C and loss.
        self.options()

    def options(self) -> ModelOptions:
        """Options of all rejection models; normalised features are in the task's distances."""
        return ModelOptions(C_h=self.C, C_g=self.C, loss=self.loss, scaling="none")

    def identity(self) -> str:
        """The settings as text; results of equal settings belong together."""
        protocol = self.protocol
        settings = {
            "name": self.name,
            "source": dict(self.source.identity()),
            "explorings": [[one.strategy, one.alignment] for one in self.explorings],
            "budgets": list(self.budgets),
            "hindsight": protocol.hindsight,
            "thetas": list(protocol.thetas),
            "exploration_theta": protocol.exploration_theta,
            "validation_share": str(protocol.validation_share),
            "target": protocol.target,
            "folds": protocol.folds,
            "C": self.C,
            "loss": self.loss,
            "seed": self.seed,
            "attainable": self.attainable,
        }
        return json.dumps(settings, sort_keys=True)

    def run(self, number: int) -> Configuration:
        """All runs of one configuration."""
        # One BLAS thread, so that results do not depend on how many workers share the cores.
        with one_thread():
            task = self.source.task(self.seed, number)
            known: dict[frozenset[str], float] = {}
            cases = [self._case(task, number, k, known) for k in range(len(self.source.observed))]
        return Configuration(number, tuple(cases))

    def learner(self, task: Task, number: int, k: int) -> Learner:
        """The learner with the k-th group observed."""
        observed = self.source.observed[k]
        rng = stream(self.seed, 2, number, k)
        return Learner(task, observed, self.source.candidates(observed), self.options(), self.protocol, rng)

    def _case(self, task: Task, number: int, k: int, known: dict[frozenset[str], float]) -> Case:
        learner = self.learner(task, number, k)
        runs = [
            run_record(one.strategy, one.alignment, budget, found, learner.initial, task)
            for one in self.explorings
            for budget in self.budgets
            for found in learner.explore(one.build(), Fraction(budget, 100))
        ]
        return Case(
            learner.observed,
            learner.initial_theta,
            accuracy(learner.initial, task),
            float(np.mean(learner.initial.accepted)),
            tuple(Supervised(theta, accuracy(predicted, task)) for theta, predicted in learner.supervised()),
            self._attainable(learner, known) if self.attainable else {},
            tuple(runs),
        )

    def _attainable(self, learner: Learner, known: dict[frozenset[str], float]) -> dict[str, float]:
        """Accuracy with each candidate; a pair of groups is the same whichever of the two is observed."""
        found = {}
        for name in learner.candidates:
            pair = frozenset((learner.observed, name))
            if pair not in known:
                known[pair] = best(learner.attainable(name), learner.task)
            found[name] = known[pair]
        return found


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
        Folder that keeps what is finished.
    n_jobs
        Worker processes; -1 is one per core.
    progress
        Show a line on a terminal (`stream`, standard error by default).
    """
    numbers = {str(number): number for number in range(check_count(configurations, "configurations"))}
    workers = check_jobs(n_jobs)
    with Cache(store, json.loads(experiment.identity())) as cache:
        there = sum(key in cache for key in numbers)
        line = Progress(len(numbers), progress, stream, there=there, what="configurations", name=experiment.name)
        try:
            found = cache.map(partial(_plain, experiment), numbers, n_jobs=workers, prefer="processes", done=line.add)
        finally:
            line.close()
        return [Configuration.of(one) for one in found]


def _plain(experiment: Experiment, number: int) -> dict[str, Any]:
    return asdict(experiment.run(number))


def stream(seed: int, *address: int) -> np.random.Generator:
    """The random numbers at one address below the root seed."""
    return np.random.default_rng(np.random.SeedSequence(seed, spawn_key=address))
