"""The defaults of the first version of this package, as a method of the benchmark.

They assume a hidden class of at most 1.1 known classes, unless the labels show more, and call no more rows hidden. A
comparison needs 8 rows, is never repeated while rows of the selected set are bought, and never stops on noise. What is
done with left-over money is that of today.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any
from unittest.mock import patch

import numpy as np

from exml_sim._internal.arrays import FloatArray, IntArray
from exml_sim.classifier import _latent_class as latent
from exml_sim.classifier import _layers
from exml_sim.classifier._probability_models import Fitter, normalise, one_hot, scale_odds
from exml_sim.classifier.subset_selection import SubsetSelection

#: Largest hidden class in units of an average known class, unless the labels show more; limits of clear and mixed rows;
#: fraction of clear rows that a larger class needs, and the rows in between that it tolerates per clear row.
SIZE, CLEAR, MIXED, MIN_CLEAR, MAX_BETWEEN = 1.1, 0.25, 0.5, 0.2, 0.5
#: Factor on a share that is given, and rows that a comparison needs.
SHARE_FACTOR, MIN_ROWS = 1.25, 8


def largest_share(parts: FloatArray, n_classes: int) -> float:
    """Return the largest share of rows that the hidden class may have."""
    usual = SIZE / (n_classes + 1)
    clear, above = float((parts <= CLEAR).mean()), float((parts > MIXED).mean())
    between = 1.0 - clear - above
    if clear < MIN_CLEAR or between > MAX_BETWEEN * clear:
        return usual
    return max(usual, min(float(parts.mean()), above - between))


def fit_previous(
    fit: Fitter,
    X: FloatArray,
    y: IntArray,
    n_classes: int,
    noise: FloatArray | None = None,
    theta: float | None = None,
    hidden_share: float | None = None,
    large: bool = False,
    decided: latent.LatentFit | None = None,
) -> latent.LatentFit:
    """Fit a layer by the rule of the first version; the parameters are those of `fit_em`."""
    p = normalise(fit(X, one_hot(y, n_classes))[1])
    estimate = latent.estimate_label_noise(p, y) if noise is None else None
    q = estimate.estimate if estimate is not None else np.asarray(noise)
    parts = np.clip(latent.hidden_parts(p, q), 0.0, 1.0)
    most = largest_share(parts, n_classes) if hidden_share is None else min(SHARE_FACTOR * hidden_share, 1.0)
    model, odds, f = latent._run_em(fit, X, y, q, p, parts, most)
    ratio = np.sort(f[:, :-1].max(axis=1) / np.maximum(f[:, -1], 1e-12))
    cut = float(min(1.0, ratio[min(len(ratio) - 1, int(most * len(ratio)))])) if hidden_share is None else 1.0
    return latent.LatentFit(latent.LatentModel(model, q, theta, odds * cut), scale_odds(f, cut), p, estimate, None)


@contextmanager
def previous_rules() -> Iterator[None]:
    """Replace the rules of today by those of the first version."""

    def always(selection: SubsetSelection, *arms: Any) -> bool:
        return True

    with (
        patch.object(_layers, "fit_em", fit_previous),
        patch.object(SubsetSelection, "_is_explained", always),
        patch("exml_sim.classifier.constants.MIN_INFORMATIVE_ROWS", MIN_ROWS),
        patch("exml_sim.classifier.constants.SWITCH_DEVIATIONS", np.inf),
    ):
        yield
