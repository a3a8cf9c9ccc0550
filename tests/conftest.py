"""Settings that all tests share."""

import gc
import os
import pkgutil
from contextlib import suppress
from importlib import import_module
from pathlib import Path
from typing import Any

import matplotlib
import pytest
from hypothesis import HealthCheck, settings

matplotlib.use("Agg")

HERE = Path(__file__).parent

#: Files that are begun first, in this order; the others follow in the order of their names. The first compiles most
#: inner loops while the other worker is busy with files that need none, so that nothing is compiled twice. Then come
#: those that take long: one at the end would leave a worker idle. Of files that go `TOGETHER` one is enough.
FIRST = (
    "rejection/test_classifier.py",
    "theory/test_budgets.py",
    "theory/test_corrected.py",
    "theory/test_tighter.py",
    "bandit/test_rows.py",
    "cli/test_study.py",
    "test_wheel.py",
    "docs/test_contributing.py",
    "docs/test_how_to.py",
    "cli/test_reproduce.py",
    "test_plugins.py",
    "test_untrusted.py",
    "testing/test_check_strategy.py",
    "engine/modes/test_importance_sampling.py",
    "cli/test_explore.py",
    "classifier/test_estimator.py",
    "properties/test_bounds_hold.py",
    "theory/population/test_failure.py",
    "theory/population/test_beyond.py",
    "simulations/reproduction/test_experiment.py",
    "engine/test_runner.py",
    "theory/population/test_scope.py",
    "docs/test_notebook.py",
    "engine/test_stopping.py",
)
#: Files, or folders, that ask for the same things, which a process finds once: one worker runs all of a line. The
#: first share checks of claims and refutations, the second the pools of the main study and the bounds on them.
TOGETHER = (
    ("theory/claims", "theory/evidence"),
    (
        "cli/test_study.py",
        "cli/test_plot.py",
        "docs/test_tutorial.py",
        "engine/test_dask.py",
        "simulations/figures/test_failure_rate.py",
        "simulations/figures/test_slack_decomposition.py",
        "simulations/report",
        "simulations/test_budget_vs_failure.py",
        "simulations/test_versions.py",
    ),
)


def pytest_configure(config: pytest.Config) -> None:
    """Load what workers need; the process that only hands out tests needs nothing."""
    share = getattr(config, "workerinput", None)
    if share is None and config.getoption("numprocesses", None):
        return
    # Hypothesis also draws the constants of the modules that are loaded. Load all of them now: what a test draws must
    # not depend on which tests the same worker ran before.
    for package in ("exml_sim", "theory", "simulations"):
        for module in pkgutil.walk_packages(import_module(package).__path__, f"{package}."):
            if not module.name.endswith("__main__"):
                import_module(module.name)
    # Many files use the same few small pools: what bounds have computed about one is kept as long as the pool is.
    import_module("exml_sim.engine.study")._MAX_POOLS = 64
    # What a command writes must not depend on how long a busy machine takes.
    import_module("exml_sim._internal.progress").LOG_FROM = float("inf")
    if share is not None and share["workerid"] != "gw0" and [Path(one).resolve() for one in config.args] == [HERE]:
        _from_the_end()


def _from_the_end() -> None:
    """Load test files from the last to the first: workers then meet, and each compiles half of what all would compile.

    A file that cannot be loaded is left to collection, which says why.
    """
    for file in sorted(HERE.rglob("test_*.py"), reverse=True):
        name = ".".join(file.relative_to(HERE.parent).with_suffix("").parts)
        with suppress(Exception, pytest.skip.Exception):
            import_module(name)


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Begin with the files of `FIRST`."""
    place = {HERE / name: number for number, name in enumerate(FIRST)}
    items.sort(key=lambda item: place.get(item.path, len(place)))


@pytest.fixture
def unseen_pictures(monkeypatch: pytest.MonkeyPatch) -> None:
    """Files without a drawing, for tests of commands that are about something else: others look at what is drawn."""

    def save(picture: object, stem: Path) -> list[Path]:
        files = [stem.with_name(f"{stem.name}.{kind}") for kind in ("png", "svg")]
        for file in files:
            file.write_text("<svg></svg>", encoding="utf-8")
        return files

    monkeypatch.setattr("simulations.figures.style.save", save)


def pytest_collection_finish() -> None:
    """Leave what is loaded by now out of every search for garbage: it stays to the end, and half a million it is."""
    gc.collect()
    gc.freeze()
    # Fractions and formulas by the million are no garbage in cycles: look for that less often.
    gc.set_threshold(200_000, 10, 10)


@pytest.hookimpl(optionalhook=True)
def pytest_xdist_make_scheduler(config: pytest.Config, log: Any) -> Any:
    """Whole files to workers, as `--dist loadfile` does it, and those of `TOGETHER` to the same one."""
    if config.getoption("dist") != "loadfile":
        return None
    from xdist.scheduler import LoadFileScheduling

    class Together(LoadFileScheduling):
        def _split_scope(self, nodeid: str) -> str:
            return together(super()._split_scope(nodeid))

    return Together(config, log)


def together(file: str) -> str:
    """What a worker takes as a whole: the name of the file, or the first of those that it goes together with."""
    inside = file.removeprefix(f"{HERE.name}/")
    for names in TOGETHER:
        if any(inside == name or inside.startswith(f"{name}/") for name in names):
            return names[0]
    return file


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
