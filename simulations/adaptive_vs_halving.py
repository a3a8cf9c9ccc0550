"""Does an adaptive rule find the best arm more often than median elimination? A paired study.

The family that favours it has one rival close to the best arm and K - 2 arms that are clearly worse:
halving spends a T-th of the budget on all of them in each of the first rounds, the adaptive rule after its
opening only on the two that matter. The family that does not is equal gaps, where there is no pair to
concentrate on. Both rules see the same pulls (the same seeds), so the comparison is by discordant trials:
one rule fails, the other does not.

Run `python -m simulations.adaptive_vs_halving --out DIR` for the table and the figure.
"""

from __future__ import annotations

import argparse
import csv
import sys
from collections.abc import Iterable, Sequence
from dataclasses import asdict, dataclass, fields
from pathlib import Path

import numpy as np
from scipy.stats import binomtest

from exml_sim.exploration.known import KnownPool
from exml_sim.exploration.pool import Pool
from exml_sim.exploration.rows import FeaturePool
from exml_sim.population import Population
from exml_sim.strategies import MedianElimination, Strategy, TopTwo


@dataclass(frozen=True, slots=True)
class Paired:
    """Outcome of one cell.

    Attributes
    ----------
    family, arms, budget, trials
        The cell.
    halving_failures, adaptive_failures
        Trials in which each rule missed the best set.
    only_halving, only_adaptive
        Discordant trials: those that only one of the rules missed.
    p_value
        Two-sided exact sign test (McNemar) of "both rules fail equally often" on the discordant trials.
    """

    family: str
    arms: int
    budget: int
    trials: int
    halving_failures: int
    adaptive_failures: int
    only_halving: int
    only_adaptive: int
    p_value: float

    @property
    def verdict(self) -> str:
        """Which rule fails less often, or "undecided", with an error probability of one in a million."""
        if self.p_value >= 1e-6:
            return "undecided"
        return "top two better" if self.only_halving > self.only_adaptive else "median elimination better"


def close_rival(n_arms: int, gap: float = 0.05) -> KnownPool:
    """Bernoulli arms: the best, one rival a gap away, and the rest clearly worse."""
    return KnownPool.bernoulli([0.4, 0.4 + gap] + [0.8] * (n_arms - 2))


def equal_gaps(n_arms: int, gap: float = 0.1) -> KnownPool:
    """Bernoulli arms: the best, and all others equally far away."""
    return KnownPool.bernoulli([0.4] + [0.4 + gap] * (n_arms - 1))


