"""Attention kinds with a cache of which a step reads a part: picked by an indexer, or compressed.

They answer the same questions as those of `calc.attention`, and their caches grow without end too.
"""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Mapping
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import ArrayLike, NDArray

from calc.attention import (
    MAY_BE_ZERO,
    Around,
    Attention,
    GroupedQuery,
    HeadSplit,
    Latent,
    PerToken,
    SlidingWindow,
    causal_pairs,
)
from calc.formats import NumberFormat
from calc.words import say

Array = NDArray[np.float64]


@dataclass(frozen=True)
class Indexed(Around):
    """Shared by kinds whose small indexer picks the tokens that a step attends to.

    Everything is kept, and one index key per token. A step reads all index keys, and the cache of
    the picked tokens only (F2.10; parameters F1.11).
    """

    inner: PerToken

    # Figures of the kinds: query heads of the indexer, and the width of its one key per token.
    index_heads = 0
    index_dim = 0

    @property
    def kernels(self) -> int:
        """As few as of a plain layer: measured steps show no more (F3.12)."""
        return 3

    @property
    @abstractmethod
    def picked(self) -> int:
        """Tokens that a step attends to [token]."""

    @property
    def kv_elements_written(self) -> str:
        if not self.index_dim:
            return self.inner.kv_elements_written
        return say(
            "{elements} + {index} index",
            elements=self.inner.kv_elements_written,
            index=self.index_dim,
        )

    @property
    def multi_head(self) -> Attention | None:
        """Without an indexer, whose queries come from the layer's own."""
        return self.inner.multi_head

    @property
    def _read(self) -> SlidingWindow:
        """A window of as many tokens, which takes as much."""
        return SlidingWindow(self.inner, self.picked)

    def _index_bytes(self, context: ArrayLike, kv_format: NumberFormat) -> Array:
        return np.asarray(context, dtype=float) * self.index_dim * kv_format.bytes

    def kv_bytes_per_token(self, kv_format: NumberFormat) -> float:
        return self.inner.kv_bytes_per_token(kv_format) + self.index_dim * kv_format.bytes

    def kv_bytes(self, context: ArrayLike, kv_format: NumberFormat) -> Array:
        return self.inner.kv_bytes(context, kv_format) + self._index_bytes(context, kv_format)

    def kv_bytes_read(self, context: ArrayLike, kv_format: NumberFormat) -> Array:
        read = self._read.kv_bytes_read(context, kv_format)
        return read + self._index_bytes(context, kv_format)

    def index_flops(self, pairs: ArrayLike) -> Array:
        return np.asarray(pairs, dtype=float) * 2 * self.index_heads * self.index_dim

    def flops(self, context: ArrayLike) -> Array:
        attended = self._read.flops(context)
        return attended + self.index_flops(context)

    def prefill_flops(self, tokens: ArrayLike) -> Array:
        attended = self._read.prefill_flops(tokens)
        return attended + self.index_flops(causal_pairs(tokens))


@dataclass(frozen=True)
class SparseTopK(Indexed):
    """Attention to the `top_k` cached tokens that an indexer picks (DeepSeek-V3.2, GLM-5).

    Parameters
    ----------
    inner : Latent
        The attention over what was picked.
    top_k : int
        Tokens picked.
    index_heads, index_dim : int
        Query heads of the indexer, and the width of its one key per token; 0 in layers that take
        the picks of an earlier one.
    """

    inner: Latent
    top_k: int
    index_heads: int = 0
    index_dim: int = 0

    @property
    def label(self) -> str:
        return say("top {number:,} of {inner}", number=self.top_k, inner=self.inner.label)

    @property
    def picked(self) -> int:
        return self.top_k

    def params(self, d_model: int) -> int:
        queries = (self.inner.q_rank or d_model) * self.index_heads * self.index_dim
        keys = d_model * self.index_dim + 2 * self.index_dim
        return self.inner.params(d_model) + queries + keys + d_model * self.index_heads


@dataclass(frozen=True)
class SparseBlocks(Indexed):
    """Attention of each KV head to `blocks` blocks that an indexer picks (MiniMax-M3; F2.10).

    Parameters
    ----------
    inner : GroupedQuery
        The attention over what was picked.
    blocks, block : int
        Blocks picked, the one at hand among them, and tokens to a block.
    index_heads, index_dim : int
        Query heads of the indexer, and the width of its one key per token.
    """

    inner: GroupedQuery
    blocks: int
    block: int
    index_heads: int
    index_dim: int

    @property
    def label(self) -> str:
        return say(
            "{blocks:,} blocks of {size:,}, {inner}",
            blocks=self.blocks,
            size=self.block,
            inner=self.inner.label,
        )

    @property
    def picked(self) -> int:
        return self.blocks * self.block

    def params(self, d_model: int) -> int:
        indexer = (self.index_heads + 1) * self.index_dim * d_model + 2 * self.index_dim
        return self.inner.params(d_model) + indexer


