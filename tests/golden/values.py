"""Write numbers to golden files and compare them: digests, rounded lists, tolerances; no names of the project."""

from __future__ import annotations

import hashlib
import json
import math
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import llvmlite.binding
import numpy as np
import scipy

#: Digits kept of plain numbers, and the relative and absolute error that a comparison allows.
DIGITS = 10
TOLERANCE = 1e-6
#: A golden value under this key is compared only on the kind of machine that recorded it.
SAME_MACHINE = "bits"


def describe_machine() -> dict[str, str]:
    """Return what the last bits of floating-point results depend on."""
    return {
        "cpu": llvmlite.binding.get_host_cpu_name(),
        "numpy": np.__version__,
        "scipy": scipy.__version__,
        "llvm": ".".join(map(str, llvmlite.binding.llvm_version_info)),
    }


def digest_exact(values: Any) -> str:
    """Return the SHA-256 of an integer, boolean or text array, independent of its width and byte order."""
    array = np.asarray(values)
    if array.dtype.kind in "biu":
        data = np.ascontiguousarray(array, dtype="<i8").tobytes()
    else:
        data = json.dumps([str(value) for value in array.ravel().tolist()]).encode()
    return hashlib.sha256(repr(array.shape).encode() + data).hexdigest()


def digest_rounded(values: Any, decimals: int = 6) -> str:
    """Return the SHA-256 of floats rounded to that many decimals; minus zero is zero."""
    array = np.round(np.asarray(values, dtype=np.float64), decimals) + 0.0
    return hashlib.sha256(repr(array.shape).encode() + np.ascontiguousarray(array, dtype="<f8").tobytes()).hexdigest()


def digest_bits(values: Any) -> str:
    """Return the SHA-256 of the bits of floats."""
    array = np.ascontiguousarray(values, dtype="<f8")
    return hashlib.sha256(repr(array.shape).encode() + array.tobytes()).hexdigest()


def keep_floats(values: Any) -> dict[str, Any]:
    """Return floats as a rounded list for every machine, and a digest of their bits for the same machine."""
    return {"values": round_floats(values), SAME_MACHINE: digest_bits(values)}


def round_floats(values: Any) -> list[float]:
    """Return floats with `DIGITS` significant digits."""
    return [float(f"{value:.{DIGITS - 1}e}") for value in np.asarray(values, dtype=np.float64).ravel().tolist()]


def collect_numbers(tree: Any) -> list[float]:
    """Return all numbers in a JSON value, sorted and rounded; booleans, texts and keys are left out."""
    numbers = [value for value in _leaves(tree) if isinstance(value, int | float) and not isinstance(value, bool)]
    return sorted(round_floats([value for value in numbers if math.isfinite(value)]))


def _leaves(tree: Any) -> Iterator[Any]:
    if isinstance(tree, dict):
        tree = list(tree.values())
    if isinstance(tree, list):
        for branch in tree:
            yield from _leaves(branch)
    else:
        yield tree


def find_differences(recorded: Any, computed: Any, same_machine: bool, place: str = "") -> list[str]:
    """Return one text for each place where two golden values differ."""
    if isinstance(recorded, dict) and isinstance(computed, dict):
        if recorded.keys() != computed.keys():
            return [f"{place}: keys {sorted(recorded.keys() ^ computed.keys())} are on one side only"]
        compared = [key for key in recorded if same_machine or key != SAME_MACHINE]
        pairs = [(f"{place}/{key}", recorded[key], computed[key]) for key in compared]
    elif isinstance(recorded, list) and isinstance(computed, list):
        if len(recorded) != len(computed):
            return [f"{place}: {len(recorded)} entries were recorded, {len(computed)} computed"]
        pairs = [(f"{place}/{n}", *pair) for n, pair in enumerate(zip(recorded, computed, strict=True))]
    else:
        return [] if _agree(recorded, computed) else [f"{place}: {recorded!r} was recorded, {computed!r} computed"]
    return [text for where, old, new in pairs for text in find_differences(old, new, same_machine, where)]


def _agree(recorded: Any, computed: Any) -> bool:
    if isinstance(recorded, float) and isinstance(computed, float):
        both_nan = math.isnan(recorded) and math.isnan(computed)
        return both_nan or math.isclose(recorded, computed, rel_tol=TOLERANCE, abs_tol=TOLERANCE)
    return type(recorded) is type(computed) and recorded == computed


def write_json(file: Path, tree: Any) -> None:
    """Write a golden file: sorted keys, lists of numbers on one line each."""
    file.write_text(_layout(tree, "") + "\n", encoding="utf-8")


def _layout(tree: Any, indent: str) -> str:
    if isinstance(tree, dict) and tree:
        lines = [f"{indent} {json.dumps(key)}: {_layout(tree[key], indent + ' ')}" for key in sorted(tree)]
        return "{\n" + ",\n".join(lines) + f"\n{indent}}}"
    return json.dumps(tree, sort_keys=True)


def read_json(file: Path) -> Any:
    """Read a golden file."""
    return json.loads(file.read_text(encoding="utf-8"))
