"""How far predictions are from measurements."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
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
        """Of predictions of all rows [s]; rows of which one is nan do not count."""
        known = np.isfinite(predicted)
        if not known.any():
            return cls(0, 0, *[float("nan")] * 5)
        counted = [row for row, one in zip(rows, known, strict=True) if one]
        predicted, measured = predicted[known], np.array([row.seconds for row in counted])
        sources = len({row.source for row in counted})
        error = np.abs(predicted / measured - 1)
        median, worst = np.percentile(error, [50, 90])
        low, middle, high = np.percentile(measured / predicted, [10, 50, 90])
        figures = (float(one) for one in (median, worst, low, middle, high))
        return cls(len(counted), sources, *figures)

    def outside(self, measured: Array, predicted: Array) -> Sequence[int]:
        """Places of what lies outside 10 to 90 %, the farthest from the middle first."""
        ratio = measured / predicted
        away = np.abs(np.log(ratio / self.middle))
        beyond = (ratio < self.low) | (ratio > self.high)
        return [int(at) for at in np.argsort(-away, kind="stable") if beyond[at]]


def by(
    features: Sequence[str], rows: Sequence[Row], predicted: Mapping[str, Array]
) -> dict[str, dict[str, Agreement]]:
    """How far several predictions, by their names, are from the rows of each feature."""
    groups: dict[str, list[int]] = {}
    for place, feature in enumerate(features):
        groups.setdefault(feature, []).append(place)
    return {
        feature: {
            name: Agreement.of([rows[at] for at in places], times[places])
            for name, times in predicted.items()
        }
        for feature, places in groups.items()
    }
