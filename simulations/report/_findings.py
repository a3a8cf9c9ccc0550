"""Write the results of a study as sentences: what was studied, the headline, and further findings."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from fractions import Fraction
from itertools import pairwise

from exml_sim._internal.validation import counted
from exml_sim.engine._statistics import Paired
from exml_sim.engine.bound_context import describe_missing
from exml_sim.engine.result import CellSummary, StudyResult
from simulations.panels import (
    ALPHA,
    CONFIDENCE,
    SLACK_CAUSES,
    TARGET,
    Needs,
    Panel,
    decompose_slack,
    describe_shortfall,
    find_needs,
    format_factor,
    name_bound,
    needed_in_simulation,
)
from theory.classical import CLASSICAL
from theory.verdicts import Verdict, judge_exact, judge_family
from theory.versions import VERSIONS

QUESTION = f"How much budget does a strategy need to miss the best arm in at most {TARGET:.0%} of all trials?"
#: Error probability of all comparisons of strategies together.
PAIRED_ALPHA = 0.01
#: Pools and pairs of strategies with a sentence of their own in the headline.
MAX_PLACES = 3


def judge_panels(panels: Sequence[Panel]) -> list[tuple[Panel, CellSummary, str, Verdict]]:
    """Test every counted or exact cell against every bound; `ALPHA` holds for all counts together."""
    pairs = [
        (panel, cell, name, panel.bound_at(name, cell))
        for panel in panels
        for cell in panel.cells
        if cell.interval in ("clopper-pearson", "exact")
        for name in panel.versions
    ]
    counts = [(cell.failures, cell.trials, bound) for _, cell, _, bound in pairs if cell.interval != "exact"]
    counted = iter(judge_family(counts, alpha=ALPHA))
    return [
        (panel, cell, name, judge_exact(min(max(cell.failure_rate, 0.0), 1.0), bound))
        if cell.interval == "exact"
        else (panel, cell, name, next(counted))
        for panel, cell, name, bound in pairs
    ]


def find_gains(panel: Panel) -> list[CellSummary]:
    """Find cells where our bound is below the target, the paper's is vacuous, and the rate is below both.

    The rate counts as below only if the upper end of its interval is: no failure seen is an upper limit, not 0.
    """
    gains = []
    for cell in panel.cells:
        ours, paper = panel.bound_at("tighter", cell), panel.bound_at("paper", cell)
        if ours < TARGET and not paper < 1.0 and cell.upper < ours:
            gains.append(cell)
    return gains


def describe_study(result: StudyResult, panels: Sequence[Panel]) -> str:
    """Say in one line what was studied: pools, arms, best arm, gaps, strategies, budgets, trials."""
    places = {panel.place: panel for panel in panels}
    pools = [_describe_pool(result, panel) for panel in list(places.values())[:MAX_PLACES]]
    pools += [f"{len(places) - MAX_PLACES} more pools"] if len(places) > MAX_PLACES else []
    strategies = list(dict.fromkeys(panel.title for panel in panels))
    budgets = sorted({budget for panel in panels for budget in panel.budgets})
    span = f"{len(budgets)} budgets from {budgets[0]:,g} to {budgets[-1]:,g}"
    span = f"budget {budgets[0]:,g}" if len(budgets) == 1 else span
    return f"{'; '.join(pools)}; {_join(strategies)}; {span}; {_trials(panels)}."


def _describe_pool(result: StudyResult, panel: Panel) -> str:
    start = f"{panel.place} with {len(panel.arms)} arms"
    cell = next(cell for cell in result.study_cells if cell.index == panel.cells[0].cell)
    if result.study.missing_plugin(cell):
        return start
    pool = result.study.pool(cell)
    best = pool.best_arms()
    if len(best) == len(panel.arms):
        return start
    gaps = sorted(float(gap) for i, gap in enumerate(pool.gaps) if i not in best)
    names = _join([panel.arms[i] for i in best[:MAX_PLACES]])
    span = f"gap {gaps[0]:.3g}" if len(gaps) == 1 else f"gaps {gaps[0]:.3g} to {gaps[-1]:.3g}"
    return f"{start} (best {names}, {span})"


def _trials(panels: Sequence[Panel]) -> str:
    counts = sorted({cell.trials for panel in panels for cell in panel.cells})
    if all(cell.interval == "exact" for panel in panels for cell in panel.cells):
        return "computed exactly"
    return f"{counts[0]:,} trials each" if len(counts) == 1 else f"{counts[0]:,} to {counts[-1]:,} trials each"


def write_headline(result: StudyResult, panels: Sequence[Panel]) -> list[str]:
    """Answer `QUESTION`: which strategy needs how much, with its uncertainty, and who misses less often."""
    places = list(dict.fromkeys(panel.place for panel in panels))
    sentences = []
    for place in places[:MAX_PLACES]:
        shown = [panel for panel in panels if panel.place == place]
        ranking = _rank(shown) + _write_certified(shown)
        sentences.append(f"{place}: {ranking}" if len(places) > 1 else ranking)
    if any(needed_in_simulation(panel.cells, TARGET) for panel in panels):
        limit = f"the {CONFIDENCE:.0%} upper limit of the failure rate is at most {TARGET:.0%}"
        sentences.append(f"A needed budget is the smallest tried one from which on {limit}")
    comparisons = _compare_strategies(result, panels)
    if len(comparisons) > MAX_PLACES:
        more = f"{len(comparisons) - MAX_PLACES} further pairs of strategies were compared"
        comparisons = [*comparisons[:MAX_PLACES], f"{more}; their rates are in the table of cells."]
    return [f"{sentence}." for sentence in sentences] + comparisons


def summarise_bounds(panels: Sequence[Panel]) -> str:
    """Say what the sharpest and the weakest bound require of the strategy that needs the least budget."""
    reached = [(needs.simulated, needs) for needs in map(find_needs, panels) if needs.simulated is not None]
    if not reached:
        return ""
    needs = min(reached, key=lambda pair: pair[0])[1]
    known = sorted((budget, name) for name, budget in needs.bounds.items() if budget is not None)
    if not known:
        return ""
    ends = known if len(known) == 1 else [known[0], known[-1]]
    parts = [f"the {_write_bound(name)} requires {budget:,}{_write_factor(needs, name)}" for budget, name in ends]
    return f"For {needs.title}, {_join(parts)}."


def _write_factor(needs: Needs, name: str) -> str:
    """Write the multiple of the budget needed in simulation; nothing where a tried budget is above the bound's."""
    factor = needs.factor(name)
    return f" ({format_factor(factor)} times as much)" if factor >= 1.0 else ""


