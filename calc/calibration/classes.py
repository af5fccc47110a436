"""Constants of a whole class, and what it predicts for a source that it has not seen (F3.12)."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from calc.calibration.fitting import FITTED, least_squares
from calc.calibration.trial import Trial
from calc.engine import Constants, EngineClass
from calc.measured import Row

Array = NDArray[np.float64]

# Beyond this a row counts by its distance, not by its square: a few odd ones decide nothing.
HUBER = 0.15
# Fewer rows than this leave no class.
LEAST_ROWS = 8
# A largest batch depends on memory, and a prompt alone on what else an engine does.
TELLING = ("decode", "static")


def fit_class(rows: Sequence[Row], start: EngineClass) -> Constants:
    """The class's fitted constants on rows of its kind, those with a spread; others stay.

    A source weighs by the root of its rows: many rows of one tell less than as many of several.
    """
    return _fitted(Trial(rows), rows, np.ones(len(rows), dtype=bool), start)


def _fitted(
    trial: Trial, rows: Sequence[Row], used: NDArray[np.bool_], start: EngineClass
) -> Constants:
    """Constants fitted on some of the rows of a trial."""
    count = Counter(row.source for row, one in zip(rows, used, strict=True) if one)
    usual = used * np.array([max(count[row.source], 1) ** -0.5 for row in rows])
    free = {name: math.inf for name in start.spread if name in FITTED}
    found, weights = start.constants, usual
    for _ in range(25):
        before = found
        found = least_squares(trial, before, free, weights)
        weights = usual * HUBER / np.maximum(np.abs(trial.log_ratio(found)), HUBER)
        if all(_close(getattr(found, name), getattr(before, name)) for name in free):
            break
    return found


def _close(one: float, other: float) -> bool:
    return math.isclose(one, other, rel_tol=1e-3)


def left_out(rows: Sequence[Row], start: EngineClass) -> Array:
    """What rows of a class should take, each by the class fitted without its source [s].

    nan where too few rows are left to fit on.
    """
    trial, found = Trial(rows), np.full(len(rows), np.nan)
    sources = np.array([row.source for row in rows])
    telling = np.array([row.kind in TELLING for row in rows])
    for source in dict.fromkeys(sources.tolist()):
        own = sources == source
        others = telling & ~own
        if others.sum() >= LEAST_ROWS:
            found[own] = trial.predict(_fitted(trial, rows, others, start))[own]
    return found