def close_rival_features(n_arms: int, n_rows: int = 300, seed: int = 0) -> FeaturePool:
    """Features in the affine regime: two candidates that separate the labels well, the rest noise."""
    rng = np.random.default_rng(seed)
    y = np.repeat([-1, 1], n_rows // 2)
    strength = [1.5, 1.3] + [0.0] * (n_arms - 2)
    candidates = {f"x{i}": s * y + rng.normal(size=y.size) for i, s in enumerate(strength)}
    return FeaturePool(Population(rng.normal(size=(y.size, 1)), y, candidates), theta=0.3, ball=0.4)


def compare(
    family: str,
    pool: Pool,
    best: Sequence[int],
    budget: int,
    trials: int,
    *,
    seed: int = 0,
    halving: Strategy | None = None,
    adaptive: Strategy | None = None,
) -> Paired:
    """Run both rules on the same trials and count."""
    rules = (halving or MedianElimination(), adaptive or TopTwo())
    first, second = (pool.explore_many(rule, budget, trials, seed=seed).failures(best) for rule in rules)
    only_first, only_second = int((first & ~second).sum()), int((second & ~first).sum())
    discordant = only_first + only_second
    p_value = float(binomtest(only_first, discordant, 0.5).pvalue) if discordant else 1.0
    return Paired(
        family,
        pool.n_arms,
        budget,
        trials,
        int(first.sum()),
        int(second.sum()),
        only_first,
        only_second,
        p_value,
    )


def study(trials: int, feature_trials: int, seed: int = 0) -> Iterable[Paired]:
    """All cells, one by one."""
    for n_arms in (8, 16, 32):
        known: KnownPool = close_rival(n_arms)
        for budget in (50 * n_arms, 100 * n_arms, 200 * n_arms):
            yield compare("close rival", known, known.best_set(), budget, trials, seed=seed)
    for n_arms in (8, 16):
        known = equal_gaps(n_arms)
        for budget in (50 * n_arms, 200 * n_arms):
            yield compare("equal gaps", known, known.best_set(), budget, trials, seed=seed)
    features = close_rival_features(16)
    for budget in (800, 1600, 3200):
        yield compare("close rival, features", features, features.best_set(), budget, feature_trials, seed=seed)


def interval(failures: int, trials: int) -> tuple[float, float]:
    """Two-sided 95 % Clopper-Pearson interval of a rate."""
    found = binomtest(failures, trials).proportion_ci(0.95)
    return float(found.low), float(found.high)


def save_table(cells: Sequence[Paired], path: Path) -> None:
    """Write one line per cell."""
    with path.open("w", newline="") as out:
        writer = csv.DictWriter(out, [field.name for field in fields(Paired)])
        writer.writeheader()
        writer.writerows(asdict(cell) for cell in cells)


def save_figure(cells: Sequence[Paired], path: Path) -> None:
    """Draw failure rates of both rules, one panel per family and number of arms."""
    import matplotlib

    matplotlib.use("Agg")
    import matplotlib.pyplot as plt

    panels = list(dict.fromkeys((cell.family, cell.arms) for cell in cells))
    columns = min(3, len(panels))
    lines = -(-len(panels) // columns)
    figure, axes = plt.subplots(
        lines, columns, figsize=(3.4 * columns, 2.8 * lines), sharey=True, squeeze=False, layout="constrained"
    )
    for ax in axes.flat[len(panels) :]:
        ax.set_visible(False)
    for ax, (family, arms) in zip(axes.flat, panels, strict=False):
        chosen = [cell for cell in cells if (cell.family, cell.arms) == (family, arms)]
        budgets = [cell.budget for cell in chosen]
        for label, field in (("median elimination", "halving_failures"), ("top two", "adaptive_failures")):
            rates = [getattr(cell, field) / cell.trials for cell in chosen]
            bands = [interval(getattr(cell, field), cell.trials) for cell in chosen]
            errors = np.abs(np.array(bands).T - np.array(rates))
            ax.errorbar(budgets, rates, errors, label=label, marker="o", capsize=2)
        ax.set_yscale("log")
        ax.set_xscale("log")
        ax.set_xticks(budgets, [str(budget) for budget in budgets])
        ax.minorticks_off()
        ax.set_title(f"{family}, K = {arms}", fontsize="medium")
        ax.set_xlabel("budget")
    for line in axes:
        line[0].set_ylabel("failure rate (95 %)")
    axes[0][0].legend(fontsize="small")
    figure.savefig(path, dpi=150)
    plt.close(figure)


def main(arguments: Sequence[str] | None = None) -> None:
    """Run the study and leave its table and figure."""
    parser = argparse.ArgumentParser(description="Top two against median elimination on the same trials.")
    parser.add_argument("--out", type=Path, default=Path("out/adaptive_vs_halving"))
    parser.add_argument("--trials", type=int, default=20_000, help="trials per cell of Bernoulli arms")
    parser.add_argument("--feature-trials", type=int, default=2_000, help="trials per cell of feature arms")
    parser.add_argument("--seed", type=int, default=0)
    options = parser.parse_args(arguments)
    options.out.mkdir(parents=True, exist_ok=True)
    cells = []
    for cell in study(options.trials, options.feature_trials, options.seed):
        cells.append(cell)
        sys.stdout.write(
            f"{cell.family}, K={cell.arms}, B={cell.budget}: median elimination fails "
            f"{cell.halving_failures / cell.trials:.4f}, top two {cell.adaptive_failures / cell.trials:.4f}, "
            f"sign test p={cell.p_value:.2g}: {cell.verdict}\n"
        )
    save_table(cells, options.out / "summary.csv")
    save_figure(cells, options.out / "failure_rates.png")


if __name__ == "__main__":
    main()
