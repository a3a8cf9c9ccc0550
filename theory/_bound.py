"""The decorator `bound`: argument checks, broadcasting, ``strict``, ``log``, launch conditions and documentation.

A bound is a function of one checked `BoundArguments`. The decorator gives it its public signature, written as text with
the parameters of `PARAMETERS`, for example::

    @bound("Lemma 1 (i), Eq. 9", "B, K, gap, theta, kappa_lambda, *, strict, log", pulls="uniform", launch_factor=16)
    def delta_fail_uniform(p: BoundArguments) -> Any:
        return formulas.log_failure_uniform(p.rows_per_arm, p.K, p.gap, p.theta, p.r)
"""

from __future__ import annotations

import functools
import inspect
import math
from collections.abc import Callable, Mapping
from types import SimpleNamespace
from typing import Any, Literal, NamedTuple

import numpy as np

from theory import _inputs, formulas
from theory._inputs import Bound, Floats, Ints
from theory.errors import AssumptionError, Assumptions

Strategy = Literal["uniform", "median"]
Rows = Literal["accumulated", "fresh"]
Pairing = Literal["same", "independent", "arbitrary"]
Kernel = Literal["any", "nonnegative"]

BLOCK = 1 << 15
"""Elements per block of a large grid: a few dozen temporaries of this size fit the processor's cache."""

CEILING_TOLERANCE = 1e-12
"""Relative rounding allowed when a measured gap touches its ceiling."""

POPULATION_EXHAUSTED = "no more rows than the population holds"
"""The assumption that ends draws without replacement."""

EITHER_GAP = "give either gap (one number for all other arms) or gaps (one per other arm)"

_REQUIRED = inspect.Parameter.empty


class Parameter(NamedTuple):
    """One parameter of the bounds: check, description, default, value in examples; ``array`` if it broadcasts."""

    check: Callable[[Any, str], Any]
    text: str
    default: Any = _REQUIRED
    array: bool = True
    example: Any = None

    @property
    def kind(self) -> str:
        """Type in documentation."""
        kind = "int" if isinstance(self.example, int) else "str" if isinstance(self.default, str) else "float"
        kind = "bool" if isinstance(self.default, bool) else kind
        shape = f"{kind} or array" if self.array and kind != "str" else kind
        return shape if self.default is _REQUIRED else f"{shape}, optional"


def _whole(least: int) -> Callable[[Any, str], Ints]:
    return lambda value, name: _inputs.whole(value, name, least=least)


def _choice(*allowed: Any) -> Callable[[Any, str], Any]:
    def check(value: Any, name: str) -> Any:
        if value not in allowed:
            raise ValueError(f"{name} must be one of {', '.join(map(str, allowed))}, got {value!r}")
        return value

    return check


def _optional(check: Callable[[Any, str], Any]) -> Callable[[Any, str], Any]:
    return lambda value, name: None if value is None else check(value, name)


def _above_zero(value: Any, name: str) -> Floats:
    number = _inputs.positive(value, name)
    if np.any(number == 0):
        raise ValueError(f"{name} must be positive, got 0")
    return number


def _unchecked(value: Any, name: str) -> Any:
    return value