def _rank(panels: Sequence[Panel]) -> str:
    """Order the strategies of one pool by the budget that they need in simulation."""
    needed = [(needed_in_simulation(panel.cells, TARGET), panel.title) for panel in panels]
    reached = sorted([(budget, title) for budget, title in needed if budget is not None], key=lambda pair: pair[0])
    missing = [panel for panel, (budget, _) in zip(panels, needed, strict=True) if budget is None]
    short = describe_shortfall(missing)
    if not reached:
        return _capitalise(short)
    groups: dict[Fraction, list[str]] = {}
    for budget, title in reached:
        groups.setdefault(budget, []).append(title)
    if len(reached) == len(groups) == 2:
        (less, (first,)), (more, (second,)) = groups.items()
        text = f"{first} needs less budget than {second}: {float(less):,.0f} against {float(more):,.0f}"
    else:
        needs = [f"{_join(t)} need{'s' if len(t) == 1 else ''} {float(b):,.0f}" for b, t in groups.items()]
        text = _join(needs)
    return f"At the tried budgets, {text}; {short}" if missing else f"At the tried budgets, {text}"


def _write_certified(panels: Sequence[Panel]) -> str:
    """Name the budgets that are certified by simulation, which do not depend on the tried ones; empty without any."""
    certified = [(panel, budget) for panel in panels if (budget := find_certified(panel)) is not None]
    if not certified:
        return ""
    alpha = max(certificate.alpha for panel, _ in certified for certificate in panel.certificates)
    budgets = _join([f"{panel.title} {float(budget):,g}" for panel, budget in certified])
    return f"; certified by simulation with confidence 1 - {alpha:.0e}: {budgets}"


def find_certified(panel: Panel) -> Fraction | None:
    """Find the smallest budget that a certificate of the panel gives for `TARGET`; None without one."""
    known = [c.budget for c in panel.certificates if c.budget is not None and c.delta <= TARGET]
    return min(known, default=None)


def write_needs(needs: Needs) -> str:
    """Say what budget a strategy needs in simulation and by each bound."""
    if needs.simulated is None:
        return f"{_capitalise(needs.title)}: no budget has an upper limit of at most {TARGET:.0%} in this study."
    start = (
        f"To miss the best arm in at most {TARGET:.0%} of all trials, {needs.title} needs a budget of about "
        f"{float(needs.simulated):,.0f} in simulation"
    )
    parts = [
        f"{_whose(name)} {_write_bound(name)} {budget:,}{f' ({format_factor(factor)}x)' if factor >= 1.0 else ''}"
        for name, budget in needs.bounds.items()
        if budget is not None
        for factor in [needs.factor(name)]
    ]
    if not parts:
        return f"{start}."
    first, *rest = parts
    return f"{start}; {', '.join([first.replace(' bound ', ' bound needs ', 1), *rest])}."


