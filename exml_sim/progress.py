"""One line on a terminal: trials done, trials per second, time left, failures so far."""

from __future__ import annotations

import sys
import time
from typing import TextIO


class Progress:
    """Write the line at most ten times a second; silent when not wanted or not on a terminal.

    Parameters
    ----------
    total
        Trials to run.
    wanted
        Whether a line is wanted at all.
    stream
        Where to; standard error by default.
    """

    def __init__(self, total: int, wanted: bool = True, stream: TextIO | None = None) -> None:
        self._stream = sys.stderr if stream is None else stream
        self._shown = wanted and self._stream.isatty()
        self._total = total
        self._done = 0
        self._failures = 0
        self._start = time.monotonic()
        self._last = -1.0
        self._width = 0

    def add(self, trials: int, failures: int) -> None:
        """Count finished trials."""
        self._done += trials
        self._failures += failures
        now = time.monotonic() - self._start
        if self._shown and (now - self._last >= 0.1 or self._done >= self._total):
            self._last = now
            self._write(self.line(now))

    def line(self, seconds: float) -> str:
        """The text after so many seconds."""
        rate = self._done / seconds if seconds > 0 else 0.0
        left = (self._total - self._done) / rate if rate > 0 else float("inf")
        return (
            f"{self._done:,} of {self._total:,} trials, {rate:,.0f} trials/s, {_clock(left)} left, "
            f"{self._failures:,} failures"
        )

    def close(self) -> None:
        """End the line."""
        if self._shown and self._width:
            self._stream.write("\n")
            self._stream.flush()

    def _write(self, line: str) -> None:
        self._stream.write(f"\r{line.ljust(self._width)}")
        self._stream.flush()
        self._width = len(line)


def _clock(seconds: float) -> str:
    if seconds == float("inf"):
        return "unknown time"
    minutes, rest = divmod(round(seconds), 60)
    hours, minutes = divmod(minutes, 60)
    return f"{hours}:{minutes:02d}:{rest:02d}" if hours else f"{minutes}:{rest:02d}"
