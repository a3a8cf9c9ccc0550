"""The largest and longest things a study may have: what is beyond is a slip, and said before anything is built.

Every reader of `exml_sim.engine.fields` and every check of a study takes its limit from here, so that a message and the
documentation say the same number.
"""

from __future__ import annotations

import os
import sys
from fractions import Fraction

from exml_sim.bandit.points import MATRIX_ROWS

#: Bytes of a study's file.
FILE = 10**7
#: Characters of a name or a label.
NAME = 200
#: Entries of a list, and arms of a pool.
LIST = 10_000
#: Numbers written out in one pool.
ENTRIES = 10**6
#: Rows of a pool.
ROWS = 50_000
#: Cells of a study.
CELLS = 100_000
#: Size of a number, and money from a trillionth to a quadrillion.
NUMBER = 1e15
LEAST_MONEY, MOST_MONEY = Fraction(1, 10**12), 10**15
#: A root seed, and a whole number among the options of a strategy.
SEED = 2**63 - 1
OPTION = 10**9
#: Trials per cell, and pulls in one trial.
TRIALS = 10**12
PULLS = 10**9


def memory() -> int:
    """Bytes that this process may have: the machine's, or less if the process is limited."""
    try:
        import resource

        limits = [os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES"), *resource.getrlimit(resource.RLIMIT_AS)]
    except (ImportError, OSError, ValueError):  # pragma: no cover - a system that does not say
        return sys.maxsize
    return min(limit for limit in limits if limit > 0)


def check_rows(rows: int, arms: int, label: str) -> None:
    """Refuse a pool whose kernel matrices, one of m x m numbers for each arm, are beyond the limits or the memory.

    Pools of more than `MATRIX_ROWS` rows keep none.
    """
    if rows > ROWS:
        raise ValueError(f"pool {label!r} has {rows:,} rows, at most {ROWS:,} are allowed")
    needed, there = 8 * arms * rows**2, memory()
    if rows <= MATRIX_ROWS and needed > there:
        raise ValueError(
            f"pool {label!r} needs {needed / 2**30:,.1f} GiB for the kernel matrices of {arms} arms on {rows:,} rows, "
            f"and there are {there / 2**30:,.1f} GiB"
        )
