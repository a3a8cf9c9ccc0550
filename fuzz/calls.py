"""Random calls of public functions with odd arguments: an answer, or a message that this project wrote."""

from __future__ import annotations

import linecache
import traceback
import warnings
from collections import Counter
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import numpy as np
from hypothesis import strategies as st

import exml_sim as api
from exml_sim import kernels
from exml_sim._internal.validation import shown
from exml_sim.datasets import make_mfeat, make_synthetic
from exml_sim.money import exact
from exml_sim.oracle import ArrayOracle
from exml_sim.population import Population
from exml_sim.rejection import RejectionClassifier, solve, solve_batch
from fuzz.fuzzer import Finding, Fuzzer, check_message
from fuzz.inputs import ODD_VALUES, STUDIES
from theory import corrected, paper, tighter

ROOT = Path(__file__).parents[1]
X = np.random.default_rng(0).normal(size=(12, 2))
Y = np.where(X[:, 0] > 0, 1, -1)
_POINT = {"B": 80_000, "K": 8, "gap": 0.2, "theta": 0.1, "kappa_lambda": 0.5}
_POOL = api.ParametricPool.bernoulli([0.6, 0.4])


_PROBLEM = {"gram": kernels.gram(X), "y": Y, "theta": 0.3}
#: Functions, and arguments that they accept.
CALLS: Mapping[str, tuple[Callable[..., Any], dict[str, Any]]] = {
    "exact": (exact, {"amount": "0.95"}),
    "gram": (kernels.gram, {"X": X, "kernel": "gaussian", "gamma": "median"}),
    "median_gamma": (kernels.median_gamma, {"X": X, "weights": None}),
    "gaussian": (kernels.gaussian, {"X": X, "Z": X, "gamma": 1.0}),
    "solve": (solve, {**_PROBLEM, "weights": None, "penalty": (1.0, 1.0), "tol": 1e-8}),
    "solve ball": (solve, {**_PROBLEM, "weights": np.ones(12), "ball": 0.5, "method": "auto"}),
    "solve_batch": (solve_batch, {**_PROBLEM, "counts": np.ones((2, 12), int), "penalty": (1.0, 1.0), "n_jobs": 1}),
    "RejectionClassifier": (
        lambda X, y, **options: RejectionClassifier(**options).fit(X, y).predict(X),
        {"X": X, "y": Y, "theta": 0.3, "C_h": 1.0, "C_g": 1.0, "kernel": "gaussian", "gamma": "median", "loss": "sum"},
    ),
    "ExMLClassifier": (
        lambda X, y, a, **options: api.ExMLClassifier(**options).fit(X, y, ArrayOracle({"a": a})),
        {"budget": 20, "X": X, "y": Y, "a": X[:, 0], "hidden": "class", "random_state": 0},
    ),
    "ParametricPool": (api.ParametricPool.bernoulli, {"means": [0.6, 0.4], "costs": [1, 1]}),
    "explore": (_POOL.explore, {"strategy": "uniform_allocation", "budget": 8, "rng": 0}),
    "explore_many": (
        _POOL.explore_many,
        {"strategy": "median_elimination", "budget": 8, "trials": 3, "seed": 0, "n_jobs": 1},
    ),
    "Population": (Population, {"X": X, "y": Y, "candidates": {"a": X[:, 0]}}),
    "ArrayOracle": (ArrayOracle, {"values": {"a": X[:, 0]}, "costs": {"a": 1}}),
    "make_synthetic": (make_synthetic, {"per_class": 4, "angles": [10, 90], "rng": 0}),
    "make_mfeat": (
        make_mfeat,
        {"digits": (0, 1, 2), "per_class": 3, "observed": "kar", "candidates": ("mor", "zer"), "rng": 0},
    ),
    "Study": (api.Study.from_table, {"table": STUDIES[0]}),
    **{f"{module.__name__} uniform": (module.delta_fail_uniform, _POINT) for module in (paper, corrected, tighter)},
    **{f"{module.__name__} median": (module.delta_fail_median, _POINT) for module in (paper, corrected, tighter)},
}
#: Arguments of the wrong type, shape or size, besides those of study files.
ODD_OBJECTS: list[Any] = [
    None, "text", [[1], [2, 3]], ["a", "b"], object(), b"x", 1j, iter([1]), (1, 2), ...,
    np.empty((0, 2)), np.zeros((2, 2, 2)), np.array(1.0), np.full((12, 2), np.nan), np.full((12, 2), 1e300),
    np.ones(12, dtype=bool), np.array([None] * 12), np.zeros(12, dtype="datetime64[s]"), np.ones(12), -np.ones(12),
    np.ones((12, 2)),
]  # fmt: skip


class Calls(Fuzzer):
    """Calls with one or two odd arguments."""

    # Many trials that were asked for may take long.
    name, share, batch, is_interruptible = "calls", 0.15, 20, True

    def __init__(self, calls: Mapping[str, tuple[Callable[..., Any], dict[str, Any]]] = CALLS) -> None:
        super().__init__()
        self.calls = calls
        for function, usual in calls.values():
            function(**usual)
        odd = st.sampled_from(ODD_OBJECTS) | ODD_VALUES
        call = st.sampled_from(sorted(calls)).flatmap(
            lambda name: st.tuples(
                st.just(name), st.dictionaries(st.sampled_from(sorted(calls[name][1])), odd, max_size=2)
            )
        )
        # Lists of calls, because drawing one at a time takes longer than the call.
        self.cases = st.lists(call, min_size=1, max_size=25)

    def judge(self, case: Any) -> Counter[str]:
        """Check for an answer, or an error that was raised by a line of this project."""
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            return Counter(_judge_call(name, odd, *self.calls[name]) for name, odd in case)


def _judge_call(name: str, odd: Mapping[str, Any], function: Callable[..., Any], usual: Mapping[str, Any]) -> str:
    try:
        function(**{**usual, **odd})
    except (ValueError, TypeError) as error:
        places = [(frame.f_code.co_filename, line) for frame, line in traceback.walk_tb(error.__traceback__)]
        file, line = places[-1]
        # scikit-learn's estimators must answer in its words.
        if not any("sklearn/utils" in file for file, _ in places):
            if not file.startswith(str(ROOT)) or not linecache.getline(file, line).lstrip().startswith("raise "):
                raise Finding(f"{name} with {shown(odd)}: raw {type(error).__name__}: {error}") from error
            check_message(error)
        return "refused"
    return "answered"
