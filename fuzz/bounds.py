"""Random small pools against `theory.tighter` and `theory.corrected`: no probability may be above its bound.

Pairs of arms, uniform allocation, tails and regrets; same and independent rows, with and without replacement, in the
affine regime and beyond.
"""

from __future__ import annotations

from collections import Counter

import numpy as np

from fuzz.case import LONG, Case
from fuzz.worlds import (
    Floats,
    Holds,
    World,
    compositions,
    draw_case,
    draw_world,
    hypergeometric,
    missed_apart,
    multinomial,
)
from theory import corrected, tighter

#: Deltas of the bounds on regrets, and shares of the gap at which tails are asked for.
DELTAS = np.array([0.9, 0.7, 0.5, 0.35, 0.2, 0.1, 0.05, 0.02, 0.01, 0.003, 0.001, 1e-4])
SHIFTS = np.linspace(0.05, 1.0, 20)


class Bounds:
    """Bounds against probabilities by enumeration."""

    name, share, patience = "bounds", 0.1, LONG

    def draw(self, rng: np.random.Generator) -> Case:
        """A world and some numbers of rows."""
        return draw_case(rng, affine=0.7)

    def judge(self, case: Case) -> Counter[str]:
        """Compare everything that can be enumerated."""
        world = draw_world(case)
        if world.blurred:
            return Counter({"worlds of ties": 1})
        seen: Counter[str] = Counter({f"worlds, {case['regime']}": 1})
        for n in sorted({world.rows_that_fit(n) for n in case["rows"]}):
            seen += _Look(world, n).compare()
        return seen


