"""The one line on a terminal: written over, wiped or ended, and silent for everybody else."""

from __future__ import annotations

import io
import time

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


def test_a_line_is_silent_where_nobody_looks():
    for stream, wanted in ((io.StringIO(), True), (Terminal(), False)):
        line = Line(wanted, stream)
        line.show("words")
        line.close()
        assert stream.getvalue() == ""


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
