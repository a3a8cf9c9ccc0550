"""The list of paths to fail is complete: whatever the scores are, a failure is one of them."""

from __future__ import annotations

import numpy as np
import pytest

from exml_sim.engine.modes._tilting import Passing, Schedule, list_paths


def schedule(keeps: tuple[int, ...], top: int = 1, fixed: bool = True) -> Schedule:
    """Rounds of one row each."""
    rounds = len(keeps)
    return Schedule(tuple(range(rounds + 1)), tuple((0, t + 1) for t in range(rounds)), keeps, top, fixed)


def play(scores: np.ndarray, keeps: tuple[int, ...]) -> list[int]:
    """Survivors of rounds with given scores, shape (rounds, arms): lower is better, ties go to the lower index."""
    active = list(range(scores.shape[1]))
    for turn, number in enumerate(keeps):
        active = sorted(active, key=lambda arm: (scores[turn, arm], arm))[:number]
    return active


def happens(path: tuple[Passing, ...], scores: np.ndarray) -> bool:
    """Whether every rival of a path passes (or ties with) every best arm it should pass."""
    return all(scores[s.round, s.rival] <= scores[s.round, s.best] for s in path)


RULES = {
    "uniform": ((1,), 1),
    "top two": ((2,), 2),
    "halving of 4": ((2, 1), 1),
    "halving of 6": ((3, 2, 1), 1),
    "halving of 8": ((4, 2, 1), 1),
    "rejects": ((4, 3, 2, 1), 1),
}


@pytest.mark.parametrize("best", [1, 2, 3])
@pytest.mark.parametrize("name", RULES)
def test_every_failure_is_one_of_the_ways(name, best):
    """2000 tables of small whole scores, so that ties and failures are frequent."""
    keeps, top = RULES[name]
    arms = {"halving of 4": 4, "halving of 6": 6, "halving of 8": 8}.get(name, 5)
    best = max(best, top)
    good, bad = list(range(arms - best, arms)), list(range(arms - best))
    paths = list(list_paths(schedule(keeps, top), good, bad))
    rng = np.random.default_rng(7)
    failures = 0
    for _ in range(2000):
        scores = rng.integers(0, 4, size=(len(keeps), arms))
        selected = play(scores, keeps)
        if any(arm in bad for arm in selected):
            failures += 1
            assert any(happens(path, scores) for path in paths)
    assert failures > 100


def test_no_way_is_idle():
    """Every path of halving is the only one to happen for some scores: without it a failure would be missed."""
    keeps, good, bad = (2, 1), [0, 1], [2, 3]
    paths = set(list_paths(schedule(keeps), good, bad))
    rng = np.random.default_rng(3)
    needed = set()
    for _ in range(20_000):
        scores = rng.integers(0, 5, size=(2, 4))
        if play(scores, keeps)[0] in bad:
            happening = [path for path in paths if happens(path, scores)]
            if len(happening) == 1:
                needed.add(happening[0])
    assert needed == paths


def test_unlikely_steps_and_unknown_schedules():
    paths = list(list_paths(schedule((1,)), [0], [1, 2], lambda step: step.rival == 2))
    assert paths == [(Passing(0, 2, 0),)]
    loose = list(list_paths(schedule((3, 1), fixed=False), [0], [1, 2]))
    assert loose == [(Passing(t, j, 0),) for t in (0, 1) for j in (1, 2)]