class _Look(Holds):
    """A world at a number of rows: laws, scores, and every comparison."""

    def __init__(self, world: World, n: int) -> None:
        super().__init__(f"at n = {n}")
        self.world, self.n = world, n
        self.counts = compositions(n, len(world.sizes))
        self.scores = world.scores(self.counts)
        self.least = float(world.gaps[world.gaps > 0].min())
        self.ties = len(world.best)
        self.told = {"theta": world.theta, "kappa_lambda": world.r, "strict": False}
        # Lambda sqrt(mean K(x, x)), the largest of all arms; kappa is at most 1.
        squares = np.einsum("kad,kad,a->k", world.features, world.features, world.law)
        self.mean = world.r * float(np.sqrt(squares.max()))

    def compare(self) -> Counter[str]:
        """With replacement, then without."""
        self.mass = multinomial(self.counts, self.world.law)
        self._pairs(None)
        self._uniform(None)
        self._tails()
        self._regrets()
        population = self.world.population
        if self.n <= population:
            self.mass = hypergeometric(self.counts, self.world.sizes)
            self._pairs(population)
            self._uniform(population)
        return self.seen

    def _pairs(self, population: int | None) -> None:
        """Theorem 2 and Lemma 4: a rival scores at most the best arm; same rows, independent rows, any coupling."""
        world, n, rivals = self.world, self.n, self.world.rivals
        gaps, tie = world.gaps[rivals - 1], world.tie
        same = self.mass @ (self.scores[:, rivals] <= self.scores[:, :1] + tie)
        order = np.argsort(self.scores[:, 0])
        best, below = self.scores[order, 0], np.concatenate([[0.0], np.cumsum(self.mass[order])])
        # P(V_1 >= v): the best arm on rows of its own.
        at_least = below[-1] - below[np.searchsorted(best, self.scores[:, rivals] - tie, side="left")]
        independent = self.mass @ at_least
        for kernel in world.kernels:
            for more in ({"optimism": "dual"}, {"optimism": "rademacher"}, {"mean_kappa_lambda": self.mean}):
                told = {"kernel": kernel, "population": population, **more, **self.told}
                self.hold("tighter.lemma_4", same, tighter.lemma_4(n, gaps, **told))
                apart = tighter.lemma_4(n, gaps, pairing="independent", **told)
                self.hold("tighter.lemma_4, independent rows", independent, apart)
                loose = tighter.lemma_4(n, gaps, pairing="arbitrary", **told)
                self.hold("tighter.lemma_4, any coupling", np.maximum(same, independent), loose)
        either = np.maximum(same, independent)
        self.hold("corrected.lemma_4", either, corrected.lemma_4(n, gaps, **self.told))
        if population is None:
            self._pairs_by_variance(gaps, either)

    def _pairs_by_variance(self, gaps: Floats, truth: Floats) -> None:
        """Theorem 7 for pairs, with the variance of the rival and the worst one of the best arm."""
        rivals = np.array([self._variance(int(arm)) for arm in self.world.rivals])
        for best in (None, self._variance(0)):
            bound = tighter.lemma_4_variance(self.n, gaps, variance_rival=rivals, variance_best=best, **self.told)
            self.hold("lemma_4_variance", truth, bound)

    def _missed(self) -> float:
        """P[some rival scores at most every best arm], all arms on the same rows."""
        best = self.scores[:, self.world.best].min(axis=1)
        beaten = self.scores[:, self.world.rivals] <= best[:, None] + self.world.tie
        return float(self.mass @ np.any(beaten, axis=1))

    def _uniform(self, population: int | None) -> None:
        """Theorem 3 and Lemma 1 (i), with one gap and with all, at every budget of this many rows."""
        world, K = self.world, self.world.arms
        same = self._missed()
        apart = missed_apart(world, list(self.scores.T), [self.mass] * K)
        budgets = np.arange(self.n * K, (self.n + 1) * K)
        loose = corrected.delta_fail_uniform(budgets, K, self.least, best_count=self.ties, **self.told)
        self.hold("corrected.delta_fail_uniform", max(same, apart), loose)
        for pairing, truth in (("same", same), ("independent", apart), ("arbitrary", max(same, apart))):
            for kernel in world.kernels:
                told = {"kernel": kernel, "population": population, "pairing": pairing, **self.told}
                one = tighter.delta_fail_uniform(budgets, K, self.least, best_count=self.ties, **told)
                self.hold(f"tighter.delta_fail_uniform, {pairing} rows", truth, one)
                for more in ({}, {"mean_kappa_lambda": self.mean}):
                    each = tighter.delta_fail_uniform(budgets, K, None, gaps=world.gaps, **told, **more)
                    self.hold(f"tighter.delta_fail_uniform, per-arm gaps, {pairing} rows", truth, each)

    def _variance(self, arm: int) -> float:
        """An upper bound on the variance of the loss over the ball: traces stand for largest eigenvalues."""
        x, law = self.world.features[arm], self.world.law
        second = law @ (x**2).sum(axis=1)
        means = (law * self.world.labels) @ x, law @ x
        spreads = [max(float(second - mean @ mean), 0.0) for mean in means]
        return float(tighter.loss_variance(self.world.theta, *spreads, self.world.r))

    def _tails(self) -> None:
        """Theorem 7: how far the score of an arm is below or above its risk, with the largest variance there is."""
        risks, blur = self.world.risks, 0.0 if self.world.affine else self.world.tie
        for arm in range(self.world.arms):
            shifts = SHIFTS * max(float(self.world.gaps.max()), 0.05 * self.world.r)
            told = {"variance": self._variance(arm), **self.told}
            low = np.array([self.mass[self.scores[:, arm] <= risks[arm] - s - blur].sum() for s in shifts])
            high = np.array([self.mass[self.scores[:, arm] >= risks[arm] + s + blur].sum() for s in shifts])
            self.hold("erm_tail_variance", low, tighter.erm_tail_variance(self.n, shifts, **told))
            self.hold("comparator_tail_variance", high, tighter.comparator_tail_variance(self.n, shifts, **told))

    def _regrets(self) -> None:
        """Theorem 6: the gap of the selected arm exceeds its bound with probability at most delta."""
        chosen = np.argmin(self.world.hostile(self.scores), axis=1)
        regret = self.world.risks[chosen] - self.world.risks[0]
        for kernel in self.world.kernels:
            limit = tighter.selection_regret_uniform(
                self.n * self.world.arms, self.world.arms, self.world.theta, self.world.r, DELTAS, kernel=kernel
            )
            truth = np.array([self.mass[regret > one + self.world.tie].sum() for one in np.atleast_1d(limit)])
            self.hold("selection_regret_uniform", truth, DELTAS)
