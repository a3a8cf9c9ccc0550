"""Exact distributions that the tests hold strategies against."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

import numpy as np
from scipy.stats import binom

from exml_sim._internal.arrays import FloatArray
from exml_sim._internal.validation import check_count


def uniform_selection_probabilities(
    means: Sequence[float], pulls: Sequence[int] | int, ties: str = "random"
) -> FloatArray:
    """Exact probability that each Bernoulli arm has the lowest mean, ties going to the lowest index or any index.

    For independent S_i ~ Bin(n_i, mu_i), arm i is selected iff S_j / n_j > S_i / n_i for all j < i and >=
    for all j > i, so

        P(i) = sum_s P(S_i = s) prod_{j < i} P(S_j / n_j > s / n_i) prod_{j > i} P(S_j / n_j >= s / n_i).

    With random ties the number T of arms that tie with i is a sum of independent indicators, and i is selected with
    probability 1 / (1 + T).

    Parameters
    ----------
    means
        Bernoulli means.
    pulls
        Pulls per arm, one number for all or one each.
    """
    size = len(means)
    each = pulls if isinstance(pulls, Iterable) else [pulls] * size
    numbers = [check_count(number, "pulls") for number in each]
    if len(numbers) != size:
        raise ValueError(f"{size} means need as many numbers of pulls, got {len(numbers)}")
    probabilities = np.zeros(size)
    for i in range(size if ties == "random" else 0):
        for s in range(numbers[i] + 1):
            tied = np.array([binom.pmf(s, numbers[i], means[i])])
            for j in (j for j in range(size) if j != i):
                edge, rest = divmod(s * numbers[j], numbers[i])
                tie = binom.pmf(edge, numbers[j], means[j]) if rest == 0 else 0.0
                above = binom.sf(edge, numbers[j], means[j])
                tied = np.append(tied * above, 0.0) + np.append(0.0, tied * tie)
            probabilities[i] += float(tied @ (1.0 / np.arange(1, tied.size + 1)))
    for i in range(size if ties == "lowest" else 0):
        s = np.arange(numbers[i] + 1)
        term: FloatArray = binom.pmf(s, numbers[i], means[i])
        for j in range(size):
            if j == i:
                continue
            # S_j / n_j > s / n_i  <=>  S_j > floor(s n_j / n_i);   >=  <=>  S_j > ceil(s n_j / n_i) - 1
            edge = s * numbers[j] // numbers[i] if j < i else -(-s * numbers[j] // numbers[i]) - 1
            term = term * binom.sf(edge, numbers[j], means[j])
        probabilities[i] = term.sum()
    return probabilities
