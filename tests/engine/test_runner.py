"""Results depend on the study alone: not on workers, backends, blocks, or interruptions."""

from __future__ import annotations

import io
import random
import signal
import sys
import time
from pathlib import Path

import joblib
import pytest

from exml_sim.engine import Store, StudyResult, run
from exml_sim.engine.modes import replay
from exml_sim.engine.runner import BlockSizes
from tests.engine.starting import begin, run_the_file_beside
from tests.engine.studies import features, known


@pytest.fixture(scope="module")
def truth() -> str:
    """The results of one worker."""
    return run(features(), n_jobs=1, progress=False).store.digest()


@pytest.mark.parametrize("block", [1, 7, 1000])
@pytest.mark.parametrize("n_jobs", [1, 2])
def test_threads_and_blocks_change_nothing(truth, n_jobs, block):
    assert run(features(), n_jobs=n_jobs, block=block).store.digest() == truth


def test_processes_change_nothing(truth, tmp_path):
    result = run(features(), n_jobs=2, backend="processes", block=17, store=tmp_path / "study.sqlite")
    assert result.store.digest() == truth


def test_a_surrounding_parallel_config_decides(truth):
    with joblib.parallel_config(backend="loky", n_jobs=2):
        assert run(features(), n_jobs=2, block=40).store.digest() == truth


def test_another_seed_is_another_result(truth):
    assert run(features(seed=1)).store.digest() != truth


def test_trials_are_what_explore_finds():
    """Every stored number against the trial run alone, with a ledger."""
    study = features(trials=6)
    result = run(study, n_jobs=1)
    for row in result.rows():
        alone = replay(study, row["cell"], row["trial"])
        assert row["selected"] == alone.selected_name
        assert row["spent"] == str(alone.ledger.spent)
        pool = study.pool(study.cells()[row["cell"]])
        assert row["success"] == (alone.selected in pool.best_arms())
        assert row["regret"] == pool.gaps[alone.selected]


def test_resume_runs_only_what_is_missing(truth, tmp_path):
    path = tmp_path / "study.sqlite"
    study = features()
    with Store.create_or_open(path, study, study.cells()) as store:
        from exml_sim.engine.modes import run_block

        for first, stop in ((10, 20), (35, 60)):
            store.add(run_block(study, study.cells()[1], first, stop))
    with run(study, store=path, block=9) as result:
        assert result.store.digest() == truth
        before = result.store.rows("SELECT count(*) FROM blocks").fetchone()
    with run(study, store=path) as result:
        assert result.store.rows("SELECT count(*) FROM blocks").fetchone() == before
        assert len(result.store.sessions()) == 3


def test_an_error_in_a_worker_keeps_what_is_stored(tmp_path, monkeypatch):
    from exml_sim.engine import runner

    original = runner.run_checked

    def breaks(study, cell, first, stop):
        if cell.index == 2:
            raise RuntimeError("the lights went out")
        return original(study, cell, first, stop)

    monkeypatch.setattr(runner, "run_checked", breaks)
    path = tmp_path / "study.sqlite"
    with pytest.raises(RuntimeError, match="lights"):
        run(known(), store=path, n_jobs=1, block=50)
    monkeypatch.undo()
    with StudyResult.open(path) as partial:
        assert partial.store.counts(0) == run(known(), n_jobs=1).store.counts(0)
        assert not partial.complete
    with run(known(), store=path) as result:
        assert result.complete
        assert result.store.digest() == run(known(), n_jobs=1).store.digest()


def _rows(store: Path) -> int:
    try:
        with Store.read(store) as opened:
            return int(opened.rows("SELECT count(*) FROM trials").fetchone()[0])
    except ValueError:
        return 0


def test_sigkill_at_five_random_moments(tmp_path):
    """A real process, killed five times in mid-run, then left to end: bit for bit the uninterrupted result."""
    study = features(trials=400, scores=[{"score": "ball", "theta": 0.3, "ball": 0.4}])
    toml, path = tmp_path / "study.toml", tmp_path / "study.sqlite"
    toml.write_text(study.to_toml(), encoding="utf-8")
    total = study.trials * len(study.cells())
    moments = random.Random(5)
    kills = 0
    for number in range(1, 6):
        goal = _rows(path) + moments.randint(1, total // 10)
        process = begin(run_the_file_beside, path)
        deadline = time.monotonic() + 60
        while process.is_alive() and _rows(path) < goal and time.monotonic() < deadline:
            time.sleep(moments.uniform(0.0, 0.02))
        process.kill()
        process.join()
        kills += process.exitcode == -signal.SIGKILL
        assert _rows(path) >= number, "every run made some progress"
    assert kills == 5
    assert _rows(path) < total
    with run(study, store=path) as result:
        assert result.complete
        assert result.store.digest() == run(study, n_jobs=1).store.digest()


def test_block_sizes_follow_the_clock():
    study = known(trials=10**6)
    cell = study.cells()[0]
    sizes = BlockSizes(2)
    assert sizes.size(cell, 10**6) == 32
    from exml_sim.engine.modes import run_block

    done = run_block(study, cell, 0, 32)
    sizes.learn(done)
    per_trial = done.seconds / 32
    assert 0.2 <= sizes.size(cell, 10**6) * per_trial <= 2.0 or sizes.size(cell, 10**6) == 500_000
    assert sizes.size(cell, 40) == 32
    assert BlockSizes(2, 5).size(cell, 1000) == 5


BAD_SHARDS = [(1.5, 2), (1, 2.0), (0, 2), (3, 2), (1,), "1/2", (True, 2)]


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"n_jobs": 0}, "n_jobs"),
        *(({"block": block}, "block must be a whole number of at least 1") for block in (1.5, 0, -3, True, "10")),
        *(({"shard": shard}, "shard must be two whole numbers") for shard in BAD_SHARDS),
        ({"backend": "telepathy"}, "telepathy"),
    ],
)
def test_bad_options(options, message):
    with pytest.raises(ValueError, match=message):
        run(known(), **options)


@pytest.mark.parametrize(
    ("study", "message"),
    [
        (known(budgets={"absolute": [60, 2]}), r"cell 2 .*nothing was run"),
        (
            features(budgets={"per_arm": [10, 100]}, sampling={"replacement": "never"}),
            r"cell 2 .*cannot run: .*rows are left.*nothing was run",
        ),
        (known(mode="importance_sampling"), r"cannot run: mode 'importance_sampling' tilts.*nothing was run"),
        # The last cell has far too many outcomes: the first one must not be stored, nor a file made.
        (known(mode="exact", strategies=["uniform_allocation"], budgets={"per_arm": [4, 400]}), "nothing was run"),
    ],
    ids=["budget", "rows", "mode", "outcomes"],
)
def test_what_cannot_run_is_named_and_leaves_no_store(tmp_path, study, message):
    with pytest.raises(ValueError, match=message):
        run(study, store=tmp_path / "study.sqlite")
    assert list(tmp_path.iterdir()) == []


class Terminal(io.StringIO):
    """A stream that says it is a terminal."""

    def isatty(self) -> bool:
        return True


def test_progress_works_with_one_job(monkeypatch):
    stream = Terminal()
    monkeypatch.setattr(sys, "stderr", stream)
    run(known(), n_jobs=1)
    assert "800 of 800 trials" in stream.getvalue()
