"""One line on a terminal: what is being done, or how much is done and how long the rest will take.

In a file, such as the log of a batch job, nothing can be written over: there the words of now and then are lines.
"""

from __future__ import annotations

import sys
import threading
import time
from typing import TextIO

#: Seconds of work before the first line in a log, between lines at first, and between lines at most.
LOG_FROM, LOG_AGAIN, LOG_RARELY = 15.0, 15.0, 600.0


class Line:
    """A line that is written over; in a log a line now and then, the longer the work the rarer; silent if not wanted.

    Parameters
    ----------
    wanted
        Whether a line is wanted at all.
    stream
        Where to; standard error by default.
    """

    def __init__(self, wanted: bool = True, stream: TextIO | None = None) -> None:
        self._stream = sys.stderr if stream is None else stream
        self._wanted = wanted
        self._shown = wanted and self._stream.isatty()
        self._width = 0
        self._start, self._due = time.monotonic(), LOG_FROM

    def show(self, words: str) -> None:
        """Replace the line, or write one to the log if it is time."""
        if self._shown:
            self._stream.write(f"\r{words.ljust(self._width)}")
            self._stream.flush()
            self._width = max(self._width, len(words))
        elif self._wanted:
            self._log(words)

    def _log(self, words: str) -> None:
        now = time.monotonic() - self._start
        if now >= self._due:
            self._stream.write(f"{words}\n")
            self._stream.flush()
            self._due = now + min(max(LOG_AGAIN, now / 2.0), LOG_RARELY)

    def close(self) -> None:
        """Wipe the line."""
        self._end("\r" + " " * self._width + "\r")

    def _end(self, text: str) -> None:
        if self._shown and self._width:
            self._stream.write(text)
            self._stream.flush()
            self._width = 0


class Progress(Line):
    """Pieces of work done, and time left; written at most ten times a second, and left on the terminal at the end.

    Parameters
    ----------
    total
        Pieces of work in all.
    wanted, stream
        As for `Line`.
    there
        Pieces that were done before.
    what
        What a piece is.
    name
        What the work is, before the numbers.
    """

    def __init__(
        self,
        total: int,
        wanted: bool = True,
        stream: TextIO | None = None,
        *,
        there: int = 0,
        what: str = "trials",
        name: str = "",
    ) -> None:
        super().__init__(wanted, stream)
        self._total, self._there, self._done = total, there, 0
        self._what, self._name = what, f"{name}: " if name else ""
        self._failures: int | None = 0 if what == "trials" else None
        self._last = -1.0
        if there:
            self.show(self.line(0.0))

    def add(self, number: int = 1, failures: int = 0) -> None:
        """Count finished pieces, and failed trials among them."""
        self._done += number
        if self._failures is not None:
            self._failures += failures
        now = time.monotonic() - self._start
        if now - self._last >= 0.1 or self._there + self._done >= self._total:
            self._last = now
            self.show(self.line(now))

    def line(self, seconds: float) -> str:
        """The text after so many seconds."""
        rate = self._done / seconds if seconds > 0 else 0.0
        left = (self._total - self._there - self._done) / rate if rate > 0 else float("inf")
        parts = [f"{self._name}{self._there + self._done:,} of {self._total:,} {self._what}", f"{_clock(left)} left"]
        if self._failures is not None:
            parts.insert(1, f"{rate:,.0f} trials/s")
            parts.append(f"{self._failures:,} failures")
        return ", ".join(parts)

    def close(self) -> None:
        """End the line."""
        self._end("\n")


def _clock(seconds: float) -> str:
    if seconds == float("inf"):
        return "unknown time"
    minutes, rest = divmod(round(seconds), 60)
    hours, minutes = divmod(minutes, 60)
    return f"{hours}:{minutes:02d}:{rest:02d}" if hours else f"{minutes}:{rest:02d}"


class Elapsed(Line):
    """What is being done and for how long, from the third second on; a context manager.

    Parameters
    ----------
    words
        What is being done at first.
    wanted, stream
        As for `Line`.
    patience
        Seconds before the line is shown.
    """

    def __init__(self, words: str, wanted: bool = True, stream: TextIO | None = None, *, patience: float = 2.0) -> None:
        super().__init__(wanted, stream)
        self._words, self._patience = words, patience
        self._stop = threading.Event()
        self._thread = threading.Thread(target=self._tick, daemon=True)

    def __enter__(self) -> Elapsed:
        if self._wanted:
            self._thread.start()
        return self

    def __exit__(self, *error: object) -> None:
        self._stop.set()
        if self._wanted:
            self._thread.join()
        self.close()

    def say(self, words: str) -> None:
        """Something else is being done."""
        self._words = words

    def _tick(self) -> None:
        if self._stop.wait(self._patience):
            return
        while True:
            self.show(f"{self._words}, {_clock(time.monotonic() - self._start)}")
            if self._stop.wait(0.5):
                return
