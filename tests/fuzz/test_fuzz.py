"""The standing attack in small: every kind runs, finds what is planted, and its findings can be judged again."""

from __future__ import annotations

import json
import logging
from collections import Counter
from dataclasses import replace
from itertools import permutations, product
from pathlib import Path

import numpy as np
import pytest

import theory.population
from exml_sim.engine import StoreError
from fuzz import __main__ as command
from fuzz import bounds, case, damage, files, grams, halving, known, processes, worlds
from fuzz.case import Finding, expect, run, try_case
from theory import tighter


@pytest.fixture(scope="module", autouse=True)
def loud_again():
    """Attacks silence warnings in their own process, which here is that of other tests."""
    yield
    logging.disable(logging.NOTSET)


@pytest.fixture(scope="module")
def broken(tmp_path_factory) -> damage.Damage:
    return damage.Damage(tmp_path_factory.mktemp("damage"))


def tried(attack: case.Attack, number: int, tmp_path) -> case.Tally:
    return run(attack, 7, 1e9, tmp_path / "findings", number)


def test_damaged_files_are_refused_or_unchanged(broken, tmp_path) -> None:
    tally = tried(broken, 150, tmp_path)
    assert not tally.findings, tally.line()
    assert all(tally.outcomes[f"{kind} refused"] > 0 for kind in damage.KINDS)


@pytest.mark.parametrize(
    "finding", sorted((Path(__file__).parent / "findings").glob("*.json")), ids=lambda file: file.stem
)
def test_what_was_found_stays_mended(broken, finding) -> None:
    saved = json.loads(finding.read_text(encoding="utf-8"))
    assert try_case(broken, saved["case"])


def test_a_store_without_seals_is_found_out(broken, monkeypatch) -> None:
    """Planted: nothing is compared. Then some flip of a stored number gives another answer."""
    monkeypatch.setattr("exml_sim.engine.store.verify", lambda connection: None)
    rng, found = np.random.default_rng(0), Counter()
    for _ in range(400):
        one = broken.draw(rng)
        if one["kind"] == "count":
            try:
                try_case(broken, one)
            except Finding as error:
                found[str(error).partition(":")[0]] += 1
                break
    assert found


@pytest.mark.long
def test_study_files_of_the_grammar(tmp_path) -> None:
    tally = tried(files.StudyFiles(), 200, tmp_path)
    assert not tally.findings, [path.read_text() for path in tally.findings]
    assert all(tally.outcomes[word] > 0 for word in ("refused", "run")), tally.line()


def test_command_lines_of_the_grammar(tmp_path, monkeypatch) -> None:
    monkeypatch.setattr(files, "BATCH", 12)
    tally = tried(files.CommandLines(), 12, tmp_path)
    assert not tally.findings, [path.read_text() for path in tally.findings]
    assert tally.outcomes["exit code 2"] > 0, tally.line()


def test_a_raw_exception_is_found(monkeypatch) -> None:
    attack = files.CommandLines()

    def raw(words: list[str]) -> None:
        raise KeyError("column")

    monkeypatch.setattr(files, "main", raw)
    with pytest.raises(Finding, match="raw KeyError"):
        try_case(attack, {"example": ["bound", "--K=8"]})


def test_killed_runs_are_continued(tmp_path, monkeypatch) -> None:
    monkeypatch.setattr(processes, "MODES", ("count",))
    monkeypatch.setattr(processes, "TRIALS", 40)
    for kind in (processes.Kills, processes.Writers, processes.FullDisk):
        tally = tried(kind(), 2, tmp_path)
        assert not tally.findings, [path.read_text() for path in tally.findings]


def test_a_store_that_loses_trials_is_found(monkeypatch) -> None:
    """Planted: another truth."""
    monkeypatch.setattr(processes, "MODES", ("count",))
    monkeypatch.setattr(processes, "TRIALS", 20)
    attack = processes.Kills()
    attack._truth["count"] = "another"
    with pytest.raises(Finding, match="differs from one that was never interrupted"):
        attack.judge({"mode": "count", "moments": [0.5]})


