"""Print the planted errors of docs/reference/results-bounds.md: ``python -m tests.statistical.planted_table``."""

from __future__ import annotations

from tests.statistical.wrong_bounds import PLANTED
from tests.statistical.wrong_strategies import BUGS, seen
from theory import tighter
from theory.claims import all_claims
from theory.claims._instances import failure_median, failure_uniform, parameters
from theory.verdicts import Verdict, judge_exact

HEAD = ("| planted error | caught by | evidence |", "|---|---|---|")


def ties(strategy: str) -> tuple[Verdict, Verdict]:
    """The bound held against "selects a best arm", which it speaks of, and against "selects the first arm"."""
    if strategy == "uniform":
        place = parameters("tied-3")
        bound = float(tighter.delta_fail_uniform(600, *place, best_count=2))
        uniforms = [failure_uniform("tied-3", 600, target=target) for target in (None, 0)]
    else:
        place = parameters("tied-4")
        bound = float(tighter.delta_fail_median(800, *place, best_count=2, rows="fresh"))
        uniforms = [failure_median("tied-4", 800, target=target, accumulate=False) for target in (None, 0)]
    return judge_exact(uniforms[0], bound), judge_exact(uniforms[1], bound)


def printed_regret() -> tuple[Verdict, Verdict]:
    """Lemma 2 (ii) with the rows that the selected arm has, and with floor(B / log2 K) rows as printed."""
    claim = next(entry for entry in all_claims() if entry.id == "lemma-2-ii")
    return claim.check_corrected(), claim.check()


def shown(bound: float) -> str:
    """A number, or that it is too small to be one."""
    return f"{bound:.3g}" if bound > 0 else "below 1e-300"


def bound_rows() -> list[str]:
    """One line per wrong bound."""
    lines = []
    for entry in PLANTED:
        where = entry.instance
        right, wrong = (bound(where.point, where.budget) for bound in (entry.right, entry.wrong))
        says = f"the right bound {right:.3g}" if right < 1 else "the right bound says nothing"
        evidence = f"{where.name}: probability {where.least:.3g}, {says}, the wrong one {shown(wrong)}"
        lines.append(f"| {entry.error} | `test_a_wrong_bound_is_refuted_exactly` | {evidence} |")
    return lines


def statement_rows() -> list[str]:
    """One line per statement whose wrong form is not another number."""
    lines = []
    for strategy, test in (
        ("uniform", "test_ignoring_ties_is_refuted"),
        ("median", "test_ignoring_ties_in_median_elimination_is_refuted"),
    ):
        right, wrong = ties(strategy)
        evidence = (
            f"bound {right.bound:.3g}: misses the best arms with {right.rate:.3g}, the first arm with {wrong.rate:.3g}"
        )
        lines.append(f"| ties ignored, {strategy} | `{test}` | {evidence} |")
    numbers = dict(printed_regret()[1].evidence)
    evidence = f"exact probability of a larger regret at least {numbers['left']:.3g}, allowed {numbers['right']:.3g}"
    lines.append(
        f"| sum of n_t as printed, in the regret | `test_twice_the_rows_in_the_regret_is_refuted` | {evidence} |"
    )
    return lines


def bug_rows() -> list[str]:
    """One line per planted bug."""
    lines = []
    for error in BUGS:
        result = seen(error)
        evidence = (
            f"exact probability {result.probability:.3g}; of {result.trials:,} the right one failed {result.right:,}, "
            f"the wrong one {result.wrong:,}"
        )
        lines.append(f"| {error} | `test_a_bug_is_refuted` | {evidence} |")
    return lines


def tables() -> dict[str, list[str]]:
    """Both tables, by the heading they stand under."""
    return {
        "Planted wrong bounds": [*HEAD, *bound_rows(), *statement_rows()],
        "Planted bugs": [*HEAD, *bug_rows()],
    }


if __name__ == "__main__":
    for heading, lines in tables().items():
        print(f"### {heading}\n")
        print("\n".join(lines), end="\n\n")
