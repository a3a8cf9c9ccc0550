"""The report of a fitted ExMLClassifier, as Markdown: assessed, bought, selected, and why."""

from __future__ import annotations

import math
from collections.abc import Sequence
from fractions import Fraction
from itertools import pairwise
from typing import TYPE_CHECKING, Any

from exml_sim.bandit.selection_report import SelectionReport
from exml_sim.classifier import judgement
from exml_sim.classifier.doubts import doubts
from exml_sim.classifier.latent_layers import HeldOut
from exml_sim.classifier.layers import LayerRecord
from exml_sim.classifier.raced import Raced
from exml_sim.classifier.thresholds import Choice
from exml_sim.money import short, show
from exml_sim.validation import counted

if TYPE_CHECKING:
    from exml_sim.bandit.trial import Exploration
    from exml_sim.classifier.explorer import Explorer


def text(model: Explorer) -> str:
    """The whole report."""
    parts = ["# Report", _summary(model), "## How good it is", judgement.text(model.judgement_)]
    parts += ["## Initial model", _initial(model)]
    for record in model.records_[1:]:
        parts += [
            f"## Layer {record.number}: {', '.join(record.candidates)}",
            _layer(record, tuple(model.classes_), model.ledger_.names),
        ]
    if model.hindsight_:
        parts += ["## Theta in hindsight", _hindsight(model)]
    if model.ledger_.rounds:
        parts += ["## Ledger", f"```\n{model.ledger_.table()}\n```"]
    return "\n\n".join(parts) + "\n"


def _summary(model: Explorer) -> str:
    if not model.explored_:
        why = "No exploration is needed" if not model.assessment_.needed else "No exploration was wanted"
        spent = f"Nothing was spent of the budget of {show(model.budget_)}."
        return "\n".join([f"{why}: {model.assessment_.reason}. {spent}", *(f"Note: {note}." for note in model.notes_)])
    lines = [
        f"Selected: {', '.join(model.selected_) or 'nothing'}.",
        f"Spent {show(model.ledger_.spent)} of the budget of {show(model.budget_)}.",
        *(record.statement.sentence() for record in model.records_ if record.statement is not None),
        *_test_time(model),
        *(f"Note: {note}." for note in model.notes_),
        *(f"Warning: {doubt}." for doubt in doubts(model.records_, model.ledger_.names)),
    ]
    return "\n".join(lines)


def _test_time(model: Explorer) -> list[str]:
    """What a prediction will cost: the share of rows that reaches each layer, where cross-validation tells it."""
    costs = dict(zip(model.ledger_.names, model.ledger_.prices.exact_costs, strict=True))
    share, lines = 1.0, []
    for before, record in pairwise(model.records_):
        if model.cascade and before.choice is None:
            break
        share *= _passed_on(before) if model.cascade else 1.0
        price = sum((costs[name] for name in record.candidates), Fraction(0))
        lines.append(
            f"At prediction about {share:.0%} of the rows will need {', '.join(record.candidates)}, "
            f"for {show(price)} each."
        )
    return lines


def _passed_on(record: LayerRecord) -> float:
    """Share of rows that a layer gives up."""
    assert record.choice is not None
    if record.held_out is not None and record.given_up is not None:
        return float(record.given_up.mean())
    return record.choice.chosen.rejection_rate


def _initial(model: Explorer) -> str:
    record = model.records_[0]
    assert record.choice is not None
    needed = "Exploration is needed" if model.assessment_.needed else "No exploration is needed"
    return (
        f"Theta {record.theta:g}: {record.choice.reason}.\n{needed}: {model.assessment_.reason}.\n\n"
        f"{_tried(record.choice, None)}"
    )


def _layer(record: LayerRecord, classes: tuple[Any, ...], names: tuple[str, ...]) -> str:
    lines = []
    if record.exploration is not None:
        lines.append(why(record.exploration, len(record.candidates), record.intervals))
    elif record.race is not None:
        lines.append(why_raced(record.race, names))
    if record.statement is not None:
        lines.append(how_sure(record.statement))
    if record.held_out is not None:
        lines.append(_latent(record, classes))
        return "\n\n".join(lines)
    if record.choice is None:
        lines.append(f"Theta {short(record.theta)} was given. Trained on {counted(len(record.rows), 'row')}.")
    else:
        lines.append(
            f"Theta {record.theta:g}: {record.choice.reason}. {_bought(record.validation_rows)} bought for this "
            f"choice; the layer is trained on all {len(record.rows)} rows."
        )
        lines.append(_tried(record.choice, len(classes)))
    return "\n\n".join(lines)


def _bought(rows: int) -> str:
    return "1 row was" if rows == 1 else f"{rows} rows were"


def how_sure(found: SelectionReport) -> str:
    """The statement, how it was found and what of it is proven, and every comparison."""
    level = f"{100.0 * found.level:g} %"
    lines = [
        f"How sure: {' '.join(found.lines())}",
        "",
        f"| against {found.selected} | difference | at least, with {level} (approximate) | proven at least | rows | |",
        "|---|---|---|---|---|---|",
    ]
    for one in found.comparisons:
        limit = f"{one.at_least:.4f}" if math.isfinite(one.at_least) else "-"
        proven = "-" if one.proven_at_least is None else f"{one.proven_at_least:.4f}"
        fate = "excluded" if one.excluded else "cannot be excluded"
        lines.append(f"| {one.name} | {one.difference:.4f} | {limit} | {proven} | {one.rows} | {fate} |")
    return "\n".join(lines)


