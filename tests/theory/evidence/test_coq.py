"""The check of the Coq library: open proofs and further axioms are seen; with Coq installed, in a compiled file."""

from __future__ import annotations

import shutil
import subprocess

import pytest

from tools import check_coq

ALLOWED = "Axioms:\nClassical_Prop.classic : forall P : Prop, P \\/ ~ P\n"


def test_allowed_axioms_pass_and_others_are_named():
    assert check_coq.find_axioms(ALLOWED) == []
    assert check_coq.find_axioms("Closed under the global context\n") == []
    assert check_coq.find_axioms(ALLOWED + "planted.wish : False\n") == ["planted.wish"]
    assert check_coq.find_axioms(ALLOWED + "planted.long_name\n  : forall x : nat, x = 0\n") == ["planted.long_name"]


@pytest.mark.parametrize("proof", ["Proof. Admitted.", "Proof. admit. Qed.", "Axiom wish : False."])
def test_open_proofs_are_found(tmp_path, proof):
    source = tmp_path / "planted.v"
    source.write_text("Lemma fine : True. Proof. exact I. Qed. (* Admitted *)\n", encoding="utf-8")
    assert check_coq.find_open_proofs(tmp_path) == []
    source.write_text(f"Lemma wrong : False.\n{proof}\n", encoding="utf-8")
    assert len(check_coq.find_open_proofs(tmp_path)) == 1


@pytest.mark.skipif(shutil.which("coqc") is None, reason="coqc is not installed")
def test_an_axiom_behind_a_theorem_is_printed(tmp_path):
    text = "Axiom wish : False.\nLemma wrong : 1 = 2. Proof. destruct wish. Qed.\n"
    text += "Lemma fine : True. Proof. exact I. Qed.\n"
    (tmp_path / "planted.v").write_text(text, encoding="utf-8")
    subprocess.run(["coqc", "-q", "-Q", ".", "Exml", "planted.v"], cwd=tmp_path, check=True)
    printed = check_coq.print_assumptions(tmp_path, check_coq.list_statements(tmp_path))
    assert check_coq.find_axioms(printed) == ["planted.wish"]
    fine = check_coq.print_assumptions(tmp_path, ["planted.fine"])
    assert check_coq.find_axioms(fine) == []
