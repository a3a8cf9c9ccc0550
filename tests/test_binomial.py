"""The exact interval of a proportion is that of scipy.stats."""

import pytest
from scipy.stats import binomtest

from exml_sim._internal.binomial import clopper_pearson


@pytest.mark.parametrize("level", [0.9, 0.95, 0.99])
@pytest.mark.parametrize(("k", "n"), [(0, 1), (1, 1), (3, 17), (40, 2000), (2000, 2000), (0, 300)])
def test_clopper_pearson_is_that_of_scipy(k, n, level):
    reference = binomtest(k, n).proportion_ci(level, "exact")
    assert clopper_pearson(k, n, level) == pytest.approx((reference.low, reference.high), abs=1e-12)
