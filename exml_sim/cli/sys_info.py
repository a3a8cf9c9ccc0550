"""``exml sys-info``: print versions, processors and threads, for a report of an error."""

from __future__ import annotations

import os
import platform
import sys
from importlib import metadata
from typing import Any

import click

from exml_sim import __version__
from exml_sim.cli import _options as options

PACKAGES = ("numpy", "scipy", "numba", "pandas", "scikit-learn", "matplotlib", "cvxpy", "joblib", "pydantic", "click")


@click.command(name="sys-info")
@options.as_json
def command(as_json: bool) -> None:
    """Print what an error report should contain. Names of users, hosts and folders are not printed.

    Example: exml sys-info
    """
    import numpy as np  # its linear algebra appears among the thread pools
    from threadpoolctl import threadpool_info

    info: dict[str, Any] = {
        "exml-sim": __version__,
        "python": platform.python_version(),
        "implementation": platform.python_implementation(),
        "system": f"{platform.system()} {platform.release()}",
        "machine": platform.machine(),
        "processors": os.cpu_count(),
        "encoding": sys.stdout.encoding,
        "bits of longdouble": int(np.finfo(np.longdouble).bits),
    }
    for name in PACKAGES:
        try:
            info[name] = metadata.version(name)
        except metadata.PackageNotFoundError:
            info[name] = "not installed"
    for library in threadpool_info():
        info[f"{library['internal_api']} threads"] = library["num_threads"]
    options.emit(info, "\n".join(f"{name}: {value}" for name, value in info.items()), as_json)
