"""Validate the parameters of `ExMLClassifier` and resolve them to the objects that fitting uses."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from fractions import Fraction
from numbers import Real
from types import MappingProxyType, SimpleNamespace
from typing import Any

import numpy as np

from exml_sim._internal.arrays import FloatArray
from exml_sim._internal.validation import as_numbers, check_choice, check_count, check_jobs, check_theta, counted
from exml_sim.bandit.scoring import penalised_scores
from exml_sim.bandit.trial import Exploration
from exml_sim.classifier._latent_class import uniform_noise
from exml_sim.classifier._probability_models import check_estimator
from exml_sim.classifier._rejection_model import ModelOptions
from exml_sim.classifier.constants import CHECK_GROWTH, FIRST_CHECK_ROWS
from exml_sim.money import exact, show
from exml_sim.strategies import STRATEGIES, Strategy, ValueOfInformationCommit, by_name
from exml_sim.strategies.fixed_confidence import FixedConfidence, check_confidence, check_epsilon
from exml_sim.strategies.successive_elimination import SuccessiveElimination

EXPLORE: Sequence[str] = ("auto", "always", "never")
MODELS: Sequence[str] = ("auto", "rejection", "forest", "kernel")
HIDDEN: Sequence[str] = ("class", "flag", "never")
CANDIDATE_SCORES: Sequence[str] = ("held_out", *penalised_scores())

#: The paper's method: Algorithm 1 on Eq. 5, rejection models, one candidate.
PAPER: Mapping[str, Any] = MappingProxyType(
    {"strategy": "median_elimination", "candidate_score": "risk", "model": "rejection", "max_candidates": 1}
)


class Parameters(SimpleNamespace):
    """The parameters of `ExMLClassifier` by name, validated and resolved.

    `strategy` is an object, `theta` None where it is chosen, `max_candidates` None where subset selection decides,
    `label_noise` None where it is estimated, `confidence` None where the budget is fixed. `options` are those of the
    rejection models, `workers` the threads of the scores.
    """

    @property
    def selects_subsets(self) -> bool:
        """Whether sets of candidates are compared."""
        return isinstance(self.strategy, ValueOfInformationCommit) and self.candidate_score == "held_out"

    @property
    def uses_rejection(self) -> bool:
        """Whether layers are the paper's rejection models."""
        return isinstance(self.model, str) and self.model == "rejection"

    def replace(self, **changes: Any) -> Parameters:
        """Return a copy with changes."""
        return Parameters(**{**vars(self), **changes})


def resolve_parameters(given: Mapping[str, Any], n_classes: int = 2) -> Parameters:
    """Validate the parameters of a classifier for `n_classes` known classes."""
    p = Parameters(**given)
    check_choice(p.explore, "explore option", EXPLORE)
    check_choice(p.candidate_score, "candidate_score", CANDIDATE_SCORES)
    fraction = exact(p.validation_fraction, "validation_fraction")
    if not 0 <= fraction < 1:
        raise ValueError(f"validation_fraction must be in [0, 1), got {p.validation_fraction}")
    for name in ("target", "tolerated_rejection"):
        if not 0 <= getattr(p, name) <= 1:
            raise ValueError(f"{name} must be in [0, 1], got {getattr(p, name)}")
    p.thetas = tuple(float(theta) for theta in check_theta(list(p.thetas)))
    is_automatic = isinstance(p.theta, str) and p.theta == "auto"
    p.theta = _resolve_theta(p.theta, "theta", ("auto", "tune_on_test"))
    p.initial_theta = _resolve_theta(p.initial_theta, "initial_theta", ("auto",))
    p.exploration_theta = float(check_theta(p.exploration_theta if p.theta is None else p.theta))
    if isinstance(p.model, str):
        check_choice(p.model, "model", MODELS)
    else:
        check_estimator(p.model)
    if p.max_candidates is not None:
        p.max_candidates = check_count(p.max_candidates, "max_candidates")
    p.strategy = resolve_strategy(p.strategy, p.alignment, p.objective, p.max_candidates)
    p.strategy, p.confidence = _resolve_confidence(p)
    if not p.selects_subsets:
        p.max_candidates = p.max_candidates or 1
    # Money is kept for validation only where theta is chosen; subset selection and confident stops spend all.
    keeps_money = is_automatic and not p.selects_subsets and p.confidence is None
    p.validation_fraction = fraction if keeps_money else Fraction(0)
    p.max_stages = check_count(p.max_stages, "max_stages")
    p.folds = check_count(p.folds, "folds", least=2)
    p.options = ModelOptions(p.kernel, p.gamma, p.C_h, p.C_g, p.loss, p.scaling)
    p.label_noise = _resolve_label_noise(p.label_noise, n_classes)
    p.hidden_share = _check_hidden_share(p)
    # A user's classifier draws from one generator, fit after fit, and may not support threads.
    p.workers = check_jobs(p.n_jobs) if isinstance(p.model, str) else 1
    return p


def _resolve_theta(theta: Any, name: str, words: Sequence[str]) -> float | None:
    """Return a given rejection cost; None if a word says how it is chosen."""
    if not isinstance(theta, str):
        return float(check_theta(theta))
    if theta not in words:
        raise ValueError(f"{name} must be {', '.join(map(repr, words))} or a number in (0, 1/2), got {theta!r}")
    return None


