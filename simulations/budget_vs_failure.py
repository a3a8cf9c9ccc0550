"""Budget against failure rate: how often a strategy misses the best candidate, and what the bounds say about it.

The pool is Section 5.1's population with eight candidates: the missing third coordinate (90 degrees) and seven that
mostly repeat what is observed (0 to 12 degrees). Scores are those of the theory, empirical risk minimisation over the
norm ball, in the affine regime, where thousands of trials cost a second; rows are drawn with replacement, as in the
lemmas.
"""

from __future__ import annotations

import csv
import io
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray
from scipy import stats

import theory
from exml_sim import engine
from exml_sim.engine.result import StudyResult
from exml_sim.engine.specs import Budgets, Score, StrategySpec, SyntheticPool
from exml_sim.engine.study import Study
from exml_sim.pool import FeaturePool

if TYPE_CHECKING:
    from matplotlib.axes import Axes

ANGLES = (0, 2, 4, 6, 8, 10, 12, 90)
THETA = 0.1
RADIUS = 0.8
BUDGETS = (24, 32, 48, 64, 96, 128, 192, 256, 384, 512, 768, 1024, 1536, 2048)
STRATEGIES = {"uniform": "uniform_allocation", "median": "median_elimination"}
TITLES = {"uniform": "uniform allocation", "median": "median elimination"}
#: The failure rate at which budgets are compared.
TARGET = 0.05
CONFIDENCE = 0.99


@dataclass(frozen=True, slots=True)
class Cell:
    """One strategy at one budget: how many of the trials missed the best candidate."""

    strategy: str
    budget: int
    trials: int
    failures: int

    @property
    def rate(self) -> float:
        """Observed failure rate."""
        return self.failures / self.trials

    def interval(self) -> tuple[float, float]:
        """Clopper-Pearson interval; with no failure observed the rate is below the upper end, not zero."""
        tail = (1.0 - CONFIDENCE) / 2.0
        low = stats.beta.ppf(tail, self.failures, self.trials - self.failures + 1) if self.failures else 0.0
        full = self.failures == self.trials
        high = 1.0 if full else stats.beta.ppf(1.0 - tail, self.failures + 1, self.trials - self.failures)
        return float(low), float(high)


@dataclass(frozen=True, slots=True)
class Needs:
    """Budgets that bring a strategy's failure probability to the target: by each bound, and in practice."""

    strategy: str
    practice: int | None
    tighter: int
    corrected: int
    paper: int


def make_study(trials: int, *, seed: int = 0, budgets: Sequence[int] = BUDGETS) -> Study:
    """The study as data: both strategies at every budget, on the same random numbers."""
    return Study(
        name="budget against failure",
        pools=(SyntheticPool(per_class=100, angles=ANGLES),),
        scores=(Score(score="ball", theta=THETA, ball=RADIUS),),
        strategies=tuple(StrategySpec(name) for name in STRATEGIES.values()),
        budgets=Budgets(absolute=tuple(str(budget) for budget in budgets)),
        trials=trials,
        seed=seed,
    )


def make_pool() -> FeaturePool:
    """The pool of this study."""
    study = make_study(1)
    pool = study.pool(study.cells()[0])
    assert isinstance(pool, FeaturePool)
    return pool


def read(result: StudyResult) -> list[Cell]:
    """Count the failures of a study's results."""
    short = {name: strategy for strategy, name in STRATEGIES.items()}
    return [Cell(short[one.strategy], int(one.budget), one.trials, one.failures) for one in result.summary()]


def run(
    trials: int,
    *,
    seed: int = 0,
    n_jobs: int = -1,
    budgets: Sequence[int] = BUDGETS,
    store: Path | None = None,
    progress: bool = False,
) -> list[Cell]:
    """Run every strategy at every budget; strategies share their random numbers."""
    study = make_study(trials, seed=seed, budgets=budgets)
    with engine.run(study, store=store, n_jobs=n_jobs, progress=progress) as result:
        return read(result)


def bound(level: str, strategy: str, pool: FeaturePool, budgets: NDArray[Any]) -> NDArray[np.float64]:
    """A bound on the failure probability at the pool's own gaps; NaN below its launch budget."""
    gaps = np.sort(pool.gaps[pool.gaps > 0.0])
    function = getattr(getattr(theory, level), f"delta_fail_{strategy}")
    if level == "tighter":
        options = {"gaps": gaps, "kernel": "nonnegative", "strict": False}
        return np.asarray(function(budgets, len(pool.gaps), None, THETA, RADIUS, **options), dtype=np.float64)
    return np.asarray(function(budgets, len(pool.gaps), gaps[0], THETA, RADIUS, strict=False), dtype=np.float64)


def needs(cells: Sequence[Cell], pool: FeaturePool, strategy: str) -> Needs:
    """Required budgets; practice is the first budget from which on every rate's interval is below the target."""
    held = sorted((c for c in cells if c.strategy == strategy), key=lambda c: c.budget)
    practice = None
    for cell in reversed(held):
        if cell.interval()[1] > TARGET:
            break
        practice = cell.budget
    smallest = {level: _first_below(level, strategy, pool) for level in ("paper", "corrected", "tighter")}
    return Needs(strategy, practice, smallest["tighter"], smallest["corrected"], smallest["paper"])


