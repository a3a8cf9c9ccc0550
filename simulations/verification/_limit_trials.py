"""Trials of the limits of the risk from counts on unseen rows (Theorems 19 and 20), beside Theorems 1 and 2.

The bounds of Theorems 1 and 2 cannot be approached: in the affine regime with a nonnegative kernel the returned model
rejects every row, and its excess risk is constant. In these trials the model accepts rows of Section 5.1's
distribution, and every trial draws rows of its own: uniform allocation scores all candidates on n rows each, median
elimination spends the same budget. The limits come from counts on rows that the model has not seen. The true risk is
known because the distribution is.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING

import numpy as np

from exml_sim._internal.arrays import IntArray
from exml_sim.engine._specs import Score
from exml_sim.engine.modes._excess_risk import FRESH, Model, Sample, draw, expected, features, fitted
from exml_sim.engine.pools import SyntheticPool
from exml_sim.losses import rejection_loss
from simulations.verification._cells import (
    ALPHA,
    FACTOR,
    CellEvidence,
    ClaimCell,
    Depth,
    must_hold,
)
from theory.claims import get
from theory.formulas import halving_schedule
from theory.risk_limits import limit_mean_risk, limit_risk
from theory.verdicts import judge

if TYPE_CHECKING:
    from simulations.verification._claim_trials import RunContext

#: Seven candidates that mostly repeat what is observed, and the missing coordinate.
ANGLES = (2.0, 4.0, 6.0, 8.0, 10.0, 12.0, 14.0, 90.0)
#: Median of the squared distances between rows with the candidate at 90 degrees, rounded.
GAMMA = 34.0
#: Rows before the first test of progressive validation, and models of the sequence.
FIRST_ROWS, MODELS = 20, 12
#: Of the limits of the risk: rejection cost, kappa Lambda, rows per arm of uniform allocation; trials of one task.
LIMIT_SETTING, LIMIT_CHUNK = (0.3, 4.0, 120), 10
LIMITED = {"thm-1": "uniform", "thm-2": "median"}


@dataclass(frozen=True, slots=True)
class LimitTrial:
    """Risks and limits of one trial.

    Attributes
    ----------
    selected : int
        The selected candidate.
    risk, accepted : float
        True risk of the model on all rows of the selected candidate, and the probability that it accepts a row.
    tested_risk, limit : float
        True risk of the model that was tested on unseen rows, and its limit (Theorem 19).
    mean_risk, mean_limit : float
        Mean true risk of the sequence of models, and its limit (Theorem 20).
    """

    selected: int
    risk: float
    accepted: float
    tested_risk: float
    limit: float
    mean_risk: float
    mean_limit: float


def run_trials(
    strategy: str, theta: float, kappa_lambda: float, rows: int, trials: range, seed: int = 0, delta: float = 0.05
) -> Iterator[LimitTrial]:
    """Run trials of "uniform" or "median" with rows per arm of uniform allocation, one after another."""
    spec = SyntheticPool(angles=ANGLES, gamma=GAMMA)
    score = Score(score="ball", theta=theta, ball=kappa_lambda)
    fresh = draw(spec, FRESH, np.random.default_rng(np.random.SeedSequence(seed, spawn_key=(1,))))
    for trial in trials:
        rng = np.random.default_rng(np.random.SeedSequence(seed, spawn_key=(2, trial)))
        if strategy == "uniform":
            sample, arms, tested = draw(spec, rows, rng), np.arange(len(ANGLES)), rows // 2
        else:
            schedule = halving_schedule(rows * len(ANGLES), len(ANGLES))
            sample, tested = draw(spec, int(schedule.accumulated[-1]), rng), int(schedule.accumulated[-2])
            arms = _find_finalists(spec, score, sample, schedule.accumulated[:-1], schedule.kept[:-1])
        yield _measure(spec, score, sample, arms, tested, delta, fresh)


def _find_finalists(
    spec: SyntheticPool, score: Score, sample: Sample, accumulated: IntArray, kept: IntArray
) -> IntArray:
    """Return the candidates that are left before the last round of median elimination."""
    arms = np.arange(len(spec.angles))
    for number, left in zip(accumulated.tolist(), kept.tolist(), strict=True):
        risks = [fitted(spec, score, int(arm), sample.points[:number], sample.y[:number])[1] for arm in arms]
        arms = arms[np.argsort(risks, kind="stable")[:left]]
    return np.asarray(arms, dtype=np.int64)


def _measure(
    spec: SyntheticPool, score: Score, sample: Sample, arms: IntArray, tested: int, delta: float, fresh: Sample
) -> LimitTrial:
    """Select among the arms on all rows, and test models of the selected one on rows that follow."""
    points, y, theta = sample.points, sample.y, score.theta
    models = [fitted(spec, score, int(arm), points, y) for arm in arms]
    best = int(np.argmin([risk for _, risk in models]))
    arm, final = int(arms[best]), models[best][0]

    def fit(rows: int) -> Model:
        return fitted(spec, score, arm, points[:rows], y[:rows])[0]

    def risk_of(model: Model) -> tuple[float, float]:
        values = model.at(spec, features(spec, arm, fresh.points))
        return expected(rejection_loss, values, fresh.eta, theta), float(np.mean(values[1] > 0))

    def count(model: Model, first: int, last: int) -> tuple[int, int]:
        """Count rows that are accepted, and accepted and misclassified."""
        h, g = model.at(spec, features(spec, arm, points[first:last]))
        losses = rejection_loss(h, g, y[first:last], theta)
        return int(np.sum(losses != theta)), int(np.sum(losses == 1.0))

    half = fit(tested)
    accepted, wrong = count(half, tested, len(y))
    limit = limit_risk(accepted, wrong, len(y) - tested, theta, delta, len(arms))
    # With median elimination only rows of the last round are independent of which arms are left.
    start = FIRST_ROWS if len(arms) == len(spec.angles) else tested
    ends = np.unique(np.linspace(start, len(y), MODELS + 1).astype(int))
    counts, risks = np.zeros(2, dtype=np.int64), []
    for first, last in zip(ends[:-1].tolist(), ends[1:].tolist(), strict=True):
        model = fit(first)
        counts += count(model, first, last)
        risks.append((last - first) * risk_of(model)[0])
    rows = len(y) - int(ends[0])
    mean_limit = limit_mean_risk(int(counts[0]), int(counts[1]), rows, theta, delta, len(arms))
    return LimitTrial(arm, *risk_of(final), risk_of(half)[0], limit, sum(risks) / rows, mean_limit)


def _limit_block(kind: str, seed: int, delta: float, first: int, stop: int) -> list[list[float]]:
    """Return risks, their limits and the accepted part, one line per trial."""
    trials = run_trials(kind, *LIMIT_SETTING, range(first, stop), seed, delta)
    return [[trial.tested_risk, trial.limit, trial.mean_risk, trial.mean_limit, trial.accepted] for trial in trials]


def collect_limits(claim: str, depth: Depth, context: RunContext) -> list[CellEvidence]:
    """Test the limits of the risk from counts where the model accepts rows (Theorems 19 and 20)."""
    strategy, evidence = LIMITED[claim], []
    for delta in depth.excess_levels:
        run = partial(_limit_block, strategy, context.seed, delta)
        key = f"limits {strategy} {LIMIT_SETTING} {delta} {context.seed}"
        lines = context.blocks(key, depth.excess, LIMIT_CHUNK, run, doing=f"limits of the risk: {strategy}")
        table = np.array([line for block in lines for line in block])
        for column, name in ((0, "of the model"), (2, "of the sequence of models")):
            failures, limit = int((table[:, column] > table[:, column + 1]).sum()), float(table[:, column + 1].mean())
            event = f"the risk {name} exceeds its limit from counts on unseen rows"
            where = (claim, "tighter", "synthetic, random instances, accepted rows", strategy)
            place = (*where, LIMIT_SETTING[2] * len(ANGLES), event, delta, limit, delta)
            alpha = ALPHA / (2 * len(depth.excess_levels))
            verdict = judge(failures, len(table), delta, alpha=alpha, factor=FACTOR)
            means = {"mean_risk": float(table[:, column].mean()), "accepted": float(table[:, 4].mean())}
            cell = ClaimCell(*place, "random_instance", must_hold(get(claim), "tighter"))
            evidence.append(CellEvidence.of(cell, verdict, **means, rejecting_everything=LIMIT_SETTING[0]))
    return evidence
