"""Progress: overwritten on a terminal, separate lines in a log, silent if not wanted."""

from __future__ import annotations

import io
import time

import pytest

from exml_sim._internal import progress
from exml_sim._internal.progress import Elapsed, Line, Progress


class Terminal(io.StringIO):
    """A stream that says it is a terminal."""

    def isatty(self) -> bool:
        return True


class LogProgress(Progress):
    """Progress that logs after 15 seconds, as it does outside of tests."""

    log_from = 15.0


class LogElapsed(Elapsed):
    """Elapsed time that is logged at once."""

    log_from = 0.0


class Clock:
    """Time that is set by the test."""

    def __init__(self) -> None:
        self.now = 0.0

    def monotonic(self) -> float:
        return self.now


def test_a_line_is_overwritten_and_cleared() -> None:
    stream = Terminal()
    line = Line(stream=stream)
    line.show("a long line")
    line.show("short")
    line.close()
    line.close()
    text = stream.getvalue()
    assert "\ra long line" in text
    assert "\rshort" in text
    assert text.rpartition("\r")[0].rpartition("\r")[2].strip() == ""
    assert "\n" not in text


@pytest.mark.parametrize(("stream", "wanted"), [(io.StringIO(), True), (Terminal(), False)])
def test_nothing_is_written_in_the_first_seconds_of_a_log_or_if_not_wanted(stream: io.StringIO, wanted: bool) -> None:
    line = Line(wanted, stream)
    line.show("text")
    line.close()
    with Elapsed("exploring", wanted, stream, patience=0.0):
        pass
    assert stream.getvalue() == ""


def test_a_log_gets_lines_at_growing_intervals(monkeypatch: pytest.MonkeyPatch) -> None:
    """After 15, 30, 45, 67, 100 seconds, … at most ten minutes apart."""
    clock, stream = Clock(), io.StringIO()
    monkeypatch.setattr(progress, "time", clock)
    line = LogProgress(100_000, stream=stream, what="pieces")
    for _ in range(20_000):
        clock.now += 1.0
        line.add()
    line.close()
    written = stream.getvalue().splitlines()
    assert written[:3] == [f"{n} of 100,000 pieces, {left} left" for n, left in TIMES]
    assert "\r" not in stream.getvalue()
    assert 35 < len(written) < 45


#: Pieces that are done when the first lines are due, and what is left of 100,000 seconds.
TIMES = [(15, "27:46:25"), (30, "27:46:10"), (45, "27:45:55")]


def test_earlier_work_is_counted_and_not_timed(monkeypatch: pytest.MonkeyPatch) -> None:
    clock, stream = Clock(), io.StringIO()
    monkeypatch.setattr(progress, "time", clock)
    line = LogProgress(10, stream=stream, there=4, what="configurations", name="mfeat")
    clock.now = 60.0
    line.add(3)
    # Three in 60 seconds: the other three take as long.
    assert stream.getvalue() == "mfeat: 7 of 10 configurations, 01:00 left\n"


def test_progress_stays_on_the_terminal() -> None:
    stream = Terminal()
    line = Progress(2000, stream=stream)
    line.add(500, 20)
    line.add(1500, 30)
    line.close()
    assert stream.getvalue().count("\n") == 1
    assert "2,000 of 2,000 trials" in stream.getvalue()
    assert "50 failures" in stream.getvalue().rpartition("\r")[2]


@pytest.mark.parametrize("stream", [Terminal(), io.StringIO()])
def test_elapsed_time_is_shown(stream: io.StringIO) -> None:
    with LogElapsed("exploring", stream=stream, patience=0.0) as line:
        line.say("scoring")
        deadline = time.monotonic() + 10.0
        while ", 00:0" not in stream.getvalue() and time.monotonic() < deadline:
            time.sleep(0.01)
    assert ", 00:0" in stream.getvalue()
    assert stream.getvalue()[-1] == ("\r" if stream.isatty() else "\n")


def test_short_work_shows_nothing() -> None:
    stream = Terminal()
    with Elapsed("exploring", stream=stream, patience=60.0):
        pass
    assert "exploring" not in stream.getvalue()
