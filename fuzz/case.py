"""What an attack is, what a case leaves, and findings as files."""

from __future__ import annotations

import hashlib
import json
import signal
import time
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Protocol

import numpy as np

Case = dict[str, Any]

#: Processor seconds after which a case hangs, and what an enumeration may take.
HANG, LONG = 5.0, 60.0


class Finding(AssertionError):
    """Something that must not be: a raw exception, another answer, a hang, a broken bound."""


class _Rang(BaseException):
    """The time is over; no `except Exception` on the way may take it for an answer."""


class Attack(Protocol):
    """One kind of attack.

    Attributes
    ----------
    name
        For the command line and the files of its findings.
    share
        Its part of the time.
    patience
        Processor seconds that a case may take.
    """

    name: str
    share: float
    patience: float

    def draw(self, rng: np.random.Generator) -> Case:
        """A random case, as values that JSON has."""

    def judge(self, case: Case) -> Counter[str]:
        """Try a case; what came of it, in words with counts. Raises a `Finding` if it must not be."""


@dataclass(slots=True)
class Tally:
    """What an attack did: cases, what came of them, and what was found."""

    name: str
    seed: int
    cases: int = 0
    outcomes: Counter[str] = field(default_factory=Counter)
    findings: list[Path] = field(default_factory=list)
    seconds: float = 0.0

    def line(self) -> str:
        """One line for people."""
        seen = ", ".join(f"{number:,} {word}" for word, number in sorted(self.outcomes.items()))
        found = "no finding" if not self.findings else f"{len(self.findings)} FINDINGS"
        return f"{self.name}: {self.cases:,} cases in {self.seconds:.0f} s from seed {self.seed}, {found}: {seen}"


def save(attack: str, case: Case, error: BaseException, folder: Path) -> Path:
    """Keep a case that found something; the same case has the same name."""
    folder.mkdir(parents=True, exist_ok=True)
    text = json.dumps({"attack": attack, "case": case, "found": f"{type(error).__name__}: {error}"}, indent=1)
    path = folder / f"{attack}-{hashlib.sha256(json.dumps(case).encode()).hexdigest()[:10]}.json"
    path.write_text(text + "\n", encoding="utf-8")
    return path


def try_case(attack: Attack, case: Case) -> Counter[str]:
    """Judge a case; any exception but a `Finding` is a finding, too."""
    try:
        with limited(attack.patience):
            return attack.judge(case)
    except (Finding, KeyboardInterrupt, MemoryError):
        raise
    except Exception as error:
        raise Finding(f"raw {type(error).__name__}: {error}") from error


def run(attack: Attack, seed: int, seconds: float, folder: Path, most: int | None = None) -> Tally:
    """Try cases until the time is over, or as many as are wanted."""
    rng, tally, start = np.random.default_rng(seed), Tally(attack.name, seed), time.monotonic()
    while (most is None or tally.cases < most) and time.monotonic() - start < seconds:
        case = attack.draw(rng)
        try:
            tally.outcomes += try_case(attack, case)
        except Finding as error:
            tally.findings.append(save(attack.name, case, error, folder))
        tally.cases += 1
    tally.seconds = time.monotonic() - start
    return tally


@contextmanager
def limited(seconds: float = HANG) -> Iterator[None]:
    """Turn a hang into a finding; processor time, because others may use the machine."""

    def ring(*_: object) -> None:
        raise _Rang

    before = signal.signal(signal.SIGPROF, ring)
    signal.setitimer(signal.ITIMER_PROF, seconds)
    try:
        yield
    except _Rang:
        raise Finding(f"no answer within {seconds:g} s of processor time") from None
    finally:
        signal.setitimer(signal.ITIMER_PROF, 0)
        signal.signal(signal.SIGPROF, before)


def one_line(error: BaseException, most: int = 1200) -> str:
    """The message of a refusal, which must be one line that can be read."""
    text = str(error)
    if not text or "\n" in text or len(text) > most:
        raise Finding(f"a refusal that is not one short line: {text[:200]!r}")
    return text


def expect(refusal: type[Exception], action: Callable[[], Any], truth: Any) -> Counter[str]:
    """The action is refused in one line, or its answer is the true one."""
    try:
        answer = action()
    except Finding:
        raise
    except refusal as error:
        one_line(error)
        return Counter(refused=1)
    if answer != truth:
        raise Finding(f"another answer: {str(answer)[:300]}")
    return Counter(unchanged=1)
