"""Attention kinds that keep a cache: the parameters, the cached bytes and the FLOPs of one layer.

Every kind answers the same questions (see `Attention`), so a model is a list of layers and a hybrid
model needs no branch anywhere: Gemma 3 is some layers of `GroupedQuery` and some of `SlidingWindow`
around one. Kinds with a constant state instead of a cache are in `calc.state_space`.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Protocol

import numpy as np
from numpy.typing import ArrayLike, NDArray

from calc.formats import NumberFormat
from calc.words import say

Array = NDArray[np.float64]


@dataclass(frozen=True, slots=True)
class HeadSplit:
    """How one attention layer divides over chips, and what travels if its cache is split further.

    Parameters
    ----------
    query_heads : int
        Heads that the projections can be split by; 0 when unknown or split in any way.
    cache_heads : int
        Heads that the cache can be split by: its chips beyond that hold copies. 0 when it splits
        in any way.
    query_elements, output_elements : int
        Elements of one token's queries, and of its attended values, over all heads.
    """

    query_heads: int
    cache_heads: int
    query_elements: int
    output_elements: int


SPLITS_ANY_WAY = HeadSplit(0, 0, 0, 0)


class Attention(Protocol):
    """What the rest of the core asks of one attention layer."""

    @property
    def label(self) -> str:
        """What the kind is called, with the figures that set its cache."""

    @property
    def split(self) -> HeadSplit:
        """How the layer divides over chips."""

    def params(self, d_model: int) -> int:
        """Parameters of the layer's projections [parameter]."""

    def kv_bytes_per_token(self, kv_format: NumberFormat) -> float:
        """Bytes that one more cached token adds, before any window is full [byte/token]."""

    def kv_bytes(self, context: ArrayLike, kv_format: NumberFormat) -> Array:
        """Bytes one sequence keeps at a context length [byte]."""

    def kv_bytes_read(self, context: ArrayLike, kv_format: NumberFormat) -> Array:
        """Bytes one sequence moves per decode step at a context length [byte]."""

    def flops(self, context: ArrayLike) -> Array:
        """FLOPs of scores and values for one decoded token at a context length [FLOP]."""

    def prefill_flops(self, tokens: ArrayLike) -> Array:
        """FLOPs of scores and values for a whole prompt under the causal mask [FLOP]."""


def causal_pairs(tokens: ArrayLike) -> Array:
    """Query-key pairs of a causal prompt, each token seeing itself and all before."""
    length = np.asarray(tokens, dtype=float)
    return np.asarray(length * (length + 1) / 2)


class PerToken(ABC):
    """Shared by kinds that cache a fixed number of elements for every token and read them all."""

    @property
    @abstractmethod
    def label(self) -> str:
        """What the kind is called."""

    @property
    @abstractmethod
    def split(self) -> HeadSplit:
        """How the layer divides over chips."""

    @abstractmethod
    def params(self, d_model: int) -> int:
        """Parameters of the layer's projections [parameter]."""

    @property
    @abstractmethod
    def kv_elements(self) -> int:
        """Cached elements per token."""

    @property
    def kv_elements_written(self) -> str:
        """The same as the product it is."""
        return f"{self.kv_elements:,}"

    @property
    @abstractmethod
    def kv_vectors(self) -> int:
        """Cached vectors per token, each of which may carry a scale of its own."""

    @property
    @abstractmethod
    def flops_per_cached_token(self) -> int:
        """FLOPs that a decoded token spends on each cached token [FLOP]."""

    @property
    def flops_per_prefill_pair(self) -> int:
        """FLOPs of one query-key pair while a prompt is read [FLOP]."""
        return self.flops_per_cached_token

    def kv_bytes_per_token(self, kv_format: NumberFormat) -> float:
        return self.kv_elements * kv_format.bytes + self.kv_vectors * kv_format.vector_scale_bytes

    def kv_bytes(self, context: ArrayLike, kv_format: NumberFormat) -> Array:
        return np.asarray(context, dtype=float) * self.kv_bytes_per_token(kv_format)

    def kv_bytes_read(self, context: ArrayLike, kv_format: NumberFormat) -> Array:
        return self.kv_bytes(context, kv_format)

    def flops(self, context: ArrayLike) -> Array:
        return np.asarray(context, dtype=float) * self.flops_per_cached_token

    def prefill_flops(self, tokens: ArrayLike) -> Array:
        return causal_pairs(tokens) * self.flops_per_prefill_pair


