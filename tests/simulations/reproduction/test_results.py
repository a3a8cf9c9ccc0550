"""Which theta counts, bold print, recall, and the verdicts: each against a hand-made case, with planted errors."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest
from scipy import stats

from simulations.reproduction import _outputs as statements
from simulations.reproduction import _results as tables
from simulations.reproduction._results import (
    AUG_ME,
    CSD_ME,
    CSD_UA,
    SL,
    TABLE_1,
    Results,
    TableCell,
    mark_bold,
    p_above,
)
from simulations.reproduction._sources import GOOD, POOR

VIEWS = (*GOOD, *POOR)
LEVEL = {"fac": 0.93, "pix": 0.92, "kar": 0.87, "zer": 0.74, "fou": 0.69, "mor": 0.57}


BUDGETS = (10, 20, 30)
PRINTED = tables.read_printed(1)


def run(observed, strategy, budget, theta, augmented, cascaded, selected="a", pulls=None) -> dict:
    kind = {"observed": observed, "strategy": strategy, "alignment": "sample" if strategy else "", "budget": budget}
    counts = {"rows": 10, "rescued": 0, "lost": 0, "pulls": pulls or {"a": 6, "b": 4}}
    accuracies = {"augmented": augmented, "cascaded": cascaded}
    return kind | counts | accuracies | {"theta": theta, "cascade_theta": theta, "selected": selected}


def case(observed, attainable) -> dict:
    initial = {"initial_theta": 0.3, "initial": 0.6, "initial_accepted": 0.5}
    return {"observed": observed, "attainable": attainable, **initial}


def record(number: int, tried: list[tuple[float, float]], selected: str = "a") -> dict:
    """SL and csd/ME with the given accuracies per theta."""
    runs = [run("seen", "ME", 10, theta, 0.5, value, selected) for theta, value in tried]
    runs += [run("seen", "", 0, theta, value, value) for theta, value in tried]
    return {"configuration": number, "cases": [case("seen", {"a": 0.9, "b": 0.8, "c": 0.7})], "runs": runs}


def test_choice_by_test_labels_has_two_readings():
    records = [record(0, [(0.1, 0.9), (0.2, 0.8)]), record(1, [(0.1, 0.5), (0.2, 0.7)])]
    for method in (SL, CSD_ME):
        each, shared = (Results(records, name).cell("seen", method, 10) for name in ("each", "one"))
        assert each.accuracy.tolist() == pytest.approx([90.0, 70.0])
        assert each.thetas.tolist() == [0.1, 0.2]
        assert shared.accuracy.tolist() == pytest.approx([80.0, 70.0])
        assert shared.thetas.tolist() == [0.2, 0.2]
    with pytest.raises(ValueError, match="thetas_by must be one of each, one"):
        Results(records, "best")


def cell_of(values) -> TableCell:
    return TableCell(np.array(values, dtype=np.float64), np.zeros(len(values)), pd.DataFrame())


def test_the_paired_test_is_scipys():
    rng = np.random.default_rng(0)
    a, b = rng.normal(1.0, 1.0, 20), rng.normal(0.5, 1.0, 20)
    assert p_above(a, b) == pytest.approx(stats.ttest_rel(a, b, alternative="greater").pvalue)
    assert p_above(a, a) == 1.0
    assert p_above(a + 1.0, a) == 0.0
    assert p_above(a + 1.0, a, margin=1.5) == 1.0


def test_bold_print_marks_the_best_and_what_is_not_significantly_below():
    rng = np.random.default_rng(1)
    base = rng.normal(80.0, 5.0, 50)
    best, equal, worse = base + 1.0, base + 1.0 + rng.normal(0.0, 3.0, 50) * 0.1, base - 5.0
    cells = [cell_of(worse), cell_of(best), cell_of(equal - equal.mean() + best.mean() - 1e-6)]
    assert mark_bold(cells) == [False, True, True]
    assert mark_bold([cell_of(best), cell_of(best), cell_of(best)]) == [False, False, False]


def test_recall_counts_the_top_two_with_ties():
    for selected, expected in (("a", 1), ("b", 1), ("c", 0)):
        results = Results([record(0, [(0.1, 0.9)], selected)])
        assert results.recall("seen", results.cell("seen", CSD_ME, 10)) == expected
    tied = record(0, [(0.1, 0.9)], "c")
    tied["cases"] = [case("seen", {"a": 0.9, "b": 0.8, "c": 0.8})]
    assert Results([tied]).recall("seen", Results([tied]).cell("seen", CSD_ME, 10)) == 1


def table_1(shift: dict[str, float] | None = None, n: int = 20) -> list[dict]:
    """Make configurations whose means follow the paper's table, except for planted shifts of one method in points."""
    rng = np.random.default_rng(5)
    shift = shift or {}
    records = []
    for number in range(n):
        cases, runs = [], []
        for view in VIEWS:
            noise = rng.normal(0.0, 0.002, size=4)
            others = [name for name in VIEWS if name != view]
            sl = 0.0
            for budget in BUDGETS:
                means = [PRINTED.loc[(view, budget, method.name), "mean"] / 100.0 for method in TABLE_1]
                values = {
                    method.name: means[k] + noise[k] + shift.get(method.name, 0.0) / 100.0
                    for k, method in enumerate(TABLE_1)
                }
                sl = values["SL"]
                chosen = (others[0], dict.fromkeys(others, 5))
                runs.append(run(view, "ME", budget, 0.2, values[AUG_ME.name], values[CSD_ME.name], *chosen))
                runs.append(run(view, "UA", budget, 0.2, 0.5, values[CSD_UA.name], *chosen))
            runs.append(run(view, "", 0, 0.2, sl, sl))
            cases.append(case(view, {name: LEVEL[name] for name in others}))
        records.append({"configuration": number, "cases": cases, "runs": runs})
    return records


