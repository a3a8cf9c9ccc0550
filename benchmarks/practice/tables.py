"""Tables with groups of columns that can be had without network: from scikit-learn, matplotlib and this package.

Three of thirteen tables are generated, by mechanisms that are written down here; the others are measurements.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import cache
from typing import Any

import numpy as np

from exml_sim._internal.arrays import FloatArray, IntArray
from exml_sim.datasets import load_mfeat, make_synthetic


@dataclass(frozen=True, slots=True, eq=False)
class Table:
    """Rows with a true class and groups of columns.

    Attributes
    ----------
    classes
        True class of every row, from 0.
    groups
        Columns by group, each of shape (m, width).
    generated
        True if the rows are simulated.
    """

    classes: IntArray
    groups: dict[str, FloatArray]
    generated: bool = False


def _columns(data: Any, names: dict[str, list[str]]) -> dict[str, FloatArray]:
    where = {str(name): i for i, name in enumerate(data.feature_names)}
    return {group: np.asarray(data.data[:, [where[c] for c in columns]], float) for group, columns in names.items()}


def _thirds(values: FloatArray) -> IntArray:
    """Class 0, 1, 2 by thirds of a column that is not among the features."""
    return np.searchsorted(np.quantile(values, [1 / 3, 2 / 3]), values).astype(np.int64)


def mfeat() -> Table:
    """Handwritten digits in the six views of UCI's Multiple Features."""
    data = load_mfeat()
    return Table(data.y.copy(), dict(data.views))


def digits() -> Table:
    """Scikit-learn's 8 x 8 digits; a group is two lines of the image."""
    from sklearn.datasets import load_digits

    data = load_digits()
    images = data.images.reshape(-1, 4, 16)
    return Table(data.target.astype(np.int64), {f"lines {2 * i}-{2 * i + 1}": images[:, i] for i in range(4)})


def wine() -> Table:
    """Three cultivars; groups are the analyses of a laboratory."""
    from sklearn.datasets import load_wine

    data = load_wine()
    groups = {
        "acids": ["malic_acid"],
        "ash": ["ash", "alcalinity_of_ash", "magnesium"],
        "alcohol": ["alcohol"],
        "phenols": ["total_phenols", "flavanoids", "nonflavanoid_phenols", "proanthocyanins"],
        "colour": ["color_intensity", "hue"],
        "proline": ["od280/od315_of_diluted_wines", "proline"],
    }
    return Table(data.target.astype(np.int64), _columns(data, groups))


def iris() -> Table:
    """Three species."""
    from sklearn.datasets import load_iris

    data = load_iris()
    groups = {
        "sepal": ["sepal length (cm)", "sepal width (cm)"],
        "petal length": ["petal length (cm)"],
        "petal width": ["petal width (cm)"],
    }
    return Table(data.target.astype(np.int64), _columns(data, groups))


def cancer() -> Table:
    """Breast tumours: benign, malignant and small, malignant and large (by perimeter, which is no feature)."""
    from sklearn.datasets import load_breast_cancer

    data = load_breast_cancer()
    large = data.data[:, list(data.feature_names).index("mean perimeter")]
    malignant = data.target == 0
    classes = np.where(malignant, 1 + (large > np.median(large[malignant])), 0).astype(np.int64)
    groups = {
        "surface": ["mean texture", "mean smoothness", "mean symmetry"],
        "shape": ["mean compactness", "mean concavity", "mean concave points", "mean fractal dimension"],
        "errors": ["radius error", "texture error", "area error", "smoothness error", "concavity error"],
        "size": ["mean radius"],
        "worst shape": ["worst compactness", "worst concavity", "worst concave points", "worst symmetry"],
        "worst surface": ["worst texture", "worst smoothness", "worst fractal dimension"],
    }
    return Table(classes, _columns(data, groups))


def diabetes() -> Table:
    """Progression of diabetes in thirds."""
    from sklearn.datasets import load_diabetes

    data = load_diabetes(scaled=False)
    groups = {
        "person": ["age", "sex"],
        "scales": ["bmi"],
        "pressure": ["bp"],
        "lipids": ["s1", "s2", "s3", "s4"],
        "serum": ["s5", "s6"],
    }
    return Table(_thirds(np.asarray(data.target, float)), _columns(data, groups))