_POSITIVE = _inputs.positive
PARAMETERS: dict[str, Parameter] = {
    "B": Parameter(_whole(0), "Budget in pulls.", example=16000),
    "n": Parameter(_whole(0), "Rows per arm.", example=2000),
    "m": Parameter(_whole(1), "Rows of the training set.", example=300),
    "K": Parameter(_whole(2), "Number of arms.", example=8),
    "gap": Parameter(_inputs.real, "Optimality gap Delta of Eq. 7, of all other arms.", example=0.2),
    "theta": Parameter(_inputs.real, "Rejection cost, in (0, 1/2).", example=0.1),
    "kappa_lambda": Parameter(
        _POSITIVE, "r = kappa * Lambda, kappa^2 the largest K(x, x), Lambda the radius.", example=0.5
    ),
    "kappa": Parameter(
        lambda value, name: _POSITIVE(value, "kappa_lambda"), "Root of the largest K(x, x).", example=1.0
    ),
    "radius": Parameter(
        lambda value, name: _POSITIVE(value, "kappa_lambda"), "Lambda, the radius of the ball.", example=0.5
    ),
    "delta": Parameter(_inputs.fraction, "Probability with which the bound may fail.", example=0.05),
    "shift": Parameter(_POSITIVE, "Distance from the risk.", example=0.1),
    "top_h": Parameter(_POSITIVE, "Largest eigenvalue of the centred covariance of y Phi.", example=0.2),
    "top_g": Parameter(_POSITIVE, "Largest eigenvalue of the centred covariance of Phi.", example=0.2),
    "gaps": Parameter(_unchecked, "The K - 1 gaps of the other arms, 0 for a tie, in place of gap.", None, False),
    "best_count": Parameter(_whole(1), "|S*|, the number of arms that tie for the best.", 1, example=1),
    "min_gap": Parameter(_optional(_POSITIVE), "Smallest gap of the pool, if it is not gap.", None),
    "arms": Parameter(_whole(1), "Number of arms for which the statement holds at once.", 1, example=1),
    "rows": Parameter(
        _choice("accumulated", "fresh"), "Rows behind the scores of median elimination.", "accumulated", False
    ),
    "pairing": Parameter(
        _choice("same", "independent", "arbitrary"), "Whether arms are scored on the same rows.", "same", False
    ),
    "population": Parameter(_optional(_whole(1)), "Number of rows, if drawn without replacement.", None, example=1),
    "kernel": Parameter(
        _choice("any", "nonnegative"), '"nonnegative" if K(x, x\') >= 0, as for a Gaussian kernel.', "any", False
    ),
    "optimism": Parameter(
        _choice("dual", "rademacher"), "Bound on R_i - E V_i: Theorem 1 or symmetrisation.", "dual", False
    ),
    "mean_kappa_lambda": Parameter(
        _optional(_POSITIVE), "Lambda sqrt(mean K(x, x)), in place of kappa_lambda in the optimism.", None
    ),
    "variance": Parameter(_POSITIVE, "Bound on the variance of the loss.", example=0.05),
    "variance_rival": Parameter(_POSITIVE, "Bound on the variance of the rival's loss over the ball.", example=0.05),
    "variance_best": Parameter(_optional(_POSITIVE), "Bound on the variance of the best arm's loss.", None),
    "C_h": Parameter(_above_zero, "Penalty of |h|^2 in Eq. 3.", example=0.1),
    "C_g": Parameter(_above_zero, "Penalty of |g|^2 in Eq. 3.", example=0.1),
    "approximation_error": Parameter(_inputs.real, "Approximation error of the ball.", 0.0),
    "strict": Parameter(_unchecked, "Raise AssumptionError outside the assumptions; else return nan.", True, False),
    "log": Parameter(_unchecked, "Return the natural logarithm of the bound.", False, False),
}
"""Every parameter that a bound may have, described once."""


class BoundArguments(SimpleNamespace):
    """Checked arguments of a bound; where an assumption is broken the numbers are harmless placeholders.

    Besides the arguments: ``r`` is kappa_lambda, ``n`` the rows per arm (of the first round), ``schedule`` the rounds
    of median elimination, ``best`` the number of best arms, ``check`` the assumptions, ``per_arm`` whether gaps are
    given; ``gaps`` has one axis more than ``gap``: one entry per other arm, or one for all.
    """

    @property
    def rows_per_arm(self) -> Floats:
        """n as floats, with 1 for no rows at all (a case that is refused or masked)."""
        return at_least_one(self.n)

    @property
    def rivals(self) -> Ints:
        """K - |S*|."""
        return np.asarray(self.K - self.best)

    @property
    def width(self) -> Floats:
        """M, the range of the loss."""
        # A zero range (kappa_lambda = 0) only occurs at points that are masked.
        return np.asarray(np.maximum(formulas.loss_range(self.theta, self.r), np.finfo(float).tiny))

    @property
    def moved(self) -> Floats:
        """D, the range of the loss under replacement of a row."""
        return np.asarray(formulas.replacement_range(self.theta, self.r, self.kernel))


Pulls = Literal["uniform", "first_round", "schedule"]


def bound(
    statement: str,
    signature: str,
    *,
    pulls: Pulls | None = None,
    launch_factor: int | None = None,
    least: int = 0,
    ceiling: bool = True,
    example: str | None = None,
) -> Callable[[Callable[[BoundArguments], Any]], Callable[..., Bound]]:
    """Turn a formula of a `BoundArguments` into a public bound.

    Parameters
    ----------
    statement : str
        Number of the statement.
    signature : str
        Names of `PARAMETERS` in order; those after ``*`` are keyword-only. With "log" the formula is a logarithm,
        without "strict" the assumptions are always required.
    pulls : {"uniform", "first_round", "schedule"}, optional
        How B becomes rows per arm: floor(B / K), floor(B / (K log2 K)), or the rounds of `halving_schedule`.
    launch_factor : int, optional
        Factor of the identification condition on n.
    least : int
        Smallest allowed value of the first parameter, if it is a number of rows.
    ceiling : bool
        Whether the gap is one of risks over the ball, and so at most 1 - inf loss.
    example : str, optional
        Value with three digits at the parameters' example values, for the documentation; a test evaluates it.
    """
    public = _signature(signature)

    def decorate(formula: Callable[[BoundArguments], Any]) -> Callable[..., Bound]:
        def values(given: Mapping[str, Any]) -> Any:
            point = _checked(given, pulls=pulls, launch_factor=launch_factor, least=least, ceiling=ceiling)
            with np.errstate(all="ignore"):
                value = point.check.mask(np.asarray(formula(point)))
                return value if given.get("log", True) else np.exp(value)

        @functools.wraps(formula)
        def evaluate(*args: Any, **options: Any) -> Bound:
            call = public.bind(*args, **options)
            call.apply_defaults()
            return _inputs.result(_in_blocks(values, call.arguments))

        evaluate.__signature__ = public  # type: ignore[attr-defined]
        evaluate.__doc__ = _document(formula, public, statement, example)
        _ELEMENTWISE.add(evaluate)
        return evaluate

    return decorate


