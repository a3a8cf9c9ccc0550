"""Fuzzers, their cases, and findings as JSON files."""

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

from hypothesis import HealthCheck, Phase, given, settings
from hypothesis import seed as seeded
from hypothesis.errors import Flaky
from hypothesis.strategies import SearchStrategy

#: Processor seconds after which a case hangs, and what Ctrl-C may take.
HANG, MAX_INTERRUPT_SECONDS = 5.0, 1.0
#: Cases that hypothesis draws from one seed.
BATCH = 100
#: Findings after which a fuzzer stops.
MAX_FINDINGS = 5
#: Seconds that shrinking a finding may take.
MAX_SHRINK_SECONDS = 20.0


class Finding(AssertionError):
    """A defect: a raw exception, another answer, a hang, a violated bound."""


class Slow(Finding):
    """A case that takes too long, which Ctrl-C ends at once."""


class _Timeout(KeyboardInterrupt):
    """The time is over; this is what Ctrl-C raises."""


class Fuzzer(Protocol):
    """One kind of fuzzing.

    Attributes
    ----------
    name
        For the command line and the files of its findings.
    share
        Its part of the time.
    timeout
        Processor seconds that a case may take.
    is_interruptible
        Whether a case may take longer if Ctrl-C ends it.
    cases
        Strategy for cases, as JSON values.
    """

    name: str
    share: float
    timeout: float
    is_interruptible: bool

    @property
    def cases(self) -> SearchStrategy[Any]:
        """Strategy for cases."""

    def judge(self, case: Any) -> Counter[str]:
        """Try a case and count what happened; raise a `Finding` for a defect."""


@dataclass(slots=True)
class Summary:
    """What a fuzzer did: cases, outcomes, and findings."""

    name: str
    seed: int
    cases: int = 0
    outcomes: Counter[str] = field(default_factory=Counter)
    findings: list[Path] = field(default_factory=list)
    seconds: float = 0.0

    def describe(self) -> str:
        """Return one line."""
        outcomes = ", ".join(f"{number:,} {name}" for name, number in sorted(self.outcomes.items()))
        number = f"{len(self.findings)} FINDINGS" if self.findings else "no finding"
        return f"{self.name}: {number}, {self.cases:,} cases in {self.seconds:.0f} s from seed {self.seed}: {outcomes}"


def save(fuzzer: str, case: Any, error: BaseException, folder: Path) -> Path:
    """Save a failing case; the same case has the same name."""
    folder.mkdir(parents=True, exist_ok=True)
    text = json.dumps({"fuzzer": fuzzer, "case": case, "finding": str(error)}, indent=1)
    path = folder / f"{fuzzer}-{hashlib.sha256(json.dumps(case).encode()).hexdigest()[:10]}.json"
    path.write_text(text + "\n", encoding="utf-8")
    return path


def try_case(fuzzer: Fuzzer, case: Any) -> Counter[str]:
    """Judge a case; any exception is a finding."""
    try:
        with limit_time(fuzzer.timeout):
            return fuzzer.judge(case)
    except Slow:
        if not fuzzer.is_interruptible:
            raise
        return Counter(interrupted=1)
    except (Finding, KeyboardInterrupt, MemoryError):
        raise
    except Exception as error:
        raise Finding(f"raw {type(error).__name__}: {error}") from error


def run(fuzzer: Fuzzer, seed: int, seconds: float, folder: Path, most: int | None = None) -> Summary:
    """Try cases until the time is over, or a number of cases; every batch reports its simplest finding."""
    summary, start = Summary(fuzzer.name, seed), time.monotonic()

    def is_over() -> bool:
        return (most is not None and summary.cases >= most) or time.monotonic() - start >= seconds

    failing: list[tuple[Any, Finding]] = []
    since = [0.0]

    @settings(
        max_examples=min(BATCH, most or BATCH),
        database=None,
        deadline=None,
        phases=[Phase.generate, Phase.shrink],
        suppress_health_check=list(HealthCheck),
        report_multiple_bugs=False,
    )
    @given(fuzzer.cases)
    def attempt(case: Any) -> None:
        if not failing and is_over():
            return
        if failing and time.monotonic() - since[0] > MAX_SHRINK_SECONDS:
            for known, error in failing:
                if case == known:
                    raise error
            return
        try:
            outcomes = try_case(fuzzer, case)
        except Finding as error:
            since[0] = since[0] if failing else time.monotonic()
            failing.append((case, error))
            raise
        if not failing:
            summary.cases += 1
            summary.outcomes += outcomes

    batch = 0
    while not is_over() and len(summary.findings) < MAX_FINDINGS:
        failing.clear()
        try:
            seeded(seed + batch)(attempt)()
        except (Finding, Flaky):
            summary.findings.append(save(fuzzer.name, *failing[-1], folder))
            summary.cases += 1
        batch += 1
    summary.seconds = time.monotonic() - start
    return summary


@contextmanager
def limit_time(seconds: float = HANG) -> Iterator[None]:
    """Interrupt a hang, which is a finding; processor time, because others may use the machine."""

    def ring(*_: object) -> None:
        raise _Timeout

    start = time.process_time()
    before = signal.signal(signal.SIGPROF, ring)
    signal.setitimer(signal.ITIMER_PROF, seconds)
    try:
        yield
    except _Timeout:
        late = time.process_time() - start - seconds
        kind, end = (Slow, "") if late < MAX_INTERRUPT_SECONDS else (Finding, f", and Ctrl-C took {late:.1f} s")
        raise kind(f"no answer within {seconds:g} s of processor time{end}") from None
    finally:
        signal.setitimer(signal.ITIMER_PROF, 0)
        signal.signal(signal.SIGPROF, before)


def check_message(error: BaseException, most: int = 1200) -> None:
    """Check that an error message is one short line."""
    text = str(error)
    if not text or "\n" in text or len(text) > most:
        raise Finding(f"an error message that is not one short line: {text[:200]!r}")


def expect(refusal: type[Exception], action: Callable[[], Any], truth: Any) -> Counter[str]:
    """Check that an action fails with one line, or gives the true answer."""
    try:
        answer = action()
    except Finding:
        raise
    except refusal as error:
        check_message(error)
        return Counter(refused=1)
    if answer != truth:
        raise Finding(f"another answer: {str(answer)[:300]}")
    return Counter(unchanged=1)
