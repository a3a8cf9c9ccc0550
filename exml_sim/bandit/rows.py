"""Provide pools of arms over one population: pulls buy rows, scores are computed on the bought rows."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from fractions import Fraction
from functools import cached_property
from typing import Any, Protocol, runtime_checkable

import numpy as np
from numpy.typing import ArrayLike

from exml_sim._internal.arrays import BoolArray, CountArray, FloatArray, IntArray
from exml_sim._internal.validation import check_choice, check_count
from exml_sim.bandit import _points as points
from exml_sim.bandit._evidence import Evidence
from exml_sim.bandit._jackknife import AffineJackknife, InterimAnalyses
from exml_sim.bandit._ranking import Scores
from exml_sim.bandit._sampling import HeldRows, RangeSampler, RowOptions, RowSampler
from exml_sim.bandit.pool import Pool
from exml_sim.bandit.scoring import RESOLUTION, Certified, Scoring, penalised_scores
from exml_sim.bandit.selection_report import RowComparisonData
from exml_sim.bandit.trial_batch import BASELINE_RISK, OBJECTIVES, ArmState, Payment
from exml_sim.kernels import gram as kernel_matrix
from exml_sim.money import Money, exact_cost, show
from exml_sim.plugins import Plugin
from exml_sim.population import Population
from exml_sim.seeds import Seeds


@runtime_checkable
class Arm(Protocol):
    """An arm of a `RowPool`: any object with a name, a cost, and a score of counts. No subclassing is needed.

    `score` gets counts of bought rows, shape (trials, m), and returns one number per line, lower is better,
    or a tuple (value, lower, upper) of such arrays. Lines must be scored independently of each other.
    """

    @property
    def name(self) -> str:
        """The arm's name."""
        ...

    @property
    def cost(self) -> Money:
        """Cost of one pull."""
        ...

    def score(self, counts: CountArray) -> ArrayLike | Certified:
        """Score every line of counts."""
        ...


class FeatureArm:
    """A candidate as an arm: the augmented Gram matrix, computed on first use, and the score on counts.

    Parameters
    ----------
    population
        The rows.
    index
        Which candidate.
    scoring
        What the score is.
    kernel, gamma
        As for `exml_sim.kernels.gram`.
    matrix_rows
        As for `FeaturePool`.
    """

    def __init__(
        self,
        population: Population,
        index: int,
        scoring: Scoring,
        kernel: Any = "gaussian",
        gamma: Any = "median",
        matrix_rows: int = points.MATRIX_ROWS,
    ) -> None:
        self._population = population
        self._index = index
        self._scoring = scoring
        self._kernel = kernel
        self._gamma = gamma
        self._terms = scoring.terms()
        self.resolution = RESOLUTION
        #: Whether there are too many rows to keep a kernel matrix: values are then computed where they are needed.
        self.large = population.n_rows > matrix_rows
        self._matrix_rows = matrix_rows

    @property
    def name(self) -> str:
        """The candidate's name."""
        return self._population.candidates[self._index].name

    @property
    def cost(self) -> Fraction:
        """The candidate's exact cost."""
        return self._population.candidates[self._index].cost

    @cached_property
    def points(self) -> points.Points:
        """The rows with the candidate's values appended, and the kernel."""
        return points.Points(self._population.augmented(self._index), self._kernel, self._gamma)

    @cached_property
    def gram(self) -> FloatArray:
        """Kernel matrix of the rows with the candidate's values appended, shape (m, m)."""
        if self.large:
            points.check_memory(self._population.n_rows, f"arm {self.name!r}")
        matrix = kernel_matrix(self.points.X, kernel=self._kernel, gamma=self._gamma)
        return np.ascontiguousarray(matrix, dtype=np.float64)

    @cached_property
    def diagonal(self) -> FloatArray:
        """Diagonal of the kernel matrix."""
        return self.points.diagonal if self.large else np.diagonal(self.gram)

    @property
    def bounded(self) -> bool:
        """Whether kernel values are in [0, 1], whatever the rows."""
        return bool(self._kernel == "gaussian")

    @cached_property
    def levels(self) -> int:
        """Number of accuracies; the closed form has one."""
        return self._scoring.levels(self.diagonal)

    def score(self, counts: CountArray) -> Certified:
        """Score every line of counts as accurately as possible."""
        return self.refined(counts, self.levels - 1)

    def refined(self, counts: CountArray, level: int) -> Certified:
        """Score every line of counts with one of the accuracies."""
        if self.large:
            return self.score_held([HeldRows(np.flatnonzero(line), line[line != 0]) for line in counts], level)
        return self._scoring.of(self.gram, self._population.y, counts, min(level, self.levels - 1), self._terms)

    def score_held(self, lines: Iterable[HeldRows], level: int) -> Certified:
        """Score rows of a large population with one of the accuracies, line by line."""
        level = min(level, self.levels - 1)
        return points.score(self.points, self._scoring, self._population.y, lines, level, self._matrix_rows)


