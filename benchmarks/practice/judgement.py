"""What the runs say: the table, paired tests, and the numbers that the defaults are judged by."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from scipy import stats

from benchmarks.practice.situations import Setting
from benchmarks.practice.tables import FloatArray
from benchmarks.practice.ways import ABLATIONS, NAIVE, ONE

#: Accuracy by setting, seed and way.
Runs = dict[tuple[str, int, str], float]

#: Level of the paired tests.
LEVEL = 0.01


def values(setting: Setting, way: str, runs: Runs, seeds: Sequence[int]) -> FloatArray:
    """Accuracies of one way, seed by seed; "random candidate" is the mean over the candidates."""
    if way == "random candidate":
        return np.mean([values(setting, one, runs, seeds) for one in candidates(setting, runs)], axis=0)
    if way == "best candidate":
        rivals = [values(setting, one, runs, seeds) for one in candidates(setting, runs)]
        return max(rivals, key=lambda one: float(one.mean()))
    return np.array([runs[setting.name, seed, way] for seed in seeds])


def candidates(setting: Setting, runs: Runs) -> list[str]:
    """Ways that put all money on one candidate."""
    return sorted({way for name, _, way in runs if name == setting.name and way.startswith(ONE)})


def complete(setting: Setting, runs: Runs) -> list[int]:
    """Seeds of which all ways but the ablations are there."""
    needed = ["defaults", "paper", *NAIVE, *candidates(setting, runs)]
    seeds = sorted({seed for name, seed, _ in runs if name == setting.name})
    return [seed for seed in seeds if all((setting.name, seed, way) in runs for way in needed)]


def best_naive(setting: Setting, runs: Runs, seeds: Sequence[int]) -> FloatArray:
    """The naive way, the random candidate among them, that is best by its mean."""
    rivals = [values(setting, way, runs, seeds) for way in ("random candidate", *NAIVE)]
    return max(rivals, key=lambda one: float(one.mean()))


def worse(mine: FloatArray, theirs: FloatArray) -> bool:
    """Whether the defaults are significantly worse, by a paired t-test."""
    apart = mine - theirs
    if len(apart) < 3 or apart.std() == 0.0:
        return False
    return bool(stats.ttest_rel(mine, theirs, alternative="less").pvalue < LEVEL)


COLUMNS = ("defaults", "paper", "random candidate", "best candidate", *NAIVE)


def table(settings: Sequence[Setting], runs: Runs) -> str:
    """Mean accuracy in percent; - where the defaults are significantly worse than the way, + where better."""
    lines = [["setting", "seeds", *COLUMNS], ["---"] * (len(COLUMNS) + 2)]
    for setting in settings:
        seeds = complete(setting, runs)
        if not seeds:
            continue
        mine = values(setting, "defaults", runs, seeds)
        cells = []
        for way in COLUMNS:
            theirs = values(setting, way, runs, seeds)
            mark = " -" if worse(mine, theirs) else " +" if worse(theirs, mine) else ""
            cells.append(f"{100 * theirs.mean():.1f}{mark}")
        lines.append([setting.name, str(len(seeds)), *cells])
    done = [setting for setting in settings if complete(setting, runs)]
    means = [100 * np.mean([values(s, way, runs, complete(s, runs)).mean() for s in done]) for way in COLUMNS]
    lines.append(["mean", "", *(f"{one:.1f}" for one in means)])
    return "\n".join(f"| {' | '.join(cells)} |" for cells in lines) + "\n"


def bars(settings: Sequence[Setting], runs: Runs) -> str:
    """The numbers that the defaults are judged by."""
    done = [(setting, complete(setting, runs)) for setting in settings if complete(setting, runs)]
    mine = [values(s, "defaults", runs, seeds) for s, seeds in done]
    chance = [values(s, "random candidate", runs, seeds) for s, seeds in done]
    naive = [best_naive(s, runs, seeds) for s, seeds in done]
    best = [values(s, "best candidate", runs, seeds) for s, seeds in done]
    regret = {
        ratio: [float((b - m).mean()) for (s, _), m, b in zip(done, mine, best, strict=True) if s.ratio == ratio]
        for ratio in sorted({s.ratio for s, _ in done})
    }
    forest = [
        float((m - values(s, "forest, all candidates", runs, seeds)).mean())
        for (s, seeds), m in zip(done, mine, strict=True)
        if s.known == 4
    ]
    wins = np.mean([m.mean() >= c.mean() for m, c in zip(mine, chance, strict=True)])
    lost = [s.name for (s, _), m, c in zip(done, mine, chance, strict=True) if worse(m, c)]
    lines = [
        f"at least as accurate as a random candidate: {wins:.0%} of {len(done)} settings, significantly worse in "
        f"{len(lost)}{': ' + '; '.join(lost) if lost else ''}",
        f"at least as accurate as the best naive way: "
        f"{np.mean([m.mean() >= n.mean() for m, n in zip(mine, naive, strict=True)]):.0%}, mean difference "
        f"{100 * np.mean([(m - n).mean() for m, n in zip(mine, naive, strict=True)]):+.2f} points",
        *(
            f"mean regret to the best candidate with a budget of {float(r):.0%}: {100 * np.mean(one):.2f} points"
            for r, one in regret.items()
        ),
    ]
    if forest:
        lines.append(f"four known classes, mean difference to a forest with a threshold: {100 * np.mean(forest):+.2f}")
    for label in ABLATIONS:
        way = f"without: {label}"
        apart = [
            float(np.mean([runs[s.name, seed, way] - runs[s.name, seed, "defaults"] for seed in some]))
            for s, seeds in done
            if (some := [seed for seed in seeds if (s.name, seed, way) in runs])
        ]
        if apart:
            lines.append(f"{way}: {100 * np.mean(apart):+.2f} points in {len(apart)} settings")
    return "\n".join(lines) + "\n"
