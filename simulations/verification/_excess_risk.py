"""Theorems 1 and 2: excess risk when the training set itself is drawn anew in every trial.

The distribution is Section 5.1's with four candidates, of which the one at 90 degrees is by far the best, and a gap
that the theorems can see. Trials are those of `engine.modes.excess_risk`, which measures the excess risk and the five
terms of Eq. 8. The printed and the corrected theorem hold with probability 1 - delta - E[delta_fail]; the gap, and with
it delta_fail, is a function of the training set, so its mean over the trials is taken. Theorem 6 (ii) needs rows that
are independent of each other given the distribution: there, rows are drawn without replacement.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING, Any

import numpy as np

from exml_sim._internal.arrays import FloatArray
from exml_sim.engine._specs import Budgets, Sampling, Score
from exml_sim.engine._trials import TERMS
from exml_sim.engine.modes._excess_risk import excess_trials
from exml_sim.engine.pools import SyntheticPool
from exml_sim.engine.study import Cell, Study
from simulations.verification._cells import ALPHA, FACTOR, CellEvidence, ClaimCell, Depth, must_hold
from simulations.verification._guarantees import STRATEGIES, Reading, StrategyName
from simulations.verification._risk_limits import ANGLES as LIMIT_ANGLES
from simulations.verification._risk_limits import run_trials
from theory import corrected, paper, tighter, verdicts
from theory.claims import get
from theory.verdicts import judge

if TYPE_CHECKING:
    from simulations.verification._claim_trials import RunContext

THETA = 0.1
RADIUS = 0.8
ANGLES = (2.0, 4.0, 6.0, 90.0)
#: Rows per arm (in the first round) with replacement, above all launch budgets.
ABOVE = (20_000, 60_000)
CHUNK = 10
#: The study in which the model accepts rows: rejection cost, kappa Lambda, rows per arm of uniform allocation.
LIMIT_THETA, LIMIT_RADIUS, LIMIT_ROWS = 0.3, 4.0, 120
CLAIMS: dict[str, StrategyName] = {"thm-1": "uniform", "thm-2": "median-accumulated"}


@dataclass(frozen=True, slots=True, eq=False)
class RandomInstanceTrials:
    """The trials of one strategy at one budget.

    Attributes
    ----------
    strategy, budget, rows, m
        Rows per arm in the first round; rows of the training set.
    replacement : bool
        Whether rows are drawn with replacement.
    terms : array (trials, 6)
        Excess risk and the five terms of Eq. 8.
    gaps : array (trials,)
        Delta of every training set (Eq. 7).
    """

    strategy: StrategyName
    budget: int
    rows: int
    m: int
    replacement: bool
    terms: FloatArray
    gaps: FloatArray

    @property
    def approximation(self) -> float:
        """R_ap, term (e), which is the same in every trial."""
        return float(self.terms[0, TERMS.index("e")])


def make_study(strategy: StrategyName, rows: int, depth: Depth, seed: int, *, replacement: bool = True) -> Study:
    """Build the study of a strategy with a number of rows per arm in the first round."""
    rounds = 1 if strategy == "uniform" else math.ceil(math.log2(len(ANGLES)))
    return Study(
        name="excess",
        pools=(
            SyntheticPool(per_class=depth.rows, angles=ANGLES, a=0.05, sigma=0.2, z=2.0, kernel="gaussian", gamma=16.0),
        ),
        scores=(Score(score="ball", theta=THETA, ball=RADIUS),),
        strategies=(STRATEGIES[strategy],),
        budgets=Budgets(absolute=(str(rows * rounds * len(ANGLES)),)),
        sampling=Sampling(replacement="always" if replacement else "never"),
        trials=depth.excess,
        seed=seed,
        mode="excess_risk",
    )


def measure(
    strategy: StrategyName, rows: int, depth: Depth, context: RunContext, *, replacement: bool = True
) -> RandomInstanceTrials:
    """Run the trials, or read finished ones."""
    study = make_study(strategy, rows, depth, context.seed, replacement=replacement)
    (cell,) = study.check()
    lines = context.blocks(
        f"excess {study.hash}",
        study.trials,
        CHUNK,
        lambda first, stop: _block(study, cell, first, stop),
        doing=f"excess risk: {strategy} with {rows} rows per arm",
    )
    table = np.array([line for block in lines for line in block])
    return RandomInstanceTrials(
        strategy, int(cell.budget), rows, 3 * depth.rows, replacement, table[:, : len(TERMS)], table[:, len(TERMS)]
    )


def _block(study: Study, cell: Cell, first: int, stop: int) -> list[list[float]]:
    """Return terms and the gap of the training set, one line per trial."""
    _, pools, terms = excess_trials(study, cell, range(first, stop))
    return [[*line.tolist(), float(pool.gap)] for pool, line in zip(pools, terms, strict=True)]


def compute_guarantee(reading: Reading, run: RandomInstanceTrials, delta: float) -> tuple[float, float]:
    """(limit of the excess risk, probability with which it may be exceeded); nan where the theorem does not apply."""
    K, gap = len(ANGLES), float(np.median(run.gaps))
    point: dict[str, Any] = {"theta": THETA, "kappa_lambda": RADIUS, "delta": delta, "strict": False}
    point["approximation_error"] = run.approximation
    if reading == "tighter":
        if run.strategy != "uniform" or run.replacement:
            return math.nan, math.nan
        return float(tighter.excess_risk_uniform(run.budget, K, **point, kernel="nonnegative")), delta
    kind = "uniform" if run.strategy == "uniform" else "median"
    module: Any = paper if reading == "paper" else corrected
    limit = float(getattr(module, f"excess_risk_{kind}")(run.budget, K, gap, m=run.m, **point))
    fail = getattr(module, f"delta_fail_{kind}")(run.budget, K, run.gaps, THETA, RADIUS, strict=False)
    # Training sets below the launch condition are not in the event; they count as failures here, to be safe.
    return limit, delta + float(np.mean(np.minimum(np.nan_to_num(fail, nan=1.0), 1.0)))


def judge_trials(claim: str, reading: Reading, run: RandomInstanceTrials, delta: float, alpha: float) -> CellEvidence:
    """Test one version of a theorem with the trials."""
    limit, bound = compute_guarantee(reading, run, delta)
    failures = int((run.terms[:, 0] > limit).sum()) if not math.isnan(limit) else 0
    if math.isnan(limit) or not bound < 1 or limit >= 1:
        # No model has a larger excess risk than 1.
        verdict = verdicts.vacuous(
            f"The limit {limit:.3g} on the excess risk, with probability {bound:.3g} of more, excludes nothing.",
            limit=limit,
            bound=bound,
        )
    else:
        verdict = judge(failures, len(run.terms), bound, alpha=alpha, factor=FACTOR)
    event = "the excess risk of the returned model exceeds the limit"
    where = (claim, reading, "synthetic, random instances", run.strategy, run.budget, event, bound, limit, delta)
    cell = ClaimCell(*where, "random_instance", must_hold(get(claim), reading))
    extra = {"mean_excess": float(run.terms[:, 0].mean()), "m": run.m, "rows_per_arm": run.rows}
    return CellEvidence.of(cell, verdict, **extra)


def _limit_block(kind: str, seed: int, delta: float, first: int, stop: int) -> list[list[float]]:
    """Return risks, their limits and the accepted part, one line per trial."""
    trials = run_trials(kind, LIMIT_THETA, LIMIT_RADIUS, LIMIT_ROWS, range(first, stop), seed, delta)
    return [[trial.tested_risk, trial.limit, trial.mean_risk, trial.mean_limit, trial.accepted] for trial in trials]


def collect_limits(claim: str, depth: Depth, context: RunContext) -> list[CellEvidence]:
    """Test the limits of the risk from counts where the model accepts rows (Theorems 19 and 20)."""
    strategy, evidence = CLAIMS[claim], []
    for delta in depth.excess_levels:
        run = partial(_limit_block, "uniform" if strategy == "uniform" else "median", context.seed, delta)
        key = f"limits {strategy} {(LIMIT_THETA, LIMIT_RADIUS, LIMIT_ROWS)} {delta} {context.seed}"
        lines = context.blocks(key, depth.excess, CHUNK, run, doing=f"limits of the risk: {strategy}")
        table = np.array([line for block in lines for line in block])
        for column, name in ((0, "of the model"), (2, "of the sequence of models")):
            failures, limit = int((table[:, column] > table[:, column + 1]).sum()), float(table[:, column + 1].mean())
            event = f"the risk {name} exceeds its limit from counts on unseen rows"
            where = (claim, "tighter", "synthetic, random instances, accepted rows", strategy)
            place = (*where, LIMIT_ROWS * len(LIMIT_ANGLES), event, delta, limit, delta)
            alpha = ALPHA / (2 * len(depth.excess_levels))
            verdict = judge(failures, len(table), delta, alpha=alpha, factor=FACTOR)
            means = {"mean_risk": float(table[:, column].mean()), "accepted": float(table[:, 4].mean())}
            cell = ClaimCell(*place, "random_instance", must_hold(get(claim), "tighter"))
            evidence.append(CellEvidence.of(cell, verdict, **means, rejecting_everything=LIMIT_THETA))
    return evidence


def collect_evidence(claim: str, depth: Depth, context: RunContext) -> list[CellEvidence]:
    """Run all trials of one theorem, and judge every version of it."""
    strategy = CLAIMS[claim]
    cases: list[tuple[RandomInstanceTrials, Reading]] = []
    for rows in ABOVE:
        run = measure(strategy, rows, depth, context)
        cases += [(run, "paper"), (run, "corrected")]
    if strategy == "uniform":
        cases.append((measure(strategy, 3 * depth.rows, depth, context, replacement=False), "tighter"))
    levels = depth.excess_levels
    alpha = ALPHA / (len(cases) * len(levels))
    judged = [judge_trials(claim, reading, run, delta, alpha) for run, reading in cases for delta in levels]
    return [*judged, *collect_limits(claim, depth, context)]
