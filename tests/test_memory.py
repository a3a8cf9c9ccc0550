"""Memory: what is free is read, what will not fit is refused in one line before anything is allocated or bought."""

import tracemalloc

import numpy as np
import pytest

from exml_sim import ExMLClassifier
from exml_sim._internal import memory
from exml_sim.oracle import CallableOracle
from exml_sim.rejection import RejectionClassifier, memory_needed
from exml_sim.rejection._factor import largest_rank


def plant(root, **files):
    """Write files of the system below a folder; __ stands for a slash, _ for a dot in the last part."""
    for name, text in files.items():
        path = root / name.replace("__", "/").replace("memory_", "memory.")
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)


def test_what_is_free(tmp_path):
    """The smaller one of the machine's and the group's; files that the system keeps count as free."""
    plant(tmp_path, proc__meminfo="MemTotal: 900 kB\nMemFree: 100 kB\nMemAvailable:    500 kB\n")
    assert memory.free_memory(tmp_path) == 500 * 1024
    for limit, used, free in (("max", 1000, 500 * 1024), (3000, 1000, 2000), (3000, 4000, 0)):
        plant(tmp_path, sys__fs__cgroup__memory_max=f"{limit}\n", sys__fs__cgroup__memory_current=f"{used}\n")
        assert memory.free_memory(tmp_path) == free


@pytest.mark.parametrize(
    ("line", "folder", "limit", "used"),
    [
        ("0::/slice/job\n", "slice/job", "memory.max", "memory.current"),
        ("0::/slice/job/step\n", "slice/job", "memory.max", "memory.current"),
        ("5:cpu:/\n4:memory:/job\n", "memory/job", "memory.limit_in_bytes", "memory.usage_in_bytes"),
    ],
)
def test_limit_of_the_own_group_counts(tmp_path, line, folder, limit, used):
    """The limit of the group or of a parent, in both versions of control groups."""
    group = f"sys/fs/cgroup/{folder}"
    plant(tmp_path, **{"proc/self/cgroup": line, f"{group}/{limit}": "3000\n", f"{group}/{used}": "1000\n"})
    assert memory.free_memory(tmp_path) == 2000


def test_a_machine_without_such_files(tmp_path, monkeypatch):
    values = {"SC_AVPHYS_PAGES": 7, "SC_PAGE_SIZE": 10}
    monkeypatch.setattr(memory.os, "sysconf", values.__getitem__)
    assert memory.free_memory(tmp_path) == 70

    def fail(name):
        raise ValueError(name)

    monkeypatch.setattr(memory.os, "sysconf", fail)
    assert memory.free_memory(tmp_path) is None


@pytest.mark.parametrize("limit", [10**5, 2 * 10**6, 10**7, 10**9])
def test_the_largest_rank_fits_and_one_more_does_not(limit):
    rank = largest_rank(3000, limit, d=4)
    assert rank == 0 or memory_needed(3000, rank, d=4) <= limit
    assert rank == 3000 or memory_needed(3000, rank + 1, d=4) > limit


@pytest.mark.parametrize(
    ("m", "rank", "d"), [(1500, 50, 3), (2500, 50, 5), (5000, 300, 10), (12_000, 50, 5), (8000, 20, 100)]
)
def test_the_promise_is_kept_and_not_too_large(m, rank, d):
    """Peaks of what numpy allocates; those of the process, measured with up to 100,000 rows, are much the same."""
    rng = np.random.default_rng(0)
    X = rng.normal(size=(m, d))
    y = np.where(X[:, 0] + rng.normal(size=m) > 0.0, 1, -1)
    RejectionClassifier(rank=20).fit(X[:200], y[:200])
    tracemalloc.start()
    try:
        RejectionClassifier(rank=rank).fit(X, y)
        peak = tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()
    assert peak <= memory_needed(m, rank, d=d) <= 3 * peak


def test_a_fit_that_does_not_fit_is_refused():
    rng = np.random.default_rng(0)
    X, y = rng.normal(size=(10_000, 2)), rng.choice([0, 1], 10_000)
    most = largest_rank(10_000, 10**9, d=2)
    assert 100 < most < 10_000
    with pytest.raises(MemoryError, match=rf"^10000 rows need 4.5 GiB of memory, have 953.7 MiB; use rank <= {most}$"):
        RejectionClassifier(rank=None, memory=10**9).fit(X, y)
    with pytest.raises(MemoryError, match=r"no rank fits$"):
        RejectionClassifier(memory=1).fit(X, y)
    with pytest.raises(ValueError, match="memory"):
        RejectionClassifier(memory=0).fit(X, y)
    X, y = X[:200], y[:200]
    assert RejectionClassifier(memory=memory_needed(200, None, d=2)).fit(X, y).solution_.method == "dual"
    assert RejectionClassifier(rank=20, memory=memory_needed(200, 20, d=2)).fit(X, y).solution_.rank == 20


def test_rejection_layers_are_refused_before_anything_is_bought(monkeypatch):
    asked = []
    rng = np.random.default_rng(0)
    X, y = rng.normal(size=(100, 2)), rng.choice([0, 1], 100)
    oracle = CallableOracle({"a": lambda rows: asked.append(rows) or np.zeros(len(rows))})
    monkeypatch.setattr("exml_sim.classifier._preflight.free_memory", lambda: 16 * 100 * 100 - 1)
    with pytest.raises(
        MemoryError, match=r"^rejection models of 100 rows need at least 156.2 KiB of memory, 156.2 KiB are"
    ):
        ExMLClassifier.paper(budget_ratio=0.5, explore="always").fit(X, y, oracle)
    assert not asked
