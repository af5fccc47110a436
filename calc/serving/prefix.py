"""Where prompts that begin alike leave their cache: nowhere, in spare blocks, or on a host."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import Protocol

from calc.serving.chains import chains
from calc.serving.errors import ServingError, positive
from calc.serving.pool import Footprint
from calc.serving.task import Task
from calc.serving.traffic import Traffic
from calc.serving.trie import Chain, Trie
from calc.words import marked, say


class Prefixes(Protocol):
    """Prefixes that one replica keeps.

    `held` counts cached blocks of its memory that requests hold, `kept` those that nobody does.
    """

    @property
    def held(self) -> int: ...

    @property
    def kept(self) -> int: ...

    def find(self, task: Task) -> int:
        """Whole blocks of a prompt that are cached, never all of it (F8.10)."""

    def peek(self, task: Task) -> int:
        """What `find` would give, without counting as a use."""

    def saved(self, task: Task, blocks: int) -> int:
        """Blocks fewer that a task takes if it holds the first so many, all cached."""

    def hold(self, task: Task, blocks: int) -> None:
        """Let a task hold the first so many, all cached."""

    def release(self, task: Task) -> int:
        """Take from a task what it holds; returns the blocks that nobody holds now."""

    def keep(self, task: Task, tokens: int) -> None:
        """Leave what a task has read or written for others with the same beginning."""

    def shrink(self, free: int) -> None:
        """Make do with so many blocks of the replica's memory beside those in use."""

    def read_time(self, blocks: int) -> float:
        """Time to bring so many blocks into the replica's memory [s]."""

    def forget(self) -> None:
        """Nothing is kept any more, and nobody holds any of it."""


class NoPrefixes:
    """Nothing is kept."""

    held = kept = 0

    def find(self, task: Task) -> int:
        return 0

    def peek(self, task: Task) -> int:
        return 0

    def saved(self, task: Task, blocks: int) -> int:
        return 0

    def hold(self, task: Task, blocks: int) -> None:
        pass

    def release(self, task: Task) -> int:
        return 0

    def keep(self, task: Task, tokens: int) -> None:
        pass

    def shrink(self, free: int) -> None:
        pass

    def read_time(self, blocks: int) -> float:
        return 0.0

    def forget(self) -> None:
        pass