def _resolve_label_noise(given: Any, n_classes: int) -> FloatArray | None:
    """Return the label noise; None if it is to be estimated."""
    if isinstance(given, str) and given in ("estimate", "uniform"):
        return None if given == "estimate" else uniform_noise(n_classes)
    noise = np.empty(0) if isinstance(given, str) else as_numbers(given, "label_noise")
    is_distribution = noise.shape == (n_classes,) and (noise >= 0.0).all() and np.isclose(noise.sum(), 1.0)
    if not is_distribution or noise.max() >= 1.0:
        raise ValueError(
            f'label_noise must be "estimate", "uniform" or {n_classes} probabilities below 1 of sum 1, got {given!r}'
        )
    return noise


def _check_hidden_share(p: Parameters) -> float | None:
    """Return the share of hidden rows: None to choose it, 0 for no hidden class."""
    check_choice(p.hidden, "hidden", HIDDEN)
    given = p.hidden_share
    if p.uses_rejection and (given is not None or p.hidden == "never"):
        raise ValueError("hidden_share and hidden='never' are for models with a hidden class, not model='rejection'")
    is_number = isinstance(given, Real) and not isinstance(given, bool)
    if given is not None and (not is_number or not 0.0 <= float(given) < 1.0):
        raise ValueError(f"hidden_share must be None or a number in [0, 1), got {given!r}")
    if p.hidden == "never" and given:
        raise ValueError(f"hidden='never' and hidden_share={given!r} contradict each other: leave one out")
    return 0.0 if p.hidden == "never" else None if given is None else float(given)


def resolve_strategy(
    strategy: Any, alignment: str | None, objective: str | None, max_candidates: int | None
) -> Strategy:
    """Build the strategy from a name and options.

    Raises
    ------
    ValueError
        If options contradict each other, or the strategy cannot select `max_candidates` candidates.
    """
    number = max_candidates or 1
    if isinstance(strategy, str):
        options: dict[str, Any] = {"alignment": alignment or "sample", "objective": objective or "risk"}
        several = {name: rule.number_option for name, rule in STRATEGIES.items() if rule.number_option is not None}
        if strategy in several:
            options[several[strategy]] = number
        elif number > 1 and strategy in STRATEGIES and strategy != "value_of_information_commit":
            raise ValueError(
                f"strategy {strategy!r} selects one candidate, not {number}; use {' or '.join(map(repr, several))}"
            )
        return by_name(strategy, **options)
    if not isinstance(strategy, Strategy):
        raise ValueError(f"a strategy is a name ({', '.join(STRATEGIES)}) or a Strategy object, got {strategy!r}")
    if alignment is not None or objective is not None:
        raise ValueError("a Strategy object has its own alignment and objective: leave them out")
    selects = int(getattr(strategy, "selects", 1))
    if selects != number and not isinstance(strategy, ValueOfInformationCommit):
        raise ValueError(f"the strategy selects {counted(selects, 'candidate')}, but max_candidates={number}")
    return strategy


def _resolve_confidence(p: Parameters) -> tuple[Strategy, float | None]:
    """Return the strategy with its confidence; the default strategy becomes successive elimination.

    Raises
    ------
    ValueError
        For strategies that spend a fixed budget, and for scores whose differences have no valid error.
    """
    strategy = p.strategy
    if p.confidence is None:
        if isinstance(strategy, FixedConfidence):
            return strategy, strategy.confidence
        if p.epsilon:
            raise ValueError(f"epsilon={p.epsilon!r} goes with a confidence: give both or neither")
        return strategy, None
    confidence = check_confidence(p.confidence)
    epsilon = check_epsilon(p.epsilon)
    if p.candidate_score != "held_out":
        raise ValueError(
            f"a confidence needs out-of-fold scores: candidate_score must be 'held_out', got {p.candidate_score!r}"
        )
    if isinstance(strategy, ValueOfInformationCommit):
        strategy = SuccessiveElimination(alignment=strategy.alignment, objective=strategy.objective)
    if not isinstance(strategy, FixedConfidence):
        known = ", ".join(name for name, rule in STRATEGIES.items() if issubclass(rule, FixedConfidence))
        raise ValueError(f"a confidence goes with the strategies {known}; {type(strategy).__name__} spends all it has")
    how: dict[str, Any] = {"first_pulls": FIRST_CHECK_ROWS, "growth": CHECK_GROWTH}
    return replace(strategy, confidence=confidence, epsilon=epsilon, **how), confidence


def describe_stop(exploration: Exploration, left: Fraction, parameters: Parameters) -> str:
    """Describe how a purchase with a confidence ended."""
    strategy = parameters.strategy
    level = f"{100.0 * strategy.confidence:g} %"
    level += f" up to {strategy.epsilon:g}" if strategy.epsilon else ""
    if not exploration.confident:
        return f"rows or money ended before the selection was confident with {level} (approximate)"
    return (
        f"the selection was confident with {level} (approximate) after {show(exploration.ledger.spent)}; the other "
        f"{show(left)} buy rows of the selected candidate"
    )
