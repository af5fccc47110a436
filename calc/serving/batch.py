"""Sequences that decode together, and how far they can be carried in one go.

Nothing joins or leaves between two events, so every context grows by one token a step. Contexts
are kept relative to the step at which the batch stands: they need no touch as it moves on.
"""

from __future__ import annotations

import heapq
import math
from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from calc.serving.clock import Clock
from calc.serving.pool import Footprint
from calc.serving.task import Task

Array = NDArray[np.float64]


class Batch:
    """The decoding batch of one replica.

    Attributes
    ----------
    step : int
        Steps taken since the replica started.
    size : int
        Sequences that grow, samples counted.
    idle : int
        Slots whose sequence is done and that wait for the others.
    tasks : list of Task
        Those that grow.
    doubled : float
        Blocks counted more than once in what the tasks fill: shared by samples or held in the
        prefix cache.
    """

    def __init__(self, clock: Clock, footprint: Footprint) -> None:
        self.clock, self.footprint = clock, footprint
        self.step = self.size = self.idle = self._tickets = 0
        self.tasks: list[Task] = []
        # Sequences alone need no weights: a product less for each question.
        self._wide = 0
        self._idle_share = 0.0
        self._total = self._written = 0
        self.doubled = 0
        self._base = np.zeros(16, dtype=np.int64)
        self._width = np.zeros(16, dtype=np.int64)
        self._ends: list[tuple[int, int, Task]] = []
        # Where blocks come one after another: sequences by the step, counted round a block, in
        # which they begin one, so that nobody has to look at each.
        self._stepped = footprint.stepped
        self._begin = [0] * footprint.tokens
        self._slope = clock.slope

    def __len__(self) -> int:
        """Slots in use."""
        return self.size + self.idle

    @property
    def left(self) -> int:
        """Tokens still to be made [token]."""
        return self._written - self.size * self.step

    def join(self, task: Task) -> None:
        """Add a sequence that has its cache and its first token."""
        place = len(self.tasks)
        if place == len(self._base):
            self._base = np.concatenate([self._base, np.zeros_like(self._base)])
            self._width = np.concatenate([self._width, np.zeros_like(self._width)])
        self._tickets += 1
        task.ticket, task.place = self._tickets, place
        task.end = self.step + task.output - task.produced
        self._base[place] = task.context - self.step
        self._width[place] = task.width
        self.tasks.append(task)
        self.size += task.width
        self._wide += task.width > 1
        self._total += task.width * (task.context - self.step)
        self._written += task.width * task.end
        self.doubled += self._doubled(task)
        self._begin[(self.step - task.context) % self.footprint.tokens] += task.width
        heapq.heappush(self._ends, (task.end, task.ticket, task))

    def leave(self, task: Task, *, idle: bool = False) -> None:
        """Take a sequence out and set what it has produced; with `idle` its slot stays taken."""
        task.produced = task.output - (task.end - self.step)
        base = task.context - self.step
        last = self.tasks.pop()
        if last is not task:
            self.tasks[task.place] = last
            self._base[task.place] = self._base[last.place]
            self._width[task.place] = self._width[last.place]
            last.place = task.place
        self.size -= task.width
        self._wide -= task.width > 1
        self._total -= task.width * base
        self._written -= task.width * task.end
        self.doubled -= self._doubled(task)
        self._begin[-base % self.footprint.tokens] -= task.width
        task.ticket = 0
        if idle:
            self.wait(task)

    def wait(self, task: Task) -> None:
        """Keep the slot of one that is done; its context grows no more."""
        self.idle += task.width
        self._idle_share += task.width * float(self.clock.share[task.context])

    def _doubled(self, task: Task) -> int:
        return (task.width - 1) * int(self.footprint.shared[task.prompt]) + task.hit

    def dismiss(self) -> None:
        """Free the slots of those that are done."""
        self.idle, self._idle_share = 0, 0.0

    def due(self) -> list[Task]:
        """Sequences that have all their tokens, in the order in which they joined."""
        found = []
        while self._ends and self._stale_or_due(self._ends[0]):
            end, ticket, task = heapq.heappop(self._ends)
            if task.ticket == ticket and end <= self.step:
                found.append(task)
        return found

    def _stale_or_due(self, entry: tuple[int, int, Task]) -> bool:
        return entry[2].ticket != entry[1] or entry[0] <= self.step

    def steps_to_end(self) -> int:
        """Steps until the first one has all its tokens."""
        while self._ends[0][2].ticket != self._ends[0][1]:
            heapq.heappop(self._ends)
        return self._ends[0][0] - self.step

    def contexts(self, steps: int = 0) -> NDArray[np.int64]:
        """Context of each task after so many steps [token]."""
        return self._base[: len(self.tasks)] + (self.step + steps)

    def weigh(self, values: Array | NDArray[np.int64]) -> float:
        """Sum of one value for each task, over samples."""
        if self._wide:
            return float(values @ self._width[: len(self.tasks)])
        return float(values.sum())

    def busy(self, steps: int) -> float:
        """Work of so many steps from here, without messages [s]."""
        clock, size = self.clock, len(self)
        fixed = steps * (clock.fixed[size] + clock.gain[size] * self._idle_share)
        if not math.isnan(self._slope):
            context = self._total + self.size * self.step
            reads = steps * context + self.size * steps * (steps - 1) / 2
            return fixed + clock.gain[size] * self._slope * reads
        at = self.contexts()
        grown = clock.shares[at + steps] - clock.shares[at]
        return fixed + clock.gain[size] * self.weigh(grown)

    def elapsed(self, steps: int) -> float:
        """Time of so many steps from here [s]."""
        clock, links = self.clock, self.clock.links[len(self)]
        busy = self.busy(steps)
        time = busy + steps * (links + clock.overhead)
        if clock.hides and links:
            time -= clock.hides * self._shorter(steps, busy, links)
        return time

    def _shorter(self, steps: int, busy: float, links: float) -> float:
        """Sum of the shorter of work and messages over steps, whose work grows [s]."""
        if busy - self.busy(steps - 1) <= links:
            return busy
        low, high = 0, steps
        while high - low > 1:
            middle = (low + high) // 2
            if self.busy(middle) - self.busy(middle - 1) <= links:
                low = middle
            else:
                high = middle
        return self.busy(low) + (steps - low) * links

    def elapsed_beside(self, groups: Sequence[Sequence[tuple[int, int]]]) -> float:
        """Time of one step that takes chunks of prompts along, by group [s]."""
        size, clock = len(self), self.clock
        busy, links = clock.chunks(size, groups[0])
        for chunks in groups[1:]:
            more = clock.chunks(size, chunks)
            busy, links = max(busy, more[0]), max(links, more[1])
        return clock.together(self.busy(1) + busy, clock.links[size] + links)

    def steps_until(self, time: float, most: int) -> int:
        """Fewest steps that take at least so long, at least one and at most `most`."""
        low, high = 0, most
        if not (math.isnan(self._slope) or self.clock.hides):
            low, high = self._near(time, most)
        while high - low > 1:
            middle = (low + high) // 2
            if self.elapsed(middle) >= time:
                high = middle
            else:
                low = middle
        return high

    def _near(self, time: float, most: int) -> tuple[int, int]:
        """Bounds around the root of the quadratic that `elapsed` is for a constant slope."""
        first, half = self.elapsed(1), 0.5 * self.clock.gain[len(self)] * self._slope * self.size
        linear = first - half
        # The root in the form that does not cancel: 2 c / (b + √(b² + 4 a c)).
        root = 2 * time / (linear + math.sqrt(linear * linear + 4 * half * max(time, 0.0)))
        low, high = max(0, min(int(root) - 1, most - 1)), max(1, min(int(root) + 2, most))
        if low and self.elapsed(low) >= time:
            low = 0
        if high < most and self.elapsed(high) < time:
            high = most
        return low, high

    @property
    def filled(self) -> float:
        """What its contexts fill, in blocks."""
        if self.footprint.linear:
            return (self._total + self.size * self.step) / self.footprint.tokens
        return self.weigh(self.footprint.filled[self.contexts()])

    def growth(self, steps: int) -> int:
        """Blocks that so many steps take."""
        if self._stepped:
            tokens, begin = self.footprint.tokens, self._begin
            rounds, more = divmod(steps, tokens)
            first = self.step % tokens
            begun = sum(begin[first : first + more])
            if first + more > tokens:
                begun += sum(begin[: first + more - tokens])
            return rounds * self.size + begun
        table, at = self.footprint.table, self.contexts()
        return round(self.weigh(table[at + steps] - table[at]))

    def steps_within(self, free: int, most: int) -> int:
        """Steps, at most so many, that the free blocks allow."""
        # No sequence begins more blocks than this, so that most questions are cheap.
        if self.size * -(-most // self.footprint.tokens) <= free or self.growth(most) <= free:
            return most
        low, high = 0, most
        while high - low > 1:
            middle = (low + high) // 2
            if self.growth(middle) <= free:
                low = middle
            else:
                high = middle
        return low
