"""`check_bound`: test a bound on near-tight instances, exact probabilities and counted trials.

A bound is a function ``bound(budget, context)``. Every instance has a failure probability that is known exactly, or
between two numbers, or counted; one false-alarm probability alpha covers all counts.
"""

from simulations.testing._bound_instances import Assumes, Bound, BoundInstance, point_of
from simulations.testing.checks import BoundReport, check_bound, examine_bound

__all__ = ["Assumes", "Bound", "BoundInstance", "BoundReport", "check_bound", "examine_bound", "point_of"]
