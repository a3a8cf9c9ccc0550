"""docs/confidence.md: its Python runs, one block after the other, and says what the text says."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import pytest

GUIDE = (Path(__file__).parents[2] / "docs" / "confidence.md").read_text(encoding="utf-8")


def test_python(capsys: pytest.CaptureFixture[str]) -> None:
    names: dict[str, Any] = {}
    printed = []
    for block in re.findall(r"```python\n(.*?)```", GUIDE, re.DOTALL):
        exec(block, names)
        printed.append(capsys.readouterr().out)
    assert "advantage of 90° over 60°" in printed[0]
    assert "more rows would settle it" in printed[0]
    assert "Approximate: " in printed[0]
    assert printed[1].startswith("True ")
    assert [line.split()[:2] for line in printed[2].splitlines()] == [
        ["successive_elimination", "1.0"],
        ["kl_lucb", "1.0"],
    ]
