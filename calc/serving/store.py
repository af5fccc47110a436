"""The cache memory of one replica: who holds which of its blocks."""

from __future__ import annotations

from calc.serving.pool import Footprint, Pool
from calc.serving.prefix import Prefixes
from calc.serving.task import Task


class Store:
    """Blocks handed out to tasks, and those that keep prefixes.

    Parameters
    ----------
    footprint : Footprint
        How many blocks there are and how many a context takes.
    prefixes : Prefixes
        What is kept of prompts.
    """

    def __init__(self, footprint: Footprint, prefixes: Prefixes) -> None:
        self.footprint, self.prefixes = footprint, prefixes
        self.pool = Pool(footprint.total)

    @property
    def free(self) -> int:
        """Blocks that no task holds; prefixes in them give way."""
        return self.pool.free

    def take(self, task: Task, spare: float) -> bool:
        """Give a task the blocks that it starts with, if there are so many beside the spare ones.

        What of its prompt is cached counts as read.
        """
        context, prefixes = task.next_context, self.prefixes
        found = prefixes.find(task) if task.fetch < 0 else 0
        own = self.footprint.blocks(task.prompt, context, task.width)
        own -= prefixes.saved(task, found)
        if own + self.first_growth(task) + spare > self.free:
            return False
        prefixes.hold(task, found)
        self.pool.take(own, self._references(task, context))
        prefixes.shrink(self.free)
        task.read = found * self.footprint.tokens
        return True

    def first_growth(self, task: Task) -> int:
        """Blocks that the first step of a task begins."""
        context = task.next_context
        after = min(context + 1, task.prompt + task.output - 1)
        return task.width * (self.footprint.held(after) - self.footprint.held(context))

    def grow(self, blocks: int) -> None:
        """Give tasks that hold blocks some more."""
        if blocks:
            self.pool.take(blocks)
            self.prefixes.shrink(self.free)

    def release(self, task: Task, context: int) -> None:
        """Take back what a task holds at a context."""
        own = self.footprint.blocks(task.prompt, context, task.width) - task.hit
        freed = self.prefixes.release(task)
        self.pool.give(own + freed, self._references(task, context))

    def clear(self) -> None:
        """Nobody holds anything, and nothing is kept."""
        self.pool.used = self.pool.references = 0
        self.prefixes.forget()

    def _references(self, task: Task, context: int) -> int:
        """Each sample refers to every block of its context, shared or not."""
        return task.width * self.footprint.held(context)