def _write_bound(version: str) -> str:
    """Name a bound in a sentence."""
    name = name_bound(version)
    return f"{name} bound" if version in CLASSICAL and "bound" not in name else name


def _whose(version: str) -> str:
    """Bounds beyond the corrected one are ours."""
    return "the" if version in ("paper", "corrected") or version not in VERSIONS else "our"


def write_slack(panel: Panel) -> str:
    """Say into which factors the slack of the distribution-free bound decomposes; empty if unknown."""
    steps = decompose_slack(panel)
    if not steps:
        return ""
    factors = [before.budget / after.budget for before, after in pairwise(steps)]
    parts = [f"{name} {format_factor(factor)}" for name, factor in zip(SLACK_CAUSES, factors, strict=True)]
    total = format_factor(steps[0].budget / steps[-1].budget)
    note = (
        " Sampling is below 1 because exp(-n I) is not a bound and the budgets are a grid." if factors[-1] < 1 else ""
    )
    return f"The factor {total} decomposes into {' x '.join(parts)}.{note}"


def write_budgets(panels: Sequence[Panel]) -> list[str]:
    """Say for every panel what budget it needs in simulation and by each bound, and how the slack decomposes."""
    sentences = [
        (panel, " ".join(filter(None, (write_needs(find_needs(panel)), write_slack(panel))))) for panel in panels
    ]
    return _prefix_places(sentences)


def write_findings(result: StudyResult, panels: Sequence[Panel]) -> list[str]:
    """Write further findings: gains over the paper's bound, and what is missing."""
    findings = _prefix_places([(panel, text) for panel in panels if (text := _write_gains(panel))])
    if missing := describe_missing(result.study):
        findings.append(missing)
    if skipped := result.skipped:
        findings.append(
            f"{counted(len(skipped), 'cell')} skipped, because the budget does not pay for the first round: "
            f"{_join(skipped[:MAX_PLACES])}{', …' if len(skipped) > MAX_PLACES else ''}."
        )
    if not result.complete:
        findings.append("The study is not complete: some cells have fewer trials than planned, or stopped early.")
    return findings


def _prefix_places(sentences: Sequence[tuple[Panel, str]]) -> list[str]:
    """Put the pool before each sentence if there are several pools."""
    several = len({panel.place for panel, _ in sentences}) > 1
    return [f"{panel.place}: {text}" if several else text for panel, text in sentences]


def _write_gains(panel: Panel) -> str:
    cells = find_gains(panel)
    if not cells:
        return ""
    limit = max(cell.upper for cell in cells)
    return (
        f"At {_list_budgets([cell.budget for cell in cells])} our {name_bound('tighter')} of {panel.title} is below "
        f"{TARGET:.0%} while the {name_bound('paper')} is vacuous. The failure rate is below both (at most {limit:.1e} "
        f"at {CONFIDENCE:.0%})."
    )


def write_verdict(panels: Sequence[Panel]) -> str:
    """Summarise the tests of all bounds, or say why there are none."""
    return _write_verdicts(panels) or _explain_silence(panels)


def _write_verdicts(panels: Sequence[Panel]) -> str:
    """Summarise the tests of all bounds that are not vacuous."""
    outcomes = Counter(verdict.outcome for _, _, _, verdict in judge_panels(panels))
    informative = sum(outcomes.values()) - outcomes["vacuous"]
    if not informative:
        return ""
    alpha = f"(alpha {ALPHA:.0e} for {counted(sum(outcomes.values()), 'comparison')})"
    tested = f"The bound is below 1 in {informative} of them"
    power = (
        f"{outcomes['consistent']} would have detected a violation by the factor 2, {outcomes['undecided']} only a "
        "larger one."
    )
    refuted = describe_refuted(panels)
    if not refuted:
        return f"No bound is refuted {alpha}. {tested}; {power}"
    named = [*refuted[:MAX_PLACES], *([f"{len(refuted) - MAX_PLACES} more"] if len(refuted) > MAX_PLACES else [])]
    verb = "1 comparison REFUTES" if len(refuted) == 1 else f"{len(refuted)} comparisons REFUTE"
    rest = f" Of the {informative - len(refuted)} that are not refuted, {power}" if informative > len(refuted) else ""
    return f"{verb} a bound {alpha}: {_join(named)}. {tested}.{rest}"


