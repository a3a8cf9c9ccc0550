"""Compute every golden quantity through the present interface; ``python -m tests.golden.record`` writes the files.

All uses of the project's names are in this module. Golden files hold none of them but the ids of claims: random streams
are stored as numbers, results under neutral keys. A renaming changes this module, and never a golden file.
"""

from __future__ import annotations

import hashlib
import inspect
import io
import json
import os
import subprocess
import sys
import tempfile
import tomllib
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager, redirect_stdout
from dataclasses import replace
from functools import cache
from pathlib import Path
from typing import Any
from unittest import mock

import numpy as np
from sklearn.datasets import load_breast_cancer, load_iris, load_wine

from exml_sim._internal.threads import one_thread
from exml_sim.bandit.scoring import SCORES
from exml_sim.classifier import AskTell, ExMLClassifier
from exml_sim.cli import main
from exml_sim.datasets import make_mfeat, make_synthetic
from exml_sim.engine import Study, replay, run
from exml_sim.engine.modes import mode_of, run_block
from exml_sim.engine.study import MODES
from exml_sim.money import show
from exml_sim.oracle import ArrayOracle
from exml_sim.rejection import factorise, solve, solve_batch, solve_low_rank
from exml_sim.strategies import STRATEGIES
from tests.golden.values import (
    collect_numbers,
    describe_machine,
    digest_exact,
    digest_rounded,
    keep_floats,
    read_json,
    round_floats,
    write_json,
)
from tests.theory.population.small_pools import generated
from theory import BoundProblem, corrected, paper, tighter
from theory.claims import all_claims
from theory.evidence import refutations
from theory.population import PopulationModel
from theory.population import required_budget as required_population_budget

HERE = Path(__file__).parent
JSON_FILES = ("trials", "ledgers", "budgets", "solutions", "verdicts", "purchases", "outputs")
BOUNDS_FILE = HERE / "bounds.npz"

# --- 1. trials ------------------------------------------------------------------------------------------------------

_PARTS = tomllib.loads((HERE / "studies.toml").read_text(encoding="utf-8"))


def _list_strategies(given: Sequence[Any]) -> list[Any]:
    """Replace the names of lists by their strategies."""
    lists = [_PARTS["strategies"].get(part) if isinstance(part, str) else None for part in given]
    expanded = [[part] if parts is None else _list_strategies(parts) for part, parts in zip(given, lists, strict=True)]
    return [strategy for strategies in expanded for strategy in strategies]


def _read_study(table: Mapping[str, Any]) -> dict[str, Any]:
    """Replace the names of pools, scores and lists of strategies in a study by what they stand for."""
    named = {f"{part}s": [_PARTS[part][name] for name in table.get(f"{part}s", ())] for part in ("pool", "score")}
    return {**table, **named, "strategies": _list_strategies(table["strategies"])}


STUDIES = {name: _read_study(table) for name, table in _PARTS["study"].items()}
STOPPED_STUDY, FEATURE_STUDY = map(_read_study, _PARTS["other"].values())
#: Studies that are too slow for every commit.
SLOW_STUDIES = ("excess",)

REWARDS_STUDY = """
trials = 100
strategies = ["uniform_allocation", "median_elimination"]
budgets = {per_arm = [8]}
[[pools]]
kind = "rewards"
file = "rewards.csv"
rows = "same"
label = "joint"
[[pools]]
kind = "rewards"
file = "rewards.csv"
rows = "independent"
direction = "minimise"
costs = ["1", "2", "0.5"]
"""


def list_uncovered() -> set[str]:
    """Return the strategies, modes and scores that no study of this module uses."""
    strategies = [part for table in STUDIES.values() for part in table["strategies"]]
    used = {part if isinstance(part, str) else part["name"] for part in strategies}
    used |= {table.get("mode", "monte_carlo") for table in STUDIES.values()}
    used |= {score["score"] for table in STUDIES.values() for score in table.get("scores", [])}
    return {*STRATEGIES, *MODES, *SCORES} - used


def run_trials(name: str, streams: Sequence[int] | None = None) -> list[dict[str, Any]]:
    """Run all cells of a study, each on its stream in the golden file, or on its own if there is none."""
    with one_thread():
        study = Study.from_table(STUDIES[name])
        return _run_cells(study, streams)


