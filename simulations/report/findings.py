"""What a study found, in sentences."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from fractions import Fraction

from exml_sim.engine.intervals import Paired
from exml_sim.engine.result import CellSummary, StudyResult
from simulations.panels import (
    ALARM,
    CONFIDENCE,
    TARGET,
    Panel,
    account_sentence,
    gained,
    needs,
    power,
    sentence,
    times,
    title_of,
    verdicts,
)
from simulations.plugin_bounds import describe_missing


def findings_of(result: StudyResult, panels: Sequence[Panel]) -> list[str]:
    """The headline findings: needed budgets, where bounds speak, verdicts, and strategies against each other."""
    several = len({panel.place for panel in panels}) > 1
    found = []
    for panel in panels:
        text = sentence(needs(panel))
        found.append(f"{panel.place}: {text}" if several else text)
        if where := account_sentence(panel):
            found.append(f"{panel.place}: {where}" if several else where)
        better = gained(panel)
        if better:
            found.append(_gain(panel, better))
    judged = _judged(panels)
    found += [judged] if judged else [_silent(panels)]
    found += [_power(panels)] if judged else []
    found += _against(result, panels)
    found += [missing] if (missing := describe_missing(result.study)) else []
    if not result.complete:
        found.append("The study is not complete: some cells have fewer trials than planned, or stopped early.")
    return found


def _gain(panel: Panel, cells: Sequence[CellSummary]) -> str:
    limit = max(cell.upper for cell in cells)
    return (
        f"At {_budgets([cell.budget for cell in cells])} our bound for {panel.title} is below {TARGET:.0%} while the "
        f"paper's is vacuous, and the observed rate is below both (at most {limit:.1e} at {CONFIDENCE:.0%})."
    )


def _judged(panels: Sequence[Panel]) -> str:
    """Every bound that is not vacuous, held against every cell."""
    outcomes = Counter(verdict.outcome for _, _, _, verdict in verdicts(panels))
    telling = sum(outcomes.values()) - outcomes["vacuous"]
    if not telling:
        return ""
    result = (
        "none is refuted" if not outcomes["refuted"] else f"{outcomes['refuted']} are REFUTED by the observed rates"
    )
    return (
        f"Of {sum(outcomes.values())} pairs of a cell and a bound, {telling} are not vacuous: {result}, "
        f"{outcomes['consistent']} would have shown a violation by the factor 2, {outcomes['undecided']} only a larger "
        f"one (false-alarm probability {ALARM:.0e} for all together)."
    )


def _power(panels: Sequence[Panel]) -> str:
    """What these trials could have seen of a bound that is too small."""
    seen = power(panels)
    if not seen:
        return "No bound speaks where failures were seen, so these trials could not have refuted one by its size."
    parts = [
        f"{title_of(one.version)} divided by {times(one.factor)} ({one.title} at {float(one.budget):,.0f})"
        for one in seen
    ]
    speaking = [name for panel in panels for name in panel.versions if _speaks(panel, name)]
    silent = [title_of(name) for name in dict.fromkeys(speaking) if name not in {one.version for one in seen}]
    rest = f". Where other bounds speak ({_listed(silent)}) no failure was seen" if silent else ""
    return f"Had a bound been smaller by this much, the trials would have refuted it: {_listed(parts)}{rest}."


def _speaks(panel: Panel, version: str) -> bool:
    return any(panel.bound_at(version, cell) < 1 for cell in panel.cells)


def _silent(panels: Sequence[Panel]) -> str:
    if stopped := _stopped(panels):
        return stopped
    reasons = list(dict.fromkeys(panel.reason for panel in panels if panel.reason))
    if reasons and not any(panel.plugin_bounds for panel in panels):
        return f"No bound is laid over: {_listed(reasons)}."
    if any(_speaks(panel, name) for panel in panels for name in panel.versions):
        return "Rates by tilted sampling are estimates, which are not judged against the bounds."
    return "All bounds are vacuous at these budgets: at least 1, or below their launch budgets."


def _stopped(panels: Sequence[Panel]) -> str:
    """Cells that may stop early, by the confidence sequence that stopped them."""
    pairs = [
        (cell, panel.bound_at(name, cell))
        for panel in panels
        for cell in panel.cells
        if cell.interval == "confidence sequence"
        for name in panel.versions
        if panel.bound_at(name, cell) < 1
    ]
    if not pairs:
        return ""
    below = sum(cell.upper <= bound for cell, bound in pairs)
    above = sum(cell.lower > bound for cell, bound in pairs)
    words = f"{below} are decided for the bound, {above} against it{' (REFUTED)' if above else ''}"
    return (
        f"Of {len(pairs)} pairs of a cell that may stop early and a bound that is not vacuous, {words}, "
        f"{len(pairs) - below - above} are open (confidence sequences at {pairs[0][0].level:.0%}, each by itself)."
    )


def _against(result: StudyResult, panels: Sequence[Panel]) -> list[str]:
    """Strategies compared on the same random numbers, by exact sign tests."""
    if result.study.mode not in ("monte_carlo", "excess_risk") or result.study.stop is not None:
        return []
    pairs: list[tuple[Panel, Panel, str, Paired]] = []
    for i, first in enumerate(panels):
        for second in panels[i + 1 :]:
            if (first.pool, first.score) == (second.pool, second.score):
                pairs += _paired(result, first, second)
    if not pairs:
        return []
    limit = 0.01 / len(pairs)
    sentences = []
    for one, other in dict.fromkeys((first.title, second.title) for first, second, _, _ in pairs):
        mine = [pair for pair in pairs if (pair[0].title, pair[1].title) == (one, other)]
        decided = [pair for pair in mine if pair[3].p_value < limit]
        worse = [pair[2] for pair in decided if pair[3].difference > 0]
        better = [pair[2] for pair in decided if pair[3].difference < 0]
        parts = []
        if better:
            parts.append(f"{one} misses the best candidate less often at {_budgets(better)}")
        if worse:
            parts.append(f"{other} misses it less often at {_budgets(worse)}")
        rest = len(mine) - len(decided)
        if rest:
            parts.append(f"{rest} of {len(mine)} comparisons are undecided")
        sentences.append(f"On the same random numbers {'; '.join(parts)} (sign tests, 1% for all together).")
    return sentences


def _paired(result: StudyResult, first: Panel, second: Panel) -> list[tuple[Panel, Panel, str, Paired]]:
    others = {cell.budget: cell for cell in second.cells}
    return [
        (first, second, cell.budget, result.compare(cell.cell, others[cell.budget].cell))
        for cell in first.cells
        if cell.budget in others
    ]


def _budgets(budgets: Sequence[str]) -> str:
    shown = [f"{float(Fraction(budget)):,g}" for budget in budgets]
    return f"budget {shown[0]}" if len(shown) == 1 else f"budgets {_listed(shown)}"


def _listed(words: Sequence[str]) -> str:
    return words[0] if len(words) == 1 else f"{', '.join(words[:-1])} and {words[-1]}"
