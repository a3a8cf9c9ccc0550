"""Fuzzers, and batches of their cases by hypothesis until a time is over."""

from __future__ import annotations

import signal
import time
import traceback
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

from hypothesis import HealthCheck, Phase, given, settings
from hypothesis import seed as seeded
from hypothesis import strategies as st
from hypothesis.strategies import SearchStrategy

#: Processor seconds after which a case hangs, and what Ctrl-C may take.
HANG, MAX_INTERRUPT_SECONDS = 5.0, 1.0


class Finding(AssertionError):
    """A defect: a raw exception, another answer, a hang, a violated bound."""


class Slow(Finding):
    """A case that takes too long, which Ctrl-C ends at once."""


class _Timeout(KeyboardInterrupt):
    """The time is over; this is what Ctrl-C raises."""


class Fuzzer:
    """One kind of fuzzing: a strategy for cases, and a judge of each."""

    name: str
    #: Its part of the time.
    share: float
    cases: SearchStrategy[Any]
    #: Cases between two looks at the clock.
    batch = 100
    #: Whether a case may take longer than `HANG` if Ctrl-C ends it.
    is_interruptible = False

    def __init__(self) -> None:
        self.outcomes: Counter[str] = Counter()

    def judge(self, case: Any) -> Counter[str]:
        """Try a case and count what happened; raise a `Finding` for a defect."""
        raise NotImplementedError

    def try_case(self, case: Any) -> Counter[str]:
        """Judge a case; any exception is a finding."""
        try:
            with limit_time():
                return self.judge(case)
        except Slow:
            if not self.is_interruptible:
                raise
            return Counter(interrupted=1)
        except (Finding, KeyboardInterrupt, MemoryError):
            raise
        except Exception as error:
            raise Finding(f"raw {type(error).__name__}: {error}") from error

    def run_batch(self, options: settings, seed: int) -> None:
        """Try as many cases as the options say."""

        @seeded(seed)
        @options
        @given(self.cases)
        def attempt(case: Any) -> None:
            self.outcomes += self.try_case(case)

        attempt()


def mix(usual: SearchStrategy[Any], rare: SearchStrategy[Any], odds: int) -> SearchStrategy[Any]:
    """Draw from a rare strategy about once in that many times."""
    return st.integers(0, odds).flatmap(lambda number: rare if number == odds // 2 else usual)


def run(fuzzer: Fuzzer, seed: int, seconds: float, cases: int | None = None) -> bool:
    """Try batches until the time is over, or a number of cases, or a batch has a finding; print what came of it.

    Every batch has its own seed, which finds the same again. Return whether there was no finding.
    """
    start, batch, failure = time.monotonic(), seed, ""
    options = settings(
        max_examples=min(fuzzer.batch, cases or fuzzer.batch),
        database=None,
        deadline=None,
        phases=[Phase.generate, Phase.shrink],
        suppress_health_check=list(HealthCheck),
    )
    while not failure and time.monotonic() - start < seconds and (batch - seed) * fuzzer.batch < (cases or 10**9):
        try:
            fuzzer.run_batch(options, batch)
        except Exception:
            failure = f", FINDING with --seed {batch}\n{traceback.format_exc()}"
        batch += 1
    outcomes = ", ".join(f"{number:,} {outcome}" for outcome, number in sorted(fuzzer.outcomes.items()))
    print(f"{fuzzer.name}: {time.monotonic() - start:.0f} s: {outcomes}{failure}", flush=True)
    return not failure


@contextmanager
def limit_time(seconds: float = HANG, most_late: float = MAX_INTERRUPT_SECONDS) -> Iterator[None]:
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
        kind, end = (Slow, "") if late < most_late else (Finding, f", and Ctrl-C took {late:.1f} s")
        raise kind(f"no answer within {seconds:g} s of processor time{end}") from None
    finally:
        signal.setitimer(signal.ITIMER_PROF, 0)
        signal.signal(signal.SIGPROF, before)


def check_message(error: BaseException) -> None:
    """Check that an error message is one short line."""
    text = str(error)
    if not text or "\n" in text or len(text) > 1200:
        raise Finding(f"an error message that is not one short line: {text[:200]!r}") from error


def expect(refusal: type[Exception], action: Callable[[], Any], truth: Any) -> str:
    """Check that an action fails with one short line, or gives the true answer; return which of the two."""
    try:
        answer = action()
    except Finding:
        raise
    except refusal as error:
        check_message(error)
        return "refused"
    if answer != truth:
        raise Finding(f"another answer: {str(answer)[:300]}")
    return "unchanged"
