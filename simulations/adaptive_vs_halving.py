"""Compare an adaptive strategy with median elimination on the same trials.

The family that favours the adaptive strategy has one rival close to the best arm and K - 2 arms that are clearly worse.
Halving spends 1/T of the budget on all arms in each of its first rounds, the adaptive strategy after its first round
only on the two close ones. The other family has equal gaps. Both strategies see the same pulls, so the comparison is by
discordant trials: one strategy fails, the other does not.

``python -m simulations.adaptive_vs_halving --out DIR`` prints the comparisons and leaves the table (CSV) and the store
of every study in the folder; ``exml plot`` and ``exml report`` draw a store.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import click
import numpy as np

from exml_sim.engine import AtomPool, Budgets, ParametricArms, PoolSpec, Score, StrategySpec
from exml_sim.engine.result import StudyResult
from exml_sim.engine.runner import run
from exml_sim.engine.study import Study

#: Level of each sign test.
ALPHA = 1e-6
STRATEGIES = (StrategySpec("median_elimination"), StrategySpec("top_two"))


def close_rival(arms: int, gap: float = 0.05) -> ParametricArms:
    """Make Bernoulli arms: the best, one rival a gap away, and the rest clearly worse."""
    return ParametricArms(means=(0.4, 0.4 + gap, *[0.8] * (arms - 2)), label=f"close rival, K={arms}")


def equal_gaps(arms: int, gap: float = 0.1) -> ParametricArms:
    """Make Bernoulli arms: the best, and all others equally far away."""
    return ParametricArms(means=(0.4, *[0.4 + gap] * (arms - 1)), label=f"equal gaps, K={arms}")


def close_rival_features(arms: int, rows: int = 300, seed: int = 0) -> AtomPool:
    """Make features in the affine regime: two candidates that separate the labels well, the rest noise."""
    rng = np.random.default_rng(seed)
    y = np.repeat([-1.0, 1.0], rows // 2)
    values = [strength * y + rng.normal(size=y.size) for strength in (1.5, 1.3, *[0.0] * (arms - 2))]
    return AtomPool(
        values=tuple(tuple(column.tolist()) for column in values),
        y=tuple(y.tolist()),
        kernel="gaussian",
        label=f"close rival, features, K={arms}",
    )


def make_study(name: str, pools: tuple[PoolSpec, ...], per_arm: tuple[int, ...], trials: int, seed: int = 0) -> Study:
    """Make a study of both strategies on some pools, with given pulls per arm."""
    scores = (Score(score="ball", theta=0.3, ball=0.4),) if any(isinstance(pool, AtomPool) for pool in pools) else ()
    budgets = Budgets(per_arm=tuple(str(pulls) for pulls in per_arm))
    return Study(
        name=name, pools=pools, scores=scores, strategies=STRATEGIES, budgets=budgets, trials=trials, seed=seed
    )


def studies(trials: int, feature_trials: int, seed: int = 0) -> list[Study]:
    """Make the studies of the three families."""
    rivals, equal = tuple(close_rival(K) for K in (8, 16, 32)), tuple(equal_gaps(K) for K in (8, 16))
    return [
        make_study("close-rival", rivals, (50, 100, 200), trials, seed),
        make_study("equal-gaps", equal, (50, 200), trials, seed),
        make_study("close-rival-features", (close_rival_features(16),), (50, 100, 200), feature_trials, seed),
    ]


def comparisons(result: StudyResult) -> Iterator[str]:
    """Yield one line per pool and budget: both failure rates, the exact sign test, and the better strategy."""
    cells = result.summary()
    for halving, adaptive in zip(cells[::2], cells[1::2], strict=True):
        pair = result.compare(halving.cell, adaptive.cell)
        better = "top two better" if pair.only_first > pair.only_second else "median elimination better"
        yield (
            f"{halving.pool}, B={halving.budget}: median elimination fails {halving.failure_rate:.4f}, top two "
            f"{adaptive.failure_rate:.4f}, sign test p={pair.p_value:.2g}: "
            f"{better if pair.p_value < ALPHA else 'undecided'}"
        )


@click.command()
@click.option("--out", default="out/adaptive_vs_halving", type=click.Path(path_type=Path, file_okay=False))
@click.option("--trials", default=20_000, show_default=True, help="Trials per cell of Bernoulli arms.")
@click.option("--feature-trials", default=2_000, show_default=True, help="Trials per cell of feature arms.")
@click.option("--seed", default=0, show_default=True, help="Root seed.")
def main(out: Path, trials: int, feature_trials: int, seed: int) -> None:
    """Compare top two with median elimination on the same trials."""
    out.mkdir(parents=True, exist_ok=True)
    for study in studies(trials, feature_trials, seed):
        with run(study, store=out / f"{study.name}.sqlite") as result:
            result.to_csv(out / f"{study.name}.csv")
            for line in comparisons(result):
                click.echo(line)


if __name__ == "__main__":
    main()
