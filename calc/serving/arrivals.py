"""When requests come: processes of a given rate."""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from calc.serving.errors import ServingError, positive
from calc.words import marked, say

Array = NDArray[np.float64]
_PER_SECOND = marked("requests per second")
# At which a rate that goes up and down is summed up.
_POINTS = 20_001


class Arrivals(Protocol):
    """A process of arrivals."""

    @property
    def rate(self) -> float:
        """Mean rate [request/s]; inf if all come at once."""

    def at(self, rate: float) -> Arrivals:
        """These arrivals at another rate [request/s]."""

    def draw(self, random: np.random.Generator, count: int) -> Array:
        """Times of so many arrivals in order [s]."""


@dataclass(frozen=True)
class Poisson:
    """Independent users: exponential gaps at a `rate` [request/s]."""

    rate: float

    def __post_init__(self) -> None:
        positive(marked("The arrival rate"), self.rate, _PER_SECOND)

    def at(self, rate: float) -> Poisson:
        return replace(self, rate=rate)

    def draw(self, random: np.random.Generator, count: int) -> Array:
        return np.cumsum(random.exponential(1.0, count)) / self.rate


@dataclass(frozen=True)
class Bursty:
    """Gamma-distributed gaps: `burstiness` is their deviation over their mean, 1 for Poisson."""

    rate: float
    burstiness: float = 2.0

    def __post_init__(self) -> None:
        positive(marked("The arrival rate"), self.rate, _PER_SECOND)
        positive(marked("The burstiness"), self.burstiness)

    def at(self, rate: float) -> Bursty:
        return replace(self, rate=rate)

    def draw(self, random: np.random.Generator, count: int) -> Array:
        shape = 1 / self.burstiness**2
        return np.cumsum(random.gamma(shape, 1 / shape, count)) / self.rate


@dataclass(frozen=True)
class Daily:
    """Independent users who sleep: a Poisson process whose rate goes up and down once a `period`.

    .. math:: \\lambda(t) = \\lambda \\left( 1 - (p - 1) \\cos \\frac{2 \\pi t}{T} \\right)

    `rate` is the mean [request/s], `peak` the highest over it, at most 2, half a period after the
    start [s].
    """

    rate: float
    peak: float = 2.0
    period: float = 86400.0

    def __post_init__(self) -> None:
        positive(marked("The arrival rate"), self.rate, _PER_SECOND)
        positive(marked("The period"), self.period, "s")
        if not 1 <= self.peak <= 2:
            raise ServingError(
                say("The peak is {peak:g} times the mean; it must be within 1 to 2.",
                    peak=self.peak)
            )  # fmt: skip

    def at(self, rate: float) -> Daily:
        return replace(self, rate=rate)

    def draw(self, random: np.random.Generator, count: int) -> Array:
        # Times at which an even stream would have had as many.
        even = np.cumsum(random.exponential(1.0, count)) / self.rate
        turns = np.linspace(0, np.ceil(even[-1] / self.period) + 1, _POINTS) if count else even
        swing = (self.peak - 1) / (2 * np.pi) * np.sin(2 * np.pi * turns)
        return np.interp(even, self.period * (turns - swing), self.period * turns)


@dataclass(frozen=True)
class Even:
    """Requests at even gaps of 1 / `rate` [request/s]."""

    rate: float

    def __post_init__(self) -> None:
        positive(marked("The arrival rate"), self.rate, _PER_SECOND)

    def at(self, rate: float) -> Even:
        return replace(self, rate=rate)

    def draw(self, random: np.random.Generator, count: int) -> Array:
        return np.arange(count) / self.rate


@dataclass(frozen=True)
class AtOnce:
    """All at time 0, as a job over a data set does."""

    @property
    def rate(self) -> float:
        return math.inf

    def at(self, rate: float) -> AtOnce:
        return self

    def draw(self, random: np.random.Generator, count: int) -> Array:
        return np.zeros(count)
