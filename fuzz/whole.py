"""Whole files of every kind that is written and read again, and all that a reader learns from them."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np

from exml_sim.classifier.cascade import Cascade, Layer
from exml_sim.classifier.constants import CENTRES
from exml_sim.classifier.journal import Journal
from exml_sim.classifier.kernel_regression import KernelModel
from exml_sim.classifier.latent_class import LatentModel
from exml_sim.classifier.probability_models import ForestModel, MeanModel, StackedModel
from exml_sim.classifier.rejection_model import Frame, RejectionModel
from exml_sim.classifier.saved import SavedModel, load, pack, save
from exml_sim.datasets.realdisp import CHANNELS, SENSORS, RealDisp, load_realdisp, save_realdisp
from exml_sim.engine import Study, StudyResult, run
from simulations.cache import Cache
from simulations.falsify.finds import read

_RULES = ["uniform_allocation", "median_elimination"]
_KNOWN = {"kind": "parametric", "means": [0.4, 0.6]}
_ATOMS = {"kind": "finite_support", "values": [[1, 0.5], [0.25, 0.75]], "y": [1, 1], "copies": [6, 4]}
STUDIES: dict[str, dict[str, Any]] = {
    "monte_carlo": {"strategies": _RULES, "pools": [_KNOWN], "budgets": {"per_arm": [4]}, "trials": 8},
    "exact": {"strategies": _RULES, "pools": [_KNOWN], "budgets": {"per_arm": [3]}, "mode": "exact"},
    "rare": {
        "strategies": _RULES[:1],
        "pools": [_ATOMS],
        "scores": [{"ball": 0.3}],
        "budgets": {"per_arm": [8]},
        "sampling": {"rows": "independent"},
        "trials": 8,
        "mode": "importance_sampling",
    },
}
_SETTINGS = {"C": 0.15, "thetas": [0.1, 0.2]}
_RUN = {"budget": "200", "table": "abc", "costs": {"ct": "5", "blood": "1.2"}}


def write_store(name: str, path: Path) -> None:
    """A finished study of a mode."""
    run(Study.from_table(STUDIES[name]), store=path, n_jobs=1, progress=False).close()


def store_answer(path: Path) -> Any:
    """Digest, summary, rows and facts."""
    with StudyResult.open(path) as result:
        facts = result.store.facts, result.store.sessions(), result.cells, result.study, result.complete
        return (result.store.digest(), result.summary(), list(result.rows()), facts)


def write_cache(path: Path) -> None:
    """Three pieces of finished work."""
    with Cache(path, _SETTINGS) as cache:
        for key in ("a", "b", "c"):
            cache.put(key, {"of": key, "values": [1.5, 2.25]})


def cache_answer(path: Path) -> Any:
    """All pieces."""
    with Cache(path, _SETTINGS) as cache:
        return [cache.get(key) for key in ("a", "b", "c")], len(cache)


def write_gated(path: Path) -> None:
    """A cascade of two small layers."""
    rng, layers = np.random.default_rng(0), []
    for width, names in ((2, ()), (3, ("extra",))):
        frame = Frame(rng.normal(size=width), np.ones(width), "gaussian", 0.7)
        tables = (rng.normal(size=(4, width)), rng.normal(size=(4, 2)), rng.normal(size=(4, 2)))
        layers.append(Layer(RejectionModel(frame, *tables, 0.3), names))
    save(_named(Cascade(tuple(layers))), path)


def write_soft(path: Path) -> None:
    """A cascade of a kernel, and of a mixture of a forest and kernels."""
    rng = np.random.default_rng(1)

    def kernel(width: int) -> KernelModel:
        heights = rng.normal(size=(len(CENTRES) * width, 3))
        limits = -3.0 * np.ones(width), 3.0 * np.ones(width)
        parts = rng.normal(size=(5, width)), rng.normal(size=(5, 3)), rng.normal(size=(5, 3))
        return KernelModel(*limits, rng.normal(size=width), np.ones(width), *parts, heights, rng.normal(size=3), 0.4)

    nodes = {"feature": [0, -2, -2], "left": [1, -1, -1], "right": [2, -1, -1], "roots": [0]}
    whole = {name: np.array(values, dtype=np.int64) for name, values in nodes.items()}
    forest = ForestModel(threshold=rng.normal(size=3), value=rng.random((3, 3)), **whole)
    mixed = StackedModel(kernel(2), MeanModel((forest, kernel(3))), 2, 0.25, (1.0, 1.5))
    law = np.array([0.5, 0.5])
    first, second = LatentModel(kernel(2), law, 0.3, 1.0), LatentModel(mixed, law, None, 1.2)
    save(_named(Cascade((Layer(first, ()), Layer(second, ("extra",))))), path)


def _named(cascade: Cascade) -> SavedModel:
    return SavedModel(cascade, np.array([0, 1]), 2, ("x0", "x1"), {"extra": ("extra",)})


def model_answer(path: Path) -> str:
    """All numbers and names of a model."""
    found = load(path)
    arrays: dict[str, Any] = {}
    described = pack(found, arrays)
    return repr((described, [(name, table.tobytes()) for name, table in arrays.items()]))


def write_rows(path: Path) -> None:
    """Rows of two sensors."""
    rng = np.random.default_rng(2)
    views = {name: rng.normal(size=(3, len(CHANNELS))) for name in SENSORS[:2]}
    save_realdisp(RealDisp(views, np.array([1, 2, 3]), np.array([0.0, 0.02, 0.04])), path)


def rows_answer(path: Path) -> Any:
    """All numbers of the rows."""
    data = load_realdisp(path)
    return {name: view.tolist() for name, view in data.views.items()}, data.y.tolist(), data.t.tolist()


def write_journal(path: Path) -> None:
    """Some values that were bought, and rows that cannot be."""
    journal = Journal.open(_RUN, path)
    rng = np.random.default_rng(3)
    for candidate, width in (("ct", 2), ("blood", 1)):
        journal.record(candidate, [(row, rng.normal(size=width).tolist()) for row in range(0, 30, 3)])
    journal.give_up("ct", [4, 7])


def journal_answer(path: Path) -> Any:
    """All values, in order."""
    journal = Journal.open(_RUN, path)
    return list(journal.values.items()), sorted(journal.lost)


def write_find(path: Path) -> None:
    """A find of a hunt."""
    path.write_bytes(Path("tests/counterexamples/lemma-2-i.toml").read_bytes())


def find_answer(path: Path) -> str:
    """Everything in it."""
    return repr(read(path))