#: Pools on which bounds come within a factor of two.
CLOSE = {
    bounds.Bounds: {"seed": 6887224057647856483, "rows": [2, 16], "regime": "affine"},
    halving.Halving: {"seed": 4130827835890667477, "rows": [1, 3, 4, 22], "regime": "affine", "over": 0.0329868343917},
    known.Known: {
        "seed": 504223868842772792,
        "rows": [2, 5],
        "regime": "affine",
        "over": 0.8,
        "written": False,
        "named": False,
    },
}


@pytest.mark.parametrize("kind", list(CLOSE))
@pytest.mark.parametrize("regime", worlds.REGIMES)
def test_bounds_by_enumeration(kind, regime) -> None:
    seen = try_case(kind(), {**CLOSE[kind], "rows": [2, 5], "regime": regime, "named": True})
    assert seen["comparisons"] > 5


@pytest.mark.parametrize(
    ("kind", "module", "name"),
    [
        (bounds.Bounds, tighter, "lemma_4"),
        (bounds.Bounds, tighter, "delta_fail_uniform"),
        (halving.Halving, tighter, "delta_fail_median"),
        (known.Known, theory.population, "delta_fail_uniform"),
        (known.Known, theory.population, "delta_fail_rows"),
        (known.Known, theory.population, "delta_fail_median"),
    ],
)
def test_a_bound_that_is_too_small_is_refuted(kind, module, name, monkeypatch) -> None:
    """Planted: bounds are a quarter of what they should be."""
    right = getattr(module, name)
    assert try_case(kind(), CLOSE[kind])["above half of the bound"] > 0
    monkeypatch.setattr(module, name, lambda *given, **more: np.asarray(right(*given, **more)) / 4)
    with pytest.raises(Finding, match=f"{name}.* is above "):
        try_case(kind(), CLOSE[kind])


def small_world(**changes: object) -> worlds.World:
    features = np.array([[[0.9], [0.3]], [[0.4], [0.8]], [[-0.6], [0.7]]])
    told = {"sizes": np.array([4, 3]), "labels": np.array([1, -1]), "features": features, "theta": 0.2, "r": 0.6}
    world = worlds.World(**(told | changes))
    return replace(world, features=features[np.argsort(world.risks)])


def chances_by_hand(world: worlds.World, rounds: list[tuple[int, int]], accumulated: bool, draws: dict) -> np.ndarray:
    """Chances of selection: every sequence of rows on its own, its probability in `draws`."""
    found = np.zeros(world.arms)
    for rows, chance in draws.items():
        active, first = list(range(world.arms)), 0
        for n, most in rounds:
            seen = rows[: first + n] if accumulated else rows[first : first + n]
            counts = np.bincount(seen, minlength=len(world.sizes))[None]
            scores = world.hostile(world.scores(counts))[0]
            active = sorted(sorted(active, key=lambda arm: scores[arm])[:most])
            first += n
        found[active[0]] += chance
    return found


@pytest.mark.parametrize("accumulated", [True, False])
def test_median_elimination_is_enumerated_as_by_hand(accumulated) -> None:
    world, budget = small_world(), 14
    rounds = halving.schedule(budget, 3)
    assert rounds == [(2, 2), (3, 1)]
    ways = halving.Elimination(world, budget, accumulated=accumulated)
    draws = {rows: np.prod(world.law[list(rows)]) for rows in product(range(2), repeat=5)}
    by_hand = chances_by_hand(world, rounds, accumulated, draws)
    assert ways.together() == pytest.approx(by_hand, abs=1e-14)
    assert by_hand[0] < 0.999
    if accumulated:
        orders = Counter(permutations(np.repeat([0, 1], world.sizes).tolist(), 5))
        drawn = {rows: number / orders.total() for rows, number in orders.items()}
        assert ways.together(replacement=False) == pytest.approx(chances_by_hand(world, rounds, True, drawn), abs=1e-14)


@pytest.mark.parametrize("accumulated", [True, False])
def test_rows_of_their_own_are_enumerated_as_by_chance(accumulated) -> None:
    """The chance of the best arm, by 20,000 draws; false alarm below 1e-8 (six standard deviations)."""
    world, budget, trials = small_world(), 14, 20_000
    exact = halving.Elimination(world, budget, accumulated=accumulated).apart()
    rng = np.random.default_rng(1)
    found = np.zeros(3)
    counts = [rng.multinomial(n, world.law, size=(trials, 3)) for n, _ in halving.schedule(budget, 3)]
    held = np.cumsum(counts, axis=0) if accumulated else counts
    tables = [np.stack([world.hostile(world.scores(one[:, arm]))[:, arm] for arm in range(3)], axis=1) for one in held]
    for first, second in zip(*tables, strict=True):
        active = np.argsort(first, kind="stable")[:2]
        found[min(active, key=lambda arm: second[arm])] += 1
    assert np.abs(found / trials - exact) == pytest.approx(0.0, abs=6 * 0.5 / np.sqrt(trials))
    assert exact.sum() == pytest.approx(1.0)


