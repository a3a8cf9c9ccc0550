"""Counterexamples as TOML files: the violated claim, the instance, both sides, and the seed to measure them again."""

from __future__ import annotations

import math
import tomllib
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from tomli_w import dumps as to_toml

from simulations.falsify._target import Instance, Measured, Target
from simulations.falsify.search import Outcome, confirm, derive_seeds
from simulations.falsify.targets import all_targets, find_target
from theory.verdicts import Verdict

FORMAT = 1
_FIELDS = {"format", "claim", "says", "seed", "evaluations", "log_observed", "log_bound", "verdict", "instance"}
MAX_BYTES = 10**6
#: Relative difference of a replayed logarithm that is attributed to rounding.
TOLERANCE = 1e-6


@dataclass(frozen=True, slots=True)
class Counterexample:
    """A violation that was searched, shrunk and confirmed."""

    target: Target
    instance: Instance
    seed: int
    evaluations: int
    measured: Measured
    sentence: str

    @classmethod
    def of(cls, outcome: Outcome) -> Counterexample:
        """Take the violation of a search."""
        if not outcome.violated or outcome.best is None or outcome.verdict is None:
            raise ValueError(f"the search for {outcome.target.id} has no violation to save")
        sentence = outcome.verdict.sentence
        return cls(outcome.target, outcome.best, outcome.seed, outcome.evaluations, outcome.measured, sentence)

    def to_toml(self) -> str:
        """Return the text of a file."""
        return to_toml(
            {
                "format": FORMAT,
                "claim": self.target.id,
                "says": self.target.says,
                "seed": self.seed,
                "evaluations": self.evaluations,
                "log_observed": self.measured.log_observed,
                "log_bound": self.measured.log_bound,
                "verdict": self.sentence,
                "instance": self.instance.to_table(),
            }
        )

    @property
    def file_name(self) -> str:
        """Name of the file."""
        return f"{self.target.id.replace('/', '--')}.toml"


@dataclass(frozen=True, slots=True)
class CounterexampleReplay:
    """A counterexample measured and confirmed again."""

    counterexample: Counterexample
    measured: Measured
    verdict: Verdict

    @property
    def same(self) -> bool:
        """Whether both sides are the recorded ones."""
        recorded = self.counterexample.measured
        pairs = (
            (self.measured.log_observed, recorded.log_observed),
            (self.measured.log_bound, recorded.log_bound),
        )
        return all(a == b or math.isclose(a, b, rel_tol=TOLERANCE, abs_tol=TOLERANCE) for a, b in pairs)

    @property
    def reproduced(self) -> bool:
        """Whether the claim is still violated, and the violation confirmed."""
        return self.measured.violates and self.verdict.outcome == "refuted"

    def describe(self) -> str:
        """Return the headline, the instance and the confirmation, one line each."""
        state = "still violated" if self.reproduced else "no longer violated"
        changed = "" if self.same else "\nThe sides differ from the recorded ones."
        instance = self.counterexample.instance.describe()
        return (
            f"{self.counterexample.target.id}: {state}.\nInstance: {instance}\n"
            f"Confirmation: {self.verdict.sentence}{changed}"
        )


def read(file: Path, targets: Sequence[Target] | None = None) -> Counterexample:
    """Read a counterexample to one of the targets; by default to those of the project's paper.

    Raises
    ------
    ValueError
        If the file is no counterexample, or its instance is outside the space of its claim.
    """
    table = _read_toml(file)
    if set(table) != _FIELDS or table["format"] != FORMAT:
        raise ValueError(
            f"{file} is not a counterexample of format {FORMAT}: it needs exactly {', '.join(sorted(_FIELDS))}"
        )
    try:
        if not isinstance(table["instance"], dict):
            raise TypeError(f"the instance must be a table, got {table['instance']!r}")
        target = find_target(str(table["claim"]), all_targets() if targets is None else targets)
        return Counterexample(
            target,
            target.space.read(table["instance"]),
            int(table["seed"]),
            int(table["evaluations"]),
            Measured(float(table["log_observed"]), float(table["log_bound"])),
            str(table["verdict"]),
        )
    except (TypeError, LookupError, AttributeError, ArithmeticError) as error:
        raise ValueError(f"{file} holds a value of another type: {' '.join(str(error).split())}") from None


def _read_toml(file: Path) -> dict[str, Any]:
    with file.open("rb") as stream:
        data = stream.read(MAX_BYTES + 1)
    if len(data) > MAX_BYTES:
        raise ValueError(f"{file} is no counterexample: it has more than {MAX_BYTES:,} bytes")
    try:
        return tomllib.loads(data.decode("utf-8"))
    except (ValueError, RecursionError) as error:
        raise ValueError(f"{file} is not a TOML file: {' '.join(str(error).split())}") from None


def replay(counterexample: Counterexample) -> CounterexampleReplay:
    """Measure a counterexample again with the seed of its search, and confirm it with another."""
    target, instance, seed = counterexample.target, counterexample.instance, counterexample.seed
    return CounterexampleReplay(
        counterexample, target.measure(instance, derive_seeds(seed)[0]), confirm(target, instance, seed)
    )
