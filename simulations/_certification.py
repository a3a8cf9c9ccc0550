"""Certify failure probabilities by simulation: P[failure] <= delta with confidence 1 - alpha.

The seed of the trials is one that nobody chose, a SHA-256 digest of pool, score, sampling, strategy and budget. Trials
run until the evidence that the failure probability is below delta reaches 1 / alpha, or until that is out of
reach. The evidence is valid at every stop (`theory.verdicts.log_evidence_below`). A trial in which certificates of
scores leave a decision open counts as a failure. Attempt j of a search has the error probability alpha / 2^j, so that
all statements of the search together are wrong with probability at most alpha.

The confidence is that of a test, not of a proof. To try N specifications multiplies alpha by N, which is why alpha is
small. The deterministic bounds of `theory` stand beside the certificate.
"""

from __future__ import annotations

import hashlib
import json
import math
import os
from collections.abc import Callable, Iterator, Mapping
from dataclasses import asdict, dataclass, replace
from fractions import Fraction
from pathlib import Path
from typing import Any

from scipy.special import rel_entr

import exml_sim
from exml_sim.bandit.parametric import RandomInstancePool
from exml_sim.bandit.strategy import check_budget
from exml_sim.engine._fields import to_canonical, to_plain
from exml_sim.engine._specs import Budgets
from exml_sim.engine._trials import outcomes
from exml_sim.engine.study import Cell, Study
from exml_sim.money import Money, exact, show
from exml_sim.plugins import guard_calls
from theory.verdicts import ROUNDING, log_evidence_below, upper_limit

ALPHA = 1e-9
#: Trials of an attempt after which it gives up, unless told otherwise.
MAX_TRIALS = 400_000
#: Trials before the first analysis; later ones come when the number of trials has grown by an eighth.
FIRST_ANALYSIS = 1000
#: Expected failures at rate delta in a trial run that only chooses which budgets are attempted.
SEARCH_FAILURES = 200
#: Attempts of a search, and pulls per arm at which it gives up.
MAX_ATTEMPTS, MAX_PULLS_PER_ARM = 24, 2**20

Notify = Callable[[str], None]


@dataclass(frozen=True, slots=True)
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
    """

    budget: str
    level: float
    digest: str
    trials: int
    failures: int
    uncertain: int
    certified: bool


@dataclass(frozen=True, slots=True)
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
    version
        Version of exml-sim that ran the trials.
    """

    specification: Mapping[str, Any]
    delta: float
    alpha: float
    attempts: tuple[Attempt, ...]
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
        """Read a certificate from JSON text, and check the types of its parts."""
        try:
            table = json.loads(text)
            if table.pop("kind") != KIND:
                raise ValueError("another kind of file")
            attempts = tuple(_checked(Attempt(**attempt)) for attempt in table.pop("attempts"))
            certificate: Certificate = _checked(cls(**{**table, "attempts": attempts}))
            return certificate
        except (KeyError, TypeError, AttributeError, ValueError, RecursionError) as error:
            raise ValueError(f"not a certificate of exml-sim ({str(error)[:200]})") from None

    def save(self, folder: Path) -> Path:
        """Write the certificate to a folder; its name is made of its contents."""
        folder.mkdir(parents=True, exist_ok=True)
        text = self.to_json()
        file = folder / f"certificate-{hashlib.sha256(text.encode()).hexdigest()[:16]}.json"
        part = file.with_name(f"{file.name}.{os.getpid()}.part")
        part.write_text(text, encoding="utf-8")
        part.replace(file)
        return file


#: First entry of the file of a certificate; the number changes with its meaning.
KIND = "exml-sim certificate 1"


def _rate(attempt: Attempt) -> str:
    doubtful = f", {attempt.uncertain:,} of them uncertain" if attempt.uncertain else ""
    return f"{attempt.failures:,} failures in {attempt.trials:,} trials{doubtful}"


def _checked(part: Any) -> Any:
    """Check types and ranges of an attempt or a certificate that was read from a file."""
    kinds = {"str": str, "float": float, "int": int, "bool": bool, "tuple[Attempt, ...]": tuple}
    for name, kind in type(part).__annotations__.items():
        value = getattr(part, name)
        if type(value) is not kinds.get(kind, dict):
            raise ValueError(f"{name} is {value!r}")
    for name in {"delta", "alpha", "level"} & set(type(part).__annotations__):
        if not 0.0 < getattr(part, name) < 1.0:
            raise ValueError(f"{name} is {getattr(part, name)!r}")
    if isinstance(part, Attempt) and not 0 <= part.uncertain <= part.failures <= part.trials > 0:
        raise ValueError(f"{part.failures} failures in {part.trials} trials")
    return part


def certify_cell(
    study: Study, cell: Cell, delta: float, alpha: float = ALPHA, *, max_trials: int = MAX_TRIALS, n_jobs: int = 1
) -> Certificate:
    """Certify the failure probability of a cell of a study; parameters as in `certify`."""
    _check_levels(delta=delta, alpha=alpha)
    only = _only(study, cell)
    only.check()
    attempt = _attempt(only, exact(cell.budget), delta, alpha, max_trials, n_jobs)
    return Certificate(_describe(only), delta, alpha, (attempt,))


def bound_cell(study: Study, cell: Cell, trials: int = 50_000, alpha: float = ALPHA, *, n_jobs: int = 1) -> Certificate:
    """Certify an upper limit of the failure probability of a cell, after a fixed number of trials."""
    _check_levels(alpha=alpha)
    only, digest = _only(study, cell), _digest(_only(study, cell), cell.budget)
    only.check()
    failures, uncertain = _count_failures(only, exact(cell.budget), digest, range(trials), n_jobs)
    delta = upper_limit(failures, trials, alpha)
    attempt = Attempt(show(exact(cell.budget)), alpha, digest, trials, failures, uncertain, delta < 1.0)
    return Certificate(_describe(only), min(delta, math.nextafter(1.0, 0.0)), alpha, (attempt,))