_ELEMENTWISE: set[Callable[..., Any]] = set()


def is_elementwise(function: Callable[..., Bound], parameters: Mapping[str, Any]) -> bool:
    """Tell whether one more argument may be an array of any length: a decorated bound, at one point otherwise."""
    return function in _ELEMENTWISE and parameters.get("gaps") is None and not any(map(np.ndim, parameters.values()))


def at_least_one(rows: Ints) -> Floats:
    """Return the number of rows as floats, with 1 for none."""
    return np.maximum(rows, 1).astype(np.float64)


def require_population(rows: Ints, population: Ints | None, check: Assumptions) -> None:
    """Require that draws without replacement need no more rows than there are."""
    if population is not None:
        check.require(POPULATION_EXHAUSTED, population - rows, strictly=False)


def _signature(text: str) -> inspect.Signature:
    before, _, after = text.partition(", *, ")
    kinds: dict[str, Any] = dict.fromkeys(before.split(", "), inspect.Parameter.POSITIONAL_OR_KEYWORD)
    kinds |= dict.fromkeys(filter(None, after.split(", ")), inspect.Parameter.KEYWORD_ONLY)
    parameters = [inspect.Parameter(name, kind, default=PARAMETERS[name].default) for name, kind in kinds.items()]
    return inspect.Signature(parameters, return_annotation="Bound")


def _document(
    formula: Callable[[BoundArguments], Any], signature: inspect.Signature, statement: str, example: str | None
) -> str:
    """Return the docstring of a bound: its own text, parameters, statement and an example."""
    described = [f"{name} : {PARAMETERS[name].kind}\n    {PARAMETERS[name].text}" for name in signature.parameters]
    sections = [
        str(inspect.getdoc(formula)),
        "Parameters\n----------\n" + "\n".join(described),
        "Returns\n-------\nfloat or array\n    The bound.",
        f"Notes\n-----\nStatement: {statement}.",
    ]
    if example is not None:
        package, _, module = formula.__module__.rpartition(".")
        values = ", ".join(
            f"{name}={PARAMETERS[name].example}"
            if parameter.kind is parameter.KEYWORD_ONLY
            else str(PARAMETERS[name].example)
            for name, parameter in signature.parameters.items()
            if parameter.default is _REQUIRED
        )
        call = f'>>> print(f"{{{module}.{formula.__name__}({values}):.3g}}")'
        sections.append(f"Examples\n--------\n>>> from {package} import {module}\n{call}\n{example}")
    return "\n\n".join(sections)


def _checked(
    given: Mapping[str, Any], *, pulls: Pulls | None, launch_factor: int | None, least: int, ceiling: bool
) -> BoundArguments:
    """Check all arguments; with ``strict`` the first broken assumption raises, otherwise it is remembered."""
    point = BoundArguments(per_arm=False)
    for place, (name, value) in enumerate(given.items()):
        if name in ("B", "n") and place == 0:
            checked = _inputs.whole(value, name, least=least)
        elif name == "gap" and value is None and "gaps" in given:
            continue
        else:
            checked = PARAMETERS[name].check(value, name)
        setattr(point, "r" if name in ("kappa_lambda", "kappa", "radius") else name, checked)
    if pulls == "uniform":
        point.n = formulas.uniform_pulls(point.B, point.K)
    elif pulls == "first_round":
        point.n = formulas.first_round_pulls(point.B, point.K)
    elif pulls == "schedule":
        point.schedule = formulas.halving_schedule(point.B, point.K)
        point.n = point.schedule.pulls[0]
    if "gap" in given:
        _set_gaps(point, given["gap"], given.get("gaps"))
    if "best_count" in given:
        _set_best(point, given["best_count"])
    if "theta" in given:
        _require_loss(point, bool(given.get("strict", True)))
    if "gap" in given:
        _require_gap(point, ceiling=ceiling)
    if launch_factor is not None:
        _require_launch(point, launch_factor)
    return point


