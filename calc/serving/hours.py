"""A run in equal parts, as the hours of a day; and what its fleet costs."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from calc import cost
from calc.serving.roster import Shift
from calc.serving.run import Run
from calc.serving.service import Limits, Spread, good, spread

Array = NDArray[np.float64]
PARTS = 24


@dataclass(frozen=True)
class Part:
    """The requests that came in one part of a run.

    `start` and `end` [s]; how many `requests` came and what share of them was good; their `ttft`
    and `tpot` [s]; replicas that took requests, on average.
    """

    start: float
    end: float
    requests: int
    good_share: float
    ttft: Spread
    tpot: Spread
    serving: float

    @property
    def rate(self) -> float:
        """Requests that came each second [request/s]."""
        return self.requests / (self.end - self.start)


def parts(run: Run, limits: Limits, count: int = PARTS) -> tuple[Part, ...]:
    """A run in so many parts of equal length, from the first arrival to the last.

    None where all come at once.
    """
    arrival = run.traffic.arrival
    if not arrival[-1] > arrival[0]:
        return ()
    ends = np.linspace(arrival[0], arrival[-1], count + 1)
    of = np.minimum(np.searchsorted(ends, arrival, "right") - 1, count - 1)
    kept, found = good(run, limits), []
    for place in range(count):
        mine, start, end = of == place, float(ends[place]), float(ends[place + 1])
        found.append(
            Part(
                start, end, int(mine.sum()), float(kept[mine].mean()) if mine.any() else np.nan,
                spread(run.ttft[mine]), spread(run.tpot[mine]), serving(run, start, end),
            )
        )  # fmt: skip
    return tuple(found)


def serving(run: Run, start: float, end: float) -> float:
    """Replicas that decode and take requests, on average over a part of the time."""
    shifts = run.shifts
    if shifts is None:
        return float(len(run.memory))
    at = shifts.shift == Shift.SERVING
    there = np.minimum(shifts.end[at], end) - np.maximum(shifts.start[at], start)
    return float(np.maximum(there, 0.0).sum()) / (end - start)


@dataclass(frozen=True)
class Bill:
    """What a run's fleet costs from the first arrival to the last end.

    `replica_hours` that were paid for and their price [USD]; those of as many replicas all the time
    are `fixed_hours` and `fixed_usd`. Prices are nan where none is published.
    """

    replica_hours: float
    usd: float
    fixed_hours: float
    fixed_usd: float


def bill(run: Run) -> Bill:
    """What the fleet costs (F8.12)."""
    start, hours = float(run.traffic.arrival[0]), run.duration / 3600
    fixed = len(run.names) * hours
    price = run.over_chips(cost.price) * hours
    share = run.paid(start, start + run.duration)
    return Bill(fixed * share, price * share, fixed, price)
