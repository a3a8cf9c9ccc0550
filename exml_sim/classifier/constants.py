"""Constants of the classifier, each with unit and role in its name.

The comment of each group says where its values come from:

*derived*
    follows from another number or from a definition;
*cited*
    from the paper, or from scikit-learn;
*tuned on 13 tables*
    tuned on thirteen tables (seeds below 400) and seven others, see
    docs/explanation/purchase-benchmark.md. Results are reported for other seeds and for tables that were not used;
*tuned on all tables*
    tuned on other seeds of all tables of docs/explanation/purchase-benchmark.md;
*measured*
    from one machine, and rough;
*chosen by hand*
    no experiment is recorded.
"""

from __future__ import annotations

from fractions import Fraction

import numpy as np

from exml_sim.bandit.selection_report import CYCLE

# --- Rejection cost and intervals -------------------------------------------------------------------------------------

#: Cited: the paper's pool for the augmented model.
PAPER_THETAS = (0.1, 0.2, 0.3, 0.4)
#: Chosen by hand: rejection cost in the scores of candidates. The initial model's is often so small that every row is
#: rejected and all candidates score alike.
EXPLORATION_THETA = 0.2
#: Chosen by hand: rejection costs tried for the initial model.
INITIAL_THETAS = (0.02, 0.05, 0.1, 0.15, 0.2, 0.25, 0.3, 0.35, 0.4, 0.45)
#: Tuned on 13 tables: the initial layer accepts a row if the hidden class is this many times less likely.
INITIAL_LAYER_ODDS = 4.0
#: Chosen by hand: duality gaps. The first is far below the noise of a count of rows.
CROSS_VALIDATION_TOLERANCE, FIT_TOLERANCE = 1e-5, 1e-7
#: Chosen by hand: rows whose kernel values are computed together.
KERNEL_BLOCK_ROWS = 4096
#: Convention: level of intervals and of selection reports.
CONFIDENCE_LEVEL = 0.95

# --- Subset selection -------------------------------------------------------------------------------------------------

#: Rows of the first round: one cycle of the balanced order (derived), more for many classes, none below the last number
#: (tuned on 13 tables).
MIN_FIRST_ROWS, FIRST_ROWS_PER_CLASS, MIN_INFORMATIVE_ROWS = CYCLE, 6, 5
#: Tuned on 13 tables: rows per known class at which half of what can be explained is explained.
HALF_LEARNING_ROWS_PER_CLASS = 20.0
#: Tuned on 13 tables: part of the money that the first round may cost.
MAX_FIRST_ROUND_FRACTION = Fraction(1, 2)
#: Tuned on 13 tables: parts of the leading set within this many deviations of it count as ties. That different, cheaper
#: candidates do not was chosen on the choosing half with unequal costs.
TIE_DEVIATIONS = 0.35
#: Tuned on 13 tables: fraction of the loss that a set is assumed to explain at least when its rows are valued.
MIN_EXPLAINED_FRACTION = 0.15
#: Tuned on 13 tables: deviation of what is not learned yet, in units of the baseline loss.
LEARNING_DEVIATION = 0.1
#: Chosen by hand: root mean square difference of predictions from which two sets do not look alike.
FULL_DIFFERENCE = 0.2
#: Chosen on the choosing half: deviations by which another set must be better to replace the selected one.
SWITCH_DEVIATIONS = 3.0
#: Chosen on the choosing half: with less than this evidence, on few rows and on at least that many, no more than this
#: part of the money is spent.
MIN_EXPLAINED_DEVIATIONS, MIN_EVIDENCE_ROWS, MAX_UNEXPLAINED_FRACTION = (0.0, 0.5), 25, Fraction(1, 2)
#: Tuned on 13 tables: candidates that are scored together with the best one.
MAX_PARTNERS = 3
#: Chosen by hand, for speed: candidates that are tried as an extension of the selected set.
MAX_EXTENSIONS = 20
#: Chosen by hand: rows below which a set is not scored, and below which differences are not paired.
MIN_SCORED_ROWS, MIN_PAIRED_ROWS = 4, 8
#: Tuned on 13 tables: weights of a set's model beside the model of the observed columns.
MEMBER_WEIGHTS = (1.0, 0.5)
#: Tuned on 13 tables: weight of the observed label in the target of the scores.
LABEL_WEIGHT = 0.25
#: Tuned on 13 tables: the weight of a set falls by the factor exp(-TEMPERATURE) per row and unit of loss.
TEMPERATURE = 2.0

# --- Latent class and label noise -------------------------------------------------------------------------------------

