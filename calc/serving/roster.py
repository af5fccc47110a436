"""Which replicas of a fleet serve, and what the others do."""

from __future__ import annotations

import math
from collections.abc import Sequence
from enum import IntEnum

from calc.serving.log import Log
from calc.serving.replica import Replica


class Shift(IntEnum):
    """What a replica does; all but `OFF` are paid for."""

    OFF = 0
    STARTING = 1
    SERVING = 2
    DRAINING = 3
    DOWN = 4


class Roster:
    """The shifts of some replicas, written down as they end.

    Parameters
    ----------
    replicas : sequence of Replica
        Who there is.
    serving : int
        How many of them serve from the start; the others are off.
    log : Log
        Where shifts are written down, once one has changed.

    Attributes
    ----------
    open : list of Replica
        Those that take requests, by their place.
    """

    def __init__(self, replicas: Sequence[Replica], serving: int, log: Log) -> None:
        self._replicas, self._log = replicas, log
        self.shifts = [
            Shift.SERVING if place < serving else Shift.OFF for place in range(len(replicas))
        ]
        self._since = [0.0] * len(replicas)
        self.open = list(replicas[:serving])
        for replica in replicas[serving:]:
            replica.serves, replica.due = False, math.inf
        log.staffed = serving < len(replicas)

    def places(self, *shifts: Shift) -> list[int]:
        """Replicas that do one of these."""
        return [place for place, shift in enumerate(self.shifts) if shift in shifts]

    def turn(self, place: int, shift: Shift, now: float) -> None:
        """From now on a replica does something else [s]."""
        self._write(place, now)
        self.shifts[place], self._since[place] = shift, now
        self._log.staffed = True
        self._replicas[place].serves = shift is Shift.SERVING
        self.open[:] = [self._replicas[place] for place in self.places(Shift.SERVING)]

    def close(self, now: float) -> None:
        """All is over [s]."""
        for place in range(len(self.shifts)):
            self._write(place, max(now, self._since[place]))

    def _write(self, place: int, now: float) -> None:
        if self.shifts[place] is not Shift.OFF and now > self._since[place]:
            row = (self._replicas[place].number, self.shifts[place], self._since[place], now)
            self._log.shifts.extend(row)
