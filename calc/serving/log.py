"""What happened, written down as it does."""

from __future__ import annotations

import math
from array import array
from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray

from calc.serving.task import Fate, State

Array = NDArray[np.float64]


class Log:
    """What happened to every request, over all replicas.

    Attributes
    ----------
    admitted, first, ended : list of float
        When each was taken from the queue, had its first token and ended [s]; nan before.
    fate, preemptions, retries, produced, replica : list of int
        How each ended, how often it was put out and sent again by a failure, tokens it got, which
        replica served it.
    intervals : array
        Request, state, start, end and replica of every stretch of one state [s], in a row.
    gaps : array
        Time between two tokens of a sequence, and how many took it, in a row [s].
    shifts : array
        Replica, `Shift`, start and end [s] of every stretch in which a replica was paid for, where
        the fleet was `staffed` by more than its start.
    steps : dict
        Decode steps by the number of slots in use.
    slot_steps : int
        Tokens that those steps made.
    passes : list of int
        Prompt tokens of every reading of weights that served no decode step.
    arrived, on_end
        Of a closed loop: when each request came [s], and what is called with the time of an end.
    asked, found, reread : int
        Prompt tokens of all starts, those found in the prefix cache, and those read once more
        after having been put out.
    """

    def __init__(self, requests: int) -> None:
        self.admitted = [math.nan] * requests
        self.first = [math.nan] * requests
        self.ended = [math.nan] * requests
        self.fate = [int(Fate.UNFINISHED)] * requests
        self.preemptions = [0] * requests
        self.produced = [0] * requests
        self.replica = [0] * requests
        self.retries = [0] * requests
        # Numbers in a row take a fifth of the room that tuples do.
        self.intervals = array("d")
        self.gaps = array("d")
        # Replica, shift, start and end, in a row, once one has changed.
        self.shifts, self.staffed = array("d"), False
        self.steps: dict[int, int] = {}
        self.passes: list[int] = []
        self.slot_steps = self.asked = self.found = self.reread = 0
        self.ends = 0
        # Of a closed loop: when each came [s], and who is told of ends.
        self.arrived: dict[int, float] = {}
        self.on_end: Callable[[float], None] | None = None

    def stayed(self, request: int, state: State, start: float, end: float, replica: int) -> None:
        """A request was in one state for a while."""
        self.intervals.extend((request, state, start, end, replica))

    def waited(self, gap: float, sequences: int) -> None:
        """So many sequences waited so long for their next token [s]."""
        self.gaps.extend((gap, sequences))

    def end(self, request: int, fate: Fate, now: float) -> None:
        """A request has ended."""
        self.fate[request] = int(fate)
        self.ended[request] = now
        self.ends += 1
        if self.on_end:
            self.on_end(now)


class Use:
    """How full the memory of one replica is, at the times of its events.

    `total` is its blocks, `peak` the most ever in use. `arrays` gives times [s], blocks in use,
    what of them is filled, and unused blocks that keep prefixes.
    """

    def __init__(self, name: str, total: int) -> None:
        self.name, self.total = name, total
        self._rows = array("d")

    def note(self, now: float, used: int, filled: float, kept: int) -> None:
        """Write down the present."""
        self._rows.extend((now, used, filled, kept))

    def arrays(self) -> tuple[Array, Array, Array, Array]:
        """Times [s], and at each the blocks in use, filled, and kept for prefixes."""
        table = np.array(self._rows or [0.0, 0.0, 0.0, 0.0]).reshape(-1, 4)
        return table[:, 0], table[:, 1], table[:, 2], table[:, 3]
