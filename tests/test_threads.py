"""One BLAS thread inside, as many as before outside, and no search for libraries in every run."""

from __future__ import annotations

import sys
from types import ModuleType

from threadpoolctl import threadpool_info

from exml_sim import threads
from exml_sim.threads import one_thread


def used() -> list[int]:
    return [one["num_threads"] for one in threadpool_info()]


def test_one_thread_inside_and_as_many_as_before_outside() -> None:
    before = used()
    assert before
    with one_thread():
        assert set(used()) == {1}
        with one_thread():
            assert set(used()) == {1}
        assert set(used()) == {1}
    assert used() == before


def test_libraries_are_looked_up_again_only_after_an_import(monkeypatch) -> None:
    first = threads._controller(len(sys.modules))
    with one_thread():
        assert threads._controller(len(sys.modules)) is first
    monkeypatch.setitem(sys.modules, "just_loaded", ModuleType("just_loaded"))
    with one_thread():
        assert threads._controller(len(sys.modules)) is not first