@dataclass(frozen=True)
class GroupedQuery(PerToken):
    """Grouped-query attention; multi-head when ``kv_heads == heads``, multi-query when it is 1.

    Parameters
    ----------
    heads, kv_heads : int
        Query heads and key/value heads.
    head_dim : int
        Width of a head. It is a fact of its own and often not ``d_model / heads``.
    value_dim : int
        Width of a value head; 0 when it is `head_dim`.
    qkv_bias, output_bias, sinks, qk_norm, output_gate, value_from_key : bool
        Extras that a parameter count exact to the integer needs: biases, attention sinks, a norm
        vector each for queries and keys, a gate as wide as the queries, and values that are
        projected by the key's matrix.

    References
    ----------
    Parameters formulas.md F1.1; cache F2.1; FLOPs F3.2.
    """

    heads: int
    kv_heads: int
    head_dim: int
    value_dim: int = 0
    qkv_bias: bool = False
    output_bias: bool = False
    sinks: bool = False
    qk_norm: bool = False
    output_gate: bool = False
    value_from_key: bool = False

    def __post_init__(self) -> None:
        if self.heads % self.kv_heads:
            raise ValueError(f"heads {self.heads} is not a multiple of kv_heads {self.kv_heads}")

    @property
    def label(self) -> str:
        if self.kv_heads == 1:
            return say("multi-query, {heads} KV heads", heads=self.kv_heads)
        if self.kv_heads == self.heads:
            return say("multi-head, {heads} KV heads", heads=self.kv_heads)
        return say("grouped-query, {heads} KV heads", heads=self.kv_heads)

    @property
    def split(self) -> HeadSplit:
        width, values = self.heads * self.head_dim, self.heads * self._value_dim
        return HeadSplit(self.heads, self.kv_heads, width, values)

    @property
    def _value_dim(self) -> int:
        return self.value_dim or self.head_dim

    def kv_params(self, d_model: int) -> int:
        """Parameters of the key and value projections [parameter]."""
        keys = self.kv_heads * self.head_dim
        values = self.kv_heads * self._value_dim
        matrices = keys if self.value_from_key else keys + values
        return d_model * matrices + self.qkv_bias * (keys + values)

    def params(self, d_model: int) -> int:
        query = self.heads * self.head_dim
        return (
            (1 + self.output_gate) * d_model * query
            + self.qkv_bias * query
            + self.kv_params(d_model)
            + self.heads * self._value_dim * d_model
            + self.output_bias * d_model
            + self.sinks * self.heads
            + self.qk_norm * 2 * self.head_dim
        )

    @property
    def kv_elements(self) -> int:
        """A key and a value for each KV head."""
        return self.kv_heads * (self.head_dim + self._value_dim)

    @property
    def kv_elements_written(self) -> str:
        return f"{self.kv_heads} × ({self.head_dim} + {self._value_dim})"

    @property
    def kv_vectors(self) -> int:
        return 2 * self.kv_heads

    @property
    def flops_per_cached_token(self) -> int:
        """A score and a weighted value per query head, 2 FLOP per multiply-add."""
        return 2 * self.heads * (self.head_dim + self._value_dim)


@dataclass(frozen=True)
class Latent(PerToken):
    """Multi-head latent attention (MLA) in its absorbed decode form, RoPE part decoupled.

    The latent and the RoPE key are cached once and shared by all heads: there is no factor 2,
    since keys and values are views of the same latent.

    Parameters
    ----------
    heads : int
        Query heads.
    q_rank : int
        Rank of the query compression; 0 when queries are projected directly.
    kv_rank, rope_dim, nope_dim, value_dim : int
        Latent width, decoupled RoPE width, and per-head key and value widths.
    output_gate : bool
        Whether a gate as wide as the values multiplies the output.

    References
    ----------
    Parameters formulas.md F1.6; cache F2.2; FLOPs F3.3, prompts F5.1.
    """

    heads: int
    q_rank: int
    kv_rank: int
    nope_dim: int
    rope_dim: int
    value_dim: int
    output_gate: bool = False

    @property
    def label(self) -> str:
        return say("latent (MLA), {rank} + {rope}", rank=self.kv_rank, rope=self.rope_dim)

    @property
    def split(self) -> HeadSplit:
        """All heads read the one latent, so each chip needs the whole of it (formulas.md F3.7)."""
        absorbed = self.kv_rank + self.rope_dim
        return HeadSplit(self.heads, 1, self.heads * absorbed, self.heads * self.kv_rank)

    def params(self, d_model: int) -> int:
        query_width = self.heads * (self.nope_dim + self.rope_dim)
        queries = (
            self.q_rank * (d_model + 1 + query_width) if self.q_rank else d_model * query_width
        )
        latent = d_model * (self.kv_rank + self.rope_dim) + self.kv_rank
        up = self.kv_rank * self.heads * (self.nope_dim + self.value_dim)
        out = (1 + self.output_gate) * self.heads * self.value_dim * d_model
        return queries + latent + up + out

    @property
    def kv_elements(self) -> int:
        """The latent and one RoPE key."""
        return self.kv_rank + self.rope_dim

    @property
    def kv_elements_written(self) -> str:
        return f"{self.kv_rank} + {self.rope_dim}"

    @property
    def kv_vectors(self) -> int:
        return 1

    def kv_bytes_per_token(self, kv_format: NumberFormat) -> float:
        rope = self.rope_dim * (kv_format.rope_bits or kv_format.bits) / 8
        return self.kv_rank * kv_format.bytes + rope + kv_format.vector_scale_bytes

    @property
    def flops_per_cached_token(self) -> int:
        """Scores over latent and RoPE key, values over the latent, for each head."""
        return 2 * self.heads * (2 * self.kv_rank + self.rope_dim)

    @property
    def flops_per_prefill_pair(self) -> int:
        """A prompt is read with the keys and values of each head written out."""
        return 2 * self.heads * (self.nope_dim + self.rope_dim + self.value_dim)


