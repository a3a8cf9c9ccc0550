"""ExMLClassifier: the exploration as an estimator of scikit-learn."""

from __future__ import annotations

from sklearn.base import BaseEstimator, ClassifierMixin

from exml_sim.classifier.explorer import Explorer


class ExMLClassifier(Explorer, ClassifierMixin, BaseEstimator):  # type: ignore[misc]
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
    strategy : str or Strategy, default "value_of_information_commit"
        One of `exml_sim.strategies.STRATEGIES`. The default is a race for the final model: it explores as long as that
        is worth more than further rows of the leader (`exml_sim.classifier.race`). With one candidate there is nothing to
        choose: all money buys its rows.
    confidence : number in (0, 1), optional
        Buy until the best candidate is known with this probability (approximate), up to the epsilon, or the money
        ends; then all money buys rows of it. A race of single candidates, unless `strategy` names another rule with a
        confidence.
    epsilon : float, default 0
        Held-out squared errors this close need not be told apart.
    stop_when_confident : bool, default False
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
        `exml_sim.classifier.thresholds`). "hindsight": the paper's protocol; the run is repeated for every theta, each
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
        with `predict_proba`, with the hidden class as a class of its own (`exml_sim.classifier.latent`); "auto" takes
        the mean of forest and kernel, or one of them where it predicts unseen labels better.
    mislabelling : "estimate", "fair" or sequence of float, default "estimate"
        How hidden rows are taken to be labelled, not for rejection models: estimated
        (`exml_sim.classifier.mislabelling`), any known label alike, or given probabilities of the known classes in
        sorted order.
    hidden_share : float in (0, 1), optional
        About how large a share of all rows is hidden, if you know it; not for rejection models. Labels hardly tell it:
        by default a hidden class is taken to be about as large as a known one, unless it is seen to be
        larger.
    kernel, gamma, C_h, C_g, loss, scaling
        The rejection models, see `exml_sim.classifier.gated.ModelOptions`.
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
        Held-out figures next to simpler models (`exml_sim.classifier.judgement`); None if theta was given.
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
