"""What a result was made with: versions, processor, BLAS and commit, as plain texts."""

from __future__ import annotations

import os
import platform
import subprocess
from datetime import UTC, datetime
from functools import cache
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import Any

import numpy as np
from threadpoolctl import threadpool_info

PACKAGES = ("numpy", "scipy", "numba", "joblib", "scikit-learn")


def manifest() -> dict[str, str]:
    """Return one text per fact about the present run."""
    return {"started": datetime.now(UTC).isoformat(timespec="seconds"), **_lasting()}


@cache
def _lasting() -> dict[str, str]:
    """Facts that do not change while the process lives."""
    from exml_sim import __version__

    facts = {
        "exml_sim": __version__,
        "python": platform.python_version(),
        "platform": platform.platform(),
        "cpu": _cpu(),
        "cores": str(os.cpu_count()),
        "arithmetic": _arithmetic(),
        "blas": _blas(),
        "commit": _commit(),
    }
    for package in PACKAGES:
        try:
            facts[package] = version(package)
        except PackageNotFoundError:
            facts[package] = "not installed"
    return facts


#: Facts whose change may change the last bits of regrets and weights; selections and spending do not depend on them.
DECISIVE = ("exml_sim", "numpy", "scipy", "numba", "arithmetic", "blas")


def _arithmetic() -> str:
    """Name the instructions that compiled code uses: those of the processor that no environment variable takes away."""
    found: Any = np.show_config(mode="dicts")
    texts = [platform.machine(), *found.get("SIMD Extensions", {}).get("found", [])]
    texts += [f"{name}={os.environ[name]}" for name in ("NUMBA_CPU_NAME", "NUMBA_CPU_FEATURES") if name in os.environ]
    return " ".join(texts)


def _cpu() -> str:
    try:
        for line in Path("/proc/cpuinfo").read_text(encoding="utf-8").splitlines():
            if line.startswith("model name"):
                return line.partition(":")[2].strip()
    except OSError:
        pass
    return platform.processor() or platform.machine()


def _blas() -> str:
    libraries = {
        f"{library.get('internal_api')} {library.get('version')} {library.get('architecture', '')}".strip()
        for library in threadpool_info()
        if library.get("user_api") == "blas"
    }
    return ", ".join(sorted(libraries)) or "unknown"


def _commit() -> str:
    """Return the commit of the source tree the package was imported from, if it is one."""
    home = Path(__file__).resolve().parents[2]
    if not (home / ".git").exists():
        return "not a source tree"
    try:
        command = ["git", "-C", str(home), "describe", "--always", "--dirty", "--abbrev=40"]
        return subprocess.run(command, capture_output=True, text=True, timeout=10, check=True).stdout.strip()
    except (OSError, subprocess.SubprocessError):
        return "unknown"