def run_rewards(streams: Sequence[int] | None = None) -> list[dict[str, Any]]:
    """Run the study whose arms are columns of a file."""
    with tempfile.TemporaryDirectory() as folder:
        rewards = np.round(np.random.default_rng(7).normal([0.3, 0.5, 0.4], 0.3, size=(40, 3)), 3)
        np.savetxt(Path(folder, "rewards.csv"), rewards, fmt="%.3f", delimiter=",", header="a,b,c", comments="")
        file = Path(folder, "study.toml")
        file.write_text(REWARDS_STUDY, encoding="utf-8")
        return _run_cells(Study.from_toml(file), streams)


def _run_cells(study: Study, streams: Sequence[int] | None) -> list[dict[str, Any]]:
    cells = study.cells()
    if streams is not None:
        assert len(streams) == len(cells), f"{len(streams)} streams are recorded for {len(cells)} cells"
        cells = tuple(replace(cell, stream=stream) for cell, stream in zip(cells, streams, strict=True))
    return [{"stream": cell.stream, "budget": cell.budget, **_run_cell(study, cell)} for cell in cells]


def _run_cell(study: Study, cell: Any) -> dict[str, Any]:
    distribution = mode_of(study).distribution
    if distribution is not None:
        return {"distribution": [round_floats(column) for column in distribution(study, cell).lines()]}
    middle = study.trials // 2
    return {"blocks": [_run_block(study, cell, *ends) for ends in ((0, middle), (middle, study.trials))]}


def _run_block(study: Study, cell: Any, first: int, stop: int) -> dict[str, Any]:
    block = run_block(study, cell, first, stop)
    measured = block.measured
    plain = bool(np.all((block.weight == 0) | (block.weight == 1)))
    return {
        "selected": digest_exact(block.selected),
        "first_selected": block.selected[:10].tolist(),
        "success": digest_exact(block.success),
        "failures": int((~block.success).sum()),
        "regret": digest_rounded(block.regret),
        "mean_regret": float(np.round(block.regret.mean(), 9)),
        "spent": digest_exact(block.spent),
        "total_spent": int(block.spent.sum()),
        "pulls": block.pulls.tolist(),
        "weights": digest_exact(block.weight.astype(int)) if plain else keep_floats(block.weight),
        "terms": None if measured is None else keep_floats(measured),
    }


@contextmanager
def neutral_streams() -> Iterator[None]:
    """Derive the stream of a cell from its budget alone, which no renaming changes."""

    def derive(spec: Any, sampling: Any, budget: Any) -> int:
        return int.from_bytes(hashlib.sha256(show(budget).encode()).digest()[:7], "big")

    with mock.patch("exml_sim.engine.study._stream", derive):
        yield


def run_stopped(n_jobs: int = 1) -> list[dict[str, Any]]:
    """Run a study whose cells stop early; the number of workers plays no role."""
    with neutral_streams():
        result = run(Study.from_table(STOPPED_STUDY), n_jobs=n_jobs, progress=False)
        lines = result.summary()
    return [
        {
            "trials": line.trials,
            "failures": line.failures,
            "interval": round_floats([line.lower, line.upper]),
            "allocation": round_floats(list(line.allocation.values())),
            "mean_spent": float(line.mean_spend),
        }
        for line in lines
    ]


def read_streams(name: str) -> list[int] | None:
    """Return the streams of a study in the golden file; None if there is no file yet."""
    if not (HERE / "trials.json").exists():
        return None
    cells = read_golden("trials").get(name)
    return None if cells is None else [cell["stream"] for cell in cells]


def record_trials() -> dict[str, Any]:
    """Run all studies, on the recorded streams if there are any."""
    trials: dict[str, Any] = {name: run_trials(name, read_streams(name)) for name in STUDIES}
    return {**trials, "rewards": run_rewards(read_streams("rewards")), "stopped": run_stopped()}


# --- 2. ledgers -----------------------------------------------------------------------------------------------------

#: Study, cell and trial of single explorations.
EXPLORATIONS = (("costs", 1, 3), ("costs", 4, 0), ("priced_features", 4, 5), ("no_replacement", 4, 2))


def record_ledgers(recorded: Mapping[str, Any]) -> dict[str, Any]:
    """Replay single trials on the recorded streams of `trials`; money as exact text."""
    return {f"{name} {cell} {trial}": _ledger(name, cell, trial, recorded) for name, cell, trial in EXPLORATIONS}


