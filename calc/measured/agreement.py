"""How far predictions are from measurements."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from calc.measured.row import Row

Array = NDArray[np.float64]


@dataclass(frozen=True)
class Agreement:
    """What sets predictions and measurements apart (F12.2); nan where there are none.

    Parameters
    ----------
    rows, sources : int
        Measurements, and those who published them.
    median, worst : float
        Of the error of half and of nine in ten of the rows: predicted over measured, less 1, either
        way [share].
    low, middle, high : float
        Measured over predicted: 10th, 50th and 90th percentile.
    """

    rows: int
    sources: int
    median: float
    worst: float
    low: float
    middle: float
    high: float

    @classmethod
    def of(cls, rows: Sequence[Row], predicted: Array) -> Agreement:
        """Of predictions of all rows [s]."""
        measured = np.array([row.seconds for row in rows])
        sources = len({row.source for row in rows})
        if not len(measured):
            return cls(0, 0, *[float("nan")] * 5)
        error = np.abs(predicted / measured - 1)
        median, worst = np.percentile(error, [50, 90])
        low, middle, high = np.percentile(measured / predicted, [10, 50, 90])
        return cls(len(rows), sources, *(float(one) for one in (median, worst, low, middle, high)))
