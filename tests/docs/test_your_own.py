"""docs/your_own.md and docs/other_theory.md do what they say: their files, commands and scripts run."""

from __future__ import annotations

import re
import shlex
import sys
from pathlib import Path

import numpy as np
import pytest

from exml_sim.cli import main

DOCS = Path(__file__).parents[2] / "docs"


def files(page: str) -> dict[str, str]:
    """Blocks whose first line names a file."""
    found = re.findall(r"```(?:python|toml)\n# (\S+)\n(.*?)```", page, re.DOTALL)
    return {name: text for name, text in found if name != "pyproject.toml"}


def run_commands(page: str, capsys: pytest.CaptureFixture[str]) -> str:
    output = ""
    for text in re.findall(r"```sh\n(.*?)```", page, re.DOTALL):
        for line in text.splitlines():
            if not line.startswith("exml "):
                continue
            with pytest.raises(SystemExit) as stop:
                main(shlex.split(line)[1:])
            assert stop.value.code == 0, line
            output += capsys.readouterr().out
    return output


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    monkeypatch.syspath_prepend(str(tmp_path))
    rng = np.random.default_rng(0)
    y = np.tile([1, 0], 15)
    columns = {"age": rng.normal(size=30), "blood": y + rng.normal(size=30), "ct1": rng.normal(size=30)}
    columns |= {"ct2": rng.normal(size=30), "sick": y}
    lines = [",".join(columns), *(",".join(map(str, row)) for row in zip(*columns.values(), strict=True))]
    (tmp_path / "ward.csv").write_text("\n".join(lines), encoding="utf-8")
    (tmp_path / "rewards.csv").write_text("a,b\n1,0.5\n0,-0.5\n0.5,0\n", encoding="utf-8")
    return tmp_path


def test_your_own(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    page = (DOCS / "your_own.md").read_text(encoding="utf-8")
    written = files(page)
    assert set(written) == {"my_rules.py", "final.toml", "ward.toml", "arms.toml", "sweep.toml", "check_it.py"}
    assert sum(bool(line.strip()) for line in written["my_rules.py"].splitlines()) <= 25
    for name, text in written.items():
        (folder / name).write_text(text, encoding="utf-8")
    output = run_commands(page, capsys)
    assert "union (plug-in)" in output
    assert "Final(share=0.25)" in output
    assert "sparse, K = 8, cost ratio = 3" in output
    assert (folder / "sweep" / "facets.png").exists()
    exec(written["check_it.py"], {})
    said = capsys.readouterr().out
    assert "checks passed" in said
    assert "would go unseen" in said
    assert said.count("caught") >= 10
    assert "MISSED" not in said
    sys.modules.pop("my_rules", None)


def test_another_theory(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    page = (DOCS / "other_theory.md").read_text(encoding="utf-8")
    written = files(page)
    assert set(written) == {"classical.py", "classical.toml", "check.py", "printed.py"}
    for name, text in written.items():
        (folder / name).write_text(text, encoding="utf-8")
    output = run_commands(page, capsys)
    for name in ("check.py", "printed.py"):
        exec(written[name], {})
    output += capsys.readouterr().out
    assert output.count(": not refuted at") == 3
    assert output.count("refuted mutants: four times the budget") >= 1
    assert output.count("tightest of 120: means") == 2
    shown = [line for text in re.findall(r"```text\n(.*?)```", page, re.DOTALL) for line in text.splitlines() if line]
    assert shown
    assert [line for line in shown if line not in output] == []
    sys.modules.pop("classical", None)
