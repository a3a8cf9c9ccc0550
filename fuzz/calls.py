"""Random calls of public functions with odd arguments: an answer, or a message that this project wrote."""

from __future__ import annotations

import ast
import linecache
import traceback
import warnings
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from functools import cache
from pathlib import Path
from random import Random
from typing import Any

import numpy as np
from hypothesis import strategies as st

import exml_sim as api
from exml_sim import kernels
from exml_sim.datasets import make_mfeat, make_synthetic
from exml_sim.money import exact
from exml_sim.oracle import ArrayOracle
from exml_sim.population import Population
from exml_sim.rejection import RejectionClassifier, solve, solve_batch
from fuzz.case import HANG, Finding, check_message
from theory import corrected, paper, tighter

ROOT = Path(__file__).parents[1]
X = np.random.default_rng(0).normal(size=(12, 2))
Y = np.where(X[:, 0] > 0, 1, -1)
_POINT = {"B": 80_000, "K": 8, "gap": 0.2, "theta": 0.1, "kappa_lambda": 0.5}


def _fit(budget: Any = 20, X: Any = X, y: Any = Y, a: Any = X[:, 0], **options: Any) -> Any:
    return api.ExMLClassifier(budget=budget, **options).fit(X, y, ArrayOracle({"a": a}))


def _explore(means: Any, strategy: Any, budget: Any, rng: Any, costs: Any) -> Any:
    return api.ParametricPool.bernoulli(means, costs).explore(strategy, budget, rng)


def _explore_many(means: Any, strategy: Any, budget: Any, trials: Any, seed: Any, n_jobs: Any) -> Any:
    pool = api.ParametricPool.bernoulli(means)
    return pool.explore_many(strategy, budget, trials, seed=seed, n_jobs=n_jobs)


def _bound(function: Callable[..., Any]) -> tuple[Callable[..., Any], dict[str, Any]]:
    def call(B: Any, K: Any, gap: Any, theta: Any, kappa_lambda: Any) -> Any:
        return function(B, K, gap, theta, kappa_lambda)

    return call, _POINT


_PROBLEM = {"gram": kernels.gram(X), "y": Y, "theta": 0.3}
#: Functions, and arguments that they accept.
CALLS: Mapping[str, tuple[Callable[..., Any], dict[str, Any]]] = {
    "exact": (exact, {"amount": "0.95"}),
    "gram": (kernels.gram, {"X": X, "kernel": "gaussian", "gamma": "median"}),
    "median_gamma": (kernels.median_gamma, {"X": X, "weights": None}),
    "gaussian": (kernels.gaussian, {"X": X, "Z": X, "gamma": 1.0}),
    "solve": (solve, {**_PROBLEM, "weights": None, "penalty": (1.0, 1.0), "tol": 1e-8}),
    "solve ball": (solve, {**_PROBLEM, "weights": np.ones(12), "ball": 0.5, "method": "auto"}),
    "solve_batch": (
        solve_batch,
        {**_PROBLEM, "counts": np.ones((2, 12), dtype=int), "penalty": (1.0, 1.0), "n_jobs": 1},
    ),
    "RejectionClassifier": (
        lambda X, y, **options: RejectionClassifier(**options).fit(X, y).predict(X),
        {"X": X, "y": Y, "theta": 0.3, "C_h": 1.0, "C_g": 1.0, "kernel": "gaussian", "gamma": "median", "loss": "sum"},
    ),
    "ExMLClassifier": (_fit, {"budget": 20, "X": X, "y": Y, "a": X[:, 0], "hidden": "class", "random_state": 0}),
    "explore": (
        _explore,
        {"means": [0.6, 0.4], "strategy": "uniform_allocation", "budget": 8, "rng": 0, "costs": [1, 1]},
    ),
    "explore_many": (
        _explore_many,
        {"means": [0.6, 0.4], "strategy": "median_elimination", "budget": 8, "trials": 3, "seed": 0, "n_jobs": 1},
    ),
    "Population": (lambda **given: Population(**given), {"X": X, "y": Y, "candidates": {"a": X[:, 0]}}),
    "ArrayOracle": (ArrayOracle, {"values": {"a": X[:, 0]}, "costs": {"a": 1}}),
    "make_synthetic": (make_synthetic, {"per_class": 4, "angles": [10, 90], "rng": 0}),
    "make_mfeat": (
        make_mfeat,
        {"digits": (0, 1, 2), "per_class": 3, "observed": "kar", "candidates": ("mor", "zer"), "rng": 0},
    ),
    "Study": (api.Study.from_table, {"table": {}}),
    **{f"{module.__name__} uniform": _bound(module.delta_fail_uniform) for module in (paper, corrected, tighter)},
    **{f"{module.__name__} median": _bound(module.delta_fail_median) for module in (paper, corrected, tighter)},
}
#: Arguments of the wrong type, shape or size, by name so that a case is plain data.
ODD: Mapping[str, Any] = {
    "None": None, "-1": -1, "0": 0, "0.5": 0.5, "True": True, "nan": float("nan"), "inf": float("inf"),
    "1e308": 1e308, "10**30": 10**30, "text": "text", "empty text": "", "zero byte": "\x00", "list": [],
    "nested": [[1], [2, 3]],
    "texts": ["a", "b"], "dict": {}, "dict of a list": {"a": [1]}, "object": object(), "bytes": b"x",
    "complex": 1j, "empty array": np.empty((0, 2)), "3-D": np.zeros((2, 2, 2)), "scalar array": np.array(1.0),
    "NaN array": np.full((12, 2), np.nan), "huge array": np.full((12, 2), 1e300), "bools": np.ones(12, dtype=bool),
    "objects": np.array([None] * 12), "dates": np.zeros(12, dtype="datetime64[s]"), "row": np.ones(12),
    "generator": iter([1]),
    "tuple": (1, 2), "negative": -np.ones(12), "equal": np.ones((12, 2)), "Ellipsis": ...,
}  # fmt: skip