def _set_gaps(point: BoundArguments, gap: Any, gaps: Any) -> None:
    """Set the smallest positive gap and the gaps with rival arms on a last axis (of length 1 for one common gap)."""
    if (gap is None and gaps is None) or not (gap is None or gaps is None):
        raise ValueError(EITHER_GAP)
    if gaps is None:
        point.gaps = point.gap[..., None]
        return
    values = _inputs.positive(gaps, "gaps")
    if values.ndim == 0 or np.any(values.shape[-1] + 1 != point.K):
        raise ValueError(f"gaps must hold K - 1 numbers, got shape {values.shape} for K = {point.K}")
    # An arm with gap 0 ties with the best; if all do, there is no gap at all.
    smallest = np.min(np.where(values > 0, values, np.inf), axis=-1)
    point.gap = np.where(np.isinf(smallest), 0.0, smallest)
    point.gaps, point.per_arm = values, True


def _set_best(point: BoundArguments, best_count: Any) -> None:
    if point.per_arm:
        point.best = 1 + np.sum(point.gaps == 0, axis=-1)
        return
    point.best = _inputs.whole(best_count, "best_count", least=1)
    if np.any(point.best >= point.K):
        raise ValueError(f"best_count must be below K (no gap exists otherwise), got {best_count!r}")


def _require_loss(point: BoundArguments, strict: bool) -> None:
    """Require theta in (0, 1/2); broken elements get the placeholder 1/4."""
    shown = [name for name in ("gap", "n") if hasattr(point, name)]
    if not hasattr(point, "n"):
        shown += [name for name in ("B", "m") if hasattr(point, name)][:1]
    at: dict[str, Any] = {name: getattr(point, name) for name in shown}
    at["theta"] = point.theta
    if hasattr(point, "r"):
        at["kappa_lambda"] = point.r
    point.check = Assumptions(strict, at)
    point.check.require("theta > 0", point.theta)
    point.check.require("theta < 1/2", 0.5 - point.theta)
    if np.any(point.check.broken):
        point.theta = np.where((point.theta > 0) & (point.theta < 0.5), point.theta, 0.25)


def _require_gap(point: BoundArguments, *, ceiling: bool) -> None:
    point.check.require("gap > 0", point.gap)
    if ceiling:
        largest = formulas.loss_fall(point.theta, point.r, point.r) * (1 + CEILING_TOLERANCE)
        text = "gap <= Delta_max = 1 - inf loss (no population has a larger gap)"
        point.check.require(text, largest - np.max(point.gaps, axis=-1), strictly=False)


def _require_launch(point: BoundArguments, factor: int) -> None:
    """Require the identification condition in rows, so that the message says how many are missing."""
    text = f"identification condition n > {factor} ((1 - theta) r)^2 / ((1 - 2 theta) gap)^2"
    gap = point.gap
    smallest = getattr(point, "min_gap", None)
    if smallest is not None:
        point.check.require("min_gap <= gap", gap - smallest, strictly=False)
        gap = smallest
    with np.errstate(all="ignore"):
        rows = formulas.launch_rows(factor, gap, point.theta, point.r)
    point.check.require(text, np.asarray(point.n - rows))


def _in_blocks(values: Callable[[Mapping[str, Any]], Any], given: Mapping[str, Any]) -> Any:
    """Evaluate large inputs block by block, with identical results; per-arm gaps have an axis of their own."""
    numbers = {name: value for name, value in given.items() if PARAMETERS[name].array and value is not None}
    try:
        arrays = {name: np.asarray(value) for name, value in numbers.items()}
        shape = np.broadcast_shapes(*(array.shape for name, array in arrays.items() if name != "gaps"))
    except ValueError:
        raise ValueError(f"{', '.join(numbers)} must be numbers, or arrays whose shapes fit together") from None
    if given.get("gaps") is not None or max(array.size for array in arrays.values()) <= BLOCK:
        return values(given)
    flat = {name: np.broadcast_to(array, shape).reshape(-1) for name, array in arrays.items()}
    total = np.empty(math.prod(shape))
    try:
        for start in range(0, total.size, BLOCK):
            part = slice(start, start + BLOCK)
            total[part] = values({**given, **{name: array[part] for name, array in flat.items()}})
    except AssumptionError:
        # Once more as a whole, so that the error names the worst of all points.
        return values(given)
    return total.reshape(shape)