def _ledger(name: str, number: int, trial: int, recorded: Mapping[str, Any]) -> dict[str, Any]:
    study = Study.from_table(STUDIES[name])
    cell = replace(study.cells()[number], stream=recorded[name][number]["stream"])
    with one_thread():
        done = replay(study, cell, trial)
    ledger = done.ledger
    return {
        "accepted": list(done.accepted),
        "lines": [
            [e.round, done.names.index(e.arm), e.pulls, show(e.unit_cost), show(e.spent), show(e.left_over), e.short]
            for e in ledger.entries()
        ],
        "spent": show(ledger.spent),
        "left": show(ledger.left),
        "budget": show(ledger.budget),
        "rows": None if done.counts is None else digest_exact(done.counts),
    }


# --- 3. bounds ------------------------------------------------------------------------------------------------------

POINTS = 200
DESIGNS = (
    {},
    {"pairing": "independent"},
    {"pairing": "arbitrary"},
    {"kernel": "nonnegative"},
    {"optimism": "rademacher"},
    {"best_count": 2},
    {"population": 10**7},
)
#: Bounds by neutral names: a function and its options; its required arguments come from `draw_points`.
BOUNDS: dict[str, tuple[Callable[..., Any], dict[str, Any]]] = {
    "paper_failure_u": (paper.delta_fail_uniform, {}),
    "paper_failure_m": (paper.delta_fail_median, {}),
    "paper_failure_u_appendix": (paper.delta_fail_uniform_appendix, {}),
    "paper_failure_u_simplified": (paper.delta_fail_uniform_simplified, {}),
    "paper_failure_m_simplified": (paper.delta_fail_median_simplified, {}),
    "paper_pair": (paper.lemma_4, {}),
    "paper_regret_u": (paper.exploratory_regret_uniform, {}),
    "paper_regret_m": (paper.exploratory_regret_median, {}),
    "paper_excess_u": (paper.excess_risk_uniform, {}),
    "paper_excess_m": (paper.excess_risk_median, {}),
    "paper_excess_supervised": (paper.excess_risk_supervised, {}),
    "paper_deviation": (paper.lemma_3, {}),
    "corrected_failure_u": (corrected.delta_fail_uniform, {}),
    "corrected_failure_u_ties": (corrected.delta_fail_uniform, {"best_count": 2}),
    "corrected_failure_u_simplified": (corrected.delta_fail_uniform_simplified, {}),
    "corrected_failure_m": (corrected.delta_fail_median, {}),
    "corrected_failure_m_fresh": (corrected.delta_fail_median, {"rows": "fresh"}),
    "corrected_pair": (corrected.lemma_4, {}),
    "corrected_regret_u": (corrected.exploratory_regret_uniform, {}),
    "corrected_regret_m": (corrected.exploratory_regret_median, {}),
    "corrected_regret_m_fresh": (corrected.exploratory_regret_median, {"rows": "fresh", "best_count": 2}),
    "corrected_excess_u": (corrected.excess_risk_uniform, {}),
    "corrected_excess_m": (corrected.excess_risk_median, {}),
    "corrected_excess_supervised": (corrected.excess_risk_supervised, {}),
    "corrected_term_a": (corrected.term_a, {}),
    "corrected_term_d": (corrected.term_d, {}),
    "corrected_deviation": (corrected.lemma_3, {}),
    "tighter_launch": (tighter.launch_rows, {}),
    "tighter_impossible": (tighter.impossible_rows, {}),
    "tighter_regret_u": (tighter.exploratory_regret_uniform, {}),
    "tighter_excess_u": (tighter.excess_risk_uniform, {}),
    "tighter_excess_calibrated": (tighter.excess_risk_calibrated, {}),
    "tighter_selection_u": (tighter.selection_regret_uniform, {}),
    "tighter_selection_m": (tighter.selection_regret_median, {"kernel": "nonnegative"}),
    "tighter_regularised_u": (tighter.delta_fail_uniform_regularised, {}),
    "tighter_regularised_pair": (tighter.lemma_4_regularised, {}),
    "tighter_variance_pair": (tighter.lemma_4_variance, {}),
    "tighter_variance_erm": (tighter.erm_tail_variance, {}),
    "tighter_variance_comparator": (tighter.comparator_tail_variance, {}),
    **{f"tighter_failure_u_{i}": (tighter.delta_fail_uniform, dict(options)) for i, options in enumerate(DESIGNS)},
    **{f"tighter_failure_m_{i}": (tighter.delta_fail_median, dict(options)) for i, options in enumerate(DESIGNS[:6])},
    "tighter_failure_m_fresh": (tighter.delta_fail_median, {"rows": "fresh"}),
    "tighter_pair": (tighter.lemma_4, {}),
}


