"""A table, a price list and a budget in; a classifier that knows about a hidden class out.

All of `exml_sim.classifier.estimator.ExMLClassifier` but its place among scikit-learn's estimators: importing scikit-learn
takes longer than many explorations, and the command line can do without.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from inspect import signature
from typing import Any, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray

from exml_sim.bandit.ledger import Ledger
from exml_sim.classifier import summary
from exml_sim.classifier.buyer import Buyer
from exml_sim.classifier.cascade import Cascade
from exml_sim.classifier.door import blank_labels, check_memory, copied_rows, label_findings, refuse
from exml_sim.classifier.judgement import Judgement, judge
from exml_sim.classifier.latent_layers import check_rows
from exml_sim.classifier.layers import Assessment, Grown, check_affordable, grow, initial_layer
from exml_sim.classifier.layout import Columns, Layout
from exml_sim.classifier.outliers import told
from exml_sim.classifier.predicting import Predicting, check_fitted
from exml_sim.classifier.settings import PAPER, Settings, settings_of
from exml_sim.classifier.thresholds import PAPER_THETAS
from exml_sim.money import Money, exact
from exml_sim.oracle import ArrayOracle, Oracle, zip_names
from exml_sim.threads import one_thread
from exml_sim.validation import check_alike, check_random_state, check_theta

#: Columns of which it is said that bought values lie far from the others.
MOST_TOLD = 5


@dataclass(frozen=True, slots=True, eq=False)
class Hindsight:
    """Test data with the truth, for the paper's protocol: theta of the augmented model is chosen by looking at it.

    Attributes
    ----------
    X
        Observed features of the test rows.
    classes
        What the rows truly are: known classes, and the hidden label.
    oracle
        Candidate values of the test rows.
    """

    X: ArrayLike
    classes: ArrayLike
    oracle: Oracle | Mapping[str, ArrayLike]


class Explorer(Predicting):
    """The exploration with its parameters, which `ExMLClassifier` describes."""

    def __init__(
        self,
        *,
        budget: Money | None = None,
        budget_ratio: Money | None = None,
        strategy: Any = "value_of_information_commit",
        confidence: float | None = None,
        epsilon: float = 0.0,
        stop_when_confident: bool = False,
        alignment: str | None = None,
        objective: str | None = None,
        top: int | None = None,
        layers: int = 2,
        cascade: bool = True,
        theta: float | str = "auto",
        thetas: Sequence[float] = PAPER_THETAS,
        initial_theta: float | str = "auto",
        exploration_theta: float = 0.2,
        target: float = 0.95,
        tolerated_rejection: float = 0.05,
        explore: str = "auto",
        validation_share: Money = 0.1,
        candidate_score: str = "held_out",
        model: Any = "auto",
        mislabelling: Any = "estimate",
        hidden_share: float | None = None,
        kernel: str = "gaussian",
        gamma: float | str = "median",
        C_h: float = 0.1,
        C_g: float = 0.1,
        loss: str = "sum",
        scaling: str = "unit",
        folds: int = 5,
        hidden_label: Any = "hidden",
        random_state: Any = 0,
        candidates: Mapping[str, Columns] | None = None,
        costs: Mapping[str, Money] | None = None,
        n_jobs: int = 1,
    ) -> None:
        self.budget = budget
        self.budget_ratio = budget_ratio
        self.strategy = strategy
        self.confidence = confidence
        self.epsilon = epsilon
        self.stop_when_confident = stop_when_confident
        self.alignment = alignment
        self.objective = objective
        self.top = top
        self.layers = layers
        self.cascade = cascade
        self.theta = theta
        self.thetas = thetas
        self.initial_theta = initial_theta
        self.exploration_theta = exploration_theta
        self.target = target
        self.tolerated_rejection = tolerated_rejection
        self.explore = explore
        self.validation_share = validation_share
        self.candidate_score = candidate_score
        self.model = model
        self.mislabelling = mislabelling
        self.hidden_share = hidden_share
        self.kernel = kernel
        self.gamma = gamma
        self.C_h = C_h
        self.C_g = C_g
        self.loss = loss
        self.scaling = scaling
        self.folds = folds
        self.hidden_label = hidden_label
        self.random_state = random_state
        self.candidates = candidates
        self.costs = costs
        self.n_jobs = n_jobs

    def parameters(self) -> dict[str, Any]:
        """The parameters by name, as they were given."""
        return {name: getattr(self, name) for name in signature(type(self).__init__).parameters if name != "self"}

    @classmethod
    def paper(cls, **parameters: Any) -> Self:
        """The paper's method: median elimination on Eq. 5, rejection models, one candidate; the rest as given."""
        return cls(**{**PAPER, **parameters})

    def fit(self, X: Any, y: ArrayLike, oracle: Oracle | None = None, *, hindsight: Hindsight | None = None) -> Self:
        """Assess, explore, train.

        Parameters
        ----------
        X
            Observed features, shape (m, d): an array, or a table of pandas, polars or Arrow. With `candidates` their
            columns are in it, too.
        y
            Perceived labels, shape (m,): two or more known classes.
        oracle
            Source of candidate values, with their costs; see `exml_sim.oracle`. None with `candidates`.
        hindsight
            Test data with the truth, with theta="hindsight" only.
        """
        # One BLAS thread: sums in another order could tip a choice, and a fit must not depend on the machine's cores.
        with one_thread("blas"):
            return self._fit(X, y, oracle, hindsight)

    def _fit(self, X: Any, y: ArrayLike, oracle: Oracle | None, hindsight: Hindsight | None) -> Self:
        self.layout_ = Layout.of(X, self.candidates)
        rows, oracle = self._sources(X, oracle)
        codes = self._encode(y, len(rows))
        settings = self.settings()
        rng = check_random_state(self.random_state)
        check_rows(codes, len(self.classes_), settings)
        if (self.theta == "hindsight") != (hindsight is not None):
            raise ValueError('theta="hindsight" and the argument hindsight= go together: give both or neither')
        if settings.rejection:
            check_memory(len(rows))
        self.budget_ = self.budget_for(oracle, len(rows))
        buyer = Buyer(oracle, len(rows), self.budget_)
        layer, record, self.assessment_ = initial_layer(
            rows, codes, len(self.classes_), self._initial_theta(), settings, rng
        )
        self.assessment_ = _balanced(self.assessment_, judge((record,), codes, self.classes_, settings.cascade))
        wanted = self.explore == "always" or (self.explore == "auto" and self.assessment_.needed)
        self.explored_ = wanted and settings.layers > 1
        self.hindsight_: tuple[tuple[float, float], ...] = ()
        self._remarks = tuple(filter(None, (copied_rows(rows, codes),)))
        if not self.explored_:
            self._keep(Grown((layer,), (record,)), buyer)
            self.judgement_ = judge(self.records_, codes, self.classes_, settings.cascade)
            return self
        check_affordable(buyer, settings)
        if hindsight is None:
            self._keep(grow(rows, codes, len(self.classes_), (layer, record), buyer, settings, rng), buyer)
        else:
            self._fit_in_hindsight(rows, codes, (layer, record), oracle, settings, rng, hindsight)
        self.judgement_ = judge(self.records_, codes, self.classes_, settings.cascade)
        return self

    def _sources(self, X: Any, oracle: Oracle | None) -> tuple[NDArray[np.float64], Oracle]:
        """Observed features, and the oracle: the given one, or columns of X."""
        rows, values = self.layout_.split(X)
        if (values is None) == (oracle is None):
            raise ValueError("candidate values come from an oracle or, with candidates=, from columns of X: give one")
        if oracle is not None:
            if self.costs is not None:
                raise ValueError("an oracle knows its costs: leave costs= out")
            return rows, oracle
        assert values is not None
        return rows, ArrayOracle(values, self.costs)

    def report(self) -> str:
        """What was assessed, bought and selected, and why, as Markdown text."""
        check_fitted(self)
        return summary.text(self)

    def _keep(self, grown: Grown, buyer: Buyer) -> None:
        self.cascade_ = Cascade(grown.layers)
        self.records_ = grown.records
        self.notes_ = (*self._remarks, *_far_values(buyer), *grown.notes)
        self.ledger_: Ledger = buyer.ledger
        self.purchases_ = tuple(buyer.purchases)
        self.bought_ = buyer.bought
        self.widths_ = buyer.widths
        self.selected_ = tuple(name for record in grown.records for name in record.candidates)

    def _fit_in_hindsight(
        self,
        X: NDArray[np.float64],
        y: NDArray[np.int64],
        first: Any,
        oracle: Oracle,
        settings: Settings,
        rng: np.random.Generator,
        test: Hindsight,
    ) -> None:
        """The paper's protocol: one run per theta, from the same state of the generator; the best on test labels."""
        state = rng.bit_generator.state
        tried, best = [], None
        for theta in settings.thetas:
            rng.bit_generator.state = state
            one = replace(settings, theta=theta, exploration_theta=theta)
            buyer = Buyer(oracle, len(X), self.budget_)
            grown = grow(X, y, len(self.classes_), first, buyer, one, rng)
            self._keep(grown, buyer)
            accuracy = self.score(test.X, test.classes, test.oracle)
            tried.append((theta, accuracy))
            if best is None or accuracy > best[0]:
                best = accuracy, grown, buyer
        assert best is not None
        self._keep(best[1], best[2])
        self.hindsight_ = tuple(tried)

    def _encode(self, y: ArrayLike, rows: int) -> NDArray[np.int64]:
        labels = np.asarray(y)
        if labels.shape != (rows,):
            raise ValueError(f"y must have shape ({rows},), one label per row of X, got {labels.shape}")
        if blank_labels(labels) or labels.dtype.kind == "f":
            refuse(label_findings(labels))
        check_alike(y)
        self.classes_, codes = np.unique(labels, return_inverse=True)
        if len(self.classes_) < 2:
            raise ValueError(f"y must have at least 2 classes, got only {self.classes_[0]!r}")
        if self.hidden_label in self.classes_.tolist():
            raise ValueError(f"hidden_label {self.hidden_label!r} is one of the known classes: choose another")
        return np.asarray(codes, dtype=np.int64)

    def _initial_theta(self) -> float | None:
        if isinstance(self.initial_theta, str):
            if self.initial_theta != "auto":
                raise ValueError(f'initial_theta must be "auto" or a number in (0, 1/2), got {self.initial_theta!r}')
            return None
        return float(check_theta(self.initial_theta))

    def budget_for(self, oracle: Oracle, rows: int) -> Fraction:
        """The exact budget for a table of so many rows."""
        priced = zip_names(oracle)
        if (self.budget is None) == (self.budget_ratio is None):
            raise ValueError("give exactly one of budget and budget_ratio")
        if self.budget is not None:
            budget = exact(self.budget, "budget")
            if budget <= 0:
                raise ValueError(f"budget must be greater than 0, got {self.budget}")
            return budget
        assert self.budget_ratio is not None
        ratio = exact(self.budget_ratio, "budget_ratio")
        if not 0 < ratio <= 1:
            raise ValueError(f"budget_ratio must be in (0, 1], got {self.budget_ratio}")
        return ratio * rows * sum((exact(cost) for _, cost in priced), Fraction(0))

    def settings(self) -> Settings:
        """The parameters, validated."""
        return settings_of(self, len(self.classes_) if hasattr(self, "classes_") else 2)


def _far_values(buyer: Buyer) -> list[str]:
    """Remarks on bought values that lie far from the others; of many candidates, on a few."""
    lines = []
    for arm, name in enumerate(buyer.names):
        rows = np.flatnonzero(buyer.bought[arm])
        if len(rows):
            lines += [line for column in buyer.values(arm, rows).T if (line := told(f"candidate {name}", column))]
    more = [f"{len(lines) - MOST_TOLD} further columns have such values"] if len(lines) > MOST_TOLD else []
    return [*lines[:MOST_TOLD], *more]


def _balanced(found: Assessment, judgement: Judgement | None) -> Assessment:
    """A model that is accurate in all, but does not know a class, leaves something to explore."""
    if found.needed or judgement is None or not judgement.unknown:
        return found
    worst = judgement.unknown[0]
    reason = f"class {worst.name!r} is recognised in {worst.right} of {worst.accepted} accepted rows"
    return Assessment(True, f"{found.reason}, but {reason}")
