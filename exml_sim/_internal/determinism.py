"""Detect what makes the results of a plug-in irreproducible: clocks, entropy, and generators with hidden state.

A profile function sees every call of a forbidden C function in the watched thread, however the function was imported.
The states of generators that a plug-in keeps, and of numpy's global one, are compared before and after. Nothing is
patched, so other threads are not affected.
"""

from __future__ import annotations

import datetime
import gc
import inspect
import os
import pickle
import random
import sys
import threading
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from types import FrameType, FunctionType, TracebackType
from typing import Any, Self

import numpy as np

_CLOCKS = (
    *("time", "time_ns", "perf_counter", "perf_counter_ns", "monotonic", "monotonic_ns", "process_time"),
    *("process_time_ns", "thread_time", "thread_time_ns", "clock_gettime", "clock_gettime_ns"),
    *("localtime", "gmtime", "ctime", "strftime"),
)
#: C functions that a plug-in must not call, with the names that messages use.
FORBIDDEN: Mapping[Callable[..., Any], str] = {
    **{getattr(time, name): f"time.{name}" for name in _CLOCKS if hasattr(time, name)},
    datetime.datetime.now: "datetime.now",
    datetime.datetime.utcnow: "datetime.utcnow",
    datetime.datetime.today: "datetime.today",
    datetime.date.today: "date.today",
    os.urandom: "os.urandom (an unseeded generator, secrets or uuid)",
    os.getpid: "os.getpid",
    random.random: "random.random",
    random.getrandbits: "random.getrandbits",
    **({os.getrandom: "os.getrandom"} if hasattr(os, "getrandom") else {}),
}
_SEED_CODE = random.Random.seed.__code__
#: Packages whose own use of clocks and entropy does not change results: progress times, compilation, file names.
_TRUSTED = frozenset({"exml_sim", "simulations", "theory", "numba", "llvmlite", "importlib", "logging", "threading"})
#: The global generators.
_PYTHON: Any = vars(random)["_inst"]
_NUMPY: Any = vars(np.random.mtrand)["_rand"]
_NUMPY_NAME = "numpy's global generator np.random"
_GENERATORS = (random.Random, np.random.Generator, np.random.RandomState, np.random.BitGenerator)


class DeterminismGuard:
    """Watch the code of plug-ins in this thread; `violation` is what they did, or the empty string.

    Parameters
    ----------
    things
        Classes and functions of plug-ins.

    Examples
    --------
    >>> def throw():
    ...     return np.random.default_rng(0).random() + np.random.random()
    >>> with DeterminismGuard([throw]) as guard:
    ...     _ = throw()
    >>> guard.violation
    "used numpy's global generator np.random"
    """

    def __init__(self, things: Sequence[Any]) -> None:
        self.violation = ""
        self._modules = {getattr(thing, "__module__", None) or "" for thing in things}
        self._packages = {name.partition(".")[0] for name in self._modules}
        kept_generators = {
            f"the generator {name}, which keeps its state": kept
            for thing in things
            for name, kept in _list_generators(thing)
        }
        # Python's is drawn from by threads of libraries; calls of its C functions are seen by thread.
        alone = {"python's global generator random": _PYTHON} if threading.active_count() == 1 else {}
        self._generators = {**kept_generators, **alone, _NUMPY_NAME: _NUMPY}

    def __enter__(self) -> Self:
        self._before = {name: pickle.dumps(generator) for name, generator in self._generators.items()}
        # The interpreter calls them wherever it collects garbage; hypothesis measures times there.
        self._collector_callbacks = {getattr(callback, "__code__", None) for callback in gc.callbacks}
        self._outer = sys.getprofile()
        sys.setprofile(self._watch)
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        sys.setprofile(self._outer)
        if self.violation:
            return
        used = [name for name, generator in self._generators.items() if pickle.dumps(generator) != self._before[name]]
        if used:
            self.violation = f"used {used[0]}"

    def _watch(self, frame: FrameType, event: str, argument: Any) -> None:
        if event == "c_call":
            if argument in FORBIDDEN and not self.violation and self._is_blamed(frame):
                self.violation = f"called {FORBIDDEN[argument]}"
        elif (
            event == "call"
            and frame.f_code is _SEED_CODE
            and (frame.f_locals.get("a") is None or frame.f_locals.get("self") is _PYTHON)
            and self._is_blamed(frame.f_back)
        ):
            self.violation = "called random.seed, or random.Random without a seed"

    def _is_blamed(self, frame: FrameType | None) -> bool:
        """Whether code of a plug-in is nearer to a call than code of a trusted package."""
        while frame is not None:
            name = str(frame.f_globals.get("__name__", ""))
            if name in self._modules:
                return True
            top = name.partition(".")[0]
            if top in _TRUSTED or "importlib" in frame.f_code.co_filename or frame.f_code in self._collector_callbacks:
                return False
            if top in self._packages:
                return True
            frame = frame.f_back
        return True


def _list_generators(thing: Any) -> Iterator[tuple[str, Any]]:
    """List the generators in the module, the class, the defaults and the closures of a plug-in."""
    members = [thing] if inspect.isfunction(thing) else vars(thing).values() if isinstance(thing, type) else []
    functions = [f for f in (getattr(member, "__func__", member) for member in members) if inspect.isfunction(f)]
    spaces: list[Mapping[str, Any]] = [getattr(sys.modules.get(getattr(thing, "__module__", "")), "__dict__", {})]
    spaces += [vars(thing)] if isinstance(thing, type) else []
    for function in functions:
        spaces += [function.__globals__, *_kept(function)]
    for space in spaces:
        for name, value in list(space.items()):
            if isinstance(value, _GENERATORS) and value is not _PYTHON and value is not _NUMPY:
                yield name, value


def _kept(function: FunctionType) -> Iterator[Mapping[str, Any]]:
    """Defaults and closure of a function, by name."""
    defaults = function.__defaults__ or ()
    yield {f"default {place}": value for place, value in enumerate(defaults)} | (function.__kwdefaults__ or {})
    yield inspect.getclosurevars(function).nonlocals if function.__closure__ else {}
