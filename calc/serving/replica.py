"""One replica from its first request to its last token.

Between two events (a request that may start comes, a sequence ends, blocks run out) the batch stays
as it is, and the replica goes to the next event in one step: it says when that is `due`, and does
what follows from it when that time has come. A request that may start earlier shortens the step.
"""

from __future__ import annotations

import math
from collections import deque
from collections.abc import Generator, Iterator, Sequence

from calc.serving.batch import Batch
from calc.serving.clock import Clock
from calc.serving.line import ByPriority, Queue
from calc.serving.log import Log, Use
from calc.serving.policies import Batching
from calc.serving.pool import Relief
from calc.serving.store import Store
from calc.serving.task import Fate, State, Task

# Share of the blocks that a request must leave free to start beside others, so that those can go
# on for a while.
WATERMARK = 0.01


class Replica:
    """A replica and the requests that come to it.

    Parameters
    ----------
    clock : Clock
        Times of its steps.
    store : Store
        Its memory.
    batching, relief
        When requests start, and what happens when blocks run out.
    log : Log
        Where it writes down what happens.
    use : Use
        Where it writes down how full its memory is.
    number : int
        Which replica it is.
    queue : Queue, optional
        Where requests wait; the first to come is the first to start by default.

    Attributes
    ----------
    due : float
        When what it does now ends [s]; inf where it waits for a request.
    requests : int
        Those that it has and has not answered.
    serves : bool
        Whether further ones may come to it.
    """

    def __init__(
        self,
        clock: Clock,
        store: Store,
        batching: Batching,
        relief: Relief,
        log: Log,
        use: Use,
        number: int,
        queue: Queue | None = None,
    ) -> None:
        self.clock, self.store, self.batching, self.relief = clock, store, batching, relief
        self.log, self.use, self.number = log, use, number
        self.now, self.due = 0.0, 0.0
        self.requests = self.waiting = self._queued = self._reading_width = 0
        # Blocks of the first steps of those that are read.
        self._reading_growth = 0
        self.batch = Batch(clock, store.footprint)
        self.queue: Queue = deque[Task]() if queue is None else queue
        self._ranked = isinstance(self.queue, ByPriority)
        self.reading: list[Task] = []
        self._leaving: list[Task] = []
        # Those that end at the end of the step that is under way.
        self._doomed: list[Task] = []
        # Steps under way that a request may shorten; whether nothing is under way.
        self._jump, self._rests = 0, False
        # When the batch had its latest tokens, and who has joined it since.
        self._latest = 0.0
        self._fresh: list[Task] = []
        self.expecting = self.serves = True

    # What a policy sees

    @property
    def occupied(self) -> int:
        """Slots in use."""
        return len(self.batch) + self._reading_width

    @property
    def oldest(self) -> float:
        """When the first in the queue came [s]."""
        if not self.queue:
            return math.inf
        return self.queue.oldest if isinstance(self.queue, ByPriority) else self.queue[0].ready

    # Requests come

    def holds(self, task: Task) -> int:
        """Tokens of a prompt that are cached here [token]."""
        return self.store.prefixes.peek(task) * self.store.footprint.tokens

    def left(self, now: float) -> int:
        """Tokens that it has still to read and to write for its requests [token]."""
        writing = self.batch.left
        if self._jump and now > self.now:
            done = (now - self.now) / (self.due - self.now)
            writing -= int(self._jump * done) * self.batch.size
        return self._queued + sum(task.left for task in self.reading) + writing

    def receive(self, task: Task) -> None:
        """Queue a request that is ready now."""
        if self._ranked:
            at_once = not self.queue or task.priority > self.queue[0].priority
            at_once &= self.batching.quota(self) > 0 or self._below(task) is not None
        else:
            at_once = not self.queue and self.batching.quota(self) > 0
        self.queue.append(task)
        self._queue(task)
        self.requests += 1
        self.log.replica[task.request] = self.number
        if self._rests:
            self.due = max(self.now, task.ready)
        elif at_once:
            # It starts at the end of the step that is under way.
            self._shorten(task.ready)

    def _shorten(self, now: float) -> None:
        """Stop at the end of the step that is under way."""
        if self._jump:
            self._jump = self.batch.steps_until(now - self.now, self._jump)
            self.due = self.now + self.batch.elapsed(self._jump)

    def drop(self, task: Task, fate: Fate, now: float) -> None:
        """Let a request end so, from the queue at once, from the batch when its step ends."""
        task.doom = fate
        if task.state in (State.WAITING, State.PREEMPTED):
            self._queue(task, -1)
            while self.queue and self.queue[0].doom:
                self.queue.popleft()
            end = max(now, task.since)
            self.log.stayed(task.request, task.state, task.since, end, self.number)
            self.log.produced[task.request] = task.produced * task.width
            self.requests -= 1
            self.log.end(task.request, fate, end)
        else:
            self._doomed.append(task)
            self._shorten(now)

    def _drop_doomed(self) -> None:
        for task in self._doomed:
            if task.ticket or task in self.reading:
                self._take_out(task, idle=self.batching.together)
                self._cut(task, task.doom)
            # What has all its tokens by now ends as it would.
        self._doomed.clear()

    def expect_none(self, now: float) -> None:
        """No more requests will come: start what has waited for them."""
        self.expecting = False
        if self._rests and self.queue:
            self.due = max(self.now, now)

    # It fails and starts

    def fail(self, now: float) -> list[Task]:
        """Stop at once; returns what it had and has not answered. Its cache is gone."""
        if self._jump:
            # Of the steps under way those that are done have made their tokens.
            done = self.batch.steps_until(now - self.now, self._jump)
            done -= self.batch.elapsed(done) > now - self.now
            if done:
                time = self.batch.elapsed(done)
                self.now += time
                self.take_steps(done, time)
        self.now = max(self.now, now)
        self._leave_together()
        running = [*self.reading, *self.batch.tasks]
        for task in list(self.batch.tasks):
            self.batch.leave(task)
            if task not in self._fresh:
                task.latest = self._latest
        held = [*(task for task in self.queue if not task.doom), *running]
        for task in held:
            self._turn(task, State.PREEMPTED if task in running else task.state)
            task.fetch, task.read, task.hit = -1.0, 0, 0
        self.batch = Batch(self.clock, self.store.footprint)
        self.store.clear()
        self.queue.clear()
        for some in (self.reading, self._doomed, self._fresh):
            some.clear()
        self.requests = self.waiting = self._queued = 0
        self._reading_width = self._reading_growth = self._jump = 0
        self._rests, self.due = False, math.inf
        self.use.note(self.now, 0, 0.0, 0)
        return held

    def start(self, now: float) -> Iterator[None]:
        """Serve from now on, with nothing; see `run`."""
        self.now = max(self.now, now)
        return self.run()

    # The loop

    def run(self) -> Iterator[None]:
        """Serve what comes; stops until the time is `due`, and goes on for ever."""
        while True:
            if self._doomed:
                self._drop_doomed()
            self._admit()
            if self.reading:
                yield from self.batching.reading.advance(self)
            elif self.batch.tasks:
                yield from self._decode()
            elif self._leaving or self.batch.idle:
                self._leave_together()
            else:
                yield from self._rest()
            self._note_use()

    def pause(self, time: float) -> Iterator[None]:
        """Let so much time pass [s]."""
        self.due = self.now + time
        yield
        self.now = self.due

    def _rest(self) -> Iterator[None]:
        self._rests, self.due = True, max(self.now, self.batching.wake(self))
        yield
        self._rests, self.now = False, self.due

    def _admit(self) -> None:
        if not self.queue:
            return
        quota = self.batching.quota(self)
        while self.queue:
            task = self.queue[0]
            if task.width > quota and not self._ranked:
                return
            # A batch that leaves together starts together too.
            if not (self.batching.together or self.batching.reading.takes(self)):
                return
            if task.width > quota or not self.store.take(task, self._spare()):
                if self._gives_way(task):
                    quota = self.batching.quota(self)
                    continue
                if task.width > quota or not self.relief.turns_away:
                    return
                self._from_queue()
                self._cut(task, Fate.REJECTED)
                continue
            self._from_queue()
            quota -= task.width
            self._start(task)

    def _below(self, task: Task) -> Task | None:
        """Who would be put out for a task: the last of the lowest priority, if it is lower."""
        if not self._ranked or self.batching.together or not (self.batch.tasks or self.reading):
            return None
        last = self._last()
        return last if last.priority < task.priority else None

    def _gives_way(self, task: Task) -> bool:
        """Put out somebody for a task of a higher priority; whether there was anybody."""
        last = self._below(task)
        if last is None:
            return False
        # The replica waits for the copy.
        self.now += self._put_out(last)
        return True

    def _queue(self, task: Task, sign: int = 1) -> None:
        self.waiting += sign * task.width
        self._queued += sign * task.left

    def _from_queue(self) -> None:
        self._queue(self.queue.popleft(), -1)
        while self.queue and self.queue[0].doom:
            self.queue.popleft()

    def _spare(self) -> float:
        """Blocks that the others need free, at least those of their next step.

        Without them a newcomer would take what an older one needs to move at all, be put out for
        it, and come back for ever.
        """
        if not self.occupied:
            return 0
        next_step = self.batch.growth(1) + self._reading_growth
        return max(WATERMARK * self.store.footprint.total, next_step)

    def _start(self, task: Task) -> None:
        log, request = self.log, task.request
        if math.isnan(log.admitted[request]):
            log.admitted[request] = self.now
        if task.fetch >= 0:
            # Its cache is brought back; the batch waits for the copy.
            self.now += task.fetch
            task.fetch = -1.0
            self._turn(task, State.DECODE)
            self._join(task)
            return
        self._turn(task, State.PREFILL)
        log.found += task.read
        self.now += self.store.prefixes.read_time(task.read // self.store.footprint.tokens)
        if log.preemptions[request] or log.retries[request]:
            log.reread += task.to_read - task.read
        log.asked += task.prompt
        self.reading.append(task)
        self._reading_width += task.width
        self._reading_growth += self.store.first_growth(task)

    def done_reading(self, tasks: Sequence[Task]) -> None:
        """Give prompts that are read their next token, and let them decode."""
        for task in tasks:
            self._leave_reading(task)
            task.produced += 1
            if math.isnan(self.log.first[task.request]):
                self.log.first[task.request] = self.now
            else:
                self.log.waited(self.now - task.latest, task.width)
            task.latest = self.now
            self.store.prefixes.keep(task, task.prompt)
            self._turn(task, State.DECODE)
            if task.produced == task.output:
                self._end(task)
            else:
                self._join(task)

    def _join(self, task: Task) -> None:
        self.batch.join(task)
        self._fresh.append(task)

    def _leave_reading(self, task: Task) -> None:
        self.reading.remove(task)
        self._reading_width -= task.width
        self._reading_growth -= self.store.first_growth(task)

    # Decoding

    def _decode(self) -> Iterator[None]:
        self._jump = self.batch.steps_within(self.store.free, self.batch.steps_to_end())
        if not self._jump:
            yield from self._relieve()
            return
        start = self.now
        yield from self.pause(self.batch.elapsed(self._jump))
        steps, self._jump = self._jump, 0
        self.take_steps(steps, self.now - start)
        self.finish_due()

    def make_room(self, steps: int) -> Generator[None, None, bool]:
        """Whether blocks allow so many steps; if not, somebody is put out."""
        if self.batch.steps_within(self.store.free, steps) == steps:
            return True
        yield from self._relieve()
        return False

    def take_steps(self, steps: int, time: float) -> None:
        """The batch has taken so many steps, which took so long [s]."""
        batch, log = self.batch, self.log
        self._note_gaps(steps, time)
        log.steps[len(batch)] = log.steps.get(len(batch), 0) + steps
        log.slot_steps += steps * batch.size
        grown = batch.growth(steps)
        batch.step += steps
        self.store.grow(grown)

    def _note_gaps(self, steps: int, time: float) -> None:
        """Write down how long sequences waited for their tokens, for that of the first step apart.

        Its steps are alike but for a token of context each.
        """
        each, size, note = time / steps, self.batch.size, self.log.waited
        start = self.now - time
        if steps > 1:
            note(each, (steps - 1) * size)
        for task in self._fresh:
            note(start + each - task.latest, task.width)
            size -= task.width
        if size:
            note(start + each - self._latest, size)
        self._latest = self.now
        self._fresh.clear()

    def finish_due(self) -> None:
        """Let go of the sequences that have all their tokens."""
        for task in self.batch.due():
            self.batch.leave(task, idle=self.batching.together)
            self._end(task, joined=True)

    def _end(self, task: Task, *, joined: bool = False) -> None:
        """A task has all its tokens: its blocks are free, its slot where nobody waits."""
        # The latest token has no position in the cache.
        self.store.prefixes.keep(task, task.context)
        self.store.release(task, task.context)
        self.log.produced[task.request] = task.output * task.width
        if not self.batching.together:
            self._close(task)
            return
        if not joined:
            self.batch.wait(task)
        self._leaving.append(task)

    def _leave_together(self) -> None:
        for task in self._leaving:
            self._close(task)
        self._leaving.clear()
        self.batch.dismiss()

    def _close(self, task: Task) -> None:
        self._turn(task, State.DECODE)
        self._gone(task, Fate.FINISHED)

    def _gone(self, task: Task, fate: Fate) -> None:
        self.requests -= 1
        self.log.end(task.request, fate, self.now)

    # Blocks run out

    def _relieve(self) -> Iterator[None]:
        """Put out the request that came last, of the lowest priority."""
        copy = self._put_out(self._last())
        if copy:
            # The replica waits for it.
            yield from self.pause(copy)

    def _last(self) -> Task:
        return max((*self.batch.tasks, *self.reading), key=_lateness)

    def _put_out(self, task: Task) -> float:
        """Put out a task; returns the time to copy its cache to the host [s]."""
        blocks, copy = self._take_out(task), 0.0
        if blocks and self.relief.bandwidth:
            copy = task.fetch = blocks * self.store.footprint.bytes / self.relief.bandwidth
        if self.relief.turns_away:
            self._cut(task, Fate.REJECTED)
            return 0.0
        self._turn(task, State.PREEMPTED)
        task.read = 0
        self.log.preemptions[task.request] += 1
        self.queue.appendleft(task)
        self._queue(task)
        return copy

    def _take_out(self, task: Task, *, idle: bool = False) -> int:
        """Take a task out of the batch or from those that are read; the blocks that it wrote to.

        With `idle` its slot stays taken.
        """
        if not task.ticket:
            self._leave_reading(task)
            self.store.release(task, task.next_context)
            return 0
        self.batch.leave(task, idle=idle)
        if task in self._fresh:
            self._fresh.remove(task)
        else:
            task.latest = self._latest
        blocks = self.store.footprint.blocks(task.prompt, task.context, task.width)
        self.store.release(task, task.context)
        return blocks

    def _cut(self, task: Task, fate: Fate) -> None:
        """A request ends without all its tokens."""
        self._turn(task, task.state)
        self.log.produced[task.request] = task.produced * task.width
        self._gone(task, fate)

    # What is written down

    def _turn(self, task: Task, state: State) -> None:
        """Write down what a task has been doing, and that it does something else from now on."""
        if self.now > task.since:
            self.log.stayed(task.request, task.state, task.since, self.now, self.number)
        task.state, task.since = state, self.now

    def _note_use(self) -> None:
        batch, filled_at = self.batch, self.store.footprint.filled
        filled = batch.filled - batch.doubled
        for task in self.reading:
            if not task.read:
                break
            filled += max(float(filled_at[min(task.read, task.prompt)]) - task.hit, 0.0)
        prefixes = self.store.prefixes
        self.use.note(self.now, self.store.pool.used, filled + prefixes.held, prefixes.kept)


def _lateness(task: Task) -> tuple[int, int]:
    return -task.priority, task.request
