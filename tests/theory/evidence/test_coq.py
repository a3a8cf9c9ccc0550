"""The check of the Coq library: open proofs and further axioms are seen; with Coq installed, in a compiled file."""

from __future__ import annotations

import re
import shutil
import subprocess

import pytest

from theory.evidence.coq import read_library
from tools import check_coq

SUMMARY = """
CONTEXT SUMMARY
===============

* Theory: Set is predicative

* Axioms:
    Coq.Logic.Classical_Prop.classic

* Constants/Inductives relying on type-in-type: <none>

* Inductives whose positivity is assumed: <none>
"""


def test_allowed_axioms_pass_and_others_are_named():
    assert check_coq.find_axioms(SUMMARY) == []
    wish = SUMMARY.replace("classic\n", "classic\n    Exml.planted.wish\n")
    assert check_coq.find_axioms(wish) == ["Exml.planted.wish"]
    assert check_coq.find_axioms(SUMMARY.replace("Coq.Logic.Classical_Prop.classic", "<none>")) == []


def test_checks_that_are_switched_off_are_named():
    assert check_coq.find_unsafe(SUMMARY) == []
    unsafe = SUMMARY.replace("type-in-type: <none>", "type-in-type:\n    Exml.planted.wish\n")
    assert check_coq.find_unsafe(unsafe) == ["Constants/Inductives relying on type-in-type"]


@pytest.mark.parametrize("proof", ["Proof. Admitted.", "Proof. admit. Qed.", "Axiom wish : False."])
def test_open_proofs_are_found(tmp_path, proof):
    source = tmp_path / "planted.v"
    source.write_text("Lemma fine : True. Proof. exact I. Qed. (* Admitted *)\n", encoding="utf-8")
    assert check_coq.find_open_proofs(tmp_path) == []
    source.write_text(f"Lemma wrong : False.\n{proof}\n", encoding="utf-8")
    assert len(check_coq.find_open_proofs(tmp_path)) == 1


def test_the_data_file_lists_the_theorems_of_the_sources(tmp_path):
    folder = check_coq.LIBRARY.parent
    assert list(read_library()) == check_coq.list_theorems(folder)
    (tmp_path / "planted.v").write_text("(* Theorem ghost : True. *)\nTheorem real : True.\n", encoding="utf-8")
    assert check_coq.list_theorems(tmp_path) == ["planted.real"]


def test_uses_are_theorems_and_form_no_circle():
    """A theorem cannot use itself, through any number of others."""
    library = read_library()
    done: set[str] = set()

    def visit(name, path):
        assert name not in path, (*path, name)
        if name not in done:
            for used in library[name]["uses"]:
                visit(used, (*path, name))
            done.add(name)

    for name in library:
        visit(name, ())
    assert "concentration.mcdiarmid" in library["uniform_allocation.lemma_4"]["uses"]


def test_every_statement_about_scores_has_an_instance():
    """The witness file uses the main theorems on a concrete pool, so that their hypotheses can be met together."""
    used = {use for name, entry in read_library().items() if name.startswith("witness.") for use in entry["uses"]}
    wanted = {
        "printed_form.lemma_2_i_printed_fresh",
        "printed_form.lemma_2_i_printed_accumulated",
        "regret.lemma_1_ii",
        "regret.theorem_6_i",
        "excess_risk.theorem_1_paper",
        "excess_risk.theorem_1_empty",
        "excess_risk.theorem_2_paper",
        "shared_rows.theorem_3_b",
        "sequential.certificate",
        "sequential.mean_evidence",
    }
    assert wanted <= used


@pytest.mark.skipif(shutil.which("coqc") is None, reason="coqc is not installed")
def test_a_compiled_file_is_checked_again_and_described(tmp_path):
    text = "Axiom wish : False.\nTheorem wrong : 1 = 2. Proof. destruct wish. Qed.\n"
    text += "Lemma step : True. Proof. pose proof wrong. exact I. Qed.\nTheorem last : True. Proof. exact step. Qed.\n"
    (tmp_path / "planted.v").write_text(text, encoding="utf-8")
    subprocess.run(["coqc", "-q", "-Q", ".", "Exml", "planted.v"], cwd=tmp_path, check=True)
    assert check_coq.find_axioms(check_coq.run_coqchk(tmp_path)) == ["Exml.planted.wish"]
    names = check_coq.list_theorems(tmp_path)
    assert check_coq.read_uses(tmp_path, names) == {"planted.wrong": [], "planted.last": ["planted.wrong"]}
    assert re.fullmatch(r"\w+", names[0].partition(".")[2])
