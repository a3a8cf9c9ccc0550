"""Load Multiple Features (UCI): 2000 handwritten digits in six views, the benchmark of Section 5.2.

Source: R. P. W. Duin, Multiple Features, UCI Machine Learning Repository, CC BY 4.0. The file is built by
``tools/build_mfeat.py``.
"""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from exml_sim._internal.arrays import FloatArray, IntArray
from exml_sim._internal.validation import check_choice, check_count, check_random_state, shown
from exml_sim.money import Money
from exml_sim.population import Candidate, Population

#: The views, best first, as the paper ranks them.
VIEWS = ("fac", "pix", "kar", "zer", "fou", "mor")


@dataclass(frozen=True, slots=True)
class Mfeat:
    """Six views of the same 2000 digits.

    Attributes
    ----------
    views : dict of str to ndarray
        fac (216 profile correlations), pix (240 pixel averages), kar (64 Karhunen-Loeve coefficients), zer (47 Zernike
        moments), fou (76 Fourier coefficients), mor (6 morphological features); raw values.
    y : ndarray, shape (2000,)
        The digit.
    """

    views: dict[str, FloatArray]
    y: IntArray


@cache
def load_mfeat() -> Mfeat:
    """Load the shipped data, read-only.

    Examples
    --------
    >>> digits = load_mfeat()
    >>> len(digits.y), digits.views["mor"].shape
    (2000, (2000, 6))
    """
    with np.load(Path(__file__).with_name("mfeat.npz"), allow_pickle=False) as file:
        views = {name: file[name].astype(np.float64) for name in VIEWS}
        y = file["y"].astype(np.int64)
    for values in (*views.values(), y):
        values.setflags(write=False)
    return Mfeat(views, y)


def checksum(values: NDArray[np.generic]) -> str:
    """Compute the SHA-256 of an array's shape and numbers as little-endian float64, independent of how it is stored."""
    array = np.ascontiguousarray(values, dtype="<f8")
    return hashlib.sha256(repr(array.shape).encode() + array.tobytes()).hexdigest()


def scale_to_unit(values: FloatArray) -> FloatArray:
    """Scale every column to [0, 1], as Section 5.2 does before training; a constant column becomes 0."""
    low, spread = values.min(axis=0), np.ptp(values, axis=0)
    scaled: FloatArray = (values - low) / np.where(spread > 0.0, spread, 1.0)
    return scaled


def make_mfeat(
    digits: tuple[int, int, int] = (0, 1, 2),
    per_class: int = 100,
    *,
    observed: str = "mor",
    candidates: Sequence[str] = VIEWS[:5],
    costs: Sequence[Money] | None = None,
    rng: np.random.Generator | int | None,
) -> Population:
    """Draw rows of three digits: negative, positive and hidden, the last labelled by a fair coin (Section 5.2).

    Parameters
    ----------
    per_class
        Rows of each digit.
    observed, candidates
        The view that is known, and those that can be bought.
    costs
        Cost of one row of each candidate; 1 by default.
    """
    data, rng, per_class = load_mfeat(), check_random_state(rng, "rng"), check_count(per_class, "per_class")
    if isinstance(candidates, str) or not isinstance(candidates, Sequence):
        raise ValueError(f"candidates must be a list of views, got {shown(candidates)}")
    for view in (observed, *candidates):
        check_choice(view, "view", VIEWS)
    if not isinstance(digits, Sequence) or len(digits) != 3:
        raise ValueError(f"digits must be three digits: negative, positive, hidden; got {shown(digits)}")
    for digit in digits:
        if not per_class <= int((data.y == digit).sum()):
            raise ValueError(f"mfeat has fewer than {shown(per_class)} rows of digit {digit}")
    rows = np.concatenate([rng.choice(np.flatnonzero(data.y == digit), per_class, replace=False) for digit in digits])
    coin = rng.choice(np.array([-1, 1]), size=rows.size)
    truth = data.y[rows]
    y = np.where(truth == digits[0], -1, np.where(truth == digits[1], 1, coin))
    prices = costs or (1,) * len(candidates)
    if len(prices) != len(candidates):
        raise ValueError(f"costs must be one for each of {len(candidates)} candidates, got {len(prices)}")
    views = {name: scale_to_unit(data.views[name])[rows] for name in {observed, *candidates}}
    bought = [Candidate(name, views[name], price) for name, price in zip(candidates, prices, strict=True)]
    return Population(views[observed], y, bought, classes=truth, hidden=digits[2])
