"""The shipped data."""

from __future__ import annotations

import numpy as np
import pytest

from exml_sim.datasets import mfeat


def test_numbers_are_the_published_ones() -> None:
    data = mfeat.load_mfeat()
    assert {name: mfeat.checksum(values) for name, values in data.views.items()} == {
        name: mfeat.CHECKSUMS[name] for name in mfeat.VIEWS
    }
    assert mfeat.checksum(data.y) == mfeat.CHECKSUMS["y"]
    assert [data.views[v].shape for v in mfeat.VIEWS] == [(2000, d) for d in (216, 240, 64, 47, 76, 6)]
    np.testing.assert_array_equal(np.bincount(data.y), np.full(10, 200))


def test_a_changed_number_changes_the_checksum() -> None:
    values = mfeat.load_mfeat().views["mor"].copy()
    values[0, 0] += 1e-9
    assert mfeat.checksum(values) != mfeat.CHECKSUMS["mor"]


def test_nobody_can_spoil_it() -> None:
    with pytest.raises(ValueError, match="read-only"):
        mfeat.load_mfeat().y[0] = 5


def test_scaling() -> None:
    scaled = mfeat.scale_to_unit(np.array([[1.0, 5.0], [3.0, 5.0]]))
    np.testing.assert_array_equal(scaled, [[0.0, 0.0], [1.0, 0.0]])
