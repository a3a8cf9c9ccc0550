"""Absurd numbers, names and lists are refused in one line that states the limit, before anything is built."""

from __future__ import annotations

import pytest

from exml_sim import ParametricPool
from exml_sim._internal.validation import check_jobs, shown
from exml_sim.engine import Score, Study, pools
from exml_sim.engine import _fields as fields
from exml_sim.money import exact, short
from tests.engine.studies import KNOWN, RULES

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
        ("trials = 0x" + "f" * 9000 + "\npools = []\nstrategies = []\nbudgets = {per_arm = [1]}", "must not be empty"),
    ],
)
def test_texts_that_are_no_study(text, word) -> None:
    with pytest.raises(ValueError, match=word):
        Study.from_toml(text)


def test_a_file_is_not_read_beyond_the_limit_and_a_byte_order_mark_is_skipped(tmp_path) -> None:
    file = tmp_path / "large.toml"
    file.write_bytes(b"#" * (fields.MAX_FILE_BYTES + 1))
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


def test_messages_quote_no_more_than_can_be_read() -> None:
    assert len(shown("x" * 10**6)) < 120
    assert shown(2**5000) == "a whole number of 5,001 bits"
    assert shown([1, 2]) == "[1, 2]"
    with pytest.raises(ValueError, match="at most 1024; got 1000000"):
        check_jobs(10**6)
