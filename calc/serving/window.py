"""The part of a run in which it was steady: rates are taken over it."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from calc.serving.run import Run

Array = NDArray[np.float64]
# Fewer requests than this have no part that is steady.
_LEAST = 40
# Points at which the requests in service are counted.
_POINTS = 200


@dataclass(frozen=True)
class Window:
    """From `start` to `end` [s]: after the warm-up, and before the last requests drain.

    `requests` came in it. `settled` says that the queue does not grow: where it does, the rate
    cannot be served, tokens come as fast as they can, and latencies rise with the requests
    simulated. `whole` says that nothing is cut: all came at once, few came, or the rate goes up and
    down.
    """

    start: float
    end: float
    requests: int
    settled: bool
    whole: bool

    @property
    def time(self) -> float:
        """How long it is [s]."""
        return self.end - self.start

    def came(self, run: Run) -> NDArray[np.bool_]:
        """Requests that came in it."""
        arrival = run.traffic.arrival
        return np.asarray((arrival >= self.start) & (arrival <= self.end))

    def tokens(self, run: Run) -> float:
        """Tokens of finished answers that were made in it, evenly from the first to the last."""
        if self.whole:
            return float(run.produced[run.finished].sum())
        done, width = run.finished, run.traffic.samples
        first, ended = run.first[done], run.ended[done]
        shared = np.minimum(ended, self.end) - np.maximum(first, self.start)
        took = ended - first
        part = np.divide(np.maximum(shared, 0.0), took, out=np.zeros_like(took), where=took > 0)
        started = (first >= self.start) & (first <= self.end)
        return float((width * started + (run.produced[done] - width) * part).sum())

    def ended(self, run: Run) -> int:
        """Answers that were finished in it."""
        ends = run.ended[run.finished]
        return len(ends) if self.whole else int(((ends >= self.start) & (ends <= self.end)).sum())


def steady(run: Run) -> Window:
    """The steady part of a run (F8.16).

    The warm-up ends where cutting more would not make the mean number of requests that are served
    more certain (MSER); the drain begins when the last request has left the queue.
    """
    arrival, admitted = run.traffic.arrival, np.sort(run.admitted[np.isfinite(run.admitted)])
    ended = np.sort(run.ended[np.isfinite(run.ended)])
    first, last = float(arrival[0]), float(max(arrival[-1], ended.max(initial=0.0)))
    if len(arrival) < _LEAST or arrival[-1] <= first or run.stopped or not len(admitted):
        return Window(first, last, len(arrival), settled=False, whole=True)
    if run.traffic.varies:
        return Window(first, last, len(arrival), settled=True, whole=True)
    end = float(max(arrival[-1], admitted[-1]))
    times = np.linspace(first, end, min(len(arrival), _POINTS))
    served = np.asarray(
        np.searchsorted(admitted, times, "right") - np.searchsorted(ended, times, "right"),
        dtype=float,
    )
    # Of those that came half or more are left.
    start = min(float(times[_warm_up(served.astype(float))]), float(np.median(arrival)))
    # What an arrival finds grows for ever where more come than are served.
    found = np.arange(len(arrival)) - np.searchsorted(ended, arrival)
    batches = min(len(arrival), _POINTS)
    sizes = found[: len(found) // batches * batches].reshape(batches, -1).mean(axis=1)
    settled = _warm_up(sizes) < batches // 2
    came = int(((arrival >= start) & (arrival <= end)).sum())
    return Window(start, end, came, settled, whole=False)


def _warm_up(values: Array) -> int:
    """How many of the first values to leave out, at most half."""
    left = len(values) - np.arange(len(values) // 2 + 1)
    # Sums of the values from each one on, and of their squares.
    sums = np.cumsum(values[::-1])[::-1][: len(left)]
    squares = np.cumsum(values[::-1] ** 2.0)[::-1][: len(left)]
    return int(np.argmin((squares - sums**2 / left) / left.astype(float) ** 2))


def half_width(good: NDArray[np.bool_], batches: int = 20, score: float = 1.96) -> float:
    """Half of the 95 % interval of a share of requests in the order in which they came.

    By the means of so many batches in a row, since requests that come together fare alike
    (F8.17); inf of fewer requests than that.
    """
    each = len(good) // batches
    if not each:
        return math.inf
    means = good[: each * batches].reshape(batches, each).mean(axis=1)
    # What no request shows may still be one in as many as there are.
    return max(score * float(means.std(ddof=1)) / math.sqrt(batches), 1.5 / len(good))
