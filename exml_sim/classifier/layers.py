"""Growing the cascade: assess the model so far, explore with a share of the money, choose theta, add a layer."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from fractions import Fraction

import numpy as np

from exml_sim.arrays import BoolArray, FloatArray, IntArray
from exml_sim.bandit.selection_report import SelectionReport, report_selection
from exml_sim.bandit.strategy import smallest_budget
from exml_sim.bandit.trial import Exploration
from exml_sim.classifier.bought_arms import Base, HeldOutPool, OraclePool
from exml_sim.classifier.buyer import Buyer
from exml_sim.classifier.cascade import Layer
from exml_sim.classifier.confident import remark
from exml_sim.classifier.gated import GatedModel, fit
from exml_sim.classifier.latent import Discovered, LatentModel
from exml_sim.classifier.latent_layers import HeldOut, fitted, regated, scoring_fitter, settled, stacked
from exml_sim.classifier.race import Race
from exml_sim.classifier.raced import Raced
from exml_sim.classifier.row_order import balanced_order
from exml_sim.classifier.settings import Settings
from exml_sim.classifier.thresholds import (
    INITIAL_THETAS,
    Choice,
    CrossValidation,
    Tried,
    choose_augmented,
    choose_initial,
)
from exml_sim.money import Prices, show
from exml_sim.strategies import MedianElimination, Strategy, UniformAllocation, ValueOfInformationCommit
from exml_sim.validation import counted

#: Level of statements about selections.
LEVEL = 0.95


@dataclass(frozen=True, slots=True)
class Assessment:
    """Whether a model leaves anything to explore, and why."""

    needed: bool
    reason: str


@dataclass(frozen=True, slots=True, eq=False)
class LayerRecord:
    """How one layer of the cascade came about.

    Attributes
    ----------
    number
        From 1.
    candidates
        Candidates that the layer added.
    theta
        Its rejection cost.
    choice
        How theta was chosen; None if it was given.
    rows
        Rows it was trained on.
    exploration
        Rounds with scores and the solver's accuracy, and its part of the run's ledger; None for the initial layer.
        Pulls of values that an earlier layer had bought were free.
    validation_rows
        Rows bought to choose theta.
    given_up
        Rows that no layer so far accepts, by models fitted without them, shape (m,); None if theta was given.
    winner
        Winning class of the rows by models fitted without them, of rejection models; None if theta was given.
    race
        How the candidates were selected, if sets of them raced.
    model
        Name of the layer's model.
    held_out
        What models fitted without them say about the rows; None for rejection models.
    discovered
        The fitted model with its probabilities; None for rejection models.
    columns
        Number of observed columns; for the initial layer only.
    statement
        How sure the selection is; None if nothing was compared.
    intervals
        Approximate intervals of the scores of the exploration's arms; a race has its own.
    """

    number: int
    candidates: tuple[str, ...]
    theta: float
    choice: Choice | None
    rows: IntArray
    exploration: Exploration | None = None
    validation_rows: int = 0
    given_up: BoolArray | None = None
    winner: IntArray | None = None
    race: Raced | None = None
    model: str = "rejection"
    held_out: HeldOut | None = None
    discovered: Discovered | None = None
    columns: int = 0
    statement: SelectionReport | None = None
    intervals: tuple[tuple[float, float], ...] = ()


@dataclass(frozen=True, slots=True, eq=False)
class Grown:
    """The layers of one run, what was bought, and remarks for the reader."""

    layers: tuple[Layer, ...]
    records: tuple[LayerRecord, ...]
    notes: tuple[str, ...] = field(default=())


def initial_layer(
    X: FloatArray,
    y: IntArray,
    n_classes: int,
    theta: float | None,
    settings: Settings,
    rng: np.random.Generator,
) -> tuple[Layer, LayerRecord, Assessment]:
    """The model on the observed features, and whether it leaves anything to explore."""
    thetas: tuple[float, ...] = INITIAL_THETAS if theta is None else (theta,)
    if not settings.rejection:
        found, name = fitted(X, y, n_classes, replace(settings, theta=None), rng)
        votes = HeldOut.of(found, y)
        if theta is None:
            # A row that the initial layer decides is never looked at again: hidden must be four times less likely.
            thetas = tuple(one for one in thetas if one <= (1.0 - 1.0 / n_classes) / 4.0)
        choice = choose_initial(votes.until(thetas, settings.target), settings.target)
        record = LayerRecord(
            1,
            (),
            choice.theta,
            choice,
            np.arange(len(y)),
            given_up=~votes.accepted(choice.theta),
            model=name,
            held_out=votes,
            discovered=found,
            columns=X.shape[1],
        )
        return Layer(regated(found.model, choice.theta)), record, assess(choice.chosen, settings)
    judge = CrossValidation.of_features(X, y, n_classes, settings.options, folds=settings.folds, rng=rng)
    choice = choose_initial(judge.until(thetas, settings.target), settings.target)
    model = fit(X, y, n_classes, choice.theta, settings.options)
    given_up = ~judge.accepted(choice.theta)
    winner = judge.vote(choice.theta)[0]
    record = LayerRecord(1, (), choice.theta, choice, np.arange(len(y)), given_up=given_up, winner=winner)
    return Layer(model), record, assess(choice.chosen, settings)


def assess(tried: Tried, settings: Settings) -> Assessment:
    """A model is good when it is accurate on what it accepts and accepts nearly everything (Section 3.2)."""
    accuracy = f"{tried.accuracy:.1%}" if tried.accepted else "unknown, as none is accepted"
    numbers = (
        f"cross-validated accuracy on accepted rows {accuracy} (wanted {settings.target:.0%}), "
        f"rejected {tried.rejection_rate:.1%} (tolerated {settings.tolerated_rejection:.0%})"
    )
    good = tried.accuracy >= settings.target and tried.rejection_rate <= settings.tolerated_rejection
    return Assessment(not good, numbers)


def check_affordable(buyer: Buyer, settings: Settings) -> None:
    """Refuse a budget that cannot open the exploration, and say which one can."""
    rule = rule_for(settings, len(buyer.names))
    prices = Prices.of(buyer.costs)
    explorations = settings.layers - 1
    need = smallest_budget(rule, prices) * explorations / (1 - settings.validation_share)
    if buyer.ledger.budget < need:
        cents = Fraction(-((-need * 100) // 1), 100)
        raise ValueError(
            f"a budget of {show(buyer.ledger.budget)} does not pay for one value of each of {len(buyer.names)} "
            f"candidates in the opening round; the smallest budget that works is {show(cents)}"
        )


def rule_for(settings: Settings, n_arms: int) -> Strategy:
    """The strategy; with one candidate there is nothing to choose, and all money goes to its rows."""
    if n_arms > 1:
        return settings.strategy
    return UniformAllocation(alignment=settings.strategy.alignment, objective=settings.strategy.objective)


def grow(
    X: FloatArray,
    y: IntArray,
    n_classes: int,
    first: tuple[Layer, LayerRecord],
    buyer: Buyer,
    settings: Settings,
    rng: np.random.Generator,
) -> Grown:
    """Explore for every further layer of the cascade until it is complete, good enough, or out of money."""
    layers, records, notes = [first[0]], [first[1]], list[str]()
    arms = list(range(len(buyer.names)))
    taken: tuple[str, ...] = ()
    base = Base(X, y, n_classes, _order(y, first[1], buyer, settings, rng), 2)
    for number in range(2, settings.layers + 1):
        arms, absent = _on_offer(arms, base, buyer)
        notes += [f"candidate {name} was left out of layer {number}: no row of it can be bought" for name in absent]
        if number == 2 and not arms:
            raise ValueError("no candidate can be bought for any row: there is nothing to explore")
        part = buyer.ledger.left / (settings.layers + 1 - number)
        scarce = _scarce(arms, base, buyer, settings, part * (1 - settings.validation_share))
        if number == 2 and scarce:
            raise ValueError(scarce)
        stop = _reason_to_stop(number, arms, buyer, settings, records[-1]) or scarce
        if stop:
            notes.append(f"layer {number} was left out: {stop}")
            break
        reaching = records[-1].given_up if settings.cascade else None
        record, after = _explore(arms, base, part, buyer, settings, rng, records[0])
        if len(record.rows) < 2:
            have = "1 row has" if len(record.rows) == 1 else f"{len(record.rows)} rows have"
            notes.append(f"layer {number} was left out: {have} {' and '.join(record.candidates)}")
            break
        if record.race is not None and record.race.left_over:
            notes.append(record.race.left_over)
        if settings.confidence is not None and record.exploration is not None and len(arms) > 1:
            rest = part - record.exploration.ledger.spent
            notes.append(remark(record.exploration, rest, settings.keep_rest, settings.strategy))
        base, taken = after, taken + record.candidates
        arms = [arm for arm in arms if buyer.names[arm] not in record.candidates]
        record, model = _modelled(record, base, settings, rng, reaching, records[0])
        if settings.cascade and number == 2 and isinstance(model, LatentModel):
            layers, records, more = _with_first_layer(layers[0], records[0], record)
            notes += more
        layers.append(Layer(model, taken))
        records.append(record)
    if not settings.cascade:
        layers = layers[-1:]
    return Grown(tuple(layers), tuple(records), tuple(notes))


def _order(y: IntArray, first: LayerRecord, buyer: Buyer, settings: Settings, rng: np.random.Generator) -> IntArray:
    """The order in which rows are bought: balanced for races.

    Rules of the paper and rules with a confidence want rows at random; and where values cannot be had, cycles would
    have holes.
    """
    complete = all(bool(buyer.available(arm).all()) for arm in range(len(buyer.names)))
    if first.discovered is None or not settings.races or not complete:
        return np.asarray(rng.permutation(len(y)), dtype=np.int64)
    return balanced_order(y, first.discovered.perceived[np.arange(len(y)), y], rng)


def _on_offer(arms: list[int], base: Base, buyer: Buyer) -> tuple[list[int], list[str]]:
    """Candidates of which some row can be bought or is known, and the names of the others."""
    some = {arm: bool((buyer.available(arm) | buyer.bought[arm])[base.rows].any()) for arm in arms}
    return [arm for arm in arms if some[arm]], [buyer.names[arm] for arm in arms if not some[arm]]


def _reason_to_stop(number: int, arms: list[int], buyer: Buyer, settings: Settings, last: LayerRecord) -> str | None:
    """Why a third or later layer is not worth it; the first exploration was checked at the door."""
    if number == 2:
        return None
    if len(arms) < (settings.top or 1):
        left = "1 candidate is" if len(arms) == 1 else f"{len(arms)} candidates are"
        return f"{left} left to choose from"
    if last.choice is not None and not assess(last.choice.chosen, settings).needed:
        return f"layer {number - 1} is good enough"
    rule = rule_for(settings, len(arms))
    prices = Prices.of([buyer.costs[arm] for arm in arms])
    money = buyer.ledger.left / (settings.layers + 1 - number) * (1 - settings.validation_share)
    if money < smallest_budget(rule, prices):
        return f"the {show(buyer.ledger.left)} that are left do not pay for another exploration"
    return None


def _scarce(arms: list[int], base: Base, buyer: Buyer, settings: Settings, money: Fraction) -> str | None:
    """Why a rule that wants fresh rows in every round would run out of them after it has bought some."""
    rule = rule_for(settings, len(arms))
    if not isinstance(rule, MedianElimination) or rule.accumulate:
        return None
    reach = rule.reach(money, Prices.of([buyer.costs[arm] for arm in arms]))
    for arm in arms:
        rows = int((buyer.available(arm) | buyer.bought[arm])[base.rows].sum())
        if rows <= reach:
            return (
                f"candidate {buyer.names[arm]!r} has {counted(rows, 'row')}, and median elimination with fresh rows "
                f"reads up to {reach} before its last round: leave it out, or accumulate rows, or give less money"
            )
    return None


def _explore(
    arms: list[int],
    base: Base,
    part: Fraction,
    buyer: Buyer,
    settings: Settings,
    rng: np.random.Generator,
    first: LayerRecord,
) -> tuple[LayerRecord, Base]:
    """One exploration: select and buy. Returns the record, still without theta, and what the next layer has."""
    start = buyer.ledger.spent
    found, raced, extra = None, None, 0
    if settings.races:
        assert isinstance(settings.strategy, ValueOfInformationCommit)
        fitter = scoring_fitter(settings, rng, len(arms))
        ahead = None if first.discovered is None else first.discovered.perceived
        raced = Race(buyer, arms, base, part, fitter, settings.strategy, settings.top, ahead, settings.workers).run()
        selected = list(raced.winner)
    else:
        pool = _pool(arms, base, buyer, settings, rng)
        found = pool.explore(rule_for(settings, len(arms)), part * (1 - settings.validation_share))
        selected = [arms[i] for i in found.accepted]
        if not settings.keep_rest and (settings.theta is None or not settings.rejection):
            extra = buy_more(selected, base, part - (buyer.ledger.spent - start), buyer)
    rows = base.rows[buyer.bought[selected][:, base.rows].all(axis=0)]
    names = tuple(buyer.names[arm] for arm in selected)
    theta = settings.thetas[0] if settings.theta is None else settings.theta
    said, intervals = stated(found, raced, buyer.names, settings.confidence or LEVEL)
    said = None if said is None else with_rows_left(said, len(base.rows))
    # What the statement was made from holds the oracle; the record is plain values.
    found = None if found is None else replace(found, comparison_data=None)
    record = LayerRecord(base.layer, names, theta, None, rows, found, extra, race=raced, statement=said)
    record = replace(record, intervals=intervals)
    return record, _augmented(base, selected, rows, buyer)


def with_rows_left(said: SelectionReport, rows: int) -> SelectionReport:
    """The statement of somebody whose table has so many rows."""
    compared_on = max((one.rows for one in said.comparisons), default=0)
    return replace(said, rows_left=max(rows - compared_on, 0))


def stated(
    found: Exploration | None, raced: Raced | None, names: Sequence[str], level: float
) -> tuple[SelectionReport | None, tuple[tuple[float, float], ...]]:
    """How sure a selection is, and intervals of the scores; nothing if nothing was compared on 4 common rows."""
    if raced is not None and raced.pairs:
        chosen = raced.rounds[-1].chosen
        noun = "candidates" if len(chosen) == 1 else "choices"
        name = " + ".join(names[arm] for arm in chosen)
        return report_selection(name, raced.pairs, level, analyses=len(raced.rounds), noun=noun), ()
    if found is None or found.comparison_data is None or len(found.names) < 2:
        return None, ()
    try:
        intervals = tuple(found.comparison_data.intervals(LEVEL))
        return found.report(level) if len(found.accepted) == 1 else None, intervals
    except ValueError:
        return None, ()


def _pool(arms: list[int], base: Base, buyer: Buyer, settings: Settings, rng: np.random.Generator) -> OraclePool:
    if settings.score == "held_out":
        fitter = scoring_fitter(settings, rng, len(arms))
        return HeldOutPool(buyer, arms, base, settings.exploration_theta, settings.options, fitter)
    return OraclePool(buyer, arms, base, settings.exploration_theta, settings.options, settings.score)


def _modelled(
    record: LayerRecord,
    after: Base,
    settings: Settings,
    rng: np.random.Generator,
    reaching: BoolArray | None,
    first: LayerRecord,
) -> tuple[LayerRecord, GatedModel | LatentModel]:
    """Fit the layer on its bought rows, and choose its theta.

    `reaching` marks the rows that the layers before give up; None if this layer decides alone.
    """
    rows, n_classes = record.rows, after.n_classes
    X, y = after.X[rows], after.y[rows]
    before = np.ones(len(after.y), dtype=np.bool_) if reaching is None else reaching.copy()
    if not settings.rejection:
        found, name = fitted(X, y, n_classes, settings, rng)
        if first.discovered is not None:
            found, weight = stacked(found, first.discovered, rows, y, first.columns)
            name += "" if weight == 1.0 else f" (weight {weight:g}, initial layer {1 - weight:g})"
        votes = HeldOut.of(found, y)
        tried = votes.judge(settings.theta, before[rows] if before[rows].any() else None)
        reason = f"the likeliest class, known or hidden, cross-validated on {tried.rows} bought rows"
        choice = Choice(tried.theta, (tried,), reason, True)
        before[rows] &= ~votes.accepted(settings.theta)
        record = replace(record, theta=tried.theta, choice=choice, given_up=before, model=name, held_out=votes)
        return record, found.model
    if settings.theta is None:
        judge = CrossValidation.of_features(
            X, y, n_classes, settings.options, folds=min(settings.folds, len(rows)), rng=rng
        )
        choice = choose_augmented(judge, settings.thetas, n_classes, None if reaching is None else reaching[rows])
        before[rows] &= ~judge.accepted(choice.theta)
        winner = judge.vote(choice.theta)[0]
        record = replace(record, theta=choice.theta, choice=choice, given_up=before, winner=winner)
    return record, fit(X, y, n_classes, record.theta, settings.options)


def _with_first_layer(
    first: Layer, record: LayerRecord, second: LayerRecord
) -> tuple[list[Layer], list[LayerRecord], list[str]]:
    """The first layer in front of the second with the price that suits both, or no first layer."""
    assert record.held_out is not None
    assert second.held_out is not None
    assert isinstance(first.model, LatentModel)
    rows, votes = second.rows, record.held_out
    known = HeldOut(votes.held[rows], votes.law, votes.y[rows])
    offered = [theta for theta in INITIAL_THETAS if theta <= record.theta]
    theta = settled(known, offered or [record.theta], second.held_out)
    if theta is None:
        everyone = np.ones(len(votes.y), dtype=np.bool_)
        return (
            [],
            [replace(record, given_up=everyone)],
            ["the initial layer decides no row: the next layer is more accurate on the bought ones"],
        )
    return [Layer(regated(first.model, theta))], [replace(record, given_up=~votes.accepted(theta))], []


def buy_more(selected: list[int], base: Base, money: Fraction, buyer: Buyer) -> int:
    """Buy the next rows of the selected candidates for as long as the money lasts; returns how many rows."""
    can = np.array([buyer.available(arm) for arm in selected])
    wanted: dict[int, list[int]] = {arm: [] for arm in selected}
    count = 0
    for row in base.rows:
        lacking = [arm for arm in selected if not buyer.bought[arm, row]]
        price = sum((buyer.costs[arm] for arm in lacking), Fraction(0))
        if not lacking or not _all_there(can[:, row]):
            continue
        if price > money:
            break
        money -= price
        count += 1
        for arm in lacking:
            wanted[arm].append(int(row))
    if count:
        rows = {arm: np.array(bought, dtype=np.int64) for arm, bought in wanted.items() if bought}
        buyer.buy(rows, layer=base.layer, purpose="validation")
    return count


def _all_there(mask: BoolArray) -> bool:
    return bool(mask.all())


def _augmented(base: Base, selected: list[int], rows: IntArray, buyer: Buyer) -> Base:
    """Known features with the selected candidates' bought values; NaN where they were not bought."""
    tables = [base.X]
    for arm in selected:
        values = buyer.values(arm, rows)
        table = np.full((base.X.shape[0], values.shape[1]), np.nan)
        table[rows] = values
        tables.append(table)
    return Base(np.hstack(tables), base.y, base.n_classes, rows, base.layer + 1)
