"""How a replica reads prompts: each in one go, or in chunks beside the decoding batch."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Protocol

if TYPE_CHECKING:
    from calc.serving.replica import Replica


class Reading(Protocol):
    """How prompts are read."""

    def takes(self, replica: Replica) -> bool:
        """Whether the next iteration could begin one more prompt."""

    def advance(self, replica: Replica) -> None:
        """Read, let time pass, and hand over the prompts that are done."""


@dataclass(frozen=True)
class WholePrompts:
    """As many prompts at a time as a replica reads at once; the batch waits."""

    def takes(self, replica: Replica) -> bool:
        return len(replica.reading) < replica.clock.lanes

    def advance(self, replica: Replica) -> None:
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
        replica.now += max(times)
        for task in tasks:
            task.read = task.to_read
        replica.done_reading(tasks)


@dataclass(frozen=True)
class Chunks:
    """Up to a budget of tokens each step, one for every decoding sequence, the rest of prompts."""

    budget: int

    def takes(self, replica: Replica) -> bool:
        unread = sum(task.to_read - task.read for task in replica.reading)
        return unread < self.budget - len(replica.batch)

    def advance(self, replica: Replica) -> None:
        batch = replica.batch
        if batch.tasks and not replica.make_room(1):
            return
        left, parts, done = self.budget - len(batch), [], []
        for task in replica.reading:
            size = min(left, task.to_read - task.read)
            parts.append((task.read, size))
            task.read += size
            left -= size
            if task.read == task.to_read:
                done.append(task)
            if not left:
                break
        if batch.tasks:
            replica.advance(1, parts)
        else:
            # Nobody decodes: each chunk is a prompt of which a part is known.
            for before, size in parts:
                replica.now += replica.clock.prompt(before + size, before)
                replica.log.passes.append(size)
        replica.done_reading(done)
        replica.finish_due()
