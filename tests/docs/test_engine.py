"""The examples of the engine's guide and docstrings do what they say."""

from __future__ import annotations

import doctest
from importlib import import_module
from pathlib import Path

GUIDE = Path(__file__).parents[2] / "docs" / "engine.md"


def test_guide():
    found = doctest.testfile(str(GUIDE), module_relative=False, encoding="utf-8")
    assert found.attempted >= 10
    assert found.failed == 0


def test_docstrings():
    found = doctest.testmod(import_module("exml_sim.engine.study"))
    assert found.attempted > 0
    assert found.failed == 0
