"""The whole method on a user's own table: initial model, exploration with real money, cascade."""

from exml_sim.method.ask_tell import AskTell
from exml_sim.method.estimator import ExMLClassifier, Hindsight

__all__ = ["AskTell", "ExMLClassifier", "Hindsight"]
