"""How a replica reads prompts: each in one go, or in chunks beside the decoding batch."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Protocol

if TYPE_CHECKING:
    from calc.serving.replica import Replica
    from calc.serving.task import Task


class Reading(Protocol):
    """How prompts are read."""

    def takes(self, replica: Replica) -> bool:
        """Whether the next iteration could begin one more prompt."""

    def advance(self, replica: Replica) -> Iterator[None]:
        """Read, let time pass, and hand over the prompts that are done."""


@dataclass(frozen=True)
class WholePrompts:
    """As many prompts at a time as a replica reads at once; the batch waits.

    Each has its first token when it is read.
    """

    def takes(self, replica: Replica) -> bool:
        return len(replica.reading) < replica.clock.lanes

    def advance(self, replica: Replica) -> Iterator[None]:
        tasks = replica.reading[: replica.clock.lanes]
        yield from _read(replica, [[task] for task in tasks])


@dataclass(frozen=True)
class Together:
    """All prompts that can start, up to a budget of tokens, in one pass; the batch waits.

    They have their first tokens together, as engines without chunks do it.
    """

    budget: int

    def takes(self, replica: Replica) -> bool:
        unread = sum(task.to_read - task.read for task in replica.reading)
        return not unread or unread + replica.queue[0].to_read <= self.budget

    def advance(self, replica: Replica) -> Iterator[None]:
        passes: list[list[Task]] = [[] for _ in range(replica.clock.lanes)]
        sizes = [0] * len(passes)
        for task in replica.reading:
            lane = sizes.index(min(sizes))
            sizes[lane] += task.to_read - task.read
            passes[lane].append(task)
        yield from _read(replica, [tasks for tasks in passes if tasks])


def _read(replica: Replica, passes: Sequence[Sequence[Task]]) -> Iterator[None]:
    """Read prompts to their ends, those of each pass together and all passes side by side."""
    times = []
    for tasks in passes:
        parts, alone = [], 0.0
        for task in tasks:
            first = task.prompt + task.produced
            parts.append((task.read, first - task.read))
            if not task.produced:
                replica.log.passes.append(first - task.read)
            # Further samples share the prompt and read what each has written itself.
            elif task.width > 1:
                alone += (task.width - 1) * replica.clock.prompts.alone(first, task.prompt)
        times.append(replica.clock.prompts.together(parts) + alone)
    yield from replica.pause(max(times))
    done = [task for tasks in passes for task in tasks]
    for task in done:
        task.read = task.to_read
    replica.done_reading(done)


Parts = list[tuple[int, int]]


@dataclass(frozen=True)
class Chunks:
    """Up to a budget of tokens each step, one for every decoding sequence, the rest of prompts.

    With several `groups` (data-parallel attention) each has a budget, a share of the batch, and
    prompts of its own; the step lasts as long as the longest of them.
    """

    budget: int
    groups: int = 1

    def takes(self, replica: Replica) -> bool:
        return max(self._deal(replica)[2]) > 0

    def advance(self, replica: Replica) -> Iterator[None]:
        batch = replica.batch
        if batch.tasks and not (yield from replica.make_room(1)):
            return
        parts, tasks, _ = self._deal(replica)
        if batch.tasks:
            time = batch.elapsed_beside(parts)
        else:
            # Nobody decodes: each chunk is a prompt of which a part is known.
            time = max(replica.clock.prompts.together(group) for group in parts if group)
            replica.log.passes += [size for group in parts for _, size in group]
        for task, size in tasks:
            task.read += size
        yield from replica.pause(time)
        if batch.tasks:
            replica.take_steps(1, time)
        replica.done_reading([task for task, _ in tasks if task.read == task.to_read])
        replica.finish_due()

    def _deal(self, replica: Replica) -> tuple[list[Parts], list[tuple[Task, int]], list[int]]:
        """What each group reads in a step, as what is known before it and its size [token].

        Beside it who reads how much, and what each group has left of its budget.
        """
        left = [self.budget - -(-len(replica.batch) // self.groups)] * self.groups
        parts: list[Parts] = [[] for _ in left]
        tasks = []
        for task in replica.reading:
            group = left.index(max(left)) if self.groups > 1 else 0
            size = min(left[group], task.to_read - task.read)
            if size <= 0:
                break
            left[group] -= size
            parts[group].append((task.read, size))
            tasks.append((task, size))
        return parts, tasks, left
