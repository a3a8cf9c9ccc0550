"""Shards for plain batch queues, and putting them together."""

from __future__ import annotations

import pytest

from exml_sim.engine import Store, StoreError, StudyResult, merge, run
from exml_sim.engine._files import DriverLock
from tests.engine.studies import contents, known


@pytest.fixture
def shards(tmp_path):
    """Three stores, one per shard."""
    paths = [tmp_path / f"{i}.sqlite" for i in (1, 2, 3)]
    for i, path in enumerate(paths, 1):
        run(known(trials=100), store=path, shard=(i, 3), n_jobs=1).close()
    return paths


def test_shards_are_the_study(shards, tmp_path):
    for path in shards:
        with StudyResult.open(path) as part:
            assert not part.complete
    with merge(shards, tmp_path / "all.sqlite") as result:
        assert result.complete
        assert result.store.digest() == run(known(trials=100), n_jobs=1).store.digest()
        assert len(result.store.sessions()) == 4


def test_a_missing_shard_is_run_by_the_next_run(shards, tmp_path):
    out = tmp_path / "all.sqlite"
    with merge(shards[:2], out) as result:
        assert not result.complete
    with run(known(trials=100), store=out) as result:
        assert result.complete
        assert result.store.digest() == run(known(trials=100), n_jobs=1).store.digest()


def test_more_shards_than_trials(tmp_path):
    for i in (1, 2, 3):
        run(known(trials=2), store=tmp_path / f"{i}.sqlite", shard=(i, 3)).close()
    with merge([tmp_path / f"{i}.sqlite" for i in (1, 2, 3)], tmp_path / "all.sqlite") as result:
        assert result.complete


def test_the_same_trial_twice(shards, tmp_path):
    before = contents(tmp_path)
    with pytest.raises(StoreError, match="already"):
        merge([*shards, shards[0]], tmp_path / "all.sqlite")
    assert contents(tmp_path) == before


def test_different_studies(shards, tmp_path):
    other = tmp_path / "other.sqlite"
    run(known(trials=100, seed=1), store=other).close()
    before = contents(tmp_path)
    with pytest.raises(StoreError, match="different studies"):
        merge([shards[0], other], tmp_path / "all.sqlite")
    with pytest.raises(StoreError, match="exists already"):
        merge(shards, other)
    with pytest.raises(StoreError, match="at least one"):
        merge([], tmp_path / "all.sqlite")
    assert contents(tmp_path) == before


def test_early_stopping_and_shards_exclude_each_other():
    with pytest.raises(ValueError, match="cannot be cut into shards"):
        run(known(stop={"bound": 0.2}), shard=(1, 2))


def test_a_store_that_appears_while_parts_are_read_is_left_alone(shards, tmp_path, monkeypatch):
    """Another run finishes into the name of the new store: merge must fail, and its store must stay."""
    out, original = tmp_path / "all.sqlite", Store.read.__func__
    digest = []

    def slow(cls, path, **how):
        if not digest:
            digest.append("")
            with run(known(trials=100), store=out, n_jobs=1) as other:
                digest[0] = other.store.digest()
        return original(cls, path, **how)

    monkeypatch.setattr(Store, "read", classmethod(slow))
    with pytest.raises(StoreError, match="exists already"):
        merge(shards, out)
    monkeypatch.undo()
    with StudyResult.open(out) as result:
        assert result.store.digest() == digest[0]


def test_a_file_that_appears_at_the_last_moment_is_left_alone(shards, tmp_path, monkeypatch):
    out, original = tmp_path / "all.sqlite", Store.copy_from

    def slow(self, other):
        out.write_bytes(b"somebody else's")
        original(self, other)

    monkeypatch.setattr(Store, "copy_from", slow)
    with pytest.raises(StoreError, match="exists already"):
        merge(shards, out)
    assert out.read_bytes() == b"somebody else's"
    assert {path.name for path in tmp_path.iterdir()} == {"1.sqlite", "2.sqlite", "3.sqlite", "all.sqlite"}


def test_merge_and_run_do_not_write_to_one_store_together(shards, tmp_path):
    study, out = known(trials=100), tmp_path / "all.sqlite"
    lock = DriverLock(out)
    try:
        with pytest.raises(StoreError, match="another run is writing"):
            merge(shards, out)
        with pytest.raises(StoreError, match="another run is writing"):
            run(study, store=out)
    finally:
        lock.release()


def test_shards_of_an_exact_study_are_cells(tmp_path):
    study = known(mode="exact", budgets={"per_arm": [4, 6]})
    paths = [tmp_path / f"{i}.sqlite" for i in (1, 2, 3)]
    for i, path in enumerate(paths, 1):
        with run(study, store=path, shard=(i, 3)) as part:
            assert not part.complete
    with merge(paths, tmp_path / "all.sqlite") as result:
        assert result.complete
        assert result.store.digest() == run(study).store.digest()
