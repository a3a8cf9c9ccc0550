"""Two strategies on the same trials: does median elimination fail at least as often as uniform allocation?

Both strategies see the same rows, so a trial in which both fail, or neither, says nothing about their order. Among the
others the remark of Section 3.2 promises that at most half are failures of uniform allocation alone; their number is
binomial given how many there are, so the test is exact.
"""

from __future__ import annotations

from exml_sim.engine.intervals import Paired
from simulations.verification.depths import ALARM, FACTOR, Depth
from simulations.verification.plans import COMPARED
from simulations.verification.probes import Evidence
from simulations.verification.workbench import Workbench
from simulations.verification.worlds import world
from theory.claims import get
from theory.verdicts import judge, undecided

#: Trials with exactly one failure below which nothing is said.
LEAST_PAIRS = 30


def compare(depth: Depth, bench: Workbench) -> list[Evidence]:
    """Hold the remark against paired trials on every pool and budget of the ledger's experiment."""
    plan = get(COMPARED).experiment
    assert plan is not None
    alarm = ALARM / (len(plan.pools) * len(plan.budgets))
    found = []
    for pool in plan.pools:
        bench.tick(f"{COMPARED}: both strategies on {pool}")
        study = world(pool).study(COMPARED, ("uniform", "median-accumulated"), plan.budgets, depth.pairs, bench.seed)
        with bench.run(study) as result:
            for first, second in zip(result.cells[::2], result.cells[1::2], strict=True):
                pair = result.compare(first["cell"], second["cell"])
                found.append(_evidence(pool, int(first["budget"]), pair, alarm))
    return found


def _evidence(pool: str, budget: int, pair: Paired, alarm: float) -> Evidence:
    alone, other, trials = pair.only_first, pair.only_second, pair.trials
    if alone + other < LEAST_PAIRS:
        verdict = undecided(
            f"Only {alone + other} of {trials} trials failed under exactly one of the strategies.",
            uniform_alone=alone,
            median_alone=other,
            trials=trials,
        )
    else:
        verdict = judge(alone, alone + other, 0.5, alpha=alarm, factor=FACTOR)
    return Evidence(
        COMPARED,
        "paper",
        pool,
        "uniform against median-accumulated",
        budget,
        "uniform allocation fails and median elimination does not, given that exactly one of them fails",
        0.5,
        verdict,
        method="paired",
        must_hold=False,
        extra={"uniform_alone": alone, "median_alone": other, "trials": trials},
    )