@cache
def draw_points() -> dict[str, Any]:
    """Draw the arguments of the closed forms, by the names that the functions give them."""
    rng = np.random.default_rng(2024)
    theta, radius = rng.uniform(0.02, 0.48, POINTS), 10.0 ** rng.uniform(-1.5, 0.3, POINTS)
    gap = rng.uniform(0.1, 0.6, POINTS) * np.minimum(radius, 1 - 2 * theta)
    K = rng.integers(3, 65, POINTS)
    n = np.ceil((radius / gap) ** 2 * 10.0 ** rng.uniform(0.0, 5.5, POINTS)).astype(np.int64)
    return {
        "theta": theta,
        "kappa_lambda": radius,
        "gap": gap,
        "K": K,
        "n": n,
        "B": n * K + rng.integers(0, 3, POINTS),
        "m": 100 * n,
        "delta": 10.0 ** rng.uniform(-4, -0.5, POINTS),
        "shift": gap / 2,
        "variance": rng.uniform(0.01, 0.25, POINTS),
        "kappa": rng.uniform(0.5, 2.0, POINTS),
        "C_h": 10.0 ** rng.uniform(-1, 1, POINTS),
        "C_g": 10.0 ** rng.uniform(-1, 1, POINTS),
        "variance_best": rng.uniform(0.01, 0.25, POINTS),
        "variance_rival": rng.uniform(0.01, 0.25, POINTS),
    }


def evaluate_bound(name: str) -> np.ndarray:
    """Evaluate a bound at all points, as a logarithm where the function offers it."""
    function, options = BOUNDS[name][0], dict(BOUNDS[name][1])
    parameters = inspect.signature(function).parameters
    required = [key for key, parameter in parameters.items() if parameter.default is inspect.Parameter.empty]
    given = {**{key: draw_points()[key] for key in required}, **options}
    given |= {key: value for key, value in (("strict", False), ("log", True)) if key in parameters}
    return np.asarray(function(**given), dtype=np.float64)


def evaluate_gaps(name: str) -> np.ndarray:
    """Evaluate our bound with one gap for each of seven other arms."""
    rng = np.random.default_rng(5)
    theta, radius = rng.uniform(0.02, 0.48, POINTS), 10.0 ** rng.uniform(-1.5, 0.3, POINTS)
    gaps = rng.uniform(0.02, 0.6, (POINTS, 7)) * np.minimum(radius, 1 - 2 * theta)[:, None]
    budgets = 8 * np.ceil((radius / gaps.min(axis=1)) ** 2 * 10.0 ** rng.uniform(-1, 3, POINTS)).astype(np.int64)
    function = {"u": tighter.delta_fail_uniform, "m": tighter.delta_fail_median}[name]
    return np.asarray(function(budgets, 8, None, theta, radius, gaps=gaps, strict=False, log=True))


def make_populations() -> list[tuple[BoundProblem, PopulationModel]]:
    """Make small populations as bounds see them."""
    pools = generated(8, seed=3, arms=3, rows=4)
    made = [PopulationModel(pool.grams, pool.y, pool.ball, pool.theta, weights=pool.p) for pool in pools]
    return [(BoundProblem(pool.n_arms, 0.1, pool.theta, float("nan"), data=pool), pool) for pool in made]


def evaluate_population(strategy: str) -> np.ndarray:
    """Evaluate the bound that knows the population, on the grid of pools, designs and budgets."""
    budgets = [6, 12, 30, 90, 300]
    rows = []
    for point, _ in make_populations():
        for design in ({}, {"pairing": "independent"}, {"rows": "fresh"}):
            rows.append(replace(point, **design).bound("population", strategy, budgets))
        rows.append([step.value for step in point.compare(strategy, 30) if step.name.startswith("population")])
    return np.concatenate([np.ravel(row) for row in rows]).astype(np.float64)


def record_bounds() -> dict[str, np.ndarray]:
    """Evaluate all bounds."""
    values = {name: evaluate_bound(name) for name in BOUNDS}
    values |= {f"tighter_gaps_{name}": evaluate_gaps(name) for name in ("u", "m")}
    return values | {f"population_{name}": evaluate_population(name) for name in ("uniform", "median")}


