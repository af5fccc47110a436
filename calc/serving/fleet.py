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
from calc.serving.roster import Roster, Shift
from calc.serving.routing import Key, Routing
from calc.serving.staffing import MOST_RETRIES, Staffing
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
    staffing : sequence of Staffing
        What changes it while it serves.

    Attributes
    ----------
    now : float
        The time of what was planned and happens [s].
    roster : Roster
        Who of the replicas serves.
    """

    def __init__(
        self,
        replicas: Sequence[Replica],
        routing: Routing,
        key: Key,
        log: Log,
        deadlines: Deadlines | None = None,
        staffing: Sequence[Staffing] = (),
    ) -> None:
        self._replicas, self._blind = replicas, routing.blind and not staffing
        self._staffing = staffing
        first = min((one.first(len(replicas)) for one in staffing), default=len(replicas))
        self.roster = Roster(replicas, first, log)
        self._choose = routing.open(self.roster.open, key)
        self._place_of = {replica.number: place for place, replica in enumerate(replicas)}
        self._lives = [replica.run() for replica in replicas]
        # When each replica is due, and requests that come later; requests left for each.
        self._dues: list[tuple[float, int]] = []
        self._under_way: list[tuple[float, int, Task]] = []
        self._left: Counter[int] = Counter()
        self.now = 0.0
        self._comers: Comers | None = None
        # Requests that nobody is there to take.
        self._stranded: dict[int, Task] = {}
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
            self._left.update(self._place(task) for task in comers.foreseen)
        self._comers = comers
        for place in self.roster.places(Shift.SERVING):
            self._go_on(place)
        for one in self._staffing:
            one.begin(self)
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
                self.now, _, act = heapq.heappop(agenda)
                act()
            else:
                break
            if comers.over and not under_way:
                self._close()
            yield
        self.roster.close(max((end for end in self._log.ended if end == end), default=0.0))

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
        if log.ended[request] <= self.now:
            return
        if fate is Fate.CANCELLED and log.first[request] <= self.now:
            return
        if self._stranded.pop(request, None):
            self._end(task, fate)
            return
        place = self._places.get(request)
        if place is None:
            # On its way from where it was read, which it still ends.
            task.doom = fate
            return
        replica = self._replicas[place]
        before = replica.due
        replica.drop(task, fate, self.now)
        if replica.due != before:
            self._note_due(place)

    def _deliver(self, task: Task) -> None:
        if task.doom:
            self._log.end(task.request, task.doom, task.ready)
            return
        if not self.roster.open:
            self._stranded[task.request] = task
            return
        place = self._place(task)
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
        self.now = task.ready

    def _place(self, task: Task) -> int:
        return self._place_of[self._choose(task).number]

    # Replicas come and go

    @property
    def size(self) -> int:
        """Replicas, those that are off included."""
        return len(self._replicas)

    @property
    def requests(self) -> int:
        """Those that came and are not answered."""
        return sum(replica.requests for replica in self._replicas) + len(self._stranded)

    @property
    def over(self) -> bool:
        """Whether all requests are answered."""
        assert self._comers
        return self._comers.over and not (self._under_way or self.requests)

    def fail(self, place: int, down: float, retried: bool) -> None:
        """A replica stops, and serves again after so long; what it had goes elsewhere or is lost.

        One that drains is off then.
        """
        if self.roster.shifts[place] not in (Shift.SERVING, Shift.DRAINING):
            return
        drains = self.roster.shifts[place] is Shift.DRAINING
        held = self._replicas[place].fail(self.now)
        self.roster.turn(place, Shift.OFF if drains else Shift.DOWN, self.now)
        if not drains:
            self.at(self.now + down, partial(self._serve, place))
        for task in sorted(held, key=lambda task: task.request):
            self._places.pop(task.request, None)
            if task.doom or not retried or self._log.retries[task.request] == MOST_RETRIES:
                self._end(task, task.doom or Fate.LOST)
                continue
            self._log.retries[task.request] += 1
            # A replica may have got a little further than the clock, by copies.
            task.ready = max(self.now, task.since)
            self.send(task)

    def start(self, replicas: int, cold_start: float) -> None:
        """Let so many more serve: those that drain at once, others after a cold start [s]."""
        for place in self.roster.places(Shift.DRAINING)[:replicas]:
            self.roster.turn(place, Shift.SERVING, self.now)
            replicas -= 1
        for place in self.roster.places(Shift.OFF)[:replicas]:
            self.roster.turn(place, Shift.STARTING, self.now)
            self.at(self.now + cold_start, partial(self._serve, place))

    def drain(self, replicas: int) -> None:
        """Let so many fewer take requests, those that start first, and of the rest the last."""
        starting = self.roster.places(Shift.STARTING)
        serving = self.roster.places(Shift.SERVING)
        for place in [*reversed(starting), *reversed(serving)][:replicas]:
            still = self.roster.shifts[place] is Shift.STARTING
            self.roster.turn(place, Shift.OFF if still else Shift.DRAINING, self.now)

    def release_drained(self) -> None:
        """Those that drain and have answered all are off."""
        for place in self.roster.places(Shift.DRAINING):
            if not self._replicas[place].requests:
                self._replicas[place].fail(self.now)
                self.roster.turn(place, Shift.OFF, self.now)

    def _serve(self, place: int) -> None:
        """A replica that started or was down takes requests, those first that have waited."""
        if self.roster.shifts[place] not in (Shift.STARTING, Shift.DOWN):
            return
        self.roster.turn(place, Shift.SERVING, self.now)
        self._lives[place] = self._replicas[place].start(self.now)
        self._go_on(place)
        waiting = list(self._stranded.values())
        self._stranded.clear()
        for task in waiting:
            task.ready = self.now
            self._deliver(task)

    def _end(self, task: Task, fate: Fate) -> None:
        """A request that is with no replica ends now."""
        log, request = self._log, task.request
        end = max(self.now, task.since)
        if end > task.since:
            log.stayed(request, task.state, task.since, end, log.replica[request])
        log.produced[request] = task.produced * task.width
        log.end(request, fate, end)

    def _nudge(self) -> bool:
        """All wait for each other: start what waits for more; whether there was anything."""
        waiting = [place for place, replica in enumerate(self._replicas) if replica.queue]
        for place in waiting:
            replica = self._replicas[place]
            replica.expect_none(self.now)
            self._go_on(place)
            replica.expecting = True
        return bool(waiting)

    def _close(self) -> None:
        """No more requests will come."""
        for place, replica in enumerate(self._replicas):
            before = replica.due
            replica.expect_none(self.now)
            if replica.due != before:
                self._note_due(place)

    def _go_on(self, place: int) -> None:
        next(self._lives[place])
        self._note_due(place)

    def _note_due(self, place: int) -> None:
        due = self._replicas[place].due
        if due < math.inf:
            heapq.heappush(self._dues, (due, place))
