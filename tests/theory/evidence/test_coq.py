"""The check of the Coq library: open proofs and further axioms are seen; with Coq installed, in a compiled file."""

from __future__ import annotations

import shutil
import subprocess

import pytest

from theory.evidence.grades import read_library
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
    for empty in ("", SUMMARY.replace("* Axioms:", "* Theorems:")):
        assert check_coq.find_axioms(empty) == ["coqchk printed no list of axioms"]


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


def test_every_cited_theorem_has_a_closed_instance():
    """Planted: a theorem without an instance, and a name that the library lacks."""
    library = dict(read_library())
    cited = check_coq.list_cited(check_coq.LIBRARY.parent)
    assert len(cited) > 130
    assert check_coq.find_gaps(library, cited) == []
    library["regret.lemma_1_ii"] = library["regret.lemma_1_ii"] | {"instance": ""}
    gaps = check_coq.find_gaps(library, cited | {"registry.ghost"})
    assert [gap.rpartition(" ")[2] for gap in gaps] == ["registry.ghost", "regret.lemma_1_ii"]


def test_identities_and_inequalities_are_counted():
    assert check_coq.count_relations().startswith("55 of 58 ")


@pytest.mark.parametrize(
    ("statement", "expected"),
    [
        ("1 <= 2", False),
        ("forall x : R, x = x", True),
        ("0 < 1 -> 1 < 2", True),
        ("let x := 1 in 0 < x -> 0 < x", True),
        ("(forall x : R, x > 0 -> x >= 0) /\\ 1 <= 2", False),
        ("exists f : nat -> nat, f 0%N = 0%N", False),
        ("[/\\ 1 < 2, forall x : R, 0 < x -> 0 <= x & 0 < 1]", False),
        ("1 < 2 <-> 2 < 3", False),
    ],
)
def test_premises_are_seen(statement, expected):
    assert check_coq.has_premises(statement) is expected


@pytest.mark.skipif(shutil.which("coqc") is None, reason="coqc is not installed")
def test_a_compiled_file_is_checked_again_and_described(tmp_path):
    text = "Axiom wish : False.\nTheorem wrong : 1 = 2. Proof. destruct wish. Qed.\n"
    text += "Lemma step : True. Proof. pose proof wrong. exact I. Qed.\nTheorem last : True. Proof. exact step. Qed.\n"
    (tmp_path / "planted.v").write_text(text, encoding="utf-8")
    subprocess.run(["coqc", "-q", "-Q", ".", "Exml", "planted.v"], cwd=tmp_path, check=True)
    assert check_coq.find_axioms(check_coq.run_coqchk(tmp_path)) == ["Exml.planted.wish"]
    names = check_coq.list_theorems(tmp_path)
    references = check_coq.read_references(tmp_path)
    uses = {name: check_coq.collect_uses(references, name, names) for name in names}
    assert uses == {"planted.wrong": set(), "planted.last": {"planted.wrong"}}


@pytest.mark.skipif(shutil.which("coqc") is None, reason="coqc is not installed")
def test_an_instance_with_a_premise_left_is_no_witness(tmp_path):
    """Planted: the second theorem is used only under its own hypothesis."""
    theorem = "Theorem {} (n : nat) : 1 <= n -> 0 <= n. Proof. intros _. apply le_0_n. Qed.\n"
    instances = "From Exml Require Import finite_probability.\nDefinition i_one := one 1 (le_n 1).\n"
    instances += "Definition i_other (n : nat) (H : 1 <= n) := other n H.\n"
    (tmp_path / "finite_probability.v").write_text(theorem.format("one") + theorem.format("other"), encoding="utf-8")
    (tmp_path / "instances.v").write_text(instances, encoding="utf-8")
    for name in ("finite_probability.v", "instances.v"):
        subprocess.run(["coqc", "-q", "-w", "none", "-Q", ".", "Exml", name], cwd=tmp_path, check=True)
    assert check_coq.find_witnesses(tmp_path) == {"finite_probability.one": "instances.i_one"}