def why(exploration: Exploration, selected: int = 1, intervals: Sequence[tuple[float, float]] = ()) -> str:
    """Why the winners won: every round with scores and certificates, best first.

    `intervals` are those of the last scores, for other rows.
    """
    if not exploration.rounds:
        return "There was one candidate: nothing had to be chosen."
    winners = ", ".join(exploration.names[i] for i in exploration.accepted[:selected])
    lines = [
        f"Why {winners}: lower scores are better. The solver's accuracy is that of the arithmetic on these rows; the "
        "interval says what other rows would have given (approximate, without the optimism of a training loss).",
        "",
        "| round | candidate | rows bought | score | 95 % interval | solver accuracy | |",
        "|---|---|---|---|---|---|---|",
    ]
    last = {arm: number for number, one in enumerate(exploration.rounds) for arm in one.active}
    for number, one in enumerate(exploration.rounds, 1):
        for arm in sorted(one.active, key=lambda i: (one.scores[i], i)):
            fate = "stays" if arm in one.survivors else "leaves"
            fate += "" if one.certified else " (not decided by certificates)"
            told = bool(intervals) and last[arm] == number - 1
            lines.append(
                f"| {number} | {exploration.names[arm]} | {one.pulls[arm]} | {one.scores[arm]:.6f} "
                f"| {_interval(intervals[arm]) if told else ''} "
                f"| [{one.lower[arm]:.6f}, {one.upper[arm]:.6f}] | {fate} |"
            )
    return "\n".join(lines)


def why_raced(race: Raced, names: tuple[str, ...]) -> str:
    """Why the winners won: every look at the sets, the best prediction first."""
    if not race.rounds:
        return "There was nothing to compare."

    def named(arms: tuple[int, ...]) -> str:
        return " + ".join(names[arm] for arm in arms)

    lines = [
        f"Why {named(race.winner)}: lower is better. The loss is the squared error of probabilities on rows that the "
        "model has not seen, with an approximate interval; losses of sets may be of different rows. Predicted is what "
        "the race chooses by, on a scale of its own: labels are mixed with what all sets "
        "say together, and it is for as many rows as the money would buy of the set.",
        "",
        "| look | candidates | rows | loss | 95 % interval | rows to come | predicted | deviation from the best | |",
        "|---|---|---|---|---|---|---|---|---|",
    ]
    for number, one in enumerate(race.rounds, 1):
        for c in one.contestants:
            fate = "chosen" if c.arms == one.chosen else "bought on" if set(c.arms) <= set(one.in_play) else ""
            lines.append(
                f"| {number} | {named(c.arms)} | {c.rows} | {c.loss:.4f} | {_interval(c.interval)} | {c.final} "
                f"| {c.predicted:.4f} "
                f"| {c.deviation:.4f} | {fate} |"
            )
    return "\n".join(lines)


def _interval(ends: tuple[float, float]) -> str:
    # Losses are not negative, whatever an interval that is symmetric about the mean says.
    return f"{max(ends[0], 0.0):.3f} to {ends[1]:.3f}" if math.isfinite(ends[0]) else ""


def _latent(record: LayerRecord, classes: tuple[Any, ...]) -> str:
    """Model, law and what it says about its own rows without having seen them."""
    assert record.held_out is not None
    assert record.choice is not None
    one = record.choice.chosen
    return (
        f"Model: {record.model}, trained on {len(record.rows)} rows. Hidden rows, if there are any, are taken to be "
        f"labelled {_law(record.held_out, classes)}{_size(record.held_out)}.\n"
        f"{record.choice.reason}: {one.accepted} accepted, of which {one.accuracy:.1%} have the predicted label."
    )


def _size(votes: HeldOut) -> str:
    """How many rows are hidden, where somebody said it."""
    return "" if votes.size is None else f", and to be about {100 * votes.size:.3g}% of all rows, as given"


def _law(votes: HeldOut, classes: tuple[Any, ...]) -> str:
    """The shares of the labels that hidden rows carry, and what the data leave open."""
    shares = [f"{name!s} {one:.0%}" for name, one in zip(classes, votes.law, strict=True)]
    if votes.mislabelling is None:
        return f"{', '.join(shares)}, as given"
    ends = zip(shares, *votes.mislabelling.range, strict=True)
    return ", ".join(f"{share} ({low:.0%} to {high:.0%} left open)" for share, low, high in ends)


def _tried(choice: Choice, n_classes: int | None) -> str:
    """All prices tried; estimated errors only where they decided."""
    errors = ["estimated errors, as a rule too few"] if n_classes else []
    head = ["theta", "rows", "accepted", "accuracy on accepted", *errors, ""]
    lines = [head, ["---"] * len(head)]
    for one in choice.tried:
        cells = [f"{one.theta:g}", str(one.rows), str(one.accepted), f"{one.accuracy:.1%}" if one.accepted else "-"]
        cells += [f"{one.estimated_errors(n_classes):.1f}"] if n_classes else []
        lines.append([*cells, "chosen" if one.theta == choice.theta else ""])
    return "\n".join(f"| {' | '.join(cells)} |" for cells in lines)


def _hindsight(model: Explorer) -> str:
    lines = [
        "The paper's protocol: the run was repeated for every theta, each time with the whole budget, and the best on "
        "test labels was kept. The ledger is that of the kept run; a real user would have paid for all of them.",
        "",
        "| theta | accuracy on test rows |",
        "|---|---|",
        *(f"| {theta:g} | {accuracy:.1%} |" for theta, accuracy in model.hindsight_),
    ]
    return "\n".join(lines)
