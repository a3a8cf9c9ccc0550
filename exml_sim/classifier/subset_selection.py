"""Select a set of candidates, as long as comparing is worth more than rows of the best subset.

A few rows are bought for all candidates, the same rows wherever possible. On them sets of candidates are scored by
out-of-fold predictions (`exml_sim.classifier._consensus`): every candidate alone, the best one with another, all
together. A set that costs less can have more rows, so each score is extrapolated to the number of rows that the money
would buy of this set (`exml_sim.strategies.value_of_information` has the formulas). Comparing goes on with the
candidates that could still change the choice by more than their rows would cost. The remaining money buys rows of the
selected set. Ties go to the set with the lower prediction cost.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from functools import partial

import numpy as np

from exml_sim._internal.arrays import FloatArray, IntArray
from exml_sim.bandit.selection_report import Pair, interval_of, is_worth_betting
from exml_sim.classifier import constants
from exml_sim.classifier._acquisition import AcquisitionManager, LayerInput, Tariff
from exml_sim.classifier._consensus import Arms, ConsensusScorer, pair_of
from exml_sim.classifier._probability_models import Fitter
from exml_sim.classifier.evaluation import Diagnostic
from exml_sim.money import exact, show
from exml_sim.strategies.value_of_information import ValueOfInformationCommit, expected_gain


@dataclass(frozen=True, slots=True, eq=False)
class SubsetScore:
    """A set of candidates in one round.

    Attributes
    ----------
    arms
        Positions of the candidates.
    rows
        Rows it was scored on.
    loss
        Out-of-fold squared error of probabilities.
    target_loss, baseline_loss
        The same against the target of the consensus, and that without any candidate.
    final_rows
        Rows that the money left would give the set.
    predicted
        `target_loss` with what the set will not explain for lack of rows: the explained part times N/(N + h).
    deviation
        Standard deviation of the difference to the best subset; 0 for the best itself.
    interval
        Approximate 95 % interval of the loss.
    """

    arms: Arms
    rows: int
    loss: float
    target_loss: float
    baseline_loss: float
    final_rows: int
    predicted: float
    deviation: float = 0.0
    interval: tuple[float, float] = (-np.inf, np.inf)

    def is_within(self, arms: Arms) -> bool:
        """Return whether all its candidates are among `arms`."""
        return set(self.arms) <= set(arms)


@dataclass(frozen=True, slots=True, eq=False)
class SelectionRound:
    """One round: all sets, best prediction first, the chosen set, and the candidates that are bought on."""

    subsets: tuple[SubsetScore, ...]
    chosen: Arms
    active: Arms


@dataclass(frozen=True, slots=True, eq=False)
class SelectionResult:
    """The selected set, the rounds, notes on money and costs, and the choice paired with all single candidates."""

    selected: Arms
    rounds: tuple[SelectionRound, ...]
    notes: tuple[Diagnostic, ...] = ()
    pairs: tuple[Pair, ...] = ()


class SubsetSelection:
    """One subset selection on an oracle.

    Parameters
    ----------
    acquisition
        Pays and queries.
    arms
        Candidates, as positions in the oracle.
    data
        Known features, labels and rows.
    money
        What may be spent.
    fit
        Model of the scores.
    strategy
        Share of the first round, number of rounds and growth.
    max_candidates
        Largest number of candidates of a set; None for all.
    prior
        Out-of-fold probabilities of observed labels by the model of the observed columns, shape (m, C). A set is scored
        by what it adds to them.
    workers
        Threads that fit models of the scores; the result does not depend on them.
    max_extensions
        Candidates, the best alone, that are tried as an extension of the selected set.
    """

    def __init__(
        self,
        acquisition: AcquisitionManager,
        arms: Sequence[int],
        data: LayerInput,
        money: Fraction,
        fit: Fitter,
        strategy: ValueOfInformationCommit | None = None,
        max_candidates: int | None = None,
        prior: FloatArray | None = None,
        workers: int = 1,
        max_extensions: int = constants.MAX_EXTENSIONS,
    ) -> None:
        self._acquisition, self._arms, self._data = acquisition, tuple(arms), data
        self._strategy = strategy or ValueOfInformationCommit()
        self._half = self._strategy.half or constants.HALF_LEARNING_ROWS_PER_CLASS * data.n_classes
        self._max_candidates = len(self._arms) if max_candidates is None else max_candidates
        self._max_extensions = max_extensions
        self._money, self._stop = money, acquisition.ledger.spent + money
        self._orders = {arm: acquisition.usable_rows(arm, data.rows) for arm in self._arms}
        self._scorer = ConsensusScorer(acquisition, data, fit, prior, workers)

    def run(self) -> SelectionResult:
        """Compare sets round by round, buy rows of the selected one, and use what money is left."""
        compared, first_rows = self._plan_first_round()
        if not first_rows:
            # What an earlier run bought can be compared without further money.
            compared = tuple(a for a in self._arms if self._rows_of((a,)) >= constants.MIN_INFORMATIVE_ROWS)
        if not compared:
            return self._select_cheapest()
        self._buy(compared, first_rows)
        rounds, stopped = self._compare(compared), False
        while not (stopped := self._gives_up(rounds[-1].chosen)):
            # Score again whenever the rows of the selected set have doubled.
            chosen = rounds[-1].chosen
            if not self._buy(chosen, 2 * len(self._shared(chosen))) or self._left < self._price(chosen):
                break
            rounds.append(self._compare_again(compared, chosen))
        selected = rounds[-1].chosen
        pairs = self._pair_with_others(selected, rounds)
        notes = self._note_unaffordable(compared)
        if stopped:
            return SelectionResult(selected, tuple(rounds), (*notes, self._note_unexplained(selected)), pairs)
        self._scorer.clear_consensus()
        selected, more = self._extend(selected)
        return SelectionResult(selected, tuple(rounds), (*notes, *more), pairs)

    def _compare(self, active: Arms) -> list[SelectionRound]:
        rounds: list[SelectionRound] = []
        for number in range(self._strategy.rounds + 1):
            current = self._compare_once(active, last=number == self._strategy.rounds)
            rounds.append(current)
            if set(current.active) <= set(current.chosen):
                break
            more = self._next_rows(current.active)
            crosses = self._left - self._price(current.active) * more < self._money / 2
            if crosses and not self._is_explained(current.chosen):
                break
            if more < 1 or not self._buy(current.active, self._rows_of(current.active) + more):
                break
            active = current.active
        return rounds

    def _compare_again(self, compared: Arms, chosen: Arms) -> SelectionRound:
        """Score all sets with the rows bought since, and keep the chosen one unless another is clearly better."""
        current = self._compare_once(compared, last=True)
        scores = {score.arms: score for score in current.subsets}
        if chosen in scores and current.chosen in scores:
            kept, other = scores[chosen], scores[current.chosen]
            width = constants.SWITCH_DEVIATIONS * max(kept.deviation, other.deviation)
            if kept.predicted - other.predicted > width:
                return current
        return replace(current, chosen=chosen, active=chosen)

    def _gives_up(self, arms: Arms) -> bool:
        """Return whether half of the money is spent on candidates that explain nothing.

        Called before a purchase that doubles the rows of the candidates. If it would cross half of the money, rows are
        bought up to there first, and the evidence of all these rows decides.
        """
        half = self._money * (1 - constants.MAX_UNEXPLAINED_FRACTION)
        spare = self._left - half
        if spare < 0 or self._left - self._price(arms) * len(self._shared(arms)) >= half:
            return False
        if self._is_explained(arms):
            return False
        self._buy(arms, len(self._shared(arms)) + int(spare / self._price(arms)))
        return not self._is_explained(arms)

    def _is_explained(self, arms: Arms) -> bool:
        """Return whether a set predicts labels better than the observed columns, as far as the rows show."""
        rows = self._shared(arms)
        enough = len(rows) >= constants.MIN_PAIRED_ROWS
        few, many = constants.MIN_EXPLAINED_DEVIATIONS
        least = few if len(rows) < constants.MIN_EVIDENCE_ROWS else many
        return not enough or self._scorer.explained_deviations(arms, rows) >= least

    def _note_unexplained(self, selected: Arms) -> Diagnostic:
        rows, left = len(self._shared(selected)), show(self._left)
        text = f"{left} are left: on {rows} rows no candidate predicts labels clearly better than the observed columns"
        return Diagnostic("candidates_explain_nothing", text, "warning")

    def _select_cheapest(self) -> SelectionResult:
        """Select one of the cheapest candidates: comparing all of them would cost more than it could tell."""
        prices = {arm: self._price((arm,)) + self._acquisition.setup((arm,)) for arm in self._arms}
        low = min(prices.values())
        cheap = [arm for arm, price in prices.items() if price == low]
        # The random order of the rows chooses among them.
        selected = (cheap[int(self._data.rows[0]) % len(cheap)],)
        self._buy(selected, self._data.X.shape[0])
        text = "the only candidate was selected without comparison"
        if len(self._arms) > 1:
            text = "the budget is too small to compare candidates: one of the cheapest was selected without comparison"
        rest = f"; {show(self._left)} are left" if self._left >= self._price(selected) else ""
        return SelectionResult(selected, (), (Diagnostic("budget_too_small", text + rest),))

    # Money and rows

    @property
    def _left(self) -> Fraction:
        return self._stop - self._acquisition.ledger.spent

    def _price(self, arms: Sequence[int]) -> Fraction:
        return self._acquisition.price(arms)

    def _afford(self, arms: Sequence[int], spent: Fraction = Fraction(0)) -> int:
        """Return rows of the candidates that the money left would buy, after spending on others."""
        return max(0, int((self._left - spent - self._acquisition.setup(arms)) / self._price(arms)))

    def _rows_of(self, arms: Sequence[int]) -> int:
        """Return the rows that every one of the candidates has, at least."""
        return min(int(self._acquisition.bought[arm, self._orders[arm]].sum()) for arm in arms)

    def _plan_first_round(self) -> tuple[Arms, int]:
        """Return candidates that can be compared, and the rows of the first round; 0 if none can."""
        available = [len(self._orders[arm]) for arm in self._arms]
        acquisition, started = self._acquisition, np.flatnonzero(self._acquisition.bought.any(axis=1)).tolist()
        tariff, how = acquisition.tariff.part(self._arms, started), (self._data.n_classes, self._strategy)
        places, rows = plan_first_round(tariff, available, self._left, *how)
        return tuple(self._arms[place] for place in places), rows

    def _note_unaffordable(self, compared: Arms) -> list[Diagnostic]:
        names = [self._acquisition.names[arm] for arm in self._arms if arm not in compared]
        if not names:
            return []
        text = f"{', '.join(names)} {'was' if len(names) == 1 else 'were'} not compared: "
        text += f"{'its' if len(names) == 1 else 'their'} cost exceeds the exploration budget"
        return [Diagnostic("unaffordable", text, subject=", ".join(names))]

    def _next_rows(self, arms: Arms) -> int:
        """Return twice the rows, for at most half of the money."""
        return min(self._rows_of(arms), int(self._left / (2 * self._price(arms))))

    def _buy(self, arms: Sequence[int], rows: int) -> int:
        """Bring the candidates to `rows` rows each, as far as money and rows go; return how many rows were bought."""
        lacking = np.zeros((len(arms), self._acquisition.n_rows), dtype=np.bool_)
        for place, arm in enumerate(arms):
            lacking[place, self._orders[arm][:rows]] = True
        lacking &= ~self._acquisition.bought[list(arms)]
        return self._acquisition.buy_affordable(arms, lacking, self._data, self._left, purpose="exploration")

    # Scores

    def _shared(self, arms: Sequence[int]) -> IntArray:
        rows = self._data.rows
        return np.asarray(rows[self._acquisition.bought[list(arms)][:, rows].all(axis=0)], dtype=np.int64)

    def _pair_with_others(self, chosen: Arms, rounds: Sequence[SelectionRound]) -> tuple[Pair, ...]:
        """Pair the choice with every candidate alone, on the rows that both have at the end."""
        singles = {subset.arms for entry in rounds for subset in entry.subsets if len(subset.arms) == 1}
        others = sorted(singles - {chosen})
        common = [
            (arm, rows) for arm in others if len(rows := self._shared((*chosen, *arm))) >= constants.MIN_SCORED_ROWS
        ]
        scorer = self._scorer
        scorer.prepare([(arms, rows) for arm, rows in common for arms in (chosen, arm)])
        losses = {arm: (scorer.losses(chosen, rows), scorer.losses(arm, rows)) for arm, rows in common}
        bets = [(arm, rows) for arm, rows in common if is_worth_betting(*losses[arm])]
        scorer.prepare_later([(arms, rows) for arm, rows in bets for arms in (chosen, arm)])
        return tuple(
            pair_of(
                self._acquisition.names[arm[0]],
                losses[arm],
                (partial(scorer.later, chosen, rows), partial(scorer.later, arm, rows)),
            )
            for arm, rows in common
        )

    def _final_rows(self, arms: Arms, spent: Fraction = Fraction(0)) -> int:
        """Return rows with all of the candidates that the money left would give, after spending on others."""
        have, most = len(self._shared(arms)), min(len(self._orders[arm]) for arm in arms)
        return min(most, have + self._afford(arms, spent))

    def _score(self, arms: Arms) -> SubsetScore | None:
        rows = self._shared(arms)
        if len(rows) < constants.MIN_SCORED_ROWS:
            return None
        baseline, target = self._scorer.baseline_loss(rows), float(self._scorer.target_losses(arms, rows).mean())
        losses, final = self._scorer.losses(arms, rows), self._final_rows(arms)
        # What is worse than the baseline does not improve with fewer rows.
        explained = baseline - target
        predicted = baseline - (explained * self._learned(final) if explained > 0.0 else explained)
        loss, interval = float(losses.mean()), interval_of(losses)
        return SubsetScore(arms, len(rows), loss, target, baseline, final, predicted, interval=interval)

    def _learned(self, rows: int) -> float:
        """Return the fraction of what can be explained that `rows` rows explain."""
        return rows / (rows + self._half)

    def _compare_once(self, active: Arms, last: bool) -> SelectionRound:
        """Score the sets, choose one, and return which candidates are worth further rows."""
        ranked = self._score_sets(active)
        if not ranked:
            return SelectionRound((), (min(active, key=lambda arm: self._price((arm,))),), ())
        best = ranked[0]
        scores = [best, *(self._with_deviation(best, score) for score in ranked[1:])]
        ties = [best, *(score for score in scores[1:] if self._is_tie(score, best))]
        chosen = min(ties, key=lambda score: (self._price(score.arms), score.predicted)).arms
        if self._strategy.objective == "risk_per_cost":
            chosen = max(scores, key=lambda s: (s.baseline_loss - s.predicted) / float(self._price(s.arms))).arms
        still_active = chosen if last else self._worth_buying(best, scores, chosen)
        return SelectionRound(tuple(scores), chosen, still_active)

    def _score_sets(self, active: Arms) -> list[SubsetScore]:
        """Score every candidate alone, and the sets around the best one; the best prediction first."""
        self._scorer.clear_consensus()
        active = self._drop_constant(active)
        singles = self._rank([(arm,) for arm in active])
        if not singles:
            return []
        # All together are members of the consensus even if fewer are wanted.
        everyone = {tuple(sorted(active))} if len(active) > 2 else set()
        members = [*(score.arms for score in singles), *sorted(_pair_up(singles) | everyone)]
        self._scorer.fit_consensus(members, self._shared(active))
        singles = self._rank([(arm,) for arm in active])
        self._scorer.leader = singles[0].arms[0]
        sets = _pair_up(singles) if self._max_candidates > 1 else set()
        sets |= everyone if len(active) <= self._max_candidates else set()
        return self._rank([*(score.arms for score in singles), *sorted(sets)])

    def _drop_constant(self, active: Arms) -> Arms:
        """Return candidates whose bought values differ; all of them if none does."""
        values = self._acquisition.values
        varying = tuple(arm for arm in active if np.ptp(values(arm, self._shared((arm,))), axis=0).any())
        return varying or active

    def _rank(self, sets: Sequence[Arms]) -> list[SubsetScore]:
        jobs = [(arms, rows) for arms in sets if len(rows := self._shared(arms)) >= constants.MIN_SCORED_ROWS]
        self._scorer.prepare(jobs)
        scores = [score for arms in sets if (score := self._score(arms)) is not None]
        if scores:
            # Sets have different rows, and what differs between rows must not choose a set.
            common = max(scores, key=lambda score: score.rows).baseline_loss
            scores = [
                replace(s, predicted=s.predicted - s.baseline_loss + common, baseline_loss=common) for s in scores
            ]
        return sorted(scores, key=lambda score: (score.predicted, self._price(score.arms)))

    def _is_tie(self, score: SubsetScore, best: SubsetScore) -> bool:
        """Return whether a part of the leading set ties with it: it costs less, now and at prediction.

        Prices of different candidates are in the predictions already, as rows to come.
        """
        is_part = set(score.arms) < set(best.arms)
        return is_part and score.predicted - best.predicted <= constants.TIE_DEVIATIONS * score.deviation

    def _with_deviation(self, best: SubsetScore, score: SubsetScore) -> SubsetScore:
        """Add the deviation of the difference to the best subset, on common rows where there are enough."""
        best_rows, rows = self._shared(best.arms), self._shared(score.arms)
        best_losses = self._scorer.target_losses(best.arms, best_rows)
        losses = self._scorer.target_losses(score.arms, rows)
        both = np.intersect1d(best_rows, rows)
        if len(both) >= constants.MIN_PAIRED_ROWS:
            difference = losses[_places(rows, both)] - best_losses[_places(best_rows, both)]
            deviation = float(difference.std(ddof=1) / np.sqrt(len(both)))
        else:
            deviation = float(np.sqrt(best_losses.var() / len(best_losses) + losses.var() / len(losses)))
        return replace(score, deviation=deviation)

    def _worth_buying(self, best: SubsetScore, scores: Sequence[SubsetScore], chosen: Arms) -> Arms:
        """Return candidates of the sets whose expected gain is above the price of their rows."""
        stay = set(chosen)
        taken = next(score for score in scores if score.arms == chosen)
        # Where nothing is explained yet rows have their price, too.
        explained = (best.baseline_loss - best.target_loss) / self._learned(best.rows)
        explained = max(explained, constants.MIN_EXPLAINED_FRACTION * best.baseline_loss)
        for score in scores:
            new = [arm for arm in score.arms if arm not in stay]
            if not new:
                continue
            # The sets before it, which look better, have taken their share already.
            extra = self._price([arm for arm in stay | set(new) if arm not in chosen]) * score.rows
            before = self._price([arm for arm in stay if arm not in chosen]) * score.rows
            # What a model has not learned from so few rows is uncertain beside the noise of its score.
            unlearned = constants.LEARNING_DEVIATION * score.baseline_loss * (1.0 - self._learned(score.rows))
            unlearned *= min(1.0, self._differ(score.arms, chosen) / constants.FULL_DIFFERENCE)
            # Of a difference that chose its own leader the same part will last.
            gain = expected_gain(
                np.array(self._learned(score.rows) * max(score.predicted - taken.predicted, 0.0)),
                np.array(np.hypot(max(score.deviation, taken.deviation), unlearned)),
                np.array(float(score.rows)),
                np.array(float(score.rows)),
            )
            learned = [self._learned(self._final_rows(best.arms, spent)) for spent in (before, extra)]
            if float(gain) > explained * (learned[0] - learned[1]):
                stay |= set(score.arms)
        return tuple(sorted(stay))

    def _differ(self, arms: Arms, others: Arms) -> float:
        """Return how much the predictions of two sets differ on the rows that both have."""
        rows = self._shared((*arms, *others))
        return self._scorer.difference(arms, others, rows) if len(rows) >= constants.MIN_SCORED_ROWS else np.inf

    def _extend(self, selected: Arms) -> tuple[Arms, list[Diagnostic]]:
        """Spend what is left on further candidates beside the selected set, if they help; or note why not."""
        while True:
            # A further candidate must have all rows of the model, or it would be trained on fewer.
            rows = self._shared(selected)
            bought = self._acquisition.bought
            others = [
                arm
                for arm in self._arms
                if arm not in selected
                and np.isin(rows, self._orders[arm]).all()
                and self._left >= self._acquisition.price_all({arm: rows[~bought[arm, rows]]})
            ]
            if not others:
                usable = [arm for arm in self._arms if arm not in selected and not bought[arm, self._orders[arm]].all()]
                if not any(self._afford((arm,)) for arm in usable):
                    return selected, []
                text = f"{show(self._left)} are left, too little for another candidate on all rows of the model"
                return selected, [Diagnostic("money_left", text)]
            if len(selected) >= self._max_candidates:
                text = f"all rows of the {len(selected)} wanted candidates are bought"
                return selected, [Diagnostic("all_rows_bought", text)]
            gains = self._gains_beside(selected, self._best_alone(others))
            better = [(gain, arm) for gain, arm in gains if gain > 0.0]
            if not better:
                text = f"{show(self._left)} are left: no further candidate is expected to improve the model"
                return selected, [Diagnostic("money_left", text)] if self._left else []
            arm = max(better)[1]
            lacking = rows[~bought[arm, rows]]
            if len(lacking):
                self._acquisition.buy({arm: lacking}, layer=self._data.layer, purpose="exploration")
            selected = (*selected, arm)

    def _best_alone(self, arms: Sequence[int]) -> list[int]:
        """Return at most `max_extensions` of the candidates: those that predict best by themselves."""
        if len(arms) <= self._max_extensions:
            return list(arms)
        scores = {arm: self._score((arm,)) for arm in arms}
        known = [(score.predicted, arm) for arm, score in scores.items() if score is not None]
        return sorted(arm for _, arm in sorted(known)[: self._max_extensions])

    def _gains_beside(self, selected: Arms, others: Sequence[int]) -> list[tuple[float, int]]:
        """Return the gain of every other candidate next to the selected set, less what is a tie, on common rows."""
        gains = []
        for arm in others:
            rows = self._shared((*selected, arm))
            if len(rows) >= constants.MIN_PAIRED_ROWS:
                gain = self._scorer.losses(selected, rows) - self._scorer.losses((*selected, arm), rows)
                tie = constants.TIE_DEVIATIONS * float(gain.std(ddof=1)) / np.sqrt(len(rows))
                gains.append((float(gain.mean()) - tie, arm))
        return gains


def _count_first_rows(
    tariff: Tariff,
    places: Sequence[int],
    available: Sequence[int],
    money: Fraction,
    n_classes: int,
    strategy: ValueOfInformationCommit,
) -> int:
    """Return the rows of the first round; 0 if the money is too little to learn anything from a part of it.

    A part of the money, or what is left beside all rows of the most expensive candidate.
    """
    whole, money = tariff.price(places), max(money - tariff.setup(places), Fraction(0))
    complete = int(money / whole)
    few = max(constants.MIN_FIRST_ROWS, constants.FIRST_ROWS_PER_CLASS * n_classes)
    share = int(complete * exact(strategy.first_round_share, "first_round_share"))
    wanted = max(share, min(few, int(complete * constants.MAX_FIRST_ROUND_FRACTION)))
    most_expensive = max(places, key=lambda place: tariff.price((place,)))
    spare = money - tariff.price((most_expensive,)) * available[most_expensive]
    others = whole - tariff.price((most_expensive,))
    rows = max(wanted, min(int(spare / others), complete) if spare > 0 and others else 0)
    return rows if rows >= constants.MIN_INFORMATIVE_ROWS else 0


def plan_first_round(
    tariff: Tariff,
    available: Sequence[int],
    money: Fraction,
    n_classes: int,
    strategy: ValueOfInformationCommit,
) -> tuple[tuple[int, ...], int]:
    """Return places of the candidates of the first round, and their rows; 0 if none can be compared.

    Where the money buys too few rows with all candidates, the most expensive ones are left out one by one.
    """
    places = tuple(range(len(tariff.costs)))
    few = constants.MIN_INFORMATIVE_ROWS
    while True:
        prices = {place: few * tariff.price((place,)) + tariff.setup((place,)) for place in places}
        rows = _count_first_rows(tariff, places, available, money, n_classes, strategy)
        if rows or len(set(prices.values())) == 1:
            return places, rows if len(places) > 1 else 0
        most_expensive = max(places, key=lambda place: prices[place])
        places = tuple(place for place in places if place != most_expensive)


def _places(rows: IntArray, wanted: IntArray) -> IntArray:
    """Return positions of wanted rows."""
    order = np.argsort(rows)
    return np.asarray(order[np.searchsorted(rows[order], wanted)], dtype=np.int64)


def _pair_up(singles: Sequence[SubsetScore]) -> set[Arms]:
    """Pair the best candidate with each of the next ones."""
    first = singles[0].arms[0]
    return {tuple(sorted({first, score.arms[0]})) for score in singles[1 : constants.MAX_PARTNERS + 1]}
