"""``exml reproduce`` from the outside: files, resume, JSON, and one clear line for bad input."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest

from exml_sim.cli import main
from exml_sim.cli.reproduce import DEFAULTS
from exml_sim.datasets.realdisp import SENSORS


def call(*arguments: str) -> int:
    with pytest.raises(SystemExit) as stop:
        main(["reproduce", *arguments])
    return int(stop.value.code or 0)


def test_synthetic_leaves_table_figures_and_verdicts(tmp_path, capsys):
    assert call("synthetic", "--configurations", "2", "--n-jobs", "1", "--out", str(tmp_path), "--json") == 0
    data = json.loads(capsys.readouterr().out)
    cells = {cell["method"]: cell["mean"] for cell in data["cells"]}
    # The numbers that Section 5.1 must reach at b = 20 %: SL below 60 %, ExML above 85 %.
    assert cells["SL"] < 60.0
    assert cells["csd/ME"] > 85.0
    assert data["configurations"] == 2
    names = {file.name for file in tmp_path.iterdir()}
    pictures = {"figure_5.png", "figure_5.svg"}
    assert pictures | {"table.md", "table.csv", "verdicts.md", "verdicts.json", "results"} <= names
    assert "| observed | 20 % |" in (tmp_path / "table.md").read_text(encoding="utf-8")
    assert "statements are reproduced" in (tmp_path / "verdicts.md").read_text(encoding="utf-8")


def test_every_experiment_has_the_c_that_its_page_states():
    """The paper's C for synthetic data and RealDisp, the closest one for the digits."""
    stated = {"synthetic": 1.0, "mfeat": 0.15, "costs": 0.15, "realdisp": 1.0}
    assert {name: C for name, (_, _, C) in DEFAULTS.items()} == stated


def test_other_settings_in_the_same_folder(tmp_path, capsys):
    from simulations._cache import Cache
    from simulations.reproduction.experiment import make_experiment

    Cache(tmp_path / "results", json.loads(make_experiment("synthetic", True, 1.0).identity()))
    assert call("synthetic", "--out", str(tmp_path), "--C", "0.5", "--seed", "5") == 2
    assert "other settings (C, seed differ)" in capsys.readouterr().err


def test_realdisp_with_arrays(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    rng = np.random.default_rng(0)
    y = np.repeat([1, 2, 3], 700)
    t = np.arange(len(y)) / 50.0
    views = {
        name: np.column_stack([np.sin(t * (k + y)), 0.3 * y + rng.standard_normal(len(y))])
        for k, name in enumerate(SENSORS[:3])
    }
    np.savez(tmp_path / "walk.npz", y=y, t=t, **views)
    out = tmp_path / "out"
    options = ["--configurations", "2", "--n-jobs", "1", "--C", "1", "--out", str(out)]
    assert call("realdisp", "--from", str(tmp_path / "walk.npz"), *options) == 0
    assert {"allocation.png", "allocation.svg", "table.md", "verdicts.md"} <= {file.name for file in out.iterdir()}
    assert "| RLA | 10 % |" in capsys.readouterr().out


def test_an_interrupt_says_how_to_go_on(tmp_path, monkeypatch, capsys):
    from simulations.reproduction import experiment

    def interrupted(*_: object, **__: object) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr(experiment, "run", interrupted)
    assert call("mfeat", "--out", str(tmp_path)) == 130
    assert "the same command continues from there" in capsys.readouterr().err
