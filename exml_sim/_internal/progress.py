"""Report progress on standard error with tqdm.

When standard error is not a terminal, progress is logged as separate lines, at growing intervals.
"""

from __future__ import annotations

import sys
import threading
import time
from typing import Any, TextIO

from tqdm import tqdm

#: Seconds between lines in a log, at first and at most.
LOG_AGAIN, LOG_RARELY = 15.0, 600.0


class Line:
    """A status line that is overwritten on a terminal; in a log, separate lines.

    Parameters
    ----------
    wanted
        Whether anything is written at all.
    stream
        Where to write; standard error by default.
    options
        Options of tqdm.
    """

    #: Seconds of work before the first line in a log.
    log_from = 15.0

    def __init__(self, wanted: bool = True, stream: TextIO | None = None, **options: Any) -> None:
        self._stream = sys.stderr if stream is None else stream
        self._logs = wanted and not self._stream.isatty()
        hidden = not wanted or self._logs
        self._bar = tqdm(file=self._stream, disable=hidden, **{"bar_format": "{desc}", "leave": False} | options)
        self._start, self._due = time.monotonic(), self.log_from

    def show(self, text: str) -> None:
        """Replace the line, or log it if it is due."""
        self._bar.set_description_str(text)
        if self._logs:
            self._log(text)

    def _log(self, text: str) -> None:
        now = time.monotonic() - self._start
        if now >= self._due:
            self._stream.write(f"{text}\n")
            self._stream.flush()
            self._due = now + min(max(LOG_AGAIN, now / 2.0), LOG_RARELY)

    def close(self) -> None:
        """Clear or end the line."""
        self._bar.close()


class Progress(Line):
    """Count finished pieces of work and estimate the remaining time.

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
        rate = "{rate_noinv_fmt}, " if what == "trials" else ""
        self._meter = {
            "total": total,
            "initial": there,
            "unit": f" {what}",
            "bar_format": f"{{desc}}{{n:,}} of {{total:,}} {what}, {rate}{{remaining}} left{{postfix}}",
        }
        self._name, self._there, self._done, self._failures = f"{name}: " if name else "", there, 0, 0
        self._counts_failures = what == "trials"
        super().__init__(wanted, stream, desc=self._name or None, leave=True, **self._meter)

    def add(self, number: int = 1, failures: int = 0) -> None:
        """Count finished pieces, and failed trials among them."""
        self._done += number
        self._failures += failures
        if self._counts_failures:
            self._bar.set_postfix_str(self._postfix(), refresh=False)
        self._bar.update(number)
        if self._logs:
            done = self._there + self._done
            elapsed = time.monotonic() - self._start
            options = {**self._meter, "prefix": self._name, "postfix": self._postfix()}
            self._log(tqdm.format_meter(done, elapsed=elapsed, **options))

    def _postfix(self) -> str:
        return f"{self._failures:,} failures" if self._counts_failures else ""


class Elapsed(Line):
    """Show what is being done and for how long; a context manager.

    Parameters
    ----------
    text
        What is being done at first.
    wanted, stream
        As for `Line`.
    patience
        Seconds before the line is shown.
    """

    def __init__(self, text: str, wanted: bool = True, stream: TextIO | None = None, *, patience: float = 2.0) -> None:
        super().__init__(wanted, stream, delay=patience)
        self._text, self._patience = text, patience
        self._stop = threading.Event()
        self._thread = threading.Thread(target=self._tick, daemon=True)

    def __enter__(self) -> Elapsed:
        self._thread.start()
        return self

    def __exit__(self, *error: object) -> None:
        self._stop.set()
        self._thread.join()
        self.close()

    def say(self, text: str) -> None:
        """Replace the text."""
        self._text = text

    def _tick(self) -> None:
        pause = self._patience
        while not self._stop.wait(pause):
            self.show(f"{self._text}, {tqdm.format_interval(time.monotonic() - self._start)}")
            pause = 0.5
