"""Compiled code does not outlive the sources it was made from."""

from __future__ import annotations

from pathlib import Path

import exml_sim
from exml_sim._internal.compiled import PACKAGE, forget_stale


def test_the_whole_package_is_watched() -> None:
    assert Path(exml_sim.__file__).parent == PACKAGE
    assert (PACKAGE / "__pycache__" / "compiled.stamp").exists()


def test_a_change_in_any_compiled_module_drops_the_compiled_code(tmp_path: Path) -> None:
    (tmp_path / "one.py").write_text("from exml_sim._internal.compiled import kernel")
    (tmp_path / "two.py").write_text("from exml_sim._internal.compiled import compiled")
    (tmp_path / "plain.py").write_text("x = 1")
    cache = tmp_path / "__pycache__"
    assert forget_stale(tmp_path)
    compiled = cache / "one.f-1.py311.nbc"
    compiled.write_bytes(b"code")
    assert not forget_stale(tmp_path)
    assert compiled.exists()
    (tmp_path / "plain.py").write_text("x = 22")
    assert not forget_stale(tmp_path)
    (tmp_path / "two.py").write_text("from exml_sim._internal.compiled import compiled, kernel")
    assert forget_stale(tmp_path)
    assert not compiled.exists()
    assert not forget_stale(tmp_path)


def test_a_tree_of_links_shares_the_compiled_code(tmp_path: Path) -> None:
    """The same files in another place are the same sources; otherwise each place would drop the other's code."""
    here, there = tmp_path / "here", tmp_path / "there"
    here.mkdir()
    (here / "one.py").write_text("from exml_sim._internal.compiled import kernel")
    assert forget_stale(here)
    there.mkdir()
    (there / "one.py").symlink_to(here / "one.py")
    (there / "__pycache__").symlink_to(here / "__pycache__")
    assert not forget_stale(there)
    assert not forget_stale(here)
    (there / "two.py").write_text("from exml_sim._internal.compiled import compiled")
    assert forget_stale(there)
