"""The population model: Gram matrices, labels, weights, score, and the design by which rows are bought."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from numbers import Real
from typing import Any, Literal, TypeVar

import numpy as np
from numpy.typing import ArrayLike

from theory.errors import AssumptionError, shown
from theory.formulas import rejection_slope
from theory.population._moments import Floats

__all__ = ["Alignment", "Design", "Pairing", "PopulationModel", "require_level"]

T = TypeVar("T")

#: Eigenvalues above minus this share of the largest entry are rounding.
_PSD = 1e-8


@dataclass(frozen=True, eq=False)
class PopulationModel:
    """K arms over m rows.

    Parameters
    ----------
    grams
        Kernel matrix of every arm, each of shape (m, m). The sequence is read one matrix at a time, so it may
        compute them on demand.
    y
        Labels -1 or +1, shape (m,).
    ball
        Radius Lambda of the balls of h and g; None for a penalised score.
    theta
        Rejection cost, in (0, 1/2).
    weights
        Probability of every row; equal by default.
    best
        Indices of the arms whose selection is no failure; by default those whose risk is within ``resolution`` of
        the smallest; beyond the affine regime, where risks are known as intervals, the best arm if it is unique.
    resolution
        Scores that are closer than this may be taken for equal, and then a tie is charged to the strategy.
    penalty
        (C_h, C_g) of the score min mean loss + C_h |h|^2 + C_g |g|^2, instead of a ball.
    loss
        "mean", or "sum" if the penalty is added to the sum of the losses: then it is C/n on n rows.
    """

    grams: Sequence[ArrayLike]
    y: ArrayLike
    ball: float | None
    theta: float
    weights: ArrayLike | None = None
    best: Sequence[int] | None = None
    resolution: float = 1e-8
    penalty: tuple[float, float] | None = None
    loss: Literal["mean", "sum"] = "mean"

    def __post_init__(self) -> None:
        if not hasattr(self.grams, "__len__"):
            raise ValueError(f"grams must be a sequence of Gram matrices, got {self.grams!r}")
        for name in ("theta", "ball", "resolution"):
            value = getattr(self, name)
            if not isinstance(value, Real) and not (name == "ball" and value is None):
                raise ValueError(f"{name} must be a number, got {value!r}")
        if len(self.grams) < 2:
            raise ValueError(f"a pool needs at least 2 Gram matrices, got {len(self.grams)}")
        if not 0.0 < float(self.theta) < 0.5:
            raise ValueError(f"theta must be strictly between 0 and 1/2, got {shown(self.theta)}")
        self._check_score()
        if not 0.0 <= float(self.resolution) < np.inf:
            raise ValueError(f"resolution must be finite and not negative, got {self.resolution:g}")
        labels = np.asarray(self.y)
        if labels.ndim != 1 or labels.size == 0 or not np.isin(labels, (-1, 1)).all():
            raise ValueError(f"labels must be a list of -1 and +1, got shape {labels.shape} with {_few(labels)}")
        self._check_weights(labels.size)
        for i in range(len(self.grams)):
            _check_gram(np.asarray(self.grams[i]), labels.size, i)
        self._check_best()

    def _check_score(self) -> None:
        if (self.ball is None) == (self.penalty is None):
            raise ValueError(f"give either ball or penalty, got ball={self.ball}, penalty={self.penalty}")
        if self.ball is not None and not 0.0 < float(self.ball) < np.inf:
            raise ValueError(f"ball must be positive and finite, got {self.ball:g}")
        if self.penalty is not None:
            pair = np.asarray(self.penalty, dtype=np.float64)
            if pair.shape != (2,) or not np.all((pair > 0) & (pair < np.inf)):
                raise ValueError(f"penalty must be two positive numbers (C_h, C_g), got {self.penalty}")
        if self.loss not in ("mean", "sum"):
            raise ValueError(f"loss must be 'mean' or 'sum', got {self.loss!r}")

    def _check_weights(self, m: int) -> None:
        if self.weights is None:
            return
        p = np.asarray(self.weights, dtype=np.float64)
        if p.shape != (m,) or not np.all(p > 0) or abs(float(p.sum()) - 1.0) > 1e-12:
            raise ValueError(f"weights must be {m} positive numbers with sum 1, got shape {p.shape}, sum {p.sum():g}")

    def _check_best(self) -> None:
        if self.best is not None:
            if not hasattr(self.best, "__iter__"):
                raise ValueError(f"best must be a list of arms, got {self.best!r}")
            best = list(self.best)
            if not best or any(not isinstance(i, int | np.integer) or not 0 <= i < self.n_arms for i in best):
                raise ValueError(f"best must name arms between 0 and {self.n_arms - 1}, got {best}")
        if len(self.best_arms) == self.n_arms:
            raise ValueError(f"all {self.n_arms} arms are best arms: there is no positive gap, nothing can fail")

    @property
    def n_arms(self) -> int:
        """K."""
        return len(self.grams)

    @property
    def n_rows(self) -> int:
        """m."""
        return int(self.labels.size)

    @cached_property
    def labels(self) -> Floats:
        """y as floats."""
        return np.asarray(self.y, dtype=np.float64)

    @cached_property
    def p(self) -> Floats:
        """Weights of the rows."""
        if self.weights is None:
            return np.full(self.n_rows, 1.0 / self.n_rows)
        # A correctly rounded sum, so that the weights are off by two roundings at most.
        given = np.asarray(self.weights, dtype=np.float64)
        return np.asarray(given / math.fsum(given.tolist()))

    @cached_property
    def cache(self) -> dict[Any, Any]:
        """What is computed once per pool."""
        return {}

    def cached(self, key: Any, make: Callable[[], T]) -> T:
        """Return ``make()``, computed once per pool and key."""
        if key not in self.cache:
            self.cache[key] = make()
        value: T = self.cache[key]
        return value

    def gram(self, arm: int) -> Floats:
        """Return the kernel matrix of an arm."""
        return np.asarray(self.grams[arm], dtype=np.float64)

    @cached_property
    def kappa(self) -> float:
        """Root of the largest diagonal entry of all kernel matrices."""
        return float(np.sqrt(max(float(np.diagonal(self.gram(i)).max()) for i in range(self.n_arms))))

    @cached_property
    def nonnegative(self) -> bool:
        """Whether no kernel takes negative values."""
        return all(bool((self.gram(i) >= 0.0).all()) for i in range(self.n_arms))

    @property
    def radius(self) -> float:
        """Lambda; a penalised score has none."""
        if self.ball is None:
            raise AssumptionError("a score over the norm ball", 1.0, f"penalty={self.penalty}")
        return float(self.ball)

    @property
    def affine(self) -> bool:
        """Whether kappa Lambda <= 1 - 2 theta, where V = 1 - (Lambda/2)(|mean y Phi| + |mean Phi|)."""
        return self.ball is not None and self.kappa * self.ball <= (1.0 - 2.0 * self.theta) * (1.0 + 1e-12)

    def penalties(self, n: float) -> tuple[float, float]:
        """Return C_h and C_g on n rows, in front of the mean loss."""
        if self.penalty is None:
            raise AssumptionError("a penalised score", 1.0, f"ball={self.ball}")
        share = 1.0 if self.loss == "mean" else float(n)
        return float(self.penalty[0]) / share, float(self.penalty[1]) / share

    def quadratic(self, n: float) -> bool:
        """Tell whether a penalised score on n rows is 1 - |mean y Phi|^2/(16 C_h) - |mean Phi|^2/(16 C_g) for all rows.

        That is so if the first piece of the loss is the largest for |h| <= kappa^2/(4 C_h), |g| <= kappa^2/(4 C_g).
        """
        if self.penalty is None:
            return False
        h, g = (self.kappa**2 / (4.0 * C) for C in self.penalties(n))
        b = rejection_slope(self.theta)
        return (h + g) / 2.0 <= 1.0 and h / 2.0 + (b + 0.5) * g <= 1.0 - self.theta

    @cached_property
    def norms(self) -> tuple[Floats, Floats]:
        """|mean y Phi| and |mean Phi| of every arm on the population."""
        signed = self.p * self.labels
        pairs = [
            (float(signed @ self.gram(i) @ signed), float(self.p @ self.gram(i) @ self.p)) for i in range(self.n_arms)
        ]
        a, b = np.sqrt(np.maximum(np.array(pairs), 0.0)).T
        return a, b

    @cached_property
    def risks(self) -> Floats:
        """R_i of every arm in closed form (affine regime, or that of small penalised models)."""
        a, b = self.norms
        if self.quadratic(self.n_rows):
            on_h, on_g = self.penalties(self.n_rows)
            return np.asarray(1.0 - a**2 / (16.0 * on_h) - b**2 / (16.0 * on_g))
        self.require_affine("risks in closed form")
        return np.asarray(1.0 - self.radius / 2.0 * (a + b))

    @property
    def closed(self) -> bool:
        """Whether the risks have a closed form."""
        return self.affine or self.quadratic(self.n_rows)

    @cached_property
    def intervals(self) -> tuple[Floats, Floats]:
        """Lower and upper bounds on the risks, in any regime."""
        if self.closed:
            return self.risks, self.risks
        # The certificates need this class.
        from theory.population._certificates import risk_intervals

        return risk_intervals(self)

    @cached_property
    def best_arms(self) -> tuple[int, ...]:
        """The arms whose selection is no failure."""
        if self.best is not None:
            return tuple(sorted({int(i) for i in self.best}))
        if not self.closed:
            return _separated(*self.intervals)
        return tuple(int(i) for i in np.flatnonzero(self.risks <= self.risks.min() + self.resolution))

    @property
    def rivals(self) -> tuple[int, ...]:
        """The arms whose selection is a failure."""
        return tuple(i for i in range(self.n_arms) if i not in self.best_arms)

    def require_affine(self, what: str) -> None:
        """Raise AssumptionError outside the affine regime."""
        if not self.affine:
            excess = self.kappa * self.radius - (1.0 - 2.0 * self.theta)
            given = f"kappa*Lambda={self.kappa * self.radius:g}, theta={shown(self.theta)}"
            raise AssumptionError(f"{what}: kappa Lambda <= 1 - 2 theta", excess, given)


def require_level(delta: object) -> None:
    """Raise ValueError unless delta is strictly between 0 and 1."""
    if not isinstance(delta, Real) or not 0.0 < float(delta) < 1.0:
        raise ValueError(f"delta must be strictly between 0 and 1, got {delta!r}")


def _separated(low: Floats, high: Floats) -> tuple[int, ...]:
    """Return the best arm, if its interval is below all others."""
    first = int(np.argmin(high))
    others = np.delete(low, first)
    if float(others.min()) <= float(high[first]):
        raise ValueError("the risks of the two best arms are too close to separate: name the best arms in `best`")
    return (first,)


def _check_gram(gram: np.ndarray, m: int, arm: int) -> None:
    if gram.shape != (m, m):
        raise ValueError(f"Gram matrix of arm {arm} must have shape ({m}, {m}), one row per label, got {gram.shape}")
    if gram.dtype.kind not in "fiu" or not np.isfinite(gram).all():
        raise ValueError(f"Gram matrix of arm {arm} must hold finite numbers")
    size = float(np.abs(gram).max())
    if not np.allclose(gram, gram.T, rtol=0.0, atol=1e-12 * max(size, 1e-300)):
        raise ValueError(f"Gram matrix of arm {arm} is not symmetric")
    try:
        np.linalg.cholesky(gram + _PSD * max(size, 1e-300) * np.eye(m))
    except np.linalg.LinAlgError:
        raise ValueError(f"Gram matrix of arm {arm} is indefinite: it has an eigenvalue below 0") from None


def _few(labels: np.ndarray) -> str:
    values = np.unique(labels.ravel())[:4]
    return "values " + ", ".join(str(v) for v in values) if values.size else "no values"


Pairing = Literal["same", "independent"]
Alignment = Literal["sample", "budget"]


@dataclass(frozen=True, slots=True)
class Design:
    """How a budget becomes rows.

    Attributes
    ----------
    pairing
        "same": arms read one order of rows from its beginning; "independent": every arm has rows of its own.
    costs
        Cost of a row of every arm; None for 1 each.
    alignment
        With budget b for the arms A, "sample" buys floor(b / sum of their costs) rows of each, "budget"
        floor(b / (|A| c_i)) rows of arm i.
    replacement
        Whether rows are drawn with replacement.
    """

    pairing: Pairing = "same"
    costs: tuple[Fraction, ...] | None = None
    alignment: Alignment = "sample"
    replacement: bool = True

    def __post_init__(self) -> None:
        if self.pairing not in ("same", "independent"):
            raise ValueError(f"pairing must be 'same' or 'independent', got {self.pairing!r}")
        if self.alignment not in ("sample", "budget"):
            raise ValueError(f"alignment must be 'sample' or 'budget', got {self.alignment!r}")
        if not self.replacement and self.pairing == "independent":
            raise AssumptionError("draws without replacement: the same rows for all arms", 1.0, "pairing='independent'")

    @classmethod
    def of(cls, arms: int, *, costs: Sequence[object] | None = None, **options: Any) -> Design:
        """Build a design with exact costs; equal costs are kept, because a cost of 2 halves the rows."""
        exact = None if costs is None else tuple(_exact_cost(cost) for cost in costs)
        if exact is not None and len(exact) != arms:
            raise ValueError(f"costs must be {arms} positive numbers, one per arm, got {len(exact)}")
        return cls(costs=exact, **options)

    @property
    def fixed(self) -> bool:
        """Whether the rows of a round depend on the number of active arms only, not on which they are."""
        return self.costs is None or self.alignment == "budget" or len(set(self.costs)) == 1

    def least(self, arms: int) -> Fraction:
        """Return the smallest budget that buys a row of every arm."""
        if self.costs is None:
            return Fraction(arms)
        return sum(self.costs, Fraction(0)) if self.alignment == "sample" else arms * max(self.costs)

    def rows(self, budget: Fraction, arms: int, active: int) -> tuple[int, ...]:
        """Return the rows of every arm when ``active`` of them share the budget."""
        if self.costs is None:
            return (int(budget // active),) * arms
        if self.alignment == "sample":
            total = sum(self.costs) if active == arms else active * self.costs[0]
            return (int(budget // total),) * arms
        return tuple(int(budget // (active * cost)) for cost in self.costs)


def _exact_cost(cost: object) -> Fraction:
    """Return an exact cost; a float stands for the number that it prints."""
    try:
        exact = Fraction(str(cost))
    except (ValueError, ZeroDivisionError):
        raise ValueError(f"costs must be positive numbers, got {cost!r}") from None
    if exact <= 0:
        raise ValueError(f"costs must be positive numbers, got {cost!r}")
    return exact
