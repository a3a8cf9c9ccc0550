"""ExMLClassifier: explore candidates with a budget and fit a cascade that knows a hidden class.

`BaseExMLClassifier` is the whole estimator. `ExMLClassifier` adds the base classes of scikit-learn and is made when it
is first used, because importing scikit-learn takes longer than many explorations.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from fractions import Fraction
from inspect import signature
from pathlib import Path
from typing import TYPE_CHECKING, Any, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray

from exml_sim._internal.arrays import FloatArray, IntArray
from exml_sim._internal.columns import Encodings, describe_encodings
from exml_sim._internal.threads import one_thread
from exml_sim._internal.validation import check_alike, check_random_state, shown
from exml_sim.classifier._acquisition import AcquisitionManager, Tariff
from exml_sim.classifier._cascade import Cascade, Decisions, Layer, Values, known_probabilities
from exml_sim.classifier._growth import (
    Assessment,
    Grower,
    Growth,
    assess,
    check_affordable,
    fit_initial_record,
)
from exml_sim.classifier._latent_class import LatentModel
from exml_sim.classifier._layers import check_class_rows
from exml_sim.classifier._preflight import (
    PAPER,
    Parameters,
    check_memory,
    count_blank,
    diagnose_duplicates,
    diagnose_far_purchases,
    diagnose_labels,
    raise_errors,
    resolve_parameters,
)
from exml_sim.classifier._probability_models import encode_groups, group_duplicates, join_groups
from exml_sim.classifier._saved_model import Columns, Layout, SavedModel, load, save
from exml_sim.classifier.evaluation import Evaluation, cross_validate, evaluate
from exml_sim.classifier.report import render_report
from exml_sim.money import Money, exact, exact_cost
from exml_sim.oracle import ArrayOracle, Oracle, zip_names

if TYPE_CHECKING:
    from sklearn.base import BaseEstimator, ClassifierMixin


def _require_fitted(model: Any) -> None:
    if not hasattr(model, "cascade_"):
        from sklearn.exceptions import NotFittedError

        raise NotFittedError(
            f"This {type(model).__name__} instance is not fitted yet. Call 'fit' with appropriate arguments before "
            "using this estimator."
        )


class BaseExMLClassifier:
    r"""Exploratory machine learning (Section 3) with an oracle of candidates.

    A model is trained on the observed features. If it rejects too many rows, candidates are explored with the budget,
    the best ones augment a second layer, and rows that the last layer rejects are the hidden class.

    Parameters
    ----------
    budget : money or str, optional
        All that may be spent, or a percentage of the price of buying everything like "20%". Exactly one of `budget` and
        `budget_ratio`.
    budget_ratio : number in (0, 1], optional
        The budget as a share of the price of buying everything, :math:`B = b\,m\sum_i c_i` (with unit costs the paper's
        b m K).
    strategy : str or Strategy, default "value_of_information_commit"
        Strategy of the purchases, by its name or as an object. The default selects a set of
        candidates and explores as long as that is worth more than further rows of the best subset
        (`exml_sim.classifier.subset_selection`). With one candidate all money buys its rows.
    alignment : {"sample", "budget"}, optional
        How a round's money becomes pulls under unequal costs; "sample" by default.
    objective : {"risk", "risk_per_cost"}, optional
        Criterion of the best candidate; "risk_per_cost" prefers those that are cheap at test time (the paper's remark).
    max_candidates : int, optional
        Number of candidates that one layer adds. By default subset selection adds as many as are worth it; other
        strategies one.
    max_stages : int, default 2
        Layers of the cascade, the initial one included. Every further layer explores the remaining candidates with an
        equal part of the budget, on the rows that have the candidates selected so far.
    cascade : bool, default True
        Whether rows go through all layers. If not, the last layer decides alone (the paper's "aug"), and every row
        needs the candidate.
    theta : "auto" or float, default "auto"
        Rejection cost of the augmented layers. "auto": `validation_fraction` of the budget buys more rows of the
        selected candidate, and theta is chosen from the paper's 0.1, 0.2, 0.3 and 0.4 by cross-validation on its bought
        rows (see `exml_sim.classifier._rejection_model`). The initial model's is chosen for `target`.
    target : float, default 0.95
        Wanted accuracy on accepted rows.
    tolerated_rejection : float, default 0.05
        A model that reaches the target and rejects no more than this needs no exploration.
    explore : {"auto", "always", "never"}, default "auto"
        When to explore; "auto" spends nothing if the initial model is good.
    validation_fraction : number in [0, 1), default 0.1
        Part of the budget that is kept for choosing theta; what rounding leaves over is added to it.
    candidate_score : {"held_out", "risk", "objective"}, default "held_out"
        Score of a candidate: squared error of out-of-fold probabilities, Eq. 5 (a training loss), or the penalised
        objective per row.
    model : {"auto", "rejection", "forest", "kernel"} or a classifier, default "auto"
        Model of a layer: the paper's rejection model; a forest, kernel regression or any classifier of scikit-learn
        with `predict_proba`, with the hidden class as a class of its own (`exml_sim.classifier._latent_class`). "auto":
        the mean of forest and kernel, or one of them where its out-of-fold predictions are better.
    label_noise : "estimate", "uniform" or sequence of float, default "estimate"
        Distribution of the observed labels of hidden rows, not for rejection models: estimated
        (`exml_sim.classifier._latent_class`), uniform, or probabilities of the known classes in sorted order.
    hidden : {"class", "flag", "never"}, default "class"
        What `predict` returns for rows that look hidden: "class" the hidden label; "flag" the best known label, while
        `predict_hidden` has the probability of being hidden. "never": nobody expects a hidden class, and none is
        fitted.
    hidden_share : float in [0, 1), optional
        Approximate share of hidden rows; not for rejection models. It is weakly identified by labels. By default
        held-out prediction of labels chooses between a large and a small hidden class
        (`exml_sim.classifier._latent_class`).
    gamma : "median" or float, default "median"
        Bandwidth of rejection models.
    C_h, C_g : float, default 0.1
        Penalties of rejection models.
    loss, scaling : str
        Loss and scaling of rejection models, see `exml_sim.classifier._rejection_model.ModelOptions`.
    folds : int, default 5
        Folds of the cross-validations.
    hidden_label : default "hidden"
        Label that `predict` returns for the hidden class. With numbers as labels give a number that is no class, such
        as -1: scorers of scikit-learn do not take numbers and texts together.
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
        Columns of X; `predict` finds them by name, in any order.
    cascade_ : Cascade
    assessment_ : Assessment
        Whether the initial model needs exploration.
    explored_ : bool
    selected_ : tuple of str
        Candidates that were selected, layer by layer.
    records_ : tuple of LayerRecord
        How every layer came about: rounds with scores, confidence of the selection, choice of theta.
    ledger_ : Ledger
        Every purchase.
    purchases_ : tuple of Acquisition
        Row by row.
    bought_ : ndarray of bool, shape (K, m)
        Which values were paid for.
    widths_ : dict
        Number of columns of every candidate of which something was bought.
    evaluation_ : Evaluation or None
        Metrics by nested cross-validation next to simpler models (`exml_sim.classifier.evaluation`), computed when
        first asked for; None if theta was given.
    notes_ : tuple of Diagnostic
        Notes, for instance why a layer was left out.
    budget_ : Fraction

    Examples
    --------
    >>> from exml_sim.classifier import ExMLClassifier
    >>> from exml_sim.datasets import make_synthetic
    >>> from exml_sim.oracle import ArrayOracle
    >>> rows = make_synthetic(rng=0)
    >>> oracle = ArrayOracle({c.name: c.values for c in rows.candidates})
    >>> model = ExMLClassifier(budget_ratio=0.2, hidden_label=3).fit(rows.X, rows.y, oracle)
    >>> model.ledger_.spent <= model.budget_ == 540
    True
    """

    cascade_: Cascade
    classes_: NDArray[Any]
    layout_: Layout
    encodings_: Mapping[str, Encodings]

    def __init__(
        self,
        *,
        budget: Money | None = None,
        budget_ratio: Money | None = None,
        strategy: Any = "value_of_information_commit",
        alignment: str | None = None,
        objective: str | None = None,
        max_candidates: int | None = None,
        max_stages: int = 2,
        cascade: bool = True,
        theta: float | str = "auto",
        target: float = 0.95,
        tolerated_rejection: float = 0.05,
        explore: str = "auto",
        validation_fraction: Money = 0.1,
        candidate_score: str = "held_out",
        model: Any = "auto",
        label_noise: Any = "estimate",
        hidden: str = "class",
        hidden_share: float | None = None,
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
        # Every parameter is an attribute, as scikit-learn expects.
        vars(self).update({name: value for name, value in locals().items() if name not in ("self", "__class__")})

    if TYPE_CHECKING:

        def __getattr__(self, name: str) -> Any: ...

    def parameters(self) -> dict[str, Any]:
        """Return the parameters by name, as they were given."""
        return {name: getattr(self, name) for name in signature(type(self).__init__).parameters if name != "self"}

    @classmethod
    def paper(cls, **parameters: Any) -> Self:
        """Return the paper's method: median elimination on Eq. 5, rejection models, one candidate.

        Notes
        -----
        Deviations from the paper, by default. Eq. 3 has the sum of the losses, because the mean rejects every row at
        C = 1. Rows are bought without replacement. With theta="auto" exploration uses a fixed theta, and theta of the
        final model is chosen from labels alone. A part of the budget and what rounding leaves buy more rows of the
        selected candidate, and the final model is fitted to all of them. The theorems are about another score, the
        minimum over a ball.
        """
        return cls(**{**PAPER, **parameters})

    def fit(
        self,
        X: Any,
        y: ArrayLike,
        oracle: Oracle | None = None,
        *,
        groups: ArrayLike | None = None,
        **unsupported: Any,
    ) -> Self:
        """Assess the observed columns, explore, and train.

        Parameters
        ----------
        X
            Observed features, shape (m, d): an array, or a table of pandas, polars or Arrow. With `candidates` their
            columns are in it, too.
        y
            Observed labels, shape (m,): two or more known classes.
        oracle
            Source of candidate values, with their costs; see `exml_sim.oracle`. None with `candidates`.
        groups
            Group of every row, such as a person with several rows. Out-of-fold predictions keep rows of a group
            together, as they always do with duplicated rows.
        unsupported
            Refused: rows have no weights (`sample_weight`).
        """
        if unsupported:
            hint = (
                ": every row is one purchase; leave rows out, or repeat them" if "sample_weight" in unsupported else ""
            )
            raise TypeError(f"fit takes no {next(iter(unsupported))}{hint}")
        # One BLAS thread: sums in another order could change a choice, and a fit must not depend on the machine.
        with one_thread("blas"):
            return self._fit(X, y, oracle, groups)

    def _fit(self, X: Any, y: ArrayLike, oracle: Oracle | None, groups: ArrayLike | None) -> Self:
        self.layout_ = Layout.of(X, self.candidates)
        rows, oracle = self._find_sources(X, oracle)
        codes = self._encode(y, len(rows))
        n_classes = len(self.classes_)
        parameters = self.resolve(n_classes)
        rng = check_random_state(self.random_state)
        check_class_rows(codes, n_classes, parameters)
        if parameters.uses_rejection:
            check_memory(len(rows))
        self.budget_ = self.budget_for(oracle, len(rows))
        acquisition = AcquisitionManager(oracle, len(rows), self.budget_)
        acquisition.buy_earlier()
        given = None if groups is None else encode_groups(groups, len(rows))
        apart = join_groups(given, group_duplicates(rows, codes))
        first = fit_initial_record(rows, codes, n_classes, parameters, rng, apart)
        evaluation = evaluate((first,), codes, self.classes_, parameters.cascade)
        self.assessment_ = _assess_classes(assess(first.choice, parameters), evaluation)
        wanted = self.explore == "always" or (self.explore == "auto" and self.assessment_.needed)
        self.explored_ = wanted and parameters.max_stages > 1
        self._data_notes = diagnose_duplicates(rows, codes)
        if not self.explored_:
            self._keep(Growth((Layer(first.fitted.model),), (first,)), acquisition)
        else:
            check_affordable(acquisition, parameters)
            self._keep(Grower(codes, n_classes, first, acquisition, parameters, rng, apart).run(rows), acquisition)
        self._evaluation: tuple[Evaluation | None] | None = None
        self._codes, self._groups = codes, apart
        return self

    @property
    def evaluation_(self) -> Evaluation | None:
        """Metrics by nested cross-validation, computed when first asked for; None if theta was given."""
        if not hasattr(self, "_codes"):
            raise AttributeError("a model that is not fitted, or was loaded, has no evaluation")
        if self._evaluation is None:
            parameters, n_classes = self.resolve(), len(self.classes_)
            with one_thread("blas"):
                nested = cross_validate(self.records_, self._codes, n_classes, parameters, self._groups)
                cascade = parameters.cascade
                self._evaluation = (evaluate(self.records_, self._codes, self.classes_, cascade, nested),)
        return self._evaluation[0]

    def _find_sources(self, X: Any, oracle: Oracle | None) -> tuple[FloatArray, Oracle]:
        """Return observed features, and the oracle: the given one, or columns of X."""
        rows, values = self.layout_.split(X)
        if oracle is not None and values is None:
            if not isinstance(oracle, Oracle):
                raise ValueError(f"an oracle has names, costs and query, like ArrayOracle; got {shown(oracle)}")
            if self.costs is not None:
                raise ValueError("an oracle knows its costs: leave costs= out")
            return rows, oracle
        if values is None or oracle is not None:
            raise ValueError("candidate values come from an oracle or, with candidates=, from columns of X: give one")
        return rows, ArrayOracle(values, self.costs)

    def report(self) -> str:
        """Return what was assessed, bought and selected, and why, as Markdown text."""
        _require_fitted(self)
        return render_report(self)

    def _keep(self, growth: Growth, acquisition: AcquisitionManager) -> None:
        self.cascade_ = Cascade(growth.layers)
        self.records_ = growth.records
        self.notes_ = (*self._data_notes, *diagnose_far_purchases(acquisition), *growth.notes)
        self.ledger_, self.tariff_ = acquisition.ledger, acquisition.tariff
        self.purchases_ = tuple(acquisition.purchases)
        self.bought_ = acquisition.bought
        self.widths_, self.encodings_ = acquisition.widths, acquisition.encodings
        self.selected_ = tuple(name for record in growth.records for name in record.candidates)

    def _encode(self, y: ArrayLike, rows: int) -> IntArray:
        if isinstance(y, list):
            check_alike([label for label in y if isinstance(label, list | tuple)])
        labels = np.asarray(y)
        if labels.shape != (rows,):
            raise ValueError(f"y must have shape ({rows},), one label per row of X, got {labels.shape}")
        if count_blank(labels) or labels.dtype.kind == "f":
            raise_errors(diagnose_labels(labels))
        check_alike(y)
        self.classes_, codes = np.unique(labels, return_inverse=True)
        if len(self.classes_) < 2:
            raise ValueError(f"y must have at least 2 classes, got only {shown(self.classes_[0])}")
        if self.hidden_label is None:
            raise ValueError("hidden_label must be a label, got None: for known labels only use hidden='flag'")
        if self.hidden_label in self.classes_.tolist():
            raise ValueError(f"hidden_label {self.hidden_label!r} is one of the known classes: choose another")
        return np.asarray(codes, dtype=np.int64)

    def budget_for(self, oracle: Oracle, rows: int) -> Fraction:
        """Return the exact budget for a table with `rows` rows."""
        priced = [(name, exact_cost(cost, f"cost of candidate {name!r}")) for name, cost in zip_names(oracle)]
        if (self.budget is None) == (self.budget_ratio is None):
            raise ValueError("give exactly one of budget and budget_ratio")
        is_percentage = isinstance(self.budget, str) and self.budget.strip().endswith("%")
        if self.budget is not None and not is_percentage:
            budget = exact(self.budget, "budget")
            if budget <= 0:
                raise ValueError(f"budget must be greater than 0, got {self.budget}")
            return budget
        try:
            percentage = Fraction(self.budget.strip()[:-1].strip()) if is_percentage else None
        except (ValueError, ZeroDivisionError):
            raise ValueError(
                f"budget must be an amount like 500 or a percentage like 20%, got {self.budget!r}"
            ) from None
        ratio = exact(self.budget_ratio, "budget_ratio") if percentage is None else percentage / 100
        if not 0 < ratio <= 1:
            given = "budget_ratio must be in (0, 1]" if percentage is None else "budget must be at most 100%"
            raise ValueError(f"{given}, got {self.budget if percentage is not None else self.budget_ratio}")
        names, costs = zip(*priced, strict=True)
        return ratio * Tariff(names, costs).total([rows] * len(names))

    def resolve(self, n_classes: int | None = None) -> Parameters:
        """Return the parameters, validated and resolved."""
        known = len(self.classes_) if hasattr(self, "classes_") else 2
        return resolve_parameters(self.parameters(), known if n_classes is None else n_classes)

    @property
    def n_features_in_(self) -> int:
        """Number of columns of X."""
        return self.layout_.width

    def get_feature_names_out(self) -> NDArray[Any]:
        """Return names of the encoded columns that the models see: observed ones, then those of candidates."""
        own = [part for encodings in self.encodings_.values() for part in encodings]
        names = [name for encoding in own for name in encoding.feature_names]
        return np.array([*self.layout_.feature_names, *names], dtype=object)

    @property
    def encoding_(self) -> str:
        """How columns that are no plain numbers became numbers, in one line; empty if all are."""
        own = [encoding for encodings in self.encodings_.values() for encoding in encodings]
        return describe_encodings([*self.layout_.encodings, *own])

    @property
    def feature_names_in_(self) -> NDArray[Any]:
        """Names of the columns of X, if it has names."""
        if self.layout_.names is None:
            raise AttributeError("X had no names of columns")
        return np.array(self.layout_.names, dtype=object)

    def predict(self, X: Any, oracle: Values = None) -> NDArray[Any]:
        """Predict known classes, and `hidden_label` for rows that every layer rejects unless hidden="flag".

        Parameters
        ----------
        oracle
            Candidate values of these rows: an oracle, or a mapping from candidate to array. It is asked only for the
            selected candidates, and only for rows that reach a layer that needs them. None if they are columns of X.

        Raises
        ------
        ValueError
            If a value is needed and missing; `decide` and `explain` say for which rows. If candidates are columns of X,
            such rows are predicted by the observed columns.
        """
        return self._decide_all(X, oracle).labels(self.classes_, self.hidden_label if self.hidden == "class" else None)

    def decide(self, X: Any, oracle: Values = None) -> Decisions:
        """Return which layer decided what, row by row, and which values were requested."""
        points, source = self._split(X, oracle)
        return self.cascade_.decide(points, source, self.encodings_)

    def explain(self, X: Any, oracle: Values = None) -> list[str]:
        """Return one sentence per row: which layer decided it, or which value it lacks."""
        return self.cascade_.explain(self.decide(X, oracle), self.classes_, self.hidden_label, self.hidden)

    @property
    def predict_proba(self) -> Callable[..., FloatArray]:
        """Predict probabilities of the known classes in the order of `classes_`, and of the hidden class last.

        Called with X and an oracle, as `predict`. Every row by the last layer that saw it. Only with hidden="class",
        where `predict` returns the hidden label, there is a column of the hidden class. Rejection models have no
        probabilities, and so no such attribute.
        """
        if hasattr(self, "cascade_"):
            has_probabilities = all(isinstance(layer.model, LatentModel) for layer in self.cascade_.layers)
        else:
            has_probabilities = not (isinstance(self.model, str) and self.model == "rejection")
        if not has_probabilities:
            raise AttributeError(
                "rejection models have no probabilities: decision_function has their values, model='auto' has both"
            )

        def predict_proba(X: Any, oracle: Values = None) -> FloatArray:
            outputs = self._decide_all(X, oracle).outputs
            return outputs if self.hidden == "class" else known_probabilities(outputs)

        # Ensembles of scikit-learn read the name of the method.
        return predict_proba

    def predict_hidden(self, X: Any, oracle: Values = None) -> FloatArray:
        """Predict the probability of being hidden, whatever `hidden` is."""
        outputs = self._decide_all(X, oracle).outputs
        if outputs.shape[1] == len(self.classes_):
            raise ValueError("rejection models have no probabilities: model='auto' has")
        return outputs[:, -1]

    def decision_function(self, X: Any, oracle: Values = None) -> FloatArray:
        """Return probabilities, or values h of rejection models, by the last layer that saw the row.

        Of two classes, the second less the first.
        """
        outputs = self._decide_all(X, oracle).outputs[:, : len(self.classes_)]
        return np.asarray(outputs[:, 1] - outputs[:, 0] if outputs.shape[1] == 2 else outputs, dtype=np.float64)

    def score(self, X: Any, y: ArrayLike, oracle: Values = None) -> float:
        """Return the fraction of rows whose class (known, or the hidden label) is predicted."""
        hits = np.asarray(self.predict(X, oracle), dtype=object) == np.asarray(y, dtype=object)
        return float(np.mean(hits))

    def score_known(self, X: Any, y: ArrayLike, oracle: Values = None) -> float:
        """Return the fraction of rows whose best known class is right, whether or not they are called hidden.

        Rows with another label are left out. ``cross_val_score(model, X, y, scoring=ExMLClassifier.score_known)`` uses
        it.
        """
        winner = self._decide_all(X, oracle).winner
        truth = np.asarray(y, dtype=object)
        known = np.isin(truth, self.classes_.astype(object))
        return float(np.mean(self.classes_.astype(object)[winner][known] == truth[known]))

    def save(self, path: str | Path) -> None:
        """Write a file for predicting, as arrays and JSON without pickle; an existing file is not overwritten."""
        _require_fitted(self)
        save(SavedModel.of(self), Path(path))

    @classmethod
    def load(cls, path: str | Path) -> Self:
        """Read what `save`, or exml explore, wrote: it predicts and explains, but has no report."""
        saved = load(Path(path))
        model = cls(hidden_label=saved.hidden_label, hidden=saved.hidden)
        model.cascade_, model.classes_ = saved.cascade, saved.classes
        model.layout_, model.encodings_ = saved.layout, saved.candidates
        return model

    def _split(self, X: Any, oracle: Values) -> tuple[FloatArray, Values]:
        """Return observed features, and the source of candidate values."""
        _require_fitted(self)
        points, values = self.layout_.split(X)
        if values is not None and oracle is not None:
            raise ValueError("candidate values are columns of X: leave the oracle out")
        return points, oracle if values is None else values

    def _decide_all(self, X: Any, oracle: Values) -> Decisions:
        """Decide all rows, or raise an error that names all candidates that rows lack."""
        points, source = self._split(X, oracle)
        fill = tuple(source) if oracle is None and isinstance(source, Mapping) else ()
        decisions = self.cascade_.decide(points, source, self.encodings_, fill)
        stuck = np.flatnonzero(decisions.undecided)
        if len(stuck):
            lacking = decisions.count_lacking(self.cascade_.candidates)
            need = "1 row needs" if len(stuck) == 1 else f"{len(stuck)} rows need"
            listed = ", ".join(f"candidate {name!r} ({count})" for name, count in lacking.items())
            raise ValueError(f"{need} a value of {listed}, the first is row {stuck[0]}")
        return decisions


def _assess_classes(assessment: Assessment, evaluation: Evaluation | None) -> Assessment:
    """Ask for exploration if an accurate model does not recognise a class."""
    if assessment.needed or evaluation is None or not evaluation.poor_classes:
        return assessment
    worst = evaluation.poor_classes[0]
    reason = f"class {worst.name!r} is recognised in {worst.recognised} of {worst.accepted} accepted rows"
    return Assessment(True, f"{assessment.reason}, but {reason}")


if TYPE_CHECKING:

    class ExMLClassifier(BaseExMLClassifier, ClassifierMixin, BaseEstimator):  # type: ignore[misc]
        """`BaseExMLClassifier` as an estimator of scikit-learn."""


def __getattr__(name: str) -> Any:
    if name != "ExMLClassifier":
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    from sklearn.base import BaseEstimator, ClassifierMixin

    content = {"__module__": __name__, "__doc__": BaseExMLClassifier.__doc__}
    globals()[name] = type(name, (BaseExMLClassifier, ClassifierMixin, BaseEstimator), content)
    return globals()[name]
