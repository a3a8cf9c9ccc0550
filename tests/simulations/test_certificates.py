"""Budgets certified by simulation: exact probabilities, replay, planted errors, everything the engine simulates."""

from __future__ import annotations

import json
import math
from dataclasses import replace
from fractions import Fraction
from pathlib import Path

import numpy as np
import pytest
from scipy.special import ndtr

from exml_sim.engine import Study, run
from exml_sim.engine.study import Cell
from simulations import certificates as certification
from simulations.certificates import ALPHA, Certificate, read_certificates, replay, search_budget
from simulations.panels import make_panels
from tests.cli.test_main import call
from tests.engine.studies import FEATURES
from theory.verdicts import clopper_pearson, critical_count

#: Two normal arms, where the failure probability is known without ties.
GAP = 0.5


def two_normals(gap: float = GAP) -> dict[str, object]:
    return {"kind": "parametric", "direction": "minimise", "means": [0.0, gap], "sd": 1.0}


def true_rate(pulls: int, gap: float = GAP) -> float:
    return float(ndtr(-gap * math.sqrt(pulls / 2)))


def only_cell(pool, strategy, budgets, **parts) -> tuple[Study, Cell]:
    """Make a study of one cell."""
    plugins = parts.pop("plugins", ())
    study = Study.from_table({"pools": [pool], "strategies": [strategy], "budgets": budgets, **parts}, plugins)
    (cell,) = study.cells()
    return study, cell


def certify(pool, strategy, budget, delta, alpha=ALPHA, *, max_trials=None, **parts) -> Certificate:
    """Certify one budget of a strategy on a pool."""
    study, cell = only_cell(pool, strategy, {"absolute": [budget]}, **parts)
    return certification.certify(study, cell, delta, alpha, max_trials=max_trials)


def test_the_smallest_budget_is_found_and_the_one_below_is_not_certified() -> None:
    """Eleven pulls fail in 5.03 % of the trials, twelve in 4.32 %."""
    assert 0.05 < true_rate(11, 0.7) < 0.0504
    assert true_rate(12, 0.7) < 0.0433
    certificate = search_budget(*only_cell(two_normals(0.7), "uniform_allocation", {"per_arm": [1]}), 0.05)
    assert certificate.budget == 24
    assert not certify(two_normals(0.7), "uniform_allocation", 22, 0.05).attempts[0].certified
    assert math.fsum(attempt.level for attempt in certificate.attempts) <= 1e-9
    assert replay(certificate) == []
    # Attempts that failed cannot be left out, and the level of the first one cannot be used again.
    assert not certificate.attempts[-1].certified
    whole = f"there are {len(certificate.attempts)} attempts, and the certificate reports 1"
    assert whole in replay(replace(certificate, attempts=certificate.attempts[:1]))
    assert any(whole in text for text in replay(replace(certificate, attempts=certificate.attempts[-2:-1])))


def count_false(monkeypatch, first: int, counts=None, number: int = 2000, trials: int = 2000) -> int:
    """Attempt certificates of a probability that is just not small enough, each with a seed of its own."""
    only = certification._only(*only_cell(two_normals(), "uniform_allocation", {"absolute": [20]}))
    digests = iter(f"{seed:064x}" for seed in range(1, 10**6))
    monkeypatch.setattr(certification, "_digest", lambda only, budget: next(digests)[::-1])
    monkeypatch.setattr(certification, "_is_hopeless", lambda *given: False)
    if counts is not None:
        monkeypatch.setattr(certification, "_count_failures", counts)
    given = (only, Fraction(20), true_rate(10), 1e-3, trials, 1, first)
    return sum(certification._attempt(*given).certified for _ in range(number))


@pytest.mark.long
def test_no_more_certificates_are_false_than_alpha_allows(monkeypatch) -> None:
    """2,000 certificates at alpha = 1e-3; the false-alarm rate of the test is 1e-6."""
    assert count_false(monkeypatch, first=100) < critical_count(2000, 1e-3, 1e-6)


