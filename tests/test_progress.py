"""The one line on a terminal: written over, wiped or ended; in a log a line now and then; silent if not wanted."""

from __future__ import annotations

import io
import time

from exml_sim import progress
from exml_sim.progress import Elapsed, Line, Progress


class Terminal(io.StringIO):
    """A stream that says it is a terminal."""

    def isatty(self) -> bool:
        return True


def test_a_line_is_written_over_and_wiped():
    stream = Terminal()
    line = Line(stream=stream)
    line.show("a long line")
    line.show("short")
    line.close()
    line.close()
    assert stream.getvalue() == "\ra long line" + "\rshort      " + "\r           \r"


def test_a_line_is_silent_where_nobody_looks_for_long():
    for stream, wanted in ((io.StringIO(), True), (Terminal(), False)):
        line = Line(wanted, stream)
        line.show("words")
        line.close()
        assert stream.getvalue() == ""


class Clock:
    """Time that passes when told."""

    def __init__(self) -> None:
        self.now = 0.0

    def monotonic(self) -> float:
        return self.now


def test_a_log_gets_a_line_now_and_then(monkeypatch):
    """From LOG_FROM seconds on, and the longer it takes the rarer: 15, 30, 45, 67, 100 seconds, … ten minutes apart."""
    clock, stream = Clock(), io.StringIO()
    monkeypatch.setattr(progress, "time", clock)
    monkeypatch.setattr(progress, "LOG_FROM", 15.0)
    line = Progress(100_000, stream=stream, what="pieces")
    for _ in range(20_000):
        clock.now += 1.0
        line.add()
    line.close()
    written = stream.getvalue().splitlines()
    assert written[:3] == [f"{n} of 100,000 pieces, {left} left" for n, left in TIMES]
    assert "\r" not in stream.getvalue()
    assert 35 < len(written) < 45
    quick = io.StringIO()
    with Elapsed("exploring", stream=quick, patience=0.0):
        pass
    assert quick.getvalue() == ""


#: Pieces that are done when the first lines are due, and what is left of 100,000 seconds.
TIMES = [(15, "27:46:25"), (30, "27:46:10"), (45, "27:45:55")]


def test_elapsed_time_is_in_the_log(monkeypatch):
    monkeypatch.setattr(progress, "LOG_FROM", 0.0)
    stream = io.StringIO()
    with Elapsed("exploring", stream=stream, patience=0.0):
        while "\n" not in stream.getvalue():
            time.sleep(0.01)
    assert stream.getvalue() == "exploring, 0:00\n"


def test_work_that_was_there_is_counted_and_not_timed():
    stream = Terminal()
    line = Progress(10, stream=stream, there=4, what="configurations", name="mfeat")
    assert stream.getvalue() == "\rmfeat: 4 of 10 configurations, unknown time left"
    line.add()
    line.add(2)
    # Three in 60 seconds: the other three take as long.
    assert line.line(60.0) == "mfeat: 7 of 10 configurations, 1:00 left"
    line.close()
    assert stream.getvalue().endswith("\n")


def test_elapsed_time_is_shown_to_the_patient():
    stream = Terminal()
    with Elapsed("exploring", stream=stream, patience=0.0) as line:
        line.say("scoring")
        while "scoring, 0:0" not in stream.getvalue():
            time.sleep(0.01)
    assert stream.getvalue().endswith("\r")
    quick = Terminal()
    with Elapsed("exploring", stream=quick, patience=60.0):
        pass
    assert quick.getvalue() == ""
    silent = io.StringIO()
    with Elapsed("exploring", stream=silent, patience=0.0):
        pass
    assert silent.getvalue() == ""
