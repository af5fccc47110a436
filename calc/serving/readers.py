"""Replicas that only read prompts, and send their caches on."""

from __future__ import annotations

import heapq
import math
from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from calc.serving.clock import Clock
from calc.serving.deadlines import Deadlines
from calc.serving.log import Log
from calc.serving.prefix import NoPrefixes
from calc.serving.task import Fate, State, Task


class Readers:
    """A pool of replicas that read prompts, each by the first that is free.

    Parameters
    ----------
    clock : Clock
        Times of one of them.
    prefixes : sequence
        What each keeps of prompts.
    block : int
        Tokens of a block of what is kept [token].
    sent : array
        Time to send the cache of each request [s], or of any.
    streaming : bool
        Whether a cache follows layer by layer while the prompt is read.
    log : Log
        Where they write down what happens; their numbers are the first.
    deadlines : Deadlines, optional
        How long requests wait; they are read in the order in which they come, whatever their
        priority.

    References
    ----------
    F8.9.
    """

    def __init__(
        self,
        clock: Clock,
        prefixes: Sequence[NoPrefixes],
        block: int,
        sent: NDArray[np.float64],
        streaming: bool,
        log: Log,
        deadlines: Deadlines | None = None,
    ) -> None:
        self._deadlines = deadlines
        self._clock, self._prefixes, self._block, self._log = clock, prefixes, block, log
        # A model whose state does not grow sends the same for any prompt: one figure for all.
        self._sent = np.broadcast_to(sent, (len(log.fate),)).tolist()
        layers = clock.scenario.model.layers
        # What layers before the last have sent while the next was read is hidden (F8.9).
        self._hidden = (layers - 1) / layers if streaming else 0.0
        # When each lane of each is free, and when its network is.
        self._free = [(0.0, number) for number in range(len(prefixes) * clock.lanes)]
        self._links = [0.0] * len(prefixes)

    def read(self, task: Task) -> bool:
        """Read a prompt that has come; whether its request goes on, once its cache has arrived."""
        log, request = self._log, task.request
        free, lane = heapq.heappop(self._free)
        start, where = max(free, task.ready), lane % len(self._links)
        if self._gone(task, start, where):
            heapq.heappush(self._free, (free, lane))
            return False
        reading = self._time(task, self._prefixes[where])
        end = start + reading
        heapq.heappush(self._free, (end, lane))
        log.admitted[request], log.first[request] = start, end
        log.stayed(request, State.WAITING, task.ready, start, where)
        log.stayed(request, State.PREFILL, start, end, where)
        task.produced = 1
        if task.output == 1:
            log.produced[request] = task.width
            log.end(request, Fate.FINISHED, end)
            return False
        transfer = self._sent[request]
        arrived = max(
            end + max(0.0, transfer - reading * self._hidden), self._links[where] + transfer
        )
        self._links[where] = arrived
        log.stayed(request, State.TRANSFER, end, arrived, where)
        task.come(arrived)
        task.latest, task.fetch = end, 0.0
        return True

    def _gone(self, task: Task, start: float, where: int) -> bool:
        """Whether a request does not wait until it could be read, and ends before."""
        if not self._deadlines:
            return False
        at, fate = min(self._deadlines.after(task, task.ready), default=(math.inf, Fate.UNFINISHED))
        if at > start:
            return False
        self._log.stayed(task.request, State.WAITING, task.ready, at, where)
        self._log.end(task.request, fate, at)
        return True

    def _time(self, task: Task, prefixes: NoPrefixes) -> float:
        """Time to read a prompt, what is cached of it left out [s]."""
        hit = prefixes.find(task)
        prefixes.keep(task, task.prompt)
        known = hit * self._block
        self._log.asked += task.prompt
        self._log.found += known
        self._log.passes.append(task.prompt - known)
        return prefixes.read_time(hit) + self._clock.prompts.alone(task.prompt, known)
