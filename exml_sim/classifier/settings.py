"""The parameters of `ExMLClassifier`, checked at the door and in the form that the method uses."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from numbers import Real
from types import MappingProxyType
from typing import TYPE_CHECKING, Any

import numpy as np

from exml_sim.arrays import FloatArray
from exml_sim.bandit.scoring import penalised_scores
from exml_sim.classifier.confident import confident, wanted
from exml_sim.classifier.gated import ModelOptions
from exml_sim.classifier.latent import fair
from exml_sim.classifier.soft import check_estimator
from exml_sim.money import exact
from exml_sim.strategies import STRATEGIES, Strategy, ValueOfInformationCommit, by_name
from exml_sim.strategies.fixed_confidence import FixedConfidence
from exml_sim.validation import as_numbers, check_choice, check_count, check_jobs, check_theta, counted

if TYPE_CHECKING:
    from exml_sim.classifier.explorer import Explorer

EXPLORE: Sequence[str] = ("auto", "always", "never")
MODELS: Sequence[str] = ("auto", "rejection", "forest", "kernel")

#: The paper's method: Algorithm 1 on Eq. 5, rejection models, one candidate.
PAPER: Mapping[str, Any] = MappingProxyType(
    {"strategy": "median_elimination", "candidate_score": "risk", "model": "rejection", "top": 1}
)


@dataclass(frozen=True, slots=True, eq=False)
class Settings:
    """How an exploration is run, validated (see `ExMLClassifier` for the meaning of each).

    `top` is None where the race decides how many candidates are worth it; `law` is None where it is estimated;
    `hidden_share` is None where nobody knows it; `confidence` is None where the budget is fixed.
    """

    strategy: Strategy
    top: int | None
    layers: int
    cascade: bool
    theta: float | None
    exploration_theta: float
    thetas: tuple[float, ...]
    validation_share: Fraction
    target: float
    tolerated_rejection: float
    score: str
    folds: int
    options: ModelOptions
    model: Any = "rejection"
    law: FloatArray | None = None
    hidden_share: float | None = None
    confidence: float | None = None
    keep_rest: bool = False
    workers: int = 1

    @property
    def races(self) -> bool:
        """Whether sets of candidates race for the final model."""
        return isinstance(self.strategy, ValueOfInformationCommit) and self.score == "held_out"

    @property
    def rejection(self) -> bool:
        """Whether layers are the paper's rejection models."""
        return isinstance(self.model, str) and self.model == "rejection"


def settings_of(model: Explorer, n_classes: int = 2) -> Settings:
    """The parameters of a classifier for so many known classes, validated."""
    check_choice(model.explore, "explore option", EXPLORE)
    check_choice(model.candidate_score, "candidate_score", ("held_out", *penalised_scores()))
    share = exact(model.validation_share, "validation_share")
    if not 0 <= share < 1:
        raise ValueError(f"validation_share must be in [0, 1), got {model.validation_share}")
    for what, value in (("target", model.target), ("tolerated_rejection", model.tolerated_rejection)):
        if not 0 <= value <= 1:
            raise ValueError(f"{what} must be in [0, 1], got {value}")
    thetas = tuple(float(one) for one in check_theta(list(model.thetas)))
    fixed = None
    if not isinstance(model.theta, str):
        fixed = float(check_theta(model.theta))
    elif model.theta not in ("auto", "hindsight"):
        raise ValueError(f'theta must be "auto", "hindsight" or a number in (0, 1/2), got {model.theta!r}')
    _check_model(model.model)
    top = None if model.top is None else check_count(model.top, "top")
    strategy = resolve_strategy(model.strategy, model.alignment, model.objective, top)
    confidence = wanted(model.confidence, bool(model.stop_when_confident))
    if confidence is None and isinstance(strategy, FixedConfidence):
        confidence = strategy.confidence
    elif confidence is not None:
        strategy = confident(strategy, confidence, model.epsilon, model.candidate_score)
    elif model.epsilon:
        raise ValueError(f"epsilon={model.epsilon!r} goes with a confidence: give both or neither")
    races = isinstance(strategy, ValueOfInformationCommit) and model.candidate_score == "held_out"
    return Settings(
        strategy=strategy,
        top=top if races else top or 1,
        layers=check_count(model.layers, "layers"),
        cascade=bool(model.cascade),
        theta=fixed,
        exploration_theta=float(check_theta(model.exploration_theta if fixed is None else fixed)),
        thetas=thetas,
        # Money is kept for validation only where there is something to validate; a race spends all by itself, and
        # so does what stops when it is sure.
        validation_share=share if model.theta == "auto" and not races and confidence is None else Fraction(0),
        target=float(model.target),
        tolerated_rejection=float(model.tolerated_rejection),
        score=model.candidate_score,
        folds=_folds(model.folds),
        options=ModelOptions(model.kernel, model.gamma, model.C_h, model.C_g, model.loss, model.scaling),
        model=model.model,
        law=_law(model.mislabelling, n_classes),
        hidden_share=_hidden_share(model.hidden_share, model.model),
        confidence=confidence,
        keep_rest=bool(model.stop_when_confident),
        # A user's classifier draws from one generator, fit after fit, and may not know threads.
        workers=check_jobs(model.n_jobs) if isinstance(model.model, str) else 1,
    )


