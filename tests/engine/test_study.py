"""Studies as data: TOML, identity, grids, and bad input."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
import pytest

from exml_sim import ParametricPool
from exml_sim._internal.validation import check_jobs, shown
from exml_sim.engine import Score, Study, pools
from exml_sim.engine import _fields as limits
from exml_sim.engine._specs import StrategySpec
from exml_sim.engine.modes import replay, run_block
from exml_sim.money import exact, short
from exml_sim.seeds import Seeds
from exml_sim.strategies import by_name
from tests.engine.studies import FEATURES, KNOWN, RULES, features, known
from tests.words import words


@pytest.mark.parametrize(
    "study", [known(), features(), known(stop={"bound": 0.2, "check_every": 50}), features(mode="importance_sampling")]
)
def test_toml_round_trip(study: Study, tmp_path):
    path = tmp_path / "study.toml"
    path.write_text(study.to_toml(), encoding="utf-8")
    again = Study.from_toml(path)
    assert again == study
    assert again.hash == study.hash
    assert again.to_toml() == study.to_toml()


def test_identity_does_not_depend_on_how_it_is_written():
    written = known()
    other = known(
        seed=0,
        name="another name",
        strategies=[{"name": "uniform_allocation", "top": 1}, {"name": "median_elimination", "accumulate": True}],
        budgets={"per_arm": ["10.0", 20.0]},
        sampling={},
    )
    assert other.hash == written.hash


@pytest.mark.parametrize(
    "change",
    [
        {"trials": 201},
        {"seed": 1},
        {"budgets": {"per_arm": [10, 21]}},
        {"strategies": ["uniform_allocation"]},
        {"strategies": ["uniform_allocation", {"name": "median_elimination", "accumulate": False}]},
        {"pools": [{"kind": "parametric", "direction": "minimise", "means": [0.4, 0.5, 0.61]}]},
        {"sampling": {"replacement": "never"}},
        {"mode": "exact"},
        {"stop": {"bound": 0.1}},
    ],
    ids=lambda change: next(iter(change)),
)
def test_identity_depends_on_every_part(change):
    assert known(**change).hash != known().hash


def test_hash_is_pinned():
    """A change of the canonical form would orphan every store: raise FORMAT on purpose, and this text with it."""
    assert known().hash == "22b534b6ff799484ee9b17d434df5bd7f1a9e1cff032e8b84f0134c776fc0147"


def test_budgets_are_exact_money():
    study = features(
        pools=[FEATURES["pools"][0] | {"costs": ["0.1", "0.2", "0.3", "0.4", "0.5"]}],
        budgets={"absolute": ["77.7"], "per_arm": [10], "ratio": ["0.1"]},
    )
    amounts = [exact(cell.budget) for cell in study.cells()[::2]]
    assert amounts == [Fraction(777, 10), 10 * Fraction(3, 2), Fraction(1, 10) * 60 * Fraction(3, 2)]


def test_strategies_share_streams_and_budgets_do_not():
    cells = features().cells()
    assert cells[0].stream == cells[1].stream
    assert cells[2].stream == cells[3].stream
    assert cells[0].stream != cells[2].stream


def test_a_growing_grid_keeps_its_trials():
    small, large = known(), known(budgets={"per_arm": [5, 20, 10]})
    old = {str(cell): cell for cell in small.cells()}
    for cell in large.cells():
        if str(cell) in old:
            assert cell.stream == old[str(cell)].stream


def test_strategies_of_a_group_see_the_same_rows():
    """Uniform allocation with the budget of halving's first round buys exactly the same rows."""
    study = features(budgets={"per_arm": [9, 3]})
    uniform = next(c for c in study.cells() if c.labels[2] == RULES[0] and c.budget == "45")
    halving = next(c for c in study.cells() if c.labels[2] == RULES[1] and c.budget == "45")
    for trial in range(5):
        whole, rounds = replay(study, uniform, trial), replay(study, halving, trial)
        assert whole.counts is not None
        assert rounds.counts is not None
        bought = rounds.counts[rounds.selected]
        assert rounds.ledger.rounds == 3
        # Both read one order: the longer purchase contains the shorter one.
        short, long = sorted((whole.counts[0], bought), key=lambda counts: int(counts.sum()))
        assert (short <= long).all()


