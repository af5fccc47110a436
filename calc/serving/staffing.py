"""What changes a fleet while it serves: failures, and a rule by which it grows and shrinks."""

from __future__ import annotations

import math
from collections import deque
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING, Protocol

import numpy as np

from calc.serving.errors import ServingError, positive, whole
from calc.serving.roster import Shift
from calc.words import marked, say

if TYPE_CHECKING:
    from calc.serving.fleet import Fleet


# A request that failures have sent again so often is lost with the next.
MOST_RETRIES = 10


class Staffing(Protocol):
    """What changes a fleet."""

    def begin(self, fleet: Fleet) -> None:
        """Plan the first change of a fleet that begins to serve."""

    def first(self, replicas: int) -> int:
        """Replicas that serve from the start, of so many."""


@dataclass(frozen=True)
class Outages:
    """Replicas that stop at given times.

    Parameters
    ----------
    each : tuple of (int, float, float)
        Place of the replica among those that decode, when it stops and how long it is down [s].
    retried : bool
        Whether what it had goes to another replica, where it is read again with what has been
        written of it, `MOST_RETRIES` times at most; lost otherwise.
    """

    each: tuple[tuple[int, float, float], ...]
    retried: bool = True

    def first(self, replicas: int) -> int:
        return replicas

    def begin(self, fleet: Fleet) -> None:
        for place, at, down in self.each:
            if place < fleet.size:
                fleet.at(at, partial(fleet.fail, place, down, self.retried))


@dataclass(frozen=True)
class Failures:
    """Replicas that stop at random.

    Parameters
    ----------
    every : float
        Mean time from a start of a replica to its next failure, exponential [s].
    down : float
        From a failure until it serves again, its restart included [s].
    retried : bool
        As in `Outages`.
    seed : int
        Start of the random numbers: each replica has its own.

    References
    ----------
    F8.23.
    """

    every: float
    down: float = 300.0
    retried: bool = True
    seed: int = 0

    def __post_init__(self) -> None:
        positive(marked("The time between failures"), self.every, "s")
        positive(marked("The time that a replica is down"), self.down, "s")

    def first(self, replicas: int) -> int:
        return replicas

    def begin(self, fleet: Fleet) -> None:
        for place in range(fleet.size):
            self._plan(fleet, place, np.random.default_rng((self.seed, 2, place)))

    def _plan(self, fleet: Fleet, place: int, random: np.random.Generator) -> None:
        def strike() -> None:
            if fleet.over:
                return
            if fleet.roster.shifts[place] in (Shift.SERVING, Shift.DRAINING):
                fleet.fail(place, self.down, self.retried)
            fleet.at(fleet.now + self.down, partial(self._plan, fleet, place, random))

        fleet.at(fleet.now + float(random.exponential(self.every)), strike)


@dataclass(frozen=True)
class Autoscaler:
    """As many replicas as hold `target` requests each, looked at every `interval` (F8.22).

    It starts replicas at once, those that drain first, and lets some drain when fewer would have
    been enough for as long as it holds on.

    Parameters
    ----------
    least : int
        Fewest replicas; the most are those of the deployment.
    target : float
        Requests of a replica, those that wait included.
    cold_start : float
        From the decision to the first request [s], which is paid for.
    hold : float
        How long it holds on to replicas that are not needed [s].
    interval : float
        Between two looks [s].
    """

    least: int = 1
    target: float = 16.0
    cold_start: float = 120.0
    hold: float = 300.0
    interval: float = 15.0

    def __post_init__(self) -> None:
        whole(marked("The fewest replicas"), self.least, 1, 1024)
        positive(marked("The requests of a replica"), self.target)
        positive(marked("The time between two looks"), self.interval, "s")
        for time in (self.cold_start, self.hold):
            if not 0 <= time < math.inf:
                raise ServingError(
                    say("A time is {time:g} s; it must be 0 or above and finite.", time=time)
                )

    def wanted(self, requests: int, most: int) -> int:
        """Replicas for so many requests, at most so many.

        >>> Autoscaler(least=2, target=16).wanted(40, most=8)
        3
        """
        return min(max(math.ceil(requests / self.target), self.least), most)

    def first(self, replicas: int) -> int:
        return min(self.least, replicas)

    def begin(self, fleet: Fleet) -> None:
        recent: deque[tuple[float, int]] = deque()

        def look() -> None:
            if fleet.over:
                return
            fleet.release_drained()
            wanted, now = self.wanted(fleet.requests, fleet.size), fleet.now
            recent.append((now, wanted))
            while recent[0][0] < now - self.hold:
                recent.popleft()
            there = fleet.roster.places(Shift.SERVING, Shift.STARTING, Shift.DOWN)
            least = max(count for _, count in recent)
            if wanted > len(there):
                fleet.start(wanted - len(there), self.cold_start)
            elif least < len(there):
                fleet.drain(len(there) - least)
            fleet.at(now + self.interval, look)

        fleet.at(fleet.now + self.interval, look)
