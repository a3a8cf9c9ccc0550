"""`check_bound`: a bound held against near-tight instances, exact laws and counted trials.

A bound is a function ``bound(budget, context)``. Every instance has a failure probability that is known exactly, or
between two numbers, or counted; one false-alarm probability covers all counts.
"""

from simulations.testing.assumptions import Assumes, Bound, Instance
from simulations.testing.checks import BoundReport, check_bound, examine_bound
from simulations.testing.features import point_of
from simulations.testing.mutants import bound_mutants, planted_bound
from simulations.testing.tightest import Tightest, hunt_tightest

__all__ = [
    "Assumes",
    "Bound",
    "BoundReport",
    "Instance",
    "Tightest",
    "bound_mutants",
    "check_bound",
    "examine_bound",
    "hunt_tightest",
    "planted_bound",
    "point_of",
]
