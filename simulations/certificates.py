"""Certify failure probabilities by simulation: P[failure] <= delta with confidence 1 - alpha.

The seed of the trials is one that nobody chose, a SHA-256 digest of pool, score, sampling, strategy and budget. Trials
run until the evidence that the failure probability is below delta reaches 1 / alpha, or until that is out of
reach. The evidence is valid at every stop (`theory.verdicts.log_evidence_below`). A trial in which certificates of
scores leave a decision open counts as a failure. Attempt j of a search has the error probability alpha / 2^j, so that
all statements of the search together are wrong with probability at most alpha. A delta below `RARE` needs weighted
trials (`simulations._rare_failures`).

The confidence is that of a test, not of a proof. To try N specifications multiplies alpha by N, which is why alpha is
small. The deterministic bounds of `theory` stand beside the certificate.
"""

from __future__ import annotations

import hashlib
import json
import math
from bisect import bisect_left
from collections.abc import Callable
from dataclasses import asdict, replace
from fractions import Fraction
from pathlib import Path
from typing import Annotated, Any, ClassVar, Self

from pydantic import BeforeValidator, Field, model_validator
from scipy.special import rel_entr

import exml_sim
from exml_sim._internal.files import write_file
from exml_sim.bandit.parametric import RandomInstancePool
from exml_sim.bandit.trial_batch import check_budget
from exml_sim.engine._fields import Choice, read_spec, spec, to_canonical, to_plain, whole
from exml_sim.engine._specs import Budgets
from exml_sim.engine._trials import outcomes
from exml_sim.engine.study import Cell, Study
from exml_sim.money import Money, exact, show
from exml_sim.plugins import guard_calls
from theory.verdicts import ROUNDING, log_evidence_below

ALPHA = 1e-9
#: Trials of an attempt after which it gives up, unless told otherwise.
MAX_TRIALS = 400_000
#: Failure probabilities below this are certified with weighted trials, 64 / delta of them at most.
RARE, MAX_RARE_TRIALS = 1e-4, 64.0
#: A search for a rare failure probability begins where it is near this part of delta, in a run of this many trials.
RARE_RATE, RARE_SEARCH = 0.4, 4096
#: Trials before the first analysis; later ones come when the number of trials has grown by an eighth.
FIRST_ANALYSIS = 1000
#: Expected failures at rate delta in a trial run that only chooses which budgets are attempted.
SEARCH_FAILURES = 200
#: Attempts of a search, and pulls per arm at which it gives up.
MAX_ATTEMPTS, MAX_PULLS_PER_ARM = 24, 2**20

#: Trials that a file may name.
MAX_WEIGHTED_TRIALS = 10**15

Notify = Callable[[str], None]
Probability = Annotated[float, Field(strict=True, gt=0.0, lt=1.0)]


@spec
class Attempt:
    """One attempt to certify a budget.

    Attributes
    ----------
    budget
        Exact money as text.
    level
        Probability of a wrong certificate by this attempt.
    digest
        SHA-256 of the specification at this budget; the seed of its trials.
    trials, failures
        Trials, and how many failed or were uncertain.
    uncertain
        Trials in which certificates of scores left a decision open.
    certified
        Whether the evidence reached 1 / level.
    estimate
        Estimated failure probability, with four digits.
    """

    what: ClassVar[str] = "attempt"

    budget: Annotated[str, BeforeValidator(lambda value: show(exact(value)))]
    level: Probability
    digest: str
    trials: Annotated[int, whole(1, MAX_WEIGHTED_TRIALS)]
    failures: Annotated[int, whole(0, MAX_WEIGHTED_TRIALS)]
    uncertain: Annotated[int, whole(0, MAX_WEIGHTED_TRIALS)]
    certified: Annotated[bool, Field(strict=True)]
    estimate: Annotated[float, Field(strict=True)]

    @model_validator(mode="after")
    def _check_counts(self) -> Self:
        if not self.uncertain <= self.failures <= self.trials:
            counts = f"uncertain {self.uncertain}, failures {self.failures}, trials {self.trials}"
            raise ValueError(f"uncertain <= failures <= trials must hold, got {counts}")
        return self


