"""How a replica reads prompts: each in one go, or in chunks beside the decoding batch."""

from __future__ import annotations

from collections.abc import Iterator
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
    """As many prompts at a time as a replica reads at once; the batch waits."""

    def takes(self, replica: Replica) -> bool:
        return len(replica.reading) < replica.clock.lanes

    def advance(self, replica: Replica) -> Iterator[None]:
        clock = replica.clock
        tasks = replica.reading[: clock.lanes]
        times = []
        for task in tasks:
            first = task.prompt + task.produced
            time = clock.prompt(first, task.read)
            if not task.produced:
                replica.log.passes.append(first - task.read)
            # Further samples share the prompt and read what each has written itself.
            if task.produced and task.width > 1:
                time += (task.width - 1) * clock.prompt(first, task.prompt)
            times.append(time)
        yield from replica.pause(max(times))
        for task in tasks:
            task.read = task.to_read
        replica.done_reading(tasks)


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
            read = replica.clock.prompt
            time = max(sum(read(at + size, at) for at, size in group) for group in parts)
            replica.log.passes += [size for group in parts for _, size in group]
        for task, size in tasks:
            task.read += size
        yield from replica.pause(time)
        if batch.tasks:
            replica.take_steps(1)
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
            group = left.index(max(left))
            size = min(left[group], task.to_read - task.read)
            if size <= 0:
                break
            left[group] -= size
            parts[group].append((task.read, size))
            tasks.append((task, size))
        return parts, tasks, left
