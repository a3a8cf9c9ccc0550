"""Match the bounds to a strategy on a pool of a study.

The lemmas are about empirical risk minimisation over the norm ball, unit costs, uniform allocation or median
elimination; the population bound also covers the penalised objective and unequal costs. For other cells there is a
reason instead of a `theory.BoundProblem`. Parametric arms have the bounds of `theory.classical`. Exact pools of
`theory` become pools of the engine.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING
from weakref import WeakKeyDictionary

from scipy.special import rel_entr

from exml_sim.bandit.parametric import BernoulliArm, BoundedArm, GaussianArm, ParametricPool
from exml_sim.bandit.rows import FeaturePool
from exml_sim.bandit.scoring import RESOLUTION
from exml_sim.engine._specs import Score
from exml_sim.engine.bound_context import search_budget
from exml_sim.engine.pools import AtomPool
from exml_sim.engine.study import Cell, Study
from exml_sim.strategies import MedianElimination, SuccessiveRejects, UniformAllocation
from theory import BoundProblem
from theory.classical import ClassicalBound, SubGaussianArms, find_bounds
from theory.corrected import Rows
from theory.paper import Strategy
from theory.population import PopulationModel

if TYPE_CHECKING:
    from theory.exact import AffinePool


def bounds_of(study: Study, cell: Cell) -> tuple[Strategy, BoundProblem] | str:
    """Return the lemma's name of the cell's strategy and the problem of its bounds, or why none applies."""
    if study.mode == "excess_risk":
        return "the population is redrawn in every trial, and the bounds are about one population"
    if missing := study.missing_plugin(cell):
        return missing
    is_gaussian = getattr(study.pools[cell.pool], "kernel", None) == "gaussian"
    return match_bounds(study.pool(cell), study.strategy(cell), cell.labels[2], is_gaussian)


def match_bounds(pool: object, strategy: object, label: str, is_gaussian: bool) -> tuple[Strategy, BoundProblem] | str:
    """Return the lemma's name of a strategy on a pool and the problem of its bounds, or why none applies."""
    if not isinstance(pool, FeaturePool):
        return "the paper's bounds are about minimised risks, and these arms have known distributions"
    if pool.scoring.score not in ("ball", "objective"):
        return f"the score is {pool.scoring.score!r}, and the bounds are about minima, over the norm ball or penalised"
    named = _name_strategy(strategy)
    if named is None:
        return f"the paper has no bound for {label}"
    gaps = sorted(float(gap) for gap in pool.gaps)[1:]
    if not gaps or gaps[-1] <= 0:
        return "all arms are equally good, so there is no gap"
    kind, rows = named
    without = pool.options.replacement != "always"
    if kind == "median" and without and (pool.options.replacement == "never") == (rows == "fresh"):
        return f"no theorem covers {rows} rows with replacement {pool.options.replacement!r}"
    return kind, BoundProblem(
        pool.n_arms,
        None,
        float(pool.scoring.theta),
        pool.kappa * float(pool.scoring.ball) if pool.scoring.ball is not None else math.nan,
        gaps=tuple(gaps),
        rows=rows,
        pairing="same" if pool.options.rows == "same" else "independent",
        kernel="nonnegative" if is_gaussian else "any",
        population=pool.n_rows if without else None,
        data=known_pool(pool),
        costs=None if all(cost == 1 for cost in pool.costs) else tuple(pool.costs),
        alignment="budget" if getattr(strategy, "alignment", "sample") == "budget" else "sample",
    )


#: Population models with their cached bounds, kept as long as their pools.
_MODELS: WeakKeyDictionary[FeaturePool, PopulationModel] = WeakKeyDictionary()


def known_pool(pool: FeaturePool) -> PopulationModel:
    """Return the population of a pool for the population bound; the same object for the same pool."""
    if pool not in _MODELS:
        _MODELS[pool] = _make_model(pool)
    return _MODELS[pool]


def _make_model(pool: FeaturePool) -> PopulationModel:
    scoring = pool.scoring
    grams = [arm.gram for arm in pool.feature_arms]
    return PopulationModel(
        grams,
        pool.population.y,
        None if scoring.ball is None else float(scoring.ball),
        float(scoring.theta),
        penalty=scoring.penalty,
        loss="sum" if scoring.ball is None and scoring.loss == "sum" else "mean",
        best=pool.best_arms(),
        # Equality of scores is carried along chains of arms.
        resolution=2.0 * pool.n_arms * RESOLUTION,
    )


