"""Newton directions from a bordered factor, against a factor of their own and against the plain system in numpy."""

from __future__ import annotations

import numpy as np
import pytest

from exml_sim import kernels
from exml_sim.rejection._newton import LEAST, SHARE, count_changes, directions, exact_direction, weights_of
from exml_sim.rejection._triangle import CORNER_B, EDGE_AB, INSIDE, geometry

N, SIGMA = 150, 7.0
FACES = range(INSIDE + 1)


def setting(seed: int) -> tuple[np.ndarray, np.ndarray, np.ndarray, np.random.Generator]:
    rng = np.random.default_rng(seed)
    gram = kernels.gaussian(rng.normal(size=(N, 3)), gamma=0.5)
    return gram, rng.choice([-1.0, 1.0], N), geometry(0.3, 0.7, 0.4), rng


def plain_direction(gram: np.ndarray, y: np.ndarray, geo: np.ndarray, face: np.ndarray, r: np.ndarray) -> np.ndarray:
    """d of (I + sigma P K) d = r, all 2n unknowns, by LAPACK."""
    p = np.zeros((2 * N, 2 * N))
    for i in range(N):
        w11, w12, w22 = weights_of(face[i], y[i], geo)
        p[i, i], p[i, N + i], p[N + i, i], p[N + i, N + i] = w11, w12, w12, w22
    both = np.kron(np.eye(2), gram)
    solved: np.ndarray = np.linalg.solve(np.eye(2 * N) + SIGMA * p @ both, r)
    return solved


def direction(
    gram: np.ndarray,
    y: np.ndarray,
    geo: np.ndarray,
    face: np.ndarray,
    based: np.ndarray,
    r: np.ndarray,
    system: np.ndarray,
) -> tuple[np.ndarray, np.ndarray]:
    """The direction, and the system afterwards."""
    du, dv, kdu, kdv = (np.empty(N) for _ in range(4))
    sound, system = exact_direction(gram, y, geo, face, based, r[:N], r[N:], SIGMA, du, dv, kdu, kdv, system)
    assert sound
    np.testing.assert_allclose(np.concatenate([gram @ du, gram @ dv]), np.concatenate([kdu, kdv]), atol=1e-10)
    return np.concatenate([du, dv]), system


def changed_faces(seed: int, moves: list[tuple[int, int]]) -> tuple[np.ndarray, np.ndarray]:
    """Faces with most rows free, and the same after the given moves of single rows."""
    rng = np.random.default_rng(seed)
    based = rng.choice([0, 1, 2, 3, 4, 5, 5, 6], N).astype(np.int64)
    face = based.copy()
    for row, (old, new) in zip(rng.permutation(N), moves, strict=False):
        based[row], face[row] = old, new
    return based, face


@pytest.mark.parametrize("old", FACES)
def test_every_change_of_a_face_gives_the_direction_of_the_plain_system(old: int) -> None:
    gram, y, geo, rng = setting(old)
    based, face = changed_faces(old, [(old, new) for new in FACES])
    assert len(directions(based, y, geo)[0]) >= LEAST
    assert 0 < SHARE * sum(count_changes(face, based)) <= len(directions(based, y, geo)[0])
    nothing = np.full(N, -1)
    _, system = direction(gram, y, geo, based, nothing, rng.normal(size=2 * N), np.empty((0, 0)))
    np.testing.assert_array_equal(nothing, based)  # the factor is remembered with its faces
    r = rng.normal(size=2 * N)
    result, _ = direction(gram, y, geo, face, nothing, r, system)
    np.testing.assert_array_equal(nothing, based)  # and was used
    own, _ = direction(gram, y, geo, face, np.full(N, -1), r, np.empty((0, 0)))
    np.testing.assert_allclose(result, own, rtol=1e-8, atol=1e-9)
    np.testing.assert_allclose(result, plain_direction(gram, y, geo, face, r), rtol=1e-8, atol=1e-9)


def test_a_planted_error_in_the_old_factor_shows() -> None:
    gram, y, geo, rng = setting(9)
    based, face = changed_faces(9, [(EDGE_AB, CORNER_B), (CORNER_B, EDGE_AB)])
    remembered = np.full(N, -1)
    _, system = direction(gram, y, geo, based, remembered, rng.normal(size=2 * N), np.empty((0, 0)))
    system[1, 3] += 1e-3
    r = rng.normal(size=2 * N)
    result, _ = direction(gram, y, geo, face, remembered, r, system)
    assert np.max(np.abs(result - plain_direction(gram, y, geo, face, r))) > 1e-6


def test_many_changes_are_left_to_a_factor_of_their_own() -> None:
    gram, y, geo, rng = setting(10)
    based, face = changed_faces(10, [(EDGE_AB, CORNER_B)] * 60)
    remembered = np.full(N, -1)
    _, system = direction(gram, y, geo, based, remembered, rng.normal(size=2 * N), np.empty((0, 0)))
    r = rng.normal(size=2 * N)
    result, _ = direction(gram, y, geo, face, remembered, r, system)
    np.testing.assert_array_equal(remembered, face)
    np.testing.assert_allclose(result, plain_direction(gram, y, geo, face, r), rtol=1e-8, atol=1e-9)
