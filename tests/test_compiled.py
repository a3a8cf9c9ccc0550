"""Compiled code does not outlive the sources it was made from."""

from __future__ import annotations

from pathlib import Path

from exml_sim.compiled import forget_stale


def test_a_change_in_any_compiled_module_drops_the_compiled_code(tmp_path: Path) -> None:
    (tmp_path / "one.py").write_text("from exml_sim.compiled import kernel")
    (tmp_path / "two.py").write_text("from exml_sim.compiled import compiled")
    (tmp_path / "plain.py").write_text("x = 1")
    cache = tmp_path / "__pycache__"
    assert forget_stale(tmp_path)
    compiled = cache / "one.f-1.py311.nbc"
    compiled.write_bytes(b"code")
    assert not forget_stale(tmp_path)
    assert compiled.exists()
    (tmp_path / "plain.py").write_text("x = 22")
    assert not forget_stale(tmp_path)
    (tmp_path / "two.py").write_text("from exml_sim.compiled import compiled, kernel")
    assert forget_stale(tmp_path)
    assert not compiled.exists()
    assert not forget_stale(tmp_path)
