"""ExMLClassifier on a user's own table: initial model, exploration with a budget, cascade."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from exml_sim.classifier._ask_tell import AskTell
from exml_sim.classifier.estimator import BaseExMLClassifier

if TYPE_CHECKING:
    from exml_sim.classifier.estimator import ExMLClassifier

__all__ = ["AskTell", "BaseExMLClassifier", "ExMLClassifier"]


def __getattr__(name: str) -> Any:
    # Made on demand: importing scikit-learn takes about a second.
    if name == "ExMLClassifier":
        from exml_sim.classifier import estimator

        return estimator.ExMLClassifier
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