def verdicts(records: list[dict]) -> dict[str, bool]:
    checked = statements.check_table_1(Results(records, "each"), BUDGETS)
    return {statement.statement: statement.reproduced for statement in checked}


def test_the_papers_own_table_reproduces_all_of_its_statements():
    assert all(verdicts(table_1()).values())


@pytest.mark.parametrize(
    ("planted", "caught"),
    [
        ({"csd/ME": -15.0}, "ExML is at least as good as SL on poor views."),
        ({"csd/ME": -3.0}, "Median elimination is at least as good as uniform allocation."),
        ({"csd/ME": -3.0}, "The cascade is close to the best of both worlds."),
        ({"SL": 30.0}, "On poor views the augmented model beats SL."),
        ({"csd/UA": -25.0}, "Even with uniform allocation the cascade can beat the augmented model alone."),
        ({"aug/ME": 25.0}, "On good views SL does well and nothing need be explored."),
    ],
)
def test_a_planted_error_is_caught(planted, caught):
    assert not verdicts(table_1(planted))[caught]


def test_selections_at_random_are_caught():
    records = table_1()
    for one_record in records:
        worst = {part["observed"]: min(part["attainable"], key=part["attainable"].get) for part in one_record["cases"]}
        for part in one_record["runs"]:
            part["selected"] = worst[part["observed"]]
    assert not verdicts(records)["On poor views one of the two best candidates is selected."]


def test_tables_show_both_numbers_and_bold_print():
    table = tables.make_table(Results(table_1(), "each"), BUDGETS, TABLE_1, 1)
    text = tables.write_markdown(table)
    assert len(text.splitlines()) == 2 + 18
    first = text.splitlines()[2]
    assert "(93.39)" in first
    assert first.count("**") == 2  # SL alone, as in the paper
    data = tables.write_csv(table).splitlines()
    assert len(data) == 1 + 18 * 4
    assert data[0].startswith("feature,budget,method,configurations,mean,std,bold,theta,recall,paper_mean")


def test_printed_bold_means_are_the_largest():
    """The transcription: the paper's bold cells include the row's largest mean, here checked on the means alone."""
    winners = [tables.read_printed(number)["mean"].groupby(["feature", "budget"]).idxmax() for number in (1, 2)]
    assert len(winners[0]) == len(winners[1]) == 18
    sl_best = {key[:2] for key in winners[0] if key[2] == "SL"}
    assert sl_best == {(view, budget) for view in GOOD for budget in BUDGETS} - {("kar", 30)}
    ba_me = {key[:2] for key in winners[1] if key[2] == "BA/ME"}
    assert {(view, budget) for view in POOR for budget in BUDGETS} <= ba_me


def test_further_tables_show_the_cascade_and_the_selection():
    results = Results(table_1(), "each")
    selection = tables.write_selection(results, BUDGETS).splitlines()
    assert len(selection) == 2 + 18
    # The first candidate in the list is the best one, except behind fac and pix themselves.
    assert selection[-1] == "| mor | 30 % | 20 of 20 | 93.0 | 87.0 | 93.0 | 20 of 20 |"
    cascades = tables.write_cascade(results, BUDGETS).splitlines()
    assert len(cascades) == 2 + 18
    assert "| 0 of 20 |" in cascades[2]


def test_verdicts_in_words_name_what_does_not_hold():
    checked = statements.check_table_1(Results(table_1({"csd/ME": -15.0}), "each"), BUDGETS)
    text = statements.write_verdicts(checked)
    assert "**not reproduced**" in text
    assert "What does not hold:" in text
    assert any(not statement["reproduced"] for statement in statements.list_verdicts(checked))
