"""A pool of atoms is the same pool for the theory and for the engine."""

from __future__ import annotations

from dataclasses import replace
from fractions import Fraction

import pytest

from exml_sim.engine import Sampling, build_pool
from simulations._pool_bounds import atom_pool, ball_score
from theory.claims._instances import POOLS

NAMES = sorted(POOLS)


def risks(spec, pool):
    return [float(risk) for risk in build_pool(spec, ball_score(pool), Sampling()).risks]


@pytest.mark.parametrize("name", NAMES)
def test_gaps_are_those_of_the_exact_pool(name):
    pool = POOLS[name]()
    result = risks(atom_pool(pool, name), pool)
    assert [entry - min(result) for entry in result] == pytest.approx([float(gap) for gap in pool.gaps()], abs=1e-9)
    assert atom_pool(pool, name).label == name


def test_copies_are_in_proportion_to_the_weights():
    pool = next(entry for entry in (POOLS[name]() for name in NAMES) if entry.weights != entry.weights[::-1])
    copies = atom_pool(pool).copies
    assert [Fraction(entry, sum(copies)) for entry in copies] == list(pool.weights)
    doubled = atom_pool(pool, copies=[2 * entry for entry in copies])
    assert risks(doubled, pool) == pytest.approx(risks(atom_pool(pool), pool))
    wrong = replace(atom_pool(pool), copies=copies[::-1])
    assert risks(wrong, pool) != pytest.approx(risks(atom_pool(pool), pool))
