"""`exml plot`: figures of any store."""

from __future__ import annotations

import json

import pytest

from exml_sim.engine import Store, run
from tests.cli.test_main import call
from tests.engine.studies import features, known


@pytest.fixture(scope="module")
def store(tmp_path_factory):
    """Two features far apart: the bounds that are drawn begin at small budgets, which are quick to find."""
    path = tmp_path_factory.mktemp("plot") / "study.sqlite"
    pools = [{"kind": "synthetic", "per_class": 20, "angles": [10, 90]}]
    run(features(trials=30, pools=pools), store=path, n_jobs=2, progress=False).close()
    return path


def test_png_and_svg_next_to_the_store(capsys, store) -> None:
    code, out, _ = call(capsys, "plot", str(store))
    assert code == 0
    assert out.split() == [str(store.parent / f"failure_rate.{kind}") for kind in ("png", "svg", "csv")]
    assert (store.parent / "failure_rate.png").read_bytes().startswith(b"\x89PNG")
    # Text stays text in the vector file.
    assert "uniform allocation" in (store.parent / "failure_rate.svg").read_text(encoding="utf-8")


def test_one_picture_per_pool(capsys, tmp_path) -> None:
    pools = [
        {"kind": "parametric", "direction": "minimise", "means": [0.2, 0.6]},
        {"kind": "parametric", "direction": "minimise", "means": [0.4, 0.6], "label": "closer"},
    ]
    run(known(trials=20, pools=pools), store=tmp_path / "s.sqlite", n_jobs=1, progress=False).close()
    code, out, _ = call(capsys, "plot", str(tmp_path / "s.sqlite"), "--out", str(tmp_path / "new"), "--json")
    assert code == 0
    names = [f"failure_rate_{number}.{kind}" for number in (1, 2) for kind in ("png", "svg", "csv")]
    assert {file.name for file in (tmp_path / "new").iterdir()} == set(names)
    assert json.loads(out)["files"] == [str(tmp_path / "new" / name) for name in names]


def test_bad_input_is_one_line(capsys, tmp_path) -> None:
    study = known()
    Store.create_or_open(tmp_path / "empty.sqlite", study, study.cells()).close()
    (tmp_path / "other.sqlite").write_text("not a database, whatever its name says", encoding="utf-8")
    (tmp_path / "blank.sqlite").touch()
    for name, word in (
        ("blank", "an empty file"),
        ("empty", "no results yet"),
        ("other", "no store at all"),
    ):
        code, _, err = call(capsys, "plot", str(tmp_path / f"{name}.sqlite"))
        assert code == 2
        assert word in err
        assert err.count("\n") == 1
