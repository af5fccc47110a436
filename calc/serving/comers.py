"""When requests come: at times known before, or when clients have their answers."""

from __future__ import annotations

import heapq
import math
from collections.abc import Sequence
from typing import Protocol

from calc.serving.log import Log
from calc.serving.task import Task
from calc.serving.traffic import Loop


class Comers(Protocol):
    """Requests on their way to the service.

    `at` is when the next one comes as far as is known [s], inf if none does before another ends;
    `over` says that none is left, and `foreseen` are those whose times are known.
    """

    @property
    def at(self) -> float: ...

    @property
    def over(self) -> bool: ...

    @property
    def foreseen(self) -> Sequence[Task]: ...

    def take(self) -> Task:
        """The next request, which comes now."""


class Timed:
    """Requests that come at their times, whatever the service does."""

    def __init__(self, tasks: Sequence[Task]) -> None:
        self.foreseen, self._coming = tasks, iter(tasks)
        self._look()

    def _look(self) -> None:
        self._next = next(self._coming, None)
        self.over = self._next is None
        self.at = self._next.ready if self._next else math.inf

    def take(self) -> Task:
        task = self._next
        assert task
        self._look()
        return task


class Clients:
    """Clients that send a request, wait for its end, pause, and send the next.

    Parameters
    ----------
    tasks : sequence of Task
        The requests in the order in which they are sent.
    loop : Loop
        The clients and their pauses.
    log : Log
        Tells them of ends, and is told of arrivals.
    """

    foreseen: Sequence[Task] = ()

    def __init__(self, tasks: Sequence[Task], loop: Loop, log: Log) -> None:
        self._tasks, self._log, self._next = tasks, log, 0
        self._pauses = iter(loop.pauses.tolist())
        self._ready: list[float] = []
        log.on_end = self._pause
        for _ in range(min(loop.clients, len(tasks))):
            self._pause(0.0)

    @property
    def at(self) -> float:
        return math.inf if self.over or not self._ready else self._ready[0]

    @property
    def over(self) -> bool:
        return self._next == len(self._tasks)

    def take(self) -> Task:
        task, now = self._tasks[self._next], heapq.heappop(self._ready)
        self._next += 1
        task.come(now)
        self._log.arrived[task.request] = now
        return task

    def _pause(self, now: float) -> None:
        heapq.heappush(self._ready, now + next(self._pauses, 0.0))