def test_wrong_optional_stopping_is_caught(monkeypatch) -> None:
    """The planted error stops as soon as a limit for a fixed number of trials is low enough."""
    rng = np.random.default_rng(0)

    def draw(only, budget, digest, trials, n_jobs):
        return int(rng.binomial(len(trials), true_rate(10))), 0

    most = critical_count(2000, 1e-3, 1e-6)
    assert count_false(monkeypatch, 40, draw) < most
    fixed = lambda failures, trials, delta, level: clopper_pearson(failures, trials, level)[1] <= delta  # noqa: E731
    monkeypatch.setattr(certification, "_is_certified", fixed)
    assert count_false(monkeypatch, 10, draw) >= most


@pytest.fixture(scope="module")
def certificate() -> Certificate:
    return certify(two_normals(), "uniform_allocation", 60, 0.05)


def with_attempt(certificate: Certificate, **changes: object) -> Certificate:
    return replace(certificate, attempts=(replace(certificate.attempts[0], **changes),))


@pytest.mark.parametrize(
    ("changes", "difference"),
    [
        ({"failures": 0}, "the trials give"),
        ({"trials": 999}, "the trials give"),
        ({"uncertain": 1}, "the trials give"),
        # A chosen seed, and the trials of a larger budget for a smaller one.
        ({"digest": 64 * "0"}, "the digest is"),
        ({"budget": "58"}, "the digest is"),
        ({"level": 1e-3}, "the trials give"),
        ({"certified": False}, "no attempt is certified"),
    ],
)
def test_replay_finds_every_edit(certificate, changes, difference) -> None:
    assert replay(certificate) == []
    differences = replay(with_attempt(certificate, **changes))
    assert any(difference in text for text in differences), differences


def test_a_smaller_delta_or_another_pool_is_found(certificate) -> None:
    assert "not certified at level" in replay(replace(certificate, delta=0.001))[0]
    other = json.loads(json.dumps(certificate.specification))
    other["pools"][0]["means"] = [0.0, 0.51]
    assert "the digest is" in replay(replace(certificate, specification=other))[0]


def test_labels_and_spelling_do_not_change_the_seed(certificate) -> None:
    named = certify({**two_normals(), "label": "mine"}, {"name": "uniform_allocation", "top": 1}, "60.0", 0.05)
    assert named.attempts == certificate.attempts
    assert certify(two_normals(0.49), "uniform_allocation", 60, 0.05).attempts[0].digest != named.attempts[0].digest


def test_files_are_read_and_checked(certificate, tmp_path) -> None:
    file = certificate.save(tmp_path)
    assert certificate.save(tmp_path) == file
    assert read_certificates(tmp_path) == [certificate]


def edit(certificate: Certificate, attempt: dict[str, object] | None, **changes: object) -> str:
    table = json.loads(certificate.to_json()) | changes
    if attempt is not None:
        table["attempts"][0] |= attempt
    return json.dumps(table)


@pytest.mark.parametrize(
    ("changes", "attempt", "message"),
    [
        ({"kind": "x"}, None, "not a certificate of exml-sim: kind must be 'exml-sim certificate 2'"),
        ({"delta": 2.0}, None, "delta of certificate must be less than 1"),
        ({"specification": []}, None, "specification of certificate"),
        ({"attempts": []}, None, "attempts of certificate"),
        ({"attempts": ["x"]}, None, "an attempt must be a table"),
        ({"scope": "all"}, None, "scope of certificate"),
        ({"note": "mine"}, None, "unknown option of certificate 'note'"),
        ({}, {"budget": "x"}, "amount must be a finite number"),
        ({}, {"trials": "x"}, "trials of attempt must be a whole number"),
        ({}, {"failures": 10**9}, "uncertain <= failures <= trials must hold"),
        ({"specification": {}}, None, "the certificate cannot be replayed: a study needs pools"),
    ],
)
def test_an_edited_file_is_one_line_that_names_the_field(
    certificate, changes, attempt, message, capsys, tmp_path
) -> None:
    file = tmp_path / "edited.json"
    file.write_text(edit(certificate, attempt, **changes), encoding="utf-8")
    code, _, error = call(capsys, "verify", str(file))
    assert code == 2
    assert error.count("\n") == 1
    assert f"{file}: {message}" in error


