"""The store: clear errors, and nothing that was there is changed."""

from __future__ import annotations

import os
import sqlite3
import sys

import pytest

from exml_sim.engine import Store, StoreError, run
from exml_sim.engine.store import APPLICATION, VERSION
from exml_sim.engine.trials import run_block
from tests.engine.studies import contents, features, known


@pytest.fixture
def stored(tmp_path):
    """A finished store."""
    path = tmp_path / "study.sqlite"
    run(known(trials=20), store=path, n_jobs=1).close()
    return path


def refused(path, study, message):
    """Opening must fail with the message and leave every byte as it was."""
    before = contents(path.parent)
    with pytest.raises(StoreError, match=message):
        run(study, store=path)
    assert contents(path.parent) == before


def test_another_study(stored):
    refused(stored, known(trials=21), "belongs to another study")


def test_future_version(stored):
    with sqlite3.connect(stored) as connection:
        connection.execute(f"PRAGMA user_version = {VERSION + 1}")
    connection.close()
    refused(stored, known(trials=20), r"written by a later version \(layout 2")


def test_somebody_elses_database(tmp_path):
    path = tmp_path / "letters.sqlite"
    connection = sqlite3.connect(path)
    connection.execute("CREATE TABLE letters (text TEXT)")
    connection.close()
    refused(path, known(), "not a study's store")


def test_not_a_database(tmp_path):
    path = tmp_path / "study.sqlite"
    path.write_bytes(b"Dear reader, this is no database. " * 100)
    refused(path, known(), "damaged or no store")


def test_damage_in_the_middle(stored):
    data = bytearray(stored.read_bytes())
    for start in range(4096, len(data), 4096):
        data[start : start + 64] = b"\xff" * 64
    stored.write_bytes(data)
    refused(stored, known(trials=20), "damaged")


def test_cut_off_file(tmp_path):
    path = tmp_path / "study.sqlite"
    run(known(trials=500), store=path, n_jobs=1).close()
    path.write_bytes(path.read_bytes()[: path.stat().st_size // 2])
    refused(path, known(trials=500), "damaged")


def test_no_directory(tmp_path):
    with pytest.raises(StoreError, match="there is no directory"):
        run(known(), store=tmp_path / "nowhere" / "study.sqlite")
    with pytest.raises(StoreError, match="it is a directory"):
        run(known(), store=tmp_path)


@pytest.mark.skipif(not sys.platform.startswith("linux"), reason="uses a file system that nobody may write to")
def test_unwritable_directory():
    with pytest.raises(StoreError, match="cannot write a store at /proc"):
        run(known(), store="/proc/study.sqlite")


@pytest.mark.skipif(os.geteuid() == 0, reason="root may write anywhere")
def test_read_only_directory(tmp_path):
    tmp_path.chmod(0o500)
    try:
        with pytest.raises(StoreError, match="Permission denied"):
            run(known(), store=tmp_path / "study.sqlite")
    finally:
        tmp_path.chmod(0o700)


def test_two_drivers(tmp_path):
    study = known()
    path = tmp_path / "study.sqlite"
    with (
        Store.create_or_open(path, study, study.cells()),
        pytest.raises(StoreError, match="another run is writing"),
    ):
        run(study, store=path)
    run(study, store=path, n_jobs=1).close()
    assert [file.name for file in tmp_path.iterdir()] == ["study.sqlite"]


def test_a_trial_is_never_overwritten(tmp_path):
    study = known()
    with Store.create_or_open(tmp_path / "study.sqlite", study, study.cells()) as store:
        store.add(run_block(study, study.cells()[0], 0, 10))
        digest = store.digest()
        with pytest.raises(StoreError, match="holds a trial of this block already"):
            store.add(run_block(study, study.cells()[0], 9, 12))
        assert store.digest() == digest
        assert store.stretches(0) == [(0, 10)]


def test_blank_file_of_a_run_that_was_killed_at_once(tmp_path):
    path = tmp_path / "study.sqlite"
    path.touch()
    with run(known(trials=5), store=path) as result:
        assert result.complete


def test_manifest(stored):
    with Store.read(stored) as store:
        assert store.study == known(trials=20)
        (facts,) = store.sessions()
        assert {"numpy", "numba", "cpu", "blas", "commit", "exml_sim", "python", "started"} <= set(facts)
        assert all(facts.values())
        assert store.rows("PRAGMA application_id").fetchone() == (APPLICATION,)
        assert store.rows("PRAGMA journal_mode").fetchone() == ("wal",)


def test_a_changed_version_is_said(stored, caplog):
    connection = sqlite3.connect(stored)
    connection.execute("UPDATE sessions SET facts = json_set(facts, '$.numpy', '1.0')")
    connection.commit()
    connection.close()
    run(known(trials=20), store=stored).close()
    assert "begun with another numpy" in caplog.text


def test_reading_while_writing(tmp_path):
    study = features()
    path = tmp_path / "study.sqlite"
    with Store.create_or_open(path, study, study.cells()) as store:
        store.add(run_block(study, study.cells()[0], 0, 10))
        with Store.read(path) as other:
            assert other.counts(0)[0] == 10
            store.add(run_block(study, study.cells()[0], 10, 20))
            assert other.counts(0)[0] == 20


def test_no_store_to_read(tmp_path):
    with pytest.raises(StoreError, match="there is no store"):
        Store.read(tmp_path / "study.sqlite")