@dataclass(frozen=True)
class Compressed(Attention):
    """A window of full tokens beside a cache compressed `ratio` to one (DeepSeek-V4; F2.11).

    One shared vector per entry is both key and value. Where an indexer picks, a step reads its
    keys and the picked entries; otherwise all compressed entries.

    Parameters
    ----------
    heads, head_dim, rope_dim : int
        Query heads, and the width of the shared vector, RoPE part included.
    q_rank, output_groups, output_rank : int
        Ranks of the query and of the grouped output projection.
    near, ratio : int
        Full tokens kept, and tokens to one compressed entry; ratio 0 keeps the near ones only.
    top_k, index_heads, index_dim : int
        Entries picked and the indexer's shape; 0 reads all entries.
    """

    heads: int
    head_dim: int
    rope_dim: int
    q_rank: int
    output_groups: int
    output_rank: int
    near: int
    ratio: int = field(metadata=MAY_BE_ZERO)
    top_k: int = 0
    index_heads: int = 0
    index_dim: int = 0

    @property
    def label(self) -> str:
        if not self.ratio:
            return say(
                "window {size:,}, one vector of {width}", size=self.near, width=self.head_dim
            )
        return say(
            "window {size:,} beside 1 in {ratio:,}, one vector of {width}",
            size=self.near,
            ratio=self.ratio,
            width=self.head_dim,
        )

    @property
    def split(self) -> HeadSplit:
        width = self.heads * self.head_dim
        return HeadSplit(self.heads, 1, width, width)

    def params(self, d_model: int) -> int:
        queries = self.q_rank * (d_model + 1 + self.heads * self.head_dim)
        shared = d_model * self.head_dim + self.head_dim
        out = self.heads * self.head_dim * self.output_rank
        out += self.output_groups * self.output_rank * d_model
        indexer = self.index_heads * (self.q_rank * self.index_dim + d_model)
        compressors = self._compressor(d_model, self.head_dim)
        compressors += self._compressor(d_model, self.index_dim)
        sinks = self.heads
        return queries + shared + sinks + out + indexer + compressors

    @property
    def equal_pages(self) -> bool:
        """Recent vectors and compressed entries are paged each in their own way."""
        return False

    def _compressor(self, d_model: int, width: int) -> int:
        """Two projections, a position bias and a norm; twice where windows overlap (an indexer)."""
        if not self.ratio:
            return 0
        overlap = 2 if self.index_dim else 1
        return overlap * width * (2 * d_model + self.ratio) + width

    @property
    def kv_elements_written(self) -> str:
        """A full vector, and a token's share of a compressed one and of its index key."""
        if not self.ratio:
            return f"{self.head_dim:,}"
        entry = f"({self.head_dim} + {self.index_dim})" if self.index_dim else f"{self.head_dim}"
        return f"{self.head_dim} + {entry} / {self.ratio}"

    def _entries(self, context: ArrayLike) -> Array:
        if not self.ratio:
            return np.zeros(np.shape(context))
        return np.floor(np.asarray(context, dtype=float) / self.ratio)

    def _recent(self, context: ArrayLike) -> Array:
        return np.asarray(np.minimum(context, self.near), dtype=float)

    def _read(self, context: ArrayLike) -> Array:
        entries = self._entries(context)
        return np.minimum(entries, self.top_k) if self.top_k else entries

    def kv_bytes_per_token(self, kv_format: NumberFormat) -> float:
        """In full, and its share of a compressed entry; the first is dropped past the window."""
        entry = (self.head_dim + self.index_dim) / self.ratio if self.ratio else 0.0
        return (self.head_dim + entry) * kv_format.bytes

    def kv_bytes(self, context: ArrayLike, kv_format: NumberFormat) -> Array:
        entry = (self.head_dim + self.index_dim) * kv_format.bytes
        near = self._recent(context) * self.head_dim * kv_format.bytes
        return near + self._entries(context) * entry

    def kv_bytes_read(self, context: ArrayLike, kv_format: NumberFormat) -> Array:
        vectors = self._recent(context) + self._read(context)
        index = self._entries(context) * self.index_dim
        return (vectors * self.head_dim + index) * kv_format.bytes

    def flops(self, context: ArrayLike) -> Array:
        attended = (self._recent(context) + self._read(context)) * 4 * self.heads * self.head_dim
        return attended + self._entries(context) * 2 * self.index_heads * self.index_dim

    def prefill_flops(self, tokens: ArrayLike) -> Array:
        """Each token as in decode at half the prompt's length on average."""
        length = np.asarray(tokens, dtype=float)
        return length * self.flops((length + 1) / 2)


# What preset files may name: kinds, and keys that put another kind around one.
KINDS: Mapping[str, type[Attention]] = {"compressed": Compressed}
AROUND: Mapping[str, type[Around]] = {"sparse": SparseTopK, "sparse-blocks": SparseBlocks}