def _check_model(model: Any) -> None:
    if isinstance(model, str):
        check_choice(model, "model", MODELS)
    else:
        check_estimator(model)


def _folds(given: Any) -> int:
    """Folds of cross-validations: with a single one nothing is left to learn from."""
    return check_count(given, "folds", least=2)


def _law(given: Any, n_classes: int) -> FloatArray | None:
    """The law of mislabelling; None if it is to be estimated."""
    if isinstance(given, str):
        if given in ("estimate", "fair"):
            return None if given == "estimate" else fair(n_classes)
        law = np.empty(0)
    else:
        law = as_numbers(given, "mislabelling")
    if law.shape != (n_classes,) or not (law >= 0.0).all() or not np.isclose(law.sum(), 1.0) or law.max() >= 1.0:
        raise ValueError(
            f'mislabelling must be "estimate", "fair" or {n_classes} probabilities below 1 of sum 1, got {given!r}'
        )
    return law


def _hidden_share(given: Any, model: Any) -> float | None:
    """The share of hidden rows; None if it is not known."""
    if given is None:
        return None
    if isinstance(model, str) and model == "rejection":
        raise ValueError("hidden_share is for models that know the hidden class: model='rejection' has no use for it")
    number = isinstance(given, Real) and not isinstance(given, bool)
    if not number or not 0.0 < float(given) < 1.0:
        raise ValueError(f"hidden_share must be None or a number in (0, 1), got {given!r}")
    return float(given)


def resolve_strategy(strategy: Any, alignment: str | None, objective: str | None, top: int | None) -> Strategy:
    """Build the strategy from what the user gave.

    Raises
    ------
    ValueError
        If options contradict each other, or the rule cannot select `top` candidates.
    """
    if isinstance(strategy, str):
        options: dict[str, Any] = {"alignment": alignment or "sample", "objective": objective or "risk"}
        several = {name: rule.number_option for name, rule in STRATEGIES.items() if rule.number_option is not None}
        if strategy in several:
            options[several[strategy]] = top or 1
        elif (top or 1) > 1 and strategy in STRATEGIES and strategy != "value_of_information_commit":
            raise ValueError(
                f"strategy {strategy!r} selects one candidate, not the top {top}; use {' or '.join(map(repr, several))}"
            )
        return by_name(strategy, **options)
    if not isinstance(strategy, Strategy):
        raise ValueError(f"a strategy is a name ({', '.join(STRATEGIES)}) or a Strategy object, got {strategy!r}")
    if alignment is not None or objective is not None:
        raise ValueError("a Strategy object carries its own alignment and objective: leave them out")
    selects = int(getattr(strategy, "selects", 1))
    if selects != (top or 1) and not isinstance(strategy, ValueOfInformationCommit):
        raise ValueError(f"the strategy selects {counted(selects, 'candidate')}, but top={top or 1}")
    return strategy
