"""Summarise the runs of the benchmark: means by kind, paired differences, and the targets."""

from __future__ import annotations

import numpy as np

from benchmarks.practice.methods import DEFAULTS, METHODS, SINGLE
from benchmarks.practice.situations import BUDGETS, KINDS

#: What is kept of a run.
COLUMNS = (
    "accuracy",
    "known",
    "f1",
    "called",
    "spent",
    "seconds",
    "covered",
    "covered_truth",
    "excludes",
    "lost",
    "inside",
    "covered_hidden",
)

#: Runs by table, kind, seed and method.
Runs = dict[tuple[str, str, int, str], dict[str, float]]

#: Draws of the bootstrap over tables.
DRAWS = 500

RANDOM = "random candidate"

#: Kinds over which targets are averaged, and kinds with a hidden class as large as a known one or larger.
LARGE_KINDS = ("full", "very large")


def collect(runs: Runs, column: str) -> dict[tuple[str, str, int], dict[str, float]]:
    """Arrange one number of the runs by situation and method, with the mean over single candidates."""
    table: dict[tuple[str, str, int], dict[str, float]] = {}
    for (name, kind, seed, method), numbers in runs.items():
        table.setdefault((name, kind, seed), {})[method] = numbers[column]
    for numbers in table.values():
        singles = [value for method, value in numbers.items() if method.startswith(SINGLE)]
        if singles:
            numbers[RANDOM] = float(np.mean(singles))
    return table


def best_candidates(table: dict[tuple[str, str, int], dict[str, float]]) -> dict[tuple[str, str, int], float]:
    """Return the accuracy of the candidate that is best by its mean over the seeds, which no user knows."""
    best = {}
    for name, kind in {key[:2] for key in table}:
        keys = [key for key in table if key[:2] == (name, kind)]
        singles = {m for key in keys for m in table[key] if m.startswith(SINGLE)}
        if singles and all(singles <= set(table[key]) for key in keys):
            winner = max(sorted(singles), key=lambda m: float(np.mean([table[key][m] for key in keys])))
            best.update({key: table[key][winner] for key in keys})
    return best


def mean_with_error(values: dict[tuple[str, str, int], float]) -> tuple[float, float]:
    """Return the mean in points, and its standard error by bootstrap over tables."""
    by_table: dict[str, list[float]] = {}
    for key, value in values.items():
        if np.isfinite(value):
            by_table.setdefault(key[0], []).append(100.0 * value)
    if not by_table:
        return np.nan, np.nan
    sums = np.array([[sum(v), len(v)] for v in by_table.values()])
    drawn = np.random.default_rng(0).integers(0, len(sums), (DRAWS, len(sums)))
    totals = sums[drawn].sum(axis=1)
    return float(sums[:, 0].sum() / sums[:, 1].sum()), float((totals[:, 0] / totals[:, 1]).std(ddof=1))


def render(runs: Runs) -> str:
    """Return all tables as Markdown."""
    if not runs:
        return "no run is finished\n"
    accuracy = collect(runs, "accuracy")
    methods = [m for m in (*METHODS, RANDOM) if any(m in numbers for numbers in accuracy.values())]
    kinds = [kind for kind in KINDS if any(key[1] == kind for key in accuracy)]
    seeds = sorted({key[2] for key in accuracy})
    out = [f"{len({key[0] for key in accuracy})} tables, seeds {seeds[0]} to {seeds[-1]}, {len(accuracy)} situations"]
    for title, column in (
        ("Accuracy in percent", "accuracy"),
        ("F1 of the hidden class in percent", "f1"),
        ("Accuracy of the best known label on known rows in percent", "known"),
        ("Rows called hidden in percent", "called"),
    ):
        out += ["", title, "", *_by_kind(collect(runs, column), methods, kinds)]
    out += [
        "",
        "Defaults less the method, points of accuracy and standard error",
        "",
        *_differences(accuracy, methods, kinds),
    ]
    out += ["", *_targets(accuracy, methods)]
    out += ["", *_checks(runs, kinds)]
    seconds = collect(runs, "seconds")
    times = [f"{m} {np.median([n[m] for n in seconds.values() if m in n]):.2f}" for m in methods if m != RANDOM]
    out += ["", f"Processor time in seconds, median: {', '.join(times)}"]
    return "\n".join(out) + "\n"


