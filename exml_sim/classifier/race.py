"""Buying for the final model: a race of sets of candidates, as long as it is worth more than rows of the best set.

A few rows are bought for all candidates, the same rows wherever possible. On them every set that is worth looking at is
scored by how well models that have not seen a row predict it: every candidate alone, the best one with another, all
together. What is predicted is not the perceived label alone, which is the throw of a die: three quarters of the target
are what the sets say together, the better ones louder. A set that costs less can have more rows; so each score is
carried on to the number of rows that the money would buy of this set (`exml_sim.strategies.value_of_information`
has the formulas). The race goes on with the candidates that could still change the choice by more than their rows
would cost; the rest of the money buys rows of the set that won. Sets that cannot be told apart are told apart by their
price, which every prediction will pay again.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from fractions import Fraction
from functools import partial

import numpy as np

from exml_sim.arrays import FloatArray, IntArray
from exml_sim.bandit.selection_report import CYCLE, Pair, interval_of, is_worth_betting
from exml_sim.classifier.bought_arms import Base
from exml_sim.classifier.buyer import Buyer
from exml_sim.classifier.hearing import Arms, Hearing
from exml_sim.classifier.pairs import pair_of
from exml_sim.classifier.raced import Contestant, Raced, RaceRound
from exml_sim.classifier.soft import Fitter
from exml_sim.money import exact, show
from exml_sim.strategies.value_of_information import ValueOfInformationCommit, expected_gain

#: How few rows open the race, if that leaves the leader most of the money: a cycle of the balanced order, more for many
#: classes; fewer than the last number tell nothing.
SMALLEST_OPENING, OPENING_PER_CLASS, USELESS_OPENING = CYCLE, 6, 8

#: Rows per known class by which half of what can be explained is explained.
HALF_PER_CLASS = 20.0

#: Part of the money that the opening may cost.
LARGEST_SHARE = Fraction(1, 2)

#: Cheaper sets within this many deviations of the best one count as equally good; as many again for every halving of
#: the mean price of a candidate.
INDIFFERENCE = 0.35

#: Part of the loss that a set is taken to explain at least, when its rows are priced.
HOPE = 0.15

#: Deviation of what is yet to be learned, in units of the loss.
LEARNING = 0.1

#: Challengers that are looked at together with the leader.
PARTNERS = 3

#: Candidates, the best alone, that are looked at beside the winner when money is left.
BESIDE = 20


class Race:
    """One race on an oracle.

    Parameters
    ----------
    buyer
        Pays and asks.
    arms
        Candidates that take part, as positions in the oracle.
    base
        Known features, labels and rows.
    money
        What may be spent.
    fit
        Model of the scores.
    rule
        Opening share, number of rounds and growth.
    top
        Largest number of candidates of a set; None for all.
    ahead
        Held-out probabilities of perceived labels by the model of the observed columns, shape (m, C). A set is scored
        by what it adds to them.
    workers
        Threads that fit models of the scores; the race does not depend on them.
    """

    def __init__(
        self,
        buyer: Buyer,
        arms: Sequence[int],
        base: Base,
        money: Fraction,
        fit: Fitter,
        rule: ValueOfInformationCommit | None = None,
        top: int | None = None,
        ahead: FloatArray | None = None,
        workers: int = 1,
    ) -> None:
        self._buyer, self._arms, self._base = buyer, tuple(arms), base
        self._rule = rule or ValueOfInformationCommit()
        self._half = self._rule.half or HALF_PER_CLASS * base.n_classes
        self._top = len(self._arms) if top is None else top
        self._stop = buyer.ledger.spent + money
        self._orders = {arm: self._to_be_had(arm) for arm in self._arms}
        self._scores = Hearing(buyer, base, fit, ahead, workers)

    def run(self) -> Raced:
        """Open, race, commit, and use what money is left."""
        rounds: list[RaceRound] = []
        if len(self._arms) == 1:
            self._buy(self._arms, self._base.X.shape[0])
            return Raced(self._arms, ())
        active, opening = self._opened()
        if not opening:
            return self._unseen()
        self._buy(active, opening)
        compared = active
        for number in range(self._rule.rounds + 1):
            one = self._look(active, last=number == self._rule.rounds)
            rounds.append(one)
            if set(one.in_play) <= set(one.chosen):
                break
            more = self._next_rows(one.in_play)
            if more < 1 or not self._buy(one.in_play, self._rows_of(one.in_play) + more):
                break
            active = one.in_play
        winner = rounds[-1].chosen
        pairs = self._pairs(winner, rounds)
        self._buy(winner, self._base.X.shape[0])
        self._scores.forget()
        winner, why = self._extended(winner)
        return Raced(winner, tuple(rounds), "; ".join(filter(None, (self._too_dear(compared), why))), pairs)

    def _unseen(self) -> Raced:
        """All for one of the cheapest candidates: to look at all of them would cost more than it could tell."""
        low = min(self._buyer.costs[arm] for arm in self._arms)
        cheap = [arm for arm in self._arms if self._buyer.costs[arm] == low]
        # The random order of the rows chooses among them.
        chosen = (cheap[int(self._base.rows[0]) % len(cheap)],)
        self._buy(chosen, self._base.X.shape[0])
        why = "the budget is too small to compare candidates: one of the cheapest was taken unseen"
        rest = f"; {show(self._left)} are left" if self._left >= low else ""
        return Raced(chosen, (), why + rest)

    # Money and rows

    @property
    def _left(self) -> Fraction:
        return self._stop - self._buyer.ledger.spent

    def _to_be_had(self, arm: int) -> IntArray:
        there = self._buyer.available(arm) | self._buyer.bought[arm]
        return np.asarray(self._base.rows[there[self._base.rows]], dtype=np.int64)

    def _price(self, arms: Sequence[int]) -> Fraction:
        return sum((self._buyer.costs[arm] for arm in arms), Fraction(0))

    def _rows_of(self, arms: Sequence[int]) -> int:
        """Rows that every one of the candidates has, at least."""
        return min(int(self._buyer.bought[arm, self._orders[arm]].sum()) for arm in arms)

    def _opened(self) -> tuple[Arms, int]:
        """Candidates that can be compared, and the rows that open the race; 0 if none can."""
        costs = [self._buyer.costs[arm] for arm in self._arms]
        available = [len(self._orders[arm]) for arm in self._arms]
        places, rows = opened(costs, available, self._left, self._base.n_classes, self._rule)
        return tuple(self._arms[place] for place in places), rows

    def _too_dear(self, compared: Arms) -> str:
        """Which candidates were left out for their price, in words."""
        names = [self._buyer.names[arm] for arm in self._arms if arm not in compared]
        if not names:
            return ""
        return f"{', '.join(names)} {'was' if len(names) == 1 else 'were'} not compared: too dear for this budget"

    def _next_rows(self, arms: Arms) -> int:
        """Twice the rows, for at most half of the money."""
        return min(self._rows_of(arms), int(self._left / (2 * self._price(arms))))

    def _buy(self, arms: Sequence[int], rows: int) -> int:
        """Bring the candidates to so many rows each, as far as money and rows go; returns how many values."""
        lacking = {arm: [row for row in self._orders[arm][:rows] if not self._buyer.bought[arm, row]] for arm in arms}
        # Row by row in the common order, so that money that runs out leaves whole rows.
        where = {int(row): i for i, row in enumerate(self._base.rows)}
        wanted = sorted((where[int(row)], arm, int(row)) for arm, some in lacking.items() for row in some)
        money, bought = self._left, {arm: list[int]() for arm in arms}
        at = 0
        while at < len(wanted):
            end = at
            while end < len(wanted) and wanted[end][0] == wanted[at][0]:
                end += 1
            price = self._price([arm for _, arm, _ in wanted[at:end]])
            if price > money:
                break
            money -= price
            for _, arm, row in wanted[at:end]:
                bought[arm].append(row)
            at = end
        paid = {arm: np.array(some, dtype=np.int64) for arm, some in bought.items() if some}
        if paid:
            self._buyer.buy(paid, layer=self._base.layer, purpose="exploration")
        return sum(map(len, paid.values()))

    # Scores

    def _shared(self, arms: Sequence[int]) -> IntArray:
        rows = self._base.rows
        return np.asarray(rows[self._buyer.bought[list(arms)][:, rows].all(axis=0)], dtype=np.int64)

    def _pairs(self, chosen: Arms, rounds: Sequence[RaceRound]) -> tuple[Pair, ...]:
        """The choice against every candidate alone, on the rows that both have when the race ends."""
        out = []
        others = sorted({one.arms for look in rounds for one in look.contestants if len(one.arms) == 1} - {chosen})
        common = [(arm, rows) for arm in others if len(rows := self._shared((*chosen, *arm))) >= 4]
        self._scores.prepare([(arms, rows) for arm, rows in common for arms in (chosen, arm)])
        losses_of = {arm: (self._scores.losses(chosen, rows), self._scores.losses(arm, rows)) for arm, rows in common}
        bets = [(arm, rows) for arm, rows in common if is_worth_betting(*losses_of[arm])]
        self._scores.prepare_later([(arms, rows) for arm, rows in bets for arms in (chosen, arm)])
        for arm, rows in common:
            later = partial(self._scores.later, chosen, rows), partial(self._scores.later, arm, rows)
            out.append(pair_of(self._buyer.names[arm[0]], losses_of[arm], later))
        return tuple(out)

    def _final(self, arms: Arms) -> int:
        """Rows with all of the candidates that the money left would give."""
        have = len(self._shared(arms))
        most = min(len(self._orders[arm]) for arm in arms)
        return min(most, have + int(self._left / self._price(arms)))

    def _contestant(self, arms: Arms) -> Contestant | None:
        rows = self._shared(arms)
        if len(rows) < 4:
            return None
        useless, judged = self._scores.useless(rows), float(self._scores.judged(arms, rows).mean())
        losses, final = self._scores.losses(arms, rows), self._final(arms)
        predicted = useless - (useless - judged) * self._part(final)
        loss, interval = float(losses.mean()), interval_of(losses)
        return Contestant(arms, len(rows), loss, judged, useless, final, predicted, interval=interval)

    def _part(self, rows: int) -> float:
        """Part of what can be explained that so many rows explain."""
        return rows / (rows + self._half)

    def _look(self, active: Arms, last: bool) -> RaceRound:
        """Score the sets, choose one, and say which candidates are worth further rows."""
        found = self._scored(active)
        if not found:
            return RaceRound((), (min(active, key=lambda arm: self._buyer.costs[arm]),), ())
        best = found[0]
        judged = [best, *(self._against(best, one) for one in found[1:])]
        alike = [best, *(one for one in judged[1:] if self._as_good(one, best))]
        chosen = min(alike, key=lambda one: (self._price(one.arms), one.predicted)).arms
        if self._rule.objective == "risk_per_cost":
            chosen = max(judged, key=lambda one: (one.useless - one.predicted) / float(self._price(one.arms))).arms
        in_play = chosen if last else self._in_play(best, judged, chosen)
        return RaceRound(tuple(judged), chosen, in_play)

    def _scored(self, active: Arms) -> list[Contestant]:
        """Every candidate alone, and the sets around the best one, the best prediction first."""
        self._scores.forget()
        active = self._varying(active)
        singles = self._ranked([(arm,) for arm in active])
        if not singles:
            return []
        # All together are heard even if so many are not wanted.
        everyone = {tuple(sorted(active))} if len(active) > 2 else set()
        voices = [*(one.arms for one in singles), *sorted(_pairs(singles) | everyone)]
        self._scores.listen(voices, self._shared(active))
        singles = self._ranked([(arm,) for arm in active])
        self._scores.leader = singles[0].arms[0]
        sets = _pairs(singles) if self._top > 1 else set()
        sets |= everyone if len(active) <= self._top else set()
        return self._ranked([*(one.arms for one in singles), *sorted(sets)])

    def _varying(self, active: Arms) -> Arms:
        """Candidates whose bought values differ at all; all of them if none does."""
        found = tuple(arm for arm in active if np.ptp(self._buyer.values(arm, self._shared((arm,))), axis=0).any())
        return found or active

    def _ranked(self, sets: Sequence[Arms]) -> list[Contestant]:
        self._scores.prepare([(arms, rows) for arms in sets if len(rows := self._shared(arms)) >= 4])
        found = [one for arms in sets if (one := self._contestant(arms)) is not None]
        return sorted(found, key=lambda one: (one.predicted, self._price(one.arms)))

    def _as_good(self, one: Contestant, best: Contestant) -> bool:
        """Whether a cheaper set cannot be told from the best one; the more it saves, the more doubt it is given."""
        if self._price(one.arms) >= self._price(best.arms):
            return False
        mean = [float(self._price(some.arms)) / len(some.arms) for some in (best, one)]
        doubt = INDIFFERENCE * (1.0 + max(0.0, float(np.log2(mean[0] / mean[1]))))
        return one.predicted - best.predicted <= doubt * one.deviation

    def _against(self, best: Contestant, one: Contestant) -> Contestant:
        """The same with the deviation of its difference to the best set, on common rows where there are enough."""
        rows, others = self._shared(best.arms), self._shared(one.arms)
        mine, theirs = self._scores.judged(best.arms, rows), self._scores.judged(one.arms, others)
        both = np.intersect1d(rows, others)
        if len(both) >= 8:
            apart = theirs[_places(others, both)] - mine[_places(rows, both)]
            deviation = float(apart.std(ddof=1) / np.sqrt(len(both)))
        else:
            deviation = float(np.sqrt(mine.var() / len(mine) + theirs.var() / len(theirs)))
        return replace(one, deviation=deviation)

    def _in_play(self, best: Contestant, judged: Sequence[Contestant], chosen: Arms) -> Arms:
        """Candidates of the sets whose expected gain is above the price of their rows."""
        stay = set(chosen)
        taken = next(one for one in judged if one.arms == chosen)
        # Where nothing is explained yet rows have their price, too: something is hoped for.
        explained = max((best.useless - best.judged) / self._part(best.rows), HOPE * best.useless)
        for one in judged:
            new = [arm for arm in one.arms if arm not in stay]
            if not new:
                continue
            # The sets before it, which look better, have taken their share already.
            extra = self._price([arm for arm in stay | set(new) if arm not in chosen]) * one.rows
            rich = self._could_have(best, self._price([arm for arm in stay if arm not in chosen]) * one.rows)
            # What a model has not learned from so few rows is doubtful beside the noise of its score.
            unlearned = 1.0 - self._part(one.rows)
            # Of a difference that chose its own leader the same part will last.
            gain = expected_gain(
                np.array(self._part(one.rows) * max(one.predicted - taken.predicted, 0.0)),
                np.array(np.hypot(max(one.deviation, taken.deviation), LEARNING * one.useless * unlearned)),
                np.array(float(one.rows)),
                np.array(float(one.rows)),
            )
            price = explained * (self._part(rich) - self._part(self._could_have(best, extra)))
            if float(gain) > price:
                stay |= set(one.arms)
        return tuple(sorted(stay))

    def _could_have(self, best: Contestant, spent: Fraction) -> int:
        """Rows of the best set when so much is spent on others before."""
        have, most = len(self._shared(best.arms)), min(len(self._orders[arm]) for arm in best.arms)
        return min(most, have + max(0, int((self._left - spent) / self._price(best.arms))))

    def _extended(self, winner: Arms) -> tuple[Arms, str]:
        """Spend what is left on further candidates beside the winner, if they help; or say why not."""
        while True:
            # What is bought completely costs nothing more; of the rest one row must be affordable.
            complete = {arm: bool(self._buyer.bought[arm, self._orders[arm]].all()) for arm in self._arms}
            others = [
                arm
                for arm in self._arms
                if arm not in winner and (complete[arm] or self._left >= self._buyer.costs[arm])
            ]
            if all(complete[arm] for arm in others):
                return winner, ""
            if len(winner) >= self._top:
                return winner, f"all rows of the {len(winner)} wanted candidates are bought"
            alone = self._contestants_beside(winner, self._best_alone(others))
            better = [(gain, arm) for gain, arm in alone if gain > 0.0]
            if not better:
                return winner, f"{show(self._left)} are left: no further candidate is expected to improve the model"
            arm = max(better)[1]
            self._buy((arm,), self._base.X.shape[0])
            winner = (*winner, arm)

    def _best_alone(self, arms: Sequence[int]) -> list[int]:
        """At most `BESIDE` of the candidates: those that predict best by themselves."""
        if len(arms) <= BESIDE:
            return list(arms)
        found = {arm: self._contestant((arm,)) for arm in arms}
        known = [(one.predicted, arm) for arm, one in found.items() if one is not None]
        return sorted(arm for _, arm in sorted(known)[:BESIDE])

    def _contestants_beside(self, winner: Arms, others: Sequence[int]) -> list[tuple[float, int]]:
        """What every other candidate is expected to gain next to the winner, on the rows that have both."""
        out = []
        for arm in others:
            rows = self._shared((*winner, arm))
            if len(rows) < 4:
                continue
            with_it = self._contestant((*winner, arm))
            assert with_it is not None
            loss = float(self._scores.judged(winner, rows).mean())
            alone = with_it.useless - (with_it.useless - loss) * self._part(len(self._shared(winner)))
            out.append((alone - with_it.predicted, arm))
        return out


def opening_rows(
    costs: Sequence[Fraction], available: Sequence[int], money: Fraction, n_classes: int, rule: ValueOfInformationCommit
) -> int:
    """Rows that open a race; 0 if the money is so little that nothing can be learned from a share of it.

    A share of the money, or what can be had beside the dearest candidate for nothing.
    """
    whole = sum(costs, Fraction(0))
    complete = int(money / whole)
    few = max(SMALLEST_OPENING, OPENING_PER_CLASS * n_classes)
    wanted = max(
        int(complete * exact(rule.first_round_share, "first_round_share")), min(few, int(complete * LARGEST_SHARE))
    )
    dearest = max(range(len(costs)), key=lambda arm: costs[arm])
    spare = money - costs[dearest] * available[dearest]
    others = whole - costs[dearest]
    rows = max(wanted, min(int(spare / others), complete) if spare > 0 and others else 0)
    return rows if rows >= USELESS_OPENING else 0


def opened(
    costs: Sequence[Fraction], available: Sequence[int], money: Fraction, n_classes: int, rule: ValueOfInformationCommit
) -> tuple[tuple[int, ...], int]:
    """Places of the candidates that open a race, and their rows; 0 if none can be compared.

    Where the money buys too few rows with all candidates, the dearest ones are left out, one by one: a price that
    nobody can pay must not keep the others from being compared.
    """
    places = tuple(range(len(costs)))
    while True:
        prices = [costs[place] for place in places]
        rows = opening_rows(prices, [available[place] for place in places], money, n_classes, rule)
        if rows or max(prices) == min(prices):
            return places, rows if len(places) > 1 else 0
        dearest = places[prices.index(max(prices))]
        places = tuple(place for place in places if place != dearest)


def _places(rows: IntArray, some: IntArray) -> IntArray:
    """Positions of some of the rows."""
    order = np.argsort(rows)
    return np.asarray(order[np.searchsorted(rows[order], some)], dtype=np.int64)


def _pairs(singles: Sequence[Contestant]) -> set[Arms]:
    """The best candidate with each of the next ones."""
    first = singles[0].arms[0]
    return {tuple(sorted({first, one.arms[0]})) for one in singles[1 : PARTNERS + 1]}
