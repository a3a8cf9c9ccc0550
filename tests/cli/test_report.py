"""`exml report`: the page from a store."""

from __future__ import annotations

import json

from exml_sim.engine import run
from tests.cli.test_main import call
from tests.engine.studies import known


def test_the_page_is_left_next_to_the_store_or_where_told(capsys, tmp_path) -> None:
    store = tmp_path / "study.sqlite"
    run(known(trials=30, strategies=["ocba"]), store=store, n_jobs=1, progress=False).close()
    before = store.read_bytes()
    code, out, _ = call(capsys, "report", str(store))
    assert code == 0
    assert out.splitlines()[-1] == f"The report is in {tmp_path / 'report.html'}."
    assert "no bound covers this strategy" in out
    page = (tmp_path / "report.html").read_bytes()
    code, out, _ = call(capsys, "report", str(store), "--out", str(tmp_path / "new" / "x.html"), "--quiet")
    assert code == 0
    assert out.count("\n") == 1
    assert (tmp_path / "new" / "x.html").read_bytes() == page
    code, out, _ = call(capsys, "report", str(store), "--json")
    assert code == 0
    assert json.loads(out)["file"] == str(tmp_path / "report.html")
    assert store.read_bytes() == before


def test_a_file_where_a_folder_should_be(capsys, tmp_path) -> None:
    store, taken = tmp_path / "study.sqlite", tmp_path / "taken"
    run(known(trials=5), store=store, n_jobs=1, progress=False).close()
    taken.write_text("mine", encoding="utf-8")
    for command, out in (("report", taken / "x.html"), ("plot", taken / "x"), ("report", taken / "x" / "y.html")):
        code, _, err = call(capsys, command, str(store), "--out", str(out))
        assert code == 2
        assert err == f"exml: cannot make folder {out if command == 'plot' else out.parent}: {taken} is a file\n"
    assert taken.read_text(encoding="utf-8") == "mine"