def _checks(runs: Runs, kinds: list[str]) -> list[str]:
    """Return the coverage of the report's intervals, and what it excludes, by kind."""
    lines = [
        f"| report of the defaults, percent of runs | {' | '.join(kinds)} | all |",
        "|---" * (len(kinds) + 2) + "|",
    ]
    for title, column in (
        ("interval of the accuracy on accepted rows contains the test figure", "covered"),
        ("the same, the test figure taken as exact", "inside"),
        ("interval of the truth contains it", "covered_truth"),
        ("interval of the share called hidden contains that of the test rows", "covered_hidden"),
        ("no class as large as a known one", "excludes"),
        ("the model has fewer rows than the selected set", "lost"),
        ("part of the budget that is spent", "spent"),
    ):
        values = {key[:3]: numbers[column] for key, numbers in runs.items() if key[3] == DEFAULTS}
        cells = [mean_with_error({k: v for k, v in values.items() if k[1] == kind})[0] for kind in kinds]
        numbers = [*cells, mean_with_error(values)[0]]
        lines.append(f"| {title} | {' | '.join(f'{number:.1f}' for number in numbers)} |")
    count = sum(np.isfinite(n["covered"]) for key, n in runs.items() if key[3] == DEFAULTS)
    return [*lines, "", f"{count} reports of the defaults were checked."]


def _by_kind(table: dict[tuple[str, str, int], dict[str, float]], methods: list[str], kinds: list[str]) -> list[str]:
    lines = [f"| method | {' | '.join(kinds)} |", "|---" * (len(kinds) + 1) + "|"]
    for method in methods:
        cells = [
            mean_with_error({key: n[method] for key, n in table.items() if key[1] == kind and method in n})[0]
            for kind in kinds
        ]
        lines.append(f"| {method} | {' | '.join('-' if np.isnan(cell) else f'{cell:.1f}' for cell in cells)} |")
    return lines


def _differences(
    table: dict[tuple[str, str, int], dict[str, float]], methods: list[str], kinds: list[str]
) -> list[str]:
    lines = [f"| method | {' | '.join(kinds)} | all |", "|---" * (len(kinds) + 2) + "|"]
    for method in methods:
        if method == DEFAULTS:
            continue
        apart = {key: n[DEFAULTS] - n[method] for key, n in table.items() if method in n and DEFAULTS in n}
        cells = [mean_with_error({k: v for k, v in apart.items() if k[1] == kind}) for kind in kinds]
        text = [f"{mean:+.1f} ({error:.1f})" for mean, error in [*cells, mean_with_error(apart)]]
        lines.append(f"| {method} | {' | '.join(text)} |")
    return lines


def _targets(table: dict[tuple[str, str, int], dict[str, float]], methods: list[str]) -> list[str]:
    """Return how often the defaults are at least as good, by table and kind, and the regret by budget."""
    lines = []
    for kinds in (("full",), LARGE_KINDS):
        cells: dict[str, list[float]] = {}
        for name in sorted({key[0] for key in table}):
            for kind in kinds:
                keys = [key for key in table if key[:2] == (name, kind)]
                means = {
                    m: float(np.mean([table[key][m] for key in keys]))
                    for m in methods
                    if keys and all(m in table[key] for key in keys)
                }
                if DEFAULTS not in means:
                    continue
                for method, mean in means.items():
                    cells.setdefault(method, []).append(means[DEFAULTS] - mean)
        if len(cells) > 1:
            rivals = [np.array(v) for m, v in cells.items() if m not in (DEFAULTS, RANDOM)]
            share = {m: float(np.mean(np.array(v) >= 0.0)) for m, v in cells.items() if m != DEFAULTS}
            lines.append(
                f"Kinds {', '.join(kinds)}: tables on which the defaults are at least as accurate as "
                + ", ".join(f"{m} {v:.0%}" for m, v in share.items())
                + (f"; as all of them {np.mean(np.min(rivals, axis=0) >= 0.0):.0%}" if rivals else "")
            )
    best = best_candidates(table)
    for kinds in (("full",), LARGE_KINDS):
        regret = []
        for place, budget in enumerate(BUDGETS):
            apart = {
                k: v - table[k][DEFAULTS]
                for k, v in best.items()
                if k[1] in kinds and k[2] % 3 == place and DEFAULTS in table[k]
            }
            mean, error = mean_with_error(apart)
            regret.append(f"{float(budget):.0%} budget {mean:.1f} ({error:.1f})")
        lines.append(f"Kinds {', '.join(kinds)}: points behind the best candidate: {', '.join(regret)}")
    return lines