def search_budget(
    study: Study,
    cell: Cell,
    delta: float,
    alpha: float = ALPHA,
    *,
    max_trials: int = MAX_TRIALS,
    n_jobs: int = 1,
    notify: Notify = lambda text: None,
) -> Certificate:
    """Search for the smallest budget that can be certified for the pool and strategy of a cell."""
    _check_levels(delta=delta, alpha=alpha)
    only = _only(study, cell)
    unit = sum(only.pool(only.cells()[0]).prices.exact_costs, Fraction(0))
    attempts: list[Attempt] = []
    pulls, failed = _first_guess(only, unit, delta, max_trials, n_jobs), {0}
    while len(attempts) < MAX_ATTEMPTS and pulls not in failed:
        notify(f"certifying budget {show(pulls * unit)}")
        level = alpha / 2 ** (len(attempts) + 1)
        attempts.append(_attempt(only, pulls * unit, delta, level, max_trials, n_jobs))
        if attempts[-1].certified:
            pulls -= 1
            if not _is_affordable(only, pulls * unit):
                break
        else:
            failed.add(pulls)
            if any(attempt.certified for attempt in attempts):
                break
            pulls += max(1, pulls // 32)
    return Certificate(_describe(only), delta, alpha, tuple(attempts))


def replay(certificate: Certificate, plugins: Any = (), *, n_jobs: int = 1) -> list[str]:
    """Run the certified attempts again; return what does not agree, nothing if the certificate holds."""
    study = Study.from_table(dict(certificate.specification), plugins)
    if len(cells := study.cells()) != 1:
        return [f"the specification has {len(cells)} cells, and a certificate is about one"]
    only, differences = _only(study, cells[0]), []
    shares = math.fsum(attempt.level for attempt in certificate.attempts)
    if shares > certificate.alpha:
        differences.append(
            f"the levels of the attempts add up to {shares:.3g}, more than alpha = {certificate.alpha:g}"
        )
    if certificate.best is None:
        differences.append("no attempt is certified")
    for attempt in certificate.attempts:
        if attempt.certified:
            differences += _find_errors(only, attempt, certificate.delta, n_jobs)
    return differences


def _find_errors(only: Study, attempt: Attempt, delta: float, n_jobs: int) -> Iterator[str]:
    """Yield what is wrong with a certified attempt."""
    budget = attempt.budget
    digest = _digest(only, budget)
    if digest != attempt.digest:
        yield f"budget {budget}: the digest is {digest[:16]}, and the certificate says {attempt.digest[:16]}"
        return
    if not _is_certified(attempt.failures, attempt.trials, delta, attempt.level):
        yield f"budget {budget}: {_rate(attempt)} do not certify {delta:g} at level {attempt.level:.3g}"
    failures, uncertain = _count_failures(only, exact(budget), digest, range(attempt.trials), n_jobs)
    if (failures, uncertain) != (attempt.failures, attempt.uncertain):
        again = _rate(replace(attempt, failures=failures, uncertain=uncertain))
        yield f"budget {budget}: the trials give {again}, and the certificate says {_rate(attempt)}"


def read_certificates(folder: Path) -> list[Certificate]:
    """Read all certificates of a folder, by name; other files are left out."""
    files = sorted(folder.glob("certificate-*.json"))
    return [Certificate.from_json(file.read_text(encoding="utf-8")) for file in files]


def _check_levels(**levels: float) -> None:
    for name, value in levels.items():
        if not 0.0 < value < 1.0:
            raise ValueError(f"{name} must be strictly between 0 and 1, got {value:g}")


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


def _attempt(only: Study, budget: Fraction, delta: float, level: float, max_trials: int, n_jobs: int) -> Attempt:
    """Run trials until the budget is certified, or until that is out of reach."""
    digest, done, failures, uncertain = _digest(only, budget), 0, 0, 0
    certified, hopeless = False, max_trials * -math.log1p(-delta) < -math.log(level)
    while not certified and not hopeless and done < max_trials:
        stop = min(max_trials, done + max(FIRST_ANALYSIS, done // 8))
        counts = _count_failures(only, budget, digest, range(done, stop), n_jobs)
        done, failures, uncertain = stop, failures + counts[0], uncertain + counts[1]
        certified = _is_certified(failures, done, delta, level)
        hopeless = _is_hopeless(failures, done, delta, level, max_trials)
    if done == 0:
        raise ValueError(f"{max_trials:,} trials cannot certify {delta:g} at level {level:.3g}; allow more trials")
    return Attempt(show(budget), level, digest, done, failures, uncertain, certified)


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

    def fails(pulls: int) -> bool:
        budget = pulls * unit
        if not _is_affordable(only, budget):
            return True
        seed = hashlib.sha256(f"search {_digest(only, budget)}".encode()).hexdigest()
        return _count_failures(only, budget, seed, trials, n_jobs)[0] > delta * len(trials)

    high = 1
    while fails(high):
        high *= 2
        if high > MAX_PULLS_PER_ARM:
            raise ValueError(f"no budget up to {show(high * unit)} has a failure rate of at most {delta:g}")
    low = high // 2
    while high - low > 1:
        middle = (low + high) // 2
        low, high = (middle, high) if fails(middle) else (low, middle)
    return high


def _is_affordable(only: Study, budget: Fraction) -> bool:
    """Tell whether a budget pays for the first round of the strategy."""
    cell = only.cells()[0]
    try:
        check_budget(budget, only.strategy(cell), only.pool(cell).prices)
    except ValueError:
        return False
    return True