def test_arms_with_rows_of_their_own_are_missed_as_by_hand() -> None:
    world = small_world()
    counts = worlds.compositions(4, 2)
    mass, scores = worlds.multinomial(counts, world.law), world.scores(counts)
    by_hand = sum(
        mass[a] * mass[b] * mass[c]
        for a, b, c in product(range(5), repeat=3)
        if min(scores[b, 1], scores[c, 2]) <= scores[a, 0] + world.tie
    )
    assert worlds.missed_apart(world, list(scores.T), [mass] * 3) == pytest.approx(by_hand, abs=1e-14)


def test_scores_beyond_the_affine_regime_agree_with_it_at_its_end() -> None:
    inside, outside = small_world(r=0.6), small_world(r=0.6 * (1 + 1e-9))
    counts = worlds.compositions(5, 2)
    assert inside.affine
    assert not outside.affine
    assert outside.scores(counts) == pytest.approx(inside.scores(counts), abs=1e-7)


def test_the_laws_of_samples_are_laws() -> None:
    counts = worlds.compositions(7, 3)
    sizes = np.array([4, 3, 5])
    assert worlds.multinomial(counts, sizes / 12).sum() == pytest.approx(1.0)
    assert worlds.hypergeometric(counts, sizes).sum() == pytest.approx(1.0)


def test_gram_matrices_and_a_certificate_that_is_wrong(monkeypatch, tmp_path) -> None:
    tally = tried(grams.Grams(), 60, tmp_path)
    assert not tally.findings, [path.read_text() for path in tally.findings]
    attack, right = grams.Grams(), grams.solve

    def optimistic(*given: object, **more: object) -> object:
        from dataclasses import replace

        found = right(*given, **more)
        return replace(found, lower_bound=found.lower_bound + 1e-6, objective=found.objective - 1e-6)

    monkeypatch.setattr(grams, "solve", optimistic)
    assert tried(attack, 20, tmp_path).findings


def test_findings_are_files_that_can_be_judged_again(tmp_path, monkeypatch, capsys) -> None:
    class Wrong:
        name, share, patience = "wrong", 1.0, 5.0

        def draw(self, rng: np.random.Generator) -> case.Case:
            return {"number": int(rng.integers(5))}

        def judge(self, one: case.Case) -> Counter[str]:
            if one["number"] == 3:
                raise ValueError("three")
            return Counter(fine=1)

    monkeypatch.setattr(command, "ATTACKS", {"wrong": Wrong})
    assert command.main(["--seconds", "60", "--cases", "30", "--seed", "1", "--findings", str(tmp_path)]) == 1
    (finding,) = tmp_path.iterdir()
    assert json.loads(finding.read_text())["case"] == {"number": 3}
    assert command.main(["--replay", str(finding)]) == 1
    out = capsys.readouterr().out
    assert out.startswith("seed 1\nwrong: 30 cases")
    assert "raw ValueError: three" in out
    monkeypatch.setattr(Wrong, "judge", lambda self, one: Counter(fine=1))
    assert command.main(["--replay", str(finding)]) == 0


def test_a_hang_and_a_long_message_are_findings() -> None:
    def spins() -> None:
        with case.limited(0.05):
            while True:
                pass

    with pytest.raises(Finding, match="no answer within"):
        spins()

    def swallows() -> None:
        with case.limited(0.05):
            try:
                spins_without_end()
            except Exception:
                return

    def spins_without_end() -> None:
        while True:
            pass

    with pytest.raises(Finding, match="no answer within"):
        swallows()

    def refuses() -> None:
        raise StoreError("two\nlines")

    with pytest.raises(Finding, match="not one short line"):
        expect(StoreError, refuses, None)
    with pytest.raises(Finding, match="another answer"):
        expect(StoreError, lambda: 1, 2)
