"""Points at which the page's bounds are held against `theory`, and the comparison."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np

from theory import BoundProblem, constants
from theory.versions import VERSIONS

THEORY = {
    (name, strategy): bound
    for name, told in VERSIONS.items()
    if told.formula
    for strategy, bound in told.functions.items()
}
#: The two sides use other logarithms and exponentials, each right to the last digit or two; the relative entropy
#: cancels, which costs some more.
TOLERANCE = 1e-9


def points(number: int, seed: int = 0) -> Iterator[dict[str, Any]]:
    """Random points: in and out of the affine regime, below and above launch, with impossible gaps too."""
    rng = np.random.default_rng(seed)
    for _ in range(number):
        K = int(rng.integers(2, 41))
        theta = float(rng.choice([rng.uniform(0.005, 0.495), 0.1, 0.2929, 0.45]))
        r = float(10 ** rng.uniform(-2, 1.2))
        ceiling = float(constants.gap_ceiling(theta, r))
        gap = ceiling * float(rng.choice([10 ** rng.uniform(-2.5, 0), 1.0, 1.01], p=[0.9, 0.07, 0.03]))
        gaps = None
        if rng.random() < 0.4:
            K = min(K, 12)
            # Some pools keep a largest gap that no population has, though the smallest is possible.
            top = np.inf if rng.random() < 0.25 else max(ceiling, gap)
            gaps = np.sort(np.clip(gap * 10 ** rng.uniform(0, 1, K - 1), 0, top))
            gaps[: int(rng.integers(0, 3)) if K > 3 and rng.random() < 0.3 else 0] = 0.0
            gaps = [float(g) for g in gaps]
        launch = 16 * (float(constants.rademacher_constant(theta)) * r / gap) ** 2
        rows = max(1.0, launch * 10 ** rng.uniform(-2.5, 1.5))
        budget = int(min(rows * K * rng.choice([1, math.log2(K)]), 2**50)) + int(rng.integers(0, K))
        yield {
            "B": max(budget, 1),
            "K": K,
            "theta": theta,
            "r": r,
            "gap": gap if gaps is None else min(g for g in gaps if g > 0),
            "gaps": gaps,
            "bestCount": 1 if gaps is not None else int(rng.integers(1, min(3, K))) if K > 2 else 1,
            "rows": str(rng.choice(["accumulated", "fresh"])),
            "pairing": str(rng.choice(["same", "independent", "arbitrary"])),
            "kernel": str(rng.choice(["any", "nonnegative"])),
            "population": int(max(1, rows * 10 ** rng.uniform(-0.3, 1))) if rng.random() < 0.2 else None,
        }


def as_point(point: dict[str, Any]) -> BoundProblem:
    """The point of the page as one of `theory`."""
    known = {name: point[name] for name in ("rows", "pairing", "kernel", "population")}
    known |= {"best_count": point["bestCount"], "gaps": point["gaps"]}
    return BoundProblem(point["K"], None if point["gaps"] else point["gap"], point["theta"], point["r"], **known)


def arguments(level: str, strategy: Any, point: dict[str, Any]) -> dict[str, Any]:
    """The point as arguments of a function of `theory`, the budget aside."""
    return VERSIONS[level].arguments(as_point(point), strategy)


def expected(cases: Sequence[tuple[str, str, dict[str, Any]]]) -> list[float]:
    """What `theory` says, as logarithms; nothing about a pool whose largest gap no population has."""
    return [float(as_point(point).bound(level, kind, point["B"], log=True)) for level, kind, point in cases]


def possible(point: dict[str, Any]) -> bool:
    """Whether the largest gap is below its ceiling, up to the rounding that `theory` allows."""
    return max(point["gaps"] or [point["gap"]]) <= constants.gap_ceiling(point["theta"], point["r"]) * (1 + 1e-12)


def only_the_largest_gap_is_impossible(point: dict[str, Any]) -> bool:
    """The points where a test of the smallest gap would let a bound speak."""
    return not possible(point) and possible({**point, "gaps": None})


def cases(number: int, seed: int = 0) -> list[tuple[str, str, dict[str, Any]]]:
    """Every point with every bound."""
    return [(level, strategy, point) for point in points(number, seed) for level, strategy in THEORY]


#: JSON has no NaN and no infinity, so they travel as words.
EVALUATE = (
    """cases => cases.map(([level, strategy, point]) => String(exml.bounds.logDeltaFail(level, strategy, point)))"""
)


def read(texts: Sequence[str]) -> list[float]:
    """Numbers as JavaScript writes them."""
    words = {"NaN": math.nan, "Infinity": math.inf, "-Infinity": -math.inf}
    return [words[text] if text in words else float(text) for text in texts]


def differences(found: Sequence[float], wanted: Sequence[float]) -> list[int]:
    """Where the two sides differ: by more than the tolerance, or by which of them is not a number."""
    wrong = []
    for i, (one, other) in enumerate(zip(found, wanted, strict=True)):
        if math.isnan(one) or math.isnan(other):
            same = math.isnan(one) and math.isnan(other)
        else:
            same = one == other or abs(one - other) <= TOLERANCE * max(1.0, abs(other))
        if not same:
            wrong.append(i)
    return wrong
