"""The whole method on a user's own table: initial model, exploration with real money, cascade."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from exml_sim.classifier.ask_tell import AskTell
from exml_sim.classifier.explorer import Explorer, Hindsight

if TYPE_CHECKING:
    from exml_sim.classifier.estimator import ExMLClassifier

__all__ = ["AskTell", "ExMLClassifier", "Explorer", "Hindsight"]


def __getattr__(name: str) -> Any:
    # scikit-learn takes about a second to import: only those who use the estimator wait for it.
    if name == "ExMLClassifier":
        from exml_sim.classifier.estimator import ExMLClassifier

        return ExMLClassifier
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