@pytest.mark.parametrize("text", [b"[1", b"\xff\xfe", b"", b'"x"'])
def test_a_file_that_is_no_certificate_is_one_line(text, capsys, tmp_path) -> None:
    (tmp_path / "x.json").write_bytes(text)
    code, _, error = call(capsys, "verify", str(tmp_path / "x.json"))
    assert code == 2
    assert error.count("\n") == 1
    assert "x.json: not a certificate of exml-sim: " in error


def test_another_version_is_a_warning_and_every_answer_has_a_sentence(certificate, capsys, tmp_path) -> None:
    file = tmp_path / "x.json"
    file.write_text(edit(certificate, None, version="0.0.1"), encoding="utf-8")
    code, text, error = call(capsys, "verify", str(file))
    assert code == 0
    assert certificate.sentence in text
    assert "was made by version '0.0.1', and this is" in error
    file.write_text(edit(certificate, {"failures": 0}), encoding="utf-8")
    code, text, error = call(capsys, "verify", str(file))
    assert code == 1
    assert text.startswith(f"{file}: the certificate does not hold.\n  differs: ")
    assert not error


SPECIAL = [
    {"kind": "synthetic", "per_class": 20, "angles": [5, 90], "costs": ["0.5", "1.5"]},
    {"kind": "parametric", "direction": "minimise", "means": [0.1, 0.9]},
    {"kind": "parametric", "sd": 1.0, "means": [0.0, 2.0], "costs": [1, 2]},
]


@pytest.mark.parametrize("pool", SPECIAL)
@pytest.mark.parametrize(
    "strategy",
    [
        {"name": "uniform_allocation", "alignment": "budget"},
        {"name": "median_elimination", "alignment": "sample"},
        {"name": "median_elimination", "accumulate": False},
        "successive_rejects",
        "top_two",
    ],
)
def test_costs_alignments_and_strategies(pool, strategy) -> None:
    scores = {"scores": FEATURES["scores"]} if pool["kind"] == "synthetic" else {}
    certificate = certify(pool, strategy, 48, 0.3, 1e-3, **scores)
    assert certificate.budget == 48
    assert replay(certificate) == []


@pytest.mark.parametrize(
    "parts",
    [
        {"scores": [{"score": "risk", "theta": 0.1}]},
        {"scores": [{"score": "objective", "theta": 0.1}]},
        {"scores": [{"score": "ball", "theta": 0.1, "ball": 2.0}]},
        {"scores": FEATURES["scores"], "sampling": {"replacement": "never"}},
        {"scores": FEATURES["scores"], "sampling": {"rows": "independent"}},
    ],
)
def test_scores_and_sampling(parts) -> None:
    pool = {"kind": "synthetic", "per_class": 20, "angles": [5, 90]}
    assert certify(pool, "uniform_allocation", 60, 0.6, 0.01, max_trials=200, **parts).budget == 60


def test_an_uncertain_order_counts_as_a_failure() -> None:
    """Two equal candidates: every trial selects a best one, and none by a certificate."""
    pool = {"kind": "finite_support", "values": 2 * [[1.0, -1.0, 0.5]], "y": [1, -1, 1]}
    attempt = certify(pool, "uniform_allocation", 20, 0.5, scores=FEATURES["scores"]).attempts[0]
    assert attempt.failures == attempt.uncertain == attempt.trials


def test_plug_ins_are_part_of_the_digest(tmp_path) -> None:
    source = """
from dataclasses import dataclass
from exml_sim.strategies.base import BaseStrategy
@dataclass(frozen=True, slots=True, kw_only=True)
class Mine(BaseStrategy):
    '''Buy once.'''
    def first_round_cost(self, budget, prices):
        return budget
    def explore(self, batch):
        batch.buy(batch.budget)
        return batch.keep_best(1)
"""
    digests = []
    for comment in ("", "# another version\n"):
        (tmp_path / "mine.py").write_text(source + comment)
        certificate = certify(two_normals(), "mine:Mine", 60, 0.05, plugins=[tmp_path / "mine.py"])
        assert replay(certificate, [tmp_path / "mine.py"]) == []
        digests.append(certificate.attempts[0].digest)
    assert digests[0] != digests[1]


