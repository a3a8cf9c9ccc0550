"""Instances of feature arms over the ball, where probabilities are closed forms: near-tight, tied, the corner."""

from __future__ import annotations

from collections.abc import Iterator
from functools import lru_cache
from typing import Any

from exml_sim.engine.bound_context import BoundContext
from simulations.testing.assumptions import Assumes, Instance
from theory import BoundProblem
from theory.claims import near_tight
from theory.claims.instances import failure_median, failure_uniform, parameters
from theory.claims.median import MEDIAN_CORNER
from theory.claims.near_tight import NearTight


def _kind(about: Assumes) -> near_tight.Strategy:
    if about.strategy == "uniform_allocation":
        return "uniform"
    if about.strategy != "median_elimination":
        raise ValueError(
            "near-tight instances of feature arms are for uniform_allocation and median_elimination, "
            f"got {about.strategy}"
        )
    return "median-accumulated" if about.options.get("accumulate", True) else "median-fresh"


@lru_cache(maxsize=8)
def _places(kind: near_tight.Strategy) -> tuple[tuple[NearTight, float], ...]:
    """Near-tight instances with kappa; at K = 2 all strategies compare once."""
    pairs = [
        *((near_tight.opposed(n, 0.02, kind), 1.0) for n in (2_500, 10_000, 40_000, 160_000)),
        *((near_tight.opposed(n, 0.1, kind), 1.0) for n in (25, 100, 400, 1_600)),
        *((near_tight.overfit(25, 900, kind), kappa) for kappa in (1.0, 0.25)),
        (near_tight.overfit(100, 2_500, kind), 1.0),
    ]
    if kind == "uniform":
        pairs += [(near_tight.crowd(arms, 36, 1 / 3), 1.0) for arms in (8, 64)]
    for arms, first in ((4, 10_000), (8, 10_000), (8, 22_500)):
        pairs.append((near_tight.one_rival(arms, first, 0.02, kind), 1.0))
        if kind != "uniform":
            pairs.append((near_tight.duplicates(arms, first, 0.02, kind), 1.0))
    return tuple(pairs)


def near_tight_places(about: Assumes) -> Iterator[Instance]:
    for one, kappa in _places(_kind(about)):
        known: dict[str, Any] = {"distribution": "features", "theta": one.theta, "kappa_lambda": one.r, "kappa": kappa}
        context = BoundContext(
            about.strategy, one.K, (0.0, *one.gaps), about.options, costs=(1.0,) * one.K, pairing=one.pairing, **known
        )
        yield Instance(one.name, context, one.budget, one.least, one.most, "by a closed form")


def point_of(context: BoundContext) -> BoundProblem:
    """A context of feature arms as our bounds take it."""
    rows: Any = "accumulated" if context.options.get("accumulate", True) else "fresh"
    pairing: Any = context.pairing
    return BoundProblem(
        context.K, None, context.theta, context.kappa_lambda, gaps=context.ordered, rows=rows, pairing=pairing
    )


def tied_arms(about: Assumes) -> Iterator[Instance]:
    """Two arms tie: a statement about "the best arm" that means the first one is wrong there."""
    kind = _kind(about)
    for budget in (300, 600, 800):
        name = "tied-3" if kind == "uniform" else "tied-4"
        if kind == "uniform":
            p = failure_uniform(name, budget, target=0)
        else:
            p = failure_median(name, budget, target=0, accumulate=kind == "median-accumulated")
        K, gap, theta, radius = parameters(name)
        context = BoundContext(
            about.strategy,
            K,
            (0.0, 0.0, *(gap,) * (K - 2)),
            about.options,
            distribution="features",
            theta=theta,
            kappa_lambda=radius,
            kappa=1.0,
        )
        yield Instance(f"two tied arms of {K}", context, budget, p, p, "exactly")


def corners(about: Assumes) -> Iterator[Instance]:
    from theory.claims.instances import CORNER_R, CORNER_THETA, corner_gap

    for case in MEDIAN_CORNER:
        gap = corner_gap(case["tilt"], case["third"])
        options = {**about.options, "delta": case["delta"]}
        known: dict[str, Any] = {
            "distribution": "features",
            "theta": CORNER_THETA,
            "kappa_lambda": CORNER_R,
            "kappa": 1.0,
        }
        context = BoundContext(about.strategy, 2, (0.0, gap), options, **known)
        yield Instance(f"the corner, n = {case['n']:,}", context, 2 * int(case["n"]), 0.0, 1.0, "exactly", case)
