"""Random small pools against `theory.population`, whose bounds know the population: none may be below the truth."""

from __future__ import annotations

from collections import Counter

import numpy as np

from fuzz.case import LONG, Case, one_line
from fuzz.halving import Elimination
from fuzz.worlds import Floats, Holds, World, compositions, draw_case, draw_world, missed_apart, multinomial
from theory import population as known

EFFORTS = ("quick", "sharp")
#: Rows up to which a pool is written out row by row instead of with weights.
FEW = 14


class Known:
    """Bounds that know the pool against probabilities by enumeration."""

    name, share, patience = "pool", 0.08, LONG

    def draw(self, rng: np.random.Generator) -> Case:
        """A world, numbers of rows, whether rows are written out, and whether the best arms are named."""
        flags = {"written": bool(rng.random() < 0.5), "named": bool(rng.random() < 0.5)}
        return {**draw_case(rng, affine=0.6), "over": float(rng.random()), **flags}

    def judge(self, case: Case) -> Counter[str]:
        """Uniform allocation and median elimination, moments of order 2 and 4."""
        world = draw_world(case)
        if world.blurred or (not world.affine and not case["named"] and len(world.best) > 1):
            return Counter({"worlds of ties": 1})
        try:
            pool = known_pool(world, case)
        except ValueError as error:
            one_line(error)
            return Counter({"refused": 1})
        look = _Look(world, pool, case["over"])
        look.seen[f"worlds, {case['regime']}"] += 1
        for n in sorted({world.rows_that_fit(n) for n in case["rows"]}):
            look.uniform(n)
            if world.affine:
                look.unequal(n)
            look.median(n)
        return look.seen


def known_pool(world: World, case: Case) -> known.PopulationModel:
    """The world as the package is told of it."""
    rows = np.arange(len(world.sizes))
    weights: Floats | None = world.law
    if case["written"] and world.population <= FEW:
        rows, weights = np.repeat(rows, world.sizes), None
    grams = [gram[np.ix_(rows, rows)] for gram in world.grams]
    best = [int(i) for i in world.best] if case["named"] else None
    return known.PopulationModel(grams, world.labels[rows], world.r, world.theta, weights=weights, best=best)


class _Look(Holds):
    """One pool at some numbers of rows."""

    def __init__(self, world: World, pool: known.PopulationModel, over: float) -> None:
        super().__init__("with the pool known")
        self.world, self.pool, self.over = world, pool, over

    def uniform(self, n: int) -> None:
        """The same rows for all arms, and rows of their own."""
        world = self.world
        counts = compositions(n, len(world.sizes))
        mass, scores = multinomial(counts, world.law), world.scores(counts)
        best = scores[:, world.best].min(axis=1)
        same = mass @ np.any(scores[:, world.rivals] <= best[:, None] + world.tie, axis=1)
        budget = n * world.arms + int(self.over * world.arms)
        for effort in EFFORTS:
            bound = known.delta_fail_uniform(self.pool, budget, effort=effort)
            self.hold(f"pool.delta_fail_uniform, {effort}, n = {n}", same, bound)
            if world.affine:
                apart = missed_apart(world, list(scores.T), [mass] * world.arms)
                bound = known.delta_fail_uniform(self.pool, budget, effort=effort, pairing="independent")
                self.hold(f"pool.delta_fail_uniform, {effort}, independent rows, n = {n}", apart, bound)

    def unequal(self, n: int) -> None:
        """Another number of rows for every arm."""
        world = self.world
        rows = [max(1, int(n * share)) for share in np.linspace(1.0, 0.3 + 0.7 * self.over, world.arms)]
        counts = [compositions(one, len(world.sizes)) for one in rows]
        scores = [world.scores(table)[:, arm] for arm, table in enumerate(counts)]
        truth = missed_apart(world, scores, [multinomial(table, world.law) for table in counts])
        for effort in EFFORTS:
            bound = known.delta_fail_rows(self.pool, rows, effort=effort)
            self.hold(f"pool.delta_fail_rows, {effort}, rows {rows}", truth, bound)

    def median(self, n: int) -> None:
        """Fresh and accumulated rows."""
        world, least = self.world, self.world.arms * (self.world.arms - 1).bit_length()
        budget = n * least + int(self.over * least)
        if not Elimination.fits(world, budget):
            return
        for rows in ("accumulated", "fresh"):
            ways = Elimination(world, budget, accumulated=rows == "accumulated")
            truths = {"same": ways.together()}
            apart = ways.apart() if world.affine else None
            if apart is not None:
                truths["independent"] = apart
            for pairing, chances in truths.items():
                for effort in EFFORTS:
                    bound = known.delta_fail_median(self.pool, budget, rows=rows, effort=effort, pairing=pairing)
                    name = f"pool.delta_fail_median, {rows}, {pairing} rows, {effort}, B = {budget}"
                    self.hold(name, chances[world.rivals].sum(), bound)
                    self.seen["of median elimination"] += 1
