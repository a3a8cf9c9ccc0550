"""ExMLClassifier: a table, a price list and a budget in; a classifier that knows about a hidden class out."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.utils.validation import check_is_fitted

from exml_sim.exploration.ledger import Ledger
from exml_sim.method import summary
from exml_sim.method.buyer import Buyer
from exml_sim.method.cascade import Cascade
from exml_sim.method.door import blank_labels, check_memory, copied_rows, label_findings, refuse
from exml_sim.method.judgement import Judgement, judge
from exml_sim.method.latent_layers import check_rows
from exml_sim.method.layers import Assessment, Grown, check_affordable, grow, initial_layer
from exml_sim.method.layout import Columns, Layout
from exml_sim.method.predicting import Predicting
from exml_sim.method.settings import PAPER, Settings, settings_of
from exml_sim.method.thresholds import PAPER_THETAS
from exml_sim.money import Money, exact
from exml_sim.oracle import ArrayOracle, Oracle, zip_names
from exml_sim.threads import one_thread
from exml_sim.validation import check_alike, check_random_state, check_theta


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


class ExMLClassifier(Predicting, ClassifierMixin, BaseEstimator):  # type: ignore[misc]
    r"""Exploratory machine learning (Section 3) with an oracle of candidates.

    A rejection model is trained on the observed features. If it gives up too many rows, candidates are explored with
    the budget, the best one augments a second layer, and what the last layer gives up is the hidden class.

    Parameters
    ----------
    budget : money, optional
        All that may be spent. Exactly one of `budget` and `budget_ratio`.
    budget_ratio : number in (0, 1], optional
        The budget as a share of the price of buying everything, :math:`B = b\,m\sum_i c_i` (with unit costs the paper's
        b m K).
    strategy : str or Strategy, default "explore_then_commit"
        One of `exml_sim.strategies.STRATEGIES`. The default is a race for the final model: it explores as long as that
        is worth more than further rows of the leader (`exml_sim.method.race`). With one candidate there is nothing to
        choose: all money buys its rows.
    confidence : number in (0, 1), optional
        Buy until the best candidate is known with this probability (approximate), up to the indifference, or the money
        ends; then all money buys rows of it. A race of single candidates, unless `strategy` names another rule with a
        confidence.
    indifference : float, default 0
        Held-out squared errors this close need not be told apart.
    stop_when_sure : bool, default False
        Keep the money that is left when the selection is sure; the confidence is 0.95 unless given.
    alignment : {"sample", "budget"}, optional
        How a round's money becomes pulls under unequal costs; "sample" by default.
    objective : {"risk", "risk_per_cost"}, optional
        What the best candidate is; "risk_per_cost" prefers those that will be cheap at test time (the paper's remark).
    top : int, optional
        Number of candidates that one layer adds. By default the race adds as many as are worth it; other strategies
        one.
    layers : int, default 2
        Layers of the cascade, the initial one included. Every further layer explores the remaining candidates with an
        equal share of the budget, on the rows that have the candidates selected so far.
    cascade : bool, default True
        False: the last layer alone decides (the paper's "aug"), so that every point needs the candidate.
    theta : "auto", "hindsight" or float, default "auto"
        Rejection cost of the augmented layers. "auto": `validation_share` of the budget buys more rows of the selected
        candidate, and theta is chosen from `thetas` by cross-validation on its bought rows, perceived labels only (see
        `exml_sim.method.thresholds`). "hindsight": the paper's protocol; the run is repeated for every theta, each
        with the whole budget, and the one that is best on *test labels* is kept, so `fit` needs ``hindsight=``; for
        comparison with the paper only.
    thetas : sequence of float, default (0.1, 0.2, 0.3, 0.4)
        The pool of "auto" and "hindsight".
    initial_theta : "auto" or float, default "auto"
        Rejection cost of the initial model; "auto" is cross-validation for `target`.
    exploration_theta : float, default 0.2
        Rejection cost in the scores of an automatic run. The initial model's theta is not used for it: it is often so
        small that every row is given up and all candidates score alike.
    target : float, default 0.95
        Wanted accuracy on accepted rows.
    tolerated_rejection : float, default 0.05
        A model that reaches the target and rejects no more than this needs no exploration.
    explore : {"auto", "always", "never"}, default "auto"
        "auto" spends nothing if the initial model is good.
    validation_share : number in [0, 1), default 0.1
        Part of the budget that is kept for choosing theta; what rounding leaves over is added to it.
    candidate_score : {"held_out", "risk", "objective"}, default "held_out"
        Score of a candidate: squared error of probabilities on rows that the model has not seen, Eq. 5 (a training
        loss), or the penalised objective per row.
    model : {"auto", "rejection", "forest", "kernel"} or a classifier, default "auto"
        What a layer is: the paper's rejection model; a forest, kernel regression or any classifier of scikit-learn
        with `predict_proba`, with the hidden class as a class of its own (`exml_sim.method.latent`); "auto" takes
        the mean of forest and kernel, or one of them where it predicts unseen labels better.
    mislabelling : "estimate", "fair" or sequence of float, default "estimate"
        How hidden rows are taken to be labelled, not for rejection models: estimated
        (`exml_sim.method.mislabelling`), any known label alike, or given probabilities of the known classes in
        sorted order.
    hidden_share : float in (0, 1), optional
        About how large a share of all rows is hidden, if you know it; not for rejection models. Labels hardly tell it:
        by default a hidden class is taken to be about as large as a known one, unless it is seen to be
        larger.
    kernel, gamma, C_h, C_g, loss, scaling
        The rejection models, see `exml_sim.method.gated.ModelOptions`.
    folds : int, default 5
        Folds of the cross-validations.
    hidden_label : default "hidden"
        What `predict` returns for the hidden class. With numbers as labels give a number that is no class, such as -1:
        scorers of scikit-learn do not take numbers and texts together.
    random_state : int, Generator or None, default 0
        Order in which rows are bought, and folds.
    candidates : mapping, optional
        Candidates that are columns of X: name to column or columns (names, or numbers from 0). NaN cannot be bought.
        Then `fit` and `predict` need no oracle, and `cross_val_score` and `GridSearchCV` slice all of it together.
    costs : mapping, optional
        Cost of one value of each of `candidates`; 1 where a name is missing.
    n_jobs : int, default 1
        Threads that fit the models by which candidates are compared, -1 for all cores; nothing but the time depends on
        them. A classifier of your own is fitted by one.

    Attributes
    ----------
    classes_ : known classes
    n_features_in_, feature_names_in_
        Columns of X. A table whose columns come in another order is refused by `predict`.
    cascade_ : Cascade
    assessment_ : Assessment
        Whether the initial model left anything to explore.
    explored_ : bool
    selected_ : tuple of str
        Candidates that were selected, layer by layer.
    records_ : tuple of LayerRecord
        How every layer came about: rounds with scores, how sure the selection is, choice of theta.
    ledger_ : Ledger
        Every purchase. With theta="hindsight" that of the run that was kept.
    purchases_ : tuple of Purchase
        Row by row.
    bought_ : ndarray of bool, shape (K, m)
        Which values were paid for.
    widths_ : dict
        Number of columns of every candidate of which something was bought.
    hindsight_ : tuple of (theta, accuracy on test labels)
        Empty except with theta="hindsight".
    judgement_ : Judgement or None
        Held-out figures next to simpler models (`exml_sim.method.judgement`); None if theta was given.
    notes_ : tuple of str
        Remarks, for instance why a layer was left out.
    budget_ : Fraction

    Examples
    --------
    >>> from exml_sim.datasets import make_synthetic
    >>> from exml_sim.oracle import ArrayOracle
    >>> rows = make_synthetic(rng=0)
    >>> oracle = ArrayOracle({c.name: c.values for c in rows.candidates})
    >>> model = ExMLClassifier(budget_ratio=0.2, hidden_label=3).fit(rows.X, rows.y, oracle)
    >>> model.ledger_.spent <= model.budget_ == 540
    True
    """

    def __init__(
        self,
        *,
        budget: Money | None = None,
        budget_ratio: Money | None = None,
        strategy: Any = "explore_then_commit",
        confidence: float | None = None,
        indifference: float = 0.0,
        stop_when_sure: bool = False,
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
        self.indifference = indifference
        self.stop_when_sure = stop_when_sure
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

    @classmethod
    def paper(cls, **parameters: Any) -> ExMLClassifier:
        """The paper's method: median elimination on Eq. 5, rejection models, one candidate; the rest as given."""
        return cls(**{**PAPER, **parameters})

    def fit(
        self, X: Any, y: ArrayLike, oracle: Oracle | None = None, *, hindsight: Hindsight | None = None
    ) -> ExMLClassifier:
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

    def _fit(self, X: Any, y: ArrayLike, oracle: Oracle | None, hindsight: Hindsight | None) -> ExMLClassifier:
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
        check_is_fitted(self, "cascade_")
        return summary.text(self)

    def _keep(self, grown: Grown, buyer: Buyer) -> None:
        self.cascade_ = Cascade(grown.layers)
        self.records_ = grown.records
        self.notes_ = (*self._remarks, *grown.notes)
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


def _balanced(found: Assessment, judgement: Judgement | None) -> Assessment:
    """A model that is accurate in all, but does not know a class, leaves something to explore."""
    if found.needed or judgement is None or not judgement.unknown:
        return found
    worst = judgement.unknown[0]
    reason = f"class {worst.name!r} is recognised in {worst.right} of {worst.accepted} accepted rows"
    return Assessment(True, f"{found.reason}, but {reason}")