@spec
class Certificate:
    """A specification of pool and strategy, and the attempts to certify budgets for it.

    Attributes
    ----------
    specification
        Table of the study with one pool, score and strategy.
    delta, alpha
        Certified failure probability, and the probability that some certified attempt is wrong.
    attempts
        All attempts, in their order.
    scope
        How it was made: "budget" is about one budget, "search" reports all attempts of a search.
    max_trials
        Trials after which an attempt gave up.
    version
        Version of exml-sim that ran the trials.
    """

    what: ClassVar[str] = "certificate"

    specification: dict[str, Any]
    delta: Probability
    alpha: Probability
    attempts: Annotated[tuple[Attempt, ...], Field(min_length=1)]
    scope: Annotated[str, Choice(("budget", "search"))]
    max_trials: Annotated[int, whole(1, MAX_WEIGHTED_TRIALS)]
    version: str = exml_sim.__version__

    @property
    def best(self) -> Attempt | None:
        """The certified attempt with the smallest budget; None if there is none."""
        certified = [attempt for attempt in self.attempts if attempt.certified]
        return min(certified, key=lambda attempt: exact(attempt.budget), default=None)

    @property
    def budget(self) -> Fraction | None:
        """The smallest certified budget; None if there is none."""
        return None if self.best is None else exact(self.best.budget)

    @property
    def sentence(self) -> str:
        """The certificate in one sentence."""
        if self.best is None:
            tried = ", ".join(f"{attempt.budget} ({_rate(attempt)})" for attempt in self.attempts)
            return f"No budget was certified for a failure probability of {self.delta:.4g}; tried: {tried}."
        return (
            f"Failure probability at most {self.delta:.4g} at budget {self.best.budget}, certified by simulation with "
            f"confidence 1 - {self.alpha:.0e}: {_rate(self.best)}."
        )

    def concerns(self, study: Study, cell: Cell) -> bool:
        """Tell whether the certificate is about the pool, score and strategy of a cell."""
        return self.best is not None and _digest(_only(study, cell), self.best.budget) == self.best.digest

    def to_json(self) -> str:
        """Return the certificate as JSON text."""
        return json.dumps({"kind": KIND, **asdict(self)}, indent=1)

    @classmethod
    def from_json(cls, text: str) -> Certificate:
        """Read a certificate from JSON text, and check its keys, types and ranges."""
        try:
            table = json.loads(text)
        except (ValueError, RecursionError):
            raise ValueError("not a certificate of exml-sim: the file is not JSON") from None
        kind = table.pop("kind", None) if isinstance(table, dict) else None
        if kind != KIND:
            raise ValueError(f"not a certificate of exml-sim: kind must be {KIND!r}, got {str(kind)[:80]!r}")
        attempts = table.get("attempts")
        if isinstance(attempts, list):
            table["attempts"] = tuple(read_spec(Attempt, attempt, "an attempt") for attempt in attempts)
        return read_spec(cls, table, "a certificate")

    def save(self, folder: Path) -> Path:
        """Write the certificate to a folder; its name is made of its contents."""
        folder.mkdir(parents=True, exist_ok=True)
        text = self.to_json()
        file = folder / f"certificate-{hashlib.sha256(text.encode()).hexdigest()[:16]}.json"
        write_file(file, text)
        return file


#: First entry of the file of a certificate; the number changes with its meaning.
KIND = "exml-sim certificate 2"


def _rate(attempt: Attempt) -> str:
    doubtful = f", {attempt.uncertain:,} of them uncertain" if attempt.uncertain else ""
    rate = attempt.failures / attempt.trials
    # Weighted trials, mostly of tilted components, fail more often than the strategy does.
    weighted = f" (weighted rate {attempt.estimate:.3g})" if attempt.estimate != _round(rate) else ""
    return f"{attempt.failures:,} failures in {attempt.trials:,} trials{weighted}{doubtful}"