def test_first_draws_of_100000_trials_are_distinct():
    """Cells, trials and root seeds never share a stream: no first word of 100,000 trials occurs twice.

    100,000 independent 64-bit words hold a repetition with probability below 3e-10.
    """
    study = known()
    streams = sorted({cell.stream for cell in study.cells()})
    assert len(streams) == 2
    trials = range(25_000)
    addresses = [Seeds.of(root, trials, stream) for root in (0, 1) for stream in streams]
    first = [words(address, 1, trial=trial)[0] for address in addresses for trial in trials]
    assert len(set(first)) == 100_000


def test_regret_and_success_of_several_selected_arms():
    study = known(
        strategies=[{"name": "uniform_allocation", "top": 2}],
        pools=[{"kind": "parametric", "direction": "minimise", "means": [0.5, 0.4, 0.9]}],
    )
    block = run_block(study, study.cells()[0], 0, 200)
    for trial in range(200):
        accepted = replay(study, 0, trial).accepted
        good = set(accepted) == {0, 1}
        assert block.success[trial] == good
        assert block.regret[trial] == pytest.approx(
            0.0 if good else np.mean([[0.5, 0.4, 0.9][i] for i in accepted]) - 0.45
        )


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"trials": 0}, "trials must be at least 1, got 0"),
        ({"trials": 2.5}, "trials must be a whole number"),
        ({"seed": -1}, "seed must be at least 0"),
        ({"mode": "guess"}, "mode must be 'monte_carlo', 'exact', .* got 'guess'"),
        ({"strategies": []}, "strategies must not be empty"),
        ({"strategies": ["halving"]}, "unknown strategy 'halving'"),
        ({"strategies": [{"name": "uniform_allocation", "accumulate": True}]}, "does not take the options"),
        ({"strategies": [RULES[0], RULES[0]]}, "given more than once"),
        ({"pools": [{"kind": "magic"}]}, "unknown kind of pool 'magic'"),
        (
            {"pools": [{"kind": "parametric", "direction": "minimise", "mean": [1]}]},
            "unknown option of parametric pool 'mean': allowed are",
        ),
        ({"pools": [{"kind": "finite_support"}]}, "needs values, y"),
        ({"pools": [{"kind": "synthetic"}]}, "needs at least one score"),
        ({"scores": [{"score": "accuracy"}]}, "unknown score 'accuracy'"),
        ({"scores": [{"score": "ball"}]}, "needs ball=Lambda"),
        ({"budgets": {}}, "at least one budget"),
        ({"budgets": {"ratio": [1.5]}}, r"must be in \(0, 1\]"),
        ({"budgets": {"absolute": [-3]}}, "must be greater than 0"),
        ({"budgets": {"ratio": [0.5]}}, "needs a pool with rows"),
        ({"stop": {"check_every": 10}}, "needs a bound"),
        ({"stop": {"bound": 0.1}, "mode": "exact"}, "does not go with mode"),
        ({"sampling": {"rows": "some"}}, "rows of sampling must be 'same'"),
        ({"colour": "red"}, "unknown part of a study 'colour'"),
        ({"name": 3}, "name must be a text"),
        ({"name": "half \ud83d"}, "unicode"),
        ({"pools": [5]}, "a pool must be a table with a kind"),
        ({"pools": ["synthetic"]}, "a pool must be a table with a kind"),
        ({"strategies": [5]}, "a strategy must be a name, or a table"),
        ({"strategies": [{"top": 2}]}, "a strategy must be a name, or a table"),
        ({"scores": [5]}, "score must be a table"),
        ({"scores": [{"score": {"a": [1]}}]}, "score of score must be a text, got"),
        ({"pools": [{"kind": [6]}]}, "a pool must be a table with a kind"),
        ({"budgets": [1]}, "budgets must be a table"),
        (
            {"pools": [{"kind": "family", "direction": "minimise", "best": 0.3, "family": "sparse", "gap": "x"}]},
            "gap of family pool must be a number",
        ),
        ({"strategies": [{"name": "uniform_allocation", "top": {"a": 1}}]}, "top must be a number, a text or a list"),
        ({"pools": [KNOWN["pools"][0] | {"values": [0, 1]}]}, "either means"),
        ({"budgets": {"absolute": [3 * 10**12]}}, "buys 3e.12 pulls, at most 1e.08"),
    ],
)
def test_bad_input(change, message):
    with pytest.raises(ValueError, match=message) as caught:
        known(**change).check()
    assert "\n" not in str(caught.value)