def _patches(image: FloatArray, size: int) -> FloatArray:
    high, wide = (side // size for side in image.shape[:2])
    cut = image[: high * size, : wide * size]
    return cut.reshape(high, size, wide, size, -1).swapaxes(1, 2).reshape(high * wide, size, size, -1)


def _texture(grey: FloatArray) -> dict[str, FloatArray]:
    """Groups of measures of patches (n, side, side)."""
    down, across = np.diff(grey, axis=1), np.diff(grey, axis=2)
    spectrum = np.abs(np.fft.rfft2(grey - grey.mean(axis=(1, 2), keepdims=True)))
    rows, columns = spectrum.shape[1:]
    radius = np.hypot(np.minimum(np.arange(rows), rows - np.arange(rows))[:, None], np.arange(columns)[None, :])
    bands = [np.log1p(spectrum[:, (radius >= a) & (radius < b)].mean(axis=1)) for a, b in ((1, 2), (2, 4), (4, 99))]
    return {
        "edges": np.column_stack([np.abs(down).mean(axis=(1, 2)), np.abs(across).mean(axis=(1, 2))]),
        "quantiles": np.quantile(grey, [0.05, 0.5, 0.95], axis=(1, 2)).T,
        "spectrum": np.column_stack(bands),
    }


def photos() -> Table:
    """Patches of three photographs: sky, roofs and walls, a flower, a portrait; groups are ways to look at a patch."""
    from matplotlib.cbook import get_sample_data
    from matplotlib.image import imread
    from sklearn.datasets import load_sample_images

    china, flower = (np.asarray(image, float) for image in load_sample_images().images)
    with get_sample_data("grace_hopper.jpg") as file:  # type: ignore[union-attr]
        portrait = np.asarray(imread(file), float)
    parts = [_patches(part, 12) for part in (china[:150], china[190:], flower, portrait)]
    rng = np.random.default_rng(0)
    parts = [part[rng.permutation(len(part))[:400]] for part in parts]
    classes = np.repeat(np.arange(4), [len(part) for part in parts])
    pixels = np.concatenate(parts)
    grey = pixels.mean(axis=3)
    colour = pixels.mean(axis=(1, 2))
    groups = {
        "spread": grey.std(axis=(1, 2))[:, None],
        "brightness": grey.mean(axis=(1, 2))[:, None],
        "hue": colour - colour.mean(axis=1, keepdims=True),
        **_texture(grey),
    }
    return Table(classes.astype(np.int64), groups)


def terrain() -> Table:
    """Windows of an elevation model in thirds of elevation (which is no feature); groups are terrain measures."""
    from matplotlib.cbook import get_sample_data

    grid = get_sample_data("jacksboro_fault_dem.npz")["elevation"].astype(float)  # type: ignore[index]
    cells = _patches(grid, 9)[..., 0]
    level = cells - cells.mean(axis=(1, 2), keepdims=True)
    smooth = np.gradient(np.gradient(level, axis=1), axis=1) + np.gradient(np.gradient(level, axis=2), axis=2)
    slope = np.stack([level[:, -1].mean(axis=1) - level[:, 0].mean(axis=1), level[:, :, -1].mean(axis=1)], axis=1)
    high, wide = (side // 9 for side in grid.shape)
    mean = cells.mean(axis=(1, 2)).reshape(high, wide)
    around = np.pad(mean, 1, mode="edge")
    steps = [around[1 + i : 1 + i + high, 1 + j : 1 + j + wide] - mean for i, j in ((0, 1), (0, -1), (1, 0), (-1, 0))]
    texture = _texture(level)
    groups = {
        "relief": level.std(axis=(1, 2))[:, None],
        "slope": slope,
        "neighbours": np.column_stack([step.ravel() for step in steps]),
        "curvature": np.column_stack([smooth.mean(axis=(1, 2)), smooth.std(axis=(1, 2))]),
        "edges": texture["edges"],
        "spectrum": texture["spectrum"],
    }
    return Table(_thirds(mean.ravel()), groups)


def seabed() -> Table:
    """Places of a coast: deep, shelf, land; groups are where they are and what surrounds them."""
    from matplotlib.cbook import get_sample_data

    data = get_sample_data("topobathy.npz")
    topo = data["topo"].astype(float)  # type: ignore[index]
    rng = np.random.default_rng(0)
    pick = rng.permutation(topo.size)[:1500]
    east, north = np.meshgrid(data["longitude"].astype(float), data["latitude"].astype(float))  # type: ignore[index]
    down, across = np.gradient(topo)
    far = [np.roll(np.sign(topo), shift, axis) * np.abs(np.roll(topo, shift, axis)) ** 0.5 for shift, axis in _FAR]
    groups = {
        "steepness": np.log1p(np.hypot(down, across)).ravel()[pick, None],
        "east": east.ravel()[pick, None],
        "north": north.ravel()[pick, None],
        "direction": np.arctan2(down, across).ravel()[pick, None],
        "soundings": np.column_stack([entry.ravel()[pick] for entry in far]),
    }
    return Table(_thirds(topo.ravel()[pick]), groups)


_FAR = ((6, 0), (-6, 0), (6, 1), (-6, 1))


def faces() -> Table:
    """Blocks of pixels of one portrait: which third of the picture a patch comes from."""
    from matplotlib.cbook import get_sample_data
    from matplotlib.image import imread

    with get_sample_data("grace_hopper.jpg") as file:  # type: ignore[union-attr]
        portrait = np.asarray(imread(file), float)
    third = portrait.shape[0] // 3
    parts = [_patches(portrait[i * third : (i + 1) * third], 14) for i in range(3)]
    pixels = np.concatenate(parts)
    grey = pixels.mean(axis=3)
    groups = {
        "spread": grey.std(axis=(1, 2))[:, None],
        "red": pixels[..., 0].mean(axis=(1, 2))[:, None],
        "green": pixels[..., 1].mean(axis=(1, 2))[:, None],
        "blue": pixels[..., 2].mean(axis=(1, 2))[:, None],
        **_texture(grey),
    }
    return Table(np.repeat(np.arange(3), [len(part) for part in parts]).astype(np.int64), groups)


def angles() -> Table:
    """Section 5.1 of the paper: nine projections of the third axis, and two that say nothing."""
    rows = make_synthetic(400, rng=7)
    picked = {c.name: np.asarray(c.values, float).reshape(len(rows.X), -1) for c in rows.candidates}
    return Table(np.asarray(rows.classes, np.int64) - 1, {"observed": np.asarray(rows.X, float), **picked}, True)


def patients() -> Table:
    """Panels of a laboratory: skewed, correlated, on different scales; a disease moves few values of few panels.

    Four diseases over three latent factors; a value is a log-normal function of the factors, the disease and noise.
    """
    rng = np.random.default_rng(11)
    classes = np.repeat(np.arange(4), 350)
    factors = rng.normal(size=(len(classes), 3))
    strength = {"history": (3, 0.5), "blood": (6, 0.7), "enzymes": (5, 1.5), "urine": (4, 0.0), "antibodies": (3, 1.1)}
    groups = {}
    for name, (width, effect) in strength.items():
        shift = rng.normal(size=(4, width)) * effect * (rng.random((4, width)) < 0.6)
        raw = shift[classes] + 0.6 * factors @ rng.normal(size=(3, width)) + rng.normal(size=(len(classes), width))
        groups[name] = np.exp(0.5 * raw) * rng.uniform(0.1, 50.0, width)
    return Table(classes.astype(np.int64), groups, True)


def motions() -> Table:
    """Features of simulated body-worn sensors: every activity has a frequency and an amplitude per limb.

    A signal is a sine with random phase, person's pace and noise; a group has mean, spread, range and two bands.
    """
    rng = np.random.default_rng(5)
    classes = np.repeat(np.arange(5), 240)
    time = np.arange(64) / 16.0
    pace = rng.normal(1.0, 0.12, len(classes))
    groups = {}
    for limb, noise in (("back", 1.5), ("left arm", 1.0), ("right arm", 0.7), ("left leg", 0.7), ("right leg", 1.2)):
        frequency, size = rng.uniform(0.5, 3.0, 5), rng.uniform(0.3, 1.6, 5)
        angle = 2 * np.pi * (frequency[classes] * pace)[:, None] * time + rng.uniform(0, 7, len(classes))[:, None]
        wave = size[classes][:, None] * np.sin(angle) + noise * rng.normal(size=(len(classes), 64))
        power = np.abs(np.fft.rfft(wave, axis=1)) ** 2
        bands = np.log(np.column_stack([power[:, 2:6].sum(axis=1), power[:, 6:14].sum(axis=1)]))
        groups[limb] = np.column_stack([wave.std(axis=1), np.ptp(wave, axis=1), bands])
    return Table(classes.astype(np.int64), groups, True)


TABLES: dict[str, Callable[[], Table]] = {
    value.__name__: cache(value)
    for value in (
        mfeat,
        digits,
        wine,
        iris,
        cancer,
        diabetes,
        photos,
        terrain,
        seabed,
        faces,
        angles,
        patients,
        motions,
    )
}
