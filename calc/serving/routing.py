"""Which of several replicas takes a request."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Protocol

from calc.serving.replica import Replica
from calc.serving.task import Task

Key = Callable[[Task], int]
Choose = Callable[[Task], Replica]


class Routing(Protocol):
    """A rule by which requests go to replicas.

    Requests of one key go to the same replica.
    """

    @property
    def name(self) -> str:
        """What the field calls it."""

    @property
    def blind(self) -> bool:
        """Whether it looks at nothing but the key."""

    def open(self, replicas: Sequence[Replica], key: Key) -> Choose:
        """What gives a request's replica, asked once for each when it comes.

        The replicas are those that serve at the time of asking, one at least.
        """


@dataclass(frozen=True)
class InTurn:
    """One after another (round robin), however busy they are."""

    name = "in turn"
    blind = True

    def open(self, replicas: Sequence[Replica], key: Key) -> Choose:
        return lambda task: replicas[key(task) % len(replicas)]


@dataclass(frozen=True)
class LeastRequests:
    """To the one with the fewest requests that it has not answered (least outstanding)."""

    name = "least outstanding"
    blind = False

    def open(self, replicas: Sequence[Replica], key: Key) -> Choose:
        return _least(replicas, key, lambda task: [one.requests for one in replicas])


@dataclass(frozen=True)
class LeastTokens:
    """To the one that has the fewest tokens still to read and to write.

    Where requests are equally quick everywhere that is the one that is free first: they start as
    if they waited in one queue.
    """

    name = "least tokens"
    blind = False

    def open(self, replicas: Sequence[Replica], key: Key) -> Choose:
        return _least(replicas, key, lambda task: [one.left(task.ready) for one in replicas])


@dataclass(frozen=True)
class PrefixAware:
    """To the one with the fewest tokens left, those of this prompt that it does not hold included.

    So a cached prefix draws a request until what waits there outweighs it.
    """

    name = "prefix-aware"
    blind = False

    def open(self, replicas: Sequence[Replica], key: Key) -> Choose:
        return _least(
            replicas, key, lambda task: [one.left(task.ready) - one.holds(task) for one in replicas]
        )


def _least(replicas: Sequence[Replica], key: Key, load: Callable[[Task], list[int]]) -> Choose:
    """The one of the least load, equals in turn; those of a known key go where the first went.

    Where that one does not serve any more they go to another together.
    """
    known: dict[int, Replica] = {}
    last = -1

    def choose(task: Task) -> Replica:
        nonlocal last
        one = known.get(key(task))
        if one is None or not one.serves:
            loads = load(task)
            least = min(loads)
            ahead = loads[last + 1 :]
            last = last + 1 + ahead.index(least) if least in ahead else loads.index(least)
            one = known[key(task)] = replicas[last]
        return one

    return choose
