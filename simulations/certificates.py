"""Budgets certified by simulation, P[failure] <= delta with confidence 1 - alpha, for all that the engine simulates."""

from __future__ import annotations

from typing import Any

from exml_sim.engine.study import Study
from exml_sim.money import Money, exact, show
from simulations._certification import (
    ALPHA,
    Attempt,
    Certificate,
    certify_cell,
    read_certificates,
    replay,
    search_budget,
)

__all__ = ["Attempt", "Certificate", "certified_budget", "certify", "read_certificates", "replay"]


def certify(
    pool: Any,
    strategy: Any,
    budget: Money,
    delta: float,
    alpha: float = ALPHA,
    *,
    max_trials: int | None = None,
    n_jobs: int = 1,
    **parts: Any,
) -> Certificate:
    """Certify that a strategy fails with probability at most delta at a budget.

    Below 1e-4 this needs uniform allocation, the same rows for all arms, and kappa Lambda at most 1 - 2 theta.

    Parameters
    ----------
    pool, strategy : table or object
        As in a `Study`; names, tables with options, and plug-ins.
    budget : Money
        Budget of a trial.
    delta, alpha : float
        Failure probability to certify, and the probability of a wrong certificate.
    max_trials : int, optional
        Trials after which the attempt gives up; 400,000, or 64 / delta below 1e-4.
    n_jobs : int
        Threads.
    **parts
        Further parts of the `Study`: scores (at most one), sampling, plugins.
    """
    study = _make_study(pool, strategy, {"absolute": [show(exact(budget))]}, **parts)
    return certify_cell(study, study.cells()[0], delta, alpha, max_trials=max_trials, n_jobs=n_jobs)


def certified_budget(
    pool: Any,
    strategy: Any,
    delta: float,
    alpha: float = ALPHA,
    *,
    max_trials: int | None = None,
    n_jobs: int = 1,
    **parts: Any,
) -> Certificate:
    """Search for the smallest budget whose failure probability is certified; parameters as in `certify`.

    Budgets are whole pulls per arm. A trial run with a seed of its own chooses where the attempts begin.
    """
    study = _make_study(pool, strategy, {"per_arm": [1]}, **parts)
    return search_budget(study, study.cells()[0], delta, alpha, max_trials=max_trials, n_jobs=n_jobs)


def _make_study(pool: Any, strategy: Any, budgets: Any, plugins: Any = (), **parts: Any) -> Study:
    study = Study.from_table({"pools": [pool], "strategies": [strategy], "budgets": budgets, **parts}, plugins)
    if len(study.cells()) != 1:
        raise ValueError(f"a certificate is about one score, got {len(study.scores)}")
    return study
