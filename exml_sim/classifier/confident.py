"""Fixed confidence on bought rows: which rule buys until it is sure, and what the run says about it."""

from __future__ import annotations

from dataclasses import replace
from fractions import Fraction
from typing import Any

from exml_sim.bandit.trial import Exploration
from exml_sim.money import show
from exml_sim.strategies import STRATEGIES, Strategy, ValueOfInformationCommit
from exml_sim.strategies.fixed_confidence import FixedConfidence, check_confidence, check_epsilon
from exml_sim.strategies.successive_elimination import SuccessiveElimination

#: The level where only --stop-when-confident is given.
CONFIDENCE = 0.95

#: Looks get rarer by this part of the rows: each costs a fit of every candidate.
GROWTH = 0.25

#: Rows of the first look.
FIRST_PULLS = 20


def wanted(confidence: Any, stop_when_confident: bool) -> float | None:
    """The confidence that a run buys for; None if it spends a fixed budget."""
    if confidence is None:
        return CONFIDENCE if stop_when_confident else None
    return check_confidence(confidence)


def confident(strategy: Strategy, confidence: float, epsilon: Any, score: str) -> Strategy:
    """The strategy with a confidence: a race instead of the default purchase, others must have one.

    Raises
    ------
    ValueError
        For rules that spend a fixed budget, and for scores whose differences have no sound error.
    """
    aim = check_epsilon(epsilon)
    if score != "held_out":
        raise ValueError(
            f"a confidence needs scores of rows that no model has seen: candidate_score 'held_out', not {score!r}"
        )
    if isinstance(strategy, ValueOfInformationCommit):
        strategy = SuccessiveElimination(alignment=strategy.alignment, objective=strategy.objective)
    if not isinstance(strategy, FixedConfidence):
        known = ", ".join(name for name, rule in STRATEGIES.items() if issubclass(rule, FixedConfidence))
        raise ValueError(f"a confidence goes with the strategies {known}; {type(strategy).__name__} spends all it has")
    return replace(strategy, confidence=confidence, epsilon=aim, first_pulls=FIRST_PULLS, growth=GROWTH)


def remark(found: Exploration, left: Fraction, kept: bool, rule: Strategy) -> str:
    """How a purchase with a confidence ended."""
    assert isinstance(rule, FixedConfidence)
    level = f"{100.0 * rule.confidence:g} %"
    level += f" up to {rule.epsilon:g}" if rule.epsilon else ""
    if not found.confident:
        return f"the rows or the money ended before the selection was sure with {level} (approximate)"
    rest = f"{show(left)} are kept" if kept else f"the other {show(left)} buy rows of what was selected"
    return f"the selection was sure with {level} (approximate) after {show(found.ledger.spent)}; {rest}"
