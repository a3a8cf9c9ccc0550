"""Median elimination on random small pools, every way through its rounds enumerated, against its bounds.

The state after a round is which arms are left and, where rows are accumulated, which rows were seen. Ties go to the
rivals. Without replacement the rows of all rounds are one sample: given its counts, the ways to them are as likely as
with replacement, so the chance is the same sum with other weights at its end.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from fuzz.bounds import DELTAS
from fuzz.case import LONG, Case
from fuzz.worlds import Floats, Holds, World, compositions, draw_case, draw_world, hypergeometric, multinomial
from theory import corrected, tighter

#: Sizes of the tables of an enumeration.
MOST_LINES, MOST_WAYS = 500, 60_000

Sets = dict[tuple[int, ...], Floats]


def schedule(budget: int, arms: int) -> list[tuple[int, int]]:
    """(rows per arm, arms that are kept) of every round; Algorithm 1 for every K."""
    rounds, active, found = (arms - 1).bit_length(), arms, []
    for _ in range(rounds):
        found.append((budget // (rounds * active), -(-active // 2)))
        active = found[-1][1]
    return found


def _kept(scores: Floats, active: Sequence[int], most: int) -> list[tuple[tuple[int, ...], NDArray[np.bool_]]]:
    """Sets that are kept, each with the lines on which it is; scores of active arms in columns."""
    order = np.sort(np.argsort(scores, axis=1, kind="stable")[:, :most], axis=1)
    sets, which = np.unique(order, axis=0, return_inverse=True)
    return [(tuple(int(active[i]) for i in one), which.ravel() == number) for number, one in enumerate(sets)]


class Elimination:
    """All ways of median elimination through a world at a budget.

    Parameters
    ----------
    accumulated
        Whether a round scores all rows bought so far, or its own only.
    """

    def __init__(self, world: World, budget: int, *, accumulated: bool) -> None:
        self.world, self.accumulated = world, accumulated
        self.rounds = schedule(budget, world.arms)
        self.held = np.cumsum([n for n, _ in self.rounds]).tolist() if accumulated else [n for n, _ in self.rounds]
        self.counts = [compositions(n, len(world.sizes)) for n in self.held]
        self.scores = [world.hostile(world.scores(counts)) for counts in self.counts]

    @staticmethod
    def fits(world: World, budget: int) -> bool:
        """Whether the tables are small."""
        rows = sum(n for n, _ in schedule(budget, world.arms))
        lines = np.prod([(rows + i) / i for i in range(1, len(world.sizes))])
        return bool(lines <= MOST_LINES)

    def _steps(self, t: int) -> Floats:
        """Transition probabilities from counts before round t to those after it."""
        more = self.counts[t][None, :, :] - self.counts[t - 1][:, None, :]
        possible = (more >= 0).all(axis=2)
        return np.where(possible, multinomial(np.where(possible[..., None], more, 0), self.world.law), 0.0)

    def together(self, replacement: bool = True) -> Floats:
        """Chances of every arm to be selected, all arms on the same rows."""
        everyone = tuple(range(self.world.arms))
        state: Sets = {everyone: np.ones(1)}
        for t, (_, most) in enumerate(self.rounds):
            mass = multinomial(self.counts[t], self.world.law)
            if not replacement and not self.accumulated:
                mass = hypergeometric(self.counts[t], self.world.sizes)
            steps = self._steps(t) if self.accumulated and t else mass[None, :]
            after: Sets = {}
            for active, weight in state.items():
                here = (weight if self.accumulated else weight.sum(keepdims=True)) @ steps
                for left, lines in _kept(self.scores[t][:, active], active, most):
                    after[left] = after.get(left, 0.0) + np.where(lines, here, 0.0)
            state = after
        final = np.ones(len(self.counts[-1]))
        if not replacement and self.accumulated:
            with_it = multinomial(self.counts[-1], self.world.law)
            drawn = hypergeometric(self.counts[-1], self.world.sizes)
            # Where the one is no number above 0, so is every way to it.
            final = np.divide(drawn, with_it, out=np.zeros_like(drawn), where=with_it > 0)
        chances = np.zeros(self.world.arms)
        for (arm,), weight in state.items():
            chances[arm] += weight @ final
        return chances

    def apart(self) -> Floats | None:
        """The same with rows of its own for every arm; None where the table would be large."""
        if len(self.counts[0]) ** self.world.arms > MOST_WAYS:
            return None
        everyone = tuple(range(self.world.arms))
        mass = [multinomial(counts, self.world.law) for counts in self.counts]
        state: dict[tuple[int, ...], Floats] = {everyone: _outer([mass[0]] * len(everyone))}
        chances = np.zeros(self.world.arms)
        for t, (_, most) in enumerate(self.rounds):
            after: dict[tuple[int, ...], Floats] = {}
            for active, table in state.items():
                if len(self.counts[t]) ** len(active) > 10 * MOST_WAYS:
                    return None
                ways = table
                if t and self.accumulated:
                    for axis in range(len(active)):
                        ways = np.moveaxis(np.tensordot(ways, self._steps(t), axes=(axis, 0)), -1, axis)
                elif t:
                    ways = table.sum() * _outer([mass[t]] * len(active))
                grid = np.meshgrid(*(self.scores[t][:, arm] for arm in active), indexing="ij")
                for left, lines in _kept(np.stack([one.ravel() for one in grid], axis=1), active, most):
                    gone = tuple(axis for axis, arm in enumerate(active) if arm not in left)
                    part = np.where(lines.reshape(ways.shape), ways, 0.0).sum(axis=gone)
                    after[left] = after[left] + part if left in after else part
            state = after
        for (arm,), table in state.items():
            chances[arm] += table.sum()
        return chances


def _outer(masses: Sequence[Floats]) -> Floats:
    table = np.ones(())
    for mass in masses:
        table = np.multiply.outer(table, mass)
    return np.asarray(table)


class Halving:
    """Bounds on median elimination against its probabilities."""

    name, share, patience = "median", 0.08, LONG

    def draw(self, rng: np.random.Generator) -> Case:
        """A world, numbers of rows of the first round, and what is left over of a budget."""
        return {**draw_case(rng, affine=0.7), "over": float(rng.random())}

    def judge(self, case: Case) -> Counter[str]:
        """Fresh and accumulated rows, same and independent ones, with and without replacement."""
        world = draw_world(case)
        if world.blurred:
            return Counter({"worlds of ties": 1})
        seen: Counter[str] = Counter({f"worlds, {case['regime']}": 1})
        least = world.arms * (world.arms - 1).bit_length()
        for n in case["rows"]:
            budget = n * least + int(case["over"] * least)
            if Elimination.fits(world, budget):
                seen += _Look(world, budget).compare()
        return seen


class _Look(Holds):
    """A world at a budget."""

    def __init__(self, world: World, budget: int) -> None:
        super().__init__(f"at B = {budget}")
        self.world, self.budget = world, budget
        self.gap = float(world.gaps[world.gaps > 0].min())

    def compare(self) -> Counter[str]:
        """Every way of buying rows."""
        world = self.world
        for rows in ("accumulated", "fresh"):
            ways = Elimination(world, self.budget, accumulated=rows == "accumulated")
            same, apart = ways.together(), ways.apart()
            missed = float(same[world.rivals].sum())
            loose = missed
            self._bounds(missed, rows, "same", None)
            if apart is not None:
                loose = max(missed, float(apart[world.rivals].sum()))
                self._bounds(float(apart[world.rivals].sum()), rows, "independent", None)
                self.seen["with independent rows"] += 1
            self._bounds(loose, rows, "arbitrary", None)
            self._corrected(loose, rows)
            if max(ways.held) <= world.population:
                drawn = float(ways.together(replacement=False)[world.rivals].sum())
                self._bounds(drawn, rows, "same", world.population)
                self._bounds(drawn, rows, "arbitrary", world.population)
                self._corrected(drawn, rows)
                self.seen["without replacement"] += 1
            if rows == "fresh":
                self._regret(same)
        return self.seen

    def _bounds(self, truth: float, rows: str, pairing: str, population: int | None) -> None:
        world, K, name = self.world, self.world.arms, f"tighter.delta_fail_median, {rows}, {pairing} rows"
        for kernel in world.kernels:
            told = {"theta": world.theta, "kappa_lambda": world.r, "strict": False, "kernel": kernel}
            told |= {"rows": rows, "pairing": pairing, "population": population}
            one = tighter.delta_fail_median(self.budget, K, self.gap, best_count=len(world.best), **told)
            self.hold(name, truth, one)
            for optimism in ("dual", "rademacher"):
                each = tighter.delta_fail_median(self.budget, K, None, gaps=world.gaps, optimism=optimism, **told)
                self.hold(f"{name}, per-arm gaps", truth, each)

    def _corrected(self, truth: float, rows: str) -> None:
        world = self.world
        bound = corrected.delta_fail_median(
            self.budget,
            world.arms,
            self.gap,
            world.theta,
            world.r,
            best_count=len(world.best),
            rows=rows,
            strict=False,
        )
        self.hold(f"corrected.delta_fail_median, {rows}", truth, bound)

    def _regret(self, chances: Floats) -> None:
        """Theorem 6 (v): the gap of the selected arm exceeds its bound with probability at most delta."""
        world, regret = self.world, self.world.risks - self.world.risks[0]
        for kernel in world.kernels:
            limit = tighter.selection_regret_median(
                self.budget, world.arms, world.theta, world.r, DELTAS, kernel=kernel, strict=False
            )
            truth = np.array([chances[regret > one + world.tie].sum() for one in np.atleast_1d(limit)])
            self.hold("selection_regret_median", truth, DELTAS)
