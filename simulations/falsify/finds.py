"""Finds as TOML files: what was violated, where, by how much, and everything that is needed to look again."""

from __future__ import annotations

import math
import tomllib
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from exml_sim.engine.fields import to_toml
from exml_sim.engine.seals import text_seal
from simulations.falsify.search import Outcome, confirm, seeds_of
from simulations.falsify.target import Instance, Measured, Target
from simulations.falsify.targets import get
from theory.verdicts import Verdict

#: Raised when the meaning of a field changes.
FORMAT = 1
_FIELDS = {"format", "claim", "says", "seed", "evaluations", "log_observed", "log_bound", "verdict", "instance"}
#: Bytes that a find has at most.
LONGEST = 10**6
#: Relative difference of a replayed logarithm that is put down to rounding.
SAME = 1e-6


@dataclass(frozen=True, slots=True)
class Find:
    """A violation that was found, shrunk and confirmed."""

    target: Target
    instance: Instance
    seed: int
    evaluations: int
    measured: Measured
    sentence: str

    @classmethod
    def of(cls, outcome: Outcome) -> Find:
        """The find of a hunt."""
        if not outcome.found or outcome.best is None or outcome.verdict is None:
            raise ValueError(f"the hunt for {outcome.target.id} found nothing that could be saved")
        return cls(
            outcome.target,
            outcome.best,
            outcome.seed,
            outcome.evaluations,
            outcome.measured,
            outcome.verdict.sentence,
        )

    def to_toml(self) -> str:
        """As the text of a file."""
        table = {
            "format": FORMAT,
            "claim": self.target.id,
            "says": self.target.says,
            "seed": self.seed,
            "evaluations": self.evaluations,
            "log_observed": self.measured.log_observed,
            "log_bound": self.measured.log_bound,
            "verdict": self.sentence,
            "instance": self.instance.table(),
        }
        # Sealed as it is read again: 1 and 1.0 are the same to an instance, not to a text.
        return to_toml({"seal": seal(tomllib.loads(to_toml(table))), **table})

    @property
    def file_name(self) -> str:
        """A name for the file."""
        return f"{self.target.id.replace('/', '--')}.toml"


@dataclass(frozen=True, slots=True)
class Replay:
    """A find looked at again: by the search's measure and by the confirmation."""

    find: Find
    measured: Measured
    verdict: Verdict

    @property
    def same(self) -> bool:
        """Whether both sides are the recorded ones."""
        return all(
            now == then or math.isclose(now, then, rel_tol=SAME, abs_tol=SAME)
            for now, then in (
                (self.measured.log_observed, self.find.measured.log_observed),
                (self.measured.log_bound, self.find.measured.log_bound),
            )
        )

    @property
    def stands(self) -> bool:
        """Whether the claim is still violated there, and confirmed to be."""
        return self.measured.violates and self.verdict.outcome == "refuted"

    def sentence(self) -> str:
        """One line for people."""
        word = "still violated" if self.stands else "not violated any more"
        changed = "" if self.same else " The sides are not those that were recorded."
        return f"{self.find.target.id} is {word} at {self.find.instance.words()}. {self.verdict.sentence}{changed}"


def seal(table: Mapping[str, Any]) -> str:
    """SHA-256 of what a file says, however it is laid out."""
    return text_seal(to_toml({name: table[name] for name in sorted(table) if name != "seal"}))


def read(file: Path) -> Find:
    """Read a find. One that was written by hand needs no seal; a seal that is there must fit.

    Raises
    ------
    ValueError
        If the file is no find, was changed after it was sealed, or its instance is outside the space of its claim.
    """
    table = _toml(file)
    if set(table) - {"seal"} != _FIELDS or table["format"] != FORMAT:
        raise ValueError(f"{file} is not a find of format {FORMAT}: it needs exactly {', '.join(sorted(_FIELDS))}")
    if table.get("seal", "") != (seal(table) if "seal" in table else ""):
        raise ValueError(f"{file} is damaged or was edited: it does not match its seal (an edited find needs none)")
    try:
        return _find(table, file)
    except (TypeError, LookupError, AttributeError, ArithmeticError) as error:
        raise ValueError(f"{file} holds a value of another type: {' '.join(str(error).split())}") from None


def _toml(file: Path) -> dict[str, Any]:
    with file.open("rb") as opened:
        data = opened.read(LONGEST + 1)
    if len(data) > LONGEST:
        raise ValueError(f"{file} is no find: it has more than {LONGEST:,} bytes")
    try:
        return tomllib.loads(data.decode("utf-8"))
    except (ValueError, RecursionError) as error:
        raise ValueError(f"{file} is not a TOML file: {' '.join(str(error).split())}") from None


def _find(table: Mapping[str, Any], file: Path) -> Find:
    target = get(str(table["claim"]))
    return Find(
        target,
        target.space.read(_table(table["instance"], file)),
        int(table["seed"]),
        int(table["evaluations"]),
        Measured(float(table["log_observed"]), float(table["log_bound"])),
        str(table["verdict"]),
    )


def _table(value: Any, file: Path) -> dict[str, Any]:
    if not isinstance(value, dict):
        raise ValueError(f"the instance of {file} must be a table, got {value!r}")
    return value


def replay(find: Find) -> Replay:
    """Measure a find again on the numbers of its search, and confirm it on others."""
    measured = find.target.measure(find.instance, seeds_of(find.seed)[0])
    return Replay(find, measured, confirm(find.target, find.instance, find.seed))
