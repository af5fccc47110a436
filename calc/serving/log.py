"""What happened, written down as it does."""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import NDArray

from calc.serving.task import Fate

Array = NDArray[np.float64]


class Log:
    """What happened to every request, over all replicas.

    Attributes
    ----------
    admitted, first, ended : list of float
        When each was taken from the queue, had its first token and ended [s]; nan before.
    fate, preemptions, produced, replica : list of int
        How each ended, how often it was put out, tokens it got, which replica served it.
    intervals : list of (request, state, start, end, replica)
        Stretches of one state [s], and where the request was.
    steps : dict
        Decode steps by the number of slots in use.
    slot_steps : int
        Tokens that those steps made.
    passes : list of int
        Prompt tokens of every reading of weights that served no decode step.
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
        self.intervals: list[tuple[int, int, float, float, int]] = []
        self.steps: dict[int, int] = {}
        self.passes: list[int] = []
        self.slot_steps = self.asked = self.found = self.reread = 0
        self.ends = 0

    def end(self, request: int, fate: Fate, now: float) -> None:
        """A request has ended."""
        self.fate[request] = int(fate)
        self.ended[request] = now
        self.ends += 1


class Use:
    """How full the memory of one replica is, at the times of its events.

    `total` is its blocks, `peak` the most ever in use. `arrays` gives times [s], blocks in use,
    what of them is filled, and unused blocks that keep prefixes.
    """

    def __init__(self, name: str, total: int) -> None:
        self.name, self.total = name, total
        self._rows: list[tuple[float, int, float, int]] = []

    def note(self, now: float, used: int, filled: float, kept: int) -> None:
        """Write down the present."""
        self._rows.append((now, used, filled, kept))

    def arrays(self) -> tuple[Array, Array, Array, Array]:
        """Times [s], and at each the blocks in use, filled, and kept for prefixes."""
        table = np.array(self._rows or [(0.0, 0, 0.0, 0)], dtype=float)
        return table[:, 0], table[:, 1], table[:, 2], table[:, 3]