DESIGN_OF_POINTS = (
    {},
    {"rows": "fresh"},
    {"pairing": "independent"},
    {"kernel": "nonnegative"},
    {"population": 10**6},
)


def record_budgets() -> dict[str, Any]:
    """Find required, launch and informative budgets of all versions."""
    points = draw_points()
    problems = [
        BoundProblem(
            int(points["K"][i]), *(float(points[key][i]) for key in ("gap", "theta", "kappa_lambda")), **design
        )
        for i, design in enumerate([*DESIGN_OF_POINTS] * 4)
    ]
    pools = [pool for _, pool in make_populations()]
    budgets: dict[str, Any] = {}
    for strategy in ("uniform", "median"):
        for version in ("paper", "corrected", "tighter"):
            budgets[f"{version} {strategy}"] = [
                [
                    *(p.required(version, strategy, delta) for delta in (0.05, 1e-6)),
                    p.launch_budget(version, strategy),
                    p.informative(version, strategy),
                ]
                for p in problems
            ]
        chosen = [pools[i] for i in (0, 1, 2, 4, 5, 7)]
        budgets[f"population {strategy}"] = [required_population_budget(pool, 0.2, strategy) for pool in chosen]
    return budgets


# --- 4. solutions ---------------------------------------------------------------------------------------------------


def record_solutions() -> dict[str, Any]:
    """Solve small problems of every kind."""
    with one_thread():
        return {f"problem {seed}": _solve(seed) for seed in range(32)}


def _solve(seed: int) -> dict[str, Any]:
    rng = np.random.default_rng(seed)
    m = int(rng.integers(12, 50))
    X, y = rng.normal(size=(m, 3)), np.where(rng.random(m) < 0.5, -1.0, 1.0)
    theta, penalty, ball = float(rng.uniform(0.05, 0.45)), tuple(rng.uniform(0.05, 2.0, 2).tolist()), 1.0 + seed % 3
    squares = ((X[:, None] - X[None]) ** 2).sum(axis=-1)
    gram = np.exp(-0.5 * squares) if seed % 2 else X @ X.T + 0.1
    weights = rng.integers(0, 4, m).astype(float) + (rng.random(m) < 0.5)
    counts = rng.multinomial(m, np.full(m, 1.0 / m), size=4)
    match seed % 8:
        case 0 | 1:
            return _solution(solve(gram, y, theta, penalty=penalty, weights=weights if seed % 3 else None))
        case 2 | 3:
            return _solution(solve(gram, y, theta, ball=ball, weights=weights if seed % 3 else None))
        case 4:
            return _solution(solve(gram, y, 0.1, ball=0.05))
        case 5:
            return _scores(solve_batch(gram, y, theta, counts, penalty=penalty))
        case 6:
            return _scores(solve_batch(gram, y, theta, counts, ball=ball / 4))
        case _:
            factor = factorise(X, kernel="gaussian", gamma=0.5, rank=8 + seed % 5, seed=seed)
            return _solution(solve_low_rank(factor, y, theta, penalty=penalty))


def _solution(solution: Any) -> dict[str, Any]:
    return {
        "objective": solution.objective,
        "lower_bound": solution.lower_bound,
        "risk": solution.risk,
        "h": keep_floats(solution.h),
        "g": keep_floats(solution.g),
        "coefficients": {"bits": keep_floats(np.concatenate([solution.u, solution.w]))["bits"]},
        "dual": {"bits": keep_floats(np.concatenate([solution.alpha, solution.beta]))["bits"]},
    }


def _scores(batch: Any) -> dict[str, Any]:
    return {name: keep_floats(getattr(batch, name)) for name in ("objective", "lower_bound", "risk")}


# --- 5. verdicts ----------------------------------------------------------------------------------------------------


def record_verdicts() -> dict[str, Any]:
    """Check all claims and replay all refutations."""
    with one_thread():
        return {
            "claims": {claim.id: claim.check().outcome for claim in all_claims()},
            "corrected": {c.id: c.check_corrected().outcome for c in all_claims() if c.repaired is not None},
            "refutations": [_refutation(refutation) for refutation in refutations.REFUTATIONS],
        }


def _refutation(refutation: Any) -> list[Any]:
    done = refutations.replay(refutation)
    return [refutation.claim, done.refuted, done.exact, _side(done.left), _side(done.right)]