def test_infeasible_budgets_are_named():
    """A budget of 2 is refused; 4 pays for uniform allocation, but not for median elimination, which is left out."""
    study = known(budgets={"absolute": [60, 2, 4]})
    with pytest.raises(ValueError, match=r"cell 2 \(uniform_all.* budget 2\).*and 1 more cells.*nothing was run"):
        study.check()
    assert [cell.index for cell in known(budgets={"absolute": [60, 4]}).check()] == [0, 1, 2]


#: Absurd numbers, names and lists are refused in one line that states the limit, before anything is built.
BASE = {**KNOWN, "strategies": RULES, "budgets": {"per_arm": [10]}}
ATOMS = {"kind": "finite_support", "values": [[1, 0], [0, 1]], "y": [1, -1]}
BALL = [{"ball": 0.3}]


@pytest.mark.parametrize(
    ("change", "limit"),
    [
        ({"budgets": {"per_arm": ["1e999999999"]}}, "at most 400 digits"),
        ({"budgets": {"per_arm": ["9" * 10**6]}}, "at most 400 digits"),
        ({"budgets": {"absolute": [10**16]}}, r"between 1e-12 and 1e\+15"),
        ({"budgets": {"per_arm": ["1e-300"]}}, r"between 1e-12 and 1e\+15"),
        ({"budgets": {"ratio": ["1e-300"]}}, "at least 1e-12"),
        ({"budgets": {"per_arm": [1] * 10_001}}, "at most 10,?000 (entries|items)"),
        ({"name": "x" * 10**6}, "at most 200 characters"),
        ({"pools": [{**KNOWN["pools"][0], "label": "x" * 201}]}, "at most 200 characters"),
        ({"pools": [{**ATOMS, "copies": [10**9, 1]}], "scores": BALL}, "1,000,000,001 rows, at most 50,000"),
        ({"pools": [{**ATOMS, "copies": [10**10, 1]}], "scores": BALL}, "at most 1000000000"),
        ({"pools": [{"kind": "synthetic", "per_class": 50_000}], "scores": BALL}, "150,000 rows, at most 50,000"),
        ({"pools": [{"kind": "synthetic", "per_class": 10**9}], "scores": BALL}, "at most 50000"),
        ({"pools": [{"kind": "synthetic", "a": 1e300}], "scores": BALL}, "at most 1000000000000000"),
        ({"pools": [{"kind": "dataset", "name": "graded", "options": {"rows": 10**9}}]}, "at most 50000"),
        ({"pools": KNOWN["pools"] * 10_001}, "at most 10,?000 (entries|items)"),
        (
            {"pools": [{"kind": "parametric", "direction": "minimise", "means": [0.5] * 10_001}]},
            "at most 10,?000 (entries|items)",
        ),
        ({"trials": 0xF ** (10**4)}, "at most 1000000000000, got a whole number of"),
        ({"seed": 2**63}, "at most 9223372036854775807"),
        ({"strategies": [{"name": "uniform_allocation", "top": 10**15}]}, "at most 1000000000"),
        ({"strategies": [{"name": "x" * 10**6}]}, "at most 200 characters"),
        ({"mode": "m" * 10**6}, "mode must be"),
        ({"x" * 10**6: 1}, "unknown part of a study"),
    ],
)
def test_beyond_the_limit(change, limit, monkeypatch) -> None:
    monkeypatch.setattr("exml_sim.bandit.rows.FeaturePool", None)
    with pytest.raises(ValueError, match=limit) as caught:
        Study.from_table(BASE | change).check()
    assert "\n" not in str(caught.value)
    assert len(str(caught.value)) < 500