class Calls:
    """Calls with one or two odd arguments."""

    name, share, timeout, is_interruptible = "calls", 0.15, HANG, False

    def __init__(self) -> None:
        for function, usual in CALLS.values():
            if usual != {"table": {}}:
                function(**usual)

    #: Lists of calls, because drawing one at a time takes longer than the call.
    cases = st.lists(st.integers(0, 2**62).map(lambda seed: draw_call(Random(seed))), min_size=25, max_size=25)

    def judge(self, case: Sequence[Mapping[str, Any]]) -> Counter[str]:
        """Check for an answer, or an error that was raised by a line of this project."""
        return Counter(_judge_call(call["call"], call["odd"]) for call in case)


def draw_call(random: Random) -> dict[str, Any]:
    """Draw a function and one or two odd arguments of it."""
    name = random.choice(sorted(CALLS))
    usual = sorted(CALLS[name][1])
    odd = random.sample(usual, min(random.randint(1, 2), len(usual)))
    return {"call": name, "odd": {argument: random.choice(sorted(ODD)) for argument in odd}}


def _judge_call(name: str, odd: Mapping[str, str]) -> str:
    function, usual = CALLS[name]
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            function(**{**usual, **{argument: ODD[value] for argument, value in odd.items()}})
        except (ValueError, TypeError) as error:
            if not is_ours(error):
                raise Finding(f"{name} with {odd}: raw {type(error).__name__}: {error}") from error
            if not _is_from_sklearn(error):
                check_message(error)
            return "refused"
        except (Finding, MemoryError):
            raise
        except Exception as error:
            raise Finding(f"{name} with {odd}: raw {type(error).__name__}: {error}") from error
    return "answered"


def is_ours(error: BaseException) -> bool:
    """Whether a statement `raise` of this repository raised an error, or scikit-learn's check of a table."""
    if _is_from_sklearn(error):
        return True
    file, line = _list_places(error)[-1]
    return file.startswith(str(ROOT)) and line in _list_raises(file)


def _is_from_sklearn(error: BaseException) -> bool:
    """Whether scikit-learn checked an argument: its estimators must answer in its words."""
    return any("sklearn/utils" in file for file, _ in _list_places(error))


def _list_places(error: BaseException) -> list[tuple[str, int]]:
    return [(frame.f_code.co_filename, line) for frame, line in traceback.walk_tb(error.__traceback__)]


@cache
def _list_raises(file: str) -> frozenset[int]:
    tree = ast.parse("".join(linecache.getlines(file)))
    raises = (node for node in ast.walk(tree) if isinstance(node, ast.Raise))
    return frozenset(line for node in raises for line in range(node.lineno, (node.end_lineno or node.lineno) + 1))
