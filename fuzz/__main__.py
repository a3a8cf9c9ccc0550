"""Run the fuzzers: `python -m fuzz --seconds 600`. A finding is printed with the seed that finds it again."""

from __future__ import annotations

import argparse
import secrets
import sys
from collections.abc import Mapping

from fuzz.calls import Calls
from fuzz.fuzzer import Fuzzer, run
from fuzz.inputs import CommandLines, StudyFiles
from fuzz.matrices import Matrices
from fuzz.stores import Damage, Processes

FUZZERS: Mapping[str, type[Fuzzer]] = {
    fuzzer.name: fuzzer for fuzzer in (Processes, Damage, StudyFiles, CommandLines, Calls, Matrices)
}


def main(arguments: list[str] | None = None, fuzzers: Mapping[str, type[Fuzzer]] = FUZZERS) -> int:
    """Return 0 if there is no finding, 1 otherwise."""
    parser = argparse.ArgumentParser(prog="python -m fuzz", description=__doc__)
    parser.add_argument("--seconds", type=float, default=600.0, help="time in all")
    parser.add_argument("--seed", type=int, help="seed of all cases; a new one by default")
    parser.add_argument("--only", nargs="+", choices=sorted(fuzzers), help="these fuzzers only")
    parser.add_argument("--cases", type=int, help="largest number of cases of each fuzzer, up to a batch")
    options = parser.parse_args(arguments)
    seed = secrets.randbelow(2**32) if options.seed is None else options.seed
    print(f"seed {seed}", flush=True)
    chosen = [fuzzers[name] for name in options.only or fuzzers]
    scale = options.seconds / sum(fuzzer.share for fuzzer in chosen)
    right = [run(fuzzer(), seed, scale * fuzzer.share, options.cases) for fuzzer in chosen]
    return 0 if all(right) else 1


if __name__ == "__main__":
    sys.exit(main())