def test_a_budget_for_too_many_pulls_is_refused_by_pools_too() -> None:
    with pytest.raises(ValueError, match=r"a budget of 1000000000000000 buys 1e\+15 pulls, at most 1e\+08"):
        ParametricPool.bernoulli([0.6, 0.4]).explore("uniform_allocation", 1e15)


def test_as_many_cells_as_allowed() -> None:
    budgets = {"per_arm": list(range(1, 10_001))}
    pools = [{"kind": "parametric", "direction": "minimise", "means": [0.4, 0.5], "label": f"{i}"} for i in range(6)]
    with pytest.raises(ValueError, match="120,000 cells, at most 100,000"):
        Study.from_table(BASE | {"budgets": budgets, "pools": pools})


def test_what_does_not_fit_into_the_memory_is_said_before_it_is_built(monkeypatch) -> None:
    monkeypatch.setattr(pools, "free_memory", lambda: 2**30)
    study = Study.from_table(BASE | {"pools": [{"kind": "synthetic", "per_class": 2000}], "scores": BALL})
    with pytest.raises(ValueError, match=r"needs 2\.4 GiB .* 9 arms on 6,000 rows, and 1\.0 GiB are free"):
        study.check()


@pytest.mark.parametrize(
    ("text", "word"),
    [
        ("a = " + "[" * 100_000, "nested too deeply"),
        ("a = " + "9" * 5000, "too many digits"),
        ("a = ", "the TOML is wrong"),
        ("trials = 3", "there is no 'pools'"),
        ("trials = 0x" + "f" * 9000 + "\npools = []\nstrategies = []\nbudgets = {per_arm = [1]}", "must not be empty"),
    ],
)
def test_texts_that_are_no_study(text, word) -> None:
    with pytest.raises(ValueError, match=word):
        Study.from_toml(text)


def test_a_file_is_not_read_beyond_the_limit_and_a_byte_order_mark_is_skipped(tmp_path) -> None:
    file = tmp_path / "large.toml"
    file.write_bytes(b"#" * (limits.MAX_FILE_BYTES + 1))
    with pytest.raises(ValueError, match="more than 10,000,000 bytes"):
        Study.from_toml(file)
    file.write_bytes(b"\xef\xbb\xbf" + Study.from_table(BASE).to_toml().encode())
    assert Study.from_toml(file) == Study.from_toml("\ufeff" + Study.from_table(BASE).to_toml())
    file.write_bytes(b"\xff\xfe")
    with pytest.raises(ValueError, match="it is not UTF-8 text"):
        Study.from_toml(file)


def test_amounts_have_as_many_digits_as_any_float() -> None:
    for number in (5e-324, 1.7976931348623157e308):
        assert float(exact(number)) == number
    for text in ("1e401", "1e-401", "1E+999999999999", "nan", "-inf", "1" * 401):
        with pytest.raises(ValueError, match="at most 400 digits"):
            exact(text)


def test_numbers_are_never_printed_as_others() -> None:
    assert [short(number) for number in (0.3, 0.4999999, 1.0, 1e-9, 1 / 3)] == [
        "0.3",
        "0.4999999",
        "1",
        "1e-09",
        "0.3333333333333333",
    ]
    assert Score(theta=0.4999999, ball=0.1).label == "ball 0.1, theta 0.4999999"


def test_labels_show_required_options_and_those_that_differ_from_the_default() -> None:
    assert StrategySpec.read(by_name("ucb_e", hardness=75)).label == "ucb_e(hardness=75.0)"
    assert StrategySpec.read({"name": "ucb_e", "hardness": 75, "ties": "lowest"}).label == (
        "ucb_e(hardness=75.0, ties=lowest)"
    )
    assert StrategySpec.read("shadavar").label == "shadavar"


def test_messages_quote_no_more_than_can_be_read() -> None:
    assert len(shown("x" * 10**6)) < 120
    assert shown(2**5000) == "a whole number of 5,001 bits"
    assert shown([1, 2]) == "[1, 2]"
    with pytest.raises(ValueError, match="at most 1024; got 1000000"):
        check_jobs(10**6)
