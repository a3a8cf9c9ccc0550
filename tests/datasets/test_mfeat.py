"""The shipped data."""

from __future__ import annotations

import hashlib

import numpy as np
import pytest

from exml_sim.datasets import mfeat

#: SHA-256 of the checksums of all views and of the classes, as published.
CHECKSUM = "8261148a1814d21f88e9271e0db11de334cc5e18e01bc33c9cf2448797e18fef"


def test_numbers_are_the_published_ones() -> None:
    data = mfeat.load_mfeat()
    checksums = [mfeat.checksum(values) for values in (*data.views.values(), data.y)]
    assert hashlib.sha256("".join(checksums).encode()).hexdigest() == CHECKSUM
    assert [data.views[v].shape for v in mfeat.VIEWS] == [(2000, d) for d in (216, 240, 64, 47, 76, 6)]
    np.testing.assert_array_equal(np.bincount(data.y), np.full(10, 200))
    changed = data.views["mor"].copy()
    changed[0, 0] += 1e-9
    assert mfeat.checksum(changed) not in checksums


def test_nobody_can_spoil_it() -> None:
    with pytest.raises(ValueError, match="read-only"):
        mfeat.load_mfeat().y[0] = 5


def test_scaling() -> None:
    scaled = mfeat.scale_to_unit(np.array([[1.0, 5.0], [3.0, 5.0]]))
    np.testing.assert_array_equal(scaled, [[0.0, 0.0], [1.0, 0.0]])
