"""Bits flipped and ends cut off in every kind of file: refused in one line, or read as if nothing had happened."""

from __future__ import annotations

import tempfile
from collections import Counter
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from exml_sim.engine import StoreError, Study, merge, run
from fuzz import whole
from fuzz.case import HANG, Case, Finding, expect


@dataclass(frozen=True)
class Kind:
    """A kind of file.

    Attributes
    ----------
    write
        Makes a whole one.
    answer
        Everything that a reader can learn from one.
    share
        Its part of the cases.
    refusal
        How it is refused.
    schema
        Whether it has a schema at its beginning, which no seal of a part covers.
    append
        Whether lines are added to it, so that the beginning of one is another whole one.
    """

    write: Callable[[Path], None]
    answer: Callable[[Path], Any]
    share: float
    refusal: type[Exception] = ValueError
    schema: bool = False
    append: bool = False


def _store(name: str, share: float) -> Kind:
    return Kind(lambda path: whole.write_store(name, path), whole.store_answer, share, StoreError, schema=True)


KINDS: Mapping[str, Kind] = {
    "count": _store("monte_carlo", 0.22),
    "exact": _store("exact", 0.1),
    "rare": _store("importance_sampling", 0.1),
    "cache": Kind(whole.write_cache, whole.cache_answer, 0.14, schema=True),
    "model": Kind(whole.write_gated, whole.model_answer, 0.12),
    "soft": Kind(whole.write_soft, whole.model_answer, 0.1),
    "rows": Kind(whole.write_rows, whole.rows_answer, 0.08),
    "journal": Kind(whole.write_journal, whole.journal_answer, 0.08, append=True),
    "find": Kind(whole.write_find, whole.find_answer, 0.06),
}


class Damage:
    """Flips and truncations of stores, caches, models, journals and finds.

    Parameters
    ----------
    folder
        Where the files are damaged.
    """

    name, share, patience = "damage", 0.22, HANG

    def __init__(self, folder: Path | None = None) -> None:
        self._folder = folder or Path(tempfile.mkdtemp(prefix="attack-"))
        self._whole: dict[str, bytes] = {}
        self._truth: dict[str, Any] = {}
        for name, kind in KINDS.items():
            path = self._folder / "whole"
            kind.write(path)
            self._whole[name] = path.read_bytes()
            path.unlink()
            self._truth[name] = kind.answer(self._place(name, self._whole[name]))

    def _place(self, kind: str, data: bytes) -> Path:
        for file in self._folder.glob("*"):
            file.unlink()
        path = self._folder / kind
        path.write_bytes(data)
        return path

    def draw(self, rng: np.random.Generator) -> Case:
        """Many flips in the schema of stores; most of one bit, some of up to nineteen."""
        kind = str(rng.choice(list(KINDS), p=[one.share for one in KINDS.values()]))
        size = len(self._whole[kind])
        if rng.random() < 0.03:
            return {"kind": kind, "cut": int(rng.integers(size))}
        most = 4096 if KINDS[kind].schema and rng.random() < 0.5 else size
        number = 1 if rng.random() < 0.8 else int(rng.integers(2, 20))
        return {"kind": kind, "bits": [int(bit) for bit in rng.integers(8 * most, size=number)]}

    def damaged(self, case: Case) -> bytes:
        """The bytes of a case."""
        data = bytearray(self._whole[case["kind"]])
        if "cut" in case:
            return bytes(data[: case["cut"]])
        for bit in case["bits"]:
            data[bit // 8] ^= 1 << bit % 8
        return bytes(data)

    def judge(self, case: Case) -> Counter[str]:
        """Refused in one line or unchanged, and no byte of the file is touched."""
        name, data = case["kind"], self.damaged(case)
        kind, path, truth = KINDS[name], self._place(name, data), self._truth[name]
        torn = kind.append and "cut" in case
        if torn:
            truth = kind.answer(self._place(name, data[: data.rfind(b"\n") + 1]))
            self._place(name, data)
        outcome = expect(kind.refusal, lambda: kind.answer(path), truth)
        if name in whole.STUDIES and outcome["refused"]:
            self._elsewhere(name)
        if name != "cache" and not torn and path.read_bytes() != data:
            raise Finding("the damaged file was changed")
        flips = Counter({f"flips of {name}": len(case.get("bits", ())), "cuts": int("cut" in case)})
        return Counter({f"{name} {word}": number for word, number in outcome.items()}) + flips

    def _elsewhere(self, name: str) -> None:
        """What cannot be read can be neither merged nor continued."""
        path = self._folder / name
        for action in (
            lambda: merge([path], self._folder / "merged"),
            lambda: run(Study.from_table(whole.STUDIES[name]), store=path, progress=False),
        ):
            if expect(StoreError, action, None)["refused"] != 1:
                raise Finding("a damaged store was merged or continued")
