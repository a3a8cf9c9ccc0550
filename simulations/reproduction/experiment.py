"""Experiments of Section 5 as data: tasks, ways to explore, budgets and the choice of thresholds."""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import dataclass, fields
from fractions import Fraction
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np

from exml_sim._internal.progress import Progress
from exml_sim._internal.threads import one_thread
from exml_sim._internal.validation import check_count, check_jobs
from exml_sim.classifier._rejection_model import ModelOptions
from exml_sim.datasets.realdisp import RealDisp
from exml_sim.strategies import MedianElimination, Strategy, UniformAllocation
from simulations._cache import Cache
from simulations.reproduction._learner import Learner
from simulations.reproduction._sources import (
    DIVISIONS,
    PAPER_COSTS,
    MfeatSource,
    RealDispSource,
    Source,
    SyntheticSource,
    Task,
    stream,
)

#: The budget ratios of Tables 1 and 2, and of Section 5.1, in per cent.
BUDGETS: tuple[int, ...] = (10, 20, 30)
SYNTHETIC_BUDGET = 20
STRATEGIES: dict[str, Callable[..., Strategy]] = {"ME": MedianElimination, "UA": UniformAllocation}


#: A strategy, "ME" or "UA", and its alignment, "sample" or "budget".
Exploring = tuple[str, str]


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
    test_labels
        Whether thresholds are chosen by test labels (the paper), or automatically.
    C, loss
        C_h = C_g = C, and whether losses are added up or averaged (see docs/explanation/conventions.md).
    seed
        Root seed.
    attainable
        Whether the accuracy with each candidate known for all rows is computed, to find the best two.
    """

    name: str
    source: Source
    explorings: tuple[Exploring, ...]
    budgets: tuple[int, ...]
    test_labels: bool
    C: float
    loss: str = "sum"
    seed: int = 0
    attainable: bool = True

    def __post_init__(self) -> None:
        # The options check C and loss.
        self.options()

    def options(self) -> ModelOptions:
        """Make the options of all rejection models; normalised features are in the task's distances."""
        return ModelOptions(C_h=self.C, C_g=self.C, loss=self.loss, scaling="none")

    def identity(self) -> str:
        """Write the settings as text; results of equal settings belong together."""
        settings = {entry.name: getattr(self, entry.name) for entry in fields(self)}
        return json.dumps(settings | {"source": dict(self.source.identity())}, sort_keys=True)

    def run(self, number: int) -> dict[str, Any]:
        """Run one configuration; returns records of its cases and runs that go through JSON unchanged.

        A case is one observed group: accuracy, theta and share of accepted rows of the initial layer, and the
        attainable accuracy of each candidate. A run is one exploration with one theta (`Explored.record`); SL is a run
        without strategy and budget.
        """
        # One BLAS thread, so that results do not depend on how many workers share the cores.
        with one_thread():
            task = self.source.task(self.seed, number)
            known: dict[frozenset[str], float] = {}
            cases, runs = [], []
            for k in range(len(self.source.observed)):
                learner = self.learner(task, number, k)
                runs += self._run_all(learner)
                cases.append(self._describe_case(learner, known))
        return {"configuration": number, "cases": cases, "runs": runs}

    def learner(self, task: Task, number: int, k: int) -> Learner:
        """Make the learner with the k-th group observed."""
        observed = self.source.observed[k]
        rng = stream(self.seed, 2, number, k)
        return Learner(task, observed, self.source.candidates(observed), self.options(), self.test_labels, rng)

    def _run_all(self, learner: Learner) -> list[dict[str, Any]]:
        """Run every way to explore, budget and theta, and SL with every theta."""
        runs = []
        for strategy, alignment in self.explorings:
            for budget in self.budgets:
                kind = {"strategy": strategy, "alignment": alignment, "budget": budget}
                explored = learner.explore(STRATEGIES[strategy](alignment=alignment), Fraction(budget, 100))
                runs += [kind | run.record(learner.initial, learner.task) for run in explored]
        for theta, predicted in learner.supervised():
            accuracy = predicted.accuracy(learner.task)
            kind = {"strategy": "", "alignment": "", "budget": 0, "theta": theta, "cascade_theta": theta}
            runs.append(kind | {"augmented": accuracy, "cascaded": accuracy})
        return [{"observed": learner.observed, **run} for run in runs]

    def _describe_case(self, learner: Learner, known: dict[frozenset[str], float]) -> dict[str, Any]:
        """Describe the initial layer; attainable accuracies of a pair hold whichever of the two is observed."""
        attainable = {}
        for name in learner.candidates if self.attainable else ():
            pair = frozenset((learner.observed, name))
            if pair not in known:
                known[pair] = max(predicted.accuracy(learner.task) for _, predicted in learner.attainable(name))
            attainable[name] = known[pair]
        return {
            "observed": learner.observed,
            "initial_theta": learner.initial_theta,
            "initial": learner.initial.accuracy(learner.task),
            "initial_accepted": float(np.mean(learner.initial.accepted)),
            "attainable": attainable,
        }


def run(
    experiment: Experiment,
    configurations: int,
    store: Path,
    *,
    n_jobs: int = -1,
    progress: bool = True,
) -> list[dict[str, Any]]:
    """Run missing configurations, and return the records of all of them.

    Results depend on the experiment alone, not on `n_jobs` or on how often a run was interrupted.

    Parameters
    ----------
    store
        Folder that keeps what is finished.
    n_jobs
        Worker processes; -1 is one per core.
    progress
        Show a line on a terminal.
    """
    numbers = {str(number): number for number in range(check_count(configurations, "configurations"))}
    workers = check_jobs(n_jobs)
    cache = Cache(store, json.loads(experiment.identity()))
    done = sum(key in cache for key in numbers)
    line = Progress(len(numbers), progress, there=done, what="configurations", name=experiment.name)
    try:
        return cache.map(
            partial(Experiment.run, experiment), numbers, n_jobs=workers, prefer="processes", done=line.add
        )
    finally:
        line.close()


def make_experiment(
    name: str,
    test_labels: bool,
    C: float,
    *,
    loss: str = "sum",
    seed: int = 0,
    divisions: int = DIVISIONS,
    data: RealDisp | None = None,
    split: str = "random",
) -> Experiment:
    """Make an experiment of Section 5 by name.

    Parameters
    ----------
    name
        "synthetic" (Figure 5, budget ratio 20 %), "mfeat" (Table 1), "costs" (Table 2, both alignments) or "realdisp".
    test_labels, C, loss, seed
        See `Experiment`.
    divisions
        Divisions of the digits into classes.
    data, split
        Of RealDisp.
    """
    ways: tuple[Exploring, ...] = (("ME", "sample"), ("UA", "sample"))
    budgets = BUDGETS
    source: Source = MfeatSource(divisions=divisions)
    if name == "synthetic":
        ways, budgets, source = ways[:1], (SYNTHETIC_BUDGET,), SyntheticSource()
    elif name == "costs":
        ways = tuple((name, alignment) for name in ("UA", "ME") for alignment in ("sample", "budget"))
        source = MfeatSource(tuple(PAPER_COSTS.items()), divisions)
    elif data is not None:
        source = RealDispSource(data, split)
    attainable = name in ("mfeat", "realdisp")
    return Experiment(name, source, ways, budgets, test_labels, C, loss, seed, attainable)
