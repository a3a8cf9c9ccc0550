"""The closed forms behind ``theory.constants``, without checks: theta must already be in (0, 1/2)."""

from __future__ import annotations

import numpy as np

from theory._inputs import Floats

__all__ = [
    "dual",
    "fall",
    "fall_on_disc",
    "rademacher",
    "replacement",
    "rise",
    "slope",
    "spread",
    "tight_rademacher",
    "uniform_deviation",
]


def slope(theta: Floats) -> Floats:
    """b = theta / (1 - 2 theta)."""
    return theta / (1 - 2 * theta)


def rademacher(theta: Floats) -> Floats:
    """c = (1 - theta) / (1 - 2 theta), the paper's."""
    return (1 - theta) / (1 - 2 * theta)


def tight_rademacher(theta: Floats) -> Floats:
    """c* = 1/2 + max(1/2, b)."""
    constant: Floats = 0.5 + np.maximum(0.5, slope(theta))
    return constant


def dual(theta: Floats) -> Floats:
    """c_d = max over q in [0, 1] of sqrt(q) / 2 + sqrt(q / 4 + (1 - q) b^2), in closed form."""
    steep = np.maximum(slope(theta) ** 2, 0.5)
    constant: Floats = 2 * steep / np.sqrt(4 * steep - 1)
    return constant


def uniform_deviation(theta: Floats, r: Floats) -> Floats:
    """d with E sup_f (R(f) - R_n(f)) <= d r / sqrt n: 1 in the affine regime, 2 c* beyond it."""
    # r <= 1 - 2 theta makes the loss affine on the ball, and the supremum a sum of two norms.
    constant: Floats = np.where(r <= 1 - 2 * theta, 1.0, 2 * tight_rademacher(theta))
    return constant


def rise(theta: Floats, r_h: Floats, r_g: Floats) -> Floats:
    """sup l - 1 over |h| <= r_h, |g| <= r_g, without cancellation for small radii."""
    # A convex function is largest at a corner of the box: (t, s) = (-r_h, r_g) or s = -r_g.
    excess: Floats = np.maximum((r_h + r_g) / 2, theta - 1 + slope(theta) * r_g)
    return excess


def fall(theta: Floats, r_h: Floats, r_g: Floats) -> Floats:
    """1 - inf l over |h| <= r_h, |g| <= r_g, without cancellation: the ceiling of gaps."""
    # t = r_h is best; in s the first piece rises and the second falls, so the minimum of their
    # maximum is at the crossing s = (1 - 2 theta)(r_h - 2 (1 - theta)) or at the nearer end.
    s = np.clip((1 - 2 * theta) * (r_h - 2 * (1 - theta)), -r_g, r_g)
    depth: Floats = np.minimum(np.minimum((r_h - s) / 2, 1 - theta + slope(theta) * s), 1.0)
    return depth


def spread(theta: Floats, r_h: Floats, r_g: Floats) -> Floats:
    """M = sup l - inf l over |h| <= r_h, |g| <= r_g."""
    return rise(theta, r_h, r_g) + fall(theta, r_h, r_g)


def replacement(theta: Floats, r: Floats, *, nonnegative: bool) -> Floats:
    """Largest change of the loss of one f between two rows; smaller for a nonnegative kernel."""
    full = spread(theta, r, r)
    if not nonnegative:
        return full
    reduced: Floats = np.minimum(full, np.sqrt(2) * np.maximum(1.0, slope(theta)) * r)
    return reduced


def fall_on_disc(theta: Floats, r: Floats, radius: Floats) -> Floats:
    """1 - inf l over the disc t^2 + s^2 <= radius^2 within the box |t|, |s| <= r."""
    # On the line where the two pieces agree, s = w (t - 2 (1 - theta)) with w = 1 - 2 theta and the
    # common value is theta (3 - 2 theta - t); follow it to the circle or to the side t = r of the box.
    w, shift = 1 - 2 * theta, 2 * (1 - theta)
    a, half_b = 1 + w**2, w**2 * shift
    disc = np.maximum(half_b**2 - a * ((w * shift) ** 2 - radius**2), 0.0)
    t = np.minimum((half_b + np.sqrt(disc)) / a, r)
    crossing = np.minimum(1 - theta * (3 - 2 * theta - t), 1.0)
    depth: Floats = np.where(radius / np.sqrt(2) <= w, radius / np.sqrt(2), crossing)
    return depth
