"""Requests that wait at a replica: in the order of arrival, or by priority first."""

from __future__ import annotations

from collections import deque
from collections.abc import Iterable, Iterator
from itertools import chain
from typing import Any, Protocol

from calc.serving.task import Task


class Queue(Protocol):
    """A queue that gives up its first."""

    def __len__(self) -> int:
        """How many there are."""

    def __getitem__(self, place: Any, /) -> Task:
        """The first, at place 0."""

    def append(self, task: Task, /) -> None:
        """Let one wait behind the others."""

    def appendleft(self, task: Task, /) -> None:
        """Let one that was put out wait before the others."""

    def popleft(self) -> Task:
        """Take the first."""

    def clear(self) -> None:
        """Let nobody wait."""

    def __iter__(self) -> Iterator[Task]:
        """Those that wait, from the first on."""


class ByPriority:
    """Higher priorities stand before lower ones, each in its own order."""

    def __init__(self, priorities: Iterable[int]) -> None:
        self._lines: dict[int, deque[Task]] = {
            priority: deque() for priority in sorted(set(priorities), reverse=True)
        }

    def __len__(self) -> int:
        return sum(map(len, self._lines.values()))

    def __getitem__(self, place: Any) -> Task:
        return self._first()[place]

    def append(self, task: Task) -> None:
        self._lines[task.priority].append(task)

    def appendleft(self, task: Task) -> None:
        self._lines[task.priority].appendleft(task)

    def popleft(self) -> Task:
        return self._first().popleft()

    def clear(self) -> None:
        for line in self._lines.values():
            line.clear()

    def __iter__(self) -> Iterator[Task]:
        return chain(*self._lines.values())

    @property
    def oldest(self) -> float:
        """When the first of any priority came [s]."""
        return min(line[0].ready for line in self._lines.values() if line)

    def _first(self) -> deque[Task]:
        return next(line for line in self._lines.values() if line)


def line(priorities: Iterable[int]) -> Queue:
    """A queue for requests of such priorities; of one alone nobody looks at them."""
    known = set(priorities)
    return ByPriority(known) if len(known) > 1 else deque[Task]()