def _first_below(level: str, strategy: str, pool: FeaturePool) -> int:
    """Smallest multiple of K from which the bound stays at most the target, by bisection."""
    K = len(pool.gaps)

    def holds(k: int) -> bool:
        value = float(bound(level, strategy, pool, np.array([k * K]))[0])
        return bool(value <= TARGET)

    high = 1
    while not holds(high):
        high *= 2
    low = high // 2
    while high - low > 1:
        middle = (low + high) // 2
        low, high = (low, middle) if holds(middle) else (middle, high)
    return high * K


def sentence(found: Sequence[Needs]) -> str:
    """What the study says, in words."""
    lines = []
    for item in found:
        if item.practice is None:
            lines.append(f"{TITLES[item.strategy].capitalize()} did not reach {TARGET:.0%} failures in this study.")
            continue
        lines.append(
            f"To miss the best candidate in at most {TARGET:.0%} of all trials, {TITLES[item.strategy]} needs a "
            f"budget of about {item.practice:,}; the paper's bound asks for {item.paper:,} "
            f"({item.paper / item.practice:,.0f} times as much), the corrected one for {item.corrected:,}, "
            f"ours for {item.tighter:,} ({item.tighter / item.practice:,.0f} times)."
        )
    return "\n".join(lines)


def to_csv(cells: Sequence[Cell], pool: FeaturePool) -> str:
    """The cells with intervals and bounds, one line each."""
    text = io.StringIO()
    levels = ("paper", "corrected", "tighter")
    names = ["strategy", "budget", "trials", "failures", "rate", "low", "high", *(f"bound_{x}" for x in levels)]
    writer = csv.DictWriter(text, names, lineterminator="\n")
    writer.writeheader()
    for cell in cells:
        low, high = cell.interval()
        bounds = {f"bound_{x}": float(bound(x, cell.strategy, pool, np.array([cell.budget]))[0]) for x in levels}
        writer.writerow({**asdict(cell), "rate": cell.rate, "low": low, "high": high, **bounds})
    return text.getvalue()


COLOURS = {"practice": "#000000", "tighter": "#0072B2", "corrected": "#009E73", "paper": "#D55E00"}


def draw(ax: Axes, cells: Sequence[Cell], pool: FeaturePool, strategy: str) -> Axes:
    """Failure rate and bounds against the budget, on logarithmic axes; a bound is drawn only where it is below 1."""
    held = [c for c in cells if c.strategy == strategy]
    seen, unseen = [c for c in held if c.failures], [c for c in held if not c.failures]
    rates = np.array([c.rate for c in seen])
    ends = np.array([c.interval() for c in seen]).reshape(-1, 2)
    ax.errorbar(
        [c.budget for c in seen],
        rates,
        yerr=np.abs(ends.T - rates),
        fmt="o-",
        color=COLOURS["practice"],
        markersize=4,
        capsize=2,
        label=f"observed, {held[0].trials:,} trials each ({CONFIDENCE:.0%} interval)",
    )
    if unseen:
        tops = [c.interval()[1] for c in unseen]
        ax.plot([c.budget for c in unseen], tops, "v", color=COLOURS["practice"], label="no failure seen: upper limit")
    budgets = np.unique(np.geomspace(len(pool.gaps), 3e6, 4000).astype(int))
    for level in ("tighter", "corrected", "paper"):
        values = bound(level, strategy, pool, budgets)
        informative = np.isfinite(values) & (values < 1.0)
        start = budgets[informative][0]
        ax.plot(budgets[informative], values[informative], color=COLOURS[level], label=f"{level} bound")
        ax.axvline(start, color=COLOURS[level], linewidth=0.8, linestyle=":")
        ax.annotate(
            f"vacuous below {start:,}",
            (start, 1.15e-4),
            rotation=90,
            fontsize=7,
            color=COLOURS[level],
            ha="right",
            va="bottom",
        )
    ax.axhline(TARGET, color="#999999", linewidth=0.8)
    ax.set(xscale="log", yscale="log", ylim=(1e-4, 1.3), xlabel="budget (pulls, cost 1 each)", title=TITLES[strategy])
    return ax


def figure(cells: Sequence[Cell], pool: FeaturePool) -> Any:
    """The picture of the study: one panel per strategy."""
    from matplotlib.figure import Figure

    picture = Figure(figsize=(10, 4.6), layout="constrained")
    axes = picture.subplots(1, 2, sharey=True)
    for ax, strategy in zip(axes, STRATEGIES, strict=True):
        draw(ax, cells, pool, strategy)
    axes[0].set_ylabel("probability of missing the best candidate")
    handles, labels = axes[0].get_legend_handles_labels()
    picture.legend(handles, labels, loc="outside lower center", ncols=3, fontsize=8, frameon=False)
    gap = f"K = {len(pool.gaps)}, theta = {THETA}, kappa Lambda = {RADIUS}, gap = {pool.gap:.3f}"
    picture.suptitle(f"Where theory stands and where practice stands ({gap})", fontsize=11)
    return picture