class Limited(ABC):
    """Shared by kinds that let a token see only part of what lies before it."""

    inner: PerToken

    @abstractmethod
    def held(self, context: ArrayLike) -> Array:
        """Tokens whose cache must be kept [token]."""

    @abstractmethod
    def seen(self, context: ArrayLike) -> Array:
        """Tokens that the next one attends to [token]."""

    @abstractmethod
    def pairs(self, tokens: ArrayLike) -> Array:
        """Query-key pairs of a prompt."""

    @property
    def split(self) -> HeadSplit:
        return self.inner.split

    def params(self, d_model: int) -> int:
        return self.inner.params(d_model)

    def kv_bytes_per_token(self, kv_format: NumberFormat) -> float:
        return self.inner.kv_bytes_per_token(kv_format)

    def kv_bytes(self, context: ArrayLike, kv_format: NumberFormat) -> Array:
        return self.inner.kv_bytes(self.held(context), kv_format)

    def kv_bytes_read(self, context: ArrayLike, kv_format: NumberFormat) -> Array:
        return self.inner.kv_bytes_read(self.seen(context), kv_format)

    def flops(self, context: ArrayLike) -> Array:
        return self.inner.flops(self.seen(context))

    def prefill_flops(self, tokens: ArrayLike) -> Array:
        return self.pairs(tokens) * self.inner.flops_per_prefill_pair


@dataclass(frozen=True)
class SlidingWindow(Limited):
    """An attention that sees the last `window` tokens only, the newest included.

    References
    ----------
    formulas.md F2.3: kept and read tokens are ``min(context, window)``.
    """

    inner: PerToken
    window: int

    @property
    def label(self) -> str:
        return say("window {size:,}, {inner}", size=self.window, inner=self.inner.label)

    def held(self, context: ArrayLike) -> Array:
        return np.asarray(np.minimum(context, self.window), dtype=float)

    def seen(self, context: ArrayLike) -> Array:
        return self.held(context)

    def pairs(self, tokens: ArrayLike) -> Array:
        length = np.asarray(tokens, dtype=float)
        within = np.minimum(length, self.window)
        return np.asarray(causal_pairs(within) + (length - within) * self.window)


@dataclass(frozen=True)
class Chunked(Limited):
    """An attention that sees back to the start of its own chunk (Llama 4).

    Kept is what the chunk may fill, read what it holds now: ``((context - 1) mod chunk) + 1``.

    References
    ----------
    formulas.md F2.6.
    """

    inner: PerToken
    chunk: int

    @property
    def label(self) -> str:
        return say("chunks of {size:,}, {inner}", size=self.chunk, inner=self.inner.label)

    def held(self, context: ArrayLike) -> Array:
        return np.asarray(np.minimum(context, self.chunk), dtype=float)

    def seen(self, context: ArrayLike) -> Array:
        return np.asarray(np.mod(np.asarray(context, dtype=float) - 1, self.chunk) + 1)

    def pairs(self, tokens: ArrayLike) -> Array:
        length = np.asarray(tokens, dtype=float)
        whole = np.floor(length / self.chunk)
        rest = length - whole * self.chunk
        return np.asarray(whole * causal_pairs(self.chunk) + causal_pairs(rest))