def describe_refuted(panels: Sequence[Panel]) -> list[str]:
    """Name bound, strategy, budget and pool of every comparison that refutes a bound."""
    several = len({panel.place for panel in panels}) > 1
    return [
        f"{_write_bound(name)} of {panel.title} at budget {float(Fraction(cell.budget)):,g}"
        f"{f' on {panel.place}' if several else ''} (rate {cell.failure_rate:.3g}, bound "
        f"{panel.bound_at(name, cell):.3g})"
        for panel, cell, name, verdict in judge_panels(panels)
        if verdict.outcome == "refuted"
    ]


def _explain_silence(panels: Sequence[Panel]) -> str:
    """Say why there are no verdicts."""
    if stopped := _write_stopped(panels):
        return stopped
    reasons = list(dict.fromkeys(panel.reason for panel in panels if panel.reason))
    if reasons and not any(panel.versions for panel in panels):
        return f"No bound applies: {_join(reasons)}."
    if any(panel.bound_at(name, cell) < 1 for panel in panels for cell in panel.cells for name in panel.versions):
        return "Rates by importance sampling are estimates; they are not tested against the bounds."
    return "All bounds are vacuous at these budgets: at least 1, or below their launch budgets."


def _write_stopped(panels: Sequence[Panel]) -> str:
    """Summarise cells that may stop early, by the confidence sequence that stopped them."""
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
    return (
        f"Of {len(pairs)} comparisons of a cell that may stop early with a bound that is not vacuous, {below} are "
        f"decided for the bound, {above} against it{' (REFUTED)' if above else ''}, {len(pairs) - below - above} are "
        f"open (confidence sequences at {pairs[0][0].level:.0%}, each by itself)."
    )


def _compare_strategies(result: StudyResult, panels: Sequence[Panel]) -> list[str]:
    """Compare strategies on the same trials by exact sign tests; pairs with the most differences come first."""
    pairs = list(_pair_cells(result, panels))
    limit = PAIRED_ALPHA / max(len(pairs), 1)
    sentences = []
    for first, second in dict.fromkeys((pair[0], pair[1]) for pair in pairs):
        group = [(budget, paired) for *titles, budget, paired in pairs if titles == [first, second]]
        decided = [(budget, paired.difference) for budget, paired in group if paired.p_value < limit]
        less = {
            first: [budget for budget, difference in decided if difference < 0],
            second: [budget for budget, difference in decided if difference > 0],
        }
        sentences.append((len(decided), _write_comparison(less, len(group))))
    sentences.sort(key=lambda pair: -pair[0])
    test = f"exact sign tests, error probability {PAIRED_ALPHA:.0%} for all together"
    texts = [_capitalise(text) for _, text in sentences]
    return [f"On the same trials {sentences[0][1]} ({test}).", *(f"{text}." for text in texts[1:])] if texts else []


def _write_comparison(less: dict[str, list[str]], total: int) -> str:
    """Say at which budgets each of two strategies misses the best arm less often."""
    winners = [title for title, budgets in less.items() if budgets]
    if not winners:
        return f"no difference between {_join(list(less))} is significant at any of {total} budgets"
    if len(winners) == 1:
        (loser,) = (title for title in less if title not in winners)
        number = len(less[winners[0]])
        others = "" if number == total else ", and no other difference is significant"
        return f"{winners[0]} misses the best arm less often than {loser} at {number} of {total} budgets{others}"
    parts = [f"{title} misses the best arm less often at {_list_budgets(less[title])}" for title in winners]
    return "; ".join(parts)


def _pair_cells(result: StudyResult, panels: Sequence[Panel]) -> Iterator[tuple[str, str, str, Paired]]:
    """Yield titles, budget and comparison of all pairs of strategies at equal pool, score and budget."""
    if result.study.mode not in ("monte_carlo", "excess_risk") or result.study.stop is not None:
        return
    for i, first in enumerate(panels):
        for second in panels[i + 1 :]:
            if (first.pool, first.score) != (second.pool, second.score):
                continue
            cells: dict[str, CellSummary] = {cell.budget: cell for cell in second.cells}
            for cell in first.cells:
                if cell.budget in cells:
                    paired = result.compare(cell.cell, cells[cell.budget].cell)
                    yield first.title, second.title, cell.budget, paired


def _list_budgets(budgets: Sequence[str]) -> str:
    shown = [f"{float(Fraction(budget)):,g}" for budget in budgets]
    return f"budget {shown[0]}" if len(shown) == 1 else f"budgets {_join(shown)}"


def _join(words: Sequence[str]) -> str:
    return " and ".join(filter(None, (", ".join(words[:-1]), *words[-1:])))


def _capitalise(text: str) -> str:
    return text[:1].upper() + text[1:]
