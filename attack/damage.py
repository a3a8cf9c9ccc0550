"""Bits flipped and ends cut off in every kind of file: refused in one line, or read as if nothing had happened."""

from __future__ import annotations

import tempfile
from collections import Counter
from pathlib import Path
from typing import Any

import numpy as np

from attack.case import Case, Finding, expect
from exml_sim.engine import StoreError, Study, StudyResult, merge, run
from exml_sim.method.saved import SavedModel, load, save
from simulations.cache import Cache
from simulations.hunt.finds import read

RULES = ["uniform_allocation", "median_elimination"]
STUDIES: dict[str, dict[str, Any]] = {
    "count": {"pools": [{"kind": "known", "means": [0.4, 0.6]}], "budgets": {"per_arm": [4]}, "trials": 8},
    "exact": {"pools": [{"kind": "known", "means": [0.4, 0.6]}], "budgets": {"per_arm": [3]}, "mode": "exact"},
}
SETTINGS = {"C": 0.15, "thetas": [0.1, 0.2]}


def model() -> SavedModel:
    """A cascade of two small layers."""
    from exml_sim.method.cascade import Cascade, Layer
    from exml_sim.method.gated import Frame, GatedModel

    rng, layers = np.random.default_rng(0), []
    for width, names in ((2, ()), (3, ("extra",))):
        frame = Frame(rng.normal(size=width), np.ones(width), "gaussian", 0.7)
        tables = (rng.normal(size=(4, width)), rng.normal(size=(4, 2)), rng.normal(size=(4, 2)))
        layers.append(Layer(GatedModel(frame, *tables, 0.3), names))
    return SavedModel(Cascade(tuple(layers)), np.array([0, 1]), 2, ("x0", "x1"), {"extra": ("extra",)})


def answers(found: SavedModel) -> str:
    """All numbers and names of a model."""
    layers = [(one.model.frame, one.model.theta, one.candidates) for one in found.cascade.layers]
    tables = [t.tobytes() for one in found.cascade.layers for t in (one.model.anchors, one.model.u, one.model.w)]
    frames = [(f.shift.tobytes(), f.scale.tobytes(), f.kernel, f.gamma, theta, names) for f, theta, names in layers]
    return repr((frames, tables, found.classes.tolist(), found.hidden_label, found.observed, found.columns))


class Damage:
    """Flips and truncations of stores, caches, models and finds.

    Parameters
    ----------
    folder
        Where the files are damaged.
    """

    name, share = "damage", 0.26

    def __init__(self, folder: Path | None = None) -> None:
        self._folder = folder or Path(tempfile.mkdtemp(prefix="attack-"))
        self._whole: dict[str, bytes] = {}
        self._truth: dict[str, Any] = {}
        for kind in ("count", "exact", "cache", "model", "find"):
            self._make(kind)

    def _make(self, kind: str) -> None:
        path = self._folder / "whole"
        if kind in STUDIES:
            run(Study.from_table({"strategies": RULES, **STUDIES[kind]}), store=path, n_jobs=1, progress=False).close()
        elif kind == "cache":
            with Cache(path, SETTINGS) as cache:
                for key in ("a", "b", "c"):
                    cache.put(key, {"of": key, "values": [1.5, 2.25]})
        elif kind == "model":
            save(model(), path)
        else:
            path.write_bytes(Path("tests/hunts/lemma-2-i.toml").read_bytes())
        self._whole[kind] = path.read_bytes()
        path.unlink()
        self._place(kind, self._whole[kind])
        self._truth[kind] = self._answer(kind)

    def _place(self, kind: str, data: bytes) -> None:
        for file in self._folder.glob("*"):
            file.unlink()
        (self._folder / kind).write_bytes(data)

    def draw(self, rng: np.random.Generator) -> Case:
        """Half of the flips in stores, many of them in the schema, which no seal of a part covers."""
        kind = str(rng.choice(["count", "exact", "cache", "model", "find"], p=[0.35, 0.15, 0.15, 0.2, 0.15]))
        size = len(self._whole[kind])
        if rng.random() < 0.03:
            return {"kind": kind, "cut": int(rng.integers(size))}
        most = 4096 if kind in ("count", "exact", "cache") and rng.random() < 0.5 else size
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
        kind, data = case["kind"], self.damaged(case)
        self._place(kind, data)
        refusal = StoreError if kind in STUDIES else ValueError
        outcome = expect(refusal, lambda: self._answer(kind), self._truth[kind])
        if kind in STUDIES and outcome["refused"]:
            outcome += self._elsewhere(kind)
        if kind != "cache" and (self._folder / kind).read_bytes() != data:
            raise Finding("the damaged file was changed")
        flips = Counter({f"flips of {kind}": len(case.get("bits", ())), "cuts": int("cut" in case)})
        return Counter({f"{kind} {word}": number for word, number in outcome.items()}) + flips

    def _elsewhere(self, kind: str) -> Counter[str]:
        """What cannot be read can be neither merged nor continued."""
        for action in (
            lambda: merge([self._folder / kind], self._folder / "merged"),
            lambda: run(
                Study.from_table({"strategies": RULES, **STUDIES[kind]}), store=self._folder / kind, progress=False
            ),
        ):
            if expect(StoreError, action, None)["refused"] != 1:
                raise Finding("a damaged store was merged or continued")
        return Counter()

    def _answer(self, kind: str) -> Any:
        path = self._folder / kind
        if kind in STUDIES:
            with StudyResult.open(path) as result:
                facts = result.store.facts, result.store.sessions(), result.cells, result.study, result.complete
                return (result.store.digest(), result.summary(), list(result.rows()), facts)
        if kind == "cache":
            with Cache(path, SETTINGS) as cache:
                return [cache.get(key) for key in ("a", "b", "c")], len(cache)
        return answers(load(path)) if kind == "model" else repr(read(path))
