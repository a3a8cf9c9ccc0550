"""Saving a fitted ExMLClassifier as plain arrays and JSON in one .npz file, and using it again.

No pickle: a file from a stranger cannot run code. The file holds the training rows that the kernel models need, so it
is as confidential as the data.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from exml_sim import archives
from exml_sim.arrays import FloatArray
from exml_sim.classifier import saved_soft
from exml_sim.classifier.cascade import Cascade, Decisions, Layer
from exml_sim.classifier.decisions import asker, explanations, labelled
from exml_sim.classifier.gated import KERNELS, Frame, GatedModel
from exml_sim.classifier.latent import LatentModel
from exml_sim.classifier.layout import Layout
from exml_sim.oracle import Oracle
from exml_sim.validation import check_matrix

if TYPE_CHECKING:
    from exml_sim.classifier.explorer import Explorer

FORMAT = "exml model"
VERSION = 1
#: Of files with layers that know the hidden class as a class.
LATENT_VERSION = 2
_ARRAYS = ("shift", "scale", "anchors", "u", "w")


@dataclass(frozen=True, slots=True, eq=False)
class SavedModel:
    """A cascade with its labels and the names of its columns: all that predicting takes.

    Attributes
    ----------
    cascade
        The layers.
    classes
        Known classes.
    hidden_label
        Label of the hidden class.
    observed
        Names of the observed columns, in order.
    columns
        Names of the columns of every candidate that the cascade needs.
    layout
        Columns of X, if the model was trained on a table with candidates in it or with names.
    """

    cascade: Cascade
    classes: NDArray[Any]
    hidden_label: Any
    observed: tuple[str, ...]
    columns: dict[str, tuple[str, ...]]
    layout: Layout | None = None

    def decide(self, X: ArrayLike, values: Oracle | Mapping[str, ArrayLike] | None = None) -> Decisions:
        """As `ExMLClassifier.decide`."""
        points = check_matrix(X, "X")
        if points.shape[1] != len(self.observed):
            raise ValueError(f"the model was trained on {len(self.observed)} observed columns, got {points.shape[1]}")
        return self.cascade.decide(points, asker(values, self.cascade.candidates, len(points)))

    def labels(self, decisions: Decisions, undecided: Any = None) -> NDArray[Any]:
        """Labels of decided rows; `undecided` for rows that lack a value."""
        return labelled(decisions, self.classes, self.hidden_label, undecided)

    def explain(self, decisions: Decisions) -> list[str]:
        """One sentence per row."""
        return explanations(decisions, self.cascade, self.classes, self.hidden_label)


def to_saved(
    model: Explorer,
    observed: Sequence[str] | None = None,
    columns: Mapping[str, Sequence[str]] | None = None,
) -> SavedModel:
    """Take from a fitted classifier what predicting takes.

    Parameters
    ----------
    observed, columns
        Names of the columns; numbered names by default.
    """
    width = len(model.layout_.observed)
    names = tuple(observed) if observed is not None else tuple(f"x{i}" for i in range(width))
    if len(names) != width:
        raise ValueError(f"{width} observed columns need as many names, got {len(names)}")
    needed = model.cascade_.candidates
    given = columns or {}
    named = {
        name: tuple(given[name]) if name in given else _numbered(name, model.widths_[name], bool(columns))
        for name in needed
    }
    return SavedModel(model.cascade_, model.classes_, model.hidden_label, names, named, model.layout_)


def save(saved: SavedModel, path: Path) -> None:
    """Write the file; an existing one is not overwritten.

    Raises
    ------
    ValueError
        If a layer is a user's own estimator, which is no plain array.
    """
    packed = [_packed(layer) for layer in saved.cascade.layers]
    manifest = {
        "format": FORMAT,
        "version": VERSION if all("kind" not in about for about, _ in packed) else LATENT_VERSION,
        "classes": saved.classes.tolist(),
        "hidden_label": _plain(saved.hidden_label),
        "observed": list(saved.observed),
        "columns": {name: list(cols) for name, cols in saved.columns.items()},
        "layers": [about for about, _ in packed],
        "layout": None if saved.layout is None else saved.layout.facts(),
    }
    arrays: dict[str, Any] = {"manifest": np.array(json.dumps(manifest))}
    for number, (_, tables) in enumerate(packed):
        arrays |= {f"{name}_{number}": table for name, table in tables.items()}
    with path.open("xb") as file:
        np.savez_compressed(file, **arrays)


def _packed(layer: Layer) -> tuple[dict[str, Any], dict[str, Any]]:
    """What the manifest says about a layer, and its arrays."""
    about: dict[str, Any] = {"candidates": list(layer.candidates), "theta": layer.model.theta}
    if isinstance(layer.model, LatentModel):
        soft, tables = saved_soft.pack(layer.model.soft)
        return about | {"kind": "latent", "soft": soft, "odds": layer.model.odds}, tables | {"law": layer.model.law}
    model = layer.model
    arrays = (model.frame.shift, model.frame.scale, model.anchors, model.u, model.w)
    about |= {"kernel": model.frame.kernel, "gamma": model.frame.gamma}
    return about, dict(zip(_ARRAYS, arrays, strict=True))


def load(path: Path) -> SavedModel:
    """Read a file that `save` wrote.

    Raises
    ------
    ValueError
        If it is something else, or damaged.
    """
    with archives.open_archive(path, "a model that exml explore saved") as file:
        if "manifest" not in file:
            raise ValueError("it holds no manifest")
        manifest = json.loads(str(file["manifest"]))
        if manifest.get("format") != FORMAT or manifest.get("version") not in (VERSION, LATENT_VERSION):
            raise ValueError(f"it is not of the format {FORMAT!r}, version {VERSION} or {LATENT_VERSION}")
        layers = tuple(_layer(file, manifest, number) for number in range(len(manifest["layers"])))
        return _assembled(manifest, layers)


def _layer(file: Any, manifest: Mapping[str, Any], number: int) -> Layer:
    about = manifest["layers"][number]
    if about.get("kind") == "latent":
        return _latent_layer(file, manifest, number)
    shift, scale, anchors, u, w = (_numbers(file[f"{name}_{number}"], name) for name in _ARRAYS)
    n, d = anchors.shape
    shapes = (shift.shape, scale.shape, u.shape, w.shape)
    classes = len(manifest["classes"])
    if shapes != ((d,), (d,), (n, classes), (n, classes)):
        raise ValueError(f"the arrays of layer {number + 1} do not fit together")
    if about["kernel"] not in KERNELS or not float(about["gamma"]) > 0.0:
        raise ValueError(f"layer {number + 1} has no usable kernel")
    frame = Frame(shift, scale, about["kernel"], float(about["gamma"]))
    return Layer(GatedModel(frame, anchors, u, w, float(about["theta"])), tuple(map(str, about["candidates"])))


def _latent_layer(file: Any, manifest: Mapping[str, Any], number: int) -> Layer:
    about, classes = manifest["layers"][number], len(manifest["classes"])
    law = _numbers(file[f"law_{number}"], "law")
    if law.shape != (classes,) or not ((law >= 0.0) & (law < 1.0)).all():
        raise ValueError(f"layer {number + 1} has no usable law of mislabelling")
    candidates = tuple(map(str, about["candidates"]))
    width = len(manifest["observed"]) + sum(len(manifest["columns"][name]) for name in candidates)
    soft = saved_soft.unpack(about["soft"], lambda name: file[f"{name}_{number}"], classes + 1, width)
    theta = None if about["theta"] is None else float(about["theta"])
    odds = float(about["odds"])
    if not odds > 0.0:
        raise ValueError(f"layer {number + 1} has no usable odds")
    return Layer(LatentModel(soft, law, theta, odds), candidates)


def _assembled(manifest: Mapping[str, Any], layers: tuple[Layer, ...]) -> SavedModel:
    cascade = Cascade(layers)
    observed = tuple(map(str, manifest["observed"]))
    columns = {str(name): tuple(map(str, cols)) for name, cols in manifest["columns"].items()}
    for number, layer in enumerate(layers, 1):
        width = len(observed) + sum(len(columns.get(name, ())) for name in layer.candidates)
        if isinstance(layer.model, GatedModel) and width != layer.model.anchors.shape[1]:
            raise ValueError(f"layer {number} has {layer.model.anchors.shape[1]} columns, not {width}")
    layout = None if manifest.get("layout") is None else Layout.from_facts(manifest["layout"])
    return SavedModel(cascade, np.array(manifest["classes"]), manifest["hidden_label"], observed, columns, layout)


def _numbers(array: NDArray[Any], name: str) -> FloatArray:
    if array.dtype != np.float64 or not np.isfinite(array).all():
        raise ValueError(f"{name} must be finite numbers")
    return array


def _numbered(name: str, width: int, some_given: bool) -> tuple[str, ...]:
    if some_given:
        raise ValueError(f"the columns of candidate {name!r} are not named")
    return (name,) if width == 1 else tuple(f"{name}{i}" for i in range(width))


def _plain(label: Any) -> Any:
    return label.item() if isinstance(label, np.generic) else label