def test_certificates_are_found_for_their_cells(certificate) -> None:
    table = {"pools": [two_normals()], "strategies": ["uniform_allocation", "median_elimination"]}
    study = Study.from_table(table | {"budgets": {"absolute": [20, 40]}})
    concerned = [certificate.concerns(study, cell) for cell in study.cells()]
    assert concerned == [True, False, True, False]
    with run(replace(study, trials=2), progress=False) as result:
        assert [panel.certificates for panel in make_panels(result, [certificate])] == [(certificate,), ()]


def test_too_few_trials_and_levels_are_one_line() -> None:
    with pytest.raises(ValueError, match="400,000 trials cannot certify 1e-06 at level 1e-09; allow more trials"):
        certify(two_normals(), "uniform_allocation", 1000, 1e-6)
    with pytest.raises(ValueError, match="delta must be strictly between 0 and 1, got 2"):
        certify(two_normals(), "uniform_allocation", 1000, 2.0)


STUDY = """
strategies = ["uniform_allocation"]
trials = 50
[[pools]]
kind = "parametric"
sd = 1.0
means = [0.0, 0.5]
[budgets]
per_arm = [10]
"""


def test_commands_certify_and_replay(capsys, tmp_path) -> None:
    (tmp_path / "study.toml").write_text(STUDY)
    study, out = str(tmp_path / "study.toml"), str(tmp_path / "out")
    code, text, _ = call(capsys, "plan", study, "--certify", "--out", out, "--quiet", "--json", "--trials", "200")
    assert code == 0
    plan = json.loads(text)["budgets"][0]
    row = plan["certified"]
    loaded = Study.from_toml(tmp_path / "study.toml")
    assert row["budget"] == float(search_budget(loaded, loaded.cells()[0], 0.05).budget)
    assert plan["bounds"]
    assert plan["factors"] == pytest.approx({name: bound / row["budget"] for name, bound in plan["bounds"].items()})
    code, text, _ = call(capsys, "verify", row["file"])
    assert code == 0
    assert row["sentence"] in text
    certificate = Certificate.from_json(Path(row["file"]).read_text(encoding="utf-8"))
    edited = tmp_path / "edited.json"
    edited.write_text(replace(certificate, delta=0.01).to_json())
    code, text, _ = call(capsys, "verify", str(edited))
    assert code == 1
    assert "the certificate says" in text


def test_a_strategy_that_cannot_be_certified_does_not_stop_the_plan(capsys, tmp_path) -> None:
    (tmp_path / "study.toml").write_text(STUDY)
    given = ("plan", str(tmp_path / "study.toml"), "--certify", "--delta", "1e-6", "--out", str(tmp_path / "out"))
    code, text, _ = call(capsys, *given, "--quiet")
    assert code == 0
    assert "No budget was certified: 400,000 trials cannot certify 1e-06" in text
    assert "Replay" not in text


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ("verify missing.json", "missing.json cannot be read: No such file or directory"),
        ("verify missing.json lemma-1-i", "give claims or certificates, not both"),
        ("verify --trust", "go with a certificate"),
        ("plan --out x", "give --certify as well"),
        ("plan --certify --K 2 --theta 0.1 --kappa-lambda 0.5 --gap 0.2", "--certify does not go with a plan"),
    ],
)
def test_bad_options_are_one_line(capsys, arguments, message) -> None:
    code, _, error = call(capsys, *arguments.split())
    assert code == 2
    assert message in error


def test_a_budget_beyond_the_limit_of_studies_is_refused() -> None:
    pool = {"kind": "parametric", "means": [0.7, 0.4]}
    with pytest.raises(ValueError, match="pulls, at most"):
        certify(pool, "uniform_allocation", 10**15, 0.05, max_trials=2000)
