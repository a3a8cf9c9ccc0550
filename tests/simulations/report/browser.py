"""A real headless Chromium for the tests of the page.

On a machine without one the tests are skipped with a reason; where EXML_REQUIRE_BROWSER is set (as in CI) they fail
instead, so that nothing passes by being skipped.
"""

from __future__ import annotations

import os
import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

NAMES = ("chromium", "chromium-browser", "google-chrome", "google-chrome-stable")
FLAGS = (
    "--no-sandbox",
    "--disable-gpu",
    "--disable-quic",
    "--no-first-run",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
)


def executable() -> str:
    """Path of Chromium; skips or fails without one."""
    for name in (os.environ.get("EXML_CHROMIUM", ""), *NAMES):
        result = shutil.which(name) if name else None
        if result:
            return result
    reason = f"no Chromium found: none of {', '.join(NAMES)} is on the path, and EXML_CHROMIUM is not set"
    if os.environ.get("EXML_REQUIRE_BROWSER"):
        pytest.fail(reason)
    pytest.skip(reason)


@contextmanager
def chromium() -> Iterator[Any]:
    """A browser with a fresh profile."""
    path = executable()
    from playwright.sync_api import sync_playwright

    with sync_playwright() as driver:
        browser = driver.chromium.launch(executable_path=path, args=list(FLAGS))
        yield browser
        browser.close()


def axe_source() -> str:
    """The accessibility checker, from its package on PyPI."""
    import axe_playwright_python

    return (Path(axe_playwright_python.__file__).parent / "axe.min.js").read_text(encoding="utf-8")
