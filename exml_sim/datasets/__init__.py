"""Provide populations to explore: synthetic, graded gaps, Mfeat (shipped), RealDisp (the user's download).

A file NAME.py with a function `make_NAME(..., rng)` that returns a `Population` is a data set that studies know by its
name.
"""

import inspect
from collections.abc import Callable, Mapping
from typing import Any

from exml_sim._internal.validation import check_choice
from exml_sim.datasets.graded import make_graded
from exml_sim.datasets.mfeat import Mfeat, load_mfeat, make_mfeat
from exml_sim.datasets.realdisp import load_realdisp, read_realdisp
from exml_sim.datasets.synthetic import make_synthetic
from exml_sim.plugins import modules
from exml_sim.population import Population

__all__ = [
    "DATASETS",
    "Mfeat",
    "by_name",
    "load_mfeat",
    "load_realdisp",
    "make_graded",
    "make_mfeat",
    "make_synthetic",
    "read_realdisp",
]


#: The functions of this folder that make populations, by name.
DATASETS: Mapping[str, Callable[..., Population]] = {
    name: make
    for module in modules(__name__)
    for name in (module.__name__.rpartition(".")[2],)
    if (make := getattr(module, f"make_{name}", None)) is not None
}


def by_name(name: str, /, **options: Any) -> Population:
    """Make a population of a data set, e.g. `by_name("graded", gaps=[0, 0.1], ball=0.3, rng=0)`.

    Raises
    ------
    ValueError
        If there is no such data set, or it does not take the options.
    """
    make = DATASETS[check_choice(name, "data set", DATASETS)]
    try:
        inspect.signature(make).bind(**options)
    except TypeError as error:
        takes = ", ".join(inspect.signature(make).parameters)
        raise ValueError(f"data set {name!r}: {error}; it takes {takes}") from None
    try:
        return make(**options)
    except (TypeError, ValueError, ArithmeticError, LookupError) as error:
        given = ", ".join(f"{key}={value!r}" for key, value in options.items() if key != "rng")
        raise ValueError(f"data set {name!r} cannot be made of {given or 'its defaults'}: {error}") from None
