"""The preflight checks: every planted fault of a table gives its line, and a good table none."""

from dataclasses import replace
from fractions import Fraction

import numpy as np
import pytest

from exml_sim._internal.memory import in_bytes
from exml_sim.classifier._preflight import (
    DataSummary,
    check_data,
    count_blank,
    diagnose_duplicates,
    estimate_bytes,
    raise_errors,
)


def summarise(**changes):
    rng = np.random.default_rng(0)
    good = {
        "X": rng.normal(size=(200, 3)),
        "y": np.array(["ill", "well"] * 100),
        "names": ("ct", "blood"),
        "costs": (Fraction(5), Fraction(1)),
        "available": (200, 200),
        "budget": Fraction(300),
        "columns": ("age", "weight", "size"),
        "first_rows": 25,
    }
    return DataSummary(**{**good, **changes})


def labels(**counts):
    return np.array([name for name, count in counts.items() for _ in range(count)])


def column(values, place=1):
    X = np.array(summarise().X)
    X[:, place] = values
    return X


def faults(findings):
    return [finding for finding in findings if finding.severity != "note"]


def test_a_good_table_has_only_its_class_counts():
    (only,) = check_data(summarise())
    assert (only.severity, only.message) == ("note", "200 rows, 2 classes: ill 100, well 100")
    raise_errors(check_data(summarise()))


RNG = np.random.default_rng(1)


@pytest.mark.parametrize(
    ("changes", "severity", "words"),
    [
        ({"y": np.array([1.0, np.nan] * 100)}, "error", "100 of 200 labels are blank"),
        ({"y": np.array([None, "a"] * 100, dtype=object)}, "error", "100 of 200 labels are blank"),
        ({"y": labels(ill=200)}, "error", "all labels are 'ill'"),
        ({"y": RNG.normal(size=200)}, "error", "200 different labels in 200 rows: this looks like a measurement"),
        ({"y": RNG.normal(size=200).astype(str)}, "error", "this looks like a measurement"),
        ({"y": np.round(RNG.normal(size=200), 1)}, "error", "this looks like a measurement"),
        ({"y": RNG.integers(0, 90, 200)}, "error", "this looks like a measurement"),
        ({"y": labels(ill=100, well=98, wlel=2)}, "warning", "class 'wlel' has 2 rows; possible typo of 'well'"),
        ({"y": labels(ill=100, well=97, sick=3)}, "warning", "class 'sick' has 3 rows"),
        ({"y": labels(ill=100, well=99, sick=1)}, "warning", "class 'sick' has 1 row"),
        ({"y": labels(ill=80, well=100, Ill=20)}, "warning", "classes 'Ill' and 'ill' differ in spelling only"),
        ({"y": labels(ill=11, well=189)}, "warning", "class 'ill' is 5.5% of the rows"),
        ({"X": column(7.0)}, "warning", "observed weight is the same in every row"),
        ({"X": column(summarise().X[:, 2])}, "warning", "observed weight and size are the same"),
        (
            {"X": column(np.r_[np.full(3, 9999.0), summarise().X[3:, 1]])},
            "warning",
            "weight has 3 values far from the others",
        ),
        (
            {"X": np.repeat(summarise().X[:100], 2, axis=0), "y": np.repeat(summarise().y[:100], 2)},
            "warning",
            "200 of 200 are duplicated rows, more than expected by chance",
        ),
        ({"available": (0, 200)}, "warning", "no row of candidate ct can be bought"),
        ({"first_rows": 12}, "warning", "the first round buys 12 rows of a candidate; below 16"),
        ({"memory": 2**20}, "error", "200 rows need about 1.3 MiB of memory, 1.0 MiB are available"),
    ],
)
def test_planted_faults(changes, severity, words):
    result = faults(check_data(summarise(**changes)))
    assert len(result) == 1
    assert result[0].severity == severity
    assert words in result[0].message
    assert "\n" not in result[0].message
    if severity == "error":
        with pytest.raises(ValueError, match=result[0].message[:20]):
            raise_errors(result)
    else:
        raise_errors(result)


def test_what_is_no_fault():
    # Many classes with many rows each, whole numbers as labels, heavy tails, two values, one candidate with few rows.
    assert not faults(check_data(summarise(y=np.arange(200) % 15)))
    assert not faults(check_data(summarise(y=np.arange(200) % 2)))
    assert not faults(check_data(summarise(X=column(np.random.default_rng(0).standard_t(3, size=200)))))
    assert not faults(check_data(summarise(X=column(np.arange(200) % 2))))
    assert not faults(check_data(summarise(names=("ct",), costs=(Fraction(5),), available=(200,), first_rows=3)))
    (_, everything) = check_data(summarise(budget=Fraction(1200), first_rows=3))
    assert "buys everything there is (1200)" in everything.message


def test_copies_are_told_from_chance():
    """Few copies, equal rows with other labels and categories that meet by chance are no fault; their copies are."""
    rng = np.random.default_rng(0)
    X, y = rng.normal(size=(200, 1)), np.arange(200) % 2
    assert diagnose_duplicates(X, y) == []
    few, many = X.copy(), X.copy()
    few[:4], many[:6] = few[4:8], many[6:12]
    assert diagnose_duplicates(few, y) == []
    assert diagnose_duplicates(many, y)[0].message.startswith("12 of 200")
    assert diagnose_duplicates(np.repeat(X[:100], 2, axis=0), y) == []
    coded = rng.integers(0, 4, size=(200, 3))
    assert diagnose_duplicates(coded, y) == []
    wide = rng.integers(0, 4, size=(100, 12))
    assert diagnose_duplicates(wide, y[:100]) == []
    assert diagnose_duplicates(np.vstack([wide, wide]), y)[0].message.startswith("200 of 200")


def test_refusals_come_first_and_are_told_together():
    data = check_data(summarise(first_rows=3, memory=1, y=RNG.normal(size=200)))
    assert [entry.severity for entry in data] == ["error", "error", "warning"]
    with pytest.raises(ValueError, match=r"measurement.*; 200 rows need about"):
        raise_errors(data)


def test_memory():
    assert [in_bytes(n) for n in (12, 2**21, 3 * 2**30)] == ["12 bytes", "2.0 MiB", "3.0 GiB"]
    # Beyond the size at which pairs of rows are compared the table need not fit squared.
    rows = summarise(X=np.zeros((3000, 1)) + np.arange(3000)[:, None], y=np.array(["a", "b"] * 1500), columns=("x",))
    need = estimate_bytes(3000, 1500)
    assert need < 2**28 < estimate_bytes(3000)
    assert any(entry.severity == "error" for entry in check_data(replace(rows, memory=2**28)))
    assert not faults(check_data(replace(rows, memory=need, max_kernel_rows=1500)))
    assert faults(check_data(replace(rows, memory=need - 1, max_kernel_rows=1500)))


def test_texts_and_numbers_are_not_sorted_together():
    with pytest.raises(ValueError, match="labels must be all texts or all numbers, got both: 'ill' and 0"):
        check_data(summarise(y=np.array(["ill", 0] * 100, dtype=object)))


def test_count_blank():
    assert count_blank(["nan", "none", ""]) == 0
    assert count_blank(np.array([np.nan, 1.0])) == 1
