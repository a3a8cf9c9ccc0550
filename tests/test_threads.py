"""One BLAS thread inside, as many as before outside, and no search for libraries in every run."""

from __future__ import annotations

import os
import subprocess
import sys

import pytest
from threadpoolctl import threadpool_info, threadpool_limits

from exml_sim._internal.threads import one_thread
from exml_sim.cli import _BLAS_THREADS


def used() -> list[int]:
    return [entry["num_threads"] for entry in threadpool_info()]


def test_one_thread_inside_and_as_many_as_before_outside() -> None:
    with threadpool_limits(2):
        before = used()
        assert 2 in before
        with one_thread():
            assert set(used()) == {1}
            with one_thread():
                assert set(used()) == {1}
            assert set(used()) == {1}
        assert used() == before


COMMAND = """
from exml_sim.cli import main
try:
    main(["bound", "--K", "8", "--theta", "0.1", "--kappa-lambda", "0.5", "--gap", "0.2", "--budget", "16000"])
except SystemExit as stop:
    assert stop.code == 0
from threadpoolctl import threadpool_info
print(*(library["num_threads"] for library in threadpool_info() if library["user_api"] == "blas"))
"""


@pytest.mark.parametrize(
    ("given", "expected"),
    [({}, {"1"}), ({"OPENBLAS_NUM_THREADS": "2"}, {"2"}), ({"OMP_NUM_THREADS": "2"}, {"2"})],
)
def test_a_command_has_one_thread_unless_a_number_is_given(given: dict[str, str], expected: set[str]) -> None:
    clean = {name: value for name, value in os.environ.items() if name not in (*_BLAS_THREADS, "OMP_NUM_THREADS")}
    done = subprocess.run(
        [sys.executable, "-c", COMMAND], env={**clean, **given}, capture_output=True, text=True, check=True
    )
    assert set(done.stdout.splitlines()[-1].split()) == expected
