"""The highest rate that a service keeps its limits at, searched by bisection."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from dataclasses import dataclass

from calc.serving.run import Run
from calc.serving.service import Limits, Service, good, summary
from calc.serving.traffic import Traffic
from calc.serving.window import half_width, steady

# Requests simulated at a rate at first, and at most beside those that were asked for.
FIRST, MOST = 800, 6400
# Rates, each twice or half the one before, until one on the other side of the knee is found.
_REACH = 8
# Intervals by which a share must differ before fewer requests are enough: several are looked at.
_DOUBT = 1.5


@dataclass(frozen=True)
class Tried:
    """One rate: what it was asked to be and what came [request/s], and how the service did.

    `good` of the requests that came in the steady part kept both limits, give or take `half`
    (95 %), of so many `requests` simulated.
    """

    rate: float
    realised: float
    requests: int
    good: float
    half: float
    figures: Service

    def keeps(self, share: float) -> bool:
        """Whether so large a share of the requests is good."""
        return self.good >= share

    def sure(self, share: float, within: float) -> bool:
        """Whether more requests would not tell another story."""
        apart = abs(self.good - share) > _DOUBT * self.half
        if not self.figures.window.settled:
            # A queue that grows only makes it worse.
            return apart and self.good < share
        return apart or self.half <= within


@dataclass(frozen=True)
class Knee:
    """What is known of a knee: all rates tried, in the order in which they were.

    Attributes
    ----------
    low, high : Tried or None
        The highest rate that keeps the limits, and the lowest that does not.
    done : bool
        Whether the search is over.
    """

    tried: tuple[Tried, ...] = ()
    low: Tried | None = None
    high: Tried | None = None
    done: bool = False

    @property
    def rising(self) -> list[Tried]:
        """All that was tried, by the rates that came."""
        return sorted(self.tried, key=lambda one: one.realised)

    @property
    def rate(self) -> float:
        """The highest rate known to keep the limits, as it came [request/s]; nan if none does."""
        return self.low.realised if self.low else math.nan


def find(
    simulate: Callable[[Traffic], Run],
    traffic: Traffic,
    limits: Limits,
    *,
    share: float = 0.9,
    within: float = 0.02,
    ratio: float = 1.05,
) -> Iterator[Knee]:
    """Search the highest rate at which a share of the requests keeps the limits (F8.17).

    Parameters
    ----------
    simulate : callable
        Runs the service on traffic.
    traffic : Traffic
        What comes, at the rate to begin with.
    limits : Limits
        What a good answer keeps.
    share : float
        Of the requests, how many must be good.
    within : float
        Requests are added until the 95 % interval of the share is no wider than twice this, or
        leaves no doubt, and the queue does not grow; or until there are no more.
    ratio : float
        The search ends when the rates around the knee are no further apart than this.

    Yields
    ------
    Knee
        What is known after each rate.

    Raises
    ------
    ServingError
        If all requests come at once.
    """
    known = Knee()
    while not known.done:
        known = further(simulate, traffic, limits, known, share=share, within=within, ratio=ratio)
        yield known


def further(
    simulate: Callable[[Traffic], Run],
    traffic: Traffic,
    limits: Limits,
    known: Knee,
    *,
    share: float = 0.9,
    within: float = 0.02,
    ratio: float = 1.05,
) -> Knee:
    """What is known of a knee one rate later; parameters are those of `find`."""
    low, high = known.low, known.high
    if low and high:
        rate = math.sqrt(low.rate * high.rate)
    elif known.tried:
        rate = known.tried[-1].rate * (2.0 if low else 0.5)
    else:
        rate = traffic.rate
    one = _try(simulate, traffic, rate, limits, share, within, max(MOST, len(traffic)))
    if one.keeps(share):
        low = one
    else:
        high = one
    tried = (*known.tried, one)
    done = high.rate / low.rate <= ratio if low and high else len(tried) >= _REACH
    return Knee(tried, low, high, done)


def _try(
    simulate: Callable[[Traffic], Run],
    traffic: Traffic,
    rate: float,
    limits: Limits,
    share: float,
    within: float,
    most: int,
) -> Tried:
    """One rate, with as many requests as it takes to be sure."""
    requests = FIRST
    while True:
        came = traffic.enough(requests).at_rate(rate)
        run = simulate(came)
        there = steady(run).came(run)
        kept = good(run, limits)[there]
        one = Tried(
            rate, came.realised_rate, len(came), float(kept.mean()), half_width(kept),
            summary(run, limits),
        )  # fmt: skip
        if one.sure(share, within) or len(came) < requests or requests >= most:
            return one
        # An interval is as wide as the root of its requests allows.
        wanted = max(within, abs(one.good - share) / _DOUBT)
        enough = requests * min((one.half / wanted) ** 2, most / requests)
        requests = min(max(2 * requests, math.ceil(enough)), most)
