"""Replicas that share a clock: the event loop."""

from __future__ import annotations

import heapq
import math
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from functools import partial
from itertools import count

from calc.serving.comers import Comers
from calc.serving.deadlines import Deadlines
from calc.serving.log import Log
from calc.serving.replica import Replica
from calc.serving.routing import Key, Routing
from calc.serving.task import Fate, Task


class Fleet:
    """Replicas behind one router.

    Every replica says when it is due; in between a request may come to any of them. What happens
    at one time happens in one order: requests first, then replicas by number.

    Parameters
    ----------
    replicas : sequence of Replica
        Who serves.
    routing : Routing
        Who of them takes a request, by
    key : callable
        what requests that must stay together share.
    log : Log
        What has become of each request.
    deadlines : Deadlines, optional
        How long requests wait; for ever without.
    """

    def __init__(
        self,
        replicas: Sequence[Replica],
        routing: Routing,
        key: Key,
        log: Log,
        deadlines: Deadlines | None = None,
    ) -> None:
        self._replicas, self._blind = replicas, routing.blind
        self._choose = routing.open(replicas, key)
        self._lives = [replica.run() for replica in replicas]
        # When each replica is due, and requests that come later; requests left for each.
        self._dues: list[tuple[float, int]] = []
        self._under_way: list[tuple[float, int, Task]] = []
        self._left: Counter[int] = Counter()
        self._now = 0.0
        # What else happens at its time, in the order in which it was planned.
        self._agenda: list[tuple[float, int, Callable[[], None]]] = []
        self._numbers = count()
        self._deadlines, self._log = deadlines, log
        # Where each request is that has a deadline.
        self._places: dict[int, int] = {}

    def run(self, comers: Comers, enter: Callable[[Task], None] | None = None) -> Iterator[None]:
        """Serve requests, in the order in which they come; yields after every event.

        `enter` is told of each as it comes, and may send it later or not at all; without it they
        go straight to their replica.
        """
        if enter is None and self._blind:
            # So that a batch that waits for more knows when no more will come.
            self._left.update(map(self._choose, comers.foreseen))
        for place in range(len(self._replicas)):
            self._go_on(place)
        dues, replicas, under_way = self._dues, self._replicas, self._under_way
        agenda, enter = self._agenda, enter or self._deliver
        while True:
            # What a request has moved since is thrown away.
            while dues and replicas[dues[0][1]].due != dues[0][0]:
                heapq.heappop(dues)
            due = dues[0][0] if dues else math.inf
            sent = under_way[0][0] if under_way else math.inf
            planned = agenda[0][0] if agenda else math.inf
            if math.inf > comers.at <= min(due, sent, planned):
                task = comers.take()
                if self._deadlines:
                    self._set_deadlines(task, self._deadlines)
                enter(task)
            elif math.inf > sent <= min(due, planned):
                self._deliver(heapq.heappop(under_way)[2])
            elif due < math.inf and due < planned:
                self._go_on(heapq.heappop(dues)[1])
                yield
                continue
            elif due == math.inf and not comers.over and self._nudge():
                pass
            elif agenda:
                self._now, _, act = heapq.heappop(agenda)
                act()
            else:
                return
            if comers.over and not under_way:
                self._close()
            yield

    def send(self, task: Task) -> None:
        """Let a request come to a replica once it is ready."""
        heapq.heappush(self._under_way, (task.ready, task.request, task))

    def at(self, time: float, act: Callable[[], None]) -> None:
        """Do something at a time [s], after requests that come then."""
        heapq.heappush(self._agenda, (time, next(self._numbers), act))

    def _set_deadlines(self, task: Task, deadlines: Deadlines) -> None:
        for time, fate in deadlines.after(task, task.ready):
            self.at(time, partial(self._expire, task, fate))

    def _expire(self, task: Task, fate: Fate) -> None:
        """A request does not wait any longer, unless it has what it has waited for."""
        log, request = self._log, task.request
        if log.ended[request] <= self._now:
            return
        if fate is Fate.CANCELLED and log.first[request] <= self._now:
            return
        place = self._places.get(request)
        if place is None:
            # On its way from where it was read, which it still ends.
            task.doom = fate
            return
        replica = self._replicas[place]
        before = replica.due
        replica.drop(task, fate, self._now)
        if replica.due != before:
            self._note_due(place)

    def _deliver(self, task: Task) -> None:
        if task.doom:
            self._log.end(task.request, task.doom, task.ready)
            return
        place = self._choose(task)
        replica = self._replicas[place]
        if place in self._left:
            self._left[place] -= 1
            replica.expecting = self._left[place] > 0
        if self._deadlines:
            self._places[task.request] = place
        before = replica.due
        replica.receive(task)
        if replica.due != before:
            self._note_due(place)
        self._now = task.ready

    def _nudge(self) -> bool:
        """All wait for each other: start what waits for more; whether there was anything."""
        waiting = [place for place, replica in enumerate(self._replicas) if replica.queue]
        for place in waiting:
            replica = self._replicas[place]
            replica.expect_none(self._now)
            self._go_on(place)
            replica.expecting = True
        return bool(waiting)

    def _close(self) -> None:
        """No more requests will come."""
        for place, replica in enumerate(self._replicas):
            before = replica.due
            replica.expect_none(self._now)
            if replica.due != before:
                self._note_due(place)

    def _go_on(self, place: int) -> None:
        next(self._lives[place])
        self._note_due(place)

    def _note_due(self, place: int) -> None:
        due = self._replicas[place].due
        if due < math.inf:
            heapq.heappush(self._dues, (due, place))