def _name_strategy(strategy: object) -> tuple[Strategy, Rows] | None:
    """Return the lemma's name of a strategy, and the rows that its scores use."""
    if getattr(strategy, "objective", "") != "risk":
        return None
    if type(strategy) is UniformAllocation and strategy.top == 1:
        return "uniform", "accumulated"
    if isinstance(strategy, MedianElimination):
        return "median", "accumulated" if strategy.accumulate else "fresh"
    return None


@dataclass(frozen=True, slots=True)
class ArmBound:
    """A classical bound on the arms of a pool.

    Attributes
    ----------
    bound
        The bound.
    arms
        Gaps and variance proxies.
    """

    bound: ClassicalBound
    arms: SubGaussianArms

    @property
    def name(self) -> str:
        """Its name in files."""
        return self.bound.name

    def at(self, budget: float) -> float:
        """Evaluate the bound at a budget; NaN where it does not apply."""
        return self.bound.function(budget, self.arms)

    def required(self, delta: float) -> int | None:
        """Find the smallest whole budget whose bound is at most delta; None if there is none."""
        return search_budget(self.at, delta)


def match_classical(pool: object, strategy: object) -> tuple[ArmBound, ...]:
    """List the classical bounds that cover a strategy on a pool: independent arms at unit costs.

    Lower bounds need random ties.
    """
    named = _name_classical(strategy)
    if named is None or not isinstance(pool, ParametricPool) or any(cost != 1 for cost in pool.costs):
        return ()
    variances = [_find_variance(arm) for arm in pool.arms]
    if len(variances) < 2 or not all(variances):
        return ()
    gaps = tuple(float(gap) for gap in pool.gaps)
    arms = SubGaussianArms(gaps, tuple(filter(None, variances)))
    if arms.best_count == 1 and getattr(strategy, "ties", "random") == "random":
        best = pool.arms[gaps.index(0.0)]
        others = [arm for arm, gap in zip(pool.arms, gaps, strict=True) if gap > 0]
        pairs = [(_divergence(best, arm), _divergence(arm, best)) for arm in others]
        known = () if any(math.isnan(sum(pair)) for pair in pairs) else tuple(pairs)
        deviations = {float(arm.sd) if isinstance(arm, GaussianArm) else 0.0 for arm in pool.arms}
        arms = replace(arms, divergences=known, deviation=min(deviations) if len(deviations) == 1 else 0.0)
    return tuple(ArmBound(bound, arms) for bound in find_bounds(named, arms))


def _divergence(first: object, second: object) -> float:
    """Return KL(first, second) of two Bernoulli or normal arms; NaN for others."""
    if isinstance(first, BernoulliArm) and isinstance(second, BernoulliArm):
        p, q = float(first.mean), float(second.mean)
        return float(rel_entr(p, q) + rel_entr(1.0 - p, 1.0 - q))
    if isinstance(first, GaussianArm) and isinstance(second, GaussianArm):
        ratio, gap = float(first.sd) / float(second.sd), float(first.mean) - float(second.mean)
        return (ratio**2 - 1.0 + (gap / float(second.sd)) ** 2) / 2.0 - math.log(ratio)
    return math.nan


def _find_variance(arm: object) -> float:
    """Return the variance proxy of an independent arm; 0 if it has none that we know."""
    if isinstance(arm, BernoulliArm):
        return 0.25
    if isinstance(arm, GaussianArm):
        return float(arm.sd) ** 2
    return ((max(arm.values) - min(arm.values)) / 2.0) ** 2 if isinstance(arm, BoundedArm) else 0.0


def _name_classical(strategy: object) -> str | None:
    """Return the name that classical bounds have for a strategy."""
    if type(strategy) is SuccessiveRejects:
        return "rejects"
    if isinstance(strategy, MedianElimination):
        return "accumulated halving" if strategy.accumulate else "halving"
    return "uniform" if type(strategy) is UniformAllocation and strategy.top == 1 else None


def atom_pool(pool: AffinePool, label: str = "finite support", copies: Sequence[int] | None = None) -> AtomPool:
    """Make a study's pool with the distribution of an affine pool; own copies must be in proportion to its weights.

    A population with as many copies of every atom as the common denominator says has the same distribution when rows
    are drawn with replacement, so exact probabilities and trials can be compared.
    """
    parts = math.lcm(*(weight.denominator for weight in pool.weights))
    return AtomPool(
        values=tuple(tuple(float(value) for value in arm) for arm in pool.features),
        y=tuple(float(label) for label in pool.labels),
        copies=tuple(copies or (int(weight * parts) for weight in pool.weights)),
        label=label,
    )


def ball_score(pool: AffinePool) -> Score:
    """Risk minimisation over the ball of an affine pool."""
    return Score(score="ball", theta=float(pool.theta), ball=float(pool.radius))