class SpareBlocks:
    """Prefixes stay where they are: requests share the blocks, and those in no use are spare."""

    def __init__(self, tokens: int, chain: Callable[[Task], Chain]) -> None:
        self._tokens, self._chain, self.trie = tokens, chain, Trie()

    @property
    def held(self) -> int:
        return self.trie.held

    @property
    def kept(self) -> int:
        return self.trie.cached - self.trie.held

    def find(self, task: Task) -> int:
        return self.trie.find(self._chain(task), (task.prompt - 1) // self._tokens)

    def peek(self, task: Task) -> int:
        return self.trie.peek(self._chain(task), (task.prompt - 1) // self._tokens)

    def saved(self, task: Task, blocks: int) -> int:
        return blocks - self.trie.unheld(self._chain(task), blocks)

    def hold(self, task: Task, blocks: int) -> None:
        self.trie.hold(self._chain(task), blocks)
        task.hit = blocks

    def release(self, task: Task) -> int:
        freed = self.trie.release(self._chain(task), task.hit)
        task.hit = 0
        return freed

    def keep(self, task: Task, tokens: int) -> None:
        reached = self.trie.extend(self._chain(task), task.hit, tokens // self._tokens)
        if reached > task.hit:
            # Blocks of its own become the cache's, and it holds them there.
            self.trie.release(self._chain(task), task.hit)
            self.hold(task, reached)

    def shrink(self, free: int) -> None:
        self.trie.shrink(free)

    def read_time(self, blocks: int) -> float:
        return 0.0

    def forget(self) -> None:
        self.trie = Trie()


class Copies(NoPrefixes):
    """Prefixes are copied to a memory apart, of a `limit` [byte], and read at a bandwidth [byte/s].

    Writing the copies takes no time.
    """

    def __init__(
        self,
        footprint: Footprint,
        chain: Callable[[Task], Chain],
        limit: float,
        bandwidth: float,
    ) -> None:
        self._tokens, self._bytes = footprint.tokens, footprint.bytes
        self._chain, self.trie = chain, Trie()
        self._most, self._bandwidth = int(limit / footprint.bytes), bandwidth

    def find(self, task: Task) -> int:
        return self.trie.find(self._chain(task), (task.prompt - 1) // self._tokens)

    def peek(self, task: Task) -> int:
        return self.trie.peek(self._chain(task), (task.prompt - 1) // self._tokens)

    def keep(self, task: Task, tokens: int) -> None:
        whole = tokens // self._tokens
        chain = self._chain(task)
        self.trie.extend(chain, self.trie.find(chain, whole), whole)
        self.trie.shrink(self._most)

    def read_time(self, blocks: int) -> float:
        return blocks * self._bytes / self._bandwidth

    def forget(self) -> None:
        self.trie = Trie()


class Levels(NoPrefixes):
    """Two memories apart, one below the other: what the upper has thrown away the lower may have.

    All that is kept is written to both; what is found below is read at its bandwidth.
    """

    def __init__(self, upper: Copies, lower: Copies) -> None:
        self._upper, self._lower, self._above = upper, lower, 0

    def find(self, task: Task) -> int:
        self._above = self._upper.find(task)
        return max(self._above, self._lower.find(task))

    def peek(self, task: Task) -> int:
        return max(self._upper.peek(task), self._lower.peek(task))

    def keep(self, task: Task, tokens: int) -> None:
        self._upper.keep(task, tokens)
        self._lower.keep(task, tokens)

    def read_time(self, blocks: int) -> float:
        above = min(self._above, blocks)
        return self._upper.read_time(above) + self._lower.read_time(blocks - above)

    def forget(self) -> None:
        # What is written to disk outlasts the replica.
        self._upper.forget()


class PrefixCache(Protocol):
    """Where prefixes are kept."""

    def check(self, footprint: Footprint, model: str) -> None:
        """Refuse what cannot be kept so."""

    def open(self, footprint: Footprint, traffic: Traffic) -> Prefixes:
        """The prefixes of a replica that decodes."""

    def open_apart(self, footprint: Footprint, traffic: Traffic) -> NoPrefixes:
        """Those of a replica that only reads prompts, whose memory has no other use."""


@dataclass(frozen=True)
class SpareMemory:
    """Prefixes stay in blocks of the replica's own memory that nobody needs."""

    def check(self, footprint: Footprint, model: str) -> None:
        if not footprint.paged:
            raise ServingError(
                say("Prefixes are shared by block: they need paged memory, or the host's.")
            )
        _same_for_every_token(footprint, model)

    def open(self, footprint: Footprint, traffic: Traffic) -> Prefixes:
        return SpareBlocks(footprint.tokens, _chains(footprint, traffic))

    def open_apart(self, footprint: Footprint, traffic: Traffic) -> Copies:
        return Copies(
            footprint, _chains(footprint, traffic), footprint.total * footprint.bytes, math.inf
        )


@dataclass(frozen=True)
class HostMemory:
    """Prefixes are copied to host memory of a size [byte] and read back at a bandwidth [byte/s].

    Each replica has its own.

    References
    ----------
    F8.10.
    """

    limit: float
    bandwidth: float

    def __post_init__(self) -> None:
        positive(marked("The host memory of the prefix cache"), self.limit, "B")
        positive(marked("The bandwidth of the prefix cache"), self.bandwidth, "B/s")

    def check(self, footprint: Footprint, model: str) -> None:
        _same_for_every_token(footprint, model)

    def open(self, footprint: Footprint, traffic: Traffic) -> Prefixes:
        return self.open_apart(footprint, traffic)

    def open_apart(self, footprint: Footprint, traffic: Traffic) -> Copies:
        return Copies(footprint, _chains(footprint, traffic), self.limit, self.bandwidth)


@dataclass(frozen=True)
class HostAndDisk:
    """Prefixes are copied to host memory and to an SSD below it, each of its size and bandwidth.

    References
    ----------
    F8.10, F8.25.
    """

    host: HostMemory
    disk: HostMemory

    def check(self, footprint: Footprint, model: str) -> None:
        _same_for_every_token(footprint, model)

    def open(self, footprint: Footprint, traffic: Traffic) -> Prefixes:
        return self.open_apart(footprint, traffic)

    def open_apart(self, footprint: Footprint, traffic: Traffic) -> Levels:
        return Levels(
            self.host.open_apart(footprint, traffic), self.disk.open_apart(footprint, traffic)
        )


def _chains(footprint: Footprint, traffic: Traffic) -> Callable[[Task], Chain]:
    return chains(footprint.tokens, traffic.system, traffic.hashes, traffic.adapters)


def _same_for_every_token(footprint: Footprint, model: str) -> None:
    """Refuse models whose cached prefix cannot be cut at any block."""
    if not footprint.linear:
        raise ServingError(
            say(
                "The prefix cache needs a cache that takes the same for every token: {model} has "
                "windows or a constant state.",
                model=model,
            )
        )