#: Tuned on 13 tables: rounds of EM. With more rounds the hidden class slowly shrinks.
EM_ROUNDS = 2
#: Chosen on the choosing half (benchmarks/practice/split.json): large hidden class in units of an average known class;
#: standard errors of the Brier score from which it is kept; small size.
MAX_HIDDEN_SIZE, MIN_SIZE_DEVIATIONS, SMALL_HIDDEN_SIZE = 0.9, -0.25, 0.3
#: Tuned on all tables (seeds below 100), like all constants of label noise: q = (1 - s)/C + s e_c for s in this grid.
NOISE_LEANS = (0.2, 0.4, 0.6, 0.8)
#: Neighbours that a probability is worth, and fraction of other labels near a corner; all pairs are summed over.
NOISE_NEIGHBOURS, CORNER_NOISES = (4.0, 16.0), (0.04, 0.12)
#: Rows that the prior gives to every known class, to the hidden one, and to overlap.
PRIOR_CLASS_ROWS, PRIOR_HIDDEN_ROWS, PRIOR_OVERLAP_ROWS = 10.0, 3.0, 2.0
#: Rounds for the mixture weights, and rows that count as one because they share neighbours.
NOISE_EM_ROUNDS, ROWS_PER_OBSERVATION = 12, 4.0
#: A distribution is possible if its log-likelihood is at most this far behind the best: a number, and a part per row.
MAX_LOG_LIKELIHOOD_LOSS, MAX_LOG_LIKELIHOOD_LOSS_PER_ROW = 10.0, 0.1
#: Probabilities are kept this far from 0 and 1, so that no density is infinite.
MIN_BORDER_DISTANCE = 0.01
#: Chosen by hand: deviations by which one model family must beat the mean of all.
FAMILY_DEVIATIONS = 2.0
#: Chosen by hand: weights of a layer beside the initial one.
STACKING_WEIGHTS = (1.0, 0.75, 0.5, 0.25)

# --- Probability models -----------------------------------------------------------------------------------------------

#: Chosen by hand: trees of a forest, and of a forest that compares candidates.
N_TREES, N_SCORING_TREES = 40, 30
#: Tuned on 13 tables: rows from which a forest takes part in comparing candidates.
MIN_FOREST_ROWS = 60
#: Chosen by hand, for speed: rows above which there is no kernel regression.
MAX_KERNEL_ROWS = 1500
#: Chosen by hand: smallest probability, so that no row is impossible.
MIN_PROBABILITY = 1e-3
#: Chosen by hand: rows that a tree draws at most. Trees of more rows follow the label noise further.
MAX_DRAWN_ROWS = 2500
#: Cited: scikit-learn's tolerances. Values this close are equal, and targets of less variance are equal.
EQUAL_VALUE_TOLERANCE, EQUAL_TARGET_TOLERANCE = 1e-7, float(np.finfo(np.float64).eps)
#: Tuned on all tables (seeds 300 to 304 and 100 to 103), like all constants of kernel regression: penalties, smallest
#: first.
PENALTIES = np.array([10.0 ** (k / 2) for k in range(-8, 5)])
#: Centres of the basis functions, in standard deviations of a column.
CENTRES = np.linspace(-3.0, 3.0, 11)
#: Derived: sum of squares of the basis functions at 0.
BASIS_NORM = float(np.exp(-4.0 * CENTRES**2).sum())
#: The weight of a regression falls by the factor exp(-REGRESSION_TEMPERATURE) per row and unit of error.
REGRESSION_TEMPERATURE = 0.5
#: The Gaussian kernel is the wide one to this power; prior weights of the Gaussian, wide and additive kernel.
WIDE_POWER, KERNEL_PRIOR = 16, np.array([1.0, 0.3, 1.0])
#: Chosen by hand: weights below this fraction of the largest are 0.
MIN_RELATIVE_WEIGHT = 1e-3
#: Chosen by hand, for speed: rows on which kernel and penalty are chosen.
MAX_CHOOSING_ROWS = 600
#: Chosen by hand, for speed: the same with at least that many candidates.
MANY_CANDIDATES, MAX_SCORING_ROWS = 25, 96
#: Chosen by hand, for memory: columns and kernel values that are held at a time.
BLOCK_COLUMNS, MAX_BLOCK_VALUES = 64, 1 << 22
#: Chosen by hand: a column whose deviation is below this fraction of its values is constant.
MIN_RELATIVE_DEVIATION = 1e-12

# --- Preflight checks and reports -------------------------------------------------------------------------------------

#: Chosen by hand: distances from the median in units of the quartile distance. A value beyond the first is reported, a
#: column with one beyond the second is clipped.
FAR_QUARTILE_DISTANCES, CLIP_QUARTILE_DISTANCES = 20.0, 100.0
#: Chosen by hand: columns with far values that are listed.
MAX_FAR_COLUMNS = 5
#: Chosen by hand: rows below which a class is rare, and the fraction of two classes below which accuracy hides it.
MIN_ROWS_PER_CLASS, RARE_CLASS_FRACTION = 10, 0.1
#: Chosen by hand: classes above which labels look like a measurement, if there are fewer rows than this of each.
MAX_PLAIN_CLASSES, MIN_MEAN_ROWS_PER_CLASS = 10, 5
#: Chosen by hand: fraction of duplicated rows from which a warning is given.
MIN_DUPLICATED_FRACTION = 0.05
#: Chosen by hand: folds of nested cross-validation, and rows below which there is none.
NESTED_FOLDS, MIN_NESTED_ROWS = 5, 10
#: Chosen on the choosing half: rows that count as one in an interval, because folds share models.
ROWS_PER_INDEPENDENT_ROW = 2.0
#: Measured on the reporting half: share of classes as large as a known one of which the report says that there is none.
MISSED_LARGE_CLASSES = 0.05
#: Measured: m x m arrays held by rejection models and by kernels of the default models, and bytes of a forest per row.
REJECTION_COPIES, KERNEL_COPIES, FOREST_BYTES_PER_ROW = 4.3, 11.0, 5_000
#: Chosen by hand: a class is poorly recognised below this fraction of its accepted rows, if it has that many rows.
MIN_RECALL, MIN_RECALL_ROWS = 0.5, 5
#: Chosen by hand: estimated fraction of hidden rows with one label from which it is reported.
REPORTED_NOISE_FRACTION = 0.7