@dataclass(frozen=True)
class SharedCache:
    """A layer that attends to the cache of an earlier one: it keeps nothing and reads it all.

    Capacity shrinks, read traffic does not (formulas.md F2.5). It has no key and value
    projections of its own.
    """

    inner: Attention

    @property
    def label(self) -> str:
        return say("shared cache, {inner}", inner=self.inner.label)

    @property
    def split(self) -> HeadSplit:
        return self.inner.split

    def params(self, d_model: int) -> int:
        core = self.inner.inner if isinstance(self.inner, Limited) else self.inner
        saved = core.kv_params(d_model) if isinstance(core, GroupedQuery) else 0
        return self.inner.params(d_model) - saved

    def kv_bytes_per_token(self, kv_format: NumberFormat) -> float:
        return 0.0

    def kv_bytes(self, context: ArrayLike, kv_format: NumberFormat) -> Array:
        return np.zeros(np.shape(context))

    def kv_bytes_read(self, context: ArrayLike, kv_format: NumberFormat) -> Array:
        return self.inner.kv_bytes_read(context, kv_format)

    def flops(self, context: ArrayLike) -> Array:
        return self.inner.flops(context)

    def prefill_flops(self, tokens: ArrayLike) -> Array:
        return self.inner.prefill_flops(tokens)


@dataclass(frozen=True)
class SparseTopK:
    """Attention to the `top_k` cached tokens that a small indexer picks (DeepSeek-V3.2, GLM-5).

    Every token's latent and indexer key is kept. A step reads all indexer keys, and the latents of
    the picked tokens only.

    Parameters
    ----------
    inner : Latent
        The attention over what was picked.
    top_k : int
        Tokens picked.
    index_heads, index_dim : int
        Query heads of the indexer, and the width of its one key per token.
    """

    inner: Latent
    top_k: int
    index_heads: int
    index_dim: int

    @property
    def label(self) -> str:
        return say("top {number:,} of {inner}", number=self.top_k, inner=self.inner.label)

    @property
    def split(self) -> HeadSplit:
        return self.inner.split

    def params(self, d_model: int) -> int:
        queries = (self.inner.q_rank or d_model) * self.index_heads * self.index_dim
        keys = d_model * self.index_dim + 2 * self.index_dim
        return self.inner.params(d_model) + queries + keys + d_model * self.index_heads

    def _picked(self, context: ArrayLike) -> Array:
        return np.asarray(np.minimum(context, self.top_k), dtype=float)

    def _index_bytes(self, context: ArrayLike, kv_format: NumberFormat) -> Array:
        return np.asarray(context, dtype=float) * self.index_dim * kv_format.bytes

    def kv_bytes_per_token(self, kv_format: NumberFormat) -> float:
        return self.inner.kv_bytes_per_token(kv_format) + self.index_dim * kv_format.bytes

    def kv_bytes(self, context: ArrayLike, kv_format: NumberFormat) -> Array:
        return self.inner.kv_bytes(context, kv_format) + self._index_bytes(context, kv_format)

    def kv_bytes_read(self, context: ArrayLike, kv_format: NumberFormat) -> Array:
        picked = self.inner.kv_bytes_read(self._picked(context), kv_format)
        return picked + self._index_bytes(context, kv_format)

    def _index_flops(self, pairs: Array) -> Array:
        return np.asarray(pairs * 2 * self.index_heads * self.index_dim)

    def flops(self, context: ArrayLike) -> Array:
        return self.inner.flops(self._picked(context)) + self._index_flops(
            np.asarray(context, dtype=float)
        )

    def prefill_flops(self, tokens: ArrayLike) -> Array:
        attended = SlidingWindow(self.inner, self.top_k).prefill_flops(tokens)
        return attended + self._index_flops(causal_pairs(tokens))


@dataclass(frozen=True)
class Compressed:
    """A window of full tokens beside a cache compressed `ratio` to one (DeepSeek-V4).

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
    ratio: int
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
        return queries + shared + out + indexer

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


@dataclass(frozen=True)
class StatedCache(PerToken):
    """Attention of a model known by its totals only: so many cached elements per token.

    Its projections are part of the stated parameters and its FLOPs are unknown, so both are 0 here.
    With no elements it stands for a layer without attention.
    """

    elements: int

    @property
    def label(self) -> str:
        return say("stated total") if self.elements else say("none")

    @property
    def split(self) -> HeadSplit:
        return SPLITS_ANY_WAY

    def params(self, d_model: int) -> int:
        return 0

    @property
    def kv_elements(self) -> int:
        return self.elements

    @property
    def kv_vectors(self) -> int:
        return 0

    @property
    def flops_per_cached_token(self) -> int:
        return 0


NO_ATTENTION = StatedCache(0)


# What preset files may name. Keys that wrap any of them: window, chunk, and shared.
KINDS: Mapping[str, type] = {
    "grouped-query": GroupedQuery,
    "latent": Latent,
    "compressed": Compressed,
}
