"""Cache memory of a replica: how many blocks there are and how many a sequence takes.

Two ways to hand it out, and three to go on when it runs out.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import cached_property
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from calc import memory
from calc.scenario import Scenario
from calc.serving.errors import ServingError, positive, whole
from calc.serving.lengths import LONGEST
from calc.words import marked, say, size

Array = NDArray[np.float64]
Blocks = NDArray[np.int64]


class Memory(Protocol):
    """How the cache is handed out."""

    @property
    def name(self) -> str:
        """What the field calls it."""

    @property
    def longest(self) -> float:
        """Longest context that it can hold at all [token]."""

    def table(self, tokens: Array) -> Blocks:
        """Blocks of one sequence by its context.

        Parameters
        ----------
        tokens : array
            What its cache takes at each context 0, 1, …, in blocks.
        """


@dataclass(frozen=True)
class Paged:
    """Blocks as they are needed; samples share the full blocks of their prompt.

    References
    ----------
    F2.9; Kwon et al. 2023.
    """

    name = "paged"
    longest = math.inf

    def table(self, tokens: Array) -> Blocks:
        """As many blocks as the context fills or begins."""
        # A quotient may round across a whole number.
        return np.ceil(np.round(tokens, 9)).astype(np.int64)


@dataclass(frozen=True)
class Contiguous:
    """One piece for each sequence, as long as the longest possible one [token].

    References
    ----------
    F8.11; Kwon et al. 2023.
    """

    longest: int
    name = "contiguous"

    def __post_init__(self) -> None:
        whole(marked("The longest sequence"), self.longest, 1, LONGEST)

    def table(self, tokens: Array) -> Blocks:
        """Blocks of a sequence by its context [block]: the longest's, whatever the context."""
        most = int(np.ceil(np.round(tokens[self.longest], 9)))
        return np.full(len(tokens), most, dtype=np.int64)


class Relief(Protocol):
    """What happens when blocks run out."""

    @property
    def name(self) -> str:
        """What the field calls it."""

    @property
    def turns_away(self) -> bool:
        """Whether a request that finds no room, or loses it, is rejected."""

    @property
    def bandwidth(self) -> float:
        """At which the cache moves to host memory and back [byte/s]; 0 if it is thrown away."""


@dataclass(frozen=True)
class Reject:
    """Turn away whoever finds no room; cut off the youngest when a running one needs a block."""

    name = "reject"
    turns_away = True
    bandwidth = 0.0


@dataclass(frozen=True)
class Recompute:
    """Free the youngest one's blocks; it reads its prompt and its answer so far again later."""

    name = "recompute"
    turns_away = False
    bandwidth = 0.0


@dataclass(frozen=True)
class Swap:
    """Move the youngest one's blocks to host memory and back, at a `bandwidth` [byte/s].

    Host memory has no limit here; the replica waits for the copies.
    """

    bandwidth: float
    name = "swap"
    turns_away = False

    def __post_init__(self) -> None:
        positive(marked("The bandwidth to the host"), self.bandwidth, "B/s")


class Pool:
    """Blocks of one replica, counted with the references to them.

    `used` blocks are referenced at least once. A block that several samples share counts once in
    `used` and once for each in `references`.
    """

    def __init__(self, total: int) -> None:
        self.total, self.used, self.references, self.peak = total, 0, 0, 0

    @property
    def free(self) -> int:
        """Blocks that nobody refers to."""
        return self.total - self.used

    def take(self, blocks: int, references: int | None = None) -> None:
        """Hand out blocks; the engine has asked before whether there are so many."""
        self.used += blocks
        self.references += blocks if references is None else references
        self.peak = max(self.peak, self.used)

    def give(self, blocks: int, references: int | None = None) -> None:
        """Take blocks back."""
        self.take(-blocks, None if references is None else -references)


@dataclass(frozen=True)
class Footprint:
    """Blocks by context, for one scenario and one way to hand them out.

    `tokens` is what a block holds [token], `bytes` the same over all chips, `total` how many fit.
    `filled` is what the cache takes at each context, in blocks and not rounded, `table` what is
    handed out, `shared` the full blocks of a prompt of each length, which samples share where
    memory is `paged`.
    """

    tokens: int
    bytes: float
    total: int
    filled: Array
    table: Blocks
    shared: Blocks
    paged: bool = True

    @classmethod
    def of(cls, scenario: Scenario, kept: Memory, longest: int, beside: float = 0.0) -> Footprint:
        """The footprint of contexts up to the longest.

        So many bytes `beside` the weights are taken too, as by adapters or a draft model.

        Raises
        ------
        ServingError
            If the weights leave no room for a single block.
        """
        s = scenario
        if not memory.weights_fit(s) or memory.weights(s) + beside > memory.capacity(s):
            raise ServingError(
                say(
                    "{model} does not fit on {n:,} × {chip}: its weights take {weights} of "
                    "{capacity}.",
                    model=s.model.name,
                    n=s.n_chips,
                    chip=s.chip.name,
                    weights=size(memory.weights(s) + beside),
                    capacity=size(memory.capacity(s)),
                )
            )
        reach = max(longest, s.kv_block)
        if math.isfinite(kept.longest):
            reach = max(reach, int(kept.longest))
        cached = memory.kv_per_sequence(s, np.arange(reach + 1))
        cached = np.maximum.accumulate(np.broadcast_to(cached, (reach + 1,)))
        # A block is what its tokens add while every layer still grows; a constant state is one.
        block = float(cached[s.kv_block] - cached[0]) or float(cached[-1])
        room = memory.capacity(s) - memory.weights(s) - beside
        if block <= 0:
            filled, total = np.zeros(reach + 1), 1 << 40
        else:
            filled, total = cached / block, int(room / block)
        if not total:
            raise ServingError(
                say(
                    "Beside its weights {model} has room for {room} of cache, less than one block.",
                    model=s.model.name,
                    room=size(room),
                )
            )
        table = kept.table(filled)
        paged = isinstance(kept, Paged)
        shared = np.floor(np.round(filled, 9)).astype(np.int64) if paged else np.zeros_like(table)
        return cls(s.kv_block, block, total, filled, table, shared, paged)

    @cached_property
    def linear(self) -> bool:
        """Whether every token takes the same room."""
        steps = np.diff(self.filled)
        return not self.filled[0] and bool(np.allclose(steps, 1 / self.tokens, rtol=1e-6))

    @cached_property
    def stepped(self) -> bool:
        """Whether a context takes one more block after each so many tokens, and no other."""
        contexts = np.arange(len(self.table))
        return bool(np.array_equal(self.table, -(-contexts // self.tokens)))

    def held(self, context: int) -> int:
        """Blocks of one sequence at a context."""
        return -(-context // self.tokens) if self.stepped else int(self.table[context])

    def blocks(self, prompt: int, context: int, width: int) -> int:
        """Blocks of all samples of a request at a context.

        Samples write to the block that their prompt leaves unfinished in the first step after it:
        all but one take a copy.
        """
        if width == 1:
            return self.held(context)
        shared = int(self.shared[prompt])
        return shared + width * (self.held(context) - shared)