class RowPool(Pool):
    """Arms over m rows that any object with `name`, `cost` and `score(counts)` can be.

    Parameters
    ----------
    arms
        The arms (see `Arm`).
    n_rows
        Number of rows m.
    rows, replacement, shortfall
        The row options, see `exml_sim.bandit._sampling.RowOptions`.
    """

    def __init__(
        self,
        arms: Sequence[Arm],
        n_rows: int,
        *,
        rows: str = "same",
        replacement: str = "always",
        shortfall: str = "error",
    ) -> None:
        self.arms = tuple(arms)
        self.n_rows = check_count(n_rows, "n_rows")
        self.options = RowOptions(rows, replacement, shortfall)
        if not self.arms:
            raise ValueError("a pool needs at least one arm, got none (K = 0)")
        for arm in self.arms:
            if not isinstance(arm, Arm):
                raise ValueError(f"an arm needs name, cost and score(counts), got {arm!r}")
        if len(set(self.names)) != len(self.arms):
            repeated = next(name for name in self.names if self.names.count(name) > 1)
            raise ValueError(f"names of arms must differ, got {repeated!r} more than once")

    @property
    def names(self) -> tuple[str, ...]:
        """Names of the arms."""
        return tuple(arm.name for arm in self.arms)

    @property
    def costs(self) -> tuple[Fraction, ...]:
        """Exact costs."""
        return tuple(exact_cost(arm.cost, f"cost of arm {arm.name!r}") for arm in self.arms)

    @property
    def block(self) -> int:
        """Trials that run together: their counts take some 16 megabytes; without counts, hundreds at a time."""
        if self.sparse:
            return 512
        return int(np.clip(2**22 // (self.n_arms * self.n_rows), 1, 4096))

    @cached_property
    def population_scores(self) -> Scores:
        """Scores on the whole population, every row once, with certificates, shape (1, K)."""
        arms = self.open(Seeds.of(0))
        arms.take_all()
        return arms.score(np.ones((1, self.n_arms), dtype=np.bool_), False, arms.levels - 1)

    @property
    def risks(self) -> FloatArray:
        """R_i: the score of each arm on the whole population, shape (K,)."""
        return np.array(self.population_scores.value[0], dtype=np.float64)

    def best_arms(self, objective: str = "risk") -> tuple[int, ...]:
        """The arms that no other arm beats on the whole population, {i: Delta_i = 0}.

        Values closer than the resolution of the certificates count as equal.
        """
        check_choice(objective, "objective", OBJECTIVES)
        scores = self.population_scores
        if objective == "risk_per_cost":
            scores = scores.scaled(BASELINE_RISK, 1.0 / np.array([float(cost) for cost in self.costs]))
        return tuple(int(i) for i in np.flatnonzero(scores.best()[0]))

    @property
    def sparse(self) -> bool:
        """Whether bought rows are kept as ranges of an order: large arms on rows drawn with replacement."""
        return self.options.replacement == "always" and all(getattr(arm, "large", False) for arm in self.arms)

    def open(self, seeds: Seeds) -> RowState:
        """Start N trials."""
        kind = RangeSampler if self.sparse else RowSampler
        return RowState(self.arms, kind(seeds, self.n_arms, self.n_rows, self.options), self.judge)

    @property
    def judge(self) -> AffineJackknife | None:
        """The jackknife that compares arms on bought rows; None where there is none."""
        return None


class FeaturePool(RowPool):
    """A population, a kernel and a score: one arm per candidate.

    Parameters
    ----------
    population
        Rows, labels and candidates.
    theta
        Rejection cost of the loss, in (0, 1/2).
    score, ball, penalty, loss
        What the score is, see `exml_sim.bandit.scoring.Scoring`. With the scores "risk" and "objective" the
        penalty is (1, 1) unless given; the score "ball" needs a radius.
    kernel, gamma
        Kernel of the augmented rows, see `exml_sim.kernels.gram`.
    rows, replacement, shortfall
        The row options, see `exml_sim.bandit._sampling.RowOptions`.
    matrix_rows
        Most rows of which arms keep a kernel matrix.

    Examples
    --------
    >>> from exml_sim.datasets import make_synthetic
    >>> from exml_sim.strategies import MedianElimination
    >>> population = make_synthetic(20, rng=0)
    >>> pool = FeaturePool(population, theta=0.3, score="objective")
    >>> result = pool.explore(MedianElimination(), budget=360, rng=0)
    >>> len(pool.names), result.ledger.spent <= 360
    (9, True)
    """

    def __init__(
        self,
        population: Population,
        *,
        theta: float = 0.3,
        score: str | Plugin = "ball",
        ball: float | None = None,
        penalty: tuple[float, float] | None = None,
        loss: str = "sum",
        kernel: Any = "gaussian",
        gamma: Any = "median",
        rows: str = "same",
        replacement: str = "always",
        shortfall: str = "error",
        matrix_rows: int = points.MATRIX_ROWS,
    ) -> None:
        if not isinstance(population, Population):
            raise ValueError(f"a feature pool needs a Population, got {type(population).__name__}")
        if not callable(kernel):
            check_choice(kernel, "kernel", ("gaussian", "linear"))
        self.population = population
        default = (1.0, 1.0) if penalty is None and score in penalised_scores() else penalty
        self.scoring = Scoring(theta, score, ball, default, loss)
        options = self.scoring, kernel, gamma, matrix_rows
        arms = [FeatureArm(population, i, *options) for i in range(len(population.candidates))]
        super().__init__(arms, population.n_rows, rows=rows, replacement=replacement, shortfall=shortfall)

    def __repr__(self) -> str:
        costs = ", ".join(f"{name} at {show(cost)}" for name, cost in zip(self.names[:6], self.costs, strict=False))
        more = ", …" if self.n_arms > 6 else ""
        return (
            f"<FeaturePool: {self.n_arms} arms ({costs}{more}), {self.n_rows} rows, "
            f"theta {self.scoring.theta}, score {self.scoring.score!r}, "
            f"rows {self.options.rows!r}, replacement {self.options.replacement!r}>"
        )

    @cached_property
    def population_scores(self) -> Scores:
        """Scores on the whole population, every row once, with certificates, shape (1, K).

        Raises
        ------
        ValueError
            If the low-rank bounds do not separate the best arm from the others.
        """
        scores = super().population_scores
        best = scores.best()[0]
        if self.scoring.penalty is not None and any(arm.large for arm in self.feature_arms) and not best.all():
            ends = float(scores.upper[0, best].max()), float(scores.lower[0, ~best].min())
            if ends[0] >= ends[1]:
                raise ValueError(
                    f"the low-rank bounds of {self.n_rows:,} rows do not separate the best arm from the others: "
                    f"its score is at most {ends[0]:.9g}, another's at least {ends[1]:.9g}"
                )
        return scores

    @cached_property
    def judge(self) -> AffineJackknife | None:
        """The jackknife, for scores over a ball in the affine regime, where arms keep their kernel matrices."""
        if self.scoring.ball is None or any(arm.levels > 1 or arm.large for arm in self.feature_arms):
            return None
        grams = [arm.gram for arm in self.feature_arms]
        return AffineJackknife(grams, self.population.y, self.scoring.ball, self.options.rows == "same")

    @property
    def kappa(self) -> float:
        """Square root of the largest diagonal entry of all Gram matrices."""
        return float(np.sqrt(max(arm.diagonal.max() for arm in self.feature_arms)))

    @property
    def feature_arms(self) -> tuple[FeatureArm, ...]:
        """The arms with their Gram matrices."""
        return tuple(arm for arm in self.arms if isinstance(arm, FeatureArm))


class RowState(ArmState):
    """The bought rows of N trials, and the arms' scores on them."""

    has_exact_scores = False

    def __init__(
        self, arms: Sequence[Arm], sampler: RowSampler | RangeSampler, judge: AffineJackknife | None = None
    ) -> None:
        self._arms = arms
        self._sampler = sampler
        self._judge = judge
        self._analyses: InterimAnalyses | None = None
        self.levels = max(getattr(arm, "levels", 1) for arm in arms)
        self._resolution = max(float(getattr(arm, "resolution", RESOLUTION)) for arm in arms)

    def take_all(self) -> None:
        """Give every arm every row once, without an order and without money: the population itself."""
        self._sampler.take_all()

    def pull(self, pulls: IntArray, fresh: bool, pay: Payment) -> IntArray:
        """Buy the rows that the sampler still has."""
        pulled = self._sampler.cap_pulls(pulls, fresh)
        pay(pulled, pulled)
        self._sampler.draw(pulled, fresh)
        return pulled

    def pulls_left(self) -> IntArray | None:
        """Rows that every arm can still buy; None with replacement."""
        return self._sampler.rows_left()

    def counts(self) -> CountArray:
        """Rows bought, shape (trials, K, m)."""
        return self._sampler.counts

    def evidence(self, leader: IntArray, asked: BoolArray, threshold: float, epsilon: float, limits: bool) -> Evidence:
        """Compute the asymptotic confidence sequence of jackknifed differences."""
        if self._judge is None:
            raise ValueError(
                "a fixed-confidence strategy needs scores over a ball in the affine regime, "
                f"kappa Lambda <= 1 - 2 theta, and at most {points.MATRIX_ROWS:,} rows"
            )
        if self._sampler.options.replacement == "across":
            raise ValueError("a fixed-confidence strategy needs replacement 'always' or 'never', got 'across'")
        if self._analyses is None:
            self._analyses = InterimAnalyses(self._judge, leader.size)
        return self._analyses.update(self._sampler.counts, leader, asked, threshold, epsilon)

    def comparison_data(self, trial: int, rounds: int, anytime: bool) -> RowComparisonData:
        """Return what a report on one trial needs."""
        tightest = self.levels - 1

        def score(arm: int, counts: CountArray) -> FloatArray:
            return _score_counts(self._arms[arm], counts, tightest)[0]

        return RowComparisonData(
            self._sampler.trial_counts(trial),
            self._judge,
            score,
            self._sampler.order(trial),
            fixed=rounds == 1 and not anytime,
            anytime=anytime,
            bounded=all(getattr(arm, "bounded", False) for arm in self._arms),
        )

    def score(self, wanted: BoolArray, fresh: bool, level: int) -> Scores:
        """Score the wanted arms on their rows."""
        value, lower, upper = (np.full(wanted.shape, np.inf) for _ in range(3))
        for i, arm in enumerate(self._arms):
            lines = np.flatnonzero(wanted[:, i])
            if lines.size:
                value[lines, i], lower[lines, i], upper[lines, i] = self._score_arm(arm, i, lines, fresh, level)
        return Scores(value, lower, upper, self._resolution)

    def _score_arm(self, arm: Arm, index: int, lines: IntArray, fresh: bool, level: int) -> Certified:
        no_rows = ValueError(f"arm {arm.name!r} has no {'fresh ' if fresh else ''}rows to score")
        if isinstance(self._sampler, RangeSampler):
            samples = [self._sampler.held_rows(int(line), index, fresh) for line in lines]
            if not all(part.rows.size for part in samples):
                raise no_rows
            assert isinstance(arm, FeatureArm)
            return _check_certified(arm, arm.score_held(samples, level), lines.size)
        bought = self._sampler.bought(fresh)[lines, index]
        if not bought.any(axis=1).all():
            raise no_rows
        return _score_counts(arm, bought, level)


def _score_counts(arm: Arm, counts: CountArray, level: int) -> Certified:
    refined = getattr(arm, "refined", None)
    return _check_certified(arm, arm.score(counts) if refined is None else refined(counts, level), counts.shape[0])


def _check_certified(arm: Arm, result: ArrayLike | Certified, lines: int) -> Certified:
    if isinstance(result, tuple):
        value, lower, upper = (np.asarray(part, dtype=np.float64) for part in result)
    else:
        value = lower = upper = np.asarray(result, dtype=np.float64)
    if value.shape != (lines,) or not np.isfinite(value).all():
        raise ValueError(
            f"score of arm {arm.name!r} must be {lines} finite numbers, one per line of counts, got shape {value.shape}"
        )
    # Ends that cross by rounding do no harm: differences within the resolution decide nothing.
    if lower.shape != value.shape or upper.shape != value.shape or not np.all(lower <= upper + RESOLUTION):
        raise ValueError(
            f"the certificate of arm {arm.name!r} must be numbers lower <= upper, one pair per line of counts"
        )
    return value, lower, upper
