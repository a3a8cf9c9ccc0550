"""Run the fuzzers: `python -m fuzz --seconds 600`, or replay a finding: `python -m fuzz --replay FILE`."""

from __future__ import annotations

import argparse
import json
import secrets
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from fuzz.calls import Calls
from fuzz.case import Finding, run, try_case
from fuzz.grammar import CommandLines, Names, StudyFiles
from fuzz.matrices import Matrices
from fuzz.stores import Damage, Processes

FUZZERS: Mapping[str, type[Any]] = {
    fuzzer.name: fuzzer for fuzzer in (Processes, Damage, StudyFiles, Names, CommandLines, Calls, Matrices)
}


def main(arguments: list[str] | None = None) -> int:
    """Return 0 if there is no finding, 1 otherwise."""
    parser = argparse.ArgumentParser(prog="python -m fuzz", description=__doc__)
    parser.add_argument("--seconds", type=float, default=600.0, help="time in all")
    parser.add_argument("--seed", type=int, help="seed of all cases; a new one by default")
    parser.add_argument("--only", nargs="+", choices=sorted(FUZZERS), help="these fuzzers only")
    parser.add_argument("--cases", type=int, help="largest number of cases of each fuzzer")
    parser.add_argument("--findings", type=Path, default=Path("findings"), help="folder for findings")
    parser.add_argument("--replay", type=Path, help="judge a finding again")
    options = parser.parse_args(arguments)
    if options.replay is not None:
        return replay(options.replay)
    seed = secrets.randbelow(2**32) if options.seed is None else options.seed
    print(f"seed {seed}", flush=True)
    names = options.only or list(FUZZERS)
    total = sum(FUZZERS[name].share for name in names)
    findings = 0
    for name in names:
        fuzzer = FUZZERS[name]()
        summary = run(fuzzer, seed, options.seconds * fuzzer.share / total, options.findings, options.cases)
        print(summary.describe(), flush=True)
        for path in summary.findings:
            print(f"  {path}: {json.loads(path.read_text(encoding='utf-8'))['finding'][:300]}", flush=True)
        findings += len(summary.findings)
    return 1 if findings else 0


def replay(path: Path) -> int:
    """Judge a finding again; return 1 if it is still one."""
    saved = json.loads(path.read_text(encoding="utf-8"))
    try:
        print(dict(try_case(FUZZERS[saved["fuzzer"]](), saved["case"])))
    except Finding as error:
        print(f"{path}: {error}")
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
