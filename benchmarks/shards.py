"""A million trials over 8 shards, merged, against one run: `python -m benchmarks.shards [--trials 1000000]`.

Prints the digests of both stores, which must be the same, and the processor time of each way.
"""

from __future__ import annotations

import argparse
import sys
import tempfile
import time
from collections.abc import Sequence
from pathlib import Path

from exml_sim.engine import Study, merge, run

SHARDS = 8


def make_study(trials: int) -> Study:
    """One cell: median elimination on the arithmetic family of 8 arms."""
    return Study.from_table(
        {
            "pools": [{"kind": "family", "family": "arithmetic", "K": 8, "gap": 0.08}],
            "strategies": ["median_elimination"],
            "budgets": {"per_arm": [100]},
            "trials": trials,
        }
    )


def main(arguments: Sequence[str] | None = None) -> int:
    """Compare; the exit code is 1 if the results differ."""
    parser = argparse.ArgumentParser(description="Shards against one run.")
    parser.add_argument("--trials", type=int, default=1_000_000)
    options = parser.parse_args(arguments)
    study = make_study(options.trials)
    with tempfile.TemporaryDirectory() as home:
        start = time.process_time()
        with run(study, store=Path(home) / "one.sqlite", n_jobs=1, progress=False) as result:
            alone = result.store.digest()
        middle = time.process_time()
        parts = [Path(home) / f"{i}.sqlite" for i in range(1, SHARDS + 1)]
        for i, part in enumerate(parts, 1):
            run(study, store=part, shard=(i, SHARDS), n_jobs=1, progress=False).close()
        with merge(parts, Path(home) / "all.sqlite") as result:
            merged, complete = result.store.digest(), result.complete
        end = time.process_time()
    sys.stdout.write(
        f"one run:  {alone}  {middle - start:.0f} s\n{SHARDS} shards: {merged}  {end - middle:.0f} s with the merge\n"
        f"{options.trials:,} trials, {'complete and the same bits' if complete and alone == merged else 'DIFFERENT'}\n"
    )
    return int(not complete or alone != merged)


if __name__ == "__main__":
    sys.exit(main())