def _side(value: Any) -> Any:
    if isinstance(value, tuple | list):
        return [_side(part) for part in value]
    return round_floats([float(value.mid() if hasattr(value, "mid") else value)])[0]


# --- 6. purchases ---------------------------------------------------------------------------------------------------


def make_table(seed: int) -> tuple[np.ndarray, np.ndarray, dict[str, np.ndarray], dict[str, Any]]:
    """Return observed features, observed labels, candidates and costs of a table."""
    match seed % 5:
        case 0:
            return _from_population(make_synthetic(25 + 3 * seed, angles=[10, 50, 90], rng=seed))
        case 1:
            views = {"observed": "mor", "candidates": ("fac", "kar", "zer")}
            return _from_population(make_mfeat((0, 1, 2), 20 + seed, **views, rng=np.random.default_rng(seed)))
        case 2:
            return _from_toy(load_iris(), seed, observed=2)
        case 3:
            return _from_toy(load_wine(), seed, observed=4)
        case _:
            return _from_toy(load_breast_cancer(), seed, observed=8)


def _from_population(rows: Any) -> tuple[np.ndarray, np.ndarray, dict[str, np.ndarray], dict[str, Any]]:
    values = {f"c{i}": candidate.values for i, candidate in enumerate(rows.candidates)}
    return rows.X, rows.y, values, {f"c{i}": cost for i, cost in enumerate(rows.costs)}


def _from_toy(
    toy: Any, seed: int, observed: int
) -> tuple[np.ndarray, np.ndarray, dict[str, np.ndarray], dict[str, Any]]:
    rng = np.random.default_rng(seed)
    rows = rng.permutation(len(toy.target))[:150]
    X, truth = toy.data[rows], toy.target[rows]
    y = np.where(truth == 2, rng.integers(0, 2, len(rows)), truth)
    half = (observed + X.shape[1]) // 2
    values = {"c0": X[:, observed:half], "c1": X[:, half:], "c2": rng.normal(size=len(rows))}
    return X[:, :observed], y, values, {"c0": "1", "c1": "1.5", "c2": "0.7"}


def make_model(seed: int) -> ExMLClassifier:
    """Return the default model, the paper's, one with rejection, or one with other options."""
    shared = {"budget_ratio": (0.2, 0.35, 0.5)[seed % 3], "random_state": seed, "hidden_label": 9}
    match seed // 5:
        case 0:
            return ExMLClassifier(explore="always", **shared)
        case 1:
            return ExMLClassifier.paper(explore="always", **shared)
        case 2:
            return ExMLClassifier(model="rejection", strategy="successive_rejects", explore="always", **shared)
        case _:
            return ExMLClassifier(model="kernel", **shared)


TABLES = range(20)
#: The table that is explored by asking and telling.
ASKED_TABLE = 15


def record_purchase(seed: int) -> dict[str, Any]:
    """Fit one table and return every purchase and the predictions."""
    X, y, values, costs = make_table(seed)
    model = make_model(seed)
    asked = None
    if seed == ASKED_TABLE:
        asked = _ask_and_tell(model, X, y, values, costs)
    else:
        model.fit(X, y, ArrayOracle(values, costs))
    names = list(values)
    return {
        "asked": asked,
        "rows": len(y),
        "explored": bool(model.explored_),
        "selected": [names.index(name) for name in model.selected_],
        "purchases": [[p.number, p.layer, names.index(p.candidate), len(p.rows)] for p in model.purchases_],
        "purchased_rows": digest_exact([row for p in model.purchases_ for row in p.rows.tolist()]),
        "first_rows": [int(row) for p in model.purchases_ for row in p.rows.tolist()][:20],
        "spent": show(model.ledger_.spent),
        "budget": show(model.budget_),
        "predictions": digest_exact(np.asarray(model.predict(X, values)).astype(int)),
        "predicted": np.unique(np.asarray(model.predict(X, values)).astype(int), return_counts=True)[1].tolist(),
    }


def _ask_and_tell(model: Any, X: Any, y: Any, values: Mapping[str, Any], costs: Mapping[str, Any]) -> list[Any]:
    exploration = AskTell(model, X, y, costs)
    steps = []
    while request := exploration.ask():
        steps.append([[len(rows), digest_exact(rows)] for rows in request.rows.values()])
        exploration.tell({name: np.asarray(values[name])[rows] for name, rows in request.rows.items()})
    return steps


