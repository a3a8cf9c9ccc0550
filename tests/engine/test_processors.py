"""Other processors: selections, spending and pulls are the same, regrets agree within the tolerance of the solver."""

from __future__ import annotations

import os
import platform
import subprocess
import sys
from dataclasses import replace
from pathlib import Path

import pytest

from exml_sim.engine import Store, Study, run
from exml_sim.engine.modes import run_block
from tests.engine.studies import FEATURES, RULES, known

ROOT = Path(__file__).parents[2]

#: Settings that take instructions away from BLAS and numpy, and from compiled code, which is then compiled again.
BEYOND = FEATURES | {
    "scores": [{"theta": 0.3, "ball": 5.0}, {"score": "risk"}],
    "strategies": RULES,
    "budgets": {"per_arm": [8]},
    "trials": 40,
}
OTHER_PROCESSORS = {
    "blas": {"OPENBLAS_CORETYPE": "Nehalem"},
    "numpy": {"NPY_DISABLE_CPU_FEATURES": "X86_V3 X86_V4 AVX512_ICL AVX512_SPR"},
    "numba": {"NUMBA_CPU_NAME": "nehalem", "NUMBA_CPU_FEATURES": "+sse2"},
}


@pytest.mark.skipif(platform.machine() != "x86_64", reason="takes instructions of x86-64 away")
@pytest.mark.parametrize("part", ["blas", "numpy", pytest.param("numba", marks=pytest.mark.long)])
def test_selections_are_the_same_with_other_instructions(tmp_path, part):
    """Regrets may differ by rounding; the settings are seen to act by the facts of the store."""
    study, path = Study.from_table(BEYOND), tmp_path / "other.sqlite"
    path.with_suffix(".toml").write_text(study.to_toml(), encoding="utf-8")
    job = "from tests.engine import starting; starting.run_the_file_beside(starting.Path('other.sqlite'))"
    cache = {"NUMBA_CACHE_DIR": str(tmp_path)} if part == "numba" else {}
    environment = os.environ | OTHER_PROCESSORS[part] | cache | {"PYTHONPATH": str(ROOT)}
    subprocess.run([sys.executable, "-W", "ignore", "-c", job], env=environment, check=True, cwd=tmp_path)
    with run(study, n_jobs=1, progress=False) as here, Store.read(path) as there:
        assert there.digest(portable=True) == here.store.digest(portable=True)
        regrets = [[line[0] for line in store.rows("SELECT regret FROM trials")] for store in (here.store, there)]
        assert regrets[0] == pytest.approx(regrets[1], rel=0, abs=1e-7)
        facts = [dict(store.sessions()[0]) for store in (here.store, there)]
    assert facts[0]["blas" if part == "blas" else "arithmetic"] != facts[1]["blas" if part == "blas" else "arithmetic"]


def test_the_portable_digest_sees_selections_and_nothing_that_rounding_changes(tmp_path):
    """Planted: a regret with another last digit, and a trial with another selection."""
    study = known(trials=20)
    block = run_block(study, study.cells()[0], 0, 20)
    other = (block.selected + 1) % 3
    digests = []
    for number, change in enumerate(({}, {"regret": block.regret + 1e-12}, {"selected": other})):
        with Store.create_or_open(tmp_path / f"{number}.sqlite", study, study.cells()) as store:
            store.add(replace(block, **change))
            digests.append((store.digest(portable=True), store.digest()))
    assert digests[0][0] == digests[1][0] != digests[2][0]
    assert len({whole for _, whole in digests}) == 3
