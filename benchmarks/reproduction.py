"""Time and memory of the paper's tables: ``python -m benchmarks.reproduction [CONFIGURATIONS]``.

Runs a few configurations of Table 1 (automatic protocol, tuned on test data) and Table 2 one after the other in this
process and prints processor seconds per configuration, what 50 of them take on two idle cores, and peak memory.
Processor seconds count what other programs leave of the caches too, so they are an upper estimate on a busy machine.
"""

from __future__ import annotations

import resource
import sys
import time

from simulations.reproduction.experiment import make_experiment

CONFIGURATIONS, CORES = 50, 2


def main(count: int = 3) -> None:
    """Measure and print one line per table."""
    tables = {
        "Table 1, automatic": make_experiment("mfeat", False, 0.15),
        "Table 1, tuned on test data": make_experiment("mfeat", True, 0.15),
        "Table 2, automatic": make_experiment("costs", False, 0.15),
        "Table 2, tuned on test data": make_experiment("costs", True, 0.15),
    }
    # The first configuration loads compiled code, once per worker.
    next(iter(tables.values())).run(CONFIGURATIONS - 1)
    print(f"{'':<20}{'s per configuration':>22}{'50 on 2 cores, min':>22}{'peak MiB of a worker':>22}")
    for name, experiment in tables.items():
        start = time.process_time()
        for number in range(count):
            experiment.run(number)
        seconds = (time.process_time() - start) / count
        minutes = seconds * CONFIGURATIONS / CORES / 60.0
        peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024.0
        print(f"{name:<20}{seconds:>22.1f}{minutes:>22.1f}{peak:>22.0f}", flush=True)


if __name__ == "__main__":
    main(*(int(word) for word in sys.argv[1:]))