# --- 7. outputs of commands -----------------------------------------------------------------------------------------

PROBLEM = ("--K", "8", "--theta", "0.1", "--kappa-lambda", "0.5", "--gap", "0.2")
GAPS = ("--K", "4", "--theta", "0.2", "--kappa-lambda", "0.4", "--gaps", "0.1,0.15,0.2")
COLUMNS = ("--label", "y", "--observed", "x0,x1", "--candidate", "c0=c0:1", "--candidate", "c1=c1:1.2")
#: Commands by neutral names; `study.toml` and `table.csv` lie in the folder in which they run.
COMMANDS: dict[str, tuple[str, ...]] = {
    "bounds": ("bound", *PROBLEM, "--budget", "16000", "--json"),
    "bounds_gaps": ("bound", *GAPS, "--budget", "9000", "--kernel", "nonnegative", "--json"),
    "plan": ("plan", "--delta", "0.01", *PROBLEM, "--json"),
    "plan_gaps": ("plan", "--delta", "0.1", *GAPS, "--rows", "fresh", "--json"),
    "plan_study": ("plan", "study.toml", "--delta", "0.2", "--trials", "200", "--n-jobs", "1", "--quiet", "--json"),
    "plan_pilot": ("plan", "table.csv", "--pilot", "30", *COLUMNS, "--json"),
    "study": ("study", "study.toml", "--out", "out", "--n-jobs", "1", "--quiet", "--json"),
    "explore": ("explore", "table.csv", *COLUMNS, "--budget", "20%", "--preset", "paper", "--out", "e", "--json"),
    "explore_default": ("explore", "table.csv", *COLUMNS, "--budget", "60", "--out", "f", "--json"),
}
SLOW_COMMANDS = ("plan_study", "plan_pilot", "study", "explore_default")
#: Commands that evaluate bounds of a population, which depend on the earlier ones of the same process.
OWN_PROCESS = ("plan_study", "study")


def record_output(name: str) -> list[float]:
    """Run a command and return all numbers of its JSON output, sorted."""
    if name not in OWN_PROCESS:
        return run_command(name)
    arguments = [sys.executable, "-m", "tests.golden.record", name]
    done = subprocess.run(arguments, cwd=HERE.parents[1], stdout=subprocess.PIPE, check=True, text=True)
    return list(json.loads(done.stdout))


def run_command(name: str) -> list[float]:
    """Run a command of this process in a new folder."""
    output, place = io.StringIO(), Path.cwd()
    with tempfile.TemporaryDirectory() as folder, neutral_streams(), redirect_stdout(output):
        _write_inputs(Path(folder))
        os.chdir(folder)
        try:
            main(COMMANDS[name])
        except SystemExit as stop:
            if stop.code:
                raise RuntimeError(f"command {name} ended with exit code {stop.code}") from None
        finally:
            os.chdir(place)
    return collect_numbers(json.loads(output.getvalue()))


def _write_inputs(folder: Path) -> None:
    (folder / "study.toml").write_text(Study.from_table(FEATURE_STUDY).to_toml(), encoding="utf-8")
    rows = make_synthetic(30, angles=[20, 90], rng=1)
    table = np.column_stack([rows.X, *(candidate.values for candidate in rows.candidates), rows.y])
    header = "x0,x1,c0,c1,y"
    np.savetxt(folder / "table.csv", table, fmt="%.9g", delimiter=",", header=header, comments="")


# --- files ----------------------------------------------------------------------------------------------------------


def write_all() -> None:
    """Compute everything and write the golden files."""
    trials = record_trials()
    tables = {
        "trials": trials,
        "ledgers": record_ledgers(trials),
        "budgets": record_budgets(),
        "solutions": record_solutions(),
        "verdicts": record_verdicts(),
        "purchases": {f"table {seed}": record_purchase(seed) for seed in TABLES},
        "outputs": {name: record_output(name) for name in COMMANDS},
        "machine": describe_machine(),
    }
    for name, tree in tables.items():
        write_json(HERE / f"{name}.json", tree)
    np.savez_compressed(BOUNDS_FILE, **record_bounds())


def read_golden(name: str) -> Any:
    """Read one golden file."""
    return read_json(HERE / f"{name}.json")


if __name__ == "__main__":
    if len(sys.argv) > 1:
        print(json.dumps(run_command(sys.argv[1])))
    else:
        write_all()
