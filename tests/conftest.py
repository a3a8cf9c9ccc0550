"""Settings that all tests share."""

import os
import pkgutil
from collections.abc import Sequence
from importlib import import_module
from pathlib import Path

import matplotlib
import pytest
from hypothesis import HealthCheck, settings

from exml_sim._internal.progress import Line

matplotlib.use("Agg")


def pytest_configure(config: pytest.Config) -> None:
    """Load all modules, because hypothesis draws their constants: no test may depend on which ran before."""
    if not hasattr(config, "workerinput") and config.getoption("numprocesses", None):
        return
    for package in ("exml_sim", "theory", "simulations"):
        for module in pkgutil.walk_packages(import_module(package).__path__, f"{package}."):
            if not module.name.endswith("__main__"):
                import_module(module.name)
    # What a command writes must not depend on how long a busy machine takes.
    Line.log_from = float("inf")


@pytest.fixture
def unseen_pictures(monkeypatch: pytest.MonkeyPatch) -> None:
    """Files without a drawing, for tests of commands that are about something else: others look at what is drawn."""

    def save(picture: object, stem: Path, formats: Sequence[str] = ("png", "svg")) -> list[Path]:
        files = [stem.with_name(f"{stem.name}.{kind}") for kind in formats]
        for file in files:
            file.write_text("<svg></svg>", encoding="utf-8")
        return files

    monkeypatch.setattr("simulations.figures.style.save", save)


# In CI every example is the same on every machine; `make test-long` sweeps seeds.
settings.register_profile(
    "ci", derandomize=True, database=None, deadline=None, suppress_health_check=[HealthCheck.too_slow], print_blob=True
)
settings.register_profile(
    "sweep", derandomize=False, deadline=None, max_examples=1000, suppress_health_check=[HealthCheck.too_slow]
)
settings.load_profile(os.environ.get("HYPOTHESIS_PROFILE", "ci"))


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter) -> None:
    """Say once what is not tested without a browser, and how to get one."""
    skipped = [test for test in terminalreporter.stats.get("skipped", []) if "no Chromium found" in str(test.longrepr)]
    if skipped:
        terminalreporter.write_line(
            f"{len(skipped)} tests of the report's page did not run, because there is no Chromium: install it "
            "(apt-get install chromium, or python -m playwright install chromium and EXML_CHROMIUM=its path), and run "
            "the tests again.",
            yellow=True,
        )
