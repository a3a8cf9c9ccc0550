"""Examples in README, docstrings and guides do what they say."""

import doctest
import re
from importlib import import_module
from pathlib import Path

import matplotlib

matplotlib.use("Agg")

import numpy as np
import pytest

from exml_sim.bandit.rows import FeaturePool
from exml_sim.population import Population

README = Path(__file__).parents[2] / "README.md"
GUIDE = Path(__file__).parents[2] / "docs" / "arms_and_money.md"


@pytest.mark.parametrize(
    "module",
    [
        "exml_sim.bandit.parametric",
        "exml_sim.datasets.synthetic",
        "exml_sim.bandit.ledger",
        "exml_sim.population",
        "exml_sim.rejection.classifier",
        "exml_sim.rejection.solve",
    ],
)
def test_docstrings(module):
    found = doctest.testmod(import_module(module))
    assert found.attempted > 0
    assert found.failed == 0


def test_readme():
    found = doctest.testfile(str(README), module_relative=False, encoding="utf-8")
    assert found.attempted > 10
    assert found.failed == 0


def test_guide(capsys):
    """The guide's code runs as it stands, except that a reader brings data and we have less patience."""
    code = re.search(r"```python\n(.*?)```", GUIDE.read_text(encoding="utf-8"), re.DOTALL).group(1)
    code = code.replace("from exml_sim import FeaturePool, Population\n", "").replace("10_000", "20")
    rng = np.random.default_rng(0)
    y = np.repeat([-1, 1], 20)
    names = {"Population": Population, "FeaturePool": FeaturePool, "X": rng.normal(size=(40, 2)), "y": y}
    names |= {"pix": y + rng.normal(size=40), "mor": rng.normal(size=40)}
    exec(code, names)
    assert "selected pix" in capsys.readouterr().out
    assert len(names["many"]) == 20
