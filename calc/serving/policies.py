"""When requests start: static, dynamic and continuous batching.

A policy says how many sequences may start now, and when that could change by itself; a replica does
the rest. Prompts are read whole or in chunks, see `calc.serving.reading`.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import cached_property
from typing import Protocol

from calc.serving.errors import ServingError, whole
from calc.serving.lengths import LONGEST
from calc.serving.reading import Chunks, Reading, Together, WholePrompts
from calc.words import marked, say

MOST_SLOTS = 8192
MOST_BUDGET = LONGEST


class Situation(Protocol):
    """What a policy sees of a replica."""

    @property
    def now(self) -> float:
        """The time [s]."""

    @property
    def occupied(self) -> int:
        """Sequences that are read, decode or wait for the rest of their batch."""

    @property
    def waiting(self) -> int:
        """Sequences in the queue."""

    @property
    def oldest(self) -> float:
        """When the first in the queue came [s]; inf if there is none."""

    @property
    def expecting(self) -> bool:
        """Whether more requests may come."""


class Batching(Protocol):
    """A policy of one replica."""

    @property
    def name(self) -> str:
        """What the field calls it."""

    @property
    def slots(self) -> int:
        """Most sequences at a time."""

    @property
    def together(self) -> bool:
        """Whether those that start together leave together."""

    @property
    def reading(self) -> Reading:
        """How prompts are read."""

    def quota(self, situation: Situation) -> int:
        """Sequences that may start now."""

    def wake(self, situation: Situation) -> float:
        """When `quota` may change though nothing comes and nothing ends [s]."""


@dataclass(frozen=True)
class Static:
    """Wait for a full batch; none leaves before all are done.

    Tokens are shown as they are made, but a request ends with its batch, and keeps its slot until
    then. When no more requests come, the rest starts as it is.

    References
    ----------
    F8.6.
    """

    slots: int = 8
    name = "static"
    together = True
    reading = WholePrompts()

    def __post_init__(self) -> None:
        whole(marked("The batch"), self.slots, 1, MOST_SLOTS)

    def quota(self, situation: Situation) -> int:
        full = situation.waiting >= self.slots or not situation.expecting
        return self.slots if full and not situation.occupied else 0

    def wake(self, situation: Situation) -> float:
        return math.inf


@dataclass(frozen=True)
class Dynamic:
    """Start when the batch is full or the first of it has waited for the `window` [s].

    It leaves together, as a static batch does.

    References
    ----------
    F8.6.
    """

    slots: int = 8
    window: float = 0.1
    name = "dynamic"
    together = True
    reading = WholePrompts()

    def __post_init__(self) -> None:
        whole(marked("The batch"), self.slots, 1, MOST_SLOTS)
        if not 0 <= self.window < math.inf:
            raise ServingError(
                say(
                    "The window is {window:g} s; it must be 0 or above and finite.",
                    window=self.window,
                )
            )

    def quota(self, situation: Situation) -> int:
        due = situation.waiting >= self.slots or situation.now >= situation.oldest + self.window
        return self.slots if due and not situation.occupied else 0

    def wake(self, situation: Situation) -> float:
        return math.inf if situation.occupied else situation.oldest + self.window


@dataclass(frozen=True)
class _AnyTime:
    """Start as soon as a slot and memory are free; leave at once when done."""

    slots: int = 256
    together = False

    def __post_init__(self) -> None:
        whole(marked("The batch"), self.slots, 1, MOST_SLOTS)

    def quota(self, situation: Situation) -> int:
        return self.slots - situation.occupied

    def wake(self, situation: Situation) -> float:
        return math.inf


@dataclass(frozen=True)
class Continuous(_AnyTime):
    """Start as soon as a slot and memory are free; leave at once when done.

    Prompts that can start are read first, and the batch waits for them: one after another, or with
    a `budget` of tokens so many together as it holds, and one at least.
    """

    budget: int = 0
    name = "continuous"

    def __post_init__(self) -> None:
        super().__post_init__()
        whole(marked("The token budget of a step"), self.budget, 0, MOST_BUDGET)

    @cached_property
    def reading(self) -> Reading:
        """One prompt at a time, or several in one pass."""
        return Together(self.budget) if self.budget else WholePrompts()


@dataclass(frozen=True)
class ChunkedPrefill(_AnyTime):
    """Continuous batching that reads prompts in chunks beside the decoding batch.

    A step has a `budget` of tokens, one for each decoding sequence and the rest for prompts. Where
    attention is data-parallel each of its `groups` has such a budget, as engines count it.
    """

    budget: int = 512
    groups: int = 1
    name = "chunked prefill"

    def __post_init__(self) -> None:
        super().__post_init__()
        whole(marked("The token budget of a step"), self.budget, 1, MOST_BUDGET)
        whole(marked("The number of groups"), self.groups, 1, MOST_SLOTS)
        share = -(-self.slots // self.groups)
        if self.budget < share:
            raise ServingError(
                say(
                    "The token budget of a step is {budget:,}: it must be at least the {slots:,} "
                    "sequences of a full batch, or no prompt could be read beside it.",
                    budget=self.budget,
                    slots=share,
                )
            )

    @cached_property
    def reading(self) -> Reading:
        """Chunks within the budget."""
        return Chunks(self.budget, self.groups)
