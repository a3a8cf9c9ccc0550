"""Check a compiled copy of the Coq library: ``python -m tools.check_coq FOLDER``.

Fail if a proof is left open, if a theorem rests on an axiom beyond the four of the standard reals and classical logic,
or if a claim names a theorem that the library lacks.
"""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path

from theory.evidence.coq import missing_theorems

#: Axioms of the real numbers of the standard library, functional extensionality and the excluded middle.
ALLOWED = {
    "ClassicalDedekindReals.sig_not_dec",
    "ClassicalDedekindReals.sig_forall_dec",
    "FunctionalExtensionality.functional_extensionality_dep",
    "Classical_Prop.classic",
}
_OPEN = re.compile(r"\b(Admitted|admit|Axiom|Axioms|Parameter|Parameters|Conjecture|Abort|bypass_check)\b")
_STATEMENT = re.compile(r"^\s*(?:Theorem|Lemma|Corollary|Fact|Remark|Proposition)\s+(\w+)", re.MULTILINE)
_COMMENT = re.compile(r"\(\*.*?\*\)", re.DOTALL)


def find_open_proofs(folder: Path) -> list[str]:
    """Return one line for every word that leaves a proof open or adds an axiom."""
    return [
        f"{source.name}: {word}"
        for source in sorted(folder.glob("*.v"))
        for word in _OPEN.findall(_COMMENT.sub("", source.read_text(encoding="utf-8")))
    ]


def list_statements(folder: Path) -> list[str]:
    """Return the names ``file.theorem`` of all theorems and lemmas in the folder."""
    return [
        f"{source.stem}.{name}"
        for source in sorted(folder.glob("*.v"))
        for name in _STATEMENT.findall(_COMMENT.sub("", source.read_text(encoding="utf-8")))
    ]


def find_axioms(printed: str) -> list[str]:
    """Return the axioms in the output of ``Print Assumptions`` that are not allowed."""
    axioms = set(re.findall(r"^([A-Za-z_][\w.']*)\s*(?::|$)", printed, flags=re.MULTILINE)) - {"Axioms"}
    return sorted(axioms - ALLOWED)


def print_assumptions(folder: Path, names: list[str]) -> str:
    """Return what Coq prints about the axioms of these theorems."""
    modules = sorted({name.partition(".")[0] for name in names})
    # One term that mentions every theorem: Coq then walks through all proofs once, not once per theorem.
    parts = "".join(f"let _ := @{name} in " for name in names)
    lines = [
        f"From Exml Require {' '.join(modules)}.",
        f"Definition library := {parts}tt.",
        "Print Assumptions library.",
    ]
    script = folder / "assumptions.v"
    script.write_text("\n".join(lines) + "\n", encoding="utf-8")
    try:
        command = ["coqc", "-q", "-w", "none", "-Q", ".", "Exml", script.name]
        return subprocess.run(command, cwd=folder, check=True, capture_output=True, text=True).stdout
    finally:
        for left in folder.glob("*assumptions.*"):
            left.unlink()


def main() -> None:
    """Print the problems, or one line about the library; exit code 1 if there are problems."""
    folder = Path(sys.argv[1])
    names = list_statements(folder)
    problems = [f"open proof or axiom: {place}" for place in find_open_proofs(folder)]
    problems += [f"a claim names a theorem that the library lacks: {name}" for name in missing_theorems()]
    if not problems:
        printed = print_assumptions(folder, names)
        problems += [f"axiom that is not allowed: {axiom}" for axiom in find_axioms(printed)]
    if problems:
        sys.exit("\n".join(problems))
    print(f"{len(names)} theorems and lemmas, no axiom beyond {', '.join(sorted(ALLOWED))}.")


if __name__ == "__main__":
    main()
