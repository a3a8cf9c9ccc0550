"""Settings that all tests share."""

import os
import pkgutil
from importlib import import_module

import matplotlib
import pytest
from hypothesis import HealthCheck, settings

matplotlib.use("Agg")

# Hypothesis also draws the constants of the modules that are loaded. Load all of them now: what a test draws must not
# depend on which tests the same worker ran before.
for package in ("exml_sim", "theory", "simulations"):
    for module in pkgutil.walk_packages(import_module(package).__path__, f"{package}."):
        if not module.name.endswith("__main__"):
            import_module(module.name)

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
    skipped = [one for one in terminalreporter.stats.get("skipped", []) if "no Chromium found" in str(one.longrepr)]
    if skipped:
        terminalreporter.write_line(
            f"{len(skipped)} tests of the report's page did not run, because there is no Chromium: install it "
            "(apt-get install chromium, or python -m playwright install chromium and EXML_CHROMIUM=its path), and run "
            "the tests again.",
            yellow=True,
        )
