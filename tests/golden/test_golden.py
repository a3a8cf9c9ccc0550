"""Results as they were before the refactoring: trials, ledgers, bounds, solutions, verdicts, purchases, outputs."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

from tests.golden import record
from tests.golden.values import describe_machine, find_differences

#: Most bytes of all golden files together.
MAX_BYTES = 600_000
QUICK_STUDIES = [name for name in record.STUDIES if name not in record.SLOW_STUDIES]
QUICK_COMMANDS = [name for name in record.COMMANDS if name not in record.SLOW_COMMANDS]
#: Most rows of an arm in the population bounds with moments of order 2 (quick) and of order 4 (sharp).
MOST_ROWS = {2: 125, 4: 12}
#: A conditional moment of order r on n rows, in units of its standard deviation, is a sum of terms up to n^r: a
#: convolution of polynomials whose coefficients add up to 0 cancels a factor n per order. Processors round these sums
#: differently (order of the terms, fused multiply-add). 64 covers the number of roundings and the division by what the
#: variance leaves; the OpenBLAS kernels of six processors differ by about 1.
POPULATION_RTOL = 64 * 2.0**-53 * max(rows**order for order, rows in MOST_ROWS.items())


def split(quick: Any, slow: Any) -> list[Any]:
    """Return parameters of which the second part runs in the long tests only."""
    return [*quick, *(pytest.param(value, marks=pytest.mark.long) for value in slow)]


def compare(recorded: Any, computed: Any) -> None:
    same_machine = record.read_golden("machine") == describe_machine()
    differences = find_differences(recorded, computed, same_machine)
    assert not differences, "\n".join([f"{len(differences)} differences:", *differences[:12]])


@pytest.mark.parametrize("name", split(QUICK_STUDIES, record.SLOW_STUDIES))
def test_trials(name: str) -> None:
    compare(record.read_golden("trials")[name], record.run_trials(name, record.read_streams(name)))


def test_trials_on_rewards_of_a_file() -> None:
    compare(record.read_golden("trials")["rewards"], record.run_rewards(record.read_streams("rewards")))


@pytest.mark.parametrize("n_jobs", [1, 2])
def test_early_stopping_with_any_number_of_workers(n_jobs: int) -> None:
    compare(record.read_golden("trials")["stopped"], record.run_stopped(n_jobs))


def test_ledgers() -> None:
    compare(record.read_golden("ledgers"), record.record_ledgers(record.read_golden("trials")))


def test_bounds() -> None:
    computed = record.record_bounds()
    with np.load(record.BOUNDS_FILE) as recorded:
        assert set(recorded.files) == set(computed)
        assert sum(recorded[name].size for name in recorded.files) >= 10_000
        for name in computed:
            rtol = POPULATION_RTOL if name.startswith("population") else 1e-12
            np.testing.assert_allclose(computed[name], recorded[name], rtol=rtol, atol=1e-14, err_msg=name)


def test_budgets() -> None:
    compare(record.read_golden("budgets"), record.record_budgets())


def test_solutions() -> None:
    compare(record.read_golden("solutions"), record.record_solutions())


def test_verdicts() -> None:
    compare(record.read_golden("verdicts"), record.record_verdicts())


@pytest.mark.parametrize("seed", record.TABLES)
def test_purchases(seed: int) -> None:
    compare(record.read_golden("purchases")[f"table {seed}"], record.record_purchase(seed))


@pytest.mark.parametrize("name", split(QUICK_COMMANDS, record.SLOW_COMMANDS))
def test_numbers_of_json_outputs(name: str) -> None:
    compare(record.read_golden("outputs")[name], record.record_output(name))


def test_other_seeds_are_noticed() -> None:
    """The planted error: another stream changes every digest of trials."""
    cells = record.read_golden("trials")["bernoulli"]
    computed = record.run_trials("bernoulli", [cell["stream"] + 1 for cell in cells])
    for old, new in zip(cells, computed, strict=True):
        assert find_differences(old["blocks"], new["blocks"], same_machine=False)


def test_a_small_change_of_a_number_is_noticed() -> None:
    """The planted error: a change of one part in 10,000 in each kind of file."""
    for name in ("solutions", "outputs"):
        recorded = record.read_golden(name)
        assert find_differences(recorded, _scaled(recorded, 1.0001), same_machine=False)
        assert not find_differences(recorded, _scaled(recorded, 1.0), same_machine=True)


def _scaled(tree: Any, factor: float) -> Any:
    if isinstance(tree, dict):
        return {key: _scaled(value, factor) for key, value in tree.items()}
    if isinstance(tree, list):
        return [_scaled(value, factor) for value in tree]
    return tree * factor if isinstance(tree, float) else tree


def test_every_strategy_mode_and_score_is_covered() -> None:
    assert not record.list_uncovered()


def test_files_are_small() -> None:
    files = [file for file in Path(record.HERE).iterdir() if file.suffix in (".json", ".npz")]
    assert {file.stem for file in files} == {*record.JSON_FILES, "machine", "bounds"}
    assert sum(file.stat().st_size for file in files) < MAX_BYTES
