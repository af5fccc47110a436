"""Rows taken apart once, so that many constants can be tried on them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np
from numpy.typing import ArrayLike, NDArray

from calc import known
from calc.engine import Constants
from calc.measured import Row
from calc.measured.prediction import Part, by_setting
from calc.scenario import Scenario, usual

Array = NDArray[np.float64]


class Trial:
    """What measured rows take with other shares of bandwidth and rate, and other kernel times.

    Links are those of each row's own class, or as its scenario sets them: no row tells them apart
    from the time of kernels. The sum is that of `decode.StepTime`, over all rows at once.

    Attributes
    ----------
    measured : array
        What each row took [s].
    """

    def __init__(self, rows: Sequence[Row]) -> None:
        self.measured = np.array([row.seconds for row in rows], dtype=float)
        # A line for each part of a row, and one for each operator of a part.
        parts: list[Array] = []
        operators: list[Array] = []
        count = 0
        for places, made_of in by_setting(rows, _bare):
            for part in made_of:
                lines = count + np.arange(len(places), dtype=float)
                count += len(places)
                parts.append(_part(part, np.array(places, dtype=float)))
                operators += [
                    _lines(lines, one.read, one.compute, one.overlap)
                    for one in part.step.work.operators
                ]
        self._parts = np.concatenate(parts, axis=1)
        self._operators = np.concatenate(operators, axis=1)

    def predict(self, constants: Constants) -> Array:
        """How long each row should take [s] (F12.1, F3.12)."""
        row, times, spoken, hides, fixed, kernels, prompt = self._parts
        of, read, compute, overlap = self._operators
        part = of.astype(int)
        rate = np.where(prompt, constants.mfu, constants.compute_efficiency)[part]
        reading, computing = read / constants.bandwidth_efficiency, compute / rate
        longer, shorter = np.maximum(reading, computing), np.minimum(reading, computing)
        busy = np.bincount(part, longer + (1 - overlap) * shorter, len(row))
        step = busy + spoken - hides * np.minimum(busy, spoken)
        step = step + fixed + kernels * constants.kernel_time
        return np.asarray(np.bincount(row.astype(int), times * step, len(self.measured)))

    def log_ratio(self, constants: Constants) -> Array:
        """Logarithm of predicted over measured."""
        return np.asarray(np.log(self.predict(constants) / self.measured))


def _part(part: Part, places: Array) -> Array:
    step = part.step
    return _lines(
        places, part.times, step.communication, step.link_overlap, step.work.overhead,
        part.kernels, part.prompt,
    )  # fmt: skip


def _lines(numbers: Array, *figures: ArrayLike) -> Array:
    """Figures of so many lines, below each other."""
    return np.stack([np.broadcast_to(one, numbers.shape) for one in (numbers, *figures)]).astype(
        float
    )


def _bare(s: Scenario) -> Scenario:
    """The scenario with nothing lost but in its links."""
    links = usual(s.chip.engine_class(s.engine))
    given = (s.link_efficiency, s.reduce_latency)
    kept, latency = (
        own if own is not None else its
        for own, its in zip(given, (links.link_efficiency, links.reduce_latency), strict=True)
    )
    bare = replace(
        s, fidelity="calibrated", bandwidth_efficiency=1.0, compute_efficiency=1.0, mfu=1.0,
        kernel_time=0.0, layer_overhead=0.0, link_efficiency=kept, reduce_latency=latency,
    )  # fmt: skip
    return known.least(bare)
