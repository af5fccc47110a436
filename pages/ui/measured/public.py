"""The public measurements and what each fidelity predicts, read and computed once a server."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import cache, lru_cache

import numpy as np
from numpy.typing import NDArray

from calc import calibration
from calc.measured import Agreement, Left, Row, by, predictions
from pages.ui.charts import marks
from presets import chips, measured

Array = NDArray[np.float64]
# What filters ask for: a name of `features` and its value each.
Wanted = tuple[tuple[str, str], ...]

FIDELITIES = ("bound", "operators", "calibrated")


def rows() -> Sequence[Row]:
    """All that can be mapped."""
    return measured.rows()


def left() -> Sequence[Left]:
    """What cannot, and why."""
    return measured.table().left


@cache
def seconds() -> Array:
    """What was measured [s]."""
    return np.array([row.seconds for row in rows()])


@cache
def batches() -> Array:
    """Mean batches [sequence]."""
    return np.array([row.batch for row in rows()])


@cache
def predicted(fidelity: str) -> Array:
    """What a fidelity predicts [s].

    Calibrated by the row's class, fitted without the row's own source; nan where too few rows of
    other sources are left, and for a chip without a class.
    """
    if fidelity != "calibrated":
        return predictions(rows(), fidelity)
    found = np.full(len(rows()), np.nan)
    ids = features()["rows_class"]
    for one in {one.id: one for chip in chips.values() for one in chip.engines.values()}.values():
        here = np.flatnonzero(ids == one.id)
        found[here] = calibration.left_out([rows()[int(place)] for place in here], one)
    return found


def settle() -> None:
    """Read and predict all, which later calls find done."""
    for fidelity in FIDELITIES:
        predicted(fidelity)


@cache
def told() -> Sequence[str]:
    """Each row in a line, in terms that are the same in every language."""
    return [marks.told(row) for row in rows()]


@cache
def features() -> Mapping[str, NDArray[np.str_]]:
    """What filters look at, by the names of their fields."""
    found = rows()
    classes = [row.scenario.chip.engine_class(row.scenario.engine) for row in found]
    return {
        "rows_class": np.array([one.id if one else "" for one in classes]),
        "rows_engine": np.array([row.engine_name for row in found]),
        "rows_chip": np.array([row.scenario.chip.id for row in found]),
        "rows_model": np.array([row.scenario.model.id for row in found]),
        "rows_phase": np.array([row.phase for row in found]),
        "rows_year": np.array([str(row.year) for row in found]),
        "source": np.array([row.source for row in found]),
    }


@lru_cache(maxsize=256)
def places(wanted: Wanted, fidelity: str) -> NDArray[np.intp]:
    """Where the rows stand that are of all that is wanted, and have a prediction."""
    kept = np.isfinite(predicted(fidelity))
    for name, value in wanted:
        kept &= features()[name] == value
    return np.flatnonzero(kept)


@lru_cache(maxsize=256)
def errors(feature: str, wanted: Wanted) -> Mapping[str, Mapping[str, Agreement]]:
    """How far each fidelity is from those rows, by a feature's values."""
    found = places(wanted, "bound")
    return by(
        features()[feature][found].tolist(),
        [rows()[place] for place in found],
        {fidelity: predicted(fidelity)[found] for fidelity in FIDELITIES},
    )
