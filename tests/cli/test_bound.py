"""`exml bound`: the comparison of bounds, its conditions, bad input."""

from __future__ import annotations

import json
import math

import theory
from tests.cli.test_main import call

POINT = ("--K", "8", "--theta", "0.1", "--kappa-lambda", "0.5", "--gap", "0.2", "--budget")


def test_the_comparison_is_that_of_the_theory(capsys) -> None:
    code, out, _ = call(capsys, "bound", *POINT, "16000", "--json")
    assert code == 0
    data = json.loads(out)
    for strategy in ("uniform", "median"):
        wanted = theory.compare_bounds(16_000, 8, 0.2, 0.1, 0.5, strategy=strategy)
        assert [bound["name"] for bound in data["bounds"][strategy]] == [entry.name for entry in wanted]
        assert [bound["value"] for bound in data["bounds"][strategy]] == [entry.value for entry in wanted]
        assert [bound["vacuous"] for bound in data["bounds"][strategy]] == [entry.vacuous for entry in wanted]


def test_text_names_vacuous_bounds_and_missed_conditions(capsys) -> None:
    code, out, _ = call(capsys, "bound", *POINT, "16000", "--strategy", "uniform")
    assert code == 0
    assert "paper's bound                         2.32 (vacuous)" in out
    assert "distribution-free bound               8.71e-16" in out
    assert "median" not in out.replace("symmetrised", "")
    code, out, _ = call(capsys, "bound", *POINT, "800")
    assert code == 0
    assert "identification condition" in out
    assert "missed by 26.5625" in out  # 16 (0.9 * 0.5 / (0.8 * 0.2))^2 = 126.5625 rows, and there are 100


def test_a_gap_for_each_candidate(capsys) -> None:
    arguments = ("bound", "--theta", "0.1", "--kappa-lambda", "0.5", "--gaps", "0.2,0.3,0.3", "--budget", "4000")
    code, out, _ = call(capsys, *arguments, "--kernel", "nonnegative", "--population", "2000", "--json")
    assert code == 0
    data = json.loads(out)
    assert (data["K"], data["gaps"]) == (4, [0.2, 0.3, 0.3])
    names = [entry["name"] for entry in data["bounds"]["median"]]
    assert names[-3:] == ["tighter, per-arm gaps", "tighter, nonnegative kernel", "tighter, without replacement"]
    logs = [entry["log_value"] for entry in data["bounds"]["median"][1:]]
    assert logs == sorted(logs, reverse=True)


def test_tiny_bounds_are_not_zero(capsys) -> None:
    code, out, _ = call(capsys, "bound", *POINT, "16000000", "--strategy", "uniform")
    assert code == 0
    log = theory.compare_bounds(16_000_000, 8, 0.2, 0.1, 0.5)[0].log_value
    assert f"10^{log / math.log(10):.1f}" in out
