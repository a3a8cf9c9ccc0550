"""Run the attacks: `python -m fuzz --seconds 600`, or look at a finding again: `python -m fuzz --replay FILE`."""

from __future__ import annotations

import argparse
import json
import secrets
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np

from fuzz.bounds import Bounds
from fuzz.case import Finding, run, try_case
from fuzz.damage import Damage
from fuzz.files import CommandLines, StudyFiles
from fuzz.grams import Grams
from fuzz.halving import Halving
from fuzz.known import Known
from fuzz.processes import FullDisk, Kills, Writers

ATTACKS: Mapping[str, type[Any]] = {
    one.name: one for one in (Kills, Writers, FullDisk, Damage, StudyFiles, CommandLines, Bounds, Halving, Known, Grams)
}


def main(arguments: list[str] | None = None) -> int:
    """0 if nothing was found, 1 otherwise."""
    parser = argparse.ArgumentParser(prog="python -m fuzz", description=__doc__)
    parser.add_argument("--seconds", type=float, default=600.0, help="time in all")
    parser.add_argument("--seed", type=int, help="seed of all cases; a new one by default")
    parser.add_argument("--only", nargs="+", choices=sorted(ATTACKS), help="these attacks only")
    parser.add_argument("--cases", type=int, help="cases of each attack at most")
    parser.add_argument("--findings", type=Path, default=Path("findings"), help="folder for findings")
    parser.add_argument("--replay", type=Path, help="judge a finding again")
    given = parser.parse_args(arguments)
    if given.replay is not None:
        return replay(given.replay)
    seed = secrets.randbelow(2**32) if given.seed is None else given.seed
    print(f"seed {seed}", flush=True)
    chosen = given.only or list(ATTACKS)
    # Shares count what is chosen; an attack that ends early leaves its time unused.
    whole = sum(ATTACKS[name].share for name in chosen)
    found = 0
    for name in chosen:
        attack = ATTACKS[name]()
        own = int(np.random.default_rng([seed, list(ATTACKS).index(name)]).integers(2**32))
        tally = run(attack, own, given.seconds * attack.share / whole, given.findings, given.cases)
        print(tally.line(), flush=True)
        for path in tally.findings:
            print(f"  {path}: {json.loads(path.read_text(encoding='utf-8'))['found'][:300]}", flush=True)
        found += len(tally.findings)
    return 1 if found else 0


def replay(path: Path) -> int:
    """Judge a finding again: 1 if it still stands."""
    saved = json.loads(path.read_text(encoding="utf-8"))
    try:
        print(dict(try_case(ATTACKS[saved["attack"]](), saved["case"])))
    except Finding as error:
        print(f"{path}: {error}")
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