def _round(value: float) -> float:
    return float(f"{value:.4g}")


def certify(
    study: Study, cell: Cell, delta: float, alpha: float = ALPHA, *, max_trials: int | None = None, n_jobs: int = 1
) -> Certificate:
    """Certify that the strategy of a cell fails with probability at most delta at the budget of the cell.

    Below 1e-4 this needs uniform allocation, the same rows for all arms, and kappa Lambda at most 1 - 2 theta.

    Parameters
    ----------
    study, cell : Study, Cell
        Pool, score, sampling, strategy and budget.
    delta, alpha : float
        Failure probability to certify, and the probability of a wrong certificate.
    max_trials : int, optional
        Trials after which the attempt gives up; 400,000, or 64 / delta below 1e-4.
    n_jobs : int
        Threads.
    """
    only, max_trials = _prepare(study, cell, delta, alpha, max_trials)
    attempt = _attempt(only, exact(cell.budget), delta, alpha, max_trials, n_jobs)
    return Certificate(_describe(only), delta, alpha, (attempt,), "budget", max_trials)


def search_budget(
    study: Study,
    cell: Cell,
    delta: float,
    alpha: float = ALPHA,
    *,
    max_trials: int | None = None,
    n_jobs: int = 1,
    notify: Notify = lambda text: None,
) -> Certificate:
    """Search for the smallest budget that can be certified for the pool and strategy of a cell.

    Parameters are those of `certify`. Budgets are whole pulls per arm. A trial run with a seed of its own chooses where
    the attempts begin. With weighted trials the first certified budget ends the search, because an attempt takes half a
    minute.
    """
    only, max_trials = _prepare(study, cell, delta, alpha, max_trials)
    unit = sum(only.pool(only.cells()[0]).prices.exact_costs, Fraction(0))
    attempts: list[Attempt] = []
    pulls, failed = _first_guess(only, unit, delta, max_trials, n_jobs), {0}
    while len(attempts) < MAX_ATTEMPTS and pulls not in failed:
        notify(f"certifying budget {show(pulls * unit)}")
        level = alpha / 2 ** (len(attempts) + 1)
        attempts.append(_attempt(only, pulls * unit, delta, level, max_trials, n_jobs))
        if attempts[-1].certified:
            pulls -= 1
            if _is_weighted(only, delta) or not _is_affordable(only, pulls * unit):
                break
        else:
            failed.add(pulls)
            if any(attempt.certified for attempt in attempts):
                break
            pulls += max(1, pulls // 32)
    return Certificate(_describe(only), delta, alpha, tuple(attempts), "search", max_trials)


def replay(certificate: Certificate, plugins: Any = (), *, n_jobs: int = 1) -> list[str]:
    """Make a certificate again; return what does not agree, nothing if the certificate holds.

    The whole of a search is repeated, so that attempts that failed cannot be left out.
    """
    study = Study.from_table(certificate.specification, plugins)
    if len(cells := study.cells()) != 1:
        return [f"the specification has {len(cells)} cells, and a certificate is about one"]
    if certificate.best is None:
        return ["no attempt is certified"]
    cell, given = cells[0], certificate.attempts
    if certificate.scope != "search":
        cell = replace(cell, budget=given[0].budget)
    if digests := [attempt for attempt in given if attempt.digest != _digest(_only(study, cell), attempt.budget)]:
        return [f"budget {attempt.budget}: the digest is another than {attempt.digest[:16]}" for attempt in digests]
    how: dict[str, Any] = {"alpha": certificate.alpha, "n_jobs": n_jobs}
    make = search_budget if certificate.scope == "search" else certify
    again = make(study, cell, certificate.delta, max_trials=certificate.max_trials, **how)
    differences = [
        f"budget {recorded.budget}: the trials give {_describe_attempt(repeated)}, and the certificate says "
        f"{_describe_attempt(recorded)}"
        for repeated, recorded in zip(again.attempts, given, strict=False)
        if repeated != recorded
    ]
    if len(again.attempts) != len(given):
        differences.append(f"there are {len(again.attempts)} attempts, and the certificate reports {len(given)}")
    return differences


def _describe_attempt(attempt: Attempt) -> str:
    """Return everything that a replay compares."""
    verdict = "certified" if attempt.certified else "not certified"
    return f"{_rate(attempt)} at budget {attempt.budget}, {verdict} at level {attempt.level:.3g}"


def read_certificates(folder: Path) -> list[Certificate]:
    """Read all certificates of a folder, by name; other files are left out."""
    files = sorted(folder.glob("certificate-*.json"))
    return [Certificate.from_json(file.read_text(encoding="utf-8")) for file in files]


def _prepare(study: Study, cell: Cell, delta: float, alpha: float, max_trials: int | None) -> tuple[Study, int]:
    """Check what a certificate is asked for; return the study of the cell only, and the number of trials."""
    for name, value in (("delta", delta), ("alpha", alpha)):
        if not 0.0 < value < 1.0:
            raise ValueError(f"{name} must be strictly between 0 and 1, got {value:g}")
    only = _only(study, cell)
    only.check()
    weighted = _is_weighted(only, delta)
    if max_trials is None:
        max_trials = math.ceil(MAX_RARE_TRIALS / delta) if weighted else MAX_TRIALS
    if max_trials * -math.log1p(-delta) < -math.log(alpha):
        from simulations._rare_failures import find_obstacle

        few = f"{max_trials:,} trials cannot certify {delta:g} at level {alpha:.3g}; allow more trials"
        raise ValueError(f"{few}; trials can be weighted for {find_obstacle(only)} only" if delta < RARE else few)
    return only, max_trials


def _is_weighted(only: Study, delta: float, rare: float = RARE) -> bool:
    """Tell whether a failure probability is certified with weighted trials."""
    if delta >= rare:
        return False
    # Studies, figures and reports read certificates and need none of this.
    from simulations._rare_failures import find_obstacle

    return not find_obstacle(only)


def _only(study: Study, cell: Cell) -> Study:
    """Return the study of one pool, score and strategy, without what plays no role."""
    return replace(
        study,
        pools=(study.pools[cell.pool],),
        scores=() if cell.score < 0 else (study.scores[cell.score],),
        strategies=(study.strategies[cell.strategy],),
        budgets=Budgets(absolute=(show(exact(cell.budget)),)),
        trials=1,
        seed=0,
        mode="monte_carlo",
        stop=None,
        bounds=(),
        name="certificate",
    )


def _describe(only: Study) -> dict[str, Any]:
    """Return the specification as plain values, as JSON has them."""
    table: dict[str, Any] = json.loads(json.dumps(only.table()))
    return table


def _digest(only: Study, budget: Money) -> str:
    """Return the digest of pool, score, sampling, strategy and budget; labels play no role."""
    pool = only.pools[0]
    table = {key: value for key, value in to_plain(pool).items() if key != "label"}
    parts = [pool.kind, table, to_plain(only.scores), to_plain(only.sampling), only.strategies[0].table()]
    digests = sorted(plugin.digest for plugin in only.used_plugins)
    return hashlib.sha256(to_canonical([KIND, *parts, digests, show(exact(budget))]).encode()).hexdigest()


def _count_failures(only: Study, budget: Fraction, digest: str, trials: range, n_jobs: int) -> tuple[int, int]:
    """Count trials that failed or were uncertain, and those that were uncertain."""
    cell = only.cells()[0]
    pool, strategy = only.pool(cell), only.strategy(cell)
    with guard_calls(*only.cell_plugins(cell)):
        explored = pool.explore_many(strategy, budget, trials, seed=int(digest[:32], 16), n_jobs=n_jobs)
        if isinstance(pool, RandomInstancePool):
            success, _ = pool.outcomes(explored.seeds, explored.selected, strategy.objective)
        else:
            success, _ = outcomes(pool, explored.selected, strategy.objective)
    assert explored.uncertain is not None
    return int((~success | explored.uncertain).sum()), int(explored.uncertain.sum())


def _is_certified(failures: int, trials: int, delta: float, level: float) -> bool:
    return log_evidence_below(failures, trials, delta) >= ROUNDING - math.log(level)


def _attempt(
    only: Study,
    budget: Fraction,
    delta: float,
    level: float,
    max_trials: int,
    n_jobs: int,
    first_analysis: int = FIRST_ANALYSIS,
) -> Attempt:
    """Run trials until the budget is certified, or until that is out of reach."""
    if _is_weighted(only, delta):
        from simulations._rare_failures import run_trials

        digest = _digest(only, budget)
        done, weights, certified = run_trials(
            only, budget, digest, delta, ROUNDING - math.log(level), max_trials, n_jobs
        )
        estimate = _round(float(weights.sum()) / done)
        return Attempt(show(budget), level, digest, done, weights.size, 0, certified, estimate)
    digest, done, failures, uncertain = _digest(only, budget), 0, 0, 0
    certified = hopeless = False
    while not certified and not hopeless and done < max_trials:
        stop = min(max_trials, done + max(first_analysis, done // 8))
        counts = _count_failures(only, budget, digest, range(done, stop), n_jobs)
        done, failures, uncertain = stop, failures + counts[0], uncertain + counts[1]
        certified = _is_certified(failures, done, delta, level)
        hopeless = _is_hopeless(failures, done, delta, level, max_trials)
    return Attempt(show(budget), level, digest, done, failures, uncertain, certified, _round(failures / done))


def _is_hopeless(failures: int, trials: int, delta: float, level: float, max_trials: int) -> bool:
    """Tell whether more trials than allowed are needed, even at a rate three standard errors below."""
    rate = failures / trials
    rate = max(rate - 3.0 * math.sqrt(max(rate, 1.0 / trials) / trials), 0.0)
    if rate >= delta:
        return True
    evidence = float(rel_entr(rate, delta) + rel_entr(1.0 - rate, 1.0 - delta))
    return evidence * max_trials < -math.log(level) + 0.5 * math.log(max_trials * delta)


def _first_guess(only: Study, unit: Fraction, delta: float, max_trials: int, n_jobs: int) -> int:
    """Find pulls per arm with a rate near delta, by a trial run that certifies nothing."""
    trials = range(min(math.ceil(SEARCH_FAILURES / delta), max_trials))
    rare = None
    if _is_weighted(only, delta):
        from simulations._rare_failures import RareFailures

        rare = RareFailures(only, plain=0.05)

    def fails(pulls: int) -> bool:
        budget = pulls * unit
        if not _is_affordable(only, budget):
            return True
        seed = hashlib.sha256(f"search {_digest(only, budget)}".encode()).hexdigest()
        if rare is not None:
            total = rare.find_weights(pulls, seed, range(RARE_SEARCH), n_jobs).sum()
            return float(total) > RARE_RATE * delta * RARE_SEARCH
        return _count_failures(only, budget, seed, trials, n_jobs)[0] > delta * len(trials)

    high = 1
    while fails(high):
        high *= 2
        if high > MAX_PULLS_PER_ARM:
            raise ValueError(f"no budget up to {show(high * unit)} has a failure rate of at most {delta:g}")
    between = range(high // 2 + 1, high)
    return between.start + bisect_left(between, True, key=lambda pulls: not fails(pulls))


def _is_affordable(only: Study, budget: Fraction) -> bool:
    """Tell whether a budget pays for the first round of the strategy."""
    cell = only.cells()[0]
    try:
        check_budget(budget, only.strategy(cell), only.pool(cell).prices)
    except ValueError:
        return False
    return True
